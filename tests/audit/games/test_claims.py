"""Every game, on few runs: no method is found to break its claim, and the published projection is."""

from __future__ import annotations

import math

import pytest

from tacit.audit.game import Game
from tacit.audit.games import GAMES, find_game
from tacit.audit.games.one_run import OneRun
from tacit.audit.play import run_game

CHEAP = ("gaussian", "laplace", "exponential", "mean", "observations", "noisy-projection")
DEAR = {"observed": 160, "random": 60, "optuna": 160, "gibo": 160, "kusner1": 60, "kusner2": 60, "kusner3": 200}
SEEN = {"observed": 0.3, "optuna": 0.3, "gibo": 0.1}  # of the claim; a descent also pays for its start and its score


@pytest.mark.parametrize("name", CHEAP)
def test_a_mechanism_keeps_its_claim_and_the_bound_is_within_a_factor_of_two(name: str) -> None:
    audit = run_game(name, 20_000, confidence=0.99)
    assert audit.verdict == "within the claim"
    assert audit.tightness is not None
    assert audit.tightness > 0.5


@pytest.mark.parametrize("name", DEAR)
def test_a_method_run_end_to_end_keeps_its_claim(name: str) -> None:
    made = find_game(name)
    assert isinstance(made, Game)
    audit = run_game(made, DEAR[name], exact=False)
    assert audit.verdict == "within the claim"
    if name in SEEN:
        assert audit.measured > SEEN[name] * audit.claimed, "it sees something"
    assert bool(audit.conditional) == (name in ("kusner1", "kusner2"))


def test_exact_draws_keep_the_claim_too() -> None:
    for name in ("gaussian", "laplace"):
        audit = run_game(name, 4000, confidence=1 - 1e-7, exact=True)
        assert 0.4 < audit.tightness <= 1.0  # type: ignore[operator]
        assert audit.noise == "exact draws"


def test_the_published_projection_is_unbounded() -> None:
    few, many = (run_game("projection", runs, seed=runs) for runs in (200, 1500))
    assert few.verdict == many.verdict == "unbounded"
    assert few.measured < many.measured - 1.5, "it grows with the runs, without end"
    assert math.isinf(many.claimed)


def test_models_for_release_are_audited_with_the_noise_of_a_release() -> None:
    audit = run_game("dp-sgd", 40, exact=True, confidence=1 - 1e-7)
    assert (audit.verdict, audit.noise) == ("within the claim", "exact draws")
    one = find_game("dp-sgd-one-run").audit(exact=True, confidence=1 - 1e-7)  # type: ignore[union-attr]
    assert one.measured <= one.claimed


def test_dp_sgd_keeps_its_claim() -> None:
    audit = run_game("dp-sgd", 4000)
    assert audit.verdict == "within the claim"
    assert audit.measured > 0.3 * audit.claimed


@pytest.mark.parametrize("name", ["observed-one-run", "dp-sgd-one-run"])
def test_one_run_with_many_canaries_keeps_the_claim_and_sees_something(name: str) -> None:
    made = find_game(name)
    assert isinstance(made, OneRun)
    audit = made.audit(exact=False, seed=1)
    assert 1.0 < audit.measured < audit.claimed
    assert audit.runs == 1
    assert "canaries" in str(audit)


def test_every_game_says_what_it_is_about() -> None:
    for name, make in GAMES.items():
        made = make()
        assert made.name == name
        assert made.about
        assert (made.claim is None) == (name == "projection")
