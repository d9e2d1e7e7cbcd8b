"""From rows of a table to the features that a trainer takes: fixed by a schema, row by row.

A number gives one feature within [-1, 1], its place in the range, one for each bin between cuts, and one for "missing".
A category gives one for each word, and one for all others. What is predicted is the number of a class, or a number
moved to [-1, 1]. Nothing here looks at more than one row at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput
from tacit.schema import Column, Schema
from tacit.schema.rows import divide
from tacit.trainers.trainer import CLASSES, NUMBERS, EncodedRows, Facts, Span

Floats = NDArray[np.float64]
FORMAT = "tacit.preparation/1"


@dataclass(frozen=True)
class Rates:
    """Shares of the labels, from noisy counts, and how many rows without noise would show them as well."""

    __released__ = True

    rates: tuple[float, ...]
    rows: float


@dataclass(frozen=True)
class Preparation:
    """A schema with ranges for all its numbers, cuts of those that are binned, and rates of labels if learnt."""

    __released__ = True

    schema: Schema
    cuts: Mapping[str, tuple[float, ...]]
    rates: Rates | None = None

    def __post_init__(self) -> None:
        if self.schema.target is None:
            raise BadInput("a schema to train with must name the target, with its labels or its range")
        for column in (*self.schema.columns, self.schema.target):
            if column.kind not in ("number", "category"):
                raise BadInput(f"column {column.name!r} must be numbers or categories, got kind={column.kind!r}")
            if column.kind == "number" and column.range is None:
                raise BadInput(
                    f"column {column.name!r} needs a range, such as (0, 120): reading it off the data would not be "
                    "covered by the guarantee"
                )

    @property
    def target(self) -> Column:
        assert self.schema.target is not None
        return self.schema.target

    @property
    def task(self) -> str:
        return CLASSES if self.target.kind == "category" else NUMBERS

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return [name for column in self.schema.columns for name in self._names(column)]

    def _names(self, column: Column) -> list[str]:
        if column.kind == "category":
            return [f"{column.name}={word}" for word in column.categories] + [f"{column.name}=other"]
        cuts = self.cuts.get(column.name, ())
        ends = [f"{c:.6g}" for c in cuts]
        bins = zip(["", *ends], [*ends, ""], strict=True)
        return [column.name] + [f"{column.name} in [{a}, {b})" for a, b in bins if cuts] + [f"{column.name} missing"]

    def facts(self, records: int) -> Facts:
        outputs = len(self.target.categories) if self.task == CLASSES else 1
        spans, start = [], 0
        for column in self.schema.columns:
            stop = start + len(self._names(column))
            spans.append(Span(start, stop, column.kind == "number"))
            start = stop
        return Facts(records, start, self.task, outputs, tuple(spans))

    def features(self, X: Any) -> Floats:
        """Features of rows, (n, d)."""
        parts = [
            self._column(c, cells)
            for c, cells in zip(self.schema.columns, divide(X, self.schema.form, self.schema.columns), strict=True)
        ]
        return np.hstack(parts)

    def _column(self, column: Column, cells: Any) -> Floats:
        values = column.encode(cells)
        if column.kind == "category":
            many = len(column.categories)
            return one_hot(np.where(values < 0, many, values), many + 1)
        low, high = column.range or (-1.0, 1.0)
        known, cuts = np.isfinite(values), np.array(self.cuts.get(column.name, ()))
        place = np.where(known, (np.nan_to_num(values) - low) / (high - low) * 2 - 1, 0.0)
        parts = [place[:, None], (~known).astype(float)[:, None]]
        if cuts.size:
            bins = one_hot(np.searchsorted(cuts, np.nan_to_num(values), side="right"), len(cuts) + 1)
            parts.insert(1, bins * known[:, None])
        return np.hstack(parts)

    def targets(self, y: Any) -> Floats:
        """Class numbers, -1 where a label does not fit; or numbers within [-1, 1], nan where there is none."""
        values = self.target.encode(y)
        if self.task == CLASSES:
            return np.asarray(values, float)
        low, high = self.target.range or (-1.0, 1.0)
        return np.asarray((values - low) / (high - low) * 2 - 1)

    def predictions(self, scores: Floats) -> NDArray[Any]:
        """Labels, or numbers in their own unit, from a model's scores."""
        if self.task == CLASSES:
            return np.asarray(self.target.labels[np.argmax(scores, axis=1)])
        low, high = self.target.range or (-1.0, 1.0)
        return np.asarray((scores[:, 0] + 1) / 2 * (high - low) + low)

    def rows(self, X: Any, y: Any, owners: NDArray[np.intp] | None = None) -> EncodedRows:
        return EncodedRows(self.features(X), self.targets(y), owners)

    def to_json(self) -> dict[str, Any]:
        cuts = {name: list(values) for name, values in self.cuts.items()}
        return {"format": FORMAT, "schema": self.schema.to_json(), "form": self.schema.form, "cuts": cuts}


def one_hot(codes: NDArray[Any], width: int) -> Floats:
    found = np.zeros((len(codes), width))
    found[np.arange(len(codes)), codes.astype(np.intp)] = 1.0
    return found
