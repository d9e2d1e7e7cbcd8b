"""Branch and bound on exact observations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.gp.exact import GaussianProcess
from tacit.gp.kernels import RBF, Matern52
from tacit.methods.kusner.branch import Samples, branch_and_bound

LINE = np.linspace(0, 1, 257)[:, None]
PLANE = np.array(list(itertools.product(np.linspace(0, 1, 25), repeat=2)))
SMOOTH = {
    "parabola": (LINE, lambda x: -4 * (x[0] - 0.3) ** 2),
    "two hills": (LINE, lambda x: math.exp(-40 * (x[0] - 0.2) ** 2) + 1.5 * math.exp(-40 * (x[0] - 0.8) ** 2)),
    "edge": (LINE, lambda x: math.sin(1.5 * x[0])),
    "bowl": (PLANE, lambda x: -3 * (x[0] - 0.4) ** 2 - 2 * (x[1] - 0.7) ** 2),
    "wave": (PLANE, lambda x: math.sin(4 * x[0]) * math.cos(3 * x[1])),
}


def sampled(points: np.ndarray, function: object, trials: int, lengthscale: float = 0.25) -> Samples:
    gp = GaussianProcess(RBF((lengthscale,) * points.shape[1]), candidates=points)
    return branch_and_bound(gp, points, lambda i: float(function(points[i])), trials=trials, alpha=0.01)  # type: ignore[operator]


@pytest.mark.parametrize("name", SMOOTH)
def test_it_finds_the_maximum_of_smooth_functions_and_ends_on_it(name: str) -> None:
    points, function = SMOOTH[name]
    best = max(function(x) for x in points)
    found = sampled(points, function, 120)
    assert found.values[-1] == pytest.approx(best, abs=1e-6)
    assert max(found.taken) < len(points) / 4, "most candidates are never evaluated"


@pytest.mark.parametrize("name", SMOOTH)
def test_regions_only_shrink_and_end_small(name: str) -> None:
    found = sampled(*SMOOTH[name], 120)
    assert found.relevant == sorted(found.relevant, reverse=True)
    assert found.relevant[-1] <= 3


def test_the_maximiser_of_a_draw_from_the_prior_stays_relevant() -> None:
    """Exact bounds hold with probability 1 - alpha = 0.99 per draw at the least; 3 or more of 30 failures in 4e-3."""
    kernel, rng = Matern52((0.3,)), np.random.default_rng(7)
    root = np.linalg.cholesky(kernel(LINE, LINE) + 1e-10 * np.eye(len(LINE)))
    missed = 0
    for _ in range(30):
        f = root @ rng.normal(size=len(LINE))
        gp = GaussianProcess(kernel, candidates=LINE)
        found = branch_and_bound(gp, LINE, lambda i, f=f: float(f[i]), trials=len(LINE), alpha=0.01)
        missed += found.values[-1] < f.max() - 1e-3
    assert missed < 3


def test_every_relevant_candidate_has_a_sample_within_the_spacing() -> None:
    found = sampled(LINE, lambda x: 0.0, 9)  # a constant: nothing is ruled out before it is well known
    x = np.sort(LINE[found.indices, 0])
    assert np.diff(x).max() <= 0.25
    assert len(set(found.indices)) == 9


def test_samples_are_as_many_as_asked_and_repeat_the_best_once_all_is_known() -> None:
    points, calls = LINE[:5], list[int]()

    def evaluate(i: int) -> float:
        calls.append(i)
        return float(-((i - 2) ** 2))

    gp = GaussianProcess(RBF((0.01,)), candidates=points)
    found = branch_and_bound(gp, points, evaluate, trials=12, alpha=0.1)
    assert len(found.indices) == len(found.values) == 12
    assert len(calls) == len(set(calls)) <= 5
    assert found.indices[-1] == 2


@pytest.mark.parametrize("points", [LINE[:1], np.zeros((3, 1))])
def test_one_candidate_or_copies_of_one_end_at_once(points: np.ndarray) -> None:
    found = branch_and_bound(
        GaussianProcess(RBF((0.2,)), candidates=points), points, lambda i: 0.5, trials=4, alpha=0.1
    )
    assert found.values == [0.5] * 4


def test_noise_is_refused() -> None:
    gp = GaussianProcess(RBF((0.2,)), noise=0.1, candidates=LINE)
    with pytest.raises(BadInput, match="exact observations"):
        branch_and_bound(gp, LINE, lambda i: 0.0, trials=4, alpha=0.1)
