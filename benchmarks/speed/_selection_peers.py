"""Peers of the bound on private selection: the score an adversary would write, and a published bound.

A search picks the run with the best score. If whoever writes the score also knows the two data sets to be told apart,
the score can make the winner say as much as possible. What such a score reaches is a lower bound on delta at epsilon,
to be held against the upper bound of `tacit.privacy.selection.select`.

Koskela2024   Koskela, Redberg, Wang: Privacy profiles for private selection, arXiv:2402.06701
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from tacit.privacy.profiles import GaussianProfile, Profile, epsilon_at
from tacit.privacy.run_laws import NegativeBinomial, RunLaw
from tacit.privacy.selection import select

POINTS = 8_001  # of the trapezium rule, from -12 to 12


def adversarial_delta(mu: float, law: RunLaw, epsilon: float, *, cuts: int = 25) -> float:
    """Delta at epsilon that an adversarial score reaches when one run puts out N(0, 1) or N(mu, 1).

    Outcomes above a cut c, likely under N(mu, 1), score best; then come all others, the least first, which N(0, 1)
    makes likelier. Under N(mu, 1) the first crowd out the second: the least outcomes win far more often under N(0, 1).
    The best of ``cuts`` values of c counts.

    >>> from tacit.privacy.run_laws import geometric
    >>> law = geometric(40.0)
    >>> 0.9e-5 < adversarial_delta(0.26805, law, 1.85) < float(select(GaussianProfile(0.26805), law).delta(1.85))
    True
    """
    y = np.linspace(-12.0, 12.0, POINTS)
    density = np.exp(-y * y / 2) / math.sqrt(2 * math.pi)
    moved = np.exp(-((y - mu) ** 2) / 2) / math.sqrt(2 * math.pi)
    best = 0.0
    for c in np.linspace(-1.0, 5.0, cuts):
        rest = y < c
        t, t_moved = ndtr(-c) + ndtr(y[rest]), ndtr(mu - c) + ndtr(y[rest] - mu)
        excess = density[rest] * law.derivative(1 - t, t)
        excess -= math.exp(epsilon) * moved[rest] * law.derivative(1 - t_moved, t_moved)
        best = max(best, float(np.maximum(excess, 0.0).sum() * (y[1] - y[0])))
    return best


def adversarial_epsilon(mu: float, law: RunLaw, delta: float) -> float:
    """The largest epsilon, to 1e-3, at which the adversarial score still reaches delta: a lower bound on the search's.

    >>> from tacit.privacy.run_laws import geometric
    >>> 1.84 < adversarial_epsilon(0.26805, geometric(40.0), 1e-5) < 1.86
    True
    """
    low, high = 0.0, epsilon_at(select(GaussianProfile(mu), law), delta)
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if adversarial_delta(mu, law, middle) > delta else (low, middle)
    return low


def koskela_selection(profile: Profile, law: NegativeBinomial, epsilon: ArrayLike) -> NDArray[np.float64]:
    """Delta at epsilon of the best of K runs: Koskela2024's bound for negative binomial laws, least over its free e1.

    >>> from tacit.privacy.profiles import GaussianProfile
    >>> from tacit.privacy.run_laws import geometric
    >>> bool(koskela_selection(GaussianProfile(0.26805), geometric(40.0), [2.42])[0] < 1e-5)
    True
    """
    free = np.concatenate([[0.0], np.geomspace(1e-4, 30.0, 2000)])
    odds = (1 - law.gamma) / law.gamma
    worst = np.maximum(profile.delta(free), profile.reversed.delta(free))
    shift = np.min((1 + law.eta) * np.log(np.exp(free) + odds * worst))
    return np.minimum(law.mean * profile.delta(np.asarray(epsilon, dtype=np.float64) - shift), 1.0)
