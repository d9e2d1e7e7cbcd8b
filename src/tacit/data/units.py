"""Persons with several rows: whose is each, and one loss for each person. Proof: docs/proofs/pairs-and-persons.md."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.cells import fill, spell
from tacit.data.columns import read_losses
from tacit.data.containers import read_column
from tacit.errors import BadInput, ObjectiveError, type_and_shape

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Persons:
    """Whose each row is, by numbers in the order of first appearance, and what each person is called. Private.

    A row without a name is a person of its own.
    """

    owners: Rows
    names: tuple[Any, ...]  # None for a row without one

    @classmethod
    def of(cls, groups: Any, records: int) -> Persons:
        """By one name for each row.

        Edges. What a name is depends on its own cell: 7, 7.0 and "7" are one. Names that are held as floating-point
        numbers are refused, by the type of the column: long ones would be joined.

        >>> Persons.of(["7", "x", 7.0, None, "x", None], 6).owners.tolist()
        [0, 1, 0, 2, 1, 3]
        """
        if getattr(getattr(groups, "dtype", None), "kind", "O") in "fc":
            raise BadInput(
                "groups are held as floating-point numbers, which join long names: give them as whole numbers or text, "
                "such as groups.astype('Int64')"
            )
        cells = read_column(groups)
        if len(cells) != records:
            raise BadInput(f"groups must have one name per row, shape ({records},), got shape ({len(cells)},)")
        names, each = cells.distinct()
        nobody = np.flatnonzero(each < 0)
        each[nobody] = len(names) + np.arange(len(nobody))  # a person each
        used, first, back = np.unique(each, return_index=True, return_inverse=True)
        order = np.empty(len(first), np.intp)
        order[np.argsort(first)] = np.arange(len(first))
        held = fill([*names, *[None] * len(nobody)])[used][np.argsort(first)]
        return cls(np.asarray(order[back], np.intp), tuple(held.tolist()))

    def __len__(self) -> int:
        return len(self.names)

    def draw_places(self, key: bytes) -> Floats:
        """A place in [0, 1) for each person, by a hash of the name: whoever is replaced, the others keep theirs.

        A row without a name has a place by its number.
        """
        first = np.unique(self.owners, return_index=True)[1]
        marks = [
            f"row {row}" if name is None else f"{type(name).__name__[:2]}{spell(name)}"
            for name, row in zip(self.names, first, strict=True)
        ]
        hashes = [hashlib.blake2b(_mark(m), digest_size=7, key=key).digest() for m in marks]
        return np.array([int.from_bytes(h, "big") / 2**56 for h in hashes], float)


def _mark(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def number_persons(groups: Any, records: int) -> Rows:
    """Whose each row is, as numbers; see Persons."""
    return Persons.of(groups, records).owners


def mean_by_person(losses: Floats, owners: Rows, persons: int) -> Floats:
    """The mean of each person's losses, shape (persons,). Each by that person's rows alone.

    >>> mean_by_person(np.array([1.0, 0.0, 1.0]), np.array([0, 0, 1]), 2).tolist()
    [0.5, 1.0]
    """
    sums = np.bincount(owners, losses, minlength=persons)
    return np.asarray(sums / np.bincount(owners, minlength=persons), float)


@dataclass(frozen=True, repr=False)
class PersonLosses:
    """A function of one loss per row as one of one loss per person: the mean of theirs, each within the bounds."""

    function: Callable[[Any], Any]
    owners: Rows
    persons: int
    bounds: tuple[float, float]
    higher_is_better: bool = False

    @classmethod
    def of(cls, function: Callable[[Any], Any], groups: Any, bounds: tuple[float, float], direction: str) -> Any:
        """Whose each loss is, by ``groups``, one name per row."""
        if hasattr(function, "parts"):
            raise BadInput(
                "groups do not go with Shards: keep each person in one shard, and let its function return one loss per "
                "person, the mean of theirs. Nothing was spent"
            )
        owners = number_persons(groups, len(groups))
        if not len(owners):
            raise BadInput("groups must name at least one row's person")
        return cls(function, owners, int(owners.max()) + 1, bounds, direction == "maximize")

    def __call__(self, params: Any) -> Any:
        answer = self.function(params)
        rows = read_losses(np.asarray(answer))
        if rows.shape != self.owners.shape or rows.dtype.kind not in "fiub":
            raise ObjectiveError(
                f"with groups the objective must return one number per row, shape {self.owners.shape}, got "
                f"{type_and_shape(answer)}"
            )
        low, high = self.bounds
        with np.errstate(all="ignore"):
            clipped = np.clip(rows.astype(float), low, high)
        clipped[np.isnan(clipped)] = low if self.higher_is_better else high
        return mean_by_person(clipped, self.owners, self.persons)
