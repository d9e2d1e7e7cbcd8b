"""The published bounds of DP-GIBO: they hold where their assumptions do, and their parts are those of the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.methods.gibo.bounds import DescentBounds


def descend(bounds: DescentBounds, seed: int) -> tuple[float, float, float, float]:
    """Noisy gradient descent on |theta|^2 / 2, clipped to B; F_0, mean squared gradient, F_T, radius."""
    draw = np.random.default_rng(seed)
    theta = draw.normal(size=bounds.dimensions)
    theta *= 0.9 * bounds.clip / np.linalg.norm(theta)
    first, squared, far = float(theta @ theta) / 2, 0.0, 0.0
    scale = 2 * bounds.clip * math.sqrt(bounds.steps) / (bounds.records * bounds.mu)
    for _ in range(bounds.steps):
        squared += float(theta @ theta) / bounds.steps
        gradient = theta * min(1.0, bounds.clip / np.linalg.norm(theta))
        theta = theta - 0.5 * (gradient + scale * draw.normal(size=bounds.dimensions))
        far = max(far, float(np.linalg.norm(theta)))
    return first, squared, float(theta @ theta) / 2, far


def test_the_bounds_hold_on_a_bowl() -> None:
    # 200 seeds at delta = 0.2: a bound that failed as often as it may would fail in 40, and none does
    bounds = DescentBounds(dimensions=5, records=2000, steps=40, mu=1.0, delta=0.2)
    for seed in range(200):
        first, squared, last, far = descend(bounds, seed)
        assert squared <= bounds.mean_squared_gradient(first, 2.0)  # eta = 1/2 = 1/L: the bowl is 2-smooth, too
        assert last <= bounds.gap(first, 1.0, 0.5)
        assert math.sqrt(2 * last) <= bounds.distance(first, 1.0, 0.5)
        assert far <= bounds.radius(2.0, 1.0)


def test_the_parts_are_those_of_the_paper() -> None:
    bounds = DescentBounds(dimensions=4, records=1000, steps=9, mu=2.0, clip=3.0, delta=0.09)
    assert bounds.largest_normal == pytest.approx(8 + 2 * math.sqrt(2 * math.log(100)))
    M = 2 * 9 * 3 * bounds.largest_normal / 2000
    assert bounds.noise_cost == pytest.approx(M * (2 + M / 18))
    plain = bounds.mean_squared_gradient(5.0, 0.9)
    assert plain == pytest.approx(1.0 + 2 * bounds.noise_cost)
    assert bounds.mean_squared_gradient(5.0, 0.9, norm=2.0, traces=[0.25] * 9) == pytest.approx(plain + 1.0)
    assert bounds.gap(5.0, 0.5, 1.0) == pytest.approx(5 / 512 + 2 * bounds.noise_cost)
    biased = bounds.gap(5.0, 0.5, 1.0, norm=2.0, traces=[0.0] * 8 + [0.3])
    assert biased - bounds.gap(5.0, 0.5, 1.0) == pytest.approx(4 / 2 * 0.3)
    early = bounds.gap(5.0, 0.5, 1.0, norm=2.0, traces=[0.3] + [0.0] * 8)
    assert early - bounds.gap(5.0, 0.5, 1.0) == pytest.approx(4 / 2 * 0.3 / 256)
    assert bounds.distance(5.0, 0.5, 1.0) == pytest.approx(math.sqrt(2 * bounds.gap(5.0, 0.5, 1.0)))
    assert bounds.radius(2.0, 1.0, norm=1.0, trace=4.0) > bounds.radius(2.0, 1.0)


def test_of_so_many_normal_vectors_none_is_longer() -> None:
    # Lemma A.3 in 2,000 runs: far fewer than delta of them fail, since 4 sqrt(d) is four times the typical length
    bounds = DescentBounds(dimensions=3, records=1, steps=20, mu=1.0, delta=0.2)
    longest = np.linalg.norm(np.random.default_rng(0).normal(size=(2000, 20, 3)), axis=2).max(axis=1)
    assert (longest > bounds.largest_normal).mean() <= 0.2
