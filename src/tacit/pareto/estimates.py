"""What the runs of a front say about mean errors, at settings that were tested and at others, with intervals.

    n     tested points                        s^2   noise of a value: the known part, and what is fitted on top
    m, v  mean and variance of the model       y     a value: the mean of a point's runs, on the model's scale

The model is given the values as they were observed, never ones that it smoothed itself, and the noise that is known to
be on them. An interval of 95% reaches as far as Student's 99% with n less the fitted parameters degrees of freedom, and
further where the model was surer than it may be: by the root mean square of its leave-one-out residuals
(y - m) / sqrt(s^2 - v), if that is above 1. A search meets lucky runs and hyper-parameters are fitted; measured by
``tacit-bench front_coverage``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.gp.exact import GaussianProcess
from tacit.gp.threads import one_thread
from tacit.pareto.surrogate import ObjectiveModel, Scale
from tacit.space import Array, Space

if TYPE_CHECKING:
    from tacit.pareto.front import Point

LEAST = 3  # points that a model needs
LEVEL = 0.995  # Student's quantile, for each end


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
        model = ObjectiveModel("linear" if noise else "logit", noise**2)
        with one_thread():
            gp = model.posterior(X, errors, final=True)
            mean, variance = gp.posterior(X)
        free = np.maximum(gp.noise - variance, 1e-9 * gp.kernel.variance)
        misfit = float(np.sqrt(np.mean((model.scale.forward(errors) - mean) ** 2 / free)))
        freedom = max(LEAST, len(points) - space.dimensions - 2)
        return cls(gp, model.scale, float(stdtrit(freedom, LEVEL)) * max(1.0, misfit))

    def errors(self, features: Array) -> tuple[Array, Array, Array]:
        """Median and ends of the interval of the mean error at each row of features, (m,) each."""
        with one_thread():
            mean, variance = self.gp.posterior(features)
        wide = self.reach * np.sqrt(variance)
        return self.scale.inverse(mean), self.scale.inverse(mean - wide), self.scale.inverse(mean + wide)
