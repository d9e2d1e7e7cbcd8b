"""Delta of one step of a noisy sum over a random lot, exactly: what loss distributions are held against."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from tacit.privacy.dominating_pairs import POISSON, WITHOUT, _two_sided_outcome

Floats = NDArray[np.float64]


def step_delta(pair: str, s: ArrayLike, q: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Delta of one step at any real epsilon, in closed form; the arguments broadcast.

    >>> step_delta("without_replacement/replace_one", 1.0, 0.01, [0.0, 0.1]).round(6).tolist()
    [0.003829, 7.3e-05]
    """
    noise, rate, eps = (np.asarray(a, dtype=np.float64) for a in (s, q, epsilon))
    if pair == POISSON:
        return _one_sided_delta(noise, rate, eps)
    half = _one_sided_delta if pair == WITHOUT else _two_sided_delta
    above, below = half(noise, rate, np.abs(eps)), np.minimum(eps, 0)
    return np.where(eps >= 0, above, -np.expm1(below) + np.exp(below) * above)


def _one_sided_delta(s: Floats, q: Floats, epsilon: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = 1 + np.expm1(epsilon) / q
        outcome = 0.5 + s * s * np.log(np.maximum(r, 0.0))
        inside = q * (ndtr((1 - outcome) / s) - r * ndtr(-outcome / s))
    return np.asarray(np.where(r > 0, np.where(inside > 0, inside, 0.0), -np.expm1(epsilon)))


def _two_sided_delta(s: Floats, q: Floats, epsilon: Floats) -> Floats:
    outcome = _two_sided_outcome(s, q, epsilon)
    with np.errstate(over="ignore", invalid="ignore"):
        up, bulk, down = (ndtr((mean - outcome) / s) for mean in (1.0, 0.0, -1.0))
        found = q * (up - np.exp(epsilon) * down) - (1 - q) * np.expm1(epsilon) * bulk
    return np.asarray(np.where(found > 0, found, 0.0))
