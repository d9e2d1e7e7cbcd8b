"""What a table's columns may hold: read off training rows alone, or declared by somebody as public.

Types, categories and label sets are data. If all rows decide them, one private cell 'n/a' turns a column of numbers
into text and moves every loss. A schema is decided first, without the private rows, and then every row is put into its
form, row by row: a cell that does not fit is missing, a label that does not fit is marked.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput, choice, interval, name_type
from tacit.schema.cells import (
    MISSING,
    Mask,
    distinct,
    fill,
    read_cells,
    read_number,
    read_numbers,
    read_times,
    read_words,
)
from tacit.schema.rows import assemble, divide, encode_whole, form_of, is_frame

KINDS = ("number", "category", "text", "time", "object")
TASKS = ("classification", "regression")
FORMAT = "tacit.schema/1"
Label = str | float | int
Range = tuple[float, float]


@dataclass(frozen=True)
class Column:
    """The name and kind of a column: numbers (within a range), one of some categories, text, times, or objects."""

    __released__ = True

    name: str
    kind: str = "number"
    categories: tuple[Label, ...] = ()
    range: Range | None = None

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS)
        if self.range is not None:
            if self.kind != "number":
                raise BadInput(f"column {self.name!r} has a range, which is for numbers, got kind={self.kind!r}")
            object.__setattr__(self, "range", interval("range", self.range))
        if (self.kind == "category") != bool(self.categories):
            raise BadInput(f"column {self.name!r}: categories are for kind 'category', and it needs at least one")
        numeric = [isinstance(c, (int, float)) for c in self.categories]
        if any(numeric) and not all(numeric):
            raise BadInput(f"column {self.name!r} must have categories that are all text or all numbers")
        if len(set(self.categories)) != len(self.categories):
            raise BadInput(f"column {self.name!r} must have distinct categories")

    @property
    def labels(self) -> NDArray[Any]:
        """The categories as an array of one type: whole numbers, numbers, or text as wide as the longest."""
        if not self.categories or isinstance(self.categories[0], str):
            return np.array(self.categories, np.str_)
        values = np.array(self.categories, float)
        return values.astype(np.int64) if (values % 1 == 0).all() and (abs(values) < 2**53).all() else values

    def encode(self, cells: Any) -> NDArray[Any]:
        """The cells in this column's own type; what does not fit is nan, NaT, or -1 for a category.

        Edges. A number outside the range is moved to its nearer end. No cell makes it fail, warn or change another.
        """
        if self.kind == "object":
            return fill(read_cells(cells))
        if self.kind == "category":
            return self._codes(cells)
        read: Any = {"number": read_numbers, "text": read_words, "time": read_times}[self.kind]
        values: NDArray[Any] = read(read_cells(cells))[0]
        return np.clip(values, *self.range) if self.range else values

    def _codes(self, cells: Any) -> NDArray[np.int32]:
        """The place of each cell among the categories: by its spelling, else by its number."""
        which: NDArray[Any] | None
        if type(getattr(cells, "dtype", None)).__name__ == "CategoricalDtype":
            few, which = fill([*cells.cat.categories, None]), np.asarray(cells.cat.codes)
        else:
            few, which = distinct(read_cells(cells))
        codes = np.full(len(few), -1, np.int32)
        if isinstance(self.categories[0], str) and few.dtype.kind not in "fiub":
            places = {c: code for code, c in enumerate(self.categories)}
            words = read_words(few, frozenset(self.categories))[0].tolist()
            codes[:] = [places.get(word, -1) for word in words]
        numbers = {read_number(c): code for code, c in reversed(list(enumerate(self.categories)))}
        rest = np.flatnonzero(codes < 0)
        if set(numbers) - {None} and rest.size:
            codes[rest] = [numbers.get(v, -1) for v in read_numbers(few[rest])[0].tolist()]
        return codes if which is None else np.asarray(codes[which])

    def to_json(self) -> dict[str, Any]:
        about: dict[str, Any] = {"name": self.name, "kind": self.kind}
        about |= {"categories": list(self.categories)} if self.categories else {}
        return about | ({"range": list(self.range)} if self.range else {})


@dataclass(frozen=True)
class Schema:
    """Kinds of columns, categories, and the label set or range of the target.

    ``declared`` says that somebody stated it as public; otherwise it was read off training rows, and tells of them.

    Guarantee. None is needed for rows that it was not read off: they are put into its form one by one.
    Edges. A declared category may be a word that otherwise stands for a missing value, such as 'NA'. Columns that a
    declared schema does not name are left out.

    >>> schema = Schema.declare({"age": (0, 120), "ward": ["north", "west"]}, target="well", labels=[0, 1])
    >>> [schema.columns[1].encode(["west", "moon", None]).tolist(), schema.columns[0].encode(["40", "n/a"]).tolist()]
    [[1, -1, -1], [40.0, nan]]
    """

    __released__ = True

    columns: tuple[Column, ...]
    target: Column | None = None
    declared: bool = False
    form: str = "frame"  # see tacit.schema.rows.form_of

    @classmethod
    def declare(
        cls,
        columns: Mapping[str, Any],
        *,
        target: str | None = None,
        labels: Sequence[Label] | None = None,
        range: tuple[float, float] | None = None,
    ) -> Schema:
        """A schema from what is publicly known: per column a kind, a pair (low, high), a list of categories, or a dict
        of these; ``labels`` of the target to classify, or its ``range`` to regress.
        """
        aim = None
        if target is not None:
            aim = _declare_column(target, {"categories": labels} if labels is not None else {"range": range})
        elif labels is not None or range is not None:
            raise BadInput("labels and range are those of the target: give target=NAME too")
        found = tuple(_declare_column(name, said) for name, said in columns.items())
        if not found:
            raise BadInput("a schema must name at least one column")
        return cls(found, aim, declared=True)

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """A declared schema from a TOML or JSON file with ``columns`` and ``target``."""
        path = Path(path)
        try:
            text = path.read_text()
            document = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
        except OSError as error:
            raise BadInput(f"the schema {path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise BadInput(f"the schema {path} is not TOML or JSON: {error}") from None
        if not isinstance(document, dict) or not isinstance(columns := document.get("columns"), (dict, list)):
            raise BadInput(f"the schema {path} must have a table columns, such as [columns] with age = 'number'")
        if isinstance(columns, list):  # as to_json writes it
            columns = {c["name"]: {k: v for k, v in c.items() if k != "name"} for c in columns}
        said = document.get("target") or {}
        if not isinstance(said, dict) or set(said) - {"name", "labels", "range", "kind", "categories"}:
            raise BadInput(f"the schema {path} must say target = {{name = ..., labels = [...]}} or range = [low, high]")
        labels = said.get("labels", said.get("categories"))
        return cls.declare(columns, target=said.get("name"), labels=labels, range=said.get("range"))

    @classmethod
    def of_rows(cls, X: Any, y: Any = None, *, task: str | None = None, words: str = "text") -> Schema:
        """Read off rows that may be known, such as training rows. ``words`` are "text" of any kind, or a "category".

        Edges. A column whose cells are all missing holds numbers. Missing or strange labels are refused.
        """
        form, names = form_of(X)
        if form == "whole" or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub"):
            columns = tuple(Column(name) for name in names)
        else:
            columns = tuple(_see_column(n, c, words) for n, c in zip(names, divide(X, form, names), strict=True))
        return cls(columns, None if y is None else _target(y, task), form=form)

    def encode(self, X: Any) -> Any:
        """Rows in this schema's form: a DataFrame, a matrix, or one cell per row. Columns are found by their names."""
        if self.form == "whole":
            return encode_whole(X)
        plain = isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and X.shape[1:] == (len(self.columns),)
        if self.form == "matrix" and plain and all(c.kind == "number" and c.range is None for c in self.columns):
            return read_numbers(X)[0]
        arrays = [c.encode(cells) for c, cells in zip(self.columns, divide(X, self.form, self.columns), strict=True)]
        return assemble(self.columns, self.form, arrays, X.columns if is_frame(X) and not self.declared else None)

    def encode_target(self, y: Any) -> tuple[NDArray[Any], Mask]:
        """Labels in the target's own type, shape (rows,), and which fit; a label that does not has a stand-in."""
        if self.target is None:
            raise BadInput("this schema has no target")
        if self.target.kind == "category":
            codes = self.target.encode(y)
            return self.target.labels[np.maximum(codes, 0)], codes >= 0
        values, (low, high) = read_numbers(read_cells(y))[0], self.target.range or (-math.inf, math.inf)
        fits = (values >= low) & (values <= high)
        return np.where(fits, values, low if self.target.range else 0.0), fits

    def to_json(self) -> dict[str, Any]:
        aim = self.target.to_json() if self.target else None
        return {
            "format": FORMAT,
            "declared": self.declared,
            "columns": [c.to_json() for c in self.columns],
            "target": aim,
        }


def _declare_column(name: str, said: Any) -> Column:
    """One column of a declared schema."""
    if isinstance(said, Column):
        return said
    if isinstance(said, str):
        return Column(name, said)
    if isinstance(said, tuple):
        return Column(name, range=interval("range", said))
    if isinstance(said, (list, set, frozenset)):
        return Column(name, "category", tuple(said) if isinstance(said, list) else tuple(sorted(said)))
    if not isinstance(said, Mapping) or set(said) - {"kind", "categories", "range"}:
        raise BadInput(f"column {name!r} must be declared by a kind, a range or categories, got {name_type(said)}")
    categories = tuple(said.get("categories") or ())
    kind = said.get("kind") or ("category" if "categories" in said and said["categories"] is not None else "number")
    return Column(name, kind, categories, said.get("range"))


def _see_column(name: str, cells: Any, words: str) -> Column:
    """What the cells of a column show it to be."""
    array = distinct(read_cells(cells))[0]
    numbers, strange = read_numbers(array)
    categorical = type(getattr(cells, "dtype", None)).__name__ == "CategoricalDtype"
    if not strange.any():
        known = tuple(np.unique(numbers[np.isfinite(numbers)]).tolist())
        return Column(name, "category", known) if categorical and known else Column(name)
    said = any(isinstance(cell, (str, bytes)) for cell in array[strange].tolist())
    own = said and (words == "text" or categorical or np.isfinite(numbers).any())  # a pipeline may read text itself
    if not own and not read_times(array[strange])[1].any():
        return Column(name, "time")
    spelled, odd = read_words(array)
    if any(isinstance(cell, (complex, np.complexfloating)) for cell in array[odd].tolist()):
        raise BadInput("Complex data not supported: some training rows hold complex numbers")
    if odd.any():
        return Column(name, "object")
    if words == "text" and not categorical:
        return Column(name, "text")
    return Column(name, "category", tuple(sorted({w for w in spelled if isinstance(w, str)})))


def _target(y: Any, task: str | None) -> Column:
    """The label set, or that the target is a number. Missing labels are refused."""
    array = read_cells(y)
    numbers, strange = read_numbers(array)
    if not strange.any():
        if not np.isfinite(numbers).all():
            raise BadInput(
                "Input y contains NaN, infinity or a value too large for dtype('float64'): the target is missing in "
                "some training rows; leave such rows out"
            )
        return Column("y", "category", tuple(np.unique(numbers).tolist())) if task == "classification" else Column("y")
    if task == "regression":
        raise BadInput("regression needs numbers, and the target holds words in some training rows")
    labels, odd = read_words(array, MISSING - {""})
    if odd.any() or not all(isinstance(label, str) for label in labels):
        raise BadInput("labels must be text or numbers, and some training rows have none; leave such rows out")
    return Column("y", "category", tuple(sorted(set(labels))))
