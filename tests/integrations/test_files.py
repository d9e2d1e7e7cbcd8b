"""Tables in files: what a schema makes of a cell depends on that cell, however the file's other cells are read."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.integrations import files
from tacit.integrations.files import read_table
from tacit.schema import Schema
from tacit.schema.cells import fill, read_number

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
        schema = Schema.of_rows(table[["a"]].iloc[:-1], words="category")
        seen.append((schema, schema.columns[0].encode(table["a"].iloc[:-1])))
    assert seen[0][0] == seen[1][0]
    assert seen[0][1].tobytes() == seen[1][1].tobytes()
    assert [repr(v) for v in seen[0][1]] == [repr(np.float64(read_number(c))) for c in cells]


def test_a_word_after_many_numbers_leaves_their_spelling_as_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BLOCK", 3)
    cells = ["007", "7", "7.50", "1e2", "", "n/a", "x", "8", "9"]
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *(f"{c},{i}" for i, c in enumerate(cells))]) + "\n")
    table = read_table(tmp_path / "t.csv")
    assert table["a"].tolist() == cells
    assert table["b"].dtype == float
    assert table["b"].tolist() == list(range(9))


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
    assert table["x"].to_numpy().nbytes == 4000
    assert len({id(cell) for cell in table["w"].to_numpy()}) == 2


@QUIET
@given(st.lists(st.one_of(NUMBERS, st.floats(), st.none(), st.integers(), st.booleans()), max_size=8))
def test_what_is_read_of_a_cell_does_not_depend_on_its_company(cells: list[object]) -> None:
    column = Schema.declare({"a": "number"}).columns[0]
    together = column.encode(fill(cells))
    alone = [column.encode(fill([cell]))[0] for cell in cells]
    assert [repr(v) for v in together] == [repr(v) for v in alone]
    assert all(math.isfinite(v) or math.isnan(v) for v in together)
