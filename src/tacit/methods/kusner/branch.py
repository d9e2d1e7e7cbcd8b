"""The sampler of de Freitas, Smola and Zoghi (2012) for exact observations: branch and bound on a lattice.

R       relevant candidates: those that may still be the maximiser
h       spacing: every relevant candidate gets a sample within h; halved in each round
alpha   the bounds may fail with this probability; beta_t = 2 log(|Lambda| t^2 / alpha)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tacit.errors import BadInput, count, probability
from tacit.gp.exact import GaussianProcess
from tacit.gp.form import Array


@dataclass(frozen=True, repr=False)
class Samples:
    """Indices and values in the order they were taken, and how many candidates stayed relevant. Private."""

    indices: list[int]
    values: list[float]
    relevant: list[int] = field(default_factory=list)  # after each round
    taken: list[int] = field(default_factory=list)  # evaluations made by the end of each round


def branch_and_bound(
    gp: GaussianProcess, points: Array, evaluate: Callable[[int], float], *, trials: int, alpha: float
) -> Samples:
    """Maximise over the candidates of a noise-free GP with at most ``trials`` evaluations.

    Follows. de Freitas, Smola and Zoghi (2012), Algorithm 1.
    Differs. The lattice is any finite set of candidates, and "densely enough" means a sample within the spacing of
    every relevant one, the highest upper bound first. The relevant region is the set of relevant candidates itself,
    not a ball around it.
    Edges. When one candidate is left, the remaining samples repeat the best one, unevaluated.

    >>> from tacit.gp.kernels import RBF
    >>> x = np.linspace(0, 1, 65)[:, None]
    >>> gp = GaussianProcess(RBF((0.2,)), candidates=x)
    >>> found = branch_and_bound(gp, x, lambda i: -float((x[i, 0] - 0.3) ** 2), trials=16, alpha=0.1)
    >>> round(float(x[found.indices[-1], 0]), 2)
    0.3
    """
    if count("trials", trials) and gp.noise:
        raise BadInput("branch and bound needs exact observations: a Gaussian process without noise")
    n = len(points)
    probability("alpha", alpha)
    R, h = np.arange(n), float(np.ptp(points, axis=0).max()) if n else 0.0
    samples, gap = Samples([], []), np.full(n, np.inf)
    while len(samples.indices) < trials and (gap[R] > 0).any():
        h /= 2  # sample twice as densely
        while len(samples.indices) < trials and (gap[R] > h).any():
            bare = R[gap[R] > h]
            upper = _bounds(gp, n, len(samples.indices), alpha)[1]
            i = int(bare[np.argmax(upper[bare])])
            value = evaluate(i)
            gp.append_candidate(i, value)
            samples.indices.append(i)
            samples.values.append(value)
            np.minimum(gap, np.linalg.norm(points - points[i], axis=1), out=gap)
        lower, upper = _bounds(gp, n, len(samples.indices), alpha)  # shrink the relevant region
        R = R[upper[R] >= lower[R].max()]
        samples.relevant.append(len(R))
        samples.taken.append(len(samples.indices))
    best = int(np.argmax(samples.values))
    rest = trials - len(samples.indices)
    return Samples(
        samples.indices + [samples.indices[best]] * rest,
        samples.values + [samples.values[best]] * rest,
        samples.relevant,
        samples.taken,
    )


def _bounds(gp: GaussianProcess, n: int, t: int, alpha: float) -> tuple[Array, Array]:
    width = np.sqrt(2 * math.log(n * max(t, 1) ** 2 / alpha) * gp.variance)
    return gp.mean - width, gp.mean + width
