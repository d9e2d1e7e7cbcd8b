"""What may be published: a value, its guarantee, and the ledger entry that paid for it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from tacit.errors import BadInput
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.private import Private

T = TypeVar("T")
FORMAT = "tacit.certificate/1"


@dataclass(frozen=True, slots=True)
class Payment:
    """Which entry of which ledger paid: enough to find it again and to notice if it was changed."""

    ledger: str  # the ledger's own identifier, not its name: two ledgers never mix
    name: str
    entry: int
    hash: str

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Payment:
        try:
            return cls(str(document["ledger"]), str(document["name"]), int(document["entry"]), str(document["hash"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"not a payment in JSON: needs ledger, name, entry and hash ({error})") from None


@dataclass(frozen=True, slots=True)
class Release(Generic[T]):
    """A value that may leave, with what is guaranteed about it.

    >>> from tacit.privacy.guarantee import Budget
    >>> release = Release(0.25, Guarantee(Budget.pure(1.0)))
    >>> release.certificate()["guarantee"]["epsilon"]
    1.0
    """

    value: T
    guarantee: Guarantee
    payment: Payment | None = None

    def certificate(self) -> dict[str, Any]:
        """A JSON document that ``tacit verify`` checks against the ledger that paid."""
        value = plain(self.value)
        return {
            "format": FORMAT,
            "value": value,
            "digest": digest(value),
            "guarantee": self.guarantee.to_json(),
            "payment": self.payment.to_json() if self.payment else None,
        }


def plain(value: Any) -> Any:
    """A released value in JSON's own types; numbers that JSON lacks become strings."""
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
    raise BadInput(f"a released value must have a JSON form, got a {type(value).__name__}; give it a to_json method")


def digest(value: Any) -> str:
    """SHA-256 of a released value's canonical JSON."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
