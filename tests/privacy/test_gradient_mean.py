"""Clipped sums of gradients: bounded in floating point whatever the losses are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.errors import BadInput
from tacit.privacy.gradient_mean import STEPS, Clipped, GradientMean, reach
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import SPILL
from tacit.privacy.noise import Simulation

anything = st.one_of(
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -1e300, 1.7976931348623157e308, 5e-324, 0.0, -0.0, 1e-200]),
)
some_weights = arrays(np.float64, (3, 4), elements=st.floats(-1e6, 1e6))
some_losses = arrays(np.float64, (4, 3), elements=anything)


def norm_of(whole: list[int]) -> float:
    return math.sqrt(sum(x * x for x in whole))


@settings(max_examples=100, deadline=None)
@given(some_weights, some_losses, arrays(np.float64, (4,), elements=anything), st.floats(1e-6, 1e6))
def test_one_record_moves_the_sum_by_at_most_twice_the_reach(weights, losses, other, clip) -> None:
    clipped, neighbour = Clipped(weights, clip), losses.copy()
    neighbour[:, 1] = other
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        moved = [a - b for a, b in zip(clipped.total(list(losses)), clipped.total(list(neighbour)), strict=True)]
        alone = clipped.total([row[1:2] for row in losses])
    assert norm_of(moved) <= 2 * clipped.reach
    assert norm_of(alone) <= clipped.reach


@settings(max_examples=100, deadline=None)
@given(some_weights, arrays(np.float64, (4, 9), elements=anything), st.integers(0, 9))
def test_sums_of_groups_add_to_the_sum_of_all_exactly(weights, losses, cut) -> None:
    clipped = Clipped(weights, 1.0)
    left, right = clipped.total(list(losses[:, :cut])), clipped.total(list(losses[:, cut:]))
    assert [a + b for a, b in zip(left, right, strict=True)] == clipped.total(list(losses))


def test_the_slack_for_rounding_is_about_one_part_in_a_thousand_million() -> None:
    for d in (1, 33, 1000):
        assert STEPS < reach(d) < STEPS * (1 + 1e-8)


def test_the_reach_is_that_of_the_proof_exactly() -> None:
    for d in (1, 4, 64, 1024):
        assert Fraction(reach(d)) == 2**32 * (1 + Fraction(d + 8, 2**52)) + Fraction(math.isqrt(d), 2)


def test_the_steps_of_as_many_records_as_are_added_at_once_fit_64_bits() -> None:
    assert STEPS == 2**32
    assert SPILL * math.ceil(reach(2**20)) < 2**63


def test_a_norm_whose_squares_lose_digits_is_clipped_to_nothing() -> None:
    """Near 1e-161 a square has a digit or two: dividing by its root would leave more than the clip."""
    weights = np.linspace(0.4e-261, 4e-261, 37)
    long = [Clipped(np.array([[w]]), 1e-100).total([np.array([1.7e308])]) for w in weights]
    assert max(map(norm_of, long)) <= reach(1)
    assert Clipped(np.array([[1e-239]]), 1e-100).total([np.array([1.7e308])]) == [STEPS]


def test_weights_past_the_range_of_the_proof_are_refused() -> None:
    assert Clipped(np.array([[1e40, -1e40]]), 1.0).total([np.array([1e300]), np.array([0.0])]) == [STEPS]
    for bad in (1.0000001e40, -1.0000001e40, math.inf, math.nan):
        with pytest.raises(BadInput, match="too near to each other"):
            Clipped(np.array([[1.0, bad]]), 1.0)


def test_noise_is_at_least_a_million_steps_and_at_most_what_64_bits_hold() -> None:
    for mu in (2.0**13 * 0.999, 2.0**-25 * 1.001):
        assert 2**20 <= GradientMean(10, clip=1.0, size=1, budget=Budget.gdp(mu)).whole_scale <= 2**58
    for mu in (2.0**13 * 1.001, 2.0**-25 * 0.999):
        with pytest.raises(BadInput, match="out of range"):
            GradientMean(10, clip=1.0, size=1, budget=Budget.gdp(mu))


def test_gradients_are_clipped_to_the_norm_and_otherwise_left_alone() -> None:
    weights = np.array([[2.0, -2.0, 0.0], [0.0, 1.0, -1.0]])
    losses = np.array([[0.3, 5.0, 0.1], [0.1, 1.0, 0.1], [0.0, 9.0, 0.1]])
    g = weights @ losses
    expected = (g * np.minimum(1, 1.0 / np.maximum(np.linalg.norm(g, axis=0), 1e-300))).sum(axis=1)
    found = np.array(Clipped(weights, 1.0).total(list(losses))) / STEPS
    np.testing.assert_allclose(found, expected, atol=3 * 2.0**-32)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_record_with_a_loss_that_is_not_finite_contributes_nothing(bad) -> None:
    clipped, losses = Clipped(np.array([[1.0, -1.0]]), 1.0), np.array([[0.5, 0.5], [0.2, 0.2]])
    spoiled = losses.copy()
    spoiled[0, 1] = bad
    assert clipped.total(list(spoiled)) == clipped.total([row[:1] for row in losses])


def test_a_huge_loss_keeps_its_direction() -> None:
    weights = np.array([[3.0, 0.0], [0.0, 4.0]])
    found = np.array(Clipped(weights, 2.0).total([np.array([1e300]), np.array([1e300])])) * 2.0 / STEPS
    np.testing.assert_allclose(found, [1.2, 1.6], rtol=1e-9)


def test_the_noise_is_that_of_the_formula() -> None:
    for n, clip, mu, d in ((50, 1.0, 0.5, 5), (4500, 0.3, 1.0, 10), (10_000_000, 7.0, 0.1, 33)):
        assert GradientMean(n, clip=clip, size=d, budget=Budget.gdp(mu)).scale == pytest.approx(
            2 * clip / (n * mu), rel=2e-8
        )


def test_the_drawn_noise_has_that_deviation() -> None:
    """False alarm: below 1e-6, by the chi-square with 40,000 degrees of freedom."""
    mean = GradientMean(100, clip=2.0, size=4, budget=Budget.gdp(1.0), noise=Simulation(0))
    drawn = np.array([mean.draw([0, 0, 0, 0]) for _ in range(10_000)])
    assert drawn.std() == pytest.approx(mean.scale, rel=0.02)
    exact = GradientMean(100, clip=2.0, size=4, budget=Budget.gdp(1.0))
    drawn = np.array([exact.draw([0, STEPS, 0, 0]) for _ in range(500)])
    assert drawn.std(axis=0) == pytest.approx(np.full(4, exact.scale), rel=0.2)
    assert drawn.mean(axis=0)[1] == pytest.approx(2.0 / 100, abs=6 * exact.scale / math.sqrt(500))


def test_gradients_of_more_records_than_sixty_four_bits_count_get_their_noise() -> None:
    mean = GradientMean(1 << 36, clip=1.0, size=2, budget=Budget.gdp(1.0))
    assert mean.draw([STEPS << 35, -(STEPS << 35)]) == pytest.approx([0.5, -0.5], abs=8 * mean.scale)
