"""Kernels against scikit-learn, and every derivative against finite differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as peer

from tacit.errors import BadInput
from tacit.gp.kernels import RBF, Kernel, Matern32, Matern52, Polynomial

SCALES = (0.4, 1.3, 2.2)
KERNELS = [
    RBF(SCALES, variance=1.7),
    Matern32(SCALES, variance=1.7),
    Matern52(SCALES, variance=1.7),
    Polynomial(SCALES, variance=1.7, offset=0.6),
]
PEERS = {
    RBF: peer.RBF(SCALES),
    Matern32: peer.Matern(SCALES, nu=1.5),
    Matern52: peer.Matern(SCALES, nu=2.5),
}
every = each("kernel", KERNELS, ids=lambda k: type(k).__name__)


def points(seed: int, n: int, d: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


@each("kernel", KERNELS[:3], ids=lambda k: type(k).__name__)
def test_a_stationary_kernel_equals_scikit_learn(kernel: Kernel) -> None:
    A, B = points(0, 7), points(1, 5)
    np.testing.assert_allclose(kernel(A, B), 1.7 * PEERS[type(kernel)](A, B), rtol=1e-12)


def test_the_polynomial_is_the_square_of_offset_plus_scaled_inner_product() -> None:
    A, B = points(0, 7), points(1, 5)
    expected = 1.7 * (0.6 + np.einsum("ik,jk,k->ij", A, B, 1 / np.square(SCALES))) ** 2
    np.testing.assert_allclose(KERNELS[3](A, B), expected, rtol=1e-12)


@every
def test_the_diagonal_is_the_diagonal(kernel: Kernel) -> None:
    A = points(2, 6)
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(kernel(A, A)), rtol=1e-13)


@every
def test_a_row_fills_the_given_line_with_a_line_of_the_matrix(kernel: Kernel) -> None:
    A, x = points(3, 9), points(4, 1)
    out, work = np.full(9, np.nan), np.full(9, np.nan)
    assert kernel.row(x[0], kernel.in_lengthscales(A), out, work) is out
    np.testing.assert_allclose(out, kernel(x, A)[0], rtol=1e-13)


@every
def test_the_first_derivative_equals_a_finite_difference(kernel: Kernel) -> None:
    A, B, h = points(5, 4), points(6, 3), 1e-5
    for j in range(3):
        step = h * np.eye(3)[j]
        numeric = (kernel(A + step, B) - kernel(A - step, B)) / (2 * h)
        np.testing.assert_allclose(kernel.first(A, B)[:, :, j], numeric, rtol=1e-6, atol=1e-8)


@every
def test_the_mixed_derivative_equals_a_finite_difference_of_the_first(kernel: Kernel) -> None:
    A, B, h = points(7, 4), points(8, 3), 1e-5
    for j in range(3):
        step = h * np.eye(3)[j]
        numeric = (kernel.first(A, B + step) - kernel.first(A, B - step)) / (2 * h)
        np.testing.assert_allclose(kernel.mixed_derivative(A, B)[:, :, :, j], numeric, rtol=1e-6, atol=1e-8)


@every
def test_the_mixed_derivative_at_one_point_is_a_covariance(kernel: Kernel) -> None:
    A = points(9, 1)
    gradient = kernel.mixed_derivative(A, A)[0, 0]
    np.testing.assert_allclose(gradient, gradient.T, rtol=1e-13)
    assert np.linalg.eigvalsh(gradient).min() > 0
    numeric = (kernel.first(A, A + 1e-7) - kernel.first(A, A - 1e-7))[0, 0] / 2e-7
    np.testing.assert_allclose(gradient.sum(axis=1), numeric, rtol=1e-5)


def test_curvature_at_zero_distance_is_the_textbook_constant() -> None:
    x = np.zeros((1, 1))
    found = [float(k((0.5,)).mixed_derivative(x, x)[0, 0, 0, 0]) for k in (RBF, Matern32, Matern52)]
    np.testing.assert_allclose(found, [4.0, 12.0, 20.0 / 3.0], rtol=1e-13)


@every
def test_the_change_with_log_parameters_equals_a_finite_difference(kernel: Kernel) -> None:
    A, h = points(10, 5), 1e-6
    m = kernel.pairs(A, *np.divmod(np.arange(25), 5))  # as a fit does
    g, slope = kernel.profile(m, kernel.weights)
    found = kernel.variance * np.concatenate([slope * m * (-2 * kernel.weights)[:, None], g[None]]).reshape(4, 5, 5)
    for p in range(4):
        step = h * np.eye(4)[p]
        up, down = (kernel.with_log_parameters(kernel.log_parameters + s) for s in (step, -step))
        np.testing.assert_allclose(found[p], (up(A, A) - down(A, A)) / (2 * h), rtol=1e-6, atol=1e-8)


@every
def test_log_parameters_come_back(kernel: Kernel) -> None:
    again = kernel.with_log_parameters(kernel.log_parameters)
    assert type(again) is type(kernel)
    np.testing.assert_allclose(again.log_parameters, kernel.log_parameters, rtol=1e-13)
    assert getattr(again, "offset", None) == getattr(kernel, "offset", None)


@every
def test_no_points_give_empty_arrays(kernel: Kernel) -> None:
    none, some = np.empty((0, 3)), points(0, 2)
    assert kernel(none, some).shape == (0, 2)
    assert kernel.first(none, some).shape == (0, 2, 3)
    assert kernel.mixed_derivative(some, none).shape == (2, 0, 3, 3)
    assert kernel.diagonal(none).shape == (0,)


@given(
    st.sampled_from(KERNELS),
    st.integers(0, 2**32 - 1),
    st.floats(-8, 3),
    st.lists(st.floats(0.05, 20), min_size=2, max_size=2),
)
@settings(max_examples=60, deadline=None)
def test_any_kernel_matrix_is_symmetric_and_positive_semidefinite(
    kernel: Kernel, seed: int, spread: float, scales: list[float]
) -> None:
    A = points(seed, 12, 2) * 10.0**spread
    K = replace(kernel, lengthscales=tuple(scales))(A, A)
    np.testing.assert_allclose(K, K.T, rtol=1e-13)
    assert np.linalg.eigvalsh(K).min() >= -1e-12 * np.abs(K).max() * 12


def test_near_points_far_from_the_origin_keep_their_digits() -> None:
    x = np.array([[1e6]])
    k = RBF((1.0,))(x, x + 2.0**-10)
    assert k[0, 0] == pytest.approx(np.exp(-(2.0**-21)), rel=1e-15)


@each(
    "wrong",
    [lambda: RBF(()), lambda: RBF((0.0,)), lambda: RBF((1.0,), -1.0), lambda: RBF((np.nan,)),
     lambda: Polynomial((1.0,), offset=-0.1), lambda: Polynomial((1.0,), offset=np.inf)],
)  # fmt: skip
def test_impossible_hyper_parameters_are_refused(wrong) -> None:
    with pytest.raises(BadInput):
        wrong()


@every
@each("shape", [(3,), (2, 2), (1, 3, 1)])
def test_points_of_another_shape_are_refused_by_name(kernel: Kernel, shape: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match=r"shape \(n, 3\)"):
        kernel(np.zeros(shape), np.zeros((1, 3)))


def test_equal_kernels_are_equal_and_can_be_keys() -> None:
    assert RBF([1, 2]) == RBF((1.0, 2.0))
    assert RBF((1.0,)) != Matern52((1.0,))
    assert len({RBF([0.5]), RBF(np.array([0.5]))}) == 1
