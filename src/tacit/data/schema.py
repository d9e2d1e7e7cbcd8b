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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.cells import NUMBER, ODD, TIME, WORD, Mask, fill, read_one, spell
from tacit.data.columns import CellColumn
from tacit.data.containers import read_column
from tacit.data.table import Table, assemble, encode_whole, form_of
from tacit.errors import BadInput, choice, interval, name_type
from tacit.files import Json

KINDS = ("number", "category", "text", "time", "object")
TASKS = ("classification", "regression")
FORMAT = "tacit.schema/1"
Label = str | float | int
Range = tuple[float, float]
DAY = np.timedelta64(86_400_000_000, "us")


@dataclass(frozen=True)
class Column:
    """The name and kind of a column: numbers (within a range), one of some categories, text, times, or objects.

    The range of times is in days since 1970, or given as dates.
    """

    __released__ = True

    name: str
    kind: str = "number"
    categories: tuple[Label, ...] = ()
    range: Range | None = None

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS)
        if self.range is not None:
            if self.kind not in ("number", "time"):
                raise BadInput(
                    f"column {self.name!r} has a range, which is for numbers and times, got kind={self.kind!r}"
                )
            ends: Any = tuple(_day(end) for end in self.range) if self.kind == "time" else self.range
            object.__setattr__(self, "range", interval("range", ends))
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

    @property
    def is_settled(self) -> bool:
        """Whether categories or a range are known, so that nothing is left to be learnt."""
        return self.kind == "category" or self.range is not None

    @property
    def is_spelled(self) -> bool:
        """Whether two categories are one value, as "01" and "1" are, so that spelling tells them apart."""
        values = [read_one(c) for c in self.categories]
        return len(set(values)) < len(values)

    def encode(self, cells: Any) -> NDArray[Any]:
        """The cells in this column's own type; what does not fit is nan, NaT, or -1 for a category.

        Edges. A number outside the range is moved to its nearer end. No cell makes it fail, warn or change another.
        """
        held = read_column(cells)
        if self.kind == "category" and self.is_spelled and held.raw is not None:
            held = read_column(held.raw, spelling=True)
        if self.kind == "object":
            return fill(held[i] for i in range(len(held))) if held.raw is None else held.raw
        if self.kind == "category":
            return self._codes(held)
        if self.kind == "text":
            return held.spell()
        if self.kind == "time":
            return held.read_times()
        return np.clip(held.numbers, *self.range) if self.range else held.numbers

    def _codes(self, cells: CellColumn) -> NDArray[np.int32]:
        """The place of each cell among the categories: by its spelling, else by its value."""
        spelled = {c.strip(): code for code, c in reversed(list(enumerate(self.categories))) if isinstance(c, str)}
        values = {read_one(c): code for code, c in reversed(list(enumerate(self.categories)))}
        values |= {v: spelled[spell(v)] for v in values if v is not None and spell(v) in spelled}
        values.pop(None, None)
        held, which = cells.distinct()
        codes = np.array([*(values.get(v, -1) for v in held), -1], np.int32)[which]
        if spelled and cells.codes is not None:
            by_text = np.array([*(spelled.get(text.strip(), -1) for text in cells.texts), -1], np.int32)[cells.codes]
            codes = np.where(by_text >= 0, by_text, codes)
        return codes

    def to_json(self) -> Json:
        about: Json = {"name": self.name, "kind": self.kind}
        about |= {"categories": list(self.categories)} if self.categories else {}
        return about | ({"range": list(self.range)} if self.range else {})


@dataclass(frozen=True)
class Schema:
    """Kinds of columns, categories, and the label set or range of the target.

    ``declared`` says that somebody stated it as public; otherwise it was read off training rows, and tells of them.

    Guarantee. None is needed for rows that it was not read off: they are put into its form one by one.
    Edges. A declared category may be a word that otherwise stands for a missing value, such as 'NA'. Columns that a
    declared schema does not name are left out; one that names the target alone leaves the others to be learnt.

    >>> schema = Schema.declare({"age": (0, 120), "ward": ["north", "west"]}, target="well", labels=[0, 1])
    >>> [schema.columns[1].encode(["west", "moon", None]).tolist(), schema.columns[0].encode(["40", "n/a"]).tolist()]
    [[1, -1, -1], [40.0, nan]]
    """

    __released__ = True

    columns: tuple[Column, ...]
    target: Column | None = None
    declared: bool = False
    form: str = "frame"  # see tacit.data.table.form_of

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
        if not found and aim is None:
            raise BadInput("a schema must name at least one column, or the target")
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
        if isinstance(document, dict) and document.get("target"):
            document.setdefault("columns", {})
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
        if form == "whole":
            columns = tuple(Column(name) for name in names)
        else:
            columns = tuple(_see_column(n, c, words) for n, c in zip(names, Table.of(X).cells, strict=True))
        return cls(columns, None if y is None else _target(read_column(y), task), form=form)

    @property
    def is_settled(self) -> bool:
        """Whether it says all that a training has to know of the columns and the target."""
        settled = all(c.is_settled for c in self.columns) and bool(self.columns)
        return settled and self.target is not None and self.target.is_settled

    def with_labels(self, labels: Sequence[Label], target: str = "target") -> Schema:
        """The same schema with these labels of the target, which it must not have declared."""
        if self.target is not None:
            raise BadInput("labels are given twice, and in the schema: give them once")
        return replace(self, target=Column(target, "category", tuple(labels)))

    def encode(self, X: Any) -> Any:
        """Rows in this schema's form: a DataFrame, a matrix, or one cell per row. Columns are found by their names."""
        if self.form == "whole":
            return encode_whole(X)
        table = Table.of(X)
        arrays = [c.encode(cells) for c, cells in zip(self.columns, table.match(self.columns), strict=True)]
        if not arrays:
            return np.empty((table.rows, 0))
        return assemble(self.columns, self.form, arrays, None if self.declared else table.given)

    def encode_target(self, y: Any) -> tuple[NDArray[Any], Mask]:
        """Labels in the target's own type, shape (rows,), and which fit; a label that does not has a stand-in."""
        if self.target is None:
            raise BadInput("this schema has no target")
        if self.target.kind == "category":
            codes = self.target.encode(y)
            return self.target.labels[np.maximum(codes, 0)], codes >= 0
        values, (low, high) = read_column(y).numbers, self.target.range or (-math.inf, math.inf)
        fits = (values >= low) & (values <= high)
        return np.where(fits, values, low if self.target.range else 0.0), fits

    def to_json(self) -> Json:
        aim = self.target.to_json() if self.target else None
        return {
            "format": FORMAT,
            "declared": self.declared,
            "columns": [c.to_json() for c in self.columns],
            "target": aim,
        }


def to_days(moments: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Times in days since 1970, nan for NaT."""
    return np.where(np.isnat(moments), np.nan, (moments - np.datetime64(0, "us")) / DAY)


def _day(end: Any) -> float:
    moment = read_one(end)
    return float((moment - np.datetime64(0, "us")) / DAY) if isinstance(moment, np.datetime64) else end


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


def _see_column(name: str, cells: CellColumn, words: str) -> Column:
    """What the cells of a column show it to be."""
    kinds = cells.kinds[~cells.absent]
    if (cells.kinds == ODD).any():
        held = [] if cells.raw is None else cells.raw[cells.kinds == ODD].tolist()
        if any(isinstance(cell, (complex, np.complexfloating)) for cell in held):
            raise BadInput("Complex data not supported: some training rows hold complex numbers")
        return Column(name, "object")
    spelled = cells.codes is not None and bool((cells.codes[~cells.absent] >= 0).any())
    if not (kinds != NUMBER).any():
        known = tuple(np.unique(cells.numbers[cells.kinds == NUMBER]).tolist())
        return Column(name, "category", known) if cells.categorical and known else Column(name)
    own = spelled and (words == "text" or cells.categorical)  # a pipeline may read text itself
    if not own and not (kinds != TIME).any():
        return Column(name, "time")
    if words == "text" and not cells.categorical:
        return Column(name, "text")
    return Column(name, "category", tuple(sorted({spell(v) for v in cells.distinct()[0]})))


def _target(cells: CellColumn, task: str | None) -> Column:
    """The label set, or that the target is a number. Missing labels are refused."""
    if not ((cells.kinds == WORD) | (cells.kinds == TIME) | (cells.kinds == ODD)).any():
        if cells.absent.any():
            raise BadInput(
                "Input y contains NaN, infinity or a value too large for dtype('float64'): the target is missing in "
                "some training rows; leave such rows out"
            )
        values = tuple(np.unique(cells.numbers).tolist())
        return Column("y", "category", values) if task == "classification" else Column("y")
    if task == "regression":
        raise BadInput("regression needs numbers, and the target holds words in some training rows")
    labels = {spell(v) for v in cells.distinct()[0]}
    empty = cells.absent
    if cells.codes is not None:  # beside words, NA is a label
        spelled = [cells.texts[c].strip() for c in np.unique(cells.codes[empty & (cells.codes >= 0)]).tolist()]
        labels |= {text for text in spelled if text}
        empty = empty & np.array([*(not text.strip() for text in cells.texts), True])[cells.codes]
    if empty.any():
        raise BadInput("labels must be text or numbers, and some training rows have none; leave such rows out")
    return Column("y", "category", tuple(sorted(labels)))
