"""What may be published: a value, its guarantee, and the ledger entry that paid for it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from tacit.errors import BadInput, article, name_type, type_and_shape
from tacit.files import Json
from tacit.notebook import DrawnInNotebooks
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.private import Private

T = TypeVar("T")
FORMAT = "tacit.certificate/1"
UNPAID = "Not charged to any ledger."
LEAVES = frozenset((type(None), bool, int, float, str))  # what a release can hold and JSON has, looked at first
WIDE, MOST_SHOWN = 118, 400  # columns of a line, and letters of a value that has no words of its own


@dataclass(frozen=True, slots=True)
class Payment:
    """Which entry of which ledger paid: enough to find it again and to notice if it was changed."""

    __released__ = True

    ledger: str  # the ledger's own identifier, not its name: two ledgers never mix
    name: str
    entry: int
    hash: str

    def to_json(self) -> Json:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, document: Json) -> Payment:
        try:
            return cls(str(document["ledger"]), str(document["name"]), int(document["entry"]), str(document["hash"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"not a payment in JSON: needs ledger, name, entry and hash ({error})") from None


@dataclass(frozen=True, slots=True, repr=False)
class Release(DrawnInNotebooks, Generic[T]):
    """A value that may leave, with what is guaranteed about it.

    It holds numbers, text, arrays and containers of them, and tacit's own results, which hold the same: nothing that
    could keep a record, such as a function, an estimator or a table. So its pickle and its copies do not either.

    >>> from tacit.privacy.guarantee import Budget
    >>> release = Release(0.25, Guarantee(Budget.pure(1.0)))
    >>> release.certificate()["guarantee"]["epsilon"]
    1.0
    """

    value: T
    guarantee: Guarantee
    payment: Payment | None = None
    about: Mapping[str, Any] | None = field(default=None, compare=False)  # see origin.py

    def __post_init__(self) -> None:
        refuse_unreleased(self.value)
        refuse_unreleased(self.about, "about")

    def __repr__(self) -> str:
        return f"<Release of {article(kind := type(self.value).__name__)} {kind}: {self.guarantee.kind} guarantee>"

    def __str__(self) -> str:
        """What was released, its guarantee and who paid, for a person to read."""
        wrap = textwrap.TextWrapper(WIDE, initial_indent="  ", subsequent_indent="  ")
        own = type(self.value).__str__ is not object.__str__ and hasattr(self.value, "to_json")
        lines = str(self.value).splitlines() if own else ["Released", *wrap.wrap(_shorten(repr(self.value)))]
        lines += ["", "Guarantee", *format_guarantee(self.guarantee), ""]
        paid = self.payment
        return "\n".join([*lines, f"Paid by entry {paid.entry} of ledger {paid.name!r}." if paid else UNPAID])

    def certificate(self) -> Json:
        """A JSON document that ``tacit verify`` checks against the ledger that paid."""
        value = plain(self.value)
        return {
            "format": FORMAT,
            "value": value,
            "digest": digest(value),
            "guarantee": self.guarantee.to_json(),
            "payment": self.payment.to_json() if self.payment else None,
            **({"about": plain(self.about)} if self.about is not None else {}),
        }


def format_guarantee(guarantee: Guarantee) -> list[str]:
    """The guarantee in lines of a terminal's width; assumptions are bullets."""
    lines = [(line, "    " if line.startswith("- ") else "  ") for line in guarantee.describe()]
    return [
        part
        for line, indent in lines
        for part in textwrap.wrap(line, WIDE, initial_indent="  ", subsequent_indent=indent)
    ]


def refuse_unreleased(value: Any, place: str = "value") -> None:
    """Raise BadInput at the first part of a value that a release cannot hold.

    A class of results says ``__released__ = True``; its attributes are looked at like any other part, but for those in
    ``__trusted__``: models of a training whose own guarantee covers them, whatever they are made of.

    >>> refuse_unreleased({"weights": np.zeros(3), "classes": ("no", "yes")})
    >>> refuse_unreleased({"losses": lambda params: params})
    Traceback (most recent call last):
    ...
    tacit.errors.BadInput: a release can hold numbers, text, arrays of them and tacit's results, got a function at ...
    """
    if type(value) in LEAVES or isinstance(value, (bool, int, float, str, np.number, np.bool_)):
        return
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiubU":
        return
    if isinstance(value, Mapping):
        parts = [(f"{place}[{name!r}]", part) for name, part in value.items() if type(part) not in LEAVES]
        parts += [(place, name) for name in value if type(name) not in LEAVES]
    elif isinstance(value, (list, tuple)):
        parts = [(f"{place}[{i}]", part) for i, part in enumerate(value) if type(part) not in LEAVES]
    elif getattr(type(value), "__released__", False):
        slots = [
            name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()) if hasattr(value, name)
        ]
        held = {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots}}
        trusted = getattr(type(value), "__trusted__", ())
        parts = [(f"{place}.{name}", part) for name, part in held.items() if name not in trusted]
    else:
        what = type_and_shape(value)
        raise BadInput(f"a release can hold numbers, text, arrays of them and tacit's results, got {what} at {place}")
    for where, part in parts:
        refuse_unreleased(part, where)


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} ..."


def plain(value: Any) -> Any:
    """A released value in JSON's own types; numbers that JSON lacks become strings."""
    kind = type(value)
    if kind in LEAVES:
        return str(value) if kind is float and not math.isfinite(value) else value
    if isinstance(value, Private):
        raise TypeError("a private value has no JSON form")
    if hasattr(value, "to_json"):
        return plain(value.to_json())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise BadInput(f"a released value must have a JSON form, got {name_type(value)}; give it a to_json method")


def digest(value: Any) -> str:
    """SHA-256 of a released value's canonical JSON."""
    return digest_document(plain(value))


def digest_document(document: Any) -> str:
    """The same of a value that is in JSON's own types already, as ``plain`` makes it."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
