"""The curator's rows and how a row is evaluated: a column, a function, or a person at a prompt."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import BadInput, choice, extra, interval, type_and_shape
from tacit.privacy.guarantee import Budget

Array = npt.NDArray[np.float64]
Evaluate = Callable[[int, Array], float | None]


def table_and_evaluation(rows: Any, evaluate: Any) -> tuple[Any, Evaluate, str]:
    """Rows (n, d) as they are given, row number and row -> number, and what kind of evaluation it is.

    ``rows`` is an array, a data frame, or the path of a CSV or Parquet file. ``evaluate`` is the name of a column,
    which is then no input, an array of one answer per row, a function of a row, or ``Prompt()``.
    """
    frame = _frame(rows)
    if isinstance(evaluate, str):
        if frame is None:
            raise BadInput(f"a column is named, {evaluate!r}, but rows have no names; give a table, or the answers")
        if evaluate not in frame.columns:
            raise BadInput(f"there is no column {evaluate!r}; there are {', '.join(map(str, frame.columns))}")
        return numbers(frame.drop(columns=evaluate)), _column(numbers(frame[[evaluate]])[:, 0]), "column"
    values = rows if frame is None else numbers(frame)
    if isinstance(evaluate, Prompt):
        return values, evaluate, "person"
    if callable(evaluate):
        return values, lambda _, row: evaluate(row), "function"
    column = np.asarray(evaluate)
    if column.shape != (len(values),):
        raise BadInput(f"answers must be one per row, {len(values)} of them, got {type_and_shape(column)}")
    return values, _column(column), "column"


def _frame(rows: Any) -> Any:
    """A data frame, or None for an array."""
    if isinstance(rows, (str, Path)):
        return read(rows)
    return rows if hasattr(rows, "columns") and hasattr(rows, "to_numpy") else None


def read(path: str | Path) -> Any:
    """A CSV or Parquet file as a data frame."""
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise BadInput(f"rows are read from a .csv or .parquet file, got {path.name!r}")
    pandas = extra("pandas", "sklearn", "reading a table")
    if path.suffix == ".parquet":
        extra("pyarrow", "parquet", "reading Parquet")
    try:
        return pandas.read_csv(path) if path.suffix == ".csv" else pandas.read_parquet(path)
    except (OSError, ValueError) as error:  # the library's message may show a cell
        raise BadInput(f"{path} cannot be read as a table ({type(error).__name__})") from None


def numbers(frame: Any) -> Any:
    """The frame as an array; columns of anything but numbers are refused by name, for the curator who holds them."""
    others = [str(name) for name in frame.columns if frame[name].dtype.kind not in "fiub"]
    if others:
        raise BadInput(
            f"rows must be numbers, and {', '.join(others)} {'is' if len(others) == 1 else 'are'} not: leave them out, "
            "or name the columns of numbers (--columns)"
        )
    return frame.to_numpy()


def _column(values: npt.NDArray[Any]) -> Evaluate:
    def reveal(row: int, _: Array) -> float | None:
        return float(values[row])

    return reveal


@dataclass(frozen=True)
class Prompt:
    """A person types the answer. An empty line means that the row cannot be evaluated."""

    read: Callable[[str], str] = input
    show: bool = True  # the row itself, to whoever types: they are the curator

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
