"""Runs that the first release left unfinished go on: nothing is paid twice, nothing that was drawn is drawn again."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import optuna
import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

import make_runs_v1 as golden  # noqa: E402

MANY = 10**6  # evaluations: no interruption


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN / "runs_v1", tmp_path / "runs")
    return tmp_path / "runs"


def kinds(folder: Path, name: str) -> list[str]:
    with golden.ledger(name, at=folder) as ledger:
        ledger.verify()
        return [e.kind for e in ledger.entries()]


def values(folder: Path, name: str) -> list[list[float]]:
    study = optuna.load_study(study_name=name, storage=f"sqlite:///{folder}/study.db")
    return [t.values for t in study.trials if t.values is not None]


@pytest.mark.parametrize(("name", "drawn"), [("tacit", 3), ("interrupted", 0), ("finished", 6)])
def test_a_study_goes_on(name: str, drawn: int, runs: Path) -> None:
    before, paid = values(runs, name), kinds(runs, "records")
    assert len(before) == drawn
    release = golden.tune(MANY, at=runs, study_name=name)
    after = values(runs, name)
    assert (after[:drawn], len(after)) == (before, 6)
    assert kinds(runs, "records").count("charge") == paid.count("charge")
    with golden.ledger("records", at=runs) as ledger:
        assert ledger.verify_certificate(json.loads(json.dumps(release.certificate()))).paid
    assert golden.tune(MANY, at=runs, study_name=name).value == release.value


def test_a_journal_goes_on(runs: Path) -> None:
    file = runs / "descent" / "gibo.jsonl"
    before, paid = file.read_text(), kinds(runs, "records")
    release = golden.tune(MANY, at=runs, method="gibo", out=runs / "descent", scan=0, score_budget=0.0, rate=0.2)
    assert file.read_text().startswith(before)
    assert release.value.details["lost_steps"] == 0
    assert kinds(runs, "records").count("charge") == paid.count("charge")
    with golden.ledger("records", at=runs) as ledger:
        assert ledger.verify_certificate(json.loads(json.dumps(release.certificate()))).paid


def test_a_private_front_goes_on(runs: Path) -> None:
    before = values(runs, "pareto")
    assert len(before) == 2
    front = golden.front(MANY, at=runs)
    assert (values(runs, "pareto")[:2], len(front.tested)) == (before, 4)
    assert kinds(runs, "tests") == ["charge", "drawn"]


@pytest.mark.parametrize("charged", ["each", "once"])
def test_a_curator_goes_on(charged: str, runs: Path) -> None:
    paid = kinds(runs, "rows").count("charge")
    with golden.curator(charged, at=runs) as curator:
        told = curator.answers()
        assert [a.row for a in told] == [3, 4]
        assert curator.ask([3, 4]) == told
        assert kinds(runs, "rows").count("charge") == paid
        curator.ask([5])
        assert kinds(runs, "rows").count("charge") == paid + (charged == "each")
