"""A table in files: divided by a public seed, trained on a sample, scored in parts, the same wherever that happens."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli.main import app
from tacit.data.table import Table
from tacit.errors import BadInput
from tacit.integrations import table_parts
from tacit.integrations.table_parts import table_shards
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import Simulation

ROWS, FILES = 3000, 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    where = tmp_path / "stays"
    where.mkdir()
    for i in range(FILES):
        x = rng.normal(size=(ROWS // FILES, 3))
        table = pandas.DataFrame(x, columns=["a", "b", "row"])
        table["row"] = np.arange(len(x)) + i * len(x) + 0.5
        table["ward"] = rng.choice(["n", "s"], len(x))
        table["sick"] = np.where(x[:, 0] + rng.normal(size=len(x)) > 0, "yes", "no")
        table.to_parquet(where / f"{i}.parquet", row_group_size=400)
    return where


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def numbers_of(parts: Any) -> Any:
    return np.concatenate([block["row"].numbers for part in parts for block in part.read_blocks()])


def make(folder: Path, **changes: Any) -> Any:
    usual = {"name": "stays", "drop": ["row"], "sample": 600}
    return table_shards(
        files(folder), changes.pop("target", "sick"), changes.pop("model", "linear"), **{**usual, **changes}
    )


def test_every_row_trains_or_validates_never_both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_parts, "BLOCK", 150)  # blocks end within row groups
    made = make(folder, drop=[], sample=10**6, seed=3)
    private = numbers_of(made.parts)
    few = [part.__class__(**{**part.__dict__, "private": False}) for part in made.parts]
    training = numbers_of(few)
    assert len(private) == made.records == ROWS // 2 == made.trained
    assert sorted([*private, *training]) == [i + 0.5 for i in range(ROWS)]
    again = np.concatenate(
        [b["row"].numbers for part in make(folder, drop=[], seed=3).parts for b in part.read_blocks()]
    )
    other = np.concatenate(
        [b["row"].numbers for part in make(folder, drop=[], seed=4).parts for b in part.read_blocks()]
    )
    np.testing.assert_array_equal(private, again)
    assert len(np.intersect1d(private, other)) < 0.6 * len(private)


@pytest.mark.parametrize("model", ["linear", "boosting"])
def test_losses_are_those_of_the_model_on_the_rows(folder: Path, model: str) -> None:
    made = make(folder, model=model)
    params = {"C": 1.0} if model == "linear" else {"max_iter": 20}
    rows = Table.join([b for part in made.parts for b in part.read_blocks()])
    fitted = made.sample.fit(params)
    wrong = np.mean(fitted.predict(rows.drop(["sick"])) != np.array(rows["sick"].tolist()))
    mean = BoundedMean(made.records, (0.0, 1.0), budget=Budget.gdp(1.0))
    assert mean.mean_of(made.add_up(made.fit_models([params]), mean, made.records, None)[0]) == pytest.approx(wrong)
    assert made.describe()[0].endswith("a sample of 600 of 1,500 rows to train on, 1,500 private rows to validate on, "
                                       "read in 3 parts")  # fmt: skip


def test_processes_release_what_one_process_releases(folder: Path) -> None:
    usual = {"budget": Budget.gdp(5.0), "trials": 3, "progress": False}
    with ProcessPoolExecutor(2) as pool:
        found = [
            tacit.tune(made := make(folder), made.space, **usual, **where, noise=Simulation(0)).value.to_json()
            for where in ({}, {"cluster": pool}, {"executor": pool, "at_once": 1})
        ]
    assert found[0] == found[1] == found[2]


def test_a_private_cell_of_any_kind_moves_no_other_loss(folder: Path) -> None:
    made = make(folder)
    fitted = made.fit_models([{"C": 1.0}])[0]
    frame = next(iter(made.parts[0].read_blocks()))
    before = made.score(fitted, frame)
    cells = {name: frame[name].tolist() for name in frame.names}
    for listed, cell in zip(cells.values(), ["", None, {"a": 1}, 10**400], strict=True):
        listed[4] = cell
    odd = pandas.DataFrame({name: pandas.Series(listed, dtype=object) for name, listed in cells.items()})
    np.testing.assert_array_equal(np.delete(made.score(fitted, odd), 4), np.delete(before, 4))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"person": "ward"}, "needs a table that is read whole"),
        ({"metric": "auc"}, "compares rows with each other"),
        ({"target": "ill"}, "no column 'ill'"),
        ({"validation": 1.0}, "validation must be in"),
    ],
)
def test_what_parts_cannot_do_is_refused(folder: Path, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        make(folder, **changes)


def test_files_with_other_columns_are_refused(folder: Path) -> None:
    pandas.DataFrame({"a": [1.0]}).to_parquet(folder / "9.parquet")
    with pytest.raises(BadInput, match=r"9.parquet has others"):
        make(folder)


def test_the_identity_changes_with_the_files(folder: Path) -> None:
    before = make(folder).data
    table = pandas.read_parquet(folder / "1.parquet")
    table.loc[5, "a"] = 99.0
    table.to_parquet(folder / "1.parquet", row_group_size=400)
    assert make(folder).data.content != before.content
    assert make(folder).data.describe() == before.describe()


def run(*words: str) -> Any:
    done = CliRunner().invoke(app, ["tune", *words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_shell_reads_a_large_folder_in_parts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.cli.problem.LARGE", 1000)
    said = run(
        "--table", str(folder), "--target", "sick", "--trials", "4", "--yes", "--storage", f"sqlite:///{tmp_path}/s.db"
    )
    assert said["guarantee"]["epsilon"] == pytest.approx(1.0)


def test_the_shell_scores_parts_by_functions_of_ones_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_parts.py").write_text(
        "import numpy as np\n"
        "def train(params):\n    return params['x']\n"
        "def score(model, frame):\n    return np.abs(frame['a'].to_numpy() - model)\n"
    )
    (tmp_path / "space.json").write_text('{"x": {"low": -1.0, "high": 1.0}}')
    monkeypatch.chdir(tmp_path)
    words = [
        "my_parts:score",
        "--train",
        "my_parts:train",
        "--table",
        str(folder / "*.parquet"),
        "--space",
        "space.json",
    ]
    said = run(*words, "--bounds", "0", "2", "--trials", "4", "--yes")
    assert said["params"].keys() == {"x"}
    refused = CliRunner().invoke(app, ["tune", "my_parts:score", "--train", "my_parts:train", "--space", "space.json"])
    assert isinstance(refused.exception, BadInput)
