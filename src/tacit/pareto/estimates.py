"""What the runs of a front say about mean errors, at settings that were tested and at others, with intervals.

    n     tested points                        s^2   noise of a value: the known part, and what is fitted on top, (n,)
    m, v  mean and variance of the model       y     a value: the mean of a point's runs, on the model's scale

The model is given the values as they were observed, never ones that it smoothed itself, and the noise that is on them.
Of a private front it is known. Otherwise runs scatter, and those with much privacy noise scatter many times more: two
runs or more of a point tell by how much (see ``scatter``). Single runs do not, since a model may take noise for shape:
the largest noise that the values do not refute is taken, even or falling with epsilon. An interval of 95% reaches as
far as Student's 99% with n less the fitted parameters degrees of freedom, or those of a point's scatter if that is
fewer, and further where the model was surer than it may be: by the root mean square of its leave-one-out residuals
(y - m) / sqrt(s^2 - v), if that is above 1. A search meets lucky runs and hyperparameters are fitted; measured by
``python -m benchmarks front_coverage`` on simulated fronts and ``pareto_tables`` on real ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.gp.exact import GaussianProcess
from tacit.gp.fit import FittedModel, fit
from tacit.gp.kernels import Matern52
from tacit.gp.threads import one_thread
from tacit.pareto.surrogate import Scale
from tacit.space import Array, Space

if TYPE_CHECKING:
    from tacit.pareto.front import Point

LEAST = 3  # points that a model needs
LEVEL = 0.995  # Student's quantile, for each end
PRIOR = 4.0  # degrees of freedom that the trend of scatter over epsilon counts for, beside a point's own runs
FALLS = (0.0, 0.5, 1.0)  # powers of 1 / epsilon by which the noise of single runs may grow
SHARES = (0.003, 0.01, 0.03, 0.1, 0.3)  # of the variance of all values, at the middle epsilon
REFUTED = 4.0  # log likelihood below the best at which a noise is no longer believed: 99.5% for one parameter
SOME = 64  # points on which shapes of noise are compared


@dataclass(frozen=True)
class ErrorModel:
    """A Gaussian process of mean errors on its scale, and how many deviations its intervals reach."""

    gp: GaussianProcess
    scale: Scale
    reach: float

    @classmethod
    def of(cls, space: Space, points: Sequence[Point], noise: float) -> ErrorModel:
        """From the runs of at least three points; ``noise`` is the known standard deviation of their mean, or 0."""
        from scipy.special import stdtrit

        X, errors = space.features([p.params for p in points]), np.array([1.0 - p.observation for p in points])
        scale = Scale("linear" if noise else "logit")
        y = scale.forward(errors)
        with one_thread():
            known = np.full(len(y), noise**2) if noise else _run_noise(X, y, points, scale)
            fitted = _fit(X, y, known)
            gp = fitted.condition(X, y, noise=known)
            mean, variance = gp.posterior(X)
        free = np.maximum(known + fitted.noise - variance, 1e-9 * gp.kernel.variance)
        misfit = float(np.sqrt(np.mean((y - mean) ** 2 / free)))
        fewest = min(len(p.runs) for p in points)
        freedom: float = max(LEAST, len(points) - space.dimensions - 2)
        if not noise and fewest > 1:  # no more than the scatter of a point's runs has
            freedom = min(freedom, fewest - 1 + PRIOR)
        return cls(gp, scale, float(stdtrit(freedom, LEVEL)) * max(1.0, misfit))

    def errors(self, features: Array) -> tuple[Array, Array, Array]:
        """Median and ends of the interval of the mean error at each row of features, (m,) each."""
        with one_thread():
            mean, variance = self.gp.posterior(features)
        wide = self.reach * np.sqrt(variance)
        return self.scale.inverse(mean), self.scale.inverse(mean - wide), self.scale.inverse(mean + wide)


def scatter(points: Sequence[Point], scale: Scale) -> Array:
    """Variance of the mean of each point's runs, (n,), on the scale; at least two runs each.

    A point's own runs are few, so they are weighed with a trend of all points: a straight line of log variance over log
    epsilon, fitted to the logarithms of their variances, whose mean is that of log chi-square.
    """
    from scipy.special import digamma

    runs = [scale.forward(1.0 - np.array(p.runs)) for p in points]
    own, freedom = np.array([r.var(ddof=1) for r in runs]), np.array([len(r) - 1.0 for r in runs])
    seen = own > 0
    if not seen.any():
        return np.zeros(len(points))
    x = np.log(np.maximum([p.epsilon for p in points], 1e-9))
    x -= x.mean()
    logs = np.log(own[seen]) - (digamma(freedom[seen] / 2) - np.log(freedom[seen] / 2))
    spread = float(x[seen] @ x[seen])
    slope = float(x[seen] @ (logs - logs.mean())) / (spread + 2.0)  # as if two points more had no slope
    trend = np.exp(np.clip(logs.mean() + slope * (x - x[seen].mean()), -40.0, 5.0))
    return np.asarray((freedom * own + PRIOR * trend) / (freedom + PRIOR) / (freedom + 1))


def _fit(X: Array, y: Array, known: Array, warm: FittedModel | None = None) -> FittedModel:
    kernel = Matern52((0.5 * math.sqrt(X.shape[1]),) * X.shape[1])
    return fit(kernel, X, y, noise=known, warm=warm, restarts=2 if warm is None else 0)


def _run_noise(X: Array, y: Array, points: Sequence[Point], scale: Scale) -> Array:
    """The noise of values that is not fitted as one number for all, (n,)."""
    if all(len(p.runs) > 1 for p in points):
        return scatter(points, scale)
    if not y.var() > 0:
        return np.zeros(len(y))
    some = np.unique(np.linspace(0, len(y) - 1, SOME).round().astype(np.intp)) if len(y) > SOME else np.arange(len(y))
    x = np.log(np.maximum([p.epsilon for p in points], 1e-9))
    x -= np.median(x)
    shapes = [y.var() * np.minimum(share * np.exp(-power * x), 1.0) for power in FALLS for share in SHARES]
    even = _fit(X[some], y[some], np.zeros(len(some)))
    found = [_fit(X[some], y[some], known[some], even).objective for known in shapes]
    best = max(even.objective, *found)
    likely = [known for known, objective in zip(shapes, found, strict=True) if objective > best - REFUTED]
    return max(likely, key=lambda known: float(np.log(known).sum()), default=np.zeros(len(y)))
