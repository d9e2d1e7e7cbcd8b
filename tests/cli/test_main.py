"""The whole command: every failure is one line and an exit code, every verb has help, a file and a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_parts import OBJECTIVE, PUBLIC, Run, installed

import tacit
from tacit.cli import app

SOURCE = Path(tacit.__file__).parent
ELSEWHERE = {  # verbs that are tested where what they serve is
    "dashboard": "tests/report/test_dashboard.py",
    "curator": "tests/outsource/test_two_processes.py",
    "modeler": "tests/outsource/test_two_processes.py",
    "predict": "tests/cli/test_train.py",
}


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
    "a wrong method": ([*OBJECTIVE, "--method", "magic"], 2, "method must be one of auto, observed"),
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
    "a file for a folder": ([*OBJECTIVE, "--out", "model.py"], 2, "model.py cannot be written: it is a file, not a"),
    "no delta": ([*OBJECTIVE, "--epsilon", "1", "--delta", "0"], 2, "without a delta: --epsilon with --pure"),
    "a space of one number": (["tune", "model:losses", *PUBLIC, "--space", "one.toml"], 2, "one value is [0.5]"),
    "a space upside down": (
        ["tune", "model:losses", *PUBLIC, "--space", "swapped.toml"],
        2,
        "parameter 'rate': Int needs",
    ),
    "an amount, absolutely": (
        ["tune", "--table", "table.csv", "--target", "sick", "--task", "regression", "--metric", "absolute"],
        2,
        "such as 0 and the largest error that matters",
    ),
    "no ledger": ([*OBJECTIVE, "--ledger", "no.db"], 1, "/no.db --epsilon 1 --delta 1e-6"),
    "too few losses": (["tune", "model:short", *PUBLIC], 1, "got an ndarray of shape (2999,)"),
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
    (place / "one.toml").write_text("rate = {low = 0.5, high = 0.5}")
    (place / "swapped.toml").write_text("rate = {low = 2, high = 1}")
    said = run(*words, at=place, code=code)
    assert " ".join(message.split()) in " ".join(said.err.replace("│", " ").split())
    assert said.out == ""
    assert "4711" not in said.err
    if "Usage" not in said.err:
        assert said.err.startswith("tacit: ")
        assert said.err.count("\n") <= 2  # with the line on what a table protects


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


def test_every_verb_has_a_file_and_a_test_of_its_name() -> None:
    for verb in {words.split()[0] for words in commands()}:
        assert (SOURCE / "cli" / f"{verb}.py").exists()
        assert (Path(__file__).parent / f"test_{verb}.py").exists() or verb in ELSEWHERE, verb


def test_the_version_is_told(tmp_path: Path) -> None:
    assert installed("--version", at=tmp_path).out == f"tacit {tacit.__version__}\n"


def test_python_runs_the_package_as_the_command() -> None:
    said = subprocess.run([sys.executable, "-m", "tacit", "--help"], capture_output=True, text=True, check=False)
    assert said.returncode == 0
    assert "tune" in said.stdout
