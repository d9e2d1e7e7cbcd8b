"""The posterior of a gradient, against dense formulae, finite differences and exact cases."""

from __future__ import annotations

import numpy as np
import pytest
from each import each

from tacit.errors import BadInput
from tacit.gp.gradient import GradientPosterior
from tacit.gp.kernels import RBF, Matern32, Matern52, Polynomial

KERNELS = [
    RBF((0.5, 0.8, 1.1), variance=1.7),
    Matern52((0.5, 0.8, 1.1), variance=1.7),
    Matern32((0.5, 0.8, 1.1)),
    Polynomial((0.5, 0.8, 1.1)),
]
named = each("kernel", KERNELS, ids=lambda k: type(k).__name__)


def scattered(seed: int, *sizes: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, 3)) for n in sizes]


def dense(kernel, X, theta, noise):
    """Weights and covariance of the gradient by plain matrix algebra."""
    K = kernel(X, X) + noise * np.eye(len(X))
    G = kernel.first(theta[None], X)[0]
    return G.T @ np.linalg.inv(K), kernel.mixed_derivative(theta[None], theta[None])[0, 0] - G.T @ np.linalg.solve(K, G)


@named
@each("noise", [0.0, 0.01])
def test_weights_and_covariance_equal_the_dense_formulae(kernel, noise) -> None:
    X, (theta,) = scattered(1, 5, 1)
    known = GradientPosterior(kernel, noise=noise)
    assert known.append(X) == 5
    weights, covariance = dense(kernel, X, theta, noise)
    np.testing.assert_allclose(known.weights(theta), weights, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(known.covariance(theta), covariance, rtol=1e-7, atol=1e-9)
    assert known.trace(theta) == pytest.approx(np.trace(covariance))


@named
def test_all_records_at_once_equal_one_by_one(kernel) -> None:
    X, (theta,) = scattered(2, 4, 1)
    known = GradientPosterior(kernel)
    known.append(X)
    Y = np.random.default_rng(0).normal(size=(4, 7))
    together = known.mean(theta, Y)
    assert together.shape == (3, 7)
    for i in range(7):
        np.testing.assert_allclose(together[:, i], known.mean(theta, Y[:, [i]])[:, 0])


@named
def test_the_mean_gradient_is_the_gradient_of_the_mean(kernel) -> None:
    X, (theta,) = scattered(3, 6, 1)
    known = GradientPosterior(kernel)
    known.append(X)
    y = np.random.default_rng(0).normal(size=6)
    alpha = np.linalg.solve(kernel(X, X), y)
    steps = 1e-6 * np.eye(3)
    slope = [((kernel((theta + e)[None], X) - kernel((theta - e)[None], X)) @ alpha)[0] / 2e-6 for e in steps]
    np.testing.assert_allclose(known.mean(theta, y[:, None])[:, 0], slope, rtol=1e-5, atol=1e-6)


@named
@each("held", [0, 3])
def test_the_criterion_and_its_derivatives_are_those_of_finite_differences(kernel, held) -> None:
    X, Z, (theta,) = scattered(5, held, 2, 1)
    known = GradientPosterior(kernel)
    if held:
        known.append(X)
    criterion = known.criterion(theta)
    value, slope = criterion(Z)
    after = GradientPosterior(kernel)
    after.append(np.concatenate([X, Z]))
    assert value == pytest.approx(after.trace(theta), rel=1e-5)
    numeric = np.zeros_like(Z)
    for i in np.ndindex(*Z.shape):
        e = np.zeros_like(Z)
        e[i] = 1e-5
        numeric[i] = (criterion(Z + e)[0] - criterion(Z - e)[0]) / 2e-5
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-6 * max(1.0, abs(value)))


def test_appending_in_parts_equals_appending_at_once() -> None:
    X, (theta,) = scattered(6, 9, 1)
    whole, parts = GradientPosterior(KERNELS[0]), GradientPosterior(KERNELS[0])
    whole.append(X)
    for part in np.split(X, 3):
        parts.append(part)
    np.testing.assert_allclose(parts.weights(theta), whole.weights(theta), rtol=1e-9, atol=1e-12)


def test_duplicated_places_add_nothing_and_break_nothing() -> None:
    X, (theta,) = scattered(7, 4, 1)
    once, twice = GradientPosterior(KERNELS[0]), GradientPosterior(KERNELS[0])
    once.append(X)
    assert twice.append(np.concatenate([X, X])) == 4
    np.testing.assert_allclose(twice.weights(theta), once.weights(theta), rtol=1e-9)
    value, slope = once.criterion(theta)(X[:2])  # places that are known already
    assert np.isfinite(slope).all()
    assert value == pytest.approx(once.trace(theta), rel=1e-5)


def test_the_nearest_places_are_kept() -> None:
    X, (theta,) = scattered(8, 10, 1)
    known = GradientPosterior(RBF((1.0, 1.0, 1.0)))
    known.append(X)
    kept = known.nearest(theta, 4)
    away = np.linalg.norm(X - theta, axis=1)
    assert sorted(map(tuple, kept.points)) == sorted(map(tuple, X[away.argsort()[:4]]))
    assert known.nearest(theta, 10) is known


def test_without_places_the_posterior_is_the_prior() -> None:
    theta = np.zeros(3)
    known = GradientPosterior(KERNELS[0])
    assert known.weights(theta).shape == (3, 0)
    np.testing.assert_allclose(known.covariance(theta), 1.7 * np.diag(KERNELS[0].weights))


def test_a_quadratic_is_learned_exactly_by_the_polynomial_kernel() -> None:
    rng = np.random.default_rng(9)
    A, b, theta = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    X = rng.normal(size=(10, 3))  # as many as a quadratic in three variables has coefficients
    y = np.einsum("ni,ij,nj->n", X, A, X) + X @ b + 2.0
    known = GradientPosterior(Polynomial((1.0, 1.0, 1.0)))
    known.append(X)
    np.testing.assert_allclose(known.mean(theta, y[:, None])[:, 0], (A + A.T) @ theta + b, rtol=1e-5)
    assert known.trace(theta) == pytest.approx(0.0, abs=1e-6)


def test_values_of_another_number_of_places_are_refused() -> None:
    known = GradientPosterior(KERNELS[0])
    known.append(np.zeros((1, 3)))
    with pytest.raises(BadInput, match="one row for each of 1 points"):
        known.mean(np.zeros(3), np.zeros((2, 5)))
