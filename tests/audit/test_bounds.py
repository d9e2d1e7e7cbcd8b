"""Lower bounds hold, are tight, and see what there is to see. Seeds are fixed: no test fails by chance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from benchmarks.papers._gaussian_pairs import gaussian_epsilon
from each import each
from scipy.stats import binom

import tacit
from tacit.audit.bounds import clopper_pearson, counted, lower_bound, mu_bound
from tacit.errors import BadInput
from tacit.privacy.conversions import gdp_epsilon

N = 40_000


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@each("n", [1, 7, 50, 400])
@each("level", [0.005, 0.05, 0.3])
def test_clopper_pearson_bounds_fail_at_most_as_often_as_they_say(n: int, level: float) -> None:
    """Not simulated: the probability of failing is a finite sum, at every p of a fine grid."""
    bounds = [clopper_pearson(k, n, level) for k in range(n + 1)]
    lows, highs = (np.array([b[i] for b in bounds]) for i in (0, 1))
    for p in np.linspace(0.001, 0.999, 333):
        chance = binom.pmf(np.arange(n + 1), n, p)
        assert chance[lows > p].sum() <= level * (1 + 1e-9)
        assert chance[highs < p].sum() <= level * (1 + 1e-9)


@each("epsilon", [0.3, 1.0, 3.0])
def test_the_bound_of_laplace_noise_is_below_its_epsilon_and_above_half_of_it(epsilon: float) -> None:
    here, there = rng(1).laplace(1, 1 / epsilon, N), rng(2).laplace(0, 1 / epsilon, N)
    assert epsilon / 2 < lower_bound(here, there, delta=0.0) <= epsilon


@each("mu", [0.3, 1.0, 3.0])
def test_the_bound_of_gaussian_noise_is_below_its_epsilon_and_above_half_of_it(mu: float) -> None:
    here, there = rng(1).normal(mu, 1, N), rng(2).normal(0, 1, N)
    assert mu / 2 < mu_bound(here, there) <= mu
    assert gdp_epsilon(mu, 1e-5) / 2 < lower_bound(here, there, delta=1e-5, family="gdp") <= gdp_epsilon(mu, 1e-5)
    assert lower_bound(here, there, delta=1e-2) <= gdp_epsilon(mu, 1e-2)


def test_the_bound_fails_no_more_often_than_its_confidence_says() -> None:
    """300 audits of a mechanism that just keeps its claim, at 80%: 60 may fail; 90 would be six deviations away."""
    failed = 0
    for seed in range(300):
        g = rng(seed)
        failed += lower_bound(g.laplace(1, 1, 300), g.laplace(0, 1, 300), delta=0.0, confidence=0.8) > 1.0
    assert failed < 60


def test_equal_outputs_show_nothing() -> None:
    assert lower_bound(rng(1).normal(size=N), rng(2).normal(size=N), delta=0.0) < 0.05
    assert lower_bound(np.zeros(100), np.zeros(100), delta=0.0) == 0.0
    assert mu_bound(np.zeros(100), np.zeros(100)) == 0.0


def test_outputs_that_never_meet_are_separated_and_bounded_by_the_number_of_runs() -> None:
    found = [counted(np.zeros(n), np.ones(n), delta=0.0) for n in (100, 10_000)]
    assert all(f.separated for f in found)
    assert 1.5 < found[0].epsilon < math.log(100 / 10) < found[1].epsilon


def test_a_direction_among_twenty_is_found() -> None:
    shift = np.full(20, 1 / math.sqrt(20))
    here, there = rng(1).normal(size=(N, 20)) + shift, rng(2).normal(size=(N, 20))
    assert 0.9 < mu_bound(here, there) <= 1.0


def test_a_change_of_covariance_is_found_though_no_mean_moves() -> None:
    turned = np.array([[1.0, 0.8], [0.8, 1.0]])
    here = rng(1).multivariate_normal([0, 0], turned, N)
    there = rng(2).multivariate_normal([0, 0], np.eye(2), N)
    true = gaussian_epsilon([0, 0], turned, [0, 0], np.eye(2), 0.05)
    assert true / 2 < lower_bound(here, there, delta=0.05) <= true


def test_labels_and_words_are_outputs_too() -> None:
    words = np.array(["b", "a", "c"])
    here = words[rng(1).choice(3, N, p=[0.6, 0.2, 0.2])]
    there = words[rng(2).choice(3, N, p=[0.3, 0.4, 0.3])]
    assert 0.6 < lower_bound(here, there, delta=0.0) <= math.log(2)


def test_an_output_that_is_not_a_number_is_an_event_like_another() -> None:
    here = np.where(rng(1).random(N) < 0.5, np.nan, rng(1).normal(size=N))
    assert lower_bound(here, rng(2).normal(size=N), delta=0.2) > 0.5
    assert math.isfinite(lower_bound(np.full(100, np.inf), np.zeros(100), delta=0.0))


def test_sorted_outputs_are_no_worse_than_shuffled_ones() -> None:
    here, there = np.sort(rng(1).laplace(1, 1, N)), np.sort(rng(2).laplace(0, 1, N))
    assert 0.8 < lower_bound(here, there, delta=0.0) <= 1.0


@each(
    ("here", "there", "says"),
    [
        (np.zeros(10), np.zeros(10), "at least 40 runs"),
        (np.zeros((50, 2)), np.zeros(50), "of one size on both"),
        (np.zeros((50, 2, 2)), np.zeros((50, 2, 2)), "of one size on both"),
        (np.zeros(0), np.zeros(0), "of one size on both"),
    ],
)
def test_outputs_that_cannot_be_compared_are_refused(here: Any, there: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        lower_bound(here, there, delta=0.0)


def test_settings_out_of_range_are_refused() -> None:
    x = np.zeros(50)
    for more, says in (({"delta": 1.0}, "delta"), ({"delta": 0.0, "confidence": 1.0}, "confidence")):
        with pytest.raises(BadInput, match=says):
            lower_bound(x, x, **more)
    with pytest.raises(BadInput, match="family"):
        lower_bound(x, x, delta=0.1, family="zcdp")
    with pytest.raises(BadInput, match="delta"):  # mu-GDP has no epsilon at 0
        lower_bound(np.zeros(50), np.ones(50), delta=0.0, family="gdp")


def test_the_public_name_is_the_function() -> None:
    assert tacit.audit.lower_bound is lower_bound
