"""The published bounds as numbers: what they say of the paper's own runs, and the rule for the rank."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.outsource.curator.projection_bounds import (
    distance_factors,
    largest_rank,
    least_rank,
    rank_of_regret_bound,
    smallest_singular_value,
)
from tacit.outsource.curator.transform import threshold


def test_distances_keep_within_the_factors_of_lemma_1() -> None:
    # 200 projections of 30 rows at nu = 1/2, mu = 0.1: the bound is a union bound, so far fewer than 20 should fail
    rows = np.random.default_rng(0).normal(size=(30, 5))
    r = least_rank(30, 0.5, 0.1)
    pairs = np.array([rows[i] - rows[j] for i in range(30) for j in range(i)])
    size = (pairs**2).sum(axis=1)
    held = 0
    for seed in range(200):
        image = pairs @ np.random.default_rng(seed).normal(size=(5, r)) / math.sqrt(r)
        shares = (image**2).sum(axis=1) / size
        held += bool((shares >= 0.5).all() and (shares <= 1.5).all())
    assert held >= 180
    assert least_rank(30, 0.25, 0.1) in range(4 * r - 4, 4 * r + 1)
    with pytest.raises(BadInput, match="at most 1/2"):
        least_rank(30, 0.6, 0.1)


def test_theorem_2_is_silent_below_its_rank_and_widens_where_singular_values_are_raised() -> None:
    assert distance_factors(10_000, 50, 0.025, smallest=2e3, omega=1e3) is None  # the largest rank the paper uses
    low, high = distance_factors(10_000, 708, 0.025, smallest=2e3, omega=1e3) or (0, 0)
    assert (low, high) == pytest.approx((0.5, 1.5), abs=1e-3)
    _, raised = distance_factors(10_000, 708, 0.025, smallest=500.0, omega=1e3) or (0, 0)
    assert raised == pytest.approx(5 * high)


def test_theorem_3_covers_no_run_of_its_authors() -> None:
    wide = {
        "diameter": 1.0,
        "lengthscale": 1.25,
        "largest": 3.0,
        "error": 100.0,
    }  # every condition but the rank's eased
    assert rank_of_regret_bound(10_000, **wide) == 708
    assert rank_of_regret_bound(2_004, **wide) > 50
    assert rank_of_regret_bound(10_000, **{**wide, "error": 1.0}) == least_rank(
        10_000, 1 / (2 * math.sqrt(3) * 0.8**2 * 3.0), 0.025
    )
    assert rank_of_regret_bound(10_000, **{**wide, "diameter": 5.0}) == least_rank(10_000, 2 / 16, 0.025)


def test_the_rank_is_the_largest_whose_threshold_is_reached() -> None:
    omega = threshold(7, 2.0, 1e-5)
    assert largest_rank(omega, epsilon=2.0, delta=1e-5) == 7
    assert largest_rank(omega * (1 - 1e-9), epsilon=2.0, delta=1e-5) == 6
    assert largest_rank(1.0, epsilon=2.0, delta=1e-5) == 0
    rows = np.random.default_rng(1).normal(size=(50, 3)) + 9.0
    assert smallest_singular_value(rows) ** 2 == pytest.approx(np.linalg.eigvalsh(49 * np.cov(rows.T)).min())
