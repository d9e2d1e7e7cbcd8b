"""`tacit plan` from the shell: a table, one JSON document, a picture, refusals with their exit codes."""

from __future__ import annotations

import json
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from shell_parts import tacit as run

import tacit
from tacit.cli import main
from tacit.planning.recommend import shell

CASE = ["--records", "1000", "--dimensions", "2", "--trials", "20"]
Said = Callable[..., Any]


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """The command in this process: its exit code and both streams."""
    monkeypatch.chdir(tmp_path)

    def said(*words: str) -> Any:
        monkeypatch.setattr("sys.argv", ["tacit", "plan", *words])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=left.value.code or 0, stdout=out, stderr=err)

    return said


def test_a_table_and_a_picture_for_a_person(plan: Said, tmp_path: Path) -> None:
    done = plan(*CASE, "--spread", "0.1", "--picture", "plan.svg")
    assert done.returncode == 0, done.stderr
    assert "epsilon = 1, delta = 1e-06" in done.stdout
    assert "Recommended: " in done.stdout
    assert done.stdout.rstrip().endswith("plan.svg")
    ET.parse(tmp_path / "plan.svg")
    assert [p.name for p in tmp_path.iterdir()] == ["plan.svg"]  # no ledger, no study


def test_one_json_document_and_nothing_else(plan: Said) -> None:
    done = plan(*CASE, "--mu", "0.5", "--bounds", "0", "5", "--want", "0.1", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["records"], document["spread"], document["spread_assumed"]) == (1000, 0.5, True)
    assert document["budget"] == {"notion": "gdp", "parameters": {"mu": 0.5}}
    assert document["needed"]["gibo"]["one valley"]["records"] > 0
    assert done.stderr == ""


def test_a_delta_that_one_record_would_satisfy_is_remarked_on(plan: Said) -> None:
    done = plan(*CASE, "--delta", "0.01", "--epsilon", "1", "--json")
    assert done.stderr.startswith("tacit: delta=0.01 is not below 1/n = 0.001: ")
    assert done.stderr == f"tacit: {json.loads(done.stdout)['notes'][0]}\n"
    done = plan(*CASE, "--json")
    assert (done.stderr, json.loads(done.stdout)["notes"]) == ("", [])


@pytest.mark.parametrize("method", ["observed", "gibo_few"])
def test_the_line_for_the_shell_runs_what_was_planned(method: str, plan: Said, tmp_path: Path) -> None:
    (tmp_path / "mymodel.py").write_text("import numpy as np\ndef losses(p): return np.full(9000, p['a'] * p['b'])\n")
    (tmp_path / "space.toml").write_text("a = {low = 0.0, high = 1.0}\nb = {low = 0.0, high = 1.0}\n")
    planned = tacit.plan(records=9000, dimensions=2, trials=6, budget=tacit.Budget.gdp(0.5))
    done = run(*shlex.split(shell(planned.case, planned[method].arguments))[1:], "--json")
    assert done.json["guarantee"]["parameters"] == {"mu": 0.5}, done.err
    assert done.json["noise"] == pytest.approx(planned[method].noise) or method == "gibo_few"
    line = json.loads(plan(*CASE, "--spread", "0.2", "--json").stdout)["recommendation"]["shell"]
    assert line.startswith("tacit tune mymodel:losses --space space.toml --records 1000 --bounds 0 1 --epsilon 1 ")
    assert line in plan(*CASE, "--spread", "0.2").stdout


def test_bad_usage_is_one_line_and_exit_code_two(plan: Said) -> None:
    for wrong, words in (
        ([*CASE[:2], "--dimensions", "0"], "dimensions must be at least 1"),
        ([*CASE, "--want", "-1"], "want must be positive"),
        ([*CASE, "--epsilon", "1", "--mu", "1"], "give one budget"),
        ([*CASE, "--picture", "plan.gif"], "saved as .svg"),
    ):
        done = plan(*wrong)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr


def test_a_table_tells_its_own_sizes(plan: Said, tmp_path: Path) -> None:
    """Persons are counted, not their rows; the line that is recommended names the table."""
    rows = [f"p{i // 3},{i % 7},{'yes' if i % 7 > 3 else 'no'}" for i in range(1200)]
    (tmp_path / "stays.csv").write_text("who,age,ill\n" + "\n".join(rows))
    asked = ["--table", "stays.csv", "--target", "ill", "--person", "who", "--epsilon", "3", "--trials", "50"]
    done = plan(*asked, "--spread", "0.3", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["records"], document["dimensions"], document["bounds"]) == (200, 1, [0.0, 1.0])
    assert "--table stays.csv --target ill" in document["recommendation"]["shell"]
    assert {m["method"]: m["releases"] for m in document["methods"]}["pool"] == "parameters and score; no trial"
    refused = plan("--table", "stays.csv", "--target", "ill", "--records", "5")
    assert refused.returncode == 2
    assert "leave --records" in refused.stderr


def test_the_line_for_a_table_can_be_copied(plan: Said, tmp_path: Path) -> None:
    rows = [f"{i},{i % 7},{i % 4}" for i in range(4000)]
    (tmp_path / "my stays.csv").write_text("stay no,age (years),days in\n" + "\n".join(rows))
    asked = ["--table", "my stays.csv", "--target", "days in", "--task", "classification", "--drop", "stay no"]
    done = plan(*asked, "--validation", "0.4", "--trials", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert "left out: stay no" in done.stderr
    words = shlex.split(json.loads(done.stdout)["recommendation"]["shell"])
    assert set(asked) | {"--validation", "0.4"} <= set(words)
    tuned = run(*words[1:], "--trials", "2", "--yes", "--method", "random")
    assert tuned.code == 0, tuned.err


def test_a_plan_of_a_training_reads_nothing_of_a_table_but_its_size(plan: Said, tmp_path: Path) -> None:
    """Every row is private then: not even labels that the first rows show may be counted."""
    rows = [f"p{i // 2},{i % 7},{'yes' if i % 7 > 3 else 'no'}" for i in range(4000)]
    asked = [
        "--goal",
        "train",
        "--table",
        "stays.csv",
        "--target",
        "ill",
        "--person",
        "who",
        "--epsilon",
        "3",
        "--runs",
        "4",
    ]
    told = []
    for odd in ("no", "never-seen"):
        (tmp_path / "stays.csv").write_text("who,age,ill\n" + "\n".join([*rows[:-1], f"p1999,{odd},{odd}"]))
        told.append(plan(*asked))
        assert told[-1].returncode == 0, told[-1].stderr
    assert "2,000 persons" in told[0].stderr
    assert told[0].stderr == told[1].stderr
    assert told[0].stdout == told[1].stdout
    assert plan(*asked[:3], "--target", "nil").returncode == 2


def test_a_plan_says_what_its_recommendation_would_do_to_a_ledger(plan: Said, tmp_path: Path) -> None:
    tacit.Ledger.open(tmp_path / "l.db", "icu", tacit.Budget.approximate(3.0, 1e-6)).close()
    given = ["--ledger", "l.db", "--ledger-name", "icu"]
    done = plan(*CASE, *given)
    assert "ledger 'icu' would take it, and would then have enough for a tuning at epsilon" in done.stdout
    refused = json.loads(plan(*CASE, "--epsilon", "4", *given, "--json").stdout)
    assert "ledger 'icu' would refuse it: it has enough for a tuning at epsilon 3" in refused["ledger"]
    train = plan("--goal", "train", "--records", "30000", "--epsilon", "0.8", *given)
    assert "ledger 'icu' would take it" in train.stdout
    lost = plan(*CASE, "--ledger", "none.db")
    assert (lost.returncode, "no ledger 'default'" in lost.stderr) == (0, True)
    assert not (tmp_path / "none.db").exists()
    assert tacit.Ledger.open(tmp_path / "l.db", "icu").entries() == []
