"""The command as people and scripts use it: real processes, exit codes, and who reads which stream."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shell_parts import Said

import tacit
from tacit.cli import app

TACIT = str(Path(sys.executable).parent / "tacit")
MODEL = """
import numpy as np
def losses(params):
    return np.full(3000, 0.2 + (params["x"] - 0.3) ** 2)
def short(params):
    return losses(params)[1:]
def rude(params):
    raise ValueError("record 4711")
"""
SPACE = 'x = {low = 0.0, high = 1.0}\nkind = ["a", "b"]\n'
PUBLIC = ["--space", "space.toml", "--records", "3000", "--bounds", "0", "1", "--trials", "4", "--method", "random"]
QUIET = {**os.environ, "OMP_NUM_THREADS": "1"}
OBJECTIVE = ["tune", "model:losses", *PUBLIC]
Run = Callable[..., Any]
VERBS = ["tune", "report", "verify", "ledger open", "ledger show", "ledger verify", "ledger export"]


DRIVER = """
import json, os, sys
import alembic.command, opendp.prelude, optuna.storages, pandas, pydantic, sqlalchemy.dialects.sqlite
import sklearn.compose, sklearn.linear_model, sklearn.neighbors, sklearn.pipeline
optuna.storages.RDBStorage
import tacit.cli, tacit.methods.sampler, tacit.privacy.ledger, tacit.report.pages.tuned, tacit.run.study
import tacit.integrations.table
for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(job["at"])
        for number, name in enumerate((os.devnull, job["out"], job["err"])):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
        sys.argv = ["tacit", *job["words"]]
        tacit.cli.main()
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def driver() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported everything and makes a child of itself for each command: most tests start there."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", DRIVER], env=QUIET, **pipes) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.fixture(scope="module")
def run(driver: subprocess.Popen[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Said]:
    """Run the command in a child of the driver: its streams in files, nobody at the keyboard."""
    streams = tmp_path_factory.mktemp("streams")

    def run(*words: str, at: Path, code: int = 0) -> Said:
        out, err = streams / "out", streams / "err"
        out.write_text("")
        err.write_text("")
        assert driver.stdin
        assert driver.stdout
        job = {"words": words, "at": str(at), "out": str(out), "err": str(err)}
        driver.stdin.write(json.dumps(job) + "\n")
        driver.stdin.flush()
        return checked(Said(int(driver.stdout.readline()), out.read_text(), err.read_text()), code)

    return run


def installed(*words: str, at: Path, code: int = 0, **environment: str) -> Said:
    """Run the installed command itself, its streams in pipes."""
    given: dict[str, Any] = {"cwd": at, "env": {**QUIET, **environment}, "stdin": subprocess.DEVNULL}
    done = subprocess.run([TACIT, *words], text=True, timeout=120, capture_output=True, **given)
    return checked(Said(done.returncode, done.stdout, done.stderr), code)


def checked(said: Said, code: int) -> Said:
    assert said.code == code, said
    assert "Traceback" not in said.err
    assert "\x1b" not in said.out + said.err
    return said


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, a space, a table, a ledger for two runs, and one finished run that it paid for."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "model.py").write_text(MODEL)
    (folder / "space.toml").write_text(SPACE)
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=400), generator.choice(["x", "y"], 400)
    table = {"a": a, "b": b, "sick": (a > 0).astype(int), "weight": a * 2 + 0.1}
    pd.DataFrame(table).to_csv(folder / "table.csv", index=False)
    two = tacit.Budget.gdp(1.0001 * 2**0.5 * tacit.Budget.approximate(1.0, 1e-6).mu())
    tacit.Ledger.open(folder / "ledger.db", "icu", two, description="ICU stays")
    (folder / "first.json").write_text(
        installed(*OBJECTIVE, "--ledger", "ledger.db", "--ledger-name", "icu", "--out", "out", "--json", at=folder).out
    )
    return folder


# Tuning an objective


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


# Tuning on a table


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
    assert "regression needs --bounds" in run(*words, at=place, code=2).err
    assert run(*words, "--bounds", "0", "4", "--json", at=place).json["score"] <= 4


def test_noise_that_drowns_the_scores_is_refused_by_its_size_where_nobody_can_be_asked(run: Run, place: Path) -> None:
    said = run("tune", "--table", "table.csv", "--target", "sick", "--epsilon", "0.1", at=place, code=2)
    assert "standard deviation" in said.err
    assert "--yes" in said.err


# Failing


WRONG: dict[str, tuple[list[str], int, str]] = {
    "nothing to tune": (["tune"], 2, "give an objective as module:function, or a table"),
    "no space": (["tune", "model:losses"], 2, "needs --space FILE, --records N and --bounds LOW HIGH"),
    "no such module": (["tune", "nowhere:losses", *PUBLIC], 2, "No module named 'nowhere'"),
    "no such function": (["tune", "model:nothing", *PUBLIC], 2, "has no attribute 'nothing'"),
    "no function at all": (["tune", "model", *PUBLIC], 2, "module:function, such as mymodel:losses, got 'model'"),
    "a negative seed": ([*OBJECTIVE, "--seed", "-1"], 2, "seed must be at least 0, got seed=-1"),
    "half of the bounds": (["tune", "model:losses", "--bounds", "0"], 2, "See tacit tune --help"),
    "a name without its value": (["ledger", "open", "x", "--mu"], 2, "See tacit ledger open --help"),
    "a module that fails": (["tune", "rude_model:losses", *PUBLIC], 2, "raised ValueError; import it yourself"),
    "no such space": (["tune", "model:losses", *PUBLIC, "--space", "no.toml"], 2, "No such file"),
    "a broken space": (["tune", "model:losses", *PUBLIC, "--space", "broken.toml"], 2, "is not TOML"),
    "an empty space": (["tune", "model:losses", *PUBLIC, "--space", "empty.toml"], 2, "at least one parameter"),
    "no trials": ([*OBJECTIVE, "--trials", "0"], 2, "trials must be at least 1"),
    "a negative epsilon": ([*OBJECTIVE, "--epsilon", "-1"], 2, "epsilon must be positive"),
    "a wrong method": ([*OBJECTIVE, "--method", "magic"], 2, "method must be one of observed"),
    "half an option": ([*OBJECTIVE, "--option", "constants"], 2, "--option takes name=value"),
    "an unknown option": ([*OBJECTIVE, "--option", "a=1"], 2, "takes no option a"),
    "an unknown flag": ([*OBJECTIVE, "--magic"], 2, "No such option"),
    "a word for a number": ([*OBJECTIVE, "--trials", "many"], 2, "Invalid value for '--trials'"),
    "no target": (["tune", "--table", "table.csv"], 2, "a table needs --target COLUMN"),
    "the largest error": (
        ["tune", "--table", "table.csv", "--target", "sick", "--direction", "maximize"],
        2,
        "the worst parameters would be released. Leave --direction out",
    ),
    "more trials than can end": ([*OBJECTIVE, "--trials", "1000000000", "--yes"], 2, "trials must be at most 100000"),
    "no such target": (["tune", "--table", "table.csv", "--target", "sik"], 2, "did you mean 'sick'?"),
    "no such table": (["tune", "--table", "no.csv", "--target", "sick"], 2, "No such file"),
    "a folder under a file": ([*OBJECTIVE, "--out", "model.py/out"], 2, "cannot be written: Not a directory"),
    "no ledger": ([*OBJECTIVE, "--ledger", "no.db"], 1, "tacit ledger open default --ledger URL --epsilon"),
    "too few losses": (["tune", "model:short", *PUBLIC], 1, "got a ndarray of shape (2999,)"),
    "an objective that raises": (["tune", "model:rude", *PUBLIC], 1, "the objective raised ValueError in"),
    "in a worker": (["tune", "model:rude", *PUBLIC, "--workers", "2"], 1, "the objective raised ValueError in"),
    "no run to report": (["report", "nowhere"], 2, "there is no nowhere"),
    "no certificate": (["verify", "no.json"], 2, "no.json is not a readable certificate"),
    "two budgets": (["ledger", "open", "x", "--epsilon", "1", "--mu", "1"], 2, "give one budget"),
    "a ledger that is not there": (["ledger", "show", "x", "--ledger", "ledger.db"], 1, "it has 'icu'"),
    "an export to nowhere": (
        ["ledger", "export", "icu", "--ledger", "ledger.db", "--out", "model.py/x"],
        2,
        "cannot be written: Not a directory",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_failure_is_one_line_and_an_exit_code(run: Run, what: str, place: Path) -> None:
    words, code, message = WRONG[what]
    (place / "rude_model.py").write_text("raise ValueError('record 4711')")
    (place / "broken.toml").write_text("x = {")
    (place / "empty.toml").write_text("")
    said = run(*words, at=place, code=code)
    assert " ".join(message.split()) in " ".join(said.err.replace("│", " ").split())
    assert said.out == ""
    assert "4711" not in said.err
    if "Usage" not in said.err:
        assert said.err.startswith("tacit: ")
        assert said.err.count("\n") <= 2  # with the line on what a table protects


# Ledgers and certificates


def test_a_ledger_is_opened_shown_verified_and_exported(run: Run, tmp_path: Path) -> None:
    at = tmp_path
    opened = run(
        "ledger", "open", "icu", "--epsilon", "1", "--delta", "1e-6", "--description", "stays", "--json", at=at
    )
    assert opened.json["name"] == "icu"
    assert opened.json["budget"]["parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert "left" in run("ledger", "open", "icu", at=at).out
    assert run("ledger", "show", "--json", at=at).json == ["icu"]
    tacit.Ledger.open(at / "ledger.db", "icu").charge(tacit.Guarantee(tacit.Budget.gdp(0.1)), "one count")
    shown = run("ledger", "show", "icu", "--json", at=at).json
    assert [e["status"] for e in shown["entries"]] == ["debited, not drawn"]
    told = run("ledger", "show", "icu", at=at).out
    assert "one count" in told
    assert "composed, not added" in told
    found = run("ledger", "verify", "icu", "--json", at=at).json
    assert (found["intact"], found["entries"]) == (True, 1)
    assert run("ledger", "verify", "icu", "--head", found["head"], at=at).out.rstrip().endswith(found["head"])
    exported = run("ledger", "export", "icu", "--json", at=at).json
    assert exported["entries"][0]["purpose"] == "one count"
    said = run("ledger", "export", "icu", "--out", "icu.json", "--json", at=at)
    assert said.json == {"name": "icu", "file": "icu.json"}
    assert json.loads((at / "icu.json").read_text()) == exported
    assert "is intact" in run("ledger", "verify", "icu", "--head", exported["head"], at=at).out


def test_a_ledger_that_was_edited_is_found(run: Run, tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", tacit.Budget.gdp(1.0))
    ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.1)), "one count")
    ledger.close()
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.execute("UPDATE tacit_entries SET purpose = 'another count'")
    said = run("ledger", "verify", "icu", "--json", at=tmp_path, code=1)
    assert said.json["intact"] is False
    assert said.err.startswith("tacit: ")


def test_a_certificate_is_verified_against_the_ledger_that_paid(run: Run, place: Path, tmp_path: Path) -> None:
    assert run("verify", "out/certificate.json", "--json", at=place).json["paid"] is True
    assert run("verify", "out/certificate.json", at=place).out.strip()

    document = json.loads((place / "out" / "certificate.json").read_text())
    document["value"]["score"] += 0.001
    (tmp_path / "tampered.json").write_text(json.dumps(document))
    said = run("verify", str(tmp_path / "tampered.json"), "--json", at=place, code=1)
    assert said.json["paid"] is False
    assert any(not good for _, good, _ in said.json["checks"])

    tacit.Ledger.open(tmp_path / "other.db", "icu", tacit.Budget.gdp(1.0))  # of the same name
    tacit.Ledger.open(tmp_path / "strange.db", "stars", tacit.Budget.gdp(1.0))
    for wrong in ("other.db", "strange.db"):
        said = run("verify", "out/certificate.json", "--ledger", str(tmp_path / wrong), "--json", at=place, code=1)
        assert said.json["paid"] is False

    document["payment"] = None
    (tmp_path / "unpaid.json").write_text(json.dumps(document))
    assert "nobody paid" in run("verify", str(tmp_path / "unpaid.json"), at=place, code=1).out


def test_a_report_is_written_again_from_the_folder(run: Run, place: Path) -> None:
    (place / "out" / "report.html").unlink()
    assert run("report", "out", "--json", at=place).json == {"report": "out/report.html", "kind": "release"}
    assert (place / "out" / "report.html").read_text().startswith("<!doctype html>")


# Help


def commands() -> list[str]:
    groups = {g.name: g.typer_instance for g in app.registered_groups}
    return [c.name or "" for c in app.registered_commands] + [
        f"{name} {c.name}" for name, group in groups.items() if group for c in group.registered_commands
    ]


@pytest.mark.parametrize("verb", commands())
def test_the_help_of_every_verb_has_an_example(run: Run, verb: str, tmp_path: Path) -> None:
    said = run(*verb.split(), "--help", at=tmp_path)
    assert f"tacit {verb}" in said.out.split("Usage:")[-1].split("\n", 1)[1]
    assert "--json" in said.out


def test_every_verb_is_tested_here() -> None:
    assert set(VERBS) <= set(commands())


def test_the_version_is_told(tmp_path: Path) -> None:
    assert installed("--version", at=tmp_path).out == f"tacit {tacit.__version__}\n"
