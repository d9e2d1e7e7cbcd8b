"""A cell is read alone: for every container C and every row i, read(C)[i] == read_one(C[i]).

Containers: text in four dialects, Parquet, Arrow of many types, Excel, pandas of each family of types, Polars, NumPy of
each kind, structured arrays, lists. Uses: features, labels, persons. Everything that is read of a column comes from
``read_column`` or from a reader of files, so the law of columns is the law of all uses.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit.data.cells import fill, read_one
from tacit.data.columns import CellColumn
from tacit.data.containers import read_column
from tacit.data.files import read_table
from tacit.data.schema import Column
from tacit.data.table import Table
from tacit.data.units import Persons

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
TEXTS = [
    *(
        "1",
        "01",
        " 1.00",
        "1.0",
        "-0",
        "0",
        "007",
        "7",
        "1e5",
        "+4",
        ".5",
        "1_000",
        "1e400",
        "inf",
        "-inf",
        "nan",
        "NaN",
    ),
    *("", " ", "NA", "n/a", "null", "None", "x", " x ", "north", "tRUE", "fALSE", "maybe", "True", "é", "²", "１"),
    *("2024-05-01", "1.5.2024", "2024-13-01", "2024-05-01T10:00Z", "9999-12-31", "0x10", "9007199254740993", "9" * 400),
    *("1,5", ",5", "a,b", "a;b", "0.1", "0.30000000000000004", "1e-320", "123456789012345678901234567890", "w" * 500),
]
OBJECTS = [
    *(None, True, False, 0, 1, -3, 2**53 + 1, 2**64, 10**400, 0.5, -0.0, float("nan"), float("inf"), 1e300),
    *([1], {"a": 1}, (1, 2), b"1", b"\xff", 3 + 0j, 3 + 4j, np.float32(0.1), np.int8(3), np.bool_(True), np.str_("x")),
    *(datetime.date(2024, 5, 1), datetime.datetime(2024, 5, 1, 10), np.datetime64("2024-05-01"), np.datetime64("NaT")),
    *(
        datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5))),
        datetime.time(1),
        pd.NaT,
        pd.NA,
    ),
    *(pd.Timestamp("2024-05-01", tz="UTC"), np.timedelta64(3, "s"), np.array([1.0]), object()),
]
NUMBERS = [0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, -7.5, float("nan"), float("inf"), 2.0**53, 2.0**60, 1e22]
WHOLE = [0, 1, -1, 7, 2**31, 2**53, 2**53 + 1, -(2**62) - 1, 2**63 - 1]
MOMENTS = [0, 1, -1, 10**9, 10**12, 2**31 - 1, 2**40, 2**62, -(2**62), 2**63 - 1]


def values(rng: np.random.Generator, pool: list[Any], rows: int) -> list[Any]:
    """Mostly alike, and a hostile cell here and there: a container's type then hangs on a single one."""
    usual = pool[int(rng.integers(len(pool)))]
    return [pool[int(rng.integers(len(pool)))] if rng.random() < rng.choice([0.1, 0.9]) else usual for _ in range(rows)]


def texts(rng: np.random.Generator, rows: int) -> list[Any]:
    return values(rng, TEXTS, rows)


def whole(rng: np.random.Generator, rows: int, least: int, most: int) -> list[int]:
    return [min(max(v, least), most) for v in values(rng, WHOLE, rows)]


def with_missing(rng: np.random.Generator, cells: list[Any]) -> list[Any]:
    return [None if rng.random() < 0.2 else cell for cell in cells]


def moments(rng: np.random.Generator, rows: int, kind: Any) -> tuple[Any, list[Any]]:
    held = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    most = 2**31 - 1 if pa.types.is_date32(kind) else 2**63 - 1
    counts = with_missing(rng, [min(max(v, -most), most) for v in values(rng, MOMENTS, rows)])
    unit = ("D" if held == pa.int32() else "ms") if pa.types.is_date(kind) else kind.unit
    return pa.array(counts, held).view(kind), [None if c is None else np.datetime64(c, unit) for c in counts]


def arrow_text(rng: np.random.Generator, rows: int, kind: Any) -> tuple[Any, list[Any]]:
    pool = [*(t.encode() for t in TEXTS), b"\xff", b"a\xffb", b"\xc3("]
    cells = with_missing(rng, values(rng, pool, rows))
    if kind in (pa.string(), pa.large_string()):
        held = pa.array(cells, pa.binary() if kind == pa.string() else pa.large_binary()).view(kind)
    else:
        held = pa.array(cells, pa.binary())
        held = held.dictionary_encode() if kind == "dictionary" else held
    return held, cells


def listed(cells: list[Any], make: Callable[[list[Any]], Any]) -> tuple[Any, list[Any]]:
    return make(cells), cells


def each(container: Any) -> tuple[Any, list[Any]]:
    return container, list(container)


def pandas_of(rng: np.random.Generator, cells: list[Any], kind: str) -> tuple[Any, list[Any]]:
    missing = with_missing(rng, cells)
    return pd.Series(missing, dtype=kind), missing


def masked(rng: np.random.Generator, rows: int) -> tuple[Any, list[Any]]:
    cells = with_missing(rng, values(rng, NUMBERS, rows))
    return np.ma.masked_array([0.0 if c is None else c for c in cells], [c is None for c in cells]), cells


def chunks(rng: np.random.Generator, rows: int) -> tuple[Any, list[Any]]:
    cells = with_missing(rng, texts(rng, rows))
    return pa.chunked_array([cells[: rows // 2], cells[rows // 2 :]], pa.string()), cells


def numeric(rng: np.random.Generator, rows: int, kind: str) -> Any:
    with np.errstate(all="ignore"):
        return np.array(values(rng, NUMBERS, rows)).astype(kind)


def structured(rng: np.random.Generator, rows: int) -> tuple[Any, list[Any]]:
    array = np.zeros(rows, [("a", "f4"), ("b", "O")])
    array["a"], array["b"] = numeric(rng, rows, "f4"), fill(values(rng, OBJECTS, rows))
    return Table.of(array)["b"], list(array["b"])


def rows_of_lists(rng: np.random.Generator, rows: int) -> tuple[Any, list[Any]]:
    cells = values(rng, OBJECTS, rows)
    held: list[Any] = [[1, cell] for cell in cells] + [[1, 0]] * (rows + 5)
    held[0], cells[0] = [1], None  # a row that is too short has no cells
    return Table.of(held)["1"].take(np.arange(rows)), cells


LEAST, MOST = -(2**63), 2**63 - 1
MOMENTS_OF = [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us")]
CONTAINERS: dict[str, Callable[[np.random.Generator, int], tuple[Any, list[Any]]]] = {
    "list of texts": lambda r, n: listed(texts(r, n), list),
    "list of anything": lambda r, n: listed(values(r, OBJECTS + TEXTS, n), list),
    "tuple": lambda r, n: listed(values(r, OBJECTS, n), tuple),
    "rows of lists": rows_of_lists,
    "object array": lambda r, n: listed(values(r, OBJECTS + TEXTS, n), fill),
    "text array": lambda r, n: each(np.array(texts(r, n))),
    "bytes array": lambda r, n: each(np.array([t.encode() for t in texts(r, n)])),
    "structured array": structured,
    **{f"array {k}": lambda r, n, k=k: each(numeric(r, n, k)) for k in ("f2", "f4", "f8", "longdouble")},
    "array c16": lambda r, n: each(np.array(values(r, [*NUMBERS, 3 + 4j, 3 + 0j], n), complex)),
    "array i8": lambda r, n: each(np.array(whole(r, n, LEAST, MOST), np.int64)),
    "array u8": lambda r, n: each(np.array(whole(r, n, 0, MOST), np.uint64)),
    "array bool": lambda r, n: each(r.random(n) < 0.5),
    **{
        f"array M8[{u}]": lambda r, n, u=u: each(np.array(values(r, MOMENTS, n)).view(f"M8[{u}]"))
        for u in ("D", "s", "ms", "us", "ns")
    },
    "masked array": masked,
    **{f"pandas {k}": lambda r, n, k=k: each(pd.Series(numeric(r, n, k))) for k in ("f4", "f8")},
    "pandas object": lambda r, n: listed(values(r, OBJECTS + TEXTS, n), lambda c: pd.Series(fill(c), dtype=object)),
    **{
        f"pandas {k}": lambda r, n, k=k: pandas_of(r, texts(r, n), k)
        for k in ("string[python]", "string[pyarrow]", "category")
    },
    "pandas Int64": lambda r, n: pandas_of(r, whole(r, n, LEAST, MOST), "Int64"),
    "pandas boolean": lambda r, n: pandas_of(r, (r.random(n) < 0.5).tolist(), "boolean"),
    "pandas Float64": lambda r, n: pandas_of(r, values(r, NUMBERS, n), "Float64"),
    "pandas datetime": lambda r, n: each(pd.Series(r.integers(-(2**60), 2**60, n).view("M8[us]"))),
    "pandas zoned": lambda r, n: each(pd.Series(r.integers(0, 2**50, n).view("M8[us]")).dt.tz_localize("UTC")),
    "pandas sparse": lambda r, n: each(pd.Series(numeric(r, n, "f8"), dtype="Sparse[float]")),
    **{
        f"arrow {k}": lambda r, n, k=k: arrow_text(r, n, k)
        for k in (pa.string(), pa.large_string(), "binary", "dictionary")
    },
    **{f"arrow {k}": lambda r, n, k=k: moments(r, n, k) for k in [*MOMENTS_OF, pa.timestamp("ns")]},
    "arrow int64": lambda r, n: listed(with_missing(r, whole(r, n, LEAST, MOST)), lambda c: pa.array(c, pa.int64())),
    "arrow double": lambda r, n: listed(with_missing(r, values(r, NUMBERS, n)), lambda c: pa.array(c, pa.float64())),
    "arrow list": lambda r, n: listed([[1]] * n, pa.array),
    "arrow chunks": chunks,
}


def hold(container: Any, cells: list[Any], name: str) -> None:
    held = container if isinstance(container, CellColumn) else read_column(container)
    assert len(held) == len(cells), name
    found, wanted = [held[i] for i in range(len(held))], [read_one(cell) for cell in cells]
    assert found == wanted, name
    assert held.tolist() == wanted, name
    number = Column("n").encode(held).tolist()
    assert [repr(v) for v in number] == [
        repr(float(w) if isinstance(w, (int, float)) else float("nan")) for w in wanted
    ]
    # persons: two rows are one person's where their names are one value
    owners = Persons.of(held, len(held)).owners.tolist()
    names: dict[Any, int] = {}
    assert all(w is None or names.setdefault(w, o) == o for w, o in zip(wanted, owners, strict=True)), name
    assert len(set(owners)) == len(names) + wanted.count(None), name
    # labels: a declared label is found by its value, whatever else stands in the column
    column = Column("y", "category", ("1", "x", "NA"))
    alone = [int(column.encode(held.take(np.array([i])))[0]) for i in range(len(held))]
    assert column.encode(held).tolist() == alone, name


def check(columns: int, seed: int) -> None:
    rng, names = np.random.default_rng(seed), list(CONTAINERS)
    for i in range(columns):
        name = names[i % len(names)]
        hold(*CONTAINERS[name](rng, int(rng.integers(1, 12))), name)


def test_a_cell_is_read_alone_in_every_container() -> None:
    check(500, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_cell_is_read_alone_in_twenty_thousand_columns(seed: int) -> None:
    check(2000, seed)


def polars_columns(rng: np.random.Generator, rows: int) -> list[tuple[Any, list[Any]]]:
    pl = pytest.importorskip("polars")
    words, numbers = with_missing(rng, texts(rng, rows)), with_missing(rng, values(rng, NUMBERS, rows))
    whole_ = with_missing(rng, whole(rng, rows, -(2**63), 2**63 - 1))
    return [
        (pl.Series(words, dtype=pl.String), words),
        (pl.Series(words, dtype=pl.Categorical), words),
        (pl.Series(numbers, dtype=pl.Float64), numbers),
        (pl.Series(whole_, dtype=pl.Int64), whole_),
        (pl.Series(cells := values(rng, OBJECTS, rows), dtype=pl.Object), cells),
    ]


def test_polars_columns_are_read_cell_by_cell() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        for number, (container, cells) in enumerate(polars_columns(rng, 8)):
            hold(container, cells, f"polars {number}")


DIALECTS = {
    "comma": (",", "\n", "csv"),
    "semicolon": (";", "\r\n", "csv"),
    "tab": ("\t", "\n", "tsv"),
    "old": (",", "\r", "csv"),
}


def text_cells(path: Path, cells: list[str], dialect: str) -> CellColumn:
    separator, ends, suffix = DIALECTS[dialect]
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows([["a", "b"], *([c, "1"] for c in cells)])
    file = path / f"t.{suffix}"
    file.write_bytes(out.getvalue().encode().replace(b"\n", ends.encode()))
    return read_table(file)["a"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_field_of_a_text_file_is_read_alone(dialect: str, tmp_path: Path) -> None:
    """With semicolons a comma is a decimal point, in each cell by itself."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        cells = texts(rng, int(rng.integers(1, 30)))
        wanted = [c.replace(",", ".") if dialect == "semicolon" and c in ("1,5", ",5") else c for c in cells]
        hold(text_cells(tmp_path, cells, dialect), wanted, dialect)


@pytest.mark.parametrize("suffix", ["parquet", "xlsx"])
def test_a_cell_of_a_binary_file_is_read_alone(suffix: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    for _ in range(12):
        cells = [*with_missing(rng, texts(rng, 10)), "end"]
        if suffix == "parquet":
            pq.write_table(pa.table({"a": pa.array(cells, pa.string())}), tmp_path / "t.parquet")
        else:
            openpyxl = pytest.importorskip("openpyxl")
            book = openpyxl.Workbook()
            for row in (["a", "b"], *([c, 1] for c in cells)):
                book.active.append(row)
            book.save(tmp_path / "t.xlsx")
            cells = [row[0].value for row in book.active.iter_rows(min_row=2)]
        hold(read_table(tmp_path / f"t.{suffix}")["a"], cells, suffix)
