"""What released observations say about the objective: where to look next, and which point to answer with.

Everything here works on values that already carry their noise, so it is post-processing: hyper-parameters of the
Gaussian process may be fitted to them, and any number of proposals may be made, at no cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.gp.exact import GaussianProcess
from tacit.gp.fit import FittedModel, fit
from tacit.gp.kernels import Matern52
from tacit.space import Array, Params, Space

SCATTERED = 256, 128  # candidates over the whole space, at first and when much is known of it
NEARBY = 32, 24  # candidates around each of the best points, at each of these distances
PLENTY = 50  # observations from which on there are fewer candidates, the more observations the fewer
DISTANCES = (0.2, 0.05, 0.01)
MOST, FITTED = 1000, 400  # observations on which a model rests, and its hyper-parameters
FEW = 20  # observations below which hyper-parameters are looked for from several places at first only
WIDTH = 2.0  # standard deviations of optimism


@dataclass(frozen=True)
class BestGuess:
    """The chosen point, its expected value and the standard deviation of that expectation."""

    index: int
    value: float
    deviation: float


class Surrogate:
    """A Gaussian process over a space that knows the noise of its observations. Larger is better throughout.

    ``noise`` is the known variance of each observation. More noise, from the objective's own chance, is fitted on top.
    With ``candidates`` proposals come from that list alone.
    """

    def __init__(self, space: Space, noise: float, candidates: Sequence[Params] | None = None, seed: int = 0) -> None:
        self.space, self.noise, self.seed = space, noise, seed
        self.candidates = list(candidates) if candidates is not None else None
        self._listed = space.features(self.candidates) if self.candidates else None
        self._fitted: FittedModel | None = None
        self._gp: GaussianProcess | None = None  # with that fit, given the observations so far
        self._rows = np.arange(0)  # the observations in it
        self._fitted_on = self._searched_on = 0  # observations at the last fit, and at the last one from several places

    def model(self, X: Array, y: Array, *, final: bool = False) -> GaussianProcess:
        """The posterior given y (n,) at features X (n, features); refitted when y has grown by half.

        Of many, when they have doubled, other places than the last fit are tried too, and so for an answer. Beyond
        ``MOST`` it rests on the latest half of so many and on as many of the others, evenly spread, whatever their
        values; what comes then is appended until it is half as many again.
        """
        n, warm = len(y), None if final and len(y) >= FEW else self._fitted
        full = len(self._rows) > 3 * MOST // 2
        if warm is None or full or (2 * n >= 3 * self._fitted_on or n > self._fitted_on < 4):
            self._rows = _rows_of(n)
            kernel = Matern52((0.5 * math.sqrt(X.shape[1]),) * X.shape[1])
            afresh = warm is None or (n >= FEW and n >= 2 * self._searched_on)
            some = self._rows[_evenly(len(self._rows), FITTED)]
            self._fitted = fit(kernel, X[some], y[some], noise=self.noise, warm=warm, restarts=2 if afresh else 0)
            self._fitted_on, self._searched_on = n, n if afresh else self._searched_on
            self._gp = None
        assert self._fitted is not None
        if (gp := self._gp) is None or not np.array_equal(gp.points, X[self._rows]):  # trials may finish out of turn
            self._rows = _rows_of(n)
            gp = self._fitted.condition(X[self._rows], y[self._rows], noise=self.noise)
        for i in range(self._rows[-1] + 1, n):
            gp.append(X[i], float(y[i]))
            self._rows = np.append(self._rows, i)
        self._gp = gp
        return gp

    def propose(self, X: Array, y: Array, pending: Array) -> Params:
        """The point of largest upper confidence bound, given that pending points are being observed.

        Two standard deviations, tried against expected improvement and its noisy form on four test functions: as good
        at little noise, better at much.
        """
        gp = self.model(X, y)
        if len(pending):
            gp = deepcopy(gp)
        for x in pending:  # believe the mean, so that the next proposal looks elsewhere
            gp.append(x, float(_mean_at(gp, x[None])[0]))
        if self.candidates and self._listed is not None:
            return self.candidates[_most_hopeful(gp, self._listed)]
        cube = self._scatter_candidates(X, y, gp)
        return self.space.params(cube[[_most_hopeful(gp, self.space.features_at(cube))]])[0]

    def answer(self, X: Array, y: Array) -> BestGuess:
        """The observed point of largest posterior mean: not the luckiest observation."""
        gp = self.model(X, y, final=True)
        i = int(np.argmax(_mean_at(gp, X)))
        mean, variance = gp.posterior(X[[i]])
        return BestGuess(i, float(mean[0]), math.sqrt(float(variance[0])))

    def _scatter_candidates(self, X: Array, y: Array, gp: GaussianProcess) -> Array:
        """Points of the cube: over the whole cube, and around the three best points at several distances."""
        generator = np.random.default_rng((self.seed, len(y)))
        d = self.space.dimensions
        scattered, nearby = (
            max(least, min(most, most * PLENTY // max(1, len(y)))) for most, least in (SCATTERED, NEARBY)
        )
        centres = self._cube_of(X[np.argsort(-_mean_where_observed(gp, X, y))[:3]])
        cube = np.empty((scattered + len(DISTANCES) * len(centres) * nearby, d))
        generator.random(out=cube[:scattered])
        near = cube[scattered:].reshape(len(DISTANCES), len(centres), nearby, d)
        generator.standard_normal(out=near)
        near *= np.array(DISTANCES)[:, None, None, None]
        if d > 3:
            near *= generator.random(near.shape) < max(0.3, 3 / d)  # move a few coordinates at a time
        near += centres[:, None]
        return np.clip(cube, 0.0, 1.0, out=cube)

    def _cube_of(self, X: Array) -> Array:
        """Features back to the cube: a choice sits in the middle of its stretch."""
        if X.shape[1] == self.space.dimensions:  # no choices
            return X
        columns, at = [], 0
        for d in self.space.distributions.values():
            options = getattr(d, "choices", None)
            width = 1 if options is None else len(options)
            block = X[:, at : at + width]
            columns.append(block[:, 0] if options is None else (block.argmax(axis=1) + 0.5) / width)
            at += width
        return np.stack(columns, axis=1)


def _mean_at(gp: GaussianProcess, features: Array) -> Array:
    return np.asarray(gp.prior_mean + gp.weights @ gp.kernel(gp.points, features))


def _mean_where_observed(gp: GaussianProcess, X: Array, y: Array) -> Array:
    """The posterior mean (n,) at points that were observed; if all of them count, what was, less its noise's share."""
    if gp.ignored or len(gp) < len(y) or len(y) > MOST:
        return _mean_at(gp, X)
    return y - gp.noise * gp.weights[: len(y)]


def _rows_of(n: int) -> NDArray[np.intp]:
    """Which of n observations a model rests on."""
    if n <= MOST:
        return np.arange(n)
    early = n - MOST // 2
    return np.append(_evenly(early, MOST - MOST // 2), np.arange(early, n))


def _evenly(n: int, most: int) -> NDArray[np.intp]:
    """At most so many of n places, from the first to the last."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


def _most_hopeful(gp: GaussianProcess, features: Array) -> int:
    mean, variance = gp.posterior(features)
    return int(np.argmax(mean + WIDTH * np.sqrt(variance)))


def expected_improvement(mean: Array, variance: Array, best: float) -> Array:
    """E max(f - best, 0) for f ~ N(mean, variance); (n,)."""
    from scipy.special import erfc

    deviation = np.sqrt(np.maximum(variance, 1e-300))
    z = (mean - best) / deviation
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    improvement: Array = deviation * (density + z * 0.5 * erfc(-z / math.sqrt(2)))
    return improvement


@lru_cache(maxsize=32)
def sobol_points(dimensions: int, n: int, seed: int) -> Any:
    """n first points of a scrambled Sobol sequence, (n, dimensions)."""
    from scipy.stats import qmc

    return qmc.Sobol(dimensions, seed=seed).random_base2(max(1, math.ceil(math.log2(n))))[:n]
