"""`tacit audit`: claimed against measured, by exit code, in words and as JSON; it goes on where it stopped."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from shell_parts import tacit
from typer.testing import CliRunner, Result

from tacit.audit.games import GAMES, find_game
from tacit.cli import app
from tacit.errors import BadInput

MECHANISMS = """
import os
import numpy as np
import tacit
from tacit.audit import Game
from tacit.audit.games.mechanisms import laplace

rng = np.random.default_rng(5)

def sound(side):
    return rng.laplace(side, 1.0)

def leaky(side, runs):
    return rng.laplace(side, 0.25, runs)

leaky.claim = tacit.Budget.pure(1.0)

def word(side):
    return rng.choice(["yes", "no"], p=[0.6, 0.4] if side else [0.4, 0.6])

def made():
    return laplace()

number = 3

def rude(side):
    raise ValueError("record 4711")

def rude_game():
    return Game("rude", "raises", None, lambda side, runs, noise: rude(side))

def ragged(side):
    return [1.0] * rng.integers(1, 9)

def deadly(side):
    os._exit(1)

def nothing():
    return 4
"""


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "audited_mechanisms.py").write_text(MECHANISMS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "audited_mechanisms", raising=False)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["audit", *arguments])


def test_a_method_within_its_claim_exits_with_zero_and_shows_both_numbers() -> None:
    done = run("laplace", "--trials", "20000")
    assert done.exit_code == 0
    assert "laplace: within the claim" in done.stdout
    assert "claimed" in done.stdout
    assert "with 99% confidence (20000 runs on each data set, simulated noise, same code" in done.stdout


def test_json_is_one_document_and_nothing_else() -> None:
    document = json.loads(run("gaussian", "--trials", "4000", "--json").stdout)
    assert document["verdict"] == "within the claim"
    assert 0 < document["measured"] <= document["claimed"]
    assert document["runs"] == 4000
    assert json.loads(run("projection", "--trials", "100", "--json").stdout)["claimed"] is None


def test_without_a_method_all_are_listed() -> None:
    assert {k["method"] for k in json.loads(run("--json").stdout)} == {*GAMES, "outsource", "objective"}
    assert "published projection" in run().stdout


def test_a_mechanism_of_ones_own_is_audited_by_what_it_claims() -> None:
    assert run("audited_mechanisms:sound", "--epsilon", "1", "--trials", "4000").exit_code == 0
    broken = run("audited_mechanisms:leaky", "--trials", "4000")
    assert broken.exit_code == 1
    assert "BROKEN" in broken.stdout
    assert run("audited_mechanisms:leaky", "--trials", "4000", "--epsilon", "5").exit_code == 0
    assert run("audited_mechanisms:word", "--trials", "2000", "--epsilon", "0.5").exit_code == 0
    assert run("audited_mechanisms:word", "--trials", "2000", "--mu", "0.1").exit_code == 1
    assert run("audited_mechanisms:made", "--trials", "2000").exit_code == 0


def test_a_mechanism_without_a_claim_shows_what_it_loses() -> None:
    document = json.loads(run("audited_mechanisms:sound", "--trials", "400", "--json").stdout)
    assert document["claimed"] is None
    assert document["verdict"] == "nothing claimed"


def test_what_cannot_be_audited_is_refused_in_words() -> None:
    for name, says in (
        ("nothing", "method must be one of gaussian.*got method='nothing'"),
        ("nowhere:f", "no mechanism 'nowhere:f'"),
        ("audited_mechanisms:absent", "no mechanism"),
        ("audited_mechanisms:number", "must be a game or a function"),
        ("audited_mechanisms:nothing", "must return a game"),
    ):
        with pytest.raises(BadInput, match=says):
            find_game(name)
    for arguments in (("laplace", "--epsilon", "2"), ("laplace", "--trials", "10"), ("laplace", "--confidence", "2")):
        assert isinstance(run(*arguments).exception, BadInput)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["audited_mechanisms:rude"], "the mechanism raised ValueError in "),
        (["audited_mechanisms:rude", "--workers", "2"], "the mechanism raised ValueError in "),
        (["audited_mechanisms:rude_game"], "the game raised ValueError in "),
        (["audited_mechanisms:ragged"], "audited_mechanisms:ragged must return outputs of one shape"),
        (["audited_mechanisms:deadly", "--workers", "2"], "a worker died: it was killed, ran out of memory, or"),
        (["audited_mechanisms:deadly", "--workers", "2", "--out", "o"], "kept in o, to go on by running it again"),
    ],
)
def test_a_mechanism_that_fails_is_the_users_own_failure(words: list[str], says: str) -> None:
    said = tacit("audit", *words, "--trials", "40")
    assert (said.code, said.out) == (1, "")
    assert says in said.err
    assert "4711" not in said.err
    assert "did not expect" not in said.err


def test_an_option_that_would_change_nothing_is_refused() -> None:
    """An epsilon of 0 is no missing epsilon, and no option is left unheard."""
    for arguments, says in (
        (("laplace", "--rows", "t.csv"), "go with tacit audit outsource"),
        (("laplace", "--seed", "-1"), "seed must be at least 0"),
        (("outsource", "--rows", "t.csv", "--out", "x"), "no --out"),
        (("outsource", "--rows", "t.csv", "--epsilon", "0"), "epsilon must be positive"),
    ):
        Path("t.csv").write_text("a,b\n1,2\n3,5\n4,4\n7,1\n2,8\n6,3\n9,5\n")
        refused = run(*arguments).exception
        assert isinstance(refused, BadInput), arguments
        assert says in str(refused)


def test_the_list_has_straight_columns_and_the_attack_on_a_table() -> None:
    lines = run().stdout.splitlines()
    known = json.loads(run("--json").stdout)
    assert known[-1]["method"] == "outsource"
    assert len({line.index(k["about"]) for line, k in zip(lines, known, strict=True)}) == 1


def test_what_was_written_is_told() -> None:
    said = run("laplace", "--trials", "40", "--out", "kept").stdout
    assert "wrote kept/audit.html" in said


def test_an_import_that_fails_does_not_repeat_what_it_said(tmp_path: Path) -> None:
    (tmp_path / "audited_broken.py").write_text("raise ValueError('patient 8675309')")
    with pytest.raises(BadInput, match="raised ValueError") as refused:
        find_game("audited_broken:f")
    assert "8675309" not in str(refused.value)


def test_runs_are_kept_and_gone_on_with(tmp_path: Path) -> None:
    first = json.loads(run("kusner3", "--trials", "400", "--simulated", "--out", "kept", "--json").stdout)
    for ending in ("json", "html", "svg"):
        assert (tmp_path / "kept" / f"audit.{ending}").stat().st_size > 300
    parts = sorted((tmp_path / "kept" / "runs").glob("*.npy"))
    assert len(parts) == 4
    untouched, lost = parts[0].stat().st_mtime_ns, parts[-1]
    lost.unlink()
    again = json.loads(run("kusner3", "--trials", "400", "--simulated", "--out", "kept", "--json").stdout)
    assert again["measured"] == first["measured"]
    assert parts[0].stat().st_mtime_ns == untouched
    assert lost.exists()


def test_a_folder_of_other_runs_is_refused() -> None:
    assert run("laplace", "--trials", "1000", "--out", "kept").exit_code == 0
    more = run("laplace", "--trials", "2000", "--out", "kept")
    assert isinstance(more.exception, BadInput)
    assert "holds other runs: trials was 1000, now 2000" in str(more.exception)


def test_workers_find_what_one_process_finds(tmp_path: Path) -> None:
    alone, together = (
        json.loads(run("kusner1", "--trials", "120", "--workers", workers, "--json").stdout) for workers in ("1", "2")
    )
    assert alone["event"] == together["event"]
    assert alone["measured"] == together["measured"]


def test_one_run_of_many_canaries_is_a_method_too() -> None:
    document = json.loads(run("dp-sgd-one-run", "--json", "--out", "one").stdout)
    assert document["runs"] == 1
    assert np.isfinite(document["measured"])
