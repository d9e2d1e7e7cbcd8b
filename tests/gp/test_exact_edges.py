"""The growing posterior at its limits: nothing known, everything known, the same thing twice, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BadInput
from tacit.gp.exact import GaussianProcess
from tacit.gp.kernels import RBF, Kernel, Matern32, Matern52, Polynomial

KERNELS = [RBF((0.3, 0.6), 1.5), Matern32((0.3, 0.6), 1.5), Matern52((0.3, 0.6), 1.5), Polynomial((0.7, 0.9), 0.8)]


def same(a: GaussianProcess, b: GaussianProcess) -> None:
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-9)
    np.testing.assert_allclose(a.variance, b.variance, atol=1e-9)
    assert a.log_evidence() == pytest.approx(b.log_evidence(), rel=1e-9, abs=1e-9)


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
    same(once, twice)
    assert (once.ignored, twice.ignored, len(twice)) == (0, 1, 1)
    twice.append_candidate(2, 9.0)
    same(once, twice)
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
