"""Additive models: one table of scores for each column of the private table, read off by bins.

    B    cells of equal width into which the range of a number is cut, besides the cuts that are in its features
    k    scores of a row: one, or one for each of three classes or more

Both kinds of cuts are public or paid for, and the bin of a row depends on that row alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.files import Json
from tacit.training.linear_losses import link
from tacit.training.trainer import Span

Floats = NDArray[np.float64]
Bins = NDArray[np.intp]


@dataclass(frozen=True)
class AdditiveScores:
    """A constant (k,) and a table (bins, k) for each column; a row's scores are their sum."""

    __released__ = True

    columns: tuple[Span, ...]
    cells: int  # B
    constant: Floats
    tables: tuple[Floats, ...]
    task: str

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k), or predicted targets (n, 1)."""
        total = np.tile(self.constant, (len(X), 1))
        for span, table in zip(self.columns, self.tables, strict=True):
            total += table[place_in_bins(X, span, self.cells)]
        return link(total, self.task)

    def to_json(self) -> Json:
        spans = [[s.start, s.stop, s.number] for s in self.columns]
        about = {"kind": "additive", "task": self.task, "columns": spans, "cells": self.cells}
        return {**about, "constant": self.constant.tolist(), "tables": [t.tolist() for t in self.tables]}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> AdditiveScores:
        spans = tuple(Span(int(a), int(b), bool(number)) for a, b, number in stored["columns"])
        tables = tuple(np.array(t, float) for t in stored["tables"])
        return cls(spans, int(stored["cells"]), np.array(stored["constant"], float), tables, str(stored["task"]))


def bin_count(span: Span, cells: int) -> int:
    """How many bins a column has: of a number one for "missing", the cells, and one more for each cut."""
    width = span.stop - span.start
    return 1 + cells + max(0, width - 3) if span.number else width


def place_in_bins(X: NDArray[np.float64], span: Span, cells: int) -> Bins:
    """The bin of every row, (n,), in the order of the numbers, or of the words.

    A number's bin counts the cuts below it, those of equal cells and those in its features: it rises with the number.

    >>> place_in_bins(np.array([[-1.0, 1, 0, 0], [0.9, 0, 1, 0], [0.0, 0, 0, 1]]), Span(0, 4, True), 2).tolist()
    [1, 3, 0]
    """
    part = np.nan_to_num(np.asarray(X, float)[:, span.start : span.stop], nan=0.0, posinf=1.0, neginf=-1.0)
    if not span.number:
        return np.asarray(np.argmax(part, axis=1), np.intp)
    place = np.clip(part[:, 0], -1.0, 1.0)
    found = 1 + np.minimum((place + 1) / 2 * cells, cells - 1).astype(np.intp)
    if part.shape[1] > 2:
        found += np.argmax(part[:, 1:-1], axis=1)
    if part.shape[1] > 1:
        found[part[:, -1] > 0.5] = 0
    return np.asarray(found, np.intp)
