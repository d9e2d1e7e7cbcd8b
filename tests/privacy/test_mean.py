"""The mean of bounded losses: its sensitivity holds for the numbers that are computed, not only on paper."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import BadInput, ObjectiveError
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BLOCK, SPILL, STEPS, BoundedMean
from tacit.privacy.noise import Simulation

UNIT = BoundedMean(4, (0.0, 1.0), scale=0.1)
any_float = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324, -5e-324, 1e308, -1e308])
bounds = (
    st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
    .map(sorted)
    .map(tuple)
    .filter(lambda b: b[1] - b[0] > 1e-280)
)


def of(n: int, limits: tuple[float, float], **options) -> BoundedMean:
    return BoundedMean(n, limits, budget=Budget.gdp(1.0), **options)


# Adversarial floats, after Casacuberta, Shoemate, Vadhan, Wagaman (2022): widespread underestimation of sensitivity


def test_a_naive_single_precision_sum_moves_by_far_more_than_its_range():
    # 2^23 losses of 2 add up to 2^24, where the spacing of single-precision floats changes from 1 to 2. One more loss
    # of 2 lifts the sum to 2^24 + 2, where each -0.9 is rounded away; a loss of -2 instead leaves it at 2^24 - 2, where
    # each -0.9 counts as -1. After a thousand of them the two sums are 1004 apart, for a range of 4.
    losses = np.concatenate([np.full(2**23, 2.0), [2.0], np.full(1000, -0.9)]).astype(np.float32)
    neighbour = losses.copy()
    neighbour[2**23] = -2.0
    naive = [float(np.cumsum(x)[-1]) for x in (losses, neighbour)]
    assert naive[0] - naive[1] == 1004
    mean = of(losses.size, (-2.0, 2.0))
    assert mean.total(losses) - mean.total(neighbour) == STEPS


def test_a_naive_double_precision_sum_moves_by_more_than_its_range():
    # 2^20 losses of 1 add up to 2^20, where the spacing of doubles changes from 2^-33 to 2^-32. A little over 2^-33 is
    # rounded up to 2^-32 above, and down to 2^-33 below, where the sum is after replacing a 1 by a 0.
    little = 2.0**-33 * (1 + 2.0**-50)
    losses = [1.0] * 2**20 + [little] * 2**19
    neighbour = [0.0, *losses[1:]]

    def naive(values: list[float]) -> float:
        total = 0.0
        for value in values:
            total += value
        return total

    assert Fraction(naive(losses)) - Fraction(naive(neighbour)) == 1 + Fraction(1, 2**14)
    mean = of(len(losses), (0.0, 1.0))
    assert mean.total(losses) - mean.total(neighbour) == STEPS


@given(bounds, st.lists(any_float, min_size=1, max_size=30), any_float, st.data(), st.booleans())
def test_replacing_any_record_by_anything_moves_the_total_by_at_most_the_stated_steps(
    limits, losses, new, data, better
):
    mean = of(len(losses), limits, higher_is_better=better)
    neighbour = list(losses)
    neighbour[data.draw(st.integers(0, len(losses) - 1))] = new
    assert abs(mean.total(losses) - mean.total(neighbour)) <= STEPS
    assert 0 <= mean.total(losses) <= len(losses) * STEPS


def test_a_record_counts_as_2_to_the_32_steps_at_most_and_so_many_fit_64_bits():
    assert of(1, (0.0, 1.0)).total([1.0]) == STEPS == 2**32
    assert SPILL * STEPS < 2**63
    assert of(2**40, (0.0, 1.0)).guarantee.budget == Budget.gdp(1.0)


@given(bounds)
def test_the_bounds_are_the_ends_of_the_steps(limits):
    assert of(2, limits).total(list(limits)) == STEPS
    assert of(2, limits).total([-math.inf, math.inf]) == STEPS


@given(st.lists(any_float, max_size=40), st.lists(any_float, max_size=40), st.randoms())
def test_totals_of_groups_add_in_any_order(left, right, random):
    together = left + right
    random.shuffle(together)
    assert UNIT.total(np.array(together, float)) == UNIT.total(np.array(left, float)) + UNIT.total(
        np.array(right, float)
    )


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_rounding_to_steps_moves_the_mean_by_at_most_half_a_step(low, width, shares):
    limits = (low, low + width)
    losses = [min(low + width * s, limits[1]) for s in shares]
    mean = of(len(losses), limits)
    exact = sum(map(Fraction, losses)) / len(losses)
    half = Fraction(mean.width) / 2**33
    rounding = Fraction(mean.width + abs(low)) / 2**50  # of the double that carries the answer
    assert abs(Fraction(mean.mean_of(mean.total(losses))) - exact) <= half + rounding


@each(("better", "worst"), [(False, 3.0), (True, -1.0)])
def test_a_loss_that_is_not_a_number_counts_as_the_worse_bound(better, worst):
    mean = of(3, (-1.0, 3.0), higher_is_better=better)
    assert mean.total([0.5, math.nan, 2.0]) == mean.total([0.5, worst, 2.0])


@given(st.integers(1, 10**6), st.floats(-100, 100), st.floats(0.01, 100), st.floats(1e-3, 100))
def test_the_guarantee_is_the_range_over_records_and_noise(n, low, width, mu):
    mean = BoundedMean(n, (low, low + width), scale=width / (n * mu))
    assert mean.guarantee.notion == "gdp"
    assert mean.guarantee.unconditional
    assert mean.guarantee.budget.amount == pytest.approx(mean.width / (n * mean.scale), rel=2e-9)
    assert Fraction(mean.guarantee.budget.amount) >= Fraction(STEPS) / Fraction(mean.whole_scale)
    target = BoundedMean(n, (low, low + width), budget=Budget.gdp(mu))
    assert target.guarantee.budget == Budget.gdp(mu)
    assert mu * (1 - 2.0**-51) <= Fraction(STEPS) / Fraction(target.whole_scale) <= mu


def test_the_noise_is_in_the_units_of_the_losses():
    mean = BoundedMean(100, (-1.0, 3.0), scale=0.25, noise=Simulation(1))
    draws = np.array([mean.release(np.ones(100)).value for _ in range(20_000)])
    # Seeded, so it cannot fail by chance; the limits are five standard errors.
    assert abs(draws.mean() - 1.0) < 5 * 0.25 / math.sqrt(draws.size)
    assert abs(draws.std() / 0.25 - 1) < 5 / math.sqrt(2 * draws.size)


def test_an_exact_release_is_near_the_mean():
    mean = BoundedMean(1000, (0.0, 1.0), budget=Budget.gdp(1.0))
    release = mean.release(np.full(1000, 0.25))
    assert release.value != 0.25
    assert abs(release.value - 0.25) < 7 * mean.scale  # fails once in 3e11


@each("dtype", [np.float16, np.float32, np.longdouble, np.int8, np.uint64, bool])
def test_every_kind_of_real_number_is_taken(dtype):
    assert UNIT.total(np.array([0, 1, 1, 0], dtype)) == 2 * STEPS


SECRET = 8675309.0
WRONG = {
    "two dimensions": np.full((2, 2), SECRET),
    "a number": np.float64(SECRET),
    "objects": np.array([SECRET, None, 1, 2]),
    "complex": np.full(4, SECRET * 1j),
    "text": np.full(4, "8675309"),
    "dates": np.full(4, np.datetime64("2020-01-01")),
    "ragged": [[SECRET], [SECRET, SECRET]],
}


@each("losses", WRONG.values(), ids=WRONG.keys())
@each("act", [UNIT.total, UNIT.release])
def test_losses_of_the_wrong_kind_are_refused_by_shape_only(act, losses):
    with pytest.raises(ObjectiveError, match=r"of shape \(|unequal lengths") as caught:
        act(losses)
    assert "8675309" not in str(caught.value)
    assert "8675309" not in str(caught.value.__cause__)


@each("n", [0, 1, 3, 5])
def test_one_loss_per_record_is_needed(n):
    with pytest.raises(ObjectiveError, match=rf"shape \(4,\), one per record, got an ndarray of shape \({n},\)"):
        UNIT.release(np.full(n, SECRET))


@each(
    ("arguments", "rule"),
    [
        ({"records": 0}, "records must be at least 1"),
        ({"records": 2**40 + 1}, "records must be at most"),
        ({"records": 2.0}, "records must be a whole number"),
        ({"bounds": (1.0, 1.0)}, "low < high"),
        ({"bounds": (1.0, 0.0)}, "low < high"),
        ({"bounds": (0.0, math.inf)}, "finite"),
        ({"bounds": (math.nan, 1.0)}, "finite"),
        ({"bounds": (-1e308, 1e308)}, "finite"),
        ({"bounds": (0.0, 5e-324)}, "at least 1e-290 apart"),
        ({"bounds": 1.0}, "pair"),
        ({"scale": 0.0}, "scale must be positive"),
        ({"scale": math.nan}, "scale must be finite"),
        ({"scale": None}, "either a scale or a budget, got neither"),
        ({"budget": Budget.gdp(1.0)}, "either a scale or a budget, got both"),
        ({"scale": 1e12}, "out of range"),
        ({"scale": 1e-9}, "out of range"),
    ],
)
def test_bad_arguments_are_refused(arguments, rule):
    with pytest.raises(BadInput, match=rule):
        BoundedMean(**{"records": 10, "bounds": (0.0, 1.0), "scale": 0.1} | arguments)


@pytest.mark.filterwarnings("error")
@each("loss", ["1e4000", "-1e4000", "nan", "inf"])
def test_no_loss_however_long_makes_a_warning(loss):
    mean = BoundedMean(3, (0.0, 1.0), scale=0.1)
    assert mean.total(np.array([0.5, loss, 0.5], np.longdouble)) in (STEPS, 2 * STEPS)


def test_a_sum_needs_no_memory_beyond_a_block():
    mean, losses = of(1 << 22, (0.0, 1.0)), np.full(1 << 22, 0.5)
    tracemalloc.start()
    try:
        assert mean.total(losses) == (1 << 21) * STEPS
        assert tracemalloc.get_traced_memory()[1] < 8 * BLOCK * 8
    finally:
        tracemalloc.stop()


def test_sums_past_sixty_four_bits_are_exact_and_get_their_noise():
    """False alarm: below 1e-9 (1,000 draws, six standard errors)."""
    n = 1 << 36
    mean = of(n, (0.0, 1.0))
    total = 3 * n * STEPS // 4 + 1  # 2^67 and more: of no 64-bit number
    drawn = np.array([mean.noise.gaussian_whole(total, mean.whole_scale) - total for _ in range(1000)], float)
    assert abs(drawn.mean()) < 6 * mean.whole_scale / math.sqrt(1000)
    assert drawn.std() == pytest.approx(mean.whole_scale, rel=6 / math.sqrt(2000))
    assert mean.draw(total) == pytest.approx(0.75, abs=8 * mean.scale + 1e-15)
    assert mean.scale == pytest.approx(1 / n, rel=1e-6)
