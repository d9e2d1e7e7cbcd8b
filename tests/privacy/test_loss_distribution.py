"""Composed losses: against exact compositions, the exact Gaussian, dp-accounting, a table of known bounds, and laws."""

from __future__ import annotations

import math
from fractions import Fraction

import dp_accounting as da
import numpy as np
import pytest
from dp_accounting import pld
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from step_delta import step_delta

from tacit.privacy.conversions import gdp_delta, gdp_epsilon
from tacit.privacy.dominating_pairs import POISSON, POISSON_REPLACE, WITHOUT
from tacit.privacy.loss_distribution import compose
from tacit.privacy.loss_profile import LossProfile
from tacit.privacy.step_losses import StepLosses, step_losses

PAIRS = (WITHOUT, POISSON, POISSON_REPLACE)


def profile(
    pair: str, s: float, q: float, T: int, *levels: float, lower: bool = False, fineness: float = 8.0
) -> LossProfile:
    one = step_losses(pair, np.array([s]), np.array([q]), lower=lower, fineness=fineness)
    return compose(one, [T], levels)[0] if levels else compose(one, [T])[0]


def epsilons(pair: str, s: float, q: float, T: int, delta: float, fineness: float = 8.0) -> tuple[float, float]:
    lower, upper = (profile(pair, s, q, T, delta, lower=low, fineness=fineness).epsilon(delta) for low in (True, False))
    return lower, upper


@each(
    ("records", "lot", "variance", "steps", "delta", "below", "above"),
    [
        (57_214, 37, 0.8831084, 1_546, 1e-5, 0.139, 0.160),
        (57_214, 13, 8.46854, 57_213, 1e-5, 0.0, 0.0645),
        (57_214, 9, 14.731835, 6_357, 1e-5, 0.0, 0.0089),
        (40_000, 128, 1.0, 6_250, 1e-6, 1.743, 1.9255),
        (40_000, 128, 0.25, 6_250, 1e-6, 13.71, 14.345),
        (40_000, 512, 4.0, 780, 1e-5, 0.805, 0.822),
        (60_000, 600, 1.21, 10_000, 1e-5, 5.99, 6.71),
        (1_000, 100, 4.0, 200, 1e-5, 3.710, 3.7215),
        (1_000, 1_000, 25.0, 20, 1e-5, 3.847, 3.8495),
    ],
)
def test_known_bounds_are_met_and_upper_and_lower_are_a_hundredth_apart(
    records: int, lot: int, variance: float, steps: int, delta: float, below: float, above: float
) -> None:
    """Bounds of a coarser grid, printed to three or four digits."""
    lower, upper = epsilons(WITHOUT, math.sqrt(variance), lot / records, steps, delta, fineness=16)
    assert below <= lower <= upper <= above
    assert upper <= 1.01 * lower


@each(("s", "T"), [(0.7, 1), (5.0, 20), (40.0, 1_000), (300.0, 100_000)])
@each("pair", [WITHOUT, POISSON])
def test_every_record_in_every_lot_is_the_exact_gaussian(pair: str, s: float, T: int) -> None:
    mu = math.sqrt(T) / s
    for delta in (1e-3, 1e-6, 1e-10):
        lower, upper = epsilons(pair, s, 1.0, T, delta)
        exact = gdp_epsilon(mu, delta)
        assert lower <= exact <= upper <= 1.002 * exact + 1e-12
    above, below = (profile(pair, s, 1.0, T, lower=low) for low in (False, True))
    for eps in np.linspace(0, 6 * mu, 25):
        exact = gdp_delta(mu, float(eps))
        assert below.delta(eps) <= exact * (1 + 1e-12)
        assert exact * (1 - 1e-12) <= above.delta(eps) <= exact * 1.05 + 1e-20


def exact_tail(law: StepLosses, T: int, place: int) -> Fraction:
    """Delta at the loss ``place * spacing`` of T steps of a discrete law whose masses are taken as exact fractions."""
    p = {int(k): Fraction(float(np.exp(v))) for k, v in zip(law.knots, law.log_p[0], strict=True) if np.isfinite(v)}
    total = {0: Fraction(1)}
    for _ in range(T):
        longer: dict[int, Fraction] = {}
        for i, a in total.items():
            for j, b in p.items():
                longer[i + j] = longer.get(i + j, Fraction(0)) + a * b
        total = longer
    h = float(law.spacing[0])
    return sum((m * Fraction(-math.expm1(h * (place - i))) for i, m in total.items() if i > place), Fraction(0))


@each("T", [1, 2, 3])
def test_a_small_discrete_composition_equals_the_sum_over_all_its_outcomes(T: int) -> None:
    knots = np.arange(-4, 5)
    weights = np.array([1, 2, 5, 9, 20, 11, 6, 3, 1e-3])
    law = StepLosses(
        knots, np.array([0.25]), np.log(weights / weights.sum())[None], np.zeros(1), np.zeros(1), False, False
    )
    found = compose(law, [T])[0]
    for place in range(4 * T):
        exact = float(exact_tail(law, T, place))
        assert exact * (1 - 1e-12) <= found.delta(0.25 * place) <= exact * (1 + 1e-3) + 1e-18


@each("pair", PAIRS)
@each(("s", "q"), [(1.0, 0.01), (4.0, 0.1), (0.5, 1e-3)])
def test_one_step_is_its_closed_form_from_above_and_below(pair: str, s: float, q: float) -> None:
    above, below = (profile(pair, s, q, 1, lower=low) for low in (False, True))
    eps = np.concatenate([-np.geomspace(1e-4, 2, 20), [0.0], np.geomspace(1e-4, 2, 20)])
    exact = step_delta(pair, s, q, eps)
    assert np.all(above.delta(eps) >= exact - 1e-15)
    assert np.all(below.delta(eps) <= exact + 1e-15)
    near = exact > 1e-9
    assert np.all(above.delta(eps)[near] <= 1.05 * exact[near])


@each(
    ("s", "q", "T", "delta"),
    [(0.6, 0.01, 100, 1e-5), (1.0, 0.0032, 6250, 1e-6), (2.0, 0.05, 500, 1e-6), (0.8, 0.2, 30, 1e-3)],
)
def test_poisson_lots_agree_with_dp_accounting_to_a_hundredth(s: float, q: float, T: int, delta: float) -> None:
    peer = pld.PLDAccountant(value_discretization_interval=1e-3 if T < 1000 else 2e-4)
    peer.compose(da.PoissonSampledDpEvent(q, da.GaussianDpEvent(s)), T)
    lower, upper = epsilons(POISSON, s, q, T, delta)
    theirs = peer.get_epsilon(delta)
    assert upper == pytest.approx(theirs, rel=0.01)
    assert lower <= theirs
    assert upper <= 1.01 * lower


def test_dp_accounting_is_loose_where_its_grid_is_coarser_than_the_losses() -> None:
    """Its default interval of 1e-4 against losses near 1e-4; when this fails the peer adapts its grid."""
    peer = pld.PLDAccountant()
    peer.compose(da.PoissonSampledDpEvent(0.0002, da.GaussianDpEvent(3.0)), 57_000)
    lower, upper = epsilons(POISSON, 3.0, 0.0002, 57_000, 1e-5)
    assert lower <= upper <= 1.01 * lower
    assert peer.get_epsilon(1e-5) > 1.1 * upper


def test_replacing_costs_at_most_the_removal_and_the_addition_of_a_record() -> None:
    """Replace-one of Poisson lots is dominated by two relations of add-remove: delta(2 e) <= (1 + e^e) delta'(e)."""
    single, both = (profile(pair, 2.0, 0.01, 1_000) for pair in (POISSON, POISSON_REPLACE))
    eps = np.linspace(0, 1, 30)
    apart = np.maximum(single.delta(eps), single.reversed.delta(eps))
    assert np.all(both.delta(2 * eps) <= (1 + np.exp(eps)) * apart * 1.01 + 1e-12)
    assert np.all(both.delta(eps) >= single.delta(eps) * 0.99)


def outcomes(rng: np.random.Generator, s: float, q: float, T: int, n: int) -> np.ndarray:
    """Losses of T steps of ((1-q) N(0) + q N(1), N(0)) drawn from its first side."""
    total = np.zeros(n)
    for _ in range(T):
        x = rng.normal(0, s, n) + (rng.random(n) < q)
        total += np.log1p(q * np.expm1((2 * x - 1) / (2 * s * s)))
    return total


def test_drawn_losses_reach_delta_and_no_more() -> None:
    """400,000 draws; five standard errors: a false alarm in fewer than 1 of 100,000 runs (seeded, so never again)."""
    s, q, T = 1.0, 0.1, 20
    losses = outcomes(np.random.default_rng(0), s, q, T, 400_000)
    above, below = (profile(POISSON, s, q, T, lower=low) for low in (False, True))
    for eps in (0.0, 0.5, 1.0, 2.0):
        values = -np.expm1(np.minimum(eps - losses, 0))
        error = 5 * values.std() / math.sqrt(len(values))
        assert below.delta(eps) - error <= values.mean() <= above.delta(eps) + error


configurations = st.tuples(
    st.floats(0.4, 20),  # noise
    st.floats(1e-4, 0.5),  # rate
    st.integers(1, 3_000),  # steps
    st.sampled_from([1e-3, 1e-5, 1e-8]),  # delta
)


@pytest.mark.parametrize("pair", PAIRS)
@settings(max_examples=12, deadline=None)
@given(configurations)
def test_upper_and_lower_are_a_hundredth_apart(pair: str, asked: tuple[float, float, int, float]) -> None:
    s, q, T, delta = asked
    lower, upper = epsilons(pair, s, q, T, delta, fineness=16)
    assert lower <= upper
    assert upper <= 1.01 * lower + 0.2 * q  # epsilons near the rate are next to none


@pytest.mark.parametrize("pair", PAIRS)
@settings(max_examples=12, deadline=None)
@given(configurations, st.floats(1.0, 3.0))
def test_epsilon_grows_with_steps_and_rate_and_shrinks_with_noise_and_delta(
    pair: str, asked: tuple[float, float, int, float], more: float
) -> None:
    s, q, T, delta = asked

    def at(s: float, q: float, T: int, delta: float) -> float:
        return profile(pair, s, q, T, delta).epsilon(delta)

    base = at(s, q, T, delta)
    for change in ((s / more, q, T, delta), (s, min(1.0, q * more), T, delta), (s, q, math.ceil(T * more), delta)):
        assert at(*change) >= base * (1 - 1e-4)
    assert at(s, q, T, delta / more) >= base * (1 - 1e-4)


def test_a_profile_is_decreasing_and_convex_in_the_exponential_of_epsilon() -> None:
    found = profile(WITHOUT, 1.0, 0.01, 2_000)
    eps = np.linspace(-2, 3, 400)
    x, delta = np.exp(eps), found.delta(eps)
    assert np.all(np.diff(delta) <= 0)
    slopes = np.diff(delta) / np.diff(x)
    assert np.all(np.diff(slopes) >= -1e-3 * np.abs(slopes[:-1]) - 1e-15)
    assert found.reversed is found
    assert np.all(delta >= np.maximum(0, 1 - x))


def test_the_reversed_profile_of_poisson_lots_is_the_other_direction() -> None:
    found = profile(POISSON, 1.0, 0.05, 300)
    back = found.reversed
    assert back.reversed.delta(1.0) == found.delta(1.0)
    eps = np.linspace(0.1, 2, 12)
    np.testing.assert_allclose(back.delta(-eps), 1 - np.exp(-eps) + np.exp(-eps) * found.delta(eps), rtol=1e-12)
    assert np.all(back.delta(eps) < found.delta(eps))


def test_an_infinite_loss_stays_in_delta() -> None:
    """Noise so small that the highest losses leave the floats: never more than their probability is promised."""
    found = profile(WITHOUT, 0.02, 0.001, 10)
    lost = 1 - (1 - 0.001) ** 10
    assert 0.99 * lost <= found.delta(590.0) <= 1.01 * lost
    assert found.epsilon(1e-6) == np.inf
