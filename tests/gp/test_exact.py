"""The growing posterior against the dense formula, against scikit-learn, and against itself in other orders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as peer

from tacit.errors import BadInput
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


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
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


def test_without_points_the_posterior_is_the_prior() -> None:
    Q = np.random.default_rng(12).random((4, 2))
    gp = GaussianProcess(KERNELS[3], mean=-1.0, scale=2.0, candidates=Q)
    mean, covariance = gp.posterior(Q, covariance=True)
    np.testing.assert_array_equal(mean, np.full(4, -1.0))
    np.testing.assert_allclose(covariance, 4.0 * KERNELS[3](Q, Q), rtol=1e-12)
    np.testing.assert_allclose(gp.variance, np.diag(covariance), rtol=1e-12)
    assert gp.log_evidence() == 0.0
    assert len(gp) == 0
    assert gp.weights.shape == (0,)
    gp.extend(np.empty((0, 2)), [])
    assert len(gp) == 0


def test_one_noiseless_point_is_interpolated() -> None:
    gp = GaussianProcess(RBF((1.0,)), candidates=[[0.3]], mean=5.0)
    gp.append([0.3], 7.0)
    assert gp.mean[0] == pytest.approx(7.0, abs=1e-12)
    assert gp.variance[0] == 0.0


@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-8])
@pytest.mark.parametrize("together", [True, False])
def test_a_noiseless_duplicate_adds_nothing(apart: float, together: bool) -> None:
    Q = np.linspace(0, 1, 9)[:, None]
    once, twice = (GaussianProcess(RBF((0.4,)), candidates=Q) for _ in range(2))
    once.append([0.25], 1.0)
    if together:
        twice.extend([[0.25], [0.25 + apart]], [1.0, 3.0])
    else:
        twice.append([0.25], 1.0)
        twice.append([0.25 + apart], 3.0)
    agree(once, twice)
    assert (once.ignored, twice.ignored, len(twice)) == (0, 1, 1)
    twice.append_candidate(2, 9.0)
    agree(once, twice)
    assert twice.ignored == 2


def test_a_noisy_duplicate_counts_as_an_observation() -> None:
    gp = GaussianProcess(RBF((0.4,)), noise=0.5, candidates=[[0.25]])
    gp.append([0.25], 1.0)
    gp.append([0.25], 3.0)
    # Two values with noise 1/2 are their mean with noise 1/4, under a prior of variance 1.
    assert gp.mean[0] == pytest.approx(2.0 / 1.25, rel=1e-12)
    assert gp.variance[0] == pytest.approx(0.25 / 1.25, rel=1e-12)


def test_the_origin_of_a_homogeneous_polynomial_is_already_known() -> None:
    gp = GaussianProcess(Polynomial((1.0,), offset=0.0), candidates=[[0.0], [2.0]])
    gp.append([0.0], 3.0)
    assert gp.ignored == 1
    np.testing.assert_array_equal(gp.variance, [0.0, 16.0])


def test_constant_values_equal_to_the_prior_mean_leave_the_mean_there() -> None:
    gp = GaussianProcess(KERNELS[0], mean=2.5, candidates=np.random.default_rng(13).random((20, 2)))
    gp.extend(np.random.default_rng(14).random((6, 2)), np.full(6, 2.5))
    np.testing.assert_array_equal(gp.mean, np.full(20, 2.5))


@given(
    st.sampled_from(KERNELS),
    st.integers(0, 2**32 - 1),
    st.integers(1, 25),
    st.sampled_from([0.0, 1e-14, 1e-6, 0.1]),
    st.floats(-13, 0),
)
@settings(max_examples=80, deadline=None)
def test_variance_only_falls_and_is_never_negative(
    kernel: Kernel, seed: int, n: int, noise: float, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    Q = 0.5 + rng.random((15, 2)) * 10.0**spread
    gp = GaussianProcess(kernel, noise=noise, candidates=Q, capacity=1)
    for _ in range(n):
        before = gp.variance.copy()
        gp.append_candidate(int(rng.integers(15)), float(rng.normal()))
        assert (gp.variance >= 0).all()
        assert (gp.variance <= before).all()
        assert np.isfinite(gp.mean).all()
    assert (gp.posterior(Q)[1] >= 0).all()
    assert len(gp) + gp.ignored == n


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


@pytest.mark.parametrize(
    "wrong",
    [
        lambda gp: gp.append([0.1, np.nan], 1.0),
        lambda gp: gp.append([0.1, 0.2], np.inf),
        lambda gp: gp.append([0.1], 1.0),
        lambda gp: gp.append([[0.1, 0.2], [0.3, 0.4]], 1.0),
        lambda gp: gp.append([0.1, 0.2], 1.0, noise=-1e-9),
        lambda gp: gp.append_candidate(3, 1.0),
        lambda gp: gp.append_candidate(-1, 1.0),
        lambda gp: gp.append_candidate(0, np.nan),
        lambda gp: gp.extend([[0.1, 0.2]], [1.0, 2.0]),
        lambda gp: gp.extend([[0.1, 0.2]], [np.nan]),
        lambda gp: gp.extend([[0.1, 0.2]], [1.0], noise=[-1.0]),
        lambda gp: gp.extend([[0.1, 0.2]], [1.0], noise=[0.1, 0.1]),
    ],
)
def test_a_refused_observation_changes_nothing(wrong) -> None:
    gp = GaussianProcess(KERNELS[0], candidates=np.eye(2))
    gp.append([0.5, 0.5], 1.0)
    mean, variance = gp.mean.copy(), gp.variance.copy()
    with pytest.raises(BadInput):
        wrong(gp)
    assert len(gp) == 1
    np.testing.assert_array_equal(gp.mean, mean)
    np.testing.assert_array_equal(gp.variance, variance)


@pytest.mark.parametrize("wrong", [{"noise": -1.0}, {"scale": 0.0}, {"mean": np.nan}, {"capacity": 0},
                                   {"candidates": [[np.nan, 0.0]]}, {"candidates": [0.1, 0.2]}])  # fmt: skip
def test_an_impossible_prior_is_refused(wrong) -> None:
    with pytest.raises(BadInput):
        GaussianProcess(KERNELS[0], **wrong)


def test_an_error_shows_no_values() -> None:
    gp = GaussianProcess(KERNELS[0])
    with pytest.raises(BadInput) as refused:
        gp.extend([[0.123, 0.2]], [0.98765, np.nan])
    assert "0.98765" not in str(refused.value)
    assert "0.123" not in str(refused.value)


def test_what_is_shown_of_the_state_cannot_be_written() -> None:
    gp = GaussianProcess(KERNELS[0], candidates=np.eye(2))
    for view in (gp.mean, gp.variance, gp.points, gp.factor):
        assert not view.flags.writeable
