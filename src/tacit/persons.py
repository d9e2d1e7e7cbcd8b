"""Persons with several rows: whose is each, and one loss for each person. Proof: docs/proofs/pairs-and-persons.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput, ObjectiveError, type_and_shape
from tacit.schema.cells import distinct, read_cells, read_losses, read_number, read_words

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]


def number_persons(groups: Any, records: int) -> Rows:
    """Whose each row is, as numbers in the order of first appearance; a row without a name is a person of its own.

    Edges. What a name is depends on its own cell: text that reads as a number is that number, so that one odd name does
    not divide or join others, whatever type the column was given because of it.

    >>> number_persons(["7", "x", 7.0, None, "x", None], 6).tolist()
    [0, 1, 0, 2, 1, 3]
    """
    try:
        cells = read_cells(groups)
    except TypeError:
        raise BadInput(f"groups must be one name per row, got {type_and_shape(groups)}") from None
    if cells.shape != (records,):
        raise BadInput(f"groups must have one name per row, shape ({records},), got shape {cells.shape}")
    few, which = _distinct(cells)
    names: dict[Any, int] = {}
    codes = np.array([-1 if n is None else names.setdefault(n, len(names)) for n in _names(few)], np.intp)
    each = codes[which]
    nobody = np.flatnonzero(each < 0)
    each[nobody] = len(names) + np.arange(len(nobody))  # a person each
    first, back = np.unique(each, return_index=True, return_inverse=True)[1:]
    order = np.empty(len(first), np.intp)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[back], np.intp)


def _distinct(cells: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Each name once, and which each row has."""
    if cells.dtype.kind in "fiub":
        return np.unique(cells, return_inverse=True)
    few, which = distinct(cells)
    return few, np.arange(len(few)) if which is None else which


def _names(cells: NDArray[Any]) -> list[Any]:
    """Each cell as a number, a word, or None where it names nobody."""
    words, odd = read_words(cells)
    return [None if o or w != w else _name(w) for w, o in zip(words, odd, strict=True)]


def _name(word: str) -> Any:
    try:
        return int(word)  # exact, however long
    except ValueError:
        number = read_number(word)
    return word if number is None or number != number else int(number) if number == int(number) else number


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
