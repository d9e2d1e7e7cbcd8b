"""Dominance and hypervolume against brute force, against a peer where it is there, and by their laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BadInput
from tacit.pareto.dominance import hypervolume, nondominated


def brute_front(points: np.ndarray) -> list[bool]:
    """Straight from the definition; of equal points the first."""
    return [
        not any(
            (points[j] <= points[i]).all() and ((points[j] < points[i]).any() or j < i)
            for j in range(len(points))
            if j != i
        )
        for i in range(len(points))
    ]


def inclusion_exclusion(points: np.ndarray, corner: np.ndarray) -> float:
    """The measure of a union of boxes, by its definition."""
    total = 0.0
    for k in range(1, len(points) + 1):
        for some in itertools.combinations(points, k):
            total -= (-1) ** k * np.prod(np.maximum(corner - np.max(some, axis=0), 0.0))
    return float(total)


coordinate = st.integers(0, 6).map(lambda i: i / 4)  # ties are likely


def clouds(p: int) -> st.SearchStrategy[list[tuple[float, ...]]]:
    return st.lists(st.tuples(*[coordinate] * p), min_size=1, max_size=9)


@settings(max_examples=150, deadline=None)
@given(st.one_of(clouds(2), clouds(3)))
def test_front_and_hypervolume_equal_brute_force(cloud: list[tuple[float, ...]]) -> None:
    points = np.array(cloud)
    corner = np.full(points.shape[1], 1.3)
    assert nondominated(points).tolist() == brute_front(points)
    assert hypervolume(points, corner) == pytest.approx(inclusion_exclusion(points, corner), abs=1e-12)


@pytest.mark.parametrize("p", [2, 3])
def test_hypervolume_equals_monte_carlo_on_a_large_cloud(p: int) -> None:
    rng = np.random.default_rng(p)
    points, corner = rng.random((300, p)) + 0.05, np.full(p, 1.1)
    sample = rng.random((40_000, p)) * 1.1
    front = points[nondominated(points)]
    hit = (front[None] <= sample[:, None]).all(axis=2).any(axis=1).mean()
    # four standard errors of a proportion: a false alarm once in 16,000 runs, were the seed not fixed
    assert hypervolume(points, corner) / 1.1**p == pytest.approx(hit, abs=4 * 0.5 / 200)


@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize("digits", [1, 9])
def test_front_and_hypervolume_equal_moocore(p: int, digits: int) -> None:
    """An independent library in C, on clouds with many ties (one digit) and with none."""
    moocore = pytest.importorskip("moocore")
    rng = np.random.default_rng(11)
    for n in (1, 2, 30, 400):
        points = rng.random((n, p)).round(digits)
        assert nondominated(points).tolist() == moocore.is_nondominated(points).tolist()
        expected = moocore.hypervolume(points, ref=[0.9] * p)
        assert hypervolume(points, [0.9] * p) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(st.one_of(clouds(2), clouds(3)), st.randoms(use_true_random=False))
def test_hypervolume_grows_with_points_and_forgets_their_order(cloud: list[tuple[float, ...]], random: object) -> None:
    corner = [1.3] * len(cloud[0])
    values = [hypervolume(cloud[:k], corner) for k in range(1, len(cloud) + 1)]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(values))
    shuffled = list(cloud)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert hypervolume(shuffled, corner) == pytest.approx(values[-1], abs=1e-12)


def test_points_beyond_the_reference_add_nothing() -> None:
    assert hypervolume([[11, 0.1], [0.5, 1.0], [np.inf, 0.0]], (10, 1)) == 0.0
    assert hypervolume([], (10, 1)) == 0.0
    assert hypervolume(np.empty((0, 3)), (1, 1, 1)) == 0.0


@pytest.mark.parametrize(
    ("points", "reference"),
    [([[np.nan, 1]], (1, 1)), ([[1, 2, 3]], (1, 1)), ([[1]], (1,)), ([[1, 1]], (np.inf, 1)), ([[-np.inf, 0]], (1, 1))],
)
def test_what_has_no_hypervolume_is_refused(points: object, reference: tuple[float, ...]) -> None:
    with pytest.raises(BadInput):
        hypervolume(points, reference)  # type: ignore[arg-type]


def test_a_front_of_infinities_keeps_one() -> None:
    assert nondominated([[np.inf, np.inf], [np.inf, np.inf]]).sum() == 1
    assert nondominated([[0.0, 1.0], [np.inf, 1.0]]).tolist() == [True, False]
