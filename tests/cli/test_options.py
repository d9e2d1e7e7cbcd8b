"""Options that verbs share: budgets of every kind, and what Tab completes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shell_parts import tacit as run

import tacit.methods.tune  # children are forked with it
from tacit.cli import options

MODEL = "import numpy as np\ndef losses(params):\n    return np.full(3000, 0.2 + (params['x'] - 0.3) ** 2)\n"
TUNE = ["tune", "model:losses", "--space", "space.toml", "--records", "3000", "--bounds", "0", "1"]
TUNE += ["--trials", "6", "--method", "random"]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "space.toml").write_text("x = {low = 0.0, high = 1.0}\n")
    (tmp_path / "go").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "parameters"),
    [
        (["--mu", "0.5"], {"mu": 0.5}),
        (["--rho", "0.125"], {"mu": 0.5}),
        (["--epsilon", "2"], {"mu": pytest.approx(tacit.Budget.approximate(2.0, 1e-6).mu())}),
    ],
)
def test_a_search_takes_one_budget_of_any_kind_it_can_keep(words: list[str], parameters: Any, at: Path) -> None:
    (at / "go").touch()
    assert run(*TUNE, *words, "--json").json["guarantee"]["parameters"] == parameters


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["--mu", "1", "--epsilon", "1"], "give one budget: --epsilon, --epsilon with --delta, --rho or --mu"),
        (["--rho", "1", "--delta", "1e-6"], "give one budget"),
        (["--pure"], "--pure goes with --epsilon alone"),
        (["--pure", "--epsilon", "1"], "takes tacit.Budget.approximate(epsilon, delta) (--epsilon with --delta)"),
        (["--rho", "1", "--method", "kusner1"], "(--epsilon with --delta), got rho = 1"),
        (["--mu", "1", "--method", "kusner3"], "takes tacit.Budget.pure(epsilon) (--epsilon with --pure), got"),
        (["--delta", "1e-6", "--method", "kusner3"], "takes tacit.Budget.pure(epsilon) (--epsilon with --pure), got"),
    ],
)
def test_a_budget_that_a_method_cannot_keep_is_refused_by_its_rule(words: list[str], rule: str, at: Path) -> None:
    said = run(*TUNE, *words)
    assert (said.code, rule in said.err) == (2, True), said.err


# Help


def test_the_words_for_completion_are_those_of_the_library() -> None:
    from tacit.pareto.algorithms import algorithm_names
    from tacit.pareto.baselines import SEARCHES

    assert options.SEARCHES == SEARCHES
    assert algorithm_names() == options.ALGORITHMS


def completed(monkeypatch: pytest.MonkeyPatch, words: str) -> list[str]:
    monkeypatch.setenv("_TACIT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    said = run()
    assert (said.code, said.err) == (0, "")
    return said.out.split()


def test_tab_completes_verbs_options_words_and_ledgers(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ledger", "open", "icu", "--mu", "1")
    assert set(completed(monkeypatch, "tacit ")) >= {"init", "tune", "ledger", "curator"}
    assert completed(monkeypatch, "tacit ledger ver") == ["verify"]
    assert completed(monkeypatch, "tacit tune --method ku") == ["kusner1", "kusner2", "kusner3"]
    assert completed(monkeypatch, "tacit pareto --algorithm sparse") == ["sparse_vector"]
    assert completed(monkeypatch, "tacit audit lap") == ["laplace"]
    assert completed(monkeypatch, "tacit ledger show ") == ["icu"]
    assert completed(monkeypatch, "tacit ledger show --ledger nowhere.db ") == []
    assert completed(monkeypatch, "tacit tune --led") == ["--ledger", "--ledger-name"]
    assert not (at / "nowhere.db").exists()


def test_help_names_every_metric() -> None:
    assert tuple(tacit.metrics.NAMES) == options.METRICS
