"""Sums of clipped gradients: exact in whole numbers, in any order, and never moved by more than one record may."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BadInput
from tacit.training.whole_gradients import FEATURE_BITS, WholeGradients, WholeRows

EXTREME = st.sampled_from([0.0, 1.0, -1.0, 64.0, 1e300, -1e300, np.inf, -np.inf, np.nan, 5e-324, 1e-9, 0.3])
NUMBER = st.floats(-3, 3) | EXTREME


def one(X: np.ndarray, residual: np.ndarray, counted: WholeGradients) -> np.ndarray:
    return counted.total(WholeRows.of(X), residual.copy())


@given(
    x=st.lists(NUMBER, min_size=3, max_size=3), r=st.lists(NUMBER, min_size=2, max_size=2), clip=st.floats(1e-5, 1e5)
)
@settings(max_examples=300, deadline=None)
def test_one_record_adds_whole_numbers_within_reach(x: list[float], r: list[float], clip: float) -> None:
    counted = WholeGradients(clip, 1000)
    total = one(np.array([x]), np.array([r]), counted)
    assert (total == np.rint(total)).all()
    norm2 = sum(Fraction(int(v)) ** 2 for v in total.ravel())  # in exact arithmetic
    assert norm2 <= Fraction(counted.reach) ** 2


def test_a_lot_is_the_exact_sum_of_its_records_in_any_order() -> None:
    rng = np.random.default_rng(1)
    X, residual = rng.normal(size=(500, 7)), rng.normal(size=(500, 3)) * 10
    counted = WholeGradients(1.0, 500)
    whole = one(X, residual, counted)
    single = sum(
        np.array([[int(v) for v in row] for row in one(X[i : i + 1], residual[i : i + 1], counted)], dtype=object)
        for i in range(500)
    )
    assert (whole.astype(np.int64) == single.astype(np.int64)).all()
    order = rng.permutation(500)
    assert (whole == one(X[order], residual[order], counted)).all()


def test_residuals_keep_24_bits_where_sums_leave_room_and_never_less_than_8() -> None:
    assert WholeGradients(1.0, 2**16).residual_bits == 24
    assert WholeGradients(1.0, 2**17).residual_bits == 23
    assert WholeGradients(2.0**12, 2**20).residual_bits == 8
    with pytest.raises(BadInput, match="too large to be summed exactly"):
        WholeGradients(2.0**12, 2**21)


def test_the_largest_lot_that_is_allowed_stays_below_2_to_the_53() -> None:
    for lot, clip in ((10**6, 1.0), (10**7, 0.01), (1, 1e5), (2**20, 8.0)):
        counted = WholeGradients(clip, lot)
        assert lot * counted.reach <= 2.0**52


def test_small_gradients_are_not_clipped_and_lose_little_to_rounding() -> None:
    rng = np.random.default_rng(2)
    X, residual = np.rint(rng.normal(size=(50, 4)) * 2**FEATURE_BITS) / 2**FEATURE_BITS, rng.normal(size=(50, 2)) * 1e-3
    counted = WholeGradients(1.0, 50)
    exact = residual.T @ np.hstack([X, np.ones((50, 1))])
    assert np.abs(one(X, residual, counted) * counted.unit - exact).max() < 50 * 4 * 2.0**-counted.residual_bits


@pytest.mark.parametrize(("clip", "lot"), [(1e-9, 10), (1e9, 10), (1.0, 2**45)])
def test_what_cannot_be_summed_exactly_is_refused(clip: float, lot: int) -> None:
    with pytest.raises(BadInput):
        WholeGradients(clip, lot)


def test_a_residual_that_is_no_number_adds_nothing_and_infinite_ones_keep_their_direction() -> None:
    counted, x = WholeGradients(1.0, 10), np.array([[0.0]])
    assert one(x, np.array([[np.nan]]), counted).tolist() == [[0.0, 0.0]]
    there, back = one(x, np.array([[np.inf, -np.inf]]), counted)
    assert there[-1] == -back[-1] == pytest.approx(counted.reach / np.sqrt(2), rel=1e-6)


def test_clips_at_the_ends_of_what_is_allowed_are_allowed() -> None:
    assert [WholeGradients(clip, 1).clip for clip in (2.0**-20, 2.0**20)] == [2.0**-20, 2.0**20]
    for clip in (2.0**-20 * (1 - 1e-9), 2.0**20 * (1 + 1e-9)):
        with pytest.raises(BadInput, match="clip must be between"):
            WholeGradients(clip, 1)
