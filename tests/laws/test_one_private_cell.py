"""One private cell gets out by no side way: each way that was once found, as a test."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit.data import csv_text
from tacit.data.files import read_table
from tacit.data.header import read_header
from tacit.data.identity import DataIdentity
from tacit.data.schema import Column, Schema
from tacit.data.table import Table
from tacit.data.units import number_persons
from tacit.errors import BadInput
from tacit.integrations.sklearn_trained import PrivateClassifier
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation
from tacit.run.frames import divide_files
from tacit.training.column_counts import ColumnCounts
from tacit.training.learn import learn_labels
from tacit.training.private_table import separate_target
from tacit.training.train import train


def write(path: Path, lines: list[str], ends: str = "\n") -> Path:
    path.write_bytes("".join(line + ends for line in lines).encode())
    return path


def released_labels(y: Any) -> tuple[Any, ...]:
    return learn_labels(y, ColumnCounts(2, 5.0, 1e-9), Simulation(0))[0].categories


@pytest.mark.parametrize("odd", ["x", None, [1], 3 + 4j, "n/a"])
def test_labels_are_released_by_value_however_others_are_spelled(odd: Any) -> None:
    plain = [0, 0.5, 1] * 200
    for spelled in (plain, [f"{v:.1f}" for v in plain], [str(v) for v in plain], ["0", "0.50", " 1"] * 200):
        assert released_labels(spelled) == (0, 0.5, 1)
        assert released_labels([*spelled, odd]) == (0, 0.5, 1)
    assert released_labels(np.array([0, 1] * 300)) == released_labels(["0", "1.0"] * 300) == (0, 1)


def test_a_label_that_is_spelled_in_two_ways_is_counted_once() -> None:
    """Half of a rare class as 1 and half as 1.0 would not reach the threshold, and all of it does."""
    y = ["0"] * 5000 + ["1", "1.0"] * 12
    counts = ColumnCounts(2, 1.0, 1e-9)
    assert 12 < counts.threshold < 18
    shown = [learn_labels(y, counts, Simulation(seed))[0].categories for seed in range(20)]
    assert shown.count((0, 1)) > 15


def test_declared_labels_and_categories_keep_their_spelling(tmp_path: Path) -> None:
    labels = Schema.declare({"a": (0, 9)}, target="y", labels=["1", "01"])
    categories = Column("code", "category", ("01", "1"))
    for odd in ("1", "x"):
        path = write(tmp_path / "t.csv", ["a,y", "1,1", "2,01", "3,1", f"4,{odd}"])
        assert labels.encode_target(read_table(path, labels)["y"])[0][:3].tolist() == ["1", "01", "1"]
        assert categories.encode(np.array([1, 1, 1, odd], object))[:3].tolist() == [1, 1, 1]
        assert categories.encode(pd.Series(["01", "1", "1", odd]))[:3].tolist() == [0, 1, 1]


def odd_arrow(kind: str, odd: bool) -> Any:
    pa = pytest.importorskip("pyarrow")
    last = {"date": 2**31 - 1, "time": 2**62, "zoned": 2**62, "text": b"\xff\xfe"}[kind]
    usual = b"north" if kind == "text" else 1
    held = {"date": pa.int32(), "text": pa.binary()}.get(kind, pa.int64())
    made = {"date": pa.date32(), "time": pa.time64("us"), "zoned": pa.timestamp("us", "UTC"), "text": pa.string()}[kind]
    return pa.array([usual] * 30 + [last if odd else usual], held).view(made)


@pytest.mark.parametrize("kind", ["date", "time", "zoned", "text"])
def test_no_parquet_cell_stops_a_run_or_changes_another(kind: str, tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    whole, blocks = [], []
    for odd in (False, True):
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"a": odd_arrow(kind, odd), "b": pa.array(range(31))}), path)
        whole.append(read_table(path)["a"].tolist()[:30])
        (frame,) = divide_files([path])[0][0].read_blocks()
        assert len(frame) == 31
        blocks.append(frame["a"].tolist()[:30])
    assert whole[0] == whole[1]
    assert blocks[0] == blocks[1]


def test_one_maybe_leaves_a_column_of_truths_as_numbers(tmp_path: Path) -> None:
    for odd in ("tRUE", "maybe"):
        table = read_table(write(tmp_path / "t.csv", ["a,b", "tRUE,1", "fALSE,2", "TRUE,3", f"{odd},4"]))
        assert table["a"].tolist()[:3] == [1, 0, 1]


def test_the_label_na_does_not_hang_on_another_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_text, "CHUNK", 40)
    schema = Schema.declare({"a": "number"}, target="y", labels=["NA", "DE"])
    seen = []
    for odd in ("NA", "x"):
        lines = ["a,y", *["1,NA", "2,DE"] * 30, f"3,{odd}"]
        seen.append(schema.encode_target(read_table(write(tmp_path / "t.csv", lines), schema)["y"])[0][:60].tolist())
    assert seen[0] == seen[1] == ["NA", "DE"] * 30


def test_a_complex_cell_empties_no_other_label_or_name() -> None:
    schema = Schema.declare({"a": "number"}, target="y", labels=[0, 1])
    assert schema.encode_target(np.array([0, 1, 1, 3 + 4j]))[1].tolist() == [True, True, True, False]
    assert number_persons([7, 8, 7, 3 + 4j], 4).tolist() == [0, 1, 0, 2]
    long = pd.Series([2**60 + i // 2 for i in range(1000)] + [None], dtype="Int64")
    assert number_persons(long, 1001).max() == 500


def test_a_list_cell_a_short_row_and_a_long_word_are_cells_like_others() -> None:
    rows: list[Any] = [[float(i % 7), "north"] for i in range(200)]
    y: list[Any] = [i % 2 for i in range(200)]
    for odd in ([[1], "north"], [1.0], [1.0, "x" * 10**6], "ab", None):
        table, labels = separate_target([*rows, odd], [*y, [3]], None)
        assert table.shape == (201, 2)
        assert table["0"].tolist()[:200] == [row[0] for row in rows]
        assert labels.tolist() == [*y, None]


def test_one_long_word_takes_its_own_length() -> None:
    """It took 22 to 45 GB in an array of texts, and 8 GB in the digest of a frame."""
    words = ["north"] * 20_000 + ["x" * 10**6]
    tracemalloc.start()
    for container in (words, pd.DataFrame({"w": words}), [[w, 1] for w in words]):
        DataIdentity.of_table(Table.of(container), name="t", others=[words])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20


def test_separator_and_line_ends_are_those_of_the_line_of_names(tmp_path: Path) -> None:
    for odd in ("3", "x;y;z;u;v", "a\nb"):
        path = write(tmp_path / "t.csv", ["a,b", "1,2", f"{odd},4"], "\r")
        table = read_table(path)
        assert (list(table.names), len(table), table["b"].tolist()) == (["a", "b"], 2, [2, 4])
        assert read_header(path) == ["a", "b"]


@pytest.mark.parametrize("last", ["3,4", "", ",", "  "])
def test_an_empty_last_line_is_a_row(last: str, tmp_path: Path) -> None:
    assert len(read_table(write(tmp_path / "t.csv", ["a,b", "1,2", last]))) == 2


def test_a_short_row_or_an_odd_label_does_not_stop_a_training() -> None:
    rng = np.random.default_rng(0)
    X: list[Any] = [[float(a), "n" if a > 0 else "w"] for a in rng.normal(size=900)]
    y: list[Any] = ["up" if row[0] > 0 else "down" for row in X]
    X[5], y[7], X[9] = [1.0], [1, 2], [[1], "n"]
    budget = Budget.approximate(3.0, 1e-5)
    assert train("logistic", X, y, budget=budget, runs=2, progress=False, noise=Simulation(0)).value.score >= 0
    model = PrivateClassifier(epsilon=3.0, delta=1e-5, runs=2, noise=Simulation(0)).fit(X, y)
    assert model.classes_.tolist() == ["down", "up"]
    with pytest.raises(BadInput, match="Expected 2D array"):
        model.predict(["n", "w"])
