"""Encoded columns as one matrix of numbers, by what training rows show: for models that take nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.schema import Column, Schema, to_days
from tacit.data.table import Table
from tacit.errors import BadInput

Floats = NDArray[np.float64]
FURTHEST = 1e6  # standard deviations; more would overflow the models' own arithmetic
MOST_COLUMNS = 50  # for the categories of one column; the rarer ones share the last


@dataclass(frozen=True)
class Numbers:
    """A column of numbers: a missing one at the median, then to mean 0 and deviation 1."""

    median: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Floats) -> Numbers:
        there = values[np.isfinite(values)]
        if not there.size:
            return cls(0.0, 0.0, 1.0)
        filled = np.where(np.isfinite(values), values, median := float(np.median(there)))
        with np.errstate(all="ignore"):
            mean, deviation = float(filled.mean()), float(filled.std())
        usable = np.isfinite([mean, deviation]).all() and deviation > 0
        return cls(median, mean if usable else median, deviation if usable else 1.0)

    width = 1

    def write(self, values: Floats, out: Floats) -> None:
        self.write_gaps(np.where(np.isfinite(values), values, self.median), out)

    def write_gaps(self, values: Floats, out: Floats) -> None:
        """The same, with nan for a missing number."""
        with np.errstate(all="ignore"):  # a difference may overflow, and is then as far as can be
            out[:, 0] = np.clip((values - self.mean) / self.deviation, -FURTHEST, FURTHEST)


@dataclass(frozen=True)
class Categories:
    """A column of categories: a column of 0 and 1 each, the rarest together; none for a missing one."""

    places: tuple[int, ...]  # of each category

    @classmethod
    def of(cls, codes: NDArray[np.int32], categories: int) -> Categories:
        counts = np.bincount(codes[codes >= 0], minlength=categories)
        rank = np.empty(categories, int)
        rank[np.argsort(-counts, kind="stable")] = np.arange(categories)
        return cls(tuple(np.minimum(rank, MOST_COLUMNS - 1).tolist()))

    @property
    def width(self) -> int:
        return max(self.places) + 1

    def write(self, codes: NDArray[np.int32], out: Floats) -> None:
        out[:] = 0.0
        known = np.flatnonzero(codes >= 0)
        out[known, np.asarray(self.places)[codes[known]]] = 1.0

    def write_gaps(self, codes: NDArray[np.int32], out: Floats) -> None:
        """One column: the place of the category, the most frequent first; nan for a missing one."""
        out[:, 0] = np.array([*self.places, np.nan])[codes]  # -1 is the last


@dataclass(frozen=True)
class Matrix:
    """How the columns of a schema become columns of numbers. Fitted on training rows, then the same for all.

    With ``gaps``, for trees: every column stays one column, and what is missing stays missing.
    """

    schema: Schema
    columns: tuple[Numbers | Categories, ...]
    gaps: bool = False

    @classmethod
    def fit(cls, schema: Schema, X: Any, *, gaps: bool = False) -> tuple[Matrix, Floats]:
        """By training rows; and those rows encoded."""
        arrays = _encode(schema.columns, Table.of(X).match(schema.columns))
        made = [
            Categories.of(a, len(c.categories)) if c.kind == "category" else Numbers.of(a)
            for c, a in zip(schema.columns, arrays, strict=True)
        ]
        fitted = cls(schema, tuple(made), gaps)
        return fitted, fitted._join(arrays)

    def encode(self, X: Any) -> Floats:
        """Rows as a matrix, shape (rows, numbers and categories). Each row by itself."""
        return self._join(_encode(self.schema.columns, Table.of(X).match(self.schema.columns)))

    def _join(self, arrays: list[Any]) -> Floats:
        edges = np.cumsum([0, *(1 if self.gaps else c.width for c in self.columns)])
        matrix = np.empty((len(arrays[0]), edges[-1]))
        for array, column, low, high in zip(arrays, self.columns, edges, edges[1:], strict=False):
            write = column.write_gaps if self.gaps else column.write
            write(array, matrix[:, low:high])
        return matrix


def _encode(columns: Sequence[Column], cells: Sequence[Any]) -> list[Any]:
    arrays = []
    for column, held in zip(columns, cells, strict=True):
        if column.kind in ("text", "object"):
            raise BadInput(f"column {column.name!r} must hold numbers, categories or times; leave it out of the table")
        array = column.encode(held)
        if column.kind == "time":
            array = to_days(array)
        arrays.append(array)
    return arrays
