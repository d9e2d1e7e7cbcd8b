"""Every conversion against an independent oracle: 60 digits, numerical integration, or a peer library."""

from __future__ import annotations

import itertools
import math
import warnings

import dp_accounting
import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting import pld, rdp
from each import each
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from tacit.privacy import conversions as c

MUS = (1e-6, 1e-4, 0.01, 0.099, 0.1, 0.5, 1.0, 4.0, 20.0, 100.0)
DELTAS = (1e-15, 1e-9, 1e-6, 1e-3, 0.1, 0.5)
EPSILONS = (1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0, 500.0)

some_epsilon = st.floats(1e-4, 100)
some_delta = st.floats(1e-12, 0.4)
some_mu = st.floats(1e-4, 30)


def precise_delta(mu: float, eps: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(eps)
        tail = lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2  # noqa: E731
        return tail(e / m - m / 2) - mpmath.exp(e) * tail(e / m + m / 2)


@each("mu", MUS)
@each("z", [-0.5, -0.1, 0.0, 0.3, 1.0, 4.0, 8.0])
def test_delta_of_gdp_agrees_with_60_digits(mu, z):
    eps = max(0.0, mu * mu / 2 + z * mu)
    assert abs(c.gdp_delta(mu, eps) / precise_delta(mu, eps) - 1) < 1e-11


@each(("mu", "eps"), [(0.05, 0.02), (0.3, 0.5), (1.0, 0.0), (1.0, 1.0), (2.0, 5.0), (5.0, 3.0)])
def test_delta_of_gdp_is_the_hockey_stick_of_two_gaussians(mu, eps):
    start = eps / mu + mu / 2  # where the likelihood ratio reaches e^eps
    direct, _ = quad(lambda x: norm.pdf(x, mu) - math.exp(eps) * norm.pdf(x), start, start + 40, epsabs=1e-15)
    assert c.gdp_delta(mu, eps) == pytest.approx(direct, rel=1e-8, abs=1e-13)


@each(("mu", "eps"), [(0.3, 0.1), (1.0, 1.0), (3.0, 2.0)])
def test_delta_of_gdp_is_the_conjugate_of_the_trade_off_curve(mu, eps):
    # delta(eps) = 1 + max over a of (-e^eps a - f(a)) = 1 - min_a (f(a) + e^eps a), f(a) = Phi(Phi^-1(1-a) - mu)
    a = ndtr(np.linspace(-12, 12, 400_001))
    assert c.gdp_delta(mu, eps) == pytest.approx(1 - np.min(ndtr(-ndtri(a) - mu) + math.exp(eps) * a), abs=1e-9)


@each(("mu", "delta"), list(itertools.product(MUS, DELTAS)))
def test_epsilon_of_gdp_is_safe_and_tight(mu, delta):
    eps = c.gdp_epsilon(mu, delta)
    assert c.gdp_delta(mu, eps) <= delta
    if eps > 0:
        assert precise_delta(mu, eps) <= delta * (1 + 1e-11)
        assert precise_delta(mu, eps * (1 - 1e-9)) > delta
    else:
        assert precise_delta(mu, 0.0) <= delta * (1 + 1e-11)


@each(("eps", "delta"), list(itertools.product(EPSILONS, DELTAS)))
def test_mu_of_a_budget_is_safe_and_tight(eps, delta):
    mu = c.gdp_mu(eps, delta)
    assert c.gdp_delta(mu, eps) <= delta
    assert precise_delta(mu, eps) <= delta * (1 + 1e-11)
    assert precise_delta(mu * (1 + 1e-9), eps) > delta


@given(some_epsilon, some_delta)
def test_epsilon_to_mu_and_back_never_grows(eps, delta):
    back = c.gdp_epsilon(c.gdp_mu(eps, delta), delta)
    assert eps * (1 - 1e-9) - 1e-9 <= back <= eps * (1 + 1e-9)


@each(("mu", "delta"), [(0.3, 1e-6), (1.0, 1e-6), (1.0, 1e-3), (3.0, 1e-9)])
def test_epsilon_of_gdp_agrees_with_a_privacy_loss_distribution(mu, delta):
    step = 1e-4  # the pessimistic estimate rounds losses up by at most one step
    peer = pld.privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=step)
    assert c.gdp_epsilon(mu, delta) <= peer.get_epsilon_for_delta(delta) <= c.gdp_epsilon(mu, delta) + 1.01 * step


@each(("rho", "delta"), list(itertools.product((1e-8, 1e-4, 0.02, 0.5, 5.0, 200.0), DELTAS)))
def test_epsilon_of_zcdp_is_the_best_over_a_grid_of_orders(rho, delta):
    a = 1 + np.exp(np.linspace(-15, 25, 400_001))
    grid = a * rho + (-math.log(delta) - np.log(a)) / (a - 1) + np.log1p(-1 / a)
    best = max(0.0, float(grid.min()))
    assert best - 1e-7 * max(best, 1) <= c.zcdp_epsilon(rho, delta) <= best * (1 + 1e-12) + 1e-12


@each(("rho", "delta"), [(0.01, 1e-6), (0.5, 1e-6), (0.5, 1e-3), (4.0, 1e-9)])
def test_epsilon_of_zcdp_is_not_above_the_peers(rho, delta):
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    gaussian = space >> dp.m.then_gaussian(scale=1 / math.sqrt(2 * rho))
    opendp = dp.c.make_zCDP_to_approxDP(gaussian).map(d_in=1.0).epsilon(delta)
    accountant = rdp.RdpAccountant()
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    ours = c.zcdp_epsilon(rho, delta)
    assert ours <= opendp * (1 + 1e-6)
    assert ours <= accountant.get_epsilon(delta) * (1 + 1e-9)
    assert ours >= 0.98 * accountant.get_epsilon(delta)  # the peer has fewer orders, no better theorem


@given(st.floats(1e-3, 100), some_delta)
def test_rho_of_a_budget_is_safe_and_tight(eps, delta):
    rho = c.zcdp_rho(eps, delta)
    assert c.zcdp_epsilon(rho, delta) <= eps < c.zcdp_epsilon(rho * (1 + 1e-9), delta) + 1e-12


@given(st.floats(1e-3, 20), st.floats(0, 0.4), st.floats(0, 0.5))
def test_epsilon_at_a_larger_delta_is_that_of_the_worst_pair(eps, own, more):
    delta = own + more * (1 - own)
    other = c.approximate_epsilon(eps, own, delta)
    yes, no = (1 - own) / (1 + math.exp(-eps)), (1 - own) / (1 + math.exp(eps))
    p = np.array([own, yes, no, 0.0])  # reveals all with probability own, randomised response otherwise
    q = p[::-1]
    assert np.maximum(p - math.exp(other) * q, 0).sum() <= delta + 1e-12
    if other > 1e-3:
        assert np.maximum(p - math.exp(other * (1 - 1e-3)) * q, 0).sum() > delta


def response_curve(alpha: np.ndarray, eps: float) -> np.ndarray:
    """Type II error of the best test of randomised response, at type I error alpha."""
    return np.maximum(0, np.maximum(1 - math.exp(eps) * alpha, math.exp(-eps) * (1 - alpha)))


@each("eps", [1e-3, 0.1, 1.0, 3.0, 10.0])
def test_pure_privacy_lies_above_its_gaussian_curve_and_touches_it_at_the_kink(eps):
    mu = c.pure_mu(eps)
    kink = 1 / (1 + math.exp(eps))
    alpha = np.concatenate([ndtr(np.linspace(-10, 10, 20_001)), [kink]])
    gaussian = ndtr(-ndtri(alpha) - mu)
    assert (response_curve(alpha, eps) >= gaussian - 1e-13).all()
    assert response_curve(np.array([kink]), eps)[0] == pytest.approx(gaussian[-1], rel=1e-9)
    smaller = ndtr(-ndtri(kink) - mu * (1 - 1e-6))
    assert smaller > kink  # nothing smaller would do


@each("eps", EPSILONS)
def test_mu_of_pure_privacy_agrees_with_60_digits_on_the_safe_side(eps):
    with mpmath.workdps(60):
        half = mpmath.mpf(c.pure_mu(eps)) / 2 / mpmath.sqrt(2)
        reached = mpmath.log(mpmath.erfc(-half) / mpmath.erfc(half))
        assert 0 <= reached / mpmath.mpf(eps) - 1 < 1e-11


@given(st.floats(1e-6, 100))
def test_mu_pure_is_the_inverse_of_pure_mu_on_the_safe_side(mu):
    eps = c.mu_pure(mu)
    assert mu * (1 - 1e-9) <= c.pure_mu(eps) <= mu


@each("order", [1.01, 1.5, 2.0, 5.0, 50.0])
@each("eps", [0.01, 0.5, 2.0, 8.0])
def test_rho_of_pure_privacy_bounds_the_renyi_divergence_of_randomised_response(eps, order):
    p = np.array([1 / (1 + math.exp(-eps)), 1 / (1 + math.exp(eps))])
    divergence = math.log(np.sum(p**order * p[::-1] ** (1 - order))) / (order - 1)
    assert divergence <= c.pure_rho(eps) * order + 1e-12


def test_rho_of_pure_privacy_is_nearly_reached():
    p = np.array([1 / (1 + math.exp(-0.01)), 1 / (1 + math.exp(0.01))])
    assert math.log(np.sum(p**2 / p[::-1])) > 0.999 * 2 * c.pure_rho(0.01)


@each(("mu", "order"), list(itertools.product((0.1, 1.0, 3.0), (1.5, 2.0, 4.0))))
def test_rho_of_gdp_is_the_renyi_divergence_of_two_gaussians(mu, order):
    def integrand(x: float) -> float:
        return math.exp(order * norm.logpdf(x, mu) + (1 - order) * norm.logpdf(x))

    centre = order * mu
    divergence = math.log(quad(integrand, centre - 15, centre + 15, points=[centre])[0]) / (order - 1)
    assert divergence == pytest.approx(c.mu_rho(mu) * order, rel=1e-8)


def test_extremes_neither_overflow_nor_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = [c.pure_mu(e) for e in EPSILONS] + [c.mu_pure(m) for m in MUS] + [c.pure_mu(0.0), c.mu_pure(0.0)]
        for eps, delta in itertools.product(EPSILONS, DELTAS):
            results += [c.gdp_mu(eps, delta), c.zcdp_rho(eps, delta), c.approximate_epsilon(eps, delta / 2, delta)]
        for mu, delta in itertools.product(MUS, DELTAS):
            results += [c.gdp_epsilon(mu, delta), c.zcdp_epsilon(mu * mu / 2, delta)]
        results += [c.gdp_delta(mu, eps) for mu, eps in itertools.product(MUS, EPSILONS)]
    assert all(math.isfinite(r) and r >= 0 for r in results)


@given(some_mu, some_mu, some_delta, some_delta)
def test_more_mu_means_more_epsilon_and_more_delta_means_less(mu, more, delta, wider):
    low, high = sorted((mu, more))
    tight, wide = sorted((delta, wider))
    for convert in (c.gdp_epsilon, lambda m, d: c.zcdp_epsilon(c.mu_rho(m), d)):
        assert convert(low, wide) <= convert(high, wide) * (1 + 1e-12) + 1e-12
        assert convert(high, wide) <= convert(high, tight) * (1 + 1e-12) + 1e-12
    assert c.gdp_epsilon(high, tight) <= c.zcdp_epsilon(c.mu_rho(high), tight) * (1 + 1e-9)


@given(some_epsilon, some_epsilon, some_delta)
def test_more_epsilon_means_more_mu(eps, more, delta):
    low, high = sorted((eps, more))
    assert c.gdp_mu(low, delta) <= c.gdp_mu(high, delta) * (1 + 1e-12)
    assert c.zcdp_rho(low, delta) <= c.zcdp_rho(high, delta) * (1 + 1e-9)
    assert c.pure_mu(low) <= c.pure_mu(high)


@each("eps", [0.01, 0.3, 1.0, 4.0])
def test_no_pair_of_two_outcomes_within_a_range_needs_a_larger_mu(eps):
    x = np.linspace(-30, 30, 20001)
    a, b = 1 / (1 + np.exp(-x - eps / 2)), 1 / (1 + np.exp(-x + eps / 2))
    with np.errstate(invalid="ignore"):
        needed = np.where(x > 0, ndtri(1 - b) - ndtri(1 - a), ndtri(a) - ndtri(b))
    exact = np.abs(x) < 8  # beyond, one minus a probability loses its digits
    assert needed[exact].max() <= c.range_mu(eps) * (1 + 1e-12)
    assert needed[exact].max() == pytest.approx(c.range_mu(eps), rel=1e-6)


def test_random_exponential_mechanisms_have_profiles_below_the_claim():
    generator = np.random.default_rng(0)
    for _ in range(300):
        eps, size = generator.uniform(0.05, 5), int(generator.integers(2, 6))
        u, moves = generator.normal(0, 2, size), generator.uniform(-1, 1, size)
        p, q = (np.exp(s) / np.exp(s).sum() for s in (u, u + eps / 2 * moves))
        for at in np.linspace(-eps, eps, 9):
            delta = np.maximum(p - math.exp(at) * q, 0).sum()
            claimed = (
                c.gdp_delta(c.range_mu(eps), at)
                if at >= 0
                else 1 - math.exp(at) * (1 - c.gdp_delta(c.range_mu(eps), -at))
            )
            assert delta <= claimed + 1e-12


@each("mu", MUS)
def test_mu_range_is_the_inverse_of_range_mu_on_the_safe_side(mu):
    assert mu * (1 - 1e-9) <= c.range_mu(c.mu_range(mu)) <= mu


def test_a_root_with_nothing_safe_near_it_is_called_a_defect():
    with pytest.raises(ArithmeticError, match="a defect of tacit"):
        c._step_to_safety(1.0, lambda root: False, up=True)
