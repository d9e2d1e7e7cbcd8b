"""Headers of tables of every kind, read without reading a record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacit.data.files import read_table
from tacit.data.header import read_header, remarks_on_names


@pytest.fixture(autouse=True)
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_table_is_not_read_beyond_its_header() -> None:
    os.mkfifo("pipe.csv")
    descriptor = os.open("pipe.csv", os.O_RDWR)
    os.write(descriptor, b"a,sick\n54,1\n")
    assert read_header(Path("pipe.csv")) == ["a", "sick"]
    assert os.read(descriptor, 100) == b"54,1\n"  # the record is still in the pipe
    os.close(descriptor)


def test_columns_of_one_name_are_remarked_on() -> None:
    Path("t.csv").write_text("Größe in m;a;Größe in m;;;a b\n1;2;3;4;5;6\n")
    (said,) = remarks_on_names(Path("t.csv"))
    assert said.startswith("2 columns are called 'Größe in m'")
    assert said.endswith("--drop 'Größe in m.1'")
    assert list(read_table("t.csv").columns[:3]) == ["Größe in m", "a", "Größe in m.1"]
    Path("t.csv").write_text("a,b\n1,1\n")
    assert remarks_on_names(Path("t.csv")) == []


def test_headers_of_every_kind_are_understood() -> None:
    import pandas as pd

    Path("bom.tsv").write_bytes(b'\xef\xbb\xbfa\t"b c"\r\n1\t2\r\n')
    assert read_header(Path("bom.tsv")) == ["a", "b c"]
    Path("empty.csv").write_text("")
    assert read_header(Path("empty.csv")) == []
    frame = pd.DataFrame({"a": [1], "b": [2]})
    frame.to_parquet("t.parquet")
    assert read_header(Path("t.parquet")) == ["a", "b"]
    frame.to_csv("t.csv.gz", index=False)
    assert read_header(Path("t.csv.gz")) is None
