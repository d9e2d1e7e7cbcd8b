"""How much a point is worth trying, for thousands of candidates at once.

    (E, 1)  reference point               F(x)    lowest error of the front at epsilon <= x; else the reference's
    e       epsilon of a candidate        I(e, f) hypervolume gained by (e, f): integral over x in [e, E] of (F(x) - f)+
    z       its error on the model's scale: f = g(z), g increasing, z ~ N(mean, deviation^2)

F is a staircase, so with G its integral, and a(f) the place where it falls to f, I(e, f) = G(a) - G(e) - f (a - e).
All shapes are (n,) over candidates; (n, k) over candidates and nodes or steps inside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.pareto.dominance import nondominated
from tacit.pareto.surrogate import Scale
from tacit.space import Array

NODES = 32  # gains within 1% for 99 of 100 candidates: the staircase has kinks
DEEP = 7.0  # standard deviations around its mean that an error is followed


@dataclass(frozen=True)
class Staircase:
    """F between ``x[j]`` and ``x[j + 1]`` is ``f[j]``: x (k + 2,) from below every epsilon to E, f (k + 1,) falling."""

    x: Array
    f: Array

    @classmethod
    def of(cls, points: Array, reference: Sequence[float]) -> Staircase:
        """The staircase of points (n, 2) of epsilon and error; those beyond the reference do not count."""
        inside = points[(points < np.asarray(reference)).all(axis=1)] if len(points) else np.empty((0, 2))
        front = inside[nondominated(inside)]
        front = front[np.argsort(front[:, 0])]
        start = min(0.0, float(front[0, 0]) if len(front) else 0.0)
        return cls(np.r_[start, front[:, 0], reference[0]], np.r_[reference[1], front[:, 1]])

    def gain(self, e: Array, f: Array) -> Array:
        """I(e, f), exactly; e and f broadcast."""
        area = np.r_[0.0, np.cumsum(self.f * np.diff(self.x))]
        e = np.clip(e, self.x[0], self.x[-1])
        at = np.clip(np.searchsorted(self.x, e, side="right") - 1, 0, len(self.f) - 1)
        before = area[at] + self.f[at] * (e - self.x[at])
        # a(f): the end of the last step that is higher than f
        end = np.searchsorted(-self.f, -f, side="left")
        gain = area[end] - before - f * (self.x[end] - e)
        return np.where(self.x[end] > e, np.maximum(gain, 0.0), 0.0)

    def level(self, e: Array) -> Array:
        """F(e)."""
        at = np.clip(np.searchsorted(self.x, e, side="right") - 1, 0, len(self.f) - 1)
        return np.asarray(self.f[at])


def exact_privacy(front: Staircase, e: Array, mean: Array, deviation: Array, scale: Scale) -> Array:
    """Expected hypervolume gained when epsilon is known and only the error is modelled, (n,).

    E I(e, g(z)) over z ~ N(mean, deviation^2): Gauss-Legendre between the level F(e), above which nothing is gained,
    and 7 standard deviations below the mean, narrowed in the tail so that small gains keep their order.
    Candidates with epsilon at or beyond the reference are worth 0.
    """
    worth = np.zeros(len(e))
    at = np.flatnonzero((e < front.x[-1]) & np.isfinite(e))
    if not len(at):
        return worth
    e, mean, sd = e[at], mean[at], np.maximum(deviation[at], 1e-9)
    with np.errstate(divide="ignore", over="ignore"):
        top = np.clip((scale.forward_exact(front.level(e)) - mean) / sd, -35.0, DEEP)
    # far below the mean the density falls by e within 1/|top| standard deviations
    reach = np.where(top > -2.0, top + DEEP, 24.0 / np.maximum(-top, 2.0))
    x, w = _legendre()
    u = top[:, None] - reach[:, None] * x
    density = np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)
    gain = front.gain(e[:, None], scale.inverse(mean[:, None] + sd[:, None] * u))
    worth[at] = reach * ((density * gain) @ w)
    return worth


def exact_privacy_and_cost(
    points: Array, reference: Sequence[float], known: tuple[Array, Array], error: tuple[Array, Array], scale: Scale
) -> Array:
    """The same with a third objective: expected volume gained when epsilon and cost are ``known``, (n,).

    ``points`` (k, 3) are epsilon, error and cost; ``error`` is mean and deviation on the model's scale. With F(x, y)
    the lowest error of the front at epsilon <= x and cost <= y, the volume is the integral of E (F(x, y) - f)+. F takes
    few values, so it is a sum over them: how much E (. - f)+ rises from one value to the next, times the area on which
    F is no lower, which is what (epsilon, cost) gains over the points of lower error.
    """
    inside = points[(points < np.asarray(reference)).all(axis=1)] if len(points) else np.empty((0, 3))
    front = inside[nondominated(inside)]
    worth, before, nothing = (np.zeros(len(known[0])) for _ in range(3))
    for level in np.r_[np.unique(front[:, 1]), reference[1]]:
        below = exact_privacy(Staircase(np.array([0.0, 1.0]), np.array([level])), nothing, *error, scale)
        lower = front[front[:, 1] < level][:, [0, 2]]
        worth += (below - before) * Staircase.of(lower, (reference[0], reference[2])).gain(*known)
        before = below
    return worth


def hvpoi(
    front: Staircase,
    first: tuple[Array, Array],
    second: tuple[Array, Array],
    scales: tuple[Scale, Scale],
    *,
    region: Staircase | None = None,
) -> Array:
    """Hypervolume-based probability of improvement, as published: two models, of epsilon and of the error.

    ``first`` and ``second`` are mean and deviation on the models' scales (log epsilon and logit error).

    Follows. Avent et al. (2020), equations 1 to 3: the hypervolume gained at the two means, times the probability of
    landing where no point of the front dominates. The paper leaves open on which scale the volume is taken; an
    anti-ideal error of 1 is infinite on the logit scale, so here it is the scale of the front.
    Differs. The probability is that of landing there before the anti-ideal point, where something is gained. Equation 1
    has no such end: ``region``, a staircase with an infinite reference, has none either.
    """
    gain = front.gain(scales[0].inverse(first[0]), scales[1].inverse(second[0]))
    region = region or front
    edges = np.r_[-np.inf, scales[0].forward_exact(region.x[1:])]
    levels = np.where(np.isinf(region.f), np.inf, scales[1].forward_exact(np.where(np.isinf(region.f), 0.5, region.f)))
    column = np.diff(_below(first, edges), axis=1)  # for each step, its column times the reach below its level
    return np.asarray(gain * np.einsum("nj,nj->n", column, _below(second, levels)))


def _below(normal: tuple[Array, Array], values: Array) -> Array:
    """P[N(mean, deviation^2) <= v], (n, k)."""
    from scipy.special import ndtr

    mean, deviation = normal
    return np.asarray(ndtr((values[None, :] - mean[:, None]) / np.maximum(deviation, 1e-9)[:, None]))


@lru_cache(maxsize=1)
def _legendre() -> tuple[Array, Array]:
    """Nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    return (1 + x) / 2, w / 2
