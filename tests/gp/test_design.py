"""Designs: closed forms against solves and against the optimiser, walls, and the fewest places that suffice."""

from __future__ import annotations

import numpy as np
import pytest
from each import each
from scipy.optimize import minimize_scalar

from tacit.errors import BadInput
from tacit.gp.design import SHAPES, best_radius, directions, fewest_places, optimise_places, symmetric_design
from tacit.gp.gradient import NUGGET, GradientPosterior
from tacit.gp.kernels import RBF, Matern32, Matern52, Polynomial
from tacit.gp.threads import one_thread

STATIONARY = [RBF, Matern32, Matern52]


def wide(d: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full(d, -5.0), np.full(d, 5.0)


@each("kind", STATIONARY)
@each("shape", SHAPES)
@each("noise", [0.0, 1e-3, 1.0])
def test_closed_weights_and_traces_equal_the_solved_ones(kind, shape, noise) -> None:
    kernel, theta = kind((0.3, 0.5, 0.7), variance=2.0), np.array([0.1, -0.2, 0.3])
    made = symmetric_design(shape, kernel, theta, noise=noise, radius=0.4 * np.array([0.3, 0.5, 0.7]))
    known = GradientPosterior(kernel, noise=noise)
    known.append(made.points)
    np.testing.assert_allclose(made.weights, known.weights(theta), atol=1e-10)
    assert made.trace == pytest.approx(known.trace(theta), abs=1e-11)


def test_a_cross_may_have_another_radius_along_each_axis() -> None:
    kernel, theta = RBF((0.3, 0.5, 0.7)), np.zeros(3)
    made = symmetric_design("cross", kernel, theta, radius=[0.01, 0.2, 0.5])
    known = GradientPosterior(kernel)
    known.append(made.points)
    np.testing.assert_allclose(made.weights, known.weights(theta), rtol=1e-6, atol=1e-8)
    assert made.trace == pytest.approx(known.trace(theta), abs=1e-8)


@each("kind", STATIONARY)
@each("shape", SHAPES)
@each("noise", [0.0, 1e-4, 1e-2, 1.0])
def test_the_best_radius_has_the_smallest_trace(kind, shape, noise) -> None:
    kernel, theta = kind((1.0,) * 4), np.zeros(4)

    def trace(log_h: float) -> float:
        return symmetric_design(shape, kernel, theta, noise=max(noise, NUGGET), radius=float(np.exp(log_h))).trace

    found = minimize_scalar(trace, bounds=(np.log(1e-4), np.log(3.0)), method="bounded", options={"xatol": 1e-9})
    here = trace(np.log(best_radius(shape, kernel, noise)))
    assert here <= found.fun * (1 + 1e-6) + 1e-12


@each(("shape", "batch"), [("simplex", 5), ("cross", 8)])
@each("noise", [0.0, 1e-3])
def test_the_closed_form_is_as_good_as_any_optimised_design(shape, batch, noise) -> None:
    """Random starts of the optimiser find nothing better by more than one part in a thousand of the prior."""
    kernel, theta = RBF((0.5,) * 4), np.zeros(4)
    model = GradientPosterior(kernel, noise=noise)
    closed = symmetric_design(shape, kernel, theta, noise=max(noise, NUGGET)).trace
    rng, found = np.random.default_rng(0), []
    with one_thread():
        for _ in range(8):
            found.append(optimise_places(model, theta, batch, wide(4), rng.normal(size=(batch, 4)) * 0.3)[1])
    prior = 4 / 0.25
    assert closed <= min(found) + 1e-3 * prior
    assert min(found) <= closed + 1e-6 * prior  # and the optimiser finds it, since a simplex is among its starts


def test_the_simplex_is_regular_and_balanced() -> None:
    for d in (1, 2, 5, 33):
        u = directions("simplex", d)
        np.testing.assert_allclose(u.sum(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(u @ u.T, (1 + 1 / d) * np.eye(d + 1) - 1 / d, atol=1e-12)


def test_optimised_places_stay_in_the_box_and_use_what_is_known() -> None:
    d = 3
    box, theta = (np.full(d, -0.5), np.full(d, 0.5)), np.full(d, 0.5)
    model = GradientPosterior(RBF((0.5,) * d))
    places, first = optimise_places(model, theta, d + 1, box)
    assert (np.abs(places) <= 0.5).all()
    model.append(places)
    assert model.trace(theta) <= first  # which allowed for a nugget of noise
    _, second = optimise_places(model, theta - 0.01, 1, box)
    assert second < first + 1e-2  # one more place is enough nearby


def test_a_warm_start_is_never_worse_than_none() -> None:
    model, theta = GradientPosterior(Matern52((0.5,) * 3)), np.zeros(3)
    cold = optimise_places(model, theta, 3, wide(3))
    warm = optimise_places(model, theta + 0.05, 3, wide(3), cold[0] - theta)
    assert warm[1] <= optimise_places(model, theta + 0.05, 3, wide(3))[1] + 1e-9


def test_the_polynomial_kernel_has_optimised_designs_only() -> None:
    kernel = Polynomial((0.3,) * 3)
    with pytest.raises(BadInput, match="optimised"):
        symmetric_design("cross", kernel, np.zeros(3))
    model = GradientPosterior(kernel)
    places, alpha = optimise_places(model, np.zeros(3), 4, (np.full(3, -0.5), np.full(3, 0.5)))
    assert alpha < 0.01 * np.trace(kernel.mixed_derivative(np.zeros((1, 3)), np.zeros((1, 3)))[0, 0])
    assert places.shape == (4, 3)


def test_the_fewest_places_that_suffice() -> None:
    kernel, theta, box = RBF((0.5,) * 4), np.zeros(4), wide(4)
    model = GradientPosterior(kernel)
    best = [optimise_places(model, theta, b, box)[1] for b in range(1, 6)]
    for tolerance in (best[0] * 1.001, best[2] * 1.001, best[4] * 1.001):
        places, alpha = fewest_places(model, theta, tolerance, 5, box)
        assert alpha <= tolerance
        assert len(places) == 1 + next(b for b, a in enumerate(best) if a <= tolerance)
    model.append(places)
    assert len(fewest_places(model, theta, 1.0, 5, box)[0]) == 0  # known already
    unreachable, alpha = fewest_places(GradientPosterior(kernel), theta, 1e-12, 3, box)
    assert len(unreachable) == 3
    assert alpha > 1e-12
