"""A table becomes an objective: each validation row moves its own loss alone, and nothing of the file is repeated."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from tacit.data.files import read_table
from tacit.data.schema import Schema
from tacit.errors import BadInput
from tacit.integrations.table import MODELS, PROTECTED, TableObjective, table_objective

ROWS = 120
LIMITS = {"classification": None, "regression": (0.0, 1e9)}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small models, whose threads would only wait for each other."""
    with threadpool_limits(1):
        yield


def people(task: str = "classification", rows: int = ROWS) -> pd.DataFrame:
    """Text cells as a CSV has them: numbers, words, missing ones."""
    generator = np.random.default_rng(0)
    age, dose = generator.normal(50, 10, rows), generator.integers(0, 5, rows)
    ward = generator.choice(["north", "south", "west"], rows)
    hidden = (age - 50) / 10 + dose - 2 + (ward == "west")
    y = (hidden > 0).astype(int) if task == "classification" else hidden + 0.5
    table = pd.DataFrame({"age": age, "dose": dose, "ward": ward, "y": y}).map(str).astype(object)
    table.loc[::17, "age"] = np.nan
    table.loc[::19, "ward"] = np.nan
    return table


def centre(objective: TableObjective) -> dict[str, Any]:
    params = objective.space.params(np.full((1, objective.space.dimensions), 0.4))[0]
    return {**params, **({"max_iter": 20} if "max_iter" in params else {})}


def hidden_rows(rows: int = ROWS, held: int = ROWS // 2, seed: int = 0) -> list[int]:
    """The rows of the table behind the losses."""
    return [int(row) for row in np.random.default_rng(seed).permutation(rows)[:held]]


# Reading


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".CSV", ".parquet"])
def test_every_kind_of_file_gives_the_same_losses(suffix: str, tmp_path: Path) -> None:
    table, path = people(), tmp_path / f"people{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        table.astype({"age": float, "dose": int, "y": int}).to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    read, given = (table_objective(t, "y", "linear") for t in (read_table(path), table))
    assert (read({"C": 1.0}) == given({"C": 1.0})).all()
    assert (read.records, read.task) == (60, "classification")


@pytest.mark.parametrize("name", ["people.ods", "people", "people.gz"])
def test_other_files_are_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"must be a \.csv, \.tsv, \.txt, \.xlsx or \.parquet file"):
        read_table(tmp_path / name)


def test_a_file_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file or directory"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(BadInput, match=r"folder\.csv holds no \.parquet files"):
        read_table(tmp_path / "folder.csv")


BROKEN = {
    "empty.csv": b"",
    "not.parquet": b"4711",
    "not.csv.gz": b"4711",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_without_its_content(name: str, tmp_path: Path) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(BROKEN[name])
    with pytest.raises(BadInput, match=f"{name} cannot be (parsed|read)") as caught:
        read_table(tmp_path / name)
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


# What it refuses


def test_a_missing_target_is_refused_without_quoting_the_first_line() -> None:
    """Where a file has no header, its first line is a record."""
    table = people().rename(columns={"age": "4711", "y": "outcome"})
    with pytest.raises(BadInput, match="no column 'y' among its 4 columns; the first line") as caught:
        table_objective(table, "y", "linear")
    assert "4711" not in str(caught.value)
    with pytest.raises(BadInput, match=r"no column 'outcom' .*did you mean 'outcome'"):
        table_objective(table, "outcom", "linear")


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "one column": (lambda t: t[["y"]], {}, "a column besides the target, got 1 in all"),
    "no rows": (lambda t: t[:0], {}, "1 row to validate and 10 to train on, got 0 and 0"),
    "a tiny table": (lambda t: t[:12], {}, "1 row to validate and 10 to train on, got 6 and 6: 12 rows"),
    "one class": (lambda t: t.assign(y="1"), {}, "one class only; use a smaller validation share"),
    "a missing answer": (lambda t: t.assign(y=[None, *t.y[1:-1], None]), {}, "missing in some training rows"),
    "an unknown model": (lambda t: t, {"model": "magic"}, "model must be one of linear, boosting"),
    "an unknown task": (lambda t: t, {"task": "ranking"}, "task must be one of classification, regression"),
    "no validation rows": (lambda t: t, {"validation": 0.0}, r"validation must be in \(0, 1\)"),
    "words to regress on": (lambda t: t, {"target": "ward", "task": "regression"}, "regression needs numbers"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_unusable_table_is_refused(what: str) -> None:
    change, other, message = REFUSED[what]
    table = change(people())
    if what == "words to regress on":
        table = table.assign(ward="north")
    with pytest.raises(BadInput, match=message):
        table_objective(table, **{"target": "y", "model": "linear", **other})


def test_what_is_protected_is_said() -> None:
    assert "protected: the validation rows" in PROTECTED
    assert "NOT protected: the training rows" in PROTECTED


# What it makes of a table


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_model_learns_and_answers_one_loss_per_validation_row(model: str, task: str) -> None:
    objective = table_objective(people(task), "y", model, bounds=LIMITS[task])
    assert objective.task == task
    losses = objective(centre(objective))
    assert objective.known.all()
    blind = {"classification": 0.5, "regression": float(np.var(objective.validation[1].astype(float)))}[task]
    assert losses.shape == (objective.records,) == (60,)
    assert np.isfinite(losses).all()
    assert losses.mean() < 0.9 * blind
    if task == "classification":
        assert set(losses) <= {0.0, 1.0}


@pytest.mark.parametrize("model", MODELS)
def test_the_corners_of_a_models_space_fit_the_smallest_table(model: str) -> None:
    objective = table_objective(people(rows=20), "y", model)
    assert len(objective.train[1]) == 10
    for corner in (0.0, 1.0):
        params = objective.space.params(np.full((1, objective.space.dimensions), corner))[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a solver that does not converge tells of training rows only
            assert objective(params).shape == (10,)


HOSTILE = {
    "a number": ("age", "61.5"),
    "a blank": ("age", np.nan),
    "a word among numbers": ("age", "unknown"),
    "infinity": ("age", "inf"),
    "a number too large": ("age", "1e308"),
    "a number beyond floats": ("age", "1e999"),
    "a fraction among whole numbers": ("dose", "2.5"),
    "a new category": ("ward", "4711"),
    "a number among words": ("ward", "3"),
    "another answer": ("y", "1"),
    "a word for an answer": ("y", "4711"),
    "a blank answer": ("y", np.nan),
    "an answer too large": ("y", "1e308"),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.filterwarnings("error")
def test_a_validation_row_moves_its_own_loss_alone(model: str, task: str) -> None:
    """The sensitivity that the noise is made for; also, no cell of that row makes the run fail or warn."""
    table = people(task)
    before = table_objective(table, "y", model, bounds=LIMITS[task])
    params = centre(before)
    usual, row = before(params), hidden_rows()[7]
    for column, cell in HOSTILE.values():
        changed = table.copy()
        changed.loc[row, column] = cell
        after = table_objective(changed, "y", model, bounds=LIMITS[task])
        assert after.task == task
        moved = np.flatnonzero(~np.equal(after(params), usual))
        assert set(moved) <= {7}


def test_a_file_with_a_hostile_row_moves_one_loss(tmp_path: Path) -> None:
    """Through the file, where a reader might guess the types of columns from all rows."""
    table = people()
    row = hidden_rows()[3]
    seen = []
    for cells in (("40", "1", "north", "1"), ("x", "True", "7", "yes")):
        table.loc[row] = list(cells)
        table.to_csv(tmp_path / "people.csv", index=False)
        seen.append(table_objective(read_table(tmp_path / "people.csv"), "y", "linear")({"C": 1.0}))
    assert set(np.flatnonzero(seen[0] != seen[1])) <= {3}


def test_a_category_unseen_in_training_is_no_category() -> None:
    table = people()
    table.loc[hidden_rows(), "ward"] = "moon"
    assert table_objective(table, "y", "linear")({"C": 1.0}).shape == (60,)


def test_columns_without_numbers_or_without_words_will_do() -> None:
    for columns in (["ward", "y"], ["age", "dose", "y"]):
        assert table_objective(people()[columns], "y", "linear")({"C": 1.0}).mean() < 0.6


def test_a_column_that_is_empty_in_training_is_borne() -> None:
    table = people().assign(empty=np.nan)
    assert table_objective(table, "y", "linear")({"C": 1.0}).mean() < 0.5


@pytest.mark.parametrize("kind", ["Int64", "boolean", "category", "string", "bool"])
def test_pandas_own_types_are_understood(kind: str) -> None:
    table = people()
    flags = pd.Series(np.arange(ROWS) % 2).astype("category" if kind == "category" else "Int64")
    if kind == "string":
        flags = flags.map({0: "no", 1: "yes"}).astype("string")
    elif kind != "category":
        flags = flags.astype(kind)
    if kind != "bool":
        flags[3] = pd.NA
    assert table_objective(table.assign(flag=flags), "y", "linear")({"C": 1.0}).mean() < 0.5


def test_the_task_is_judged_by_training_rows() -> None:
    assert table_objective(people("regression"), "y", "linear").task == "regression"
    assert table_objective(people("classification"), "y", "linear").task == "classification"
    few = people().assign(y=[str(i % 7) for i in range(ROWS)])
    assert table_objective(few, "y", "linear").task == "classification"
    prices = people().assign(y=[str(1000 + 17 * i) for i in range(ROWS)])  # whole numbers, but no classes
    assert table_objective(prices, "y", "linear", bounds=(0.0, 1e6)).task == "regression"


def test_the_split_depends_on_the_seed_and_on_nothing_else() -> None:
    table = people()[["age", "y"]].assign(age=np.arange(ROWS, dtype=float))
    rows = []
    for seed in (0, 1):
        made = table_objective(table, "y", "linear", seed=seed)
        mean, deviation = made.matrix.columns[0].mean, made.matrix.columns[0].deviation
        parts = [
            np.rint(part[0][:, 0] * deviation + mean).astype(int).tolist() for part in (made.validation, made.train)
        ]
        assert parts[0] == hidden_rows(seed=seed)
        assert sorted(parts[0] + parts[1]) == list(range(ROWS))
        rows.append(parts[0])
    assert rows[0] != rows[1]
    assert table_objective(people(), "y", "linear", validation=0.75).records == 90


def test_a_declared_schema_decides_what_columns_and_labels_there_are() -> None:
    schema = Schema.declare({"dose": (0, 3), "ward": ["north", "moon"]}, target="y", labels=["0", "1", "2"])
    made = table_objective(people(), "y", "linear", schema=schema)
    assert made.train[0].shape[1] == 3
    assert set(made.validation[1]) == {"0", "1"}
    assert made({"C": 1.0}).mean() < 0.5
    for other, message in (("age", "the schema has the target 'y'"), ("y", "for another task than regression")):
        with pytest.raises(BadInput, match=message):
            table_objective(people(), other, "linear", task="regression", schema=schema)


def test_a_label_that_is_not_declared_counts_as_the_worst() -> None:
    schema, table = Schema.declare({"dose": "number"}, target="y", labels=[0, 1]), people()
    table.loc[hidden_rows()[5], "y"] = "2"
    made = table_objective(table, "y", "linear", schema=schema)
    assert made({"C": 1.0})[5] == 1.0
    assert np.flatnonzero(~made.known).tolist() == [5]
    table.loc[next(r for r in range(ROWS) if r not in hidden_rows()), "y"] = "2"
    with pytest.raises(BadInput, match="none of the declared labels in some training rows"):
        table_objective(table, "y", "linear", schema=schema)


def test_what_no_model_would_score_is_said_from_training_rows_alone() -> None:
    import pandas as pd

    rows = pd.DataFrame({"a": np.arange(100.0), "y": ["yes"] * 100})
    order = np.random.default_rng(0).permutation(100)
    rows.loc[order[50:60], "y"] = "no"  # ten of the fifty training rows
    rows.loc[order[:50], "y"] = "no"  # of the private rows, all
    made = table_objective(rows, "y", "linear", task="classification")
    assert "an error of 0.2, always the most frequent class, on the training rows" in made.baseline()
    rows["y"] = 0.0
    rows.loc[order[50:60], "y"] = 10.0
    rows.loc[order[:50], "y"] = 1e6
    made = table_objective(rows, "y", "linear", task="regression", bounds=(0.0, 44.0))
    assert "squared error of 12, always the same number" in made.baseline()  # (40 of 2^2 and 10 of 8^2 at 44) / 50
    assert "clipped at the bounds [0, 44]" in made.baseline()
    assert "of these 20%" in made.baseline()
