"""Rows in whatever container they came, as columns of cells; and columns put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput, extra
from tacit.schema.cells import Cells, fill, read_numbers

if TYPE_CHECKING:
    from tacit.schema import Column

ROW = (list, tuple, np.ndarray)


def form_of(X: Any) -> tuple[str, list[str]]:
    """How rows are held, and the names of their columns: "frame"; "matrix"; "flat", one cell per row; or "whole"
    for what has no columns of cells: sparse matrices and arrays of more than two dimensions.
    """
    if is_frame(X):
        return "frame", [str(c) for c in X.columns]
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return "matrix", [str(i) for i in range(X.shape[1])]
    if is_whole(X):
        return "whole", []
    widths = {len(row) if is_row(row) else 0 for row in _rows(X)}
    if len(widths) > 1:
        raise BadInput(f"rows must all have the same number of cells, got rows of {min(widths)} to {max(widths)}")
    width = widths.pop() if widths else 0
    return ("matrix", [str(i) for i in range(width)]) if width else ("flat", ["0"])


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "iloc")


def is_whole(X: Any) -> bool:
    return hasattr(X, "tocsr") or (isinstance(X, np.ndarray) and X.ndim != 1 and X.ndim != 2)


def encode_whole(X: Any) -> Any:
    """Numbers as float64, nan where they are not finite; anything else as it is."""
    if isinstance(X, np.ndarray):
        return read_numbers(X)[0] if X.dtype.kind in "fiub" else X
    sparse = X.astype(np.float64) if X.dtype.kind in "fiub" else X.copy()
    if hasattr(sparse, "data") and sparse.dtype.kind == "f":
        sparse.data[~np.isfinite(sparse.data)] = np.nan
    return sparse


def is_row(row: Any) -> bool:
    return isinstance(row, ROW) and np.ndim(row) == 1 if isinstance(row, np.ndarray) else isinstance(row, ROW)


def _rows(X: Any) -> Any:
    """Rows one by one; not for frames and matrices."""
    return X.to_numpy(object) if hasattr(X, "to_numpy") else X


def divide(X: Any, form: str, columns: Sequence[Column] | Sequence[str]) -> list[Any]:
    """The cells of each column. A row of another length than the others has none."""
    names = [c if isinstance(c, str) else c.name for c in columns]
    if is_frame(X):
        return _take_columns(X, names)
    if form == "flat":
        return [X if hasattr(X, "dtype") else fill(X)]
    if isinstance(X, np.ndarray) and X.ndim == 2:
        if X.shape[1] != len(names):
            raise BadInput(f"rows must have {len(names)} cells, as the schema says, got {X.shape[1]}")
        return list(X.T)
    table = np.full((len(X), len(names)), None, object)
    for i, row in enumerate(_rows(X)):
        if is_row(row) and len(row) == len(names):
            for j, cell in enumerate(row):
                table[i, j] = cell
    return list(table.T)


def _take_columns(frame: Any, names: list[str]) -> list[Any]:
    """By name, or by place where every name is as the schema has it, since names may repeat."""
    held = [str(c) for c in frame.columns]
    if held == names:
        return [frame.iloc[:, i] for i in range(len(names))]
    absent = [name for name in names if name not in held]
    if absent:
        raise BadInput(f"the table has no column {', '.join(map(repr, absent))} of the schema")
    return [frame.iloc[:, held.index(name)] for name in names]


def assemble(columns: Sequence[Column], form: str, arrays: list[Cells], names: Any = None) -> Any:
    """Encoded columns as one table: a DataFrame numbered from 0, a matrix, or the one column there is."""
    if form == "flat":
        return arrays[0]
    if form == "matrix":
        if all(c.kind == "number" for c in columns):
            return np.column_stack(arrays) if arrays else np.empty((0, 0))
        table = np.empty((len(arrays[0]), len(arrays)), object)
        for j, (column, array) in enumerate(zip(columns, arrays, strict=True)):
            table[:, j] = _spell(column, array) if column.kind == "category" else array
        return table
    pandas = extra("pandas", "sklearn", "a table with names")
    held = [
        pandas.Categorical.from_codes(a, categories=c.labels) if c.kind == "category" else a
        for c, a in zip(columns, arrays, strict=True)
    ]
    frame = pandas.DataFrame(dict(enumerate(held)))
    frame.columns = [c.name for c in columns] if names is None else names
    return frame


def _spell(column: Column, codes: NDArray[Any]) -> Cells:
    """Categories by their names, nan for none."""
    named: Cells = fill([*column.labels.tolist(), np.nan])
    return np.asarray(named[codes], object)  # -1 is the last
