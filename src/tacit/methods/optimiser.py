"""Bayesian optimisation under known noise: where to look next, and which point to answer with.

    X, y    features (n, features) and values (n,) of observations, larger is better
    s^2     the known noise variance of one observation       k    observations of the same point, merged: noise s^2 / k
    t       number of observations                            u    coordinates of a point in the unit cube
    m       margins of a constraint, kept where m >= 0: a second column of y, with a model of its own

Everything here works on values that already carry their noise, so it is post-processing: hyperparameters of the
Gaussian process may be fitted to them, and any number of proposals may be made, at no cost.

The next point maximises log expected improvement over the best posterior mean, plus (5 / t) sum_j log(0.1 + 3.6 u_j
(1 - u_j)): the faces of a cube are where a model knows least, and in many dimensions nearly all of its volume. The
answer is the observed point of largest posterior mean among those that no other observation refutes. With a constraint
the acquisition is that times the probability that it is kept (Gardner et al. 2014), and the answer is one of those that
keep it with probability ``LIKELY``; if there are none, the one that is expected to come nearest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.gp.exact import GaussianProcess
from tacit.gp.fit import FittedModel, HyperPrior, fit
from tacit.gp.kernels import Matern52
from tacit.methods.warm_start import WarmStart
from tacit.space import Array, Params, Space

SCATTERED, NEARBY = 512, 32  # candidates over the whole cube, and around each of the best points at each distance
DISTANCES = (0.2, 0.1, 0.03, 0.01)
CENTRES, CLIMBS, STEPS = 3, 2, 8  # best points that are looked around; candidates that are climbed from, and how far
MOST, FITTED = 600, 300  # points on which a model rests, and its hyperparameters
ALWAYS, GROWTH = 60, 1.15  # the model is refitted at every trial up to so many, then when there are so much more
FEW = 20  # observations below which hyperparameters are searched for from several places at first only
FACES = 5.0  # weight of the dislike of faces, divided by the number of observations
LIKELY = 0.9  # probability that an answer keeps a constraint
REFUTED = 3.5  # known deviations of a difference by which another point is better, so that this one is no answer
LEAST, FAR = 1e-12, 25.0  # share of the prior variance that a posterior variance has; deviations beyond which h(z) = z
LIMITS = {"maxiter": STEPS}
PRIOR = HyperPrior(lengthscale=0.25, noise=-10.0)


@dataclass(frozen=True)
class BestGuess:
    """The chosen point, its expected value and the standard deviation of that expectation."""

    index: int
    value: float
    deviation: float


@dataclass(frozen=True)
class Looks:
    """Observations of the same point as one: points (m, features), means (m,), how many (m,), and the first of each."""

    points: Array
    means: Array
    counts: Array
    first: NDArray[np.intp]

    @classmethod
    def of(cls, X: Array, y: Array) -> Looks:
        """In the order in which points were first observed."""
        points, first, of, counts = np.unique(X, axis=0, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        means = np.bincount(of.ravel(), y) / counts
        return cls(points[order], means[order], counts[order].astype(float), first[order])


def find_refuted(means: Array, noise: Array, deviations: float = REFUTED) -> NDArray[np.bool_]:
    """Which of the points (m,), with observed ``means`` of this noise variance, another is better than.

    Better by more than so many standard deviations of the difference, as far as the known noise explains it. The best
    mean is never refuted, so there is always an answer.

    >>> find_refuted(np.array([0.0, 1.0, 1.2]), np.array([0.01, 0.01, 0.04])).tolist()
    [True, False, False]
    """
    apart = deviations * np.sqrt(np.add.outer(noise, noise))
    return np.asarray((np.subtract.outer(means, means) < -apart).any(axis=1))


class Optimiser:
    """Proposals and answers over a space, from observations whose noise variance is known. Larger is better throughout.

    ``noise`` is the known variance of one observation. With ``candidates`` proposals come from that list alone. With
    ``public`` the model knows public trials too; they are no answer. ``margin_noise`` is the known variance of a
    margin: values are then (n, 2), with the margins of a constraint as their second column.
    """

    def __init__(
        self,
        space: Space,
        noise: float,
        candidates: Sequence[Params] | None = None,
        seed: int = 0,
        public: WarmStart | None = None,
        margin_noise: float | None = None,
    ) -> None:
        self.space, self.noise, self.seed, self.public = space, noise, seed, public
        self.margins = None if margin_noise is None else Optimiser(space, margin_noise, seed=seed)
        self.candidates = list(candidates) if candidates is not None else None
        self._listed = space.features(self.candidates) if self.candidates else None
        self._fitted: FittedModel | None = None
        self._fitted_on = self._searched_on = 0  # points at the last fit, and at the last one from several places

    def model(self, looks: Looks, *, final: bool = False) -> GaussianProcess:
        """The posterior given what was observed; for an answer, of a model that is fitted from several places."""
        n, d = looks.points.shape
        rows = _rows_of(n)
        X, y, noise = looks.points[rows], looks.means[rows], self.noise / looks.counts[rows]
        if self.public is not None and (known := self.public.translate(X, y)) is not None:
            X, y = np.concatenate([self.public.X, X]), np.concatenate([known[0], y])
            noise = np.concatenate([np.full(len(known[0]), known[1]), noise])
        warm = None if final and n >= FEW else self._fitted
        if warm is None or n < self._fitted_on or n <= ALWAYS or n >= GROWTH * self._fitted_on:
            afresh = warm is None or (n >= FEW and n >= 2 * self._searched_on)
            some, kernel = _evenly(len(y), FITTED), Matern52((PRIOR.lengthscale * math.sqrt(d),) * d)
            restarts = 2 if afresh else 0
            self._fitted = fit(kernel, X[some], y[some], noise=noise[some], warm=warm, restarts=restarts, prior=PRIOR)
            self._fitted_on, self._searched_on = n, n if afresh else self._searched_on
        assert self._fitted is not None
        return self._fitted.condition(X, y, noise=noise)

    def propose(self, X: Array, y: Array, pending: Array) -> Params:
        """The point of largest acquisition, given that pending points are being observed."""
        values, limit = self._columns_of(X, y)
        looks = Looks.of(X, values)
        gp = self.model(looks)
        at = mean_at(gp, looks.points)
        best = float(at.max())
        if limit is not None:
            kept = limit(looks.points) >= math.log(0.5)
            best = float(at[kept].max()) if kept.any() else float(at.min() - 10 * np.ptp(at))  # then any is better
        for x in pending:  # believe the mean, so that the next proposal looks elsewhere
            expected = float(mean_at(gp, x[None])[0])
            gp.append(x, expected, noise=self.noise + gp.noise)
            best = max(best, expected)
        if self.candidates and self._listed is not None:
            value = log_improvement(gp, self._listed, best)
            return self.candidates[int(np.argmax(value if limit is None else value + limit(self._listed)))]
        acquisition = _Acquisition(self.space, gp, best, FACES / (len(y) + len(pending)), limit)
        centres = looks.points[np.argsort(-at)[:CENTRES]]
        cube = self._scatter_candidates(self._cube_of(centres), len(y))
        values = acquisition(cube)
        climbed = acquisition.climb(cube[np.argsort(-values)[:CLIMBS]])
        both = np.concatenate([cube, climbed])
        best = int(np.argmax(np.concatenate([values, acquisition(climbed)])))
        return self.space.params(both[[best]])[0]

    def answer(self, X: Array, y: Array) -> BestGuess:
        """The observed point of largest posterior mean among those that no other refutes and that keep a constraint."""
        values, limit = self._columns_of(X, y, final=True)
        looks, mean, variance = self.expect(X, values)
        able = np.ones(len(mean), bool)
        if limit is not None:
            able, margins = limit(looks.points) >= math.log(LIKELY), mean_at(limit.gp, looks.points)
            able = able if able.any() else margins == margins.max()
        able[able] = ~find_refuted(looks.means[able], self.noise / looks.counts[able])
        i = int(np.argmax(np.where(able, mean, -math.inf)))
        return BestGuess(int(looks.first[i]), float(mean[i]), math.sqrt(float(variance[i])))

    def _columns_of(self, X: Array, y: Array, *, final: bool = False) -> tuple[Array, Limit | None]:
        """Values (n,), and what says how likely the constraint is kept."""
        if self.margins is None:
            return y, None
        return y[:, 0], Limit(self.margins.model(Looks.of(X, y[:, 1]), final=final))

    def expect(self, X: Array, y: Array) -> tuple[Looks, Array, Array]:
        """The points that were observed, and the mean and variance (m,) of what is expected of each."""
        looks = Looks.of(X, y)
        return looks, *self.model(looks, final=True).posterior(looks.points)

    def _scatter_candidates(self, centres: Array, n: int) -> Array:
        """Points of the cube: over the whole cube, and around the centres at several distances."""
        generator = np.random.default_rng((self.seed, n))
        d = self.space.dimensions
        cube = np.empty((SCATTERED + len(DISTANCES) * len(centres) * NEARBY, d))
        generator.random(out=cube[:SCATTERED])
        near = cube[SCATTERED:].reshape(len(DISTANCES), len(centres), NEARBY, d)
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
        columns = []
        for at, width in _columns(self.space):
            block = X[:, at : at + abs(width)]
            columns.append(block[:, 0] if width < 0 else (block.argmax(axis=1) + 0.5) / width)
        return np.stack(columns, axis=1)


class _Acquisition:
    """Log expected improvement and the dislike of faces, at points of the cube; and climbs along their slope."""

    def __init__(
        self, space: Space, gp: GaussianProcess, best: float, weight: float, limit: Limit | None = None
    ) -> None:
        self.space, self.gp, self.best, self.weight, self.limit = space, gp, best, weight, limit
        columns = _columns(space)
        self._numbers = [j for j, (_, width) in enumerate(columns) if width < 0]  # coordinates that are no choices
        self._features = [at for at, width in columns if width < 0]  # where the features have them

    def __call__(self, cube: Array) -> Array:
        """Values (n,) at points (n, dimensions)."""
        features = self.space.features_at(cube)
        value = log_improvement(self.gp, features, self.best)
        if self.limit is not None:
            value = value + self.limit(features)
        return np.asarray(value + self._of_faces(cube[:, self._numbers])[0])

    def climb(self, starts: Array) -> Array:
        """Where climbs from these points (n, dimensions) end; choices stay, whole numbers are rounded by the space."""
        from scipy.optimize import minimize

        numbers = self._numbers
        if not numbers:
            return starts
        features, shape, weights = self.space.features_at(starts), (len(starts), len(numbers)), self.gp.weights

        def loss(flat: Array) -> tuple[float, Array]:
            features[:, self._features] = u = flat.reshape(shape)
            value, slope = improvement_slope(self.gp, features, self.best, weights)
            if self.limit is not None:
                also, steep = self.limit.slope(features)
                value, slope = value + also, slope + steep
            faces, lean = self._of_faces(u)
            return -float(value.sum() + faces.sum()), -(slope[:, self._features] + lean).ravel()

        start = starts[:, numbers].ravel()
        end = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * start.size, options=LIMITS).x
        climbed = starts.copy()
        climbed[:, numbers] = np.clip(end, 0.0, 1.0).reshape(shape)
        return climbed

    def _of_faces(self, u: Array) -> tuple[Array, Array]:
        inside = 0.1 + 3.6 * u * (1 - u)
        return self.weight * np.log(inside).sum(axis=1), self.weight * 3.6 * (1 - 2 * u) / inside


class Limit:
    """The log probability that a constraint is kept, by a model of its margins."""

    def __init__(self, gp: GaussianProcess) -> None:
        self.gp, self.weights = gp, gp.weights

    def __call__(self, X: Array) -> Array:
        """At features X (n, features); (n,)."""
        from scipy.special import log_ndtr

        mean, variance = self.gp.posterior(X)
        return np.asarray(log_ndtr(mean / np.sqrt(np.maximum(variance, LEAST * self.gp.kernel.variance))))

    def slope(self, X: Array) -> tuple[Array, Array]:
        """The same at a few X, and its slope (n, features)."""
        from scipy.special import log_ndtr

        z, s, of_mean, of_variance = _standardise(self.gp, X, 0.0, self.weights)
        value = log_ndtr(z)
        steep = np.exp(-0.5 * z * z - 0.5 * math.log(2 * math.pi) - value)  # of log Phi
        return np.asarray(value), (steep / s)[:, None] * of_mean - (steep * z / (2 * s * s))[:, None] * of_variance


def log_improvement(gp: GaussianProcess, X: Array, best: float) -> Array:
    """log E max(f - best, 0) at features X (n, features); (n,)."""
    mean, variance = gp.posterior(X)
    s = np.sqrt(np.maximum(variance, LEAST * gp.kernel.variance))
    return np.asarray(np.log(s) + _log_h((mean - best) / s)[0])


def improvement_slope(gp: GaussianProcess, X: Array, best: float, weights: Array) -> tuple[Array, Array]:
    """The same, and its slope (n, features), at a few X; ``weights`` are those of the process."""
    z, s, of_mean, of_variance = _standardise(gp, X, best, weights)
    log_h, steep = _log_h(z)
    # d log s = dv / 2v;  dz = dm / s - z dv / 2v
    by_variance = (1 - z * steep) / (2 * s * s)
    return np.log(s) + log_h, (steep / s)[:, None] * of_mean + by_variance[:, None] * of_variance


def _standardise(gp: GaussianProcess, X: Array, best: float, weights: Array) -> tuple[Array, Array, Array, Array]:
    """z = (m - best) / s and s at X (n, features), and the slopes (n, features) of the mean m and the variance s^2."""
    from scipy.linalg.blas import dtrsm

    K, K1 = gp.kernel.with_first(X, gp.points)  # (n, t), (n, t, features)
    B = gp.whiten(K.T)
    variance = np.maximum(gp.kernel.variance - np.einsum("ij,ij->j", B, B), LEAST * gp.kernel.variance)
    s = np.sqrt(variance)
    z = (gp.prior_mean + K @ weights - best) / s
    of_mean, solved = weights @ K1, dtrsm(1.0, gp.factor.T, B.T, side=1, trans_a=1)
    return z, s, of_mean, -2 * np.matmul(solved[:, None], K1)[:, 0]


def _log_h(z: Array) -> tuple[Array, Array]:
    """log h(z) and its derivative for h(z) = phi(z) + z Phi(z), the expected improvement in deviations.

    h = phi (1 + z M) with the Mills ratio M = Phi / phi; far above it is z, far below phi / z^2.
    """
    from scipy.special import erfcx

    z = np.maximum(z, -1e6)
    mills = math.sqrt(math.pi / 2) * erfcx(-np.minimum(z, FAR) / math.sqrt(2))
    share = np.where(z < -1e4, 1 / np.maximum(z * z, 1.0), np.maximum(1 + np.minimum(z, FAR) * mills, 1e-300))
    log_h = np.where(z > FAR, np.log(np.maximum(z, 1.0)), np.log(share) - 0.5 * z * z - 0.5 * math.log(2 * math.pi))
    return log_h, np.where(z > FAR, 1 / np.maximum(z, 1.0), np.where(z < -1e4, -z, mills / share))


def mean_at(gp: GaussianProcess, features: Array) -> Array:
    """The posterior mean (n,)."""
    return np.asarray(gp.prior_mean + gp.weights @ gp.kernel(gp.points, features))


def _columns(space: Space) -> list[tuple[int, int]]:
    """For each parameter its first feature, and how many it has: -1 for a number."""
    columns, at = [], 0
    for d in space.distributions.values():
        options = getattr(d, "choices", None)
        columns.append((at, -1 if options is None else len(options)))
        at += abs(columns[-1][1])
    return columns


def _rows_of(n: int) -> NDArray[np.intp]:
    """Which of n points a model rests on: all, or the latest half of ``MOST`` and as many others, evenly spread."""
    if n <= MOST:
        return np.arange(n)
    early = n - MOST // 2
    return np.append(_evenly(early, MOST - MOST // 2), np.arange(early, n))


def _evenly(n: int, most: int) -> NDArray[np.intp]:
    """At most so many of n places, from the first to the last."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


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
