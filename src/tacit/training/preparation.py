"""From rows of a table to the features that a trainer takes: fixed by a schema, row by row.

A number or a time gives one feature within [-1, 1], its place in the range, one for each bin between cuts, and one for
"missing". A category gives one for each word, one for all others, and one for "missing". What is predicted is the
number of a class, or a number moved to [-1, 1]. Nothing here looks at more than one row at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.containers import read_column
from tacit.data.schema import Column, Schema, to_days
from tacit.data.table import Table
from tacit.errors import BadInput
from tacit.files import Json
from tacit.training.trainer import CLASSES, NUMBERS, EncodedRows, Facts, Model, Span

Floats = NDArray[np.float64]
FORMAT, FIRST_FORMAT = "tacit.preparation/2", "tacit.preparation/1"


@dataclass(frozen=True)
class Rates:
    """Shares of the labels, from noisy counts, and how many rows without noise would show them as well."""

    __released__ = True

    rates: tuple[float, ...]
    rows: float


@dataclass(frozen=True)
class Preparation:
    """A schema with ranges for all its numbers, cuts of those that are binned, and rates of labels if learnt.

    ``apart`` says that a missing cell is told from a word that is none of the known; models of the first releases,
    which were trained without it, keep their features.
    """

    __released__ = True

    schema: Schema
    cuts: Mapping[str, tuple[float, ...]]
    rates: Rates | None = None
    apart: bool = True

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"apart": False} | state)

    def __post_init__(self) -> None:
        if self.schema.target is None:
            raise BadInput("a schema to train with must name the target, with its labels or its range")
        if self.schema.target.kind == "time":
            raise BadInput("times cannot be predicted: make the target a number")
        for column in (*self.schema.columns, self.schema.target):
            if column.kind not in ("number", "category", "time"):
                raise BadInput(f"column {column.name!r} must be numbers, categories or times, got kind={column.kind!r}")
            if column.kind != "category" and column.range is None:
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
            words = [f"{column.name}={word}" for word in column.categories] + [f"{column.name}=other"]
            return words + [f"{column.name} missing"] * self.apart
        cuts = self.cuts.get(column.name, ())
        ends = [_name_day(c) if column.kind == "time" else f"{c:.6g}" for c in cuts]
        bins = zip(["", *ends], [*ends, ""], strict=True)
        return [column.name] + [f"{column.name} in [{a}, {b})" for a, b in bins if cuts] + [f"{column.name} missing"]

    def facts(self, records: int) -> Facts:
        outputs = len(self.target.categories) if self.task == CLASSES else 1
        spans, start = [], 0
        for column in self.schema.columns:
            stop = start + len(self._names(column))
            spans.append(Span(start, stop, column.kind != "category"))
            start = stop
        return Facts(records, start, self.task, outputs, tuple(spans))

    def features(self, X: Any) -> Floats:
        """Features of rows, (n, d)."""
        parts = [
            self._column(c, cells)
            for c, cells in zip(self.schema.columns, Table.of(X).match(self.schema.columns), strict=True)
        ]
        return np.hstack(parts)

    def _column(self, column: Column, cells: Any) -> Floats:
        held = read_column(cells)
        values: Any = column.encode(held)
        if column.kind == "category":
            many = len(column.categories)
            codes = np.where(values < 0, many + (held.absent & self.apart), values)
            return one_hot(codes, many + 1 + self.apart)
        low, high = column.range or (-1.0, 1.0)
        if column.kind == "time":
            values = np.clip(to_days(values), low, high)
        known, cuts = np.isfinite(values), np.array(self.cuts.get(column.name, ()))
        place = np.where(known, (np.nan_to_num(values) - low) / (high - low) * 2 - 1, 0.0)
        parts = [place[:, None], (held.absent if self.apart else ~known).astype(float)[:, None]]
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

    def scores(self, model: Model, features: Floats) -> Floats:
        """A model's scores of rows; where there is one class it has probability 1, whatever was trained."""
        scores = np.asarray(model.scores(features))
        return np.ones((len(scores), 1)) if self.task == CLASSES and len(self.target.categories) == 1 else scores

    def predictions(self, scores: Floats) -> NDArray[Any]:
        """Labels, or numbers in their own unit, from a model's scores."""
        if self.task == CLASSES:
            return np.asarray(self.target.labels[np.argmax(scores, axis=1)])
        low, high = self.target.range or (-1.0, 1.0)
        return np.asarray((scores[:, 0] + 1) / 2 * (high - low) + low)

    def rows(self, X: Any, y: Any, owners: NDArray[np.intp] | None = None) -> EncodedRows:
        return EncodedRows(self.features(X), self.targets(y), owners)

    def to_json(self) -> Json:
        cuts = {name: list(values) for name, values in self.cuts.items()}
        return {
            "format": FORMAT if self.apart else FIRST_FORMAT,
            "schema": self.schema.to_json(),
            "form": self.schema.form,
            "cuts": cuts,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any], rates: dict[str, Any] | None = None) -> Preparation:
        """What to_json wrote; the rates of labels are no part of a released model, and are kept apart."""
        about = stored["schema"]
        columns, target = tuple(_column(c) for c in about["columns"]), _column(about["target"])
        schema = Schema(columns, target, bool(about["declared"]), stored["form"])
        cuts = {name: tuple(values) for name, values in stored["cuts"].items()}
        known = Rates(tuple(rates["rates"]), rates["rows"]) if rates else None
        return cls(schema, cuts, known, apart=stored["format"] != FIRST_FORMAT)


def _name_day(days: float) -> str:
    return str(np.datetime64(round(days), "D"))


def _column(stored: dict[str, Any]) -> Column:
    span = stored.get("range")
    return Column(
        str(stored["name"]), stored["kind"], tuple(stored.get("categories", ())), (span[0], span[1]) if span else None
    )


def one_hot(codes: NDArray[Any], width: int) -> Floats:
    found = np.zeros((len(codes), width))
    found[np.arange(len(codes)), codes.astype(np.intp)] = 1.0
    return found
