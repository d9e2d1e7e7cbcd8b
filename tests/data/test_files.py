"""Tables in files: what a schema makes of a cell depends on that cell, however the file's other cells are read."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.data import csv_text
from tacit.data.cells import fill, read_one
from tacit.data.files import read_table
from tacit.data.schema import Schema
from tacit.data.units import number_persons
from tacit.errors import BadInput

NUMBERS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"[0-9]{1,25}\.[0-9]{1,25}", fullmatch=True),
    st.sampled_from(
        ["", "nan", "NA", "n/a", "True", "False", "1e400", "-inf", "007", "1_000", " 3 ", "+4", "1e5", ".5"]
    ),
)
QUIET = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


@QUIET
@given(cells=st.lists(NUMBERS, min_size=12, max_size=12), word=st.sampled_from(["north", "0x", "é"]))
def test_a_cell_is_the_same_number_whether_or_not_another_is_a_word(
    tmp_path: Path, cells: list[str], word: str
) -> None:
    """The last row is private: with a number there pandas reads the column itself, with a word it is left as text."""
    seen = []
    for last in ("7", word):
        path = tmp_path / "t.csv"
        path.write_text("\n".join(["a,b", *(f'"{c}",1' for c in [*cells, last])]) + "\n")
        table = read_table(path)
        first = table.drop(["b"]).take(np.arange(len(cells)))
        schema = Schema.of_rows(first, words="category")
        seen.append((schema, schema.columns[0].encode(first["a"])))
    assert seen[0][0] == seen[1][0]
    assert seen[0][1].tobytes() == seen[1][1].tobytes()
    assert [repr(float(v)) for v in seen[0][1]] == [repr(_as_float(c)) for c in cells]


def _as_float(cell: str) -> float:
    value = read_one(cell)
    return float(value) if isinstance(value, (int, float)) else math.nan


def test_a_word_after_many_numbers_leaves_them_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_text, "CHUNK", 3)
    cells = ["007", "7", "7.50", "1e2", "", "n/a", "x", "8", "9"]
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *(f"{c},{i}" for i, c in enumerate(cells))]) + "\n")
    table = read_table(tmp_path / "t.csv", spelled=["b"])
    assert table["a"].tolist() == [7, 7, 7.5, 100, None, None, "x", 8, 9]
    assert table["b"].spell().tolist() == [str(i) for i in range(9)]


def test_declared_words_keep_their_spelling(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("code,land,y\n01,NA,0\n1,DE,1\n1,,1\n")
    schema = Schema.declare({"code": ["01", "1"], "land": ["DE", "NA"]}, target="y", labels=[0, 1])
    table = read_table(tmp_path / "t.csv", schema)
    assert [c.encode(table[c.name]).tolist() for c in schema.columns] == [[0, 1, 1], [1, 0, -1]]
    plain = Schema.of_rows(read_table(tmp_path / "t.csv"), words="category")
    assert [c.kind for c in plain.columns] == ["number", "category", "number"]
    assert plain.columns[1].categories == ("DE",)


def test_a_column_of_numbers_takes_eight_bytes_a_cell_and_words_are_held_once(tmp_path: Path) -> None:
    pd.DataFrame({"x": np.linspace(0, 1, 500), "w": ["north", "south"] * 250}).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert table["x"].numbers.nbytes == 4000
    assert table["x"].codes is None
    assert table["w"].texts == ("north", "south")


@QUIET
@given(st.lists(st.one_of(NUMBERS, st.floats(), st.none(), st.integers(), st.booleans()), max_size=8))
def test_what_is_read_of_a_cell_does_not_depend_on_its_company(cells: list[object]) -> None:
    column = Schema.declare({"a": "number"}).columns[0]
    together = column.encode(fill(cells))
    alone = [column.encode(fill([cell]))[0] for cell in cells]
    assert [repr(v) for v in together] == [repr(v) for v in alone]
    assert all(math.isfinite(v) or math.isnan(v) for v in together)


# Separators, encodings, Excel, many files


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_line_of_names_says_how_cells_are_separated(separator: str, tmp_path: Path) -> None:
    rows = [["age", "ward, or town", "dose"], ["40", "a;b", "1"], ["50", "c", "2"]]
    text = "\n".join(separator.join(f'"{c}"' if separator in c or "," in c else c for c in row) for row in rows)
    table = read_table(write(tmp_path / "t.csv", text))
    assert list(table.columns) == ["age", "ward, or town", "dose"]
    assert table["age"].tolist() == [40.0, 50.0]
    assert table["ward, or town"].tolist() == ["a;b", "c"]


def test_with_semicolons_a_comma_is_a_decimal_point_cell_by_cell(tmp_path: Path) -> None:
    """The last row is private: a word there must not make words of the other numbers."""
    seen = []
    for last in ("9,5", "x"):
        table = read_table(write(tmp_path / "t.csv", f"a;b;c\n1,25;1;,5\n2.5;2;-,5e1\n3;3;4,\n{last};4;{last}\n"))
        first = table.drop(["b"]).take(np.arange(3))
        schema = Schema.of_rows(first, words="category")
        seen.append([c.encode(first[c.name]).tolist() for c in schema.columns])
    assert seen == [[[1.25, 2.5, 3.0], [0.5, -5.0, 4.0]]] * 2


def test_one_cell_that_is_not_unicode_spells_no_other_cell_anew(tmp_path: Path) -> None:
    head, rows = b"stadt,n\n", "Zürich,1\nBern,2\n".encode()
    plain, odd = tmp_path / "plain.csv", tmp_path / "odd.csv"
    plain.write_bytes(head + rows + b"Genf,3\n")
    odd.write_bytes(head + rows + "Köln,3\n".encode("latin-1"))
    assert read_table(plain)["stadt"].tolist() == ["Zürich", "Bern", "Genf"]
    assert read_table(odd)["stadt"].tolist() == ["Zürich", "Bern", "Köln"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_every_usual_encoding_is_read(encoding: str, tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "t.csv", "größe;ort\n1,5;Köln\n", encoding))
    assert list(table.columns) == ["größe", "ort"]
    assert [table["größe"][0], table["ort"][0]] == [1.5, "Köln"]


def test_excel_is_read_cell_by_cell(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": [1, 2.5, "n/a"], "b": ["x", None, "y"], "c": [1, 2, 3]}).to_excel(
        tmp_path / "t.xlsx", index=False
    )
    table = read_table(tmp_path / "t.xlsx")
    schema = Schema.of_rows(table, words="category")
    assert [c.kind for c in schema.columns] == ["number", "category", "number"]
    assert schema.columns[0].encode(table["a"]).tolist()[:2] == [1.0, 2.5]


def test_a_row_of_an_excel_file_adds_no_column_and_no_warning_quotes_its_cells(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["", "a", "y"], [0, 1, 2], [1, 3, 4, None, 77], [2, 123456789012.0, 6]):
        book.active.append(row)
    book.active["B4"].number_format = "yyyy-mm-dd"  # no date: openpyxl warns, and quotes it
    book.save(tmp_path / "t.xlsx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(tmp_path / "t.xlsx")
    assert list(table.columns) == ["Unnamed: 0", "a", "y"]
    assert table["y"].tolist() == [2, 4, 6]


def test_persons_of_a_parquet_file_are_told_apart_also_beside_one_without_a_name(tmp_path: Path) -> None:
    """A missing cell would make floats of all names, and those beyond 2^53 the names of one person."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    counted = []
    for last in (2**60 + 9, None):
        for file, names in (("1", [2**60, 2**60 + 1, 2**60]), ("2", [2**60 + 2, last])):
            held = arrow.table({"who": arrow.array(names, arrow.int64()), "x": arrow.array(range(len(names)))})
            parquet.write_table(held, tmp_path / f"{file}.parquet")
        table = read_table(tmp_path, spelled=["who"])
        counted.append(number_persons(table["who"], 5).tolist())
    assert counted == [[0, 1, 0, 2, 3]] * 2


def test_many_parquet_files_are_one_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    whole = pd.DataFrame({"a": np.arange(10.0), "b": list("abcdefghij")})
    (tmp_path / "stays" / "2024").mkdir(parents=True)
    whole.iloc[:4].to_parquet(tmp_path / "stays" / "1.parquet", index=False)
    whole.iloc[4:][["b", "a"]].to_parquet(tmp_path / "stays" / "2024" / "2.parquet", index=False)
    for named in (tmp_path / "stays", tmp_path / "stays" / "**" / "*.parquet"):
        table = read_table(named)
        assert {name: table[name].tolist() for name in table.names} == whole.to_dict("list")
    whole[["a"]].to_parquet(tmp_path / "stays" / "3.parquet")
    with pytest.raises(BadInput, match=r"3.parquet has others"):
        read_table(tmp_path / "stays")


@pytest.mark.parametrize(
    ("name", "says"),
    [("empty", "holds no .parquet files"), ("none/*.parquet", "no file fits"), ("t.doc", "a table must be a .csv")],
)
def test_what_is_no_table_is_refused(name: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=says):
        read_table(tmp_path / name)


def test_reading_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_text, "CHUNK", 7)
    told: list[int] = []
    read_table(write(tmp_path / "t.csv", "a\n" + "1\n" * 10), tell=told.append)
    assert sum(told) == 10
    assert len(told) > 1
