"""The constants of Kusner et al., against the papers by hand, and what they add up to."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from tacit.errors import BadInput
from tacit.gp.kernels import RBF, Matern52
from tacit.methods.kusner.constants import (
    Constants,
    LipschitzTerms,
    data_kernel,
    information_gain,
    prior_regret,
    vanishing_regret,
)

# Constants: n = 1000, T = 30, delta = 1e-3, k1 = 0.9998, sigma = 0.1, worked out by hand from the papers' formulas.

BY_HAND = {
    "safe": (30.82364629820626, 44.559595116146845, 0.983898861870359),
    "icml": (30.01271608198993, 43.74866489993052, 0.8003183150547161),
    "workshop": (30.01271608198993, 43.74866489993052, 0.5659105076829815),
}


@pytest.mark.parametrize("version", BY_HAND)
def test_beta_c_q_and_c1_are_those_of_the_papers(version: str) -> None:
    c = Constants(version, 1000, 30, 1e-3, 0.9998, 0.1)
    assert (c.beta(1), c.beta(31), c.q) == pytest.approx(BY_HAND[version])
    assert c.c == pytest.approx(0.10923048236323318)
    assert c.change(2) == pytest.approx(0.10773544537810245)
    assert c.c1 == pytest.approx(1.7334325226842533)
    assert c.choice_sensitivity == pytest.approx(2 * math.sqrt(BY_HAND[version][1]) + 0.10923048236323318)
    assert c.regret(20.0) == pytest.approx(math.sqrt(1.7334325226842533 * c.beta(30) * 20 / 30))


def test_the_sensitivity_of_the_choice_is_about_thirteen_prior_standard_deviations() -> None:
    assert Constants("safe", 1000, 30, 1e-3, 0.9998, 0.1).choice_sensitivity == pytest.approx(13.46, abs=0.01)


def test_algorithm_2_uses_the_last_trial_or_in_the_workshop_version_the_second() -> None:
    assert vanishing_regret("icml", 20, 2, 2.0, 0.1) == pytest.approx(0.6297857734960033)
    assert vanishing_regret("workshop", 20, 2, 2.0, 0.1) == pytest.approx(1.5729025945607678)
    with pytest.raises(BadInput, match="trials must be at least 2"):
        vanishing_regret("safe", 1, 2, 2.0, 0.1)


def test_k1_makes_one_record_worth_one_prior_sd_of_the_difference() -> None:
    assert math.sqrt(2 * (1 - data_kernel(500, 1.0, 0.05))) == pytest.approx(1 / (500 * 0.05))
    assert data_kernel(1, 1.0, 0.05) == 0.0
    assert data_kernel(10**12, 1.0, 0.25) < 1


@pytest.mark.parametrize(("version", "share"), [("safe", 1 / 3), ("icml", 1 / 2), ("workshop", 1 / 2)])
def test_a_band_costs_a_third_of_delta_if_safe_and_a_half_as_published(version: str, share: float) -> None:
    c = Constants(version, 50, 10, 0.1, 0.99, 0.1)
    spent = math.fsum(50 * math.exp(-c.beta(t) / 2) for t in range(1, 200_000))
    assert spent == pytest.approx(share * 0.1, rel=1e-4)
    assert 2 * spent + 0.1 / 3 <= (0.1 if version == "safe" else 4 / 3 * 0.1) * (1 + 1e-9)


def test_only_safe_constants_add_up_for_both_releases_of_algorithm_1() -> None:
    safe, icml, workshop = (Constants(v, 50, 50, 0.1, 0.99, 0.1).failures(1) for v in BY_HAND)
    assert safe["sum"] == pytest.approx(4 / 3 * 0.1)
    assert safe["sum"] <= safe["allowed"] == 0.2
    assert icml["sum"] == pytest.approx(0.1 + 0.1 / 3 + min(1, 100 * 0.1 / 3))
    assert min(icml["sum"], workshop["sum"]) > 0.2
    for version in BY_HAND:  # the given constants of Algorithm 2 take the place of q
        two = Constants(version, 50, 50, 0.1, 0.99).failures(2)
        assert two["sum"] <= two["allowed"] * (1 + 1e-12)


def test_the_noise_at_a_chosen_index_exceeds_the_published_q_far_too_often() -> None:
    """T = 50, delta = 0.1, constant f: the best noisy score has the largest noise of 50, not one noise."""
    icml, safe = (Constants(v, 1000, 50, 0.1, 0.99, 1.0) for v in ("icml", "safe"))
    assert 1 - norm.cdf(icml.q / 2) ** 50 == pytest.approx(0.20, abs=0.005)
    assert 1 - norm.cdf(icml.q / 2) ** 50 > 6 * 0.1 / 3
    assert 1 - (2 * norm.cdf(safe.q / 2) - 1) ** 100 < 0.1 / 3  # both data sets, either sign


@pytest.mark.parametrize("kernel", [RBF((0.3, 0.3)), Matern52((0.2, 0.5))])
@pytest.mark.parametrize("trials", [1, 2, 3, 4])
def test_the_information_gain_bound_dominates_every_choice_of_points(kernel: Any, trials: int) -> None:
    C = np.random.default_rng(trials).random((6, 2))
    K = kernel(C, C)

    def gain(chosen: tuple[int, ...]) -> float:
        return 0.5 * float(np.linalg.slogdet(np.eye(trials) + K[np.ix_(chosen, chosen)] / 0.05)[1])

    most = max(map(gain, itertools.combinations_with_replacement(range(6), trials)))
    bound = information_gain(kernel, C, trials, 0.05)
    assert most <= bound <= math.e / (math.e - 1) * most + 1e-9


def test_the_forecast_is_uniform_at_huge_noise_and_perfect_at_none() -> None:
    C = np.random.default_rng(0).random((600, 2))
    blind, uniform = prior_regret(RBF((0.2, 0.2)), C, 1e9)
    sharp, same = prior_regret(RBF((0.2, 0.2)), C, 1e-9)
    assert blind == pytest.approx(uniform)
    assert uniform == same > 1
    assert sharp == pytest.approx(0, abs=1e-6)


def test_the_terms_of_algorithm_3_are_those_of_theorem_7_or_larger() -> None:
    published = LipschitzTerms("icml", 60, 1.0, 2.0, 4.0, 5.0)
    assert published.record == pytest.approx(1 / 4 / 60)
    assert published.path == pytest.approx(1 / 20)
    assert published.total == pytest.approx(1 / 240 + 1 / 20)
    sure = {sides: LipschitzTerms("safe", 60, 1.0, 2.0, 4.0, 5.0, sides=sides) for sides in (1, 2, math.inf)}
    assert [t.record * 60 for t in sure.values()] == pytest.approx([0.25, 0.5, 2.0])
    assert LipschitzTerms("safe", 60, 1.0, 2.0, 0.01, 5.0).total == pytest.approx(2.0), "no mean moves by more than g*"
    assert [LipschitzTerms("icml", 60, 1.0, 2.0, 4.0, 5.0, sides=sides).proven for sides in (1, 2)] == [True, False]
    slack = LipschitzTerms("icml", 60, 1.0, 2.0, 4.0, 5.0, tolerance=1e-3).total - published.total
    assert slack == pytest.approx(2e-3)
