"""Noise that is exact, paid for first, and as large as is stated."""

from __future__ import annotations

import math
import traceback
from collections import deque
from fractions import Fraction
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import chisquare, kstest

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy.guarantee import DECLARED, UNTIMED, Budget
from tacit.privacy.ledger import Ledger
from tacit.privacy.mechanisms import Exponential, Gaussian, Laplace
from tacit.privacy.noise import EXACT, Simulation
from tacit.privacy.weighted_choice import SLACK

FALSE_ALARM = 1e-6  # of each statistical test below: they reject at this p-value, with fixed sample sizes
scales = st.floats(1e-12, 1e12)
sizes = st.sampled_from([1, 2, 33, 1000])
ratios = st.floats(1e-3, 100)
dp.enable_features("contrib")
LONGER = [np.longdouble(1)] * (np.dtype(np.longdouble).itemsize > 8)  # on some systems it is a double


class Untouchable:
    """A ledger that must not be charged."""

    def charge(self, *_):
        pytest.fail("the ledger was charged before the input was checked")


# The stated guarantee


@given(scales, ratios, sizes)
def test_what_is_stated_is_the_sensitivity_over_the_scale_rounded_up(scale, ratio, size):
    for mechanism, notion in (
        (Gaussian(ratio * scale, scale=scale, size=size), "gdp"),
        (Laplace(ratio * scale, scale=scale, size=size), "pure"),
    ):
        stated, true = Fraction(mechanism.guarantee.budget.amount), Fraction(ratio * scale) / Fraction(scale)
        assert mechanism.guarantee.notion == notion
        assert true <= stated <= true * (1 + Fraction(1, 2**51))


@given(scales, ratios)
def test_exponential_states_no_less_than_opendp_in_both_notions(scale, ratio):
    epsilon = Exponential(ratio * scale, scale=scale).guarantee.epsilon()
    assert epsilon >= noisy_max(dp.max_divergence(), scale).map(d_in=ratio * scale)
    assert epsilon**2 / 8 >= noisy_max(dp.zero_concentrated_divergence(), scale).map(d_in=ratio * scale)
    assert epsilon == pytest.approx(2 * ratio, rel=1e-9, abs=1e-12)


def noisy_max(measure: Any, scale: float) -> Any:
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    return domain >> dp.m.then_noisy_max(measure, scale=scale)


@given(st.floats(1e-6, 20), scales, sizes)
def test_a_target_is_stated_exactly_and_the_noise_suffices(amount, sensitivity, size):
    gaussian = Gaussian(sensitivity, budget=Budget.gdp(amount), size=size)
    laplace = Laplace(sensitivity, budget=Budget.pure(amount), size=size)
    choose = Exponential(sensitivity, budget=Budget.pure(amount))
    concentrated = Exponential(sensitivity, budget=Budget.zcdp(amount))
    assert gaussian.guarantee.budget == Budget.gdp(amount)
    assert laplace.guarantee.budget == choose.guarantee.budget == Budget.pure(amount)
    assert concentrated.guarantee.budget == Budget.zcdp(amount)
    for made in (gaussian, laplace):  # enough, and no noise is wasted
        least = Fraction(sensitivity) / Fraction(amount)
        assert least <= Fraction(made.scale) <= least * (1 + Fraction(1, 2**51))
    assert 2 * sensitivity / choose.scale <= amount * (1 + 1e-15)
    assert noisy_max(dp.zero_concentrated_divergence(), concentrated.scale).map(d_in=sensitivity) <= amount
    if amount > 0.01:  # and no noise is wasted
        assert choose.scale <= 2 * sensitivity / amount * (1 + 1e-9)


@pytest.mark.parametrize("budget", [Budget.approximate(1.0, 1e-6), Budget.zcdp(0.1), Budget.gdp(0.5)])
def test_a_target_in_another_notion_is_met(budget):
    gaussian, laplace = Gaussian(1.0, budget=budget).guarantee, Laplace(1.0, budget=budget).guarantee
    at = budget.delta or 1e-6
    assert gaussian.epsilon(at) <= budget.epsilon(at) * (1 + 1e-9)
    assert laplace.epsilon(at) <= budget.epsilon(at) * (1 + 1e-9)


# The distribution of exact draws


def test_exact_gaussian_draws_are_gaussian():
    draws = Gaussian(1.0, scale=2.5, size=20_000).draw(np.full(20_000, 7.0))
    assert kstest(draws, "norm", args=(7.0, 2.5)).pvalue > FALSE_ALARM


def test_exact_laplace_draws_are_laplace():
    draws = Laplace(1.0, scale=0.3, size=20_000).draw(np.full(20_000, -2.0))
    assert kstest(draws, "laplace", args=(-2.0, 0.3)).pvalue > FALSE_ALARM


def test_exact_whole_gaussian_draws_are_gaussian():
    draws = [EXACT.gaussian_whole(1000, 2.0**20) for _ in range(3000)]
    assert all(isinstance(d, int) for d in draws)
    assert kstest(draws, "norm", args=(1000, 2.0**20)).pvalue > FALSE_ALARM


def test_the_exponential_mechanism_chooses_with_softmax_probabilities():
    scores, mechanism = np.array([0.0, 1.0, 2.5, -1.0]), Exponential(1.0, scale=1.5)
    counts = np.bincount([mechanism.draw(scores) for _ in range(4000)], minlength=4)
    assert chisquare(counts, 4000 * softmax(scores / 1.5)).pvalue > FALSE_ALARM


def test_these_tests_would_notice_too_little_noise():
    rng = np.random.default_rng(0)
    assert kstest(rng.normal(0, 0.9, 20_000), "norm").pvalue < FALSE_ALARM
    assert kstest(rng.laplace(0, 0.9, 20_000), "laplace").pvalue < FALSE_ALARM
    scores = np.array([0.0, 1.0, 2.5, -1.0])
    choices = np.bincount(rng.choice(4, 4000, p=softmax(scores / 1.2)), minlength=4)
    assert chisquare(choices, 4000 * softmax(scores / 1.5)).pvalue < FALSE_ALARM


def test_two_exact_draws_differ():
    for mechanism in (Gaussian(1.0, scale=1.0), Laplace(1.0, scale=1.0)):
        assert len({mechanism.release(0.5).value for _ in range(3)}) > 1  # fails once in 1e14
    many = np.zeros(10**6)
    assert len({Exponential(1.0, scale=1.0).release(many).value for _ in range(3)}) > 1  # fails once in 1e12


def test_a_million_candidates_can_be_chosen_from():
    scores = np.zeros(10**6)
    scores[123_456] = 60.0  # missed with probability 1e6 exp(-60) < 1e-19
    assert Exponential(1.0, scale=1.0).release(scores).value == 123_456


def test_scores_at_the_ends_of_the_floats_are_compared():
    assert Exponential(1.0, scale=1.0).release([-1e308, 1e308, 0.0]).value == 1


# Simulation


def test_a_simulation_is_reproducible():
    for make in (Gaussian, Laplace):
        first, again, other = (make(1.0, scale=1.0, noise=Simulation(s)).release(0.0).value for s in (3, 3, 4))
        assert first == again != other
    first, again, other = (Exponential(1.0, scale=9.0, noise=Simulation(s)).draw(np.zeros(10**6)) for s in (3, 3, 4))
    assert first == again != other


@pytest.mark.parametrize("make", [Gaussian, Laplace, Exponential])
def test_a_simulation_has_no_guarantee_and_no_ledger_pays_for_it(make, tmp_path):
    mechanism = make(1.0, scale=1.0, noise=Simulation(0))
    release = mechanism.release([0.0])
    assert release.guarantee.kind == "none"
    assert "NO privacy guarantee: simulated" in str(release.guarantee)
    with Ledger.open(tmp_path / "l.db", "l", Budget.approximate(1.0, 1e-6)) as ledger:
        with pytest.raises(GuaranteeError, match="cannot be charged: simulated"):
            mechanism.release([0.0], ledger=ledger)
        assert ledger.entries() == []


# Premises


def test_noise_that_is_added_presupposes_that_nobody_sees_how_long_a_draw_took_and_a_choice_does_not():
    for make in (Gaussian, Laplace):
        assert make(1.0, scale=1.0).guarantee.premises == (DECLARED, UNTIMED)
    assert Exponential(1.0, scale=1.0).guarantee.premises == (DECLARED,)
    assert Laplace(1.0, scale=1.0, premises=()).guarantee.premises == ()


# Refusals


@pytest.mark.parametrize("make", [Gaussian, Laplace, Exponential])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"scale": 1.0, "budget": Budget.zcdp(1.0)},
        {"scale": 0.0},
        {"scale": -1.0},
        {"scale": math.nan},
        {"scale": math.inf},
        {"scale": "1"},
        {"scale": 1e-310},
        {"scale": 1e300},
        {"budget": 1.0},
    ],
)
def test_a_scale_or_a_budget_is_needed_and_must_be_usable(make, arguments):
    with pytest.raises(BadInput, match=r"scale|budget"):
        make(1.0, **arguments)


@pytest.mark.parametrize("make", [Gaussian, Laplace, Exponential])
@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan, math.inf, None, "1", True])
def test_a_sensitivity_is_positive(make, sensitivity):
    with pytest.raises(BadInput, match="sensitivity must be"):
        make(sensitivity, scale=1.0)


@pytest.mark.parametrize("make", [Gaussian, Laplace])
@pytest.mark.parametrize("size", [0, -1, 1.5, None])
def test_a_size_is_a_whole_number(make, size):
    with pytest.raises(BadInput, match="size must be"):
        make(1.0, scale=1.0, size=size)


def test_no_gaussian_noise_meets_a_pure_budget():
    with pytest.raises(GuaranteeError, match="use Laplace noise"):
        Gaussian(1.0, budget=Budget.pure(1.0))


@pytest.mark.parametrize("make", [Gaussian, Laplace, Exponential])
def test_a_budget_of_nothing_allows_no_release(make):
    with pytest.raises(GuaranteeError, match="a budget of zero allows no release"):
        make(1.0, budget=Budget("approximate", 0.0, 1e-6))


def test_a_budget_that_needs_noise_beyond_what_the_proof_covers_is_refused():
    with pytest.raises(BadInput, match="scale must be"):
        Gaussian(1.0, budget=Budget.gdp(1e-300))
    with pytest.raises(BadInput, match=r"too small|scale must be"):
        Exponential(1.0, budget=Budget.pure(1e-200))


SECRET = 8675309.25
BAD = {
    "nan": [SECRET, math.nan],
    "infinite": [SECRET, math.inf],
    "deep": [[SECRET, SECRET]],
    "ragged": [[SECRET], [SECRET, SECRET]],
    "text": ["8675309.25", "patient 8675309.25"],
    "complex": [SECRET * 1j, 1],
    "objects": np.array([SECRET, None]),
    "empty": [],
    "nothing": None,
}


@pytest.mark.parametrize("make", [Gaussian, Laplace, Exponential])
@pytest.mark.parametrize("value", BAD.values(), ids=BAD.keys())
def test_a_bad_value_is_refused_before_the_ledger_is_touched_and_never_shown(make, value):
    mechanism = make(1.0, scale=1.0) if make is Exponential else make(1.0, scale=1.0, size=2)
    with pytest.raises(BadInput) as caught:
        mechanism.release(value, ledger=Untouchable())
    assert "8675309" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("make", [Gaussian, Laplace])
@pytest.mark.parametrize("value", [SECRET, [SECRET], [SECRET] * 3, [[SECRET], [SECRET]]])
def test_a_value_of_another_size_is_refused_by_shape_only(make, value):
    with pytest.raises(BadInput, match=r"takes 2 numbers, got an ndarray of shape \(") as caught:
        make(1.0, scale=1.0, size=2).release(value, ledger=Untouchable())
    assert "8675309" not in str(caught.value)


@pytest.mark.parametrize("make", [Gaussian, Laplace])
def test_a_number_gives_a_number_and_a_vector_a_vector(make):
    assert isinstance(make(1.0, scale=1.0).release(3).value, float)
    assert make(1.0, scale=1.0).release([3]).value.shape == (1,)
    assert make(1.0, scale=1.0, size=4).release(np.zeros(4, np.float32)).value.shape == (4,)


@pytest.mark.parametrize("value", [2**62 + 513, -(2**53), np.uint64(2**63), [1, 2**53], *LONGER])
def test_numbers_that_a_float_would_round_are_refused(value: Any) -> None:
    """Rounded, 2^62 + 512 and 2^62 + 513 are 1024 apart."""
    size = np.size(value)
    for made in (Laplace(1.0, scale=1.0, size=size), Gaussian(1.0, scale=1.0, size=size)):
        with pytest.raises(BadInput, match=r"2\^53|double precision"):
            made.release(value)
    with pytest.raises(BadInput, match=r"2\^53|double precision"):
        Exponential(1.0, scale=1.0).release(np.atleast_1d(value))
    mixed = [2**62 + 513, 0.5]  # rounded by NumPy as it arrives
    kinds: list[Any] = [mixed, tuple(mixed), deque(mixed), [np.array(2**62 + 513), 0.5]]
    for made in (Laplace(1.0, scale=1.0, size=2), Exponential(1.0, scale=1.0)):
        for value in kinds:
            with pytest.raises(BadInput, match=r"2\^53"):
                made.release(value)
        made.release([np.float32(2.0**60), 2.0**60])
    Laplace(1.0, scale=1.0).release(2**53 - 1)
    Laplace(1.0, scale=1.0).release(2.0**60)


def test_what_a_mask_hides_is_not_released() -> None:
    for value in (np.ma.array([SECRET, 1.0], mask=[True, False]), np.ma.masked):
        for made in (Laplace(1.0, scale=1.0, size=np.size(value)), Gaussian(1.0, scale=1.0, size=np.size(value))):
            with pytest.raises(BadInput, match="made of numbers, got a Masked") as caught:
                made.release(value)
            assert "8675309" not in str(caught.value)
    Laplace(1.0, scale=1.0, size=2).release(np.ma.array([1.0, 2.0]))


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_the_epsilon_of_a_choice_is_never_rounded_down(sensitivity: float, scale: float) -> None:
    stated = Fraction(Exponential(sensitivity, scale=scale).guarantee.budget.amount)
    exact = 2 * Fraction(sensitivity) / Fraction(scale) + Fraction(SLACK)
    assert exact <= stated <= exact * (1 + Fraction(1, 2**49))
