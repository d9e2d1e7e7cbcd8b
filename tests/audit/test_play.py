"""Every game, on few runs: no method is found to break its claim, and the published projection is."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.audit.canaries import best_one_run, codes, count_guesses, one_run_bound
from tacit.audit.game import Game, draw_part, part_sizes
from tacit.audit.games import GAMES, find_game, mechanisms
from tacit.audit.games.one_run import OneRun
from tacit.audit.play import draw_named_part, run_game
from tacit.errors import BadInput
from tacit.report.pages.audit import write

# Simulated noise of fixed seeds: no test fails by chance.
CHEAP = ("gaussian", "laplace", "exponential", "mean", "observations", "noisy-projection")
DEAR = {"observed": 160, "random": 60, "optuna": 160, "gibo": 160, "kusner1": 60, "kusner2": 60, "kusner3": 200}


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
    if name in ("observed", "optuna", "gibo"):
        assert audit.measured > 0.3 * audit.claimed, "it sees something"
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


def test_simulated_parts_are_the_same_again_and_differ_from_each_other() -> None:
    made = mechanisms.laplace()
    a, b, c = (draw_part(made, 0, n, 50, exact=False, seed=1) for n in (0, 0, 1))
    assert (a == b).all()
    assert not (a == c).any()
    assert sum(part_sizes(made, 25_001)) == 25_001


def test_a_game_with_the_wrong_number_of_outputs_is_refused() -> None:
    bad = Game("bad", "", tacit.Budget.pure(1.0), lambda side, runs, noise: np.zeros(3))
    with pytest.raises(BadInput, match="must give 50 outputs"):
        run_game(bad, 50)


def test_the_words_and_the_page_show_both_numbers(tmp_path: Path) -> None:
    audit = run_game("laplace", 2000)
    shown = [str(audit), *(p.read_text() for p in write(audit, tmp_path) if p.suffix != ".json")]
    for made in shown:
        assert "claimed" in made
        assert f"{audit.measured:.3g}" in made
    assert "http" not in shown[-1].replace("http://www.w3.org/2000/svg", "")


# The runner


def test_an_executor_finds_what_one_thread_finds() -> None:
    with ThreadPoolExecutor(2) as pool:
        alone, together = (run_game("laplace", 2000, executor=e, seed=3) for e in (None, pool))
    assert alone.event == together.event


def test_a_game_goes_on_from_the_parts_that_were_kept(tmp_path: Path) -> None:
    first = run_game("laplace", 2000, out=tmp_path)
    parts = sorted((tmp_path / "runs").glob("*.npy"))
    np.save(parts[0], np.load(parts[0]) + 0.0)
    parts[-1].unlink()
    seen: list[int] = []
    made = mechanisms.laplace()
    watched = replace(made, draw=lambda side, runs, noise: (seen.append(side), made.draw(side, runs, noise))[1])
    assert run_game(watched, 2000, out=tmp_path).event == first.event
    assert seen == [1], "only the part that was lost is drawn again"


def test_runs_of_another_number_or_game_are_refused(tmp_path: Path) -> None:
    run_game("laplace", 1000, out=tmp_path)
    with pytest.raises(BadInput, match="holds other runs: trials was 1000, now 2000"):
        run_game("laplace", 2000, out=tmp_path)
    with pytest.raises(BadInput, match="holds other runs: method"):
        run_game("gaussian", 1000, out=tmp_path)


def test_parts_of_one_run_are_refused() -> None:
    with pytest.raises(BadInput, match="has no parts"):
        draw_named_part("dp-sgd-one-run", 0, 0, 40, exact=False, seed=0)


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
    assert count_guesses([5.0, -4.0, 0.1, -0.1], [1, 0, 0, 1], share=0.5) == (2, 2)
    assert count_guesses([5.0, -4.0, 0.1, -0.1], [1, 0, 0, 1], share=1.0) == (2, 4)
    assert best_one_run(np.r_[np.ones(50), -np.ones(50)], np.r_[np.ones(50), np.zeros(50)], delta=0.0)["guesses"] == 100


def test_codes_are_orthogonal() -> None:
    assert (codes(16) @ codes(16).T == 16 * np.eye(16)).all()
    with pytest.raises(BadInput, match="power of two"):
        codes(12)
    with pytest.raises(BadInput, match="right <= guesses"):
        one_run_bound(5, 4, canaries=10, delta=0.0)
