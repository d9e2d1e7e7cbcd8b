"""What a folder holds is recognised by what tacit wrote there, and anything else is said in words."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import optuna
import pytest
from pareto_toys import Toy
from report_parts import audits, curator, front, observed
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.errors import BadInput, TacitError
from tacit.report.choose import joint_page, page_path
from tacit.report.subjects import find_subjects, recognise


def losses(params: dict) -> np.ndarray:
    if params["x"] < 0.5:
        raise ValueError
    return np.full(4000, params["x"])


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of each kind."""
    root = tmp_path_factory.mktemp("runs")
    for name in ("release", "front", "audit", "empty", "begun", "other"):
        (root / name).mkdir()
    (root / "release" / "certificate.json").write_text(json.dumps(observed()))
    front().save(root / "front" / "front.json")
    (root / "audit" / "audit.json").write_text(json.dumps(audits()[0]))
    (root / "begun" / ".lock").touch()
    (root / "other" / "letter.txt").write_text("Dear reader")
    curator(root / "curator")
    budget = tacit.Budget.approximate(1.0, 1e-6)
    with tacit.Ledger.open(root / "ledger.db", "icu", budget, description="ICU stays") as ledger:
        ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.1)), "a mean")
    with pytest.raises(TacitError):  # a search that fails on the way leaves what it observed
        tacit.tune(losses, {"x": tacit.Float(0.0, 1.0)}, records=4000, bounds=(0, 1), budget=budget, trials=30,
                   method="observed", out=root / "search", progress=False, seed=1)  # fmt: skip
    (root / "discovery").mkdir()
    where = f"sqlite:///{root / 'discovery' / 'study.db'}"
    tacit.pareto.discover(Toy(), delta=0.0, trials=4, startup=4, storage=where)
    (root / "study").mkdir()
    study = optuna.create_study(storage=f"sqlite:///{root / 'study' / 'study.db'}")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    (root / "descent").mkdir()
    terms = {"records": 500, "trials": 8, "budget": budget.to_json(), "space": {"x": "", "y": ""}}
    lines = [{"terms": terms, "run": "r"}, {"claim": "start 0 step 0"}, {"keep": "start 0 step 0", "value": [0.1, 0.2]}]
    (root / "descent" / "gibo.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"cla')
    (root / "auditing" / "runs").mkdir(parents=True)
    (root / "auditing" / "runs" / "terms.json").write_text(json.dumps({"method": "laplace", "trials": 400}))
    (root / "auditing" / "runs" / "0-0-40.npy").touch()
    return root


KINDS = ("release", "front", "audit", "curator", "search", "discovery", "study", "descent", "auditing")


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_recognised(places: Path, kind: str) -> None:
    assert recognise(places / kind).kind == kind


def test_files_are_recognised_by_what_they_say(places: Path, tmp_path: Path) -> None:
    assert recognise(places / "ledger.db").kind == "ledger"
    assert recognise(places / "front" / "front.json").kind == "front"
    attack = {"rows": 9, "columns": 2, "attack": []}
    for name, document, kind in (("a", attack, "attack"), ("b", audits(), "audit"), ("c", audits()[0], "audit")):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        assert recognise(tmp_path / f"{name}.json").kind == kind
    guarantee = tacit.Guarantee(tacit.Budget.gdp(0.5), "one test record replaced")
    (tmp_path / "certificate.json").write_text(json.dumps(front(guarantee=guarantee).release().certificate()))
    assert recognise(tmp_path).kind == "front"  # the certificate of a private front is a front


NOTHING = {
    "nowhere": "there is no ",
    "empty": "is empty: give the --out folder",
    "begun": "has kept nothing yet",
    "other": "holds nothing that tacit wrote: letter.txt",
    "other/letter.txt": "is no certificate, front, audit or ledger",
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_tacit_did_not_write_is_said(places: Path, name: str) -> None:
    with pytest.raises(BadInput) as refused:
        recognise(places / name)
    assert NOTHING[name] in str(refused.value)


HALF = {
    "search": r"is not finished: \d+ of 30 observations made. Run the same tacit tune command again",
    "discovery": "is not finished: 4 of 4 points tested. Run the same tacit pareto command again",
    "descent": "is not finished: 1 of 8 noisy gradients released. Run the same tacit tune command again",
    "auditing": "is not finished: 40 of 800 runs made on both data sets. Run the same tacit audit command again",
    "study": "was not privately observed",
}


@pytest.mark.parametrize("name", HALF)
def test_half_a_run_says_what_is_there_and_how_to_go_on(places: Path, name: str) -> None:
    with pytest.raises(TacitError, match=HALF[name]):
        joint_page([recognise(places / name)])


def test_everything_one_level_down_is_found(places: Path) -> None:
    assert sorted(f.kind for f in find_subjects(places)) == sorted([*KINDS, "ledger"])


def test_reading_a_study_writes_nothing(places: Path) -> None:
    file = places / "study" / "study.db"
    before = (file.read_bytes(), sorted(p.name for p in file.parent.iterdir()))
    recognise(places / "study")
    assert before == (file.read_bytes(), sorted(p.name for p in file.parent.iterdir()))


def test_a_file_that_is_no_database_is_not_readable(tmp_path: Path) -> None:
    (tmp_path / "study.db").write_text("not a database")
    with pytest.raises(TacitError, match="cannot be read now"):
        recognise(tmp_path)
    sqlite3.connect(tmp_path / "empty.db").close()
    with pytest.raises(TacitError):
        joint_page([recognise(tmp_path / "empty.db")])


def test_a_page_goes_beside_what_it_reports_on(places: Path, tmp_path: Path) -> None:
    found = recognise(places / "release")
    assert page_path([found], None) == places / "release" / "report.html"
    assert page_path([found, found], None) == Path("report.html")
    assert page_path([found], tmp_path / "x.html") == tmp_path / "x.html"
    (tmp_path / "mine.json").write_text(json.dumps(audits()))
    assert page_path([recognise(tmp_path / "mine.json")], None) == tmp_path / "mine.html"


def test_the_command_writes_a_page_or_says_why_not(places: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    for name in ("release", "front", "audit", "curator", "ledger.db"):
        done = run(app, ["report", str(places / name), "--out", str(tmp_path / "p.html"), "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["report"] == str(tmp_path / "p.html")
        assert len((tmp_path / "p.html").read_bytes()) < 300_000
    with pytest.raises(BadInput, match="cannot be written: No such file"):
        run(app, ["report", str(places / "front"), "--out", str(tmp_path / "no" / "p.html")], catch_exceptions=False)
    with pytest.raises(BadInput, match="there is none here"):
        run(app, ["report", str(places / "front"), "--show-private"], catch_exceptions=False)
    both = [str(places / "front"), str(places / "release")]
    with pytest.raises(BadInput, match="all are fronts or all are audits, got front, release"):
        run(app, ["report", *both], catch_exceptions=False)
