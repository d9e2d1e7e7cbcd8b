"""`tacit init`: what it writes works, what it asks for is told, and a table is not read beyond its header."""

from __future__ import annotations

import os
import pty
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shell_parts import tacit as run

from tacit.cli import main

MODEL = "import numpy as np\ndef losses(params):\n    return np.full(3000, (params['x'] - 0.3) ** 2)\n"
TABLE = ["init", "--table", "t.csv", "--target", "sick", "--yes"]


@pytest.fixture(autouse=True)
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    a = np.random.default_rng(0).normal(size=1000)
    Path("t.csv").write_text("\n".join(["a,b,sick", *(f"{x:.3f},{'xy'[i % 2]},{int(x > 0)}" for i, x in enumerate(a))]))
    Path("init_model.py").write_text(MODEL)
    return tmp_path


def written() -> dict[str, Any]:
    return tomllib.loads(Path("tacit.toml").read_text())


def test_a_table_is_tuned_by_the_bare_verb() -> None:
    said = run(*TABLE, "--records", "1000")
    assert (said.code, said.out) == (0, "wrote tacit.toml. Read it, then run: tacit tune\n")
    assert said.err == "tacit: of t.csv only the header was read\n"
    assert written()["tune"]["delta"] == 1e-6  # min(1e-6, 1/(10 n))
    Path("tacit.toml").write_text(Path("tacit.toml").read_text().replace("trials = 30", "trials = 4"))
    release = run("tune", "--method", "random", "--json").json
    assert release["guarantee"]["delta"] == 1e-6
    assert Path("release/certificate.json").exists()


def test_a_function_and_a_ledger_are_ready_after_two_bare_verbs() -> None:
    words = ["--objective", "init_model:losses", "--records", "3000", "--method", "random", "--ledger", "ledger.db"]
    assert run("init", *words, "--yes", "--json").json["next"] == ["tacit ledger open", "tacit tune"]
    assert run("ledger", "open").code == 0
    assert run("tune", "--json").json["payment"]["name"] == "default"
    assert run("verify", "release/certificate.json").code == 0
    assert run("tune", "--out", "second").code == 3  # the ledger was opened for one


def test_a_front_and_a_training_are_written_for_their_verbs() -> None:
    assert run("init", "--goal", "pareto", "--table", "t.csv", "--target", "sick", "--yes").code == 0
    assert written()["pareto"]["algorithm"] == "logistic_sgd"
    assert run("pareto", "--trials", "2", "--startup", "2", "--json").json["delta"] == 1e-6
    words = ["--goal", "train", "--table", "t.csv", "--target", "sick", "--records", "1000", "--ledger", "l.db"]
    assert "tacit ledger open, then tacit train" in run("init", *words, "--yes", "--force").out
    assert written()["train"]["delta"] == 1e-6
    assert written()["verify"] == {"ledger": "l.db"}
    refused = run("train")
    assert refused.code == 1
    assert "l.db" in refused.err  # all options came from the file; the ledger is not open yet


def test_a_file_that_is_there_is_left_alone_unless_forced() -> None:
    Path("tacit.toml").write_text("# mine\n")
    said = run(*TABLE)
    assert said.code == 2
    assert "give --force to replace it" in said.err
    assert Path("tacit.toml").read_text() == "# mine\n"
    assert run(*TABLE, "--force").code == 0
    assert "[tune]" in Path("tacit.toml").read_text()


def test_where_nobody_can_be_asked_the_missing_answer_is_named() -> None:
    said = run("init")
    assert (said.code, said.out) == (2, "")
    assert "nobody can be asked for --goal here: give it, or --yes to take tune" in said.err
    assert "--table or --objective here: give it" in run("init", "--yes").err
    assert "--target here: give it" in run("init", "--yes", "--table", "t.csv").err
    assert "--records here: give it" in run("init", "--yes", "--objective", "m:f").err
    assert "--bounds here: give it" in run(*TABLE, "--task", "regression").err
    assert not Path("tacit.toml").exists()


WRONG = {
    "no such column": ([*TABLE, "--target", "sik"], "did you mean 'sick'?"),
    "no such table": (["init", "--yes", "--table", "no.csv", "--target", "x"], "no.csv cannot be read: No such file"),
    "a folder": (["init", "--yes", "--table", ".", "--target", "x"], "the folder . holds no .parquet files"),
    "an unknown goal": (["init", "--goal", "win", "--yes"], "goal must be one of tune, train, pareto"),
    "a table and an objective": ([*TABLE, "--objective", "m:f"], "give --table or --objective, not both"),
    "no epsilon": ([*TABLE, "--epsilon", "0"], "epsilon must be positive"),
    "a delta of one": ([*TABLE, "--delta", "1"], "delta must be in (0, 1)"),
    "an unknown model": ([*TABLE, "--model", "magic"], "model must be one of linear"),
    "a password": ([*TABLE, "--ledger", "postgresql://a:hunter2@db/x"], "holds a secret in clear"),
    "nowhere to write": ([*TABLE, "--file", "t.csv/x.toml"], "cannot be written: Not a directory"),
    "rows that are a function": (
        ["init", "--yes", "--goal", "train", "--objective", "m:f"],
        "needs a table of rows",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_answer_is_refused_and_nothing_is_written(what: str) -> None:
    words, message = WRONG[what]
    said = run(*words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert "hunter2" not in said.err
    assert not Path("tacit.toml").exists()


def test_noise_that_tune_would_refuse_is_told_at_once() -> None:
    assert "tacit tune will refuse this as it stands" in run(*TABLE, "--records", "20").err


def typed(answers: list[str]) -> bytes:
    """What a person at a terminal sees who types these lines."""
    pid, terminal = pty.fork()
    if not pid:
        os.dup2(os.open("out", os.O_WRONLY | os.O_CREAT), 1)
        code = 99
        try:
            import sys

            sys.argv = ["tacit", "init"]
            sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.write(terminal, ("\n".join(answers) + "\n").encode())
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            break
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown
    return shown


def test_a_person_is_asked_on_standard_error_and_defaults_are_taken_by_return() -> None:
    shown = typed(["tune", "t.csv", "sick", "1000", ""])
    assert b"Epsilon [1.0]" in shown
    assert Path("out").read_text() == "wrote tacit.toml. Read it, then run: tacit tune\n"
    assert (written()["tune"]["epsilon"], written()["tune"]["delta"]) == (1.0, 1e-6)


def test_options_of_the_verb_are_written_as_they_were_given() -> None:
    words = ["--model", "boosting", "--drop", "b", "--rho", "0.1", "--ledger", "l.db", "--bounds", "0", "1"]
    assert run(*TABLE, *words).code == 0
    known = {k: written()["tune"][k] for k in ("model", "drop", "rho", "ledger", "bounds")}
    assert known == {"model": "boosting", "drop": ["b"], "rho": 0.1, "ledger": "l.db", "bounds": [0.0, 1.0]}
    assert not {"epsilon", "delta", "task", "records"} & written()["tune"].keys()
    assert written()["ledger"]["open"] == {"name": "default", "ledger": "l.db", "rho": 0.1}


def test_a_person_who_makes_a_slip_is_asked_again() -> None:
    slips = ["tnue", "tune", "no.csv", "t.csv", "sik", "sick", "many", "1000", "one", "0", "1"]
    shown = typed(slips)
    for said in (
        b"goal must be one of",
        b"no.csv cannot be read",
        b"did you mean 'sick'?",
        b"got 'many'",
        b"got 'one'",
        b"epsilon must be positive",
    ):
        assert said in shown
    assert (written()["tune"]["epsilon"], written()["tune"]["target"]) == (1.0, "sick")
