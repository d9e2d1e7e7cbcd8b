"""The curator's rows and how a row is evaluated: a column, a function, or a person at a prompt."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.data.cells import NUMBER
from tacit.data.files import read_table
from tacit.data.table import Table
from tacit.errors import BadInput, choice, interval, refuse_short_memory, type_and_shape
from tacit.privacy.guarantee import Budget

Array = npt.NDArray[np.float64]
Evaluate = Callable[[int, Array], float | None]


@refuse_short_memory()
def table_and_evaluation(rows: Any, evaluate: Any) -> tuple[Any, Evaluate, str]:
    """Rows (n, d), row number and row -> number, and what kind of evaluation it is.

    ``rows`` is an array, a data frame, or a file that ``tacit.data`` reads. ``evaluate`` is the name of a column, which
    is then no input, an array of one answer per row, a function of a row, or ``Prompt()``.
    """
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub":
        table = None
    else:
        table = read(rows) if isinstance(rows, (str, Path)) else Table.of(rows)
    if isinstance(evaluate, str):
        if table is None or table.form != "frame":
            raise BadInput(f"a column is named, {evaluate!r}, but rows have no names; give a table, or the answers")
        answers = numbers(select(table, [evaluate]))[:, 0]
        return numbers(table.drop([evaluate])), _column(answers), "column"
    values = rows if table is None else numbers(table)
    if isinstance(evaluate, Prompt):
        return values, evaluate, "person"
    if callable(evaluate):
        return values, lambda _, row: evaluate(row), "function"
    column = np.asarray(evaluate)
    if column.shape != (len(values),):
        raise BadInput(f"answers must be one per row, {len(values)} of them, got {type_and_shape(column)}")
    return values, _column(column), "column"


def read(path: str | Path, columns: Sequence[str] | None = None) -> Table:
    """A table from a file, or the named columns of it."""
    table = read_table(path)
    return table if columns is None else select(table, columns)


def select(table: Table, columns: Sequence[str]) -> Table:
    """The named columns; BadInput, to the curator who holds the table, says which there are."""
    absent = [name for name in columns if name not in table.names]
    if absent:
        raise BadInput(f"there is no column {absent[0]!r}; there are {', '.join(table.names)}")
    cells = tuple(table[name] for name in columns)
    return Table(tuple(columns), cells, len(table))


def numbers(table: Table) -> Array:
    """The table as an array, nan where a cell is missing; columns with other cells are refused by name."""
    others = [
        name
        for name, column in zip(table.names, table.cells, strict=True)
        if (~column.absent & (column.kinds != NUMBER)).any()
    ]
    if others:
        raise BadInput(
            f"rows must be numbers, and {', '.join(others)} {'is' if len(others) == 1 else 'are'} not: leave them out, "
            "or name the columns of numbers (--columns)"
        )
    out = np.empty(table.shape)
    for i, column in enumerate(table.cells):
        out[:, i] = column.numbers
    return out


def _column(values: npt.NDArray[Any]) -> Evaluate:
    def reveal(row: int, _: Array) -> float | None:
        return float(values[row])

    return reveal


@dataclass(frozen=True)
class Prompt:
    """A person types the answer. An empty line means that the row cannot be evaluated."""

    read: Callable[[str], str] = input
    show: bool = True  # the row itself: the curator types

    def __call__(self, row: int, values: Array) -> float | None:
        shown = " " + np.array2string(values, precision=6) if self.show else ""
        while True:
            typed = self.read(f"row {row}{shown}: answer? ").strip()
            if not typed:
                return None
            try:
                return float(typed)
            except ValueError:
                print("a number, or an empty line if there is none", file=sys.stderr)


@dataclass(frozen=True)
class PrivateAnswers:
    """Answers clipped to public ``bounds``, with Gaussian noise, each charged.

    ``budget`` is for one answer. With ``charged="once"`` the first answer pays for all: right if an answer depends on
    its own row alone, since a changed row then changes one answer and every row is answered once. With "each", the
    default, every answer pays, and nothing is assumed of the evaluation.

    Edges. A row that cannot be evaluated counts as the low bound, so that failing tells nothing.
    """

    bounds: tuple[float, float]
    budget: Budget
    charged: str = "each"

    def __post_init__(self) -> None:
        interval("bounds", self.bounds)
        choice("charged", self.charged, ("each", "once"))

    def clip(self, value: float | None) -> float:
        low, high = self.bounds
        return low if value is None or math.isnan(value) else min(max(value, low), high)
