"""`tacit train` and `tacit predict`: a table in, a model, a certificate and a page out, from a real shell."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
from command_parts import installed
from shell_parts import Said
from shell_parts import tacit as command


def write_table(path: Path, n: int = 3000) -> None:
    rng = np.random.default_rng(0)
    age, ward = rng.integers(18, 95, n), rng.choice(["north", "west"], n)
    ill = rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 8 - 1.5 * (ward == "west")))
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["person", "age", "ward", "ill"])
        rows.writerows(zip(np.arange(n) // 2, age, ward, np.where(ill, "yes", "no"), strict=True))


def tacit(folder: Path, *words: str) -> Said:
    with chdir(folder):
        return command(*words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a model was trained."""
    path: Path = tmp_path_factory.mktemp("train")
    write_table(path / "table.csv")
    assert tacit(path, "ledger", "open", "set", "--epsilon", "3", "--delta", "1e-4").code == 0
    words = [
        "--target",
        "ill",
        "--drop",
        "person",
        "--epsilon",
        "2",
        "--delta",
        "1e-5",
        "--runs",
        "4",
        "--out",
        "release",
    ]
    paid = ["--ledger", "ledger.db", "--ledger-name", "set", "--json"]
    done = installed("train", "--table", "table.csv", *words, *paid, at=path)
    (path / "printed.json").write_text(done.out)
    return path


def test_the_release_is_printed_written_and_paid(folder: Path) -> None:
    printed = json.loads((folder / "printed.json").read_text())
    assert printed["guarantee"]["epsilon"] == 2.0
    assert printed["guarantee"]["unit"] == "one record of the table replaced"
    assert printed["score"] < 0.45
    assert {Path(f).name for f in printed["files"].values()} >= {"model.json", "model.joblib", "report.html"}
    assert tacit(folder, "verify", "release/certificate.json", "--ledger", "ledger.db").code == 0


def test_the_page_names_the_score_the_guarantee_and_what_the_search_cost(folder: Path) -> None:
    page = (folder / "release" / "report.html").read_text()
    for words in (
        "table.csv: automatic model of ill",
        "What is not protected",
        "stay secret",
        "signature",
        "What the search cost",
        "composition",
        "one record of the table replaced",
    ):
        assert words in page
    again = tacit(folder, "report", "release", "--out", "again.html")
    assert again.code == 0, again.err


def test_a_released_model_predicts_from_the_shell(folder: Path) -> None:
    done = tacit(folder, "predict", "release", "table.csv", "--out", "predicted.csv")
    assert done.code == 0, done.err
    with (folder / "predicted.csv").open() as file:
        predicted = [row["prediction"] for row in csv.DictReader(file)]
    with (folder / "table.csv").open() as file:
        truth = [row["ill"] for row in csv.DictReader(file)]
    assert sum(p == t for p, t in zip(predicted, truth, strict=True)) > 0.6 * len(truth)
    both = json.loads(tacit(folder, "predict", "release/model.json", "table.csv", "--probabilities", "--json").out)
    assert set(both) == {"no", "yes"}
    assert np.allclose(np.array(both["no"]) + np.array(both["yes"]), 1.0)


def test_persons_are_the_unit_if_a_column_names_them(folder: Path) -> None:
    words = ["--table", "table.csv", "--target", "ill", "--person", "person", "--epsilon", "3", "--runs", "3", "--json"]
    done = tacit(folder, "train", *words)
    assert done.code == 0, done.err
    assert "person" in json.loads(done.out)["guarantee"]["unit"]


@pytest.mark.parametrize("last", ["9007199254740997", "a-word"])
def test_long_names_of_persons_are_told_apart_whatever_another_one_is(last: str, tmp_path: Path) -> None:
    """Read as numbers they would be joined, unless one private cell is a word."""
    names = [str(9007199254740992 + i) for i in range(4)]
    (tmp_path / "t.csv").write_text("who,x,y\n" + "".join(f"{n},1,yes\n" for n in [*names, last]))
    done = tacit(tmp_path, "train", "--table", "t.csv", "--target", "y", "--person", "who", "--epsilon", "1")
    assert done.code == 2
    assert "5 persons in all" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "nope"], "nope"),
        (["--target", "ill", "--model", "nope"], "logistic"),
        (["--target", "ill", "--epsilon", "1e-4"], "Nothing was spent"),
        (["--target", "ill", "--person", "who"], "who"),
    ],
)
def test_bad_words_are_refused_in_one_line(folder: Path, words: list[str], said: str) -> None:
    done = tacit(folder, "train", "--table", "table.csv", *words)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_remark_says_how_many_rows_a_class_needs(folder: Path) -> None:
    words = ["--table", "table.csv", "--target", "ill", "--epsilon", "1e-4"]
    assert "a class needs about " in tacit(folder, "train", *words).err
    (folder / "schema.toml").write_text('target = {name = "ill", labels = ["no", "yes"]}\n[columns]\nage = "number"\n')
    assert "a class needs" not in tacit(folder, "train", *words, "--schema", "schema.toml").err
    assert "a class needs" not in tacit(folder, "train", *words, "--model", "ridge").err


def test_the_ledger_that_a_refusal_proposes_takes_a_training(folder: Path) -> None:
    words = [
        "train",
        "--table",
        "table.csv",
        "--target",
        "ill",
        "--epsilon",
        "1",
        "--ledger",
        "ledger.db",
        "--runs",
        "3",
    ]
    refused = tacit(folder, *words, "--ledger-name", "other")
    assert refused.code == 1
    line = refused.err.split("To make it: tacit ")[1].split()
    assert tacit(folder, *line).code == 0, line
    assert tacit(folder, *words, "--ledger-name", "other").code == 0


def test_without_joblib_nothing_is_spent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    refused = tacit(folder, "train", "--table", "table.csv", "--target", "ill", "--out", "unwritten")
    assert (refused.code, "model.joblib needs joblib: pip install 'tacit[sklearn]'" in refused.err) == (2, True)
    assert not (folder / "unwritten").exists()
    unread = tacit(folder, "predict", "release/model.joblib", "table.csv", "--trust")
    assert (unread.code, "pip install 'tacit[sklearn]'" in unread.err) == (2, True)


def test_a_pickle_is_read_only_by_whoever_says_that_it_is_trusted(folder: Path) -> None:
    """Also in a folder of a release whose model.json was taken away."""
    alone = folder / "handed-over"
    alone.mkdir()
    shutil.copy(folder / "release" / "model.joblib", alone)
    refused = tacit(folder, "predict", "handed-over", "table.csv")
    assert (refused.code, "--trust" in refused.err) == (2, True)
    trusted = tacit(folder, "predict", "handed-over", "table.csv", "--trust")
    assert (trusted.code, trusted.out) == (0, tacit(folder, "predict", "release", "table.csv").out)


def test_a_file_that_is_no_model_is_refused(folder: Path) -> None:
    (folder / "model.json").write_text("{}")
    done = tacit(folder, "predict", "model.json", "table.csv")
    assert (done.code, "not a model" in done.err) == (2, True)


def test_labels_codes_for_missing_cells_and_ids_are_taken_from_the_shell(folder: Path) -> None:
    words = ["--table", "table.csv", "--target", "ill", "--runs", "2", "--epsilon", "3", "--out", "labelled"]
    done = tacit(folder, "train", *words, "--labels", "no,yes", "--missing", "-99")
    assert done.code == 0, done.err
    assert "a class needs" not in done.err
    assert "--missing" not in done.err
    kept = tacit(folder, "predict", "labelled", "table.csv", "--id", "age")
    assert kept.out.splitlines()[0] == "age,prediction"
    assert tacit(folder, "predict", "labelled", "table.csv", "--id", "age", "--out", "p.parquet").code == 0
    assert (folder / "p.parquet").exists()


def test_codes_for_missing_cells_are_hinted_at_by_what_was_released(tmp_path: Path) -> None:
    """Of words that the noise shows; of numbers no released value tells, and the remark is the same for all tables."""
    write_table(tmp_path / "table.csv")
    words = [
        "train",
        "--table",
        "table.csv",
        "--target",
        "ill",
        "--labels",
        "no,yes",
        "--epsilon",
        "3",
        "--drop",
        "person",
    ]
    plain = tacit(tmp_path, *words)
    assert (plain.code, "unless --missing -99 names them" in plain.err) == (0, True)
    text = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(text.replace("north", "?"))
    asked = tacit(tmp_path, *words)
    assert "'ward' holds the word '?': if it stands for a missing cell, --missing '?' says so" in asked.err
    named = tacit(tmp_path, *words, "--missing", "?")
    assert (named.code, "--missing" in named.err) == (0, False)
    shown = tacit(tmp_path, "train", "--help").out
    assert "-99, 999 or '?'" in " ".join(shown.replace("│", " ").split())


def test_a_target_of_numbers_is_trained_as_one_from_the_shell(tmp_path: Path) -> None:
    write_table(tmp_path / "table.csv")
    done = tacit(
        tmp_path, "train", "--table", "table.csv", "--target", "age", "--epsilon", "3", "--drop", "person", "--json"
    )
    assert done.code == 0, done.err
    assert "target 'age': classes or numbers, learnt too" in done.err
    assert json.loads(done.out)["score"] < 40  # years: the absolute error
