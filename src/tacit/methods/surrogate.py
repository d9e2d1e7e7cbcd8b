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

from tacit.gp.exact import GaussianProcess
from tacit.gp.fit import FittedModel, fit
from tacit.gp.kernels import Matern52
from tacit.space import Array, Params, Space

SCATTERED = 512, 128  # candidates over the whole space, at first and when much is known of it
NEARBY = 64, 24  # candidates around each of the best points, at each of these distances
PLENTY = 50  # observations from which on there are fewer candidates, the more observations the fewer
DISTANCES = (0.2, 0.05, 0.01)
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
        self._fitted_on = self._searched_on = 0  # observations at the last fit, and at the last one from several places

    def model(self, X: Array, y: Array, *, final: bool = False) -> GaussianProcess:
        """The posterior given y (n,) at features X (n, features); refitted when y has grown by half.

        When it has doubled, other places than the last fit are tried too. Refitting at a twentieth, and trying other
        places up to 20 observations, found nothing better on surfaces of 2, 4 and 6 parameters.
        """
        n, warm = len(y), None if final else self._fitted
        if warm is None or n >= self._fitted_on + max(1, n // 3):
            kernel = Matern52((0.5 * math.sqrt(X.shape[1]),) * X.shape[1])
            afresh = warm is None or n >= 2 * self._searched_on
            self._fitted = fit(kernel, X, y, noise=self.noise, warm=warm, restarts=2 if afresh else 0)
            self._fitted_on, self._searched_on = n, n if afresh else self._searched_on
            self._gp = None
        assert self._fitted is not None
        if (gp := self._gp) is None or not np.array_equal(gp.points, X[: len(gp)]):  # trials may finish out of turn
            gp = self._fitted.condition(X, y, noise=self.noise)
        for x, value in zip(X[len(gp) :], y[len(gp) :], strict=True):
            gp.append(x, float(value))
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
        mean, variance = self.model(X, y, final=True).posterior(X)
        i = int(np.argmax(mean))
        return BestGuess(i, float(mean[i]), math.sqrt(float(variance[i])))

    def _scatter_candidates(self, X: Array, y: Array, gp: GaussianProcess) -> Array:
        """Points of the cube: over the whole cube, and around the three best points at several distances."""
        generator = np.random.default_rng((self.seed, len(y)))
        d = self.space.dimensions
        scattered, nearby = (
            max(least, min(most, most * PLENTY // max(1, len(y)))) for most, least in (SCATTERED, NEARBY)
        )
        cube = [generator.random((scattered, d))]
        top = np.argsort(-_mean_at(gp, X))[:3]
        centres = self._cube_of(X[top])
        for distance in DISTANCES:
            steps = generator.normal(0.0, distance, (len(centres), nearby, d))
            kept = generator.random(steps.shape) < max(0.3, min(1.0, 3 / d))  # move a few coordinates at a time
            cube.append((centres[:, None] + steps * kept).reshape(-1, d))
        return np.clip(np.concatenate(cube), 0.0, 1.0)

    def _cube_of(self, X: Array) -> Array:
        """Features back to the cube: a choice sits in the middle of its stretch."""
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
