"""One row of a text file, whatever it holds, leaves all other rows, errors and warnings as they are."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tacit.data import csv_text
from tacit.data.files import read_table
from tacit.integrations.table import table_objective

ROWS, PLACE = 40, 0
OTHERS = [
    [str(20 + i), ["north", 'the "old" ward', "two\nlines", "a, b", "5' 4\""][i % 5], str(i % 2)] for i in range(ROWS)
]
HIDDEN = int(np.random.default_rng(0).permutation(ROWS)[PLACE])  # a validation row of the table's own split
QUIET = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
CELL = st.text(st.characters(codec="utf-8"), max_size=12)
ANY_ROW = st.one_of(
    st.lists(CELL, max_size=9).map(lambda cells: written([cells])[:-1]),  # ragged, quoted as a writer would
    st.binary(max_size=30).map(lambda b: b.replace(b"\n", b" ")),  # a line of anything
    st.text(st.sampled_from('",\r\0 a1\t'), max_size=12).map(str.encode),
)


def written(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def with_row(row: bytes, ends: bytes = b"\n") -> bytes:
    lines = [written([["age", "ward", "y"]]), *(written([other]) for other in OTHERS)]
    lines[1 + HIDDEN] = row + b"\n"
    return b"".join(line[:-1].replace(b"\n", ends) + ends for line in lines)


def outcome(path: Path) -> tuple[Any, ...]:
    """Of the other rows what models see; the error; the warnings; and the losses of the other rows."""
    seen: list[Any] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            table = read_table(path)
            made = table_objective(table, "y", "linear")
            losses = np.delete(made({"C": 1.0}), PLACE)
            rest = [str(cell) for cell in np.delete(table["ward"].spell(), HIDDEN)]
            seen = [len(table), list(table.columns), rest, made.matrix.schema, losses.tolist()]
            seen += [part.tobytes() for part in made.train] + [np.delete(made.validation[0], PLACE, 0).tobytes()]
        except Exception as error:
            seen = [type(error).__name__, str(error)]
    return (*seen, [str(w.message) for w in told])


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@cache
def usual_outcome(folder: Path) -> tuple[Any, ...]:
    return outcome(write(folder / "t.csv", with_row(b"30,north,1")))


@QUIET
@given(row=ANY_ROW)
@example(row=b"1,2,3,4,5,6,7,8")
@example(row=b"")
@example(row=b" \r\t")
@example(row=b'1,"open')
@example(row=b'"1","2"3,"')
@example(row=b"\xff\xfe,\x00,\r")
@example(row=b'1,"two\nlines, and ""quotes""",0,9')
def test_a_row_of_anything_leaves_the_others_errors_and_warnings_as_they_are(tmp_path: Path, row: bytes) -> None:
    assert usual_outcome(tmp_path)[0] == ROWS
    assert outcome(write(tmp_path / "t.csv", with_row(row))) == usual_outcome(tmp_path)


@pytest.mark.slow
@settings(QUIET, max_examples=1500)
@given(row=ANY_ROW)
def test_many_rows_of_anything_leave_the_others_as_they_are(tmp_path: Path, row: bytes) -> None:
    assert outcome(write(tmp_path / "t.csv", with_row(row))) == usual_outcome(tmp_path)


@pytest.mark.parametrize("chunk", [1, 7, 64])
@pytest.mark.parametrize("row", [b'9,"open', b"", b'1,"two\nlines",1', b"1,2,3,4"])
def test_where_the_file_is_cut_into_chunks_does_not_matter(
    row: bytes, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = outcome(write(tmp_path / "t.csv", with_row(row)))
    monkeypatch.setattr(csv_text, "CHUNK", chunk)
    assert outcome(tmp_path / "t.csv") == usual


@pytest.mark.parametrize("ends", [b"\r\n", b"\r"])
def test_lines_may_end_in_any_way(ends: bytes, tmp_path: Path) -> None:
    plain = [[str(i), "w", str(i % 2)] for i in range(20)]
    text = written([["a", "b", "y"], *plain]).replace(b"\n", ends)
    for content in (text, text.removesuffix(ends), b"\xef\xbb\xbf" + text, ends + text):
        table = read_table(write(tmp_path / "t.csv", content))
        assert (list(table.columns), len(table), table["a"].tolist()) == (["a", "b", "y"], 20, list(range(20)))
    assert len(read_table(write(tmp_path / "t.csv", text + ends * 3))) == 23  # an empty line is a row, at the end too


def test_what_a_writer_wrote_is_read_back(tmp_path: Path) -> None:
    for suffix, separator in ((".csv", ","), (".tsv", "\t"), (".csv.gz", ",")):
        text = io.StringIO()
        csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([["age", "ward", "y"], *OTHERS])
        content = text.getvalue().encode()
        path = write(tmp_path / f"t{suffix}", gzip.compress(content) if suffix.endswith("gz") else content)
        assert read_table(path)["ward"].tolist() == [row[1] for row in OTHERS]


def test_a_stray_quote_is_a_letter_and_surplus_cells_are_left_out(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "t.csv", b'a,b\n1,"open\n2,x,y,z\n3\n\n"4"5,6\n'))
    assert table["a"].tolist() == [1, 2, 3, None, '"4"5']
    assert table["b"].tolist() == ['"open', "x", None, None, 6]


def test_the_first_row_may_be_the_longest(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "t.csv", b"a,b\n1,2,3,4\n5,6\n"))
    assert [cells.tolist() for cells in table.cells] == [[1, 5], [2, 6]]
