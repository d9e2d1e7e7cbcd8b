"""Manners: help, exit codes, streams, signals, completion and tone, for every verb there is."""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from shell_parts import child, leaves
from shell_parts import tacit as run

from tacit.cli.shell import mask_passwords
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger

SOURCE = Path(__file__).parents[2] / "src" / "tacit"
LEAVES = dict(leaves())
SLOW = """
import pathlib, time
import numpy as np
def losses(params):
    seen = len(list(pathlib.Path(".").glob("seen-*")))
    pathlib.Path(f"seen-{seen}").touch()
    if seen >= 2 and not pathlib.Path("go").exists():
        time.sleep(600)
    return np.full(3000, 0.2 + (params["x"] - 0.3) ** 2)
"""
TUNE = ["tune", "slow_model:losses", "--space", "space.toml", "--records", "3000", "--bounds", "0", "1"]
TUNE += ["--trials", "6", "--method", "random"]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow_model.py").write_text(SLOW)
    (tmp_path / "space.toml").write_text("x = {low = 0.0, high = 1.0}\n")
    return tmp_path


def test_a_delta_that_one_record_would_satisfy_is_remarked_on(at: Path) -> None:
    (at / "go").touch()
    assert "tacit: delta=0.01 is not below 1/n = 0.000333333: publishing" in run(*TUNE, "--delta", "0.01").err
    assert run(*TUNE).err == run(*TUNE, "--delta", "0.01", "--quiet").err == ""


@pytest.mark.parametrize("verb", LEAVES)
def test_help_has_a_sentence_an_example_json_and_words_for_every_option(verb: str) -> None:
    command = LEAVES[verb]
    first = command.help.strip().splitlines()[0]
    assert re.match(r"[A-Z].*[.:]$", first), first
    assert re.search(rf"Examples?:\s+tacit {verb}", command.help)
    assert "--json" in {option for p in command.params for option in p.opts}
    assert [p.name for p in command.params if not (p.help or "").strip()] == []


@pytest.mark.parametrize("verb", LEAVES)
def test_an_example_in_the_help_can_be_copied(verb: str) -> None:
    shown = re.split(r"\n(?:Arguments|Options):\n", run(*verb.split(), "--help").out)[0]
    lines = re.split(r"\n  Examples?:\s*", shown.rstrip())[1].splitlines()
    assert all(len(line) <= 78 for line in shown.splitlines())
    for before, line in zip(["", *lines], lines, strict=False):
        assert before.endswith(" \\") or line.strip().startswith("tacit "), line  # a shell reads on after a backslash
    assert not lines[-1].endswith("\\")


def test_the_list_of_verbs_cuts_no_sentence_short() -> None:
    for group in ([], ["ledger"], ["curator"], ["modeler"]):
        assert "..." not in run(*group, "--help").out.split("Commands:")[1]


def test_the_help_of_every_verb_loads_nothing_heavy() -> None:
    code = f"""
import contextlib, io, sys
from tacit.cli import app
for verb in [[], *{[v.split() for v in LEAVES]!r}]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        app([*verb, "--help"], standalone_mode=False)
    assert "Usage: " in out.getvalue()
heavy = {{"numpy", "scipy", "optuna", "opendp", "sqlalchemy", "pandas", "sklearn", "rich", "multiprocessing"}}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Bad usage

BAD: dict[str, list[str]] = {
    "tune": ["tune", "nowhere:f", "--space", "space.toml", "--records", "9", "--bounds", "0", "1"],
    "tune with a table and an objective": ["tune", "m:f", "--table", "t.csv"],
    "tune without workers": [*TUNE, "--workers", "0"],
    "pareto": ["pareto", "--algorithm", "none"],
    "audit": ["audit", "nothing"],
    "audit outsource": ["audit", "outsource", "--rows", "no.csv"],
    "report": ["report", "nowhere"],
    "verify": ["verify", "nowhere.json"],
    "ledger open": ["ledger", "open", "x", "--epsilon", "-1"],
    "ledger export": ["ledger", "export"],
    "curator serve": ["curator", "serve", "no.csv", "--evaluate", "y", "--epsilon", "1", "--delta", "1e-5"],
    "curator init": ["curator", "init", "no.csv", "--yes"],
    "curator try": ["curator", "try"],
    "curator revoke": ["curator", "revoke", "nobody"],
    "modeler run": ["modeler", "run", "http://127.0.0.1:9"],
    "init": ["init", "--table", "no.csv", "--target", "y", "--yes"],
    "a verb that is not there": ["tun"],
    "no verb": ["ledger"],
    "--config after the verb": ["tune", "--config", "x"],
    **{f"{verb} with an unknown option": [*verb.split(), "--no-such-option"] for verb in LEAVES},
}


@pytest.mark.parametrize("what", BAD)
def test_bad_usage_is_exit_code_2_and_says_nothing_on_standard_output(
    what: str, at: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TACIT_TOKEN", raising=False)
    said = run(*BAD[what])
    assert (said.code, said.out) == (2, ""), said
    assert "Traceback" not in said.err
    if what != "no verb":
        assert said.err.startswith("tacit: ")
        assert said.err.count("\n") == 1
        mannerly(said.err)


def test_a_defect_is_told_by_type_and_place_not_by_its_words(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("patient 4711")

    monkeypatch.setattr("tacit.privacy.ledger.Ledger.open", broken)
    said = run("ledger", "open", "x", "--mu", "1")
    assert said.code == 1
    assert "KeyError in test_shell.py, line" in said.err
    assert "4711" not in said.err
    assert "Traceback" not in said.err
    failing = type("StorageInternalError", (Exception,), {})("disk full")  # as Optuna's is called
    monkeypatch.setattr("tacit.privacy.ledger.Ledger.open", Mock(side_effect=failing))
    assert "What was stored before is kept. When it works again: tacit ledger open x" in run("ledger", "open", "x").err
    monkeypatch.setattr("tacit.privacy.ledger.Ledger.open", broken)
    monkeypatch.setenv("TACIT_DEBUG", "1")
    assert "Traceback" in run("ledger", "open", "x", "--mu", "1").err


# Streams


def test_a_full_disk_and_a_reader_who_left_are_exit_code_1(at: Path) -> None:
    run("ledger", "open", "icu", "--mu", "1")
    show = ["ledger", "show", "icu"]
    said = child(*show, at=at, ready=lambda: True, number=0, stdout="/dev/full")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "standard output cannot be used: No space left on device" in said.err
    reading, writing = os.pipe()
    os.close(reading)
    said = child(*show, at=at, ready=lambda: True, number=0, stdout=writing)
    os.close(writing)
    assert (said.code, said.err) == (1, "")


def test_a_release_that_nobody_reads_is_a_release(at: Path) -> None:
    """Who is told 1 would run the line again, and pay again. Standard output may be closed from the beginning, too."""
    (at / "go").touch()
    reading, writing = os.pipe()
    os.close(reading)
    said = child(*TUNE, "--out", "run", at=at, ready=lambda: True, number=0, stdout=writing)
    os.close(writing)
    assert (said.code, "the release was made and paid for" in said.err) == (0, True)
    assert (at / "run" / "certificate.json").exists()
    words = [sys.executable, "-m", "tacit", *TUNE, "--out", "other"]
    shell = f"{shlex.join(words)} >&-"
    assert subprocess.run(["sh", "-c", shell], cwd=at, capture_output=True).returncode == 0
    assert (at / "other" / "certificate.json").exists()


def test_a_purpose_commands_no_terminal_and_no_spreadsheet(at: Path) -> None:
    ledger = Ledger.open(at / "ledger.db", "=1+1", Budget.gdp(1.0), description="\x1b]0;title\x07")
    ledger.charge(Guarantee(Budget.gdp(0.1)), "\x1b[2J\x9b31m =cmd")
    ledger.charge(Guarantee(Budget.gdp(0.1)), "\t=cmd")
    for words in (["ledger", "show", "=1+1"], ["ledger", "export", "=1+1", "--csv"], ["ledger", "show"]):
        said = run(*words)
        assert said.code == 0
        assert not {"\x1b", "\x9b", "\x07"} & set(said.out)
    table = run("ledger", "export", "=1+1", "--csv").out
    assert all(
        not cell.startswith(("=", "+", "-", "@", "\t")) for row in csv.reader(table.splitlines()) for cell in row
    )


def test_json_without_end_is_refused_in_words(at: Path) -> None:
    run("ledger", "open", "icu", "--mu", "1")
    for text in ("[" * 100_000, '{"payment": {"name": ' + "1" * 5000 + "}}"):
        (at / "c.json").write_text(text)
        for words in (["verify", "c.json"], ["sign", "c.json", "--signing-key", "k"], ["report", "c.json"]):
            said = run(*words)
            assert said.code == 2, (words, said.err)
            assert "did not expect" not in said.err


def test_quiet_leaves_the_result_alone(at: Path) -> None:
    (at / "go").touch()
    rows = ["a,b,sick", *(f"{i},{'xy'[i % 2]},{i % 2}" for i in range(400))]
    (at / "t.csv").write_text("\n".join(rows) + "\n")
    words = ["tune", "--table", "t.csv", "--target", "sick", "--trials", "3", "--method", "random", "--yes"]
    assert "NOT protected" in run(*words).err
    said = run(*words, "--quiet")
    assert said.err == ""
    assert "Released" in said.out


# Signals


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_search_that_is_stopped_says_what_was_kept_and_goes_on(at: Path, number: int, code: int, word: str) -> None:
    words = [*TUNE, "--out", "run", "--json"]
    said = child(*words, at=at, ready=lambda: (at / "seen-2").exists(), number=number)
    assert (said.code, said.out) == (code, "")
    kept = "What was observed is kept in run and is not paid for again."
    assert said.err == f"tacit: {word}. {kept} To go on: tacit {' '.join(words)}\n"
    (at / "go").touch()
    before = len(list(at.glob("seen-*")))
    assert len(run(*words).json["value"]["trials"]) == 6
    assert len(list(at.glob("seen-*"))) - before == 4  # two of the five were not evaluated again, one confirms


def test_without_a_folder_an_interruption_says_that_nothing_is_kept(at: Path) -> None:
    run("ledger", "open", "default", "--mu", "1")
    said = child(*TUNE, "--ledger", "ledger.db", at=at, ready=lambda: (at / "seen-2").exists(), number=signal.SIGINT)
    assert said.code == 130
    assert "Nothing is kept: give --out FOLDER" in said.err
    assert "What was debited stays debited: tacit ledger show default --ledger ledger.db" in said.err


def test_workers_end_with_their_parent_and_say_nothing(at: Path) -> None:
    words = [*TUNE, "--workers", "2", "--out", "run"]
    said = child(*words, at=at, ready=lambda: (at / "seen-3").exists(), number=signal.SIGINT)
    assert said.code == 130
    assert said.err.count("\n") == 1
    assert said.err.startswith("tacit: interrupted. What was observed is kept in run")


def test_a_front_and_an_audit_say_what_was_kept(at: Path) -> None:
    (at / "slow_front.py").write_text(
        "import pathlib, time\nfrom pareto_toys import Toy\n"
        "class Slow(Toy):\n    def utility(self, *a, **k):\n        pathlib.Path('reached').touch()\n"
        "        time.sleep(600)\n"
        "def slow(side):\n    pathlib.Path('reached').touch()\n    time.sleep(600)\n"
    )
    front = ["pareto", "slow_front:Slow", "--delta", "0", "--trials", "6", "--startup", "4"]
    audit = ["audit", "slow_front:slow", "--epsilon", "1", "--trials", "40"]
    kept = {"front": "The points tested so far are kept in", "audit": "The runs made so far are kept in"}
    for what, words in (("front", front), ("audit", audit)):
        for out in ([], ["--out", what]):
            (at / "reached").unlink(missing_ok=True)
            said = child(*words, *out, at=at, ready=(at / "reached").exists, number=signal.SIGINT)
            assert said.code == 130
            assert said.err.count("\n") == 1
            told = f"{kept[what]} {what}. To go on: tacit {' '.join([*words, *out])}"
            assert (told if out else "Nothing is kept: give --out FOLDER") in said.err


def test_a_command_to_go_on_with_shows_no_password() -> None:
    assert (
        mask_passwords("tacit tune --ledger postgresql://a:b@c/d --out x")
        == "tacit tune --ledger postgresql://a:***@c/d --out x"
    )


# Tone

RUDE = re.compile(
    r"\b(please|oops|sorry|unfortunately|whoops|successfully)\b|!(?!=)|^\s*error\b|\berror:", re.IGNORECASE
)


def mannerly(text: str) -> None:
    assert not RUDE.search(text), text


def messages() -> Iterator[tuple[str, str]]:
    """Every text that is raised or echoed anywhere in the sources."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and node.exc is not None:
                spoken: ast.AST = node.exc
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
                "echo",
                "remark",
            ):
                spoken = node
            else:
                continue
            for part in ast.walk(spoken):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield f"{path.name}:{part.lineno}", part.value


def test_messages_keep_a_plain_tone() -> None:
    found = list(messages())
    assert len(found) > 400  # it does look
    assert [where for where, text in found if RUDE.search(text)] == []


def test_the_check_of_tone_can_fail() -> None:
    assert all(RUDE.search(text) for text in ("Please wait", "done!", "Error: no file", "oops"))
    assert not RUDE.search("a != b, with an error of 0.1")


def test_json_of_every_listing_is_one_document(at: Path) -> None:
    run("ledger", "open", "icu", "--mu", "1")
    for words in (
        ["ledger", "show"],
        ["ledger", "show", "icu"],
        ["ledger", "verify", "icu"],
        ["ledger", "export", "icu"],
        ["audit"],
    ):
        assert json.dumps(run(*words, "--json").json)
