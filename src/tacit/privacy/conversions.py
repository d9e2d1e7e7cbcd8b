"""What one privacy notion says in the words of another. Plain functions on numbers.

    symbol   meaning
    eps      epsilon, of pure or approximate differential privacy
    dlt      delta
    rho      of zero-concentrated differential privacy (zCDP)
    mu       of Gaussian differential privacy (GDP)

Every root is searched numerically and then stepped to the safe side. What is left is the error of evaluating delta
itself: below one part in 1e11, measured against 60-digit arithmetic in the tests.

    Balle2018    Balle, Wang: Improving the Gaussian mechanism (analytic form)
    Bun2016      Bun, Steinke: Concentrated differential privacy
    Canonne2020  Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy
    Dong2022     Dong, Roth, Su: Gaussian differential privacy
    Kairouz2015  Kairouz, Oh, Viswanath: The composition theorem for differential privacy
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import erfcx, erfinv, log_ndtr, ndtri_exp

from tacit.privacy.roots import find_root

STEP = 1e-13  # one relative step to the safe side
LARGEST_MU = 1e8
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)  # exact to rounding over an interval of 0.1


def gdp_delta(mu: float, eps: float) -> float:
    """The exact delta of mu-GDP at eps (Dong2022 Corollary 1, Balle2018 Theorem 8).

    The two terms share the factor exp(-a^2 / 2), so nothing overflows. For small mu their difference would cancel, and
    is the integral of its derivative instead.
    """
    if mu == 0:
        return 0.0
    a, b = eps / mu - mu / 2, eps / mu + mu / 2
    shared = 0.5 * math.exp(-a * a / 2)
    if mu < 0.1:
        if not shared:
            return 0.0
        t = (eps / mu + mu / 2 * NODES) / math.sqrt(2)
        slope = 2 / math.sqrt(math.pi) - 2 * t * erfcx(t)  # of -erfcx
        return float(shared * mu / math.sqrt(8) * (WEIGHTS @ slope))
    if a > 0:
        return float(shared * (erfcx(a / math.sqrt(2)) - erfcx(b / math.sqrt(2))))
    return float(math.exp(log_ndtr(-a)) - shared * erfcx(b / math.sqrt(2)))


@lru_cache(1024)
def gdp_epsilon(mu: float, dlt: float) -> float:
    """The smallest eps with gdp_delta(mu, eps) <= dlt.

    >>> round(gdp_epsilon(1.0, 1e-6), 3)
    4.887
    """
    if gdp_delta(mu, 0.0) <= dlt:
        return 0.0
    high = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / dlt)) + 1  # Gaussian tail bound: always enough
    root = find_root(lambda eps: gdp_delta(mu, eps) - dlt, 0.0, high, absolute=1e-15 * high)
    return _step_to_safety(root, lambda eps: gdp_delta(mu, eps) <= dlt, up=True)


def gdp_mu(eps: float, dlt: float) -> float:
    """The largest mu whose delta at eps is at most dlt: the analytic Gaussian mechanism."""
    high = 1.0
    while gdp_delta(high, eps) <= dlt and high < LARGEST_MU:
        high *= 2
    root = find_root(lambda mu: gdp_delta(mu, eps) - dlt, 0.0, high, absolute=1e-300)
    return _step_to_safety(root, lambda mu: gdp_delta(mu, eps) <= dlt, up=False)


def zcdp_epsilon(rho: float, dlt: float) -> float:
    """The best known eps of rho-zCDP at dlt (Canonne2020 Proposition 12). Sound at every order, so the search is safe.

    >>> round(zcdp_epsilon(0.5, 1e-6), 3)
    5.222
    """
    if rho == 0:
        return 0.0
    from scipy.optimize import minimize_scalar

    def at(log_order: float) -> float:
        a = 1 + math.exp(log_order)
        return a * rho + (-math.log(dlt) - math.log(a)) / (a - 1) + math.log1p(-1 / a)

    guess = math.log(math.sqrt(-math.log(dlt) / rho))
    best = minimize_scalar(at, bounds=(guess - 5, guess + 5), method="bounded", options={"xatol": 1e-10})
    return max(0.0, float(best.fun))


def zcdp_rho(eps: float, dlt: float) -> float:
    """The largest rho whose epsilon at dlt is at most eps."""
    high = 1.0
    while zcdp_epsilon(high, dlt) <= eps:
        high *= 2
    root = find_root(lambda rho: zcdp_epsilon(rho, dlt) - eps, 0.0, high, absolute=1e-300, relative=1e-12)
    return _step_to_safety(root, lambda rho: zcdp_epsilon(rho, dlt) <= eps, up=False)


def approximate_epsilon(eps: float, own: float, dlt: float) -> float:
    """The exact epsilon at dlt of (eps, own)-DP for dlt >= own, from its worst pair (Kairouz2015 Theorem 3.1).

    The worst pair reveals all with probability ``own`` and is randomised response otherwise, so
    dlt = own + (1 - own) (e^eps - e^eps') / (1 + e^eps). With own = 0 this is pure differential privacy.
    """
    share = (dlt - own) / (1 - own)
    inside = share * (1 + math.exp(-eps))
    return max(0.0, eps + math.log1p(-inside)) if inside < 1 else 0.0


def pure_mu(eps: float) -> float:
    """The smallest mu such that every eps-DP mechanism is mu-GDP: 2 times the normal quantile of e^eps/(1 + e^eps).

    The trade-off curve of eps-DP has one kink, at (1/(1+e^eps), 1/(1+e^eps)); a convex curve with the same ends that
    passes below the kink stays below throughout, and the Gaussian curve meets the diagonal at Phi(-mu/2).

    >>> round(pure_mu(1.0), 4)
    1.232
    """
    if eps < 1:  # the same quantile, from its distance to one half
        return math.sqrt(8) * float(erfinv(math.tanh(eps / 2))) * (1 + STEP)
    return -2 * float(ndtri_exp(-_softplus(eps))) * (1 + STEP)


def mu_pure(mu: float) -> float:
    """The largest eps such that every eps-DP mechanism is mu-GDP: the inverse of pure_mu."""
    eps = 2 * math.atanh(math.erf(mu / math.sqrt(8))) if mu < 1 else float(log_ndtr(mu / 2) - log_ndtr(-mu / 2))
    return _step_to_safety(eps, lambda e: pure_mu(e) <= mu, up=False) if mu > 0 else 0.0


def range_mu(eps: float) -> float:
    """The smallest mu such that every mechanism of bounded range eps is mu-GDP: half of eps, as pure privacy.

    Bounded range: the privacy losses of a pair of neighbours lie in an interval of length eps, as those of one
    exponential mechanism do. See docs/proofs/exponential-mechanism.md.

    >>> round(range_mu(1.0), 4)
    0.6239
    """
    return pure_mu(eps / 2)


def mu_range(mu: float) -> float:
    """The largest eps such that every mechanism of bounded range eps is mu-GDP: the inverse of range_mu."""
    return 2 * mu_pure(mu)


def pure_rho(eps: float) -> float:
    """Every eps-DP mechanism is (eps^2/2)-zCDP (Bun2016 Proposition 1.4)."""
    return eps * eps / 2


def mu_rho(mu: float) -> float:
    """Every mu-GDP mechanism is (mu^2/2)-zCDP, being post-processing of a Gaussian pair (Dong2022 Theorem 1)."""
    return mu * mu / 2


def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x))


def _step_to_safety(root: float, safe: Callable[[float], bool], *, up: bool) -> float:
    """Move root away by growing relative steps until it is safe."""
    step = STEP
    while not safe(root):
        root *= 1 + step if up else 1 - step
        step *= 2
        if step > 1e-3:
            raise ArithmeticError("no safe root nearby, a defect of tacit: report the budget that led here")
    return float(root)
