"""Schemas: declared or read off rows; what a cell becomes; how they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit.data.cells import fill
from tacit.data.matrix import MOST_COLUMNS, Matrix
from tacit.data.schema import Column, Schema
from tacit.errors import BadInput

TOML = """
target = {name = "readmitted", labels = ["no", "yes"]}
[columns]
age = {range = [0, 120]}
ward = {categories = ["north", "NA", "west"]}
note = "text"
weight = "number"
"""


def test_a_schema_is_the_same_from_toml_from_json_and_from_python(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    read = Schema.read(tmp_path / "s.toml")
    columns = {"age": (0, 120), "ward": ["north", "NA", "west"], "note": "text", "weight": "number"}
    assert read == Schema.declare(columns, target="readmitted", labels=["no", "yes"])
    (tmp_path / "s.json").write_text(json.dumps(read.to_json()))
    assert Schema.read(tmp_path / "s.json") == read
    assert read.declared


BAD: dict[str, tuple[str, str]] = {
    "a word": ("columns = 3", "must have a table columns"),
    "no columns": ("[columns]", "at least one column"),
    "a strange kind": ("[columns]\na = 'colour'", "kind must be one of number, category"),
    "a range the wrong way": ("[columns]\na = {range = [2, 1]}", "low < high"),
    "categories twice": ("[columns]\na = {categories = ['x', 'x']}", "distinct categories"),
    "no categories": ("[columns]\na = {categories = []}", "needs at least one"),
    "mixed categories": ("[columns]\na = {categories = ['x', 1]}", "all text or all numbers"),
    "an unknown word": ("[columns]\na = {rnage = [0, 1]}", "declared by a kind, a range or categories"),
    "a range of words": ("[columns]\na = {kind = 'text', range = [0, 1]}", "a range, which is for numbers"),
    "labels of no target": ("[columns]\na = 'number'\n[target]\nlabels = [0, 1]", "give target=NAME"),
    "no TOML": ("[columns", "is not TOML or JSON"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_schema_that_cannot_be_meant_is_refused(what: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(BAD[what][0])
    with pytest.raises(BadInput, match=BAD[what][1]):
        Schema.read(tmp_path / "s.toml")
    with pytest.raises(BadInput, match="cannot be read"):
        Schema.read(tmp_path / "none.toml")


def test_cells_that_do_not_fit_are_missing_and_numbers_stay_in_their_range() -> None:
    schema = Schema.declare({"age": (0, 120), "ward": ["north", "NA", "west"]})
    cells = fill(["40", -3, 1e9, "n/a", None, [1], b"7", True])
    assert schema.columns[0].encode(cells).tolist()[:3] == [40.0, 0.0, 120.0]
    assert np.isnan(schema.columns[0].encode(cells)[3:6]).all()
    assert schema.columns[0].encode(cells).tolist()[6:] == [7.0, 1.0]
    assert schema.columns[1].encode(fill(["NA", "moon", None, "west", 3])).tolist() == [1, -1, -1, 2, -1]
    pairs = Schema.declare({"code": ["01", "1", "x"]}).columns[0]
    assert pairs.encode(fill(["01", "1", 1, 1.0, "1.0", "2", "x"])).tolist() == [0, 1, 1, 1, 1, -1, 2]


def test_labels_that_do_not_fit_are_marked_and_have_a_stand_in() -> None:
    schema = Schema.declare({"a": "number"}, target="y", labels=[0, 1])
    values, known = schema.encode_target(fill([1, "0", 2, None, "x", 1.0]))
    assert values.dtype == np.int64
    assert values[known].tolist() == [1, 0, 1]
    assert known.tolist() == [True, True, False, False, False, True]
    ranged = Schema.declare({"a": "number"}, target="y", range=(0, 10))
    values, known = ranged.encode_target(fill([3, 11, "n/a", "10", -0.1]))
    assert values.tolist() == [3.0, 0.0, 0.0, 10.0, 0.0]
    assert known.tolist() == [True, False, False, True, False]


KINDS: dict[str, tuple[Any, str]] = {
    "numbers as text": (["1", "2.5", "", "n/a"], "number"),
    "truths": ([True, False, None, True], "number"),
    "nothing": ([None, None, float("nan"), ""], "number"),
    "words": (["a", "1", None, 3], "text"),
    "days": (list(pd.date_range("2024-01-01", periods=4)), "time"),
    "lists": ([[1], [2], None, "x"], "object"),
}


@pytest.mark.parametrize("what", KINDS)
def test_the_kind_of_a_column_is_what_its_cells_show(what: str) -> None:
    cells, kind = KINDS[what]
    frame = pd.DataFrame({"c": pd.Series(fill(cells), dtype=object), "d": 1})
    assert [c.kind for c in Schema.of_rows(frame).columns] == [kind, "number"]
    if kind == "text":
        assert Schema.of_rows(frame, words="category").columns[0] == Column("c", "category", ("1", "3", "a"))


def test_days_in_a_text_file_are_times_and_a_pipeline_keeps_its_text() -> None:
    days = ["2024-03-01", "3.1.2024", "2024-03-01 12:30", "2024-03-01T12:30:00Z", "n/a", None]
    frame = pd.DataFrame({"d": days})
    seen = Schema.of_rows(frame, words="category").columns[0]
    assert seen.kind == "time"
    found = seen.encode([*days, "31.2.2024", "1/3/2024", "soon", "2024"]).astype("datetime64[m]").astype(str).tolist()
    assert found[:4] == ["2024-03-01T00:00", "2024-01-03T00:00", "2024-03-01T12:30", "2024-03-01T12:30"]
    assert found[4:] == ["NaT"] * 6
    assert Schema.of_rows(frame).columns[0].kind == "text"
    for other in ("1/3/2024", "soon", "2024", "31.2.2024"):
        mixed = pd.DataFrame({"d": [*days, other]})
        assert Schema.of_rows(mixed, words="category").columns[0].kind == "category", other
    assert Schema.declare({"d": "time"}).columns[0].encode(days)[0] == np.datetime64("2024-03-01")


def test_complex_numbers_and_rows_of_another_width_are_refused() -> None:
    with pytest.raises(BadInput, match="Complex data not supported"):
        Schema.of_rows(np.array([[1 + 2j], [3.0]]))
    assert Schema.of_rows(np.array([[1 + 0j], [3.0]])).columns[0].kind == "number"
    with pytest.raises(BadInput, match="rows must have 2 cells"):
        Schema.of_rows([[1, 2]]).encode(np.zeros((3, 5)))


def test_a_matrix_has_the_median_for_missing_numbers_and_rare_categories_share_a_column() -> None:
    words = [f"w{i % 80}" if i % 3 else "common" for i in range(600)]
    frame = pd.DataFrame({"x": [1.0, 2.0, 9.0, np.nan] * 150, "w": words})
    matrix, encoded = Matrix.fit(Schema.of_rows(frame, words="category"), frame)
    assert (matrix.encode(frame) == encoded).all()
    assert encoded.shape == (600, 1 + MOST_COLUMNS)
    assert encoded[:, 0].mean() == pytest.approx(0, abs=1e-12)
    assert encoded[:, 0].std() == pytest.approx(1)
    assert encoded[3, 0] == encoded[1, 0]
    assert (encoded[:, 1:].sum(axis=1) == 1).all()
    assert encoded[:, 1].sum() == 200
    strange = matrix.encode(pd.DataFrame({"x": ["1e300", "x"], "w": ["moon", None]}))
    assert np.isfinite(strange).all()
    assert (strange[:, 1:] == 0).all()
    with pytest.raises(BadInput, match="must hold numbers, categories or times"):
        Matrix.fit(Schema.of_rows(frame, words="text"), frame)


def test_a_matrix_for_trees_has_one_column_each_and_leaves_gaps() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 9.0, np.nan] * 3, "w": ["b", "b", "a", None] * 3})
    matrix, encoded = Matrix.fit(Schema.of_rows(frame, words="category"), frame, gaps=True)
    assert encoded.shape == (12, 2)
    assert np.isnan(encoded[3]).all()
    assert encoded[:3, 1].tolist() == [0.0, 0.0, 1.0]
    strange = matrix.encode(pd.DataFrame({"x": ["1e300", "x"], "w": ["moon", "a"]}))
    np.testing.assert_array_equal(strange, [[1e6, np.nan], [np.nan, 1.0]])


def test_zero_and_minus_zero_are_one_value() -> None:
    column = Column("ward", "category", ("0", "north"))
    assert column.encode(np.array([-0.0, 0.0, "north", "-0"], object)).tolist() == [0, 0, 1, 0]
