"""The hockey stick of Gaussian pairs: closed forms, draws, and pairs that are unbounded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.papers._gaussian_pairs import gaussian_delta, gaussian_epsilon
from each import each
from scipy.stats import chi2

from tacit.errors import BadInput
from tacit.privacy.conversions import gdp_delta, gdp_epsilon


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@each("mu", [0.01, 0.5, 1.0, 5.0])
@each("eps", [0.0, 0.3, 4.0])
def test_equal_covariances_give_the_closed_form_of_gdp(mu: float, eps: float) -> None:
    exact = gdp_delta(mu, eps)
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    shift = mu * np.linalg.cholesky(S) @ [0.6, 0.8]
    assert gaussian_delta(shift, S, [0.0, 0.0], S, eps) == pytest.approx(exact, rel=1e-6, abs=1e-200)


@each(("d", "v"), [(1, 2.0), (1, 0.3), (2, 2.0), (2, 1.01), (5, 1.5), (10, 4.0), (3, 0.5)])
@each("eps", [0.0, 0.5, 3.0])
def test_one_scale_against_another_gives_the_chi_squared_form(d: int, v: float, eps: float) -> None:
    radius = (eps + d / 2 * math.log(v)) / (0.5 * (1 - 1 / v))  # where the log ratio passes eps
    tail = chi2.sf if v > 1 else chi2.cdf
    exact = max(0.0, tail(radius / v, d) - math.exp(eps) * tail(radius, d))
    assert gaussian_delta(np.zeros(d), v * np.eye(d), np.zeros(d), np.eye(d), eps) == pytest.approx(
        exact, rel=1e-6, abs=1e-12
    )


def test_a_general_pair_agrees_with_a_million_draws() -> None:
    m, S, T = np.array([0.5, -0.2, 0.1]), np.diag([1.5, 1.0, 0.6]), np.array([[1, 0.3, 0], [0.3, 1, 0], [0, 0, 1.0]])
    x = rng(3).multivariate_normal(m, S, 1_000_000)
    log_p = -0.5 * np.einsum("ij,jk,ik->i", x - m, np.linalg.inv(S), x - m) - 0.5 * np.linalg.slogdet(S)[1]
    log_q = -0.5 * np.einsum("ij,jk,ik->i", x, np.linalg.inv(T), x) - 0.5 * np.linalg.slogdet(T)[1]
    for eps in (0.0, 0.5, 1.5):
        gain = np.maximum(0, -np.expm1(eps - (log_p - log_q)))
        error = gain.std() / 1000
        assert gaussian_delta(m, S, np.zeros(3), T, eps) == pytest.approx(gain.mean(), abs=5 * error)


def test_gaussians_on_different_subspaces_are_unbounded() -> None:
    line, other, plane = np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.eye(2)
    for a, b in ((line, other), (line, plane), (plane, line)):
        assert gaussian_delta([0, 0], a, [0, 0], b, 100.0) == 1.0
        assert gaussian_epsilon([0, 0], a, [0, 0], b, 0.5) == math.inf
    assert gaussian_epsilon([0, 1], line, [0, 0], line, 0.5) == math.inf, "parallel lines do not meet"
    assert gaussian_epsilon([1, 0], line, [0, 0], line, 1e-5) == pytest.approx(gdp_epsilon(1.0, 1e-5), rel=1e-8)


def test_the_column_space_of_a_moved_row_is_another_one() -> None:
    """Why the published projection is unbounded at n > d: X X' and X' X'' live on different planes."""
    X = rng(4).normal(size=(6, 2))
    moved = X.copy()
    moved[0, 0] += 1.0
    zero = np.zeros(6)
    assert gaussian_epsilon(zero, X @ X.T, zero, moved @ moved.T, 0.9) == math.inf
    wide, away = X.T @ X, moved.T @ moved  # multiplied on the record side, full rank: bounded
    assert gaussian_epsilon(np.zeros(2), wide, np.zeros(2), away, 1e-5) < 50


def test_bad_gaussians_are_refused() -> None:
    with pytest.raises(BadInput, match="need means"):
        gaussian_delta([0.0], np.eye(2), [0.0], np.eye(2), 1.0)
    with pytest.raises(BadInput, match="negative eigenvalues"):
        gaussian_delta([0.0, 0.0], np.diag([1.0, -1.0]), [0.0, 0.0], np.eye(2), 1.0)
