"""Rows in whatever container, as columns of cells under public names; and encoded columns put together again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.cells import fill
from tacit.data.columns import CellColumn
from tacit.data.containers import read_column
from tacit.errors import BadInput, extra, type_and_shape

if TYPE_CHECKING:
    from tacit.data.schema import Column

ROW = (list, tuple)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Columns of cells. Private, but for the names of the columns and the number of rows.

    ``form`` is how the rows were held: "frame", with names; "matrix"; or "flat", one cell for each row. ``given`` are
    the names as pandas has them, which need not be text.
    """

    names: tuple[str, ...]
    cells: tuple[CellColumn, ...]
    rows: int
    form: str = "frame"
    given: Any = None

    @classmethod
    def of(cls, X: Any) -> Table:
        """A frame of pandas or Polars, an Arrow table or what gives one, an array, a list of rows or of cells.

        Edges. Of a list of rows the width is that of most rows; a row of another width has no cells.
        """
        if isinstance(X, Table):
            return X
        form, names = form_of(X)
        if form == "whole":
            raise BadInput(f"rows must have columns of cells, got {type_and_shape(X)}")
        if form == "frame":
            frame = take_arrow(X)
            columns = tuple(read_column(_column(frame, i)) for i in range(len(names)))
            rows = len(columns[0]) if columns else len(frame)
        elif isinstance(X, np.ndarray) and X.ndim == 2:
            columns, rows = tuple(read_column(X[:, i]) for i in range(len(names))), len(X)
        elif form == "flat":
            columns, rows = (read_column(X),), len(X)
        else:
            listed = [list(row) if is_row(row) and len(row) == len(names) else [None] * len(names) for row in X]
            columns = tuple(read_column(fill(row[i] for row in listed)) for i in range(len(names)))
            rows = len(listed)
        return cls(tuple(names), columns, rows, form, X.columns if hasattr(X, "iloc") else None)

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"<a table of {self.rows} rows and {len(self.names)} columns, private>"

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.names)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, len(self.names)

    def __getitem__(self, name: str) -> CellColumn:
        """The first column of a name."""
        return self.cells[self._find(name)]

    def _find(self, name: str) -> int:
        if name not in self.names:
            raise BadInput(f"the table has no column {name!r} among its {len(self.names)} columns")
        return self.names.index(name)

    def drop(self, names: Iterable[str]) -> Table:
        """Without the columns of these names."""
        places = {self._find(name) for name in names}
        kept = [i for i in range(len(self.names)) if i not in places]
        given = None if self.given is None else self.given[kept]
        return replace(
            self, names=tuple(self.names[i] for i in kept), cells=tuple(self.cells[i] for i in kept), given=given
        )

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Some of the rows."""
        return replace(self, cells=tuple(c.take(rows) for c in self.cells), rows=len(rows))

    def mark_missing(self, values: Sequence[Any]) -> Table:
        """The same table, in which cells of these values are missing."""
        return replace(self, cells=tuple(c.mark_missing(values) for c in self.cells)) if values else self

    def match(self, columns: Sequence[Column] | Sequence[str]) -> list[CellColumn]:
        """The columns of a schema: by name, or by place where rows have no names or every name is as the schema has it.

        Names may repeat.
        """
        names = [c if isinstance(c, str) else c.name for c in columns]
        if self.form != "frame":
            if len(names) != len(self.names):
                raise BadInput(f"rows must have {len(names)} cells, as the schema says, got {len(self.names)}")
            return list(self.cells)
        if list(self.names) == names:
            return list(self.cells)
        absent = [name for name in names if name not in self.names]
        if absent:
            raise BadInput(f"the table has no column {', '.join(map(repr, absent))} of the schema")
        return [self[name] for name in names]

    @classmethod
    def join(cls, tables: Sequence[Table]) -> Table:
        """Tables of the same columns below each other."""
        first = tables[0]
        cells = tuple(CellColumn.join([t.match(first.names)[i] for t in tables]) for i in range(len(first.names)))
        return cls(first.names, cells, sum(t.rows for t in tables), first.form)


def refuse_collection(X: Any) -> None:
    """Refuse what Hugging Face calls a dataset and is no table: a dict of its splits, or a stream of rows."""
    if _home(X) == "datasets" and (isinstance(X, dict) or not hasattr(X, "__len__")):
        raise BadInput(
            f"a table must be one datasets.Dataset, got {type(X).__name__}: take a split of it, such as "
            "dataset['train'], and a stream as a whole (datasets.Dataset.from_list(list(stream)))"
        )


def is_frame(X: Any) -> bool:
    """Whether rows have columns with names."""
    return isinstance(X, Table) or (hasattr(X, "columns") and hasattr(X, "iloc")) or _gives_arrow(X) or is_records(X)


def is_records(X: Any) -> bool:
    """Whether it is a structured array, whose fields are columns."""
    return isinstance(X, np.ndarray) and X.dtype.names is not None and X.ndim == 1


def _home(X: Any) -> str:
    """The library whose class it is."""
    return type(X).__module__.split(".")[0]


def _gives_arrow(X: Any) -> bool:
    home = _home(X)
    return (home == "polars" and hasattr(X, "columns")) or (
        home in ("pyarrow", "duckdb", "datasets")
        and any(hasattr(X, n) for n in ("column_names", "columns"))
        and hasattr(X, "__len__")
    )


def take_arrow(X: Any) -> Any:
    """Frames that are not read as they are, in their Arrow form: what DuckDB and Hugging Face datasets hold."""
    home = _home(X)
    if home == "polars":
        return X.collect() if hasattr(X, "collect") else X
    if home == "duckdb":
        made = X.arrow()
        return made.read_all() if hasattr(made, "read_all") else made
    return X.with_format("arrow")[:] if home == "datasets" else X


def _column(frame: Any, place: int) -> Any:
    if isinstance(frame, np.ndarray):
        return frame[frame.dtype.names[place]]
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place]
    return frame.to_series(place) if hasattr(frame, "to_series") else frame.column(place)


def form_of(X: Any) -> tuple[str, list[str]]:
    """How rows are held, and the names of their columns: "frame"; "matrix"; "flat", one cell per row; or "whole"
    for what has no columns of cells: sparse matrices and arrays of more than two dimensions.
    """
    if isinstance(X, Table):
        return X.form, list(X.names)
    refuse_collection(X)
    if is_records(X):
        return "frame", list(X.dtype.names)
    if is_frame(X):
        names = getattr(X, "column_names", None) or getattr(X, "columns", None)
        return "frame", [str(c) for c in (names if names is not None else X.schema.names)]
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return "matrix", [str(i) for i in range(X.shape[1])]
    if is_whole(X):
        return "whole", []
    if isinstance(X, np.ndarray) and X.dtype != object:
        return "flat", ["0"]
    widths = Counter(len(row) if is_row(row) else 0 for row in X)
    width = max(widths, key=lambda w: (widths[w], w)) if widths else 0
    return ("matrix", [str(i) for i in range(width)]) if width else ("flat", ["0"])


def is_whole(X: Any) -> bool:
    return hasattr(X, "tocsr") or (isinstance(X, np.ndarray) and X.ndim != 1 and X.ndim != 2)


def encode_whole(X: Any) -> Any:
    """Numbers as float64, nan where they are not finite; anything else as it is."""
    if isinstance(X, np.ndarray):
        return np.where(np.isfinite(X), X, np.nan).astype(float) if X.dtype.kind in "fiub" else X
    sparse = X.astype(np.float64) if X.dtype.kind in "fiub" else X.copy()
    if hasattr(sparse, "data") and sparse.dtype.kind == "f":
        sparse.data[~np.isfinite(sparse.data)] = np.nan
    return sparse


def is_row(row: Any) -> bool:
    return isinstance(row, ROW) or (isinstance(row, np.ndarray) and row.ndim == 1)


def assemble(columns: Sequence[Column], form: str, arrays: list[NDArray[Any]], names: Any = None) -> Any:
    """Encoded columns as one table: a DataFrame numbered from 0, a matrix, or the one column there is."""
    if form == "flat":
        return arrays[0]
    if form == "matrix":
        if all(c.kind == "number" for c in columns):
            return np.column_stack(arrays)
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


def _spell(column: Column, codes: NDArray[Any]) -> NDArray[Any]:
    """Categories by their names, nan for none."""
    named: NDArray[Any] = fill([*column.labels.tolist(), np.nan])
    return np.asarray(named[codes], object)  # -1 is the last
