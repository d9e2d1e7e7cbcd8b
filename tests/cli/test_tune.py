"""`tacit tune` as people and scripts use it: real processes, exit codes, and who reads which stream."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_parts import OBJECTIVE, Run, installed

import tacit


def test_json_is_one_document_with_params_score_and_guarantee(place: Path) -> None:
    document = json.loads((place / "first.json").read_text())
    assert set(document["params"]) == {"x", "kind"}
    assert 0 <= document["score"] <= 1
    assert document["guarantee"]["notion"] == "gdp"
    assert document["guarantee"]["epsilon"] == pytest.approx(1.0)
    assert document["guarantee"]["delta"] == 1e-6
    assert document["guarantee"]["assumptions"] == []
    assert document["payment"]["name"] == "icu"
    assert set(document["files"]) == {"certificate", "trials", "study", "report"}
    assert all((place / path).is_file() for path in document["files"].values())


def test_a_person_reads_the_release_and_a_pipe_sees_no_bar(place: Path) -> None:
    said = installed(*OBJECTIVE, at=place, NO_COLOR="1")
    for shown in ("Released", "x ", "score", "± ", "Guarantee", "epsilon = 1, delta = 1e-06", "Not charged to any"):
        assert shown in said.out
    assert said.err == ""


def test_a_finished_run_is_repeated_for_nothing(run: Run, place: Path) -> None:
    again = run(*OBJECTIVE, "--ledger", "ledger.db", "--ledger-name", "icu", "--out", "out", "--json", at=place)
    assert again.json == json.loads((place / "first.json").read_text())


def test_a_constraint_is_read_from_the_line(run: Run, place: Path) -> None:
    (place / "both.py").write_text(
        "import numpy as np\n"
        "def columns(params):\n"
        "    return np.column_stack([np.full(3000, (params['x'] - 0.3) ** 2), np.full(3000, params['x'])])\n"
    )
    words = ["tune", "both:columns", *OBJECTIVE[2:-1], "pool", "--trials", "20"]
    said = run(*words, "--constraint", "recall>=0.6", "--json", at=place).json
    assert said["params"]["x"] > 0.5
    assert {"name": "recall", "relation": ">=", "bound": 0.6}.items() <= said["constraint"].items()
    assert "is written like recall>=0.8" in run(*words, "--constraint", "recall=1", at=place, code=2).err
    refused = run("tune", "--table", "table.csv", "--target", "sick", "--constraint", "recall>=0.6", at=place, code=2)
    assert "a constraint needs a function of your own" in refused.err


def test_a_spent_budget_is_exit_code_three(place: Path) -> None:
    tacit.Ledger.open(place / "small.db", "default", tacit.Budget.gdp(0.01))
    said = installed(*OBJECTIVE, "--ledger", "small.db", "--json", at=place, code=3)
    assert said.out == ""
    assert "This release needs" in said.err
    assert "Nothing was released" in said.err


def test_workers_are_processes(run: Run, place: Path) -> None:
    assert len(run(*OBJECTIVE, "--workers", "2", "--json", at=place).json["value"]["trials"]) == 4


def test_a_search_without_privacy_says_no(run: Run, place: Path) -> None:
    words = [w if w != "random" else "nonprivate" for w in OBJECTIVE]
    assert "NO privacy guarantee" in run(*words, at=place).out


def test_a_table_says_what_is_protected_and_what_is_not(run: Run, place: Path) -> None:
    words = ["tune", "--table", "table.csv", "--target", "sick", "--trials", "3", "--method", "random", "--yes"]
    said = run(*words, at=place)
    assert "protected: the validation rows. NOT protected: the training rows" in said.err
    assert "C " in said.out
    said = run(*words, "--json", "--model", "neighbours", "--validation", "0.6", at=place)
    assert "NOT protected" in said.err
    assert set(said.json["params"]) == {"n_neighbors", "weights"}


def test_regression_needs_bounds(run: Run, place: Path) -> None:
    words = ["tune", "--table", "table.csv", "--target", "weight", "--trials", "3", "--method", "random", "--yes"]
    assert (
        "is taken for amounts to regress on, by squared errors. --bounds LOW HIGH must say"
        in run(*words, at=place, code=2).err
    )
    assert run(*words, "--bounds", "0", "4", "--json", at=place).json["score"] <= 4


def test_noise_that_drowns_the_scores_is_refused_by_its_size_where_nobody_can_be_asked(run: Run, place: Path) -> None:
    said = run("tune", "--table", "table.csv", "--target", "sick", "--epsilon", "0.1", at=place, code=2)
    assert "would carry noise of" in said.err
    assert "--yes" in said.err


def test_a_space_that_the_model_cannot_take_is_refused_before_anything_is_spent(run: Run, place: Path) -> None:
    """It was a TypeError from inside the model."""
    for text, told in (
        ("rate = {low = 0.1, high = 1.0}\n", "the model 'linear' has no parameter rate; it has C,"),
        ("C = {low = -2.0, high = -1.0}\n", "cannot be fitted with {'C': -1.5}"),
    ):
        (place / "odd.toml").write_text(text)
        words = ["tune", "--table", "table.csv", "--target", "sick", "--space", "odd.toml", "--trials", "3"]
        said = run(*words, at=place, code=2)
        assert told in said.err
        assert "Nothing was spent" in said.err


def test_a_table_is_described_before_anything_is_spent(run: Run, place: Path) -> None:
    words = ["tune", "--table", "table.csv", "--target", "sick", "--trials", "3", "--method", "pool", "--yes"]
    said = run(*words, "--metric", "auc", "--drop", "weight", at=place)
    assert "task: classification, 2 classes; model: linear" in said.err
    assert "left out: weight" in said.err
    assert "auc: the mean over all pairs of records, within [0, 1]; one record of" in said.err
    assert "AUC " in said.out
    assert "noise of privacy and class rates" in said.out


def test_a_script_alone_is_printed_where_it_is_asked_for(run: Run, place: Path) -> None:
    words = ["tune", "--table", "table.csv", "--target", "sick", "--trials", "2", "--method", "random", "--yes"]
    said = run(*words, "--code", at=place)
    compile(said.out, "script", "exec")
    assert "Released" in said.err
    assert "table.fit({'C': " in said.out


def test_what_cannot_be_measured_is_refused_with_what_can(run: Run, place: Path) -> None:
    words = ["tune", "--table", "table.csv", "--target", "sick", "--metric", "f1"]
    assert "Use balanced, brier or auc" in run(*words, at=place, code=2).err
    words = ["tune", "mymodel:losses", "--metric", "auc"]
    assert "--metric is for --table" in run(*words, at=place, code=2).err
