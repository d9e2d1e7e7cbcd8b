"""The growing posterior against the dense formula, against scikit-learn, and against itself in other orders."""

from __future__ import annotations

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as peer

from tacit.gp import exact
from tacit.gp.exact import GaussianProcess
from tacit.gp.kernels import RBF, Kernel, Matern32, Matern52, Polynomial

KERNELS = [RBF((0.3, 0.6), 1.5), Matern32((0.3, 0.6), 1.5), Matern52((0.3, 0.6), 1.5), Polynomial((0.7, 0.9), 0.8)]


def dense(kernel: Kernel, X, y, noise, Q, mean=0.0, scale=1.0):
    """Mean, covariance and log evidence by the textbook formula, with a solve and no factor."""
    K = scale**2 * kernel(X, X) + np.diag(np.broadcast_to(noise, len(y)))
    cross = scale**2 * kernel(X, Q)
    posterior = mean + cross.T @ np.linalg.solve(K, y - mean)
    covariance = scale**2 * kernel(Q, Q) - cross.T @ np.linalg.solve(K, cross)
    sign, logdet = np.linalg.slogdet(K)
    assert sign == 1
    evidence = -0.5 * ((y - mean) @ np.linalg.solve(K, y - mean) + logdet + len(y) * np.log(2 * np.pi))
    return posterior, covariance, evidence


def data(seed: int, n: int, d: int = 2):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.sin(5 * X[:, 0]) + X[:, -1] + 0.1 * rng.normal(size=n)


def agree(a: GaussianProcess, b: GaussianProcess, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(a.mean, b.mean, atol=tolerance)
    np.testing.assert_allclose(a.variance, b.variance, atol=tolerance)
    assert a.log_evidence() == pytest.approx(b.log_evidence(), rel=1e-9, abs=1e-9)


@each("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_appending_a_point_equals_refitting(kernel: Kernel) -> None:
    X, y = data(0, 12)
    Q = np.random.default_rng(1).random((40, 2))
    gp = GaussianProcess(kernel, noise=0.01, mean=0.4, scale=1.6, candidates=Q, capacity=2)
    for t in range(len(y)):
        gp.append(X[t], y[t])
        mean, covariance, evidence = dense(kernel, X[: t + 1], y[: t + 1], 0.01, Q, 0.4, 1.6)
        np.testing.assert_allclose(gp.mean, mean, atol=1e-9)
        np.testing.assert_allclose(gp.variance, np.diag(covariance), atol=1e-9)
        assert gp.log_evidence() == pytest.approx(evidence, abs=1e-8)


def test_the_posterior_equals_scikit_learn() -> None:
    X, y = data(2, 15)
    Q = np.random.default_rng(3).random((30, 2))
    gp = GaussianProcess(Matern52((0.3, 0.6), 1.5), noise=0.02)
    gp.extend(X, y)
    kernel = peer.ConstantKernel(1.5) * peer.Matern((0.3, 0.6), nu=2.5)
    sklearn = GaussianProcessRegressor(kernel, alpha=0.02, optimizer=None).fit(X, y)
    mean, covariance = sklearn.predict(Q, return_cov=True)
    np.testing.assert_allclose(gp.posterior(Q)[0], mean, atol=1e-10)
    np.testing.assert_allclose(gp.posterior(Q)[1], np.diag(covariance), atol=1e-10)
    np.testing.assert_allclose(gp.posterior(Q, covariance=True)[1], covariance, atol=1e-10)
    assert gp.log_evidence() == pytest.approx(sklearn.log_marginal_likelihood(), rel=1e-10)


def test_appending_a_candidate_equals_appending_its_point() -> None:
    Q = np.random.default_rng(4).random((25, 2))
    by_index, by_point = (GaussianProcess(KERNELS[2], noise=0.01, candidates=Q) for _ in range(2))
    for i, y in [(3, 1.0), (17, -0.5), (3, 0.8), (24, 0.1)]:
        by_index.append_candidate(i, y)
        by_point.append(Q[i], y)
    agree(by_index, by_point)
    np.testing.assert_allclose(by_index.factor, by_point.factor, atol=1e-12)


def test_a_block_equals_its_points_one_by_one_with_noise_of_each() -> None:
    X, y = data(5, 11)
    s2 = np.linspace(1e-3, 0.3, 11)
    Q = np.random.default_rng(6).random((20, 2))
    block, single = (GaussianProcess(KERNELS[0], noise=9.0, candidates=Q, capacity=1) for _ in range(2))
    block.extend(X[:4], y[:4], noise=s2[:4])
    block.extend(X[4:], y[4:], noise=s2[4:])
    for x, value, variance in zip(X, y, s2, strict=True):
        single.append(x, value, noise=variance)
    agree(block, single)
    np.testing.assert_allclose(block.mean, dense(KERNELS[0], X, y, s2, Q)[0], atol=1e-9)


def test_candidates_are_the_posterior_at_their_points_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK", 7)
    X, y = data(7, 9)
    Q = np.random.default_rng(8).random((31, 2))
    gp = GaussianProcess(KERNELS[1], noise=0.05, candidates=Q)
    gp.extend(X[:5], y[:5])
    for x, value in zip(X[5:], y[5:], strict=True):
        gp.append(x, value)
    expected, covariance, _ = dense(KERNELS[1], X, y, 0.05, Q)
    for mean, variance in [(gp.mean, gp.variance), gp.posterior(Q)]:
        np.testing.assert_allclose(mean, expected, atol=1e-10)
        np.testing.assert_allclose(variance, np.diag(covariance), atol=1e-10)


def test_weights_and_whiten_solve_the_dense_system() -> None:
    X, y = data(9, 8)
    gp = GaussianProcess(KERNELS[2], noise=0.03, mean=0.2)
    gp.extend(X, y)
    K = KERNELS[2](X, X) + 0.03 * np.eye(8)
    np.testing.assert_allclose(gp.weights, np.linalg.solve(K, y - 0.2), atol=1e-9)
    whitened = gp.whiten(K)
    np.testing.assert_allclose(whitened.T @ whitened, K @ np.linalg.solve(K, K), atol=1e-9)
    np.testing.assert_array_equal(gp.points, X)


def test_appending_evaluates_the_kernel_once_per_candidate_and_new_point(monkeypatch: pytest.MonkeyPatch) -> None:
    work = {"row": 0, "matrix": 0}
    row, matrix = RBF.row, RBF.__call__

    def counted_row(self, x, scaled, out, space):
        work["row"] += scaled.shape[1]
        return row(self, x, scaled, out, space)

    def counted_matrix(self, A, B):
        work["matrix"] += len(A) * len(B)
        return matrix(self, A, B)

    monkeypatch.setattr(RBF, "row", counted_row)
    monkeypatch.setattr(RBF, "__call__", counted_matrix)
    Q = np.random.default_rng(10).random((100, 2))
    gp = GaussianProcess(RBF((0.2, 0.2)), noise=0.01, candidates=Q, capacity=3)
    for t in range(10):
        gp.append_candidate(7 * t, 0.1 * t)
    assert work == {"row": 1000, "matrix": 0}
    gp.append([0.5, 0.5], 0.3)
    assert work == {"row": 1100, "matrix": 10}
    assert gp.mean.shape == gp.variance.shape == (100,)
    assert work == {"row": 1100, "matrix": 10}


def test_rows_solved_before_are_never_written_again() -> None:
    Q = np.random.default_rng(11).random((50, 2))
    gp = GaussianProcess(KERNELS[0], noise=0.01, candidates=Q, capacity=1)
    for t in range(9):
        before = gp.factor.copy()
        solved = gp._v[:t].copy()
        gp.append_candidate(t, float(t))
        np.testing.assert_array_equal(gp.factor[:t, :t], before)
        np.testing.assert_array_equal(gp._v[:t], solved)


@given(st.sampled_from(KERNELS), st.integers(0, 2**32 - 1), st.integers(2, 12))
@settings(max_examples=40, deadline=None)
def test_the_order_of_points_does_not_matter(kernel: Kernel, seed: int, n: int) -> None:
    X, y = data(seed, n)
    Q = np.random.default_rng(seed + 1).random((10, 2))
    there, back = (GaussianProcess(kernel, noise=1e-2, candidates=Q) for _ in range(2))
    there.extend(X, y)
    back.extend(X[::-1], y[::-1])
    agree(there, back, tolerance=1e-7)


@given(st.integers(0, 2**32 - 1), st.floats(-3, 3), st.floats(0.1, 10))
@settings(max_examples=30, deadline=None)
def test_shift_and_scale_of_the_values_shift_and_scale_the_posterior(seed: int, mean: float, scale: float) -> None:
    X, y = data(seed, 6)
    Q = np.random.default_rng(seed + 1).random((5, 2))
    plain = GaussianProcess(KERNELS[1], noise=0.04)
    plain.extend(X, y)
    moved = GaussianProcess(KERNELS[1], noise=0.04 * scale**2, mean=mean, scale=scale)
    moved.extend(X, mean + scale * y)
    np.testing.assert_allclose(moved.posterior(Q)[0], mean + scale * plain.posterior(Q)[0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(moved.posterior(Q)[1], scale**2 * plain.posterior(Q)[1], rtol=1e-7, atol=1e-9)
