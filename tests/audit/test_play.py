"""Every game, on few runs: no method is found to break its claim, and the published projection is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.audit import play
from tacit.audit.canaries import best_one_run, codes, guessed, one_run_bound
from tacit.audit.games import GAMES, OneRun, game
from tacit.audit.picture import svg, text
from tacit.audit.play import Game, chunks, played
from tacit.errors import BadInput

# Simulated noise of fixed seeds: no test fails by chance.
CHEAP = ("gaussian", "laplace", "exponential", "mean", "observations", "noisy-projection")
DEAR = {"observed": 160, "random": 60, "optuna": 160, "gibo": 160, "kusner1": 60, "kusner2": 60, "kusner3": 200}


@pytest.mark.parametrize("name", CHEAP)
def test_a_mechanism_keeps_its_claim_and_the_bound_is_within_a_factor_of_two(name: str) -> None:
    audit = played(game(name), 20_000, confidence=0.99)  # type: ignore[arg-type]
    assert audit.verdict == "within the claim"
    assert audit.tightness is not None
    assert audit.tightness > 0.5


@pytest.mark.parametrize("name", DEAR)
def test_a_method_run_end_to_end_keeps_its_claim(name: str) -> None:
    made = game(name)
    assert isinstance(made, Game)
    audit = played(made, DEAR[name], exact=False)
    assert audit.verdict == "within the claim"
    if name in ("observed", "optuna", "gibo"):
        assert audit.measured > 0.3 * audit.claimed, "it sees something"
    assert bool(audit.conditional) == (name in ("kusner1", "kusner2"))


def test_exact_draws_keep_the_claim_too() -> None:
    for name in ("gaussian", "laplace"):
        audit = played(game(name), 4000, confidence=1 - 1e-7, exact=True)  # type: ignore[arg-type]
        assert 0.4 < audit.tightness <= 1.0  # type: ignore[operator]
        assert audit.noise == "exact draws"


def test_the_published_projection_is_unbounded() -> None:
    few, many = (played(game("projection"), runs, seed=runs) for runs in (200, 1500))  # type: ignore[arg-type]
    assert few.verdict == many.verdict == "unbounded"
    assert few.measured < many.measured - 1.5, "it grows with the runs, without end"
    assert math.isinf(many.claimed)


def test_models_for_release_are_audited_with_the_noise_of_a_release() -> None:
    audit = played(game("dp-sgd"), 40, exact=True, confidence=1 - 1e-7)  # type: ignore[arg-type]
    assert (audit.verdict, audit.noise) == ("within the claim", "exact draws")
    one = game("dp-sgd-one-run").audit(exact=True, confidence=1 - 1e-7)  # type: ignore[union-attr]
    assert one.measured <= one.claimed


def test_dp_sgd_keeps_its_claim() -> None:
    audit = played(game("dp-sgd"), 4000)  # type: ignore[arg-type]
    assert audit.verdict == "within the claim"
    assert audit.measured > 0.3 * audit.claimed


@pytest.mark.parametrize("name", ["observed-one-run", "dp-sgd-one-run"])
def test_one_run_with_many_canaries_keeps_the_claim_and_sees_something(name: str) -> None:
    made = game(name)
    assert isinstance(made, OneRun)
    audit = made.audit(exact=False, seed=1)
    assert 1.0 < audit.measured < audit.claimed
    assert audit.runs == 1
    assert "canaries" in text(audit)


def test_every_game_says_what_it_is_about() -> None:
    for name, make in GAMES.items():
        made = make()
        assert made.name == name
        assert made.about
        assert (made.claim is None) == (name == "projection")


def test_simulated_parts_are_the_same_again_and_differ_from_each_other() -> None:
    made = play.laplace()
    a, b, c = (play.chunk(made, 0, n, 50, exact=False, seed=1) for n in (0, 0, 1))
    assert (a == b).all()
    assert not (a == c).any()
    assert sum(chunks(made, 25_001)) == 25_001


def test_a_game_with_the_wrong_number_of_outputs_is_refused() -> None:
    bad = Game("bad", "", tacit.Budget.pure(1.0), lambda side, runs, noise: np.zeros(3))
    with pytest.raises(BadInput, match="must give 50 outputs"):
        played(bad, 50)


def test_pictures_show_both_numbers() -> None:
    audit = played(play.laplace(), 2000)
    for made in (text(audit), svg(audit)):
        assert "claimed" in made
        assert f"{audit.measured:.4g}" in made
    assert "http" not in svg(audit).replace("http://www.w3.org/2000/svg", "")


# One run, many canaries


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_one_run_bound_fails_no_more_often_than_it_says(epsilon: float) -> None:
    """Randomised response on each canary: the worst that is epsilon-DP. Not simulated: a finite sum."""
    from scipy.stats import binom

    m, level = 200, 0.05
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    wrong = [
        v for v in range(m + 1) if one_run_bound(v, m, canaries=m, delta=0.0, confidence=1 - level) > epsilon + 1e-9
    ]
    assert binom.pmf(wrong, m, p).sum() <= level
    seen = one_run_bound(round(p * m), m, canaries=m, delta=0.0)
    assert 0 < seen < epsilon


def test_a_larger_delta_shows_less() -> None:
    bounds = [one_run_bound(95, 100, canaries=100, delta=d) for d in (0.0, 1e-5, 1e-3, 0.1)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == 0.0


def test_guesses_are_made_where_the_attacker_is_surest() -> None:
    assert guessed([5.0, -4.0, 0.1, -0.1], [1, 0, 0, 1], share=0.5) == (2, 2)
    assert guessed([5.0, -4.0, 0.1, -0.1], [1, 0, 0, 1], share=1.0) == (2, 4)
    assert best_one_run(np.r_[np.ones(50), -np.ones(50)], np.r_[np.ones(50), np.zeros(50)], delta=0.0)["guesses"] == 100


def test_codes_are_orthogonal() -> None:
    assert (codes(16) @ codes(16).T == 16 * np.eye(16)).all()
    with pytest.raises(BadInput, match="power of two"):
        codes(12)
    with pytest.raises(BadInput, match="right <= guesses"):
        one_run_bound(5, 4, canaries=10, delta=0.0)
