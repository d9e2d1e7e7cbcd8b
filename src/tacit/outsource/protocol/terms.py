"""What both parties may know: the terms of a study, its answers, and how either says no.

Nothing here is private: a modeler reads all of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacit.errors import BadInput, TacitError
from tacit.files import Json
from tacit.privacy.guarantee import Guarantee

PROTOCOL = 1
"""The version of everything that passes between the parties."""

MOST_ROWS = 1000
"""Rows in one request."""

LARGEST_CHUNK = 1 << 26
"""Bytes of a chunk of the table that a modeler is willing to hold."""

LONGEST = 4000
"""Characters of a text that the other side may send to be read by people."""

Table = npt.NDArray[np.floating[Any]]


class Refused(TacitError):
    """The curator says no; ``code`` is a word for programs. Nothing was evaluated and nothing was charged."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def clean(document: Any) -> Any:
    """What the other side sent, fit to be shown: texts without the characters that command a terminal, and not endless.

    >>> clean({"message": "no\\x1b[2J\\n"})
    {'message': 'no?[2J?'}
    """
    if isinstance(document, str):
        return "".join(c if c.isprintable() else "?" for c in document[:LONGEST])
    if isinstance(document, list):
        return [clean(part) for part in document]
    return {clean(k): clean(v) for k, v in document.items()} if isinstance(document, dict) else document


class Unreachable(TacitError):
    """The other party does not answer, or not in words that this side understands."""


@dataclass(frozen=True)
class Answer:
    """What a row gave. ``value`` is None for a row that could not be evaluated."""

    row: int
    value: float | None

    def to_json(self) -> Json:
        return {"row": self.row, "value": self.value}


@dataclass(frozen=True)
class Published:
    """The terms of a study: what the table is, what it guarantees, how noisy it and the answers are."""

    study: str
    rows: int
    columns: int
    transform: str
    noise: float  # standard deviation of the noise on each number of the table
    answer_noise: float  # standard deviation of the noise on each answer
    queries: int
    guarantee: Guarantee  # of the table
    whole: Guarantee  # of the table and all answers together
    digest: str  # SHA-256 of the table's bytes
    dtype: str = "<f4"
    chunk: int = 4096  # rows in a chunk
    about: Json = field(default_factory=dict)

    def to_json(self) -> Json:
        fields = {k: v for k, v in self.__dict__.items() if k not in ("guarantee", "whole")}
        stated = {"guarantee": self.guarantee.to_json(), "whole": self.whole.to_json()}
        return {"protocol": PROTOCOL, **fields, **stated}

    @classmethod
    def from_json(cls, document: Any) -> Published:
        if not isinstance(document, dict) or document.get("protocol") != PROTOCOL:
            version = document.get("protocol") if isinstance(document, dict) else type(document).__name__
            spoken = clean(str(version))[:20]
            raise Unreachable(f"the curator speaks protocol {spoken}, this modeler {PROTOCOL}; upgrade the older side")
        fields: Json = {}
        try:
            for name, kind in _FIELDS.items():
                fields[name] = kind(clean(document[name]))
        except (KeyError, TypeError, ValueError, OverflowError, TacitError) as error:
            raise Unreachable(f"the curator's terms cannot be read: {name} ({type(error).__name__})") from None
        small = 1 <= fields["chunk"] * fields["columns"] * 8 <= LARGEST_CHUNK
        unbounded = [fields[name] for name in ("noise", "answer_noise") if not 0 <= fields[name] < math.inf]
        if (
            min(fields["rows"], fields["columns"]) < 1
            or not small
            or unbounded
            or fields["dtype"] not in ("<f4", "<f8")
        ):
            raise Unreachable("the curator's terms describe no table that this modeler could hold")
        if not isinstance(fields["about"].get("scale", []), list):
            raise Unreachable("the curator's terms cannot be read: about.scale is no list")
        return cls(**fields)


_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("study", "transform", "digest", "dtype"), str),
    **dict.fromkeys(("rows", "columns", "queries", "chunk"), int),
    **dict.fromkeys(("noise", "answer_noise"), float),
    **dict.fromkeys(("guarantee", "whole"), Guarantee.from_json),
    "about": dict,
}


class AnswerSource(Protocol):
    """Where a modeler gets things from: a curator in this process, or a client of one elsewhere."""

    def published(self) -> Published: ...
    def table(self) -> Table: ...
    def answers(self) -> list[Answer]:
        """All earlier answers to this modeler, oldest first."""
        ...

    def ask(self, rows: Sequence[int], *, request: str) -> list[Answer]:
        """One answer for each row. The same request again gives the same answers and costs nothing."""
        ...


def request_name(request: str) -> str:
    """A request's identifier: 8 to 64 letters, digits and dashes."""
    if not isinstance(request, str) or not (8 <= len(request) <= 64) or not request.replace("-", "").isalnum():
        raise BadInput("a request is named by 8 to 64 letters, digits and dashes")
    if not request.isascii():
        raise BadInput("a request is named by 8 to 64 ASCII letters, digits and dashes")
    return request
