"""Games of the mechanisms. The values that enter are as far apart as the declared sensitivity allows."""

from __future__ import annotations

import numpy as np

from tacit.audit.game import Game, Outputs
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import Exponential, Gaussian, Laplace
from tacit.privacy.noise import Simulation, Source


def gaussian() -> Game:
    """Gaussian noise on a number that moves by the whole sensitivity."""
    mechanism = Gaussian(1.0, budget=Budget.gdp(1.0))

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return noise.gaussian(np.full(runs, float(side)), mechanism.scale)

    return Game("gaussian", "a number at 0, its neighbour at 1 = the sensitivity", mechanism.guarantee.budget, draw)


def laplace() -> Game:
    """Laplace noise on a number that moves by the whole sensitivity."""
    mechanism = Laplace(1.0, budget=Budget.pure(1.0))

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return noise.laplace(np.full(runs, float(side)), mechanism.scale)

    return Game("laplace", "a number at 0, its neighbour at 1 = the sensitivity", mechanism.guarantee.budget, draw)


def exponential() -> Game:
    """A choice among twenty: one score rises by the sensitivity where all others fall by it."""
    mechanism = Exponential(1.0, budget=Budget.pure(1.0))
    scores = np.zeros(20), np.r_[1.0, np.full(19, -1.0)]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        if isinstance(noise, Simulation):  # the same comparison of noisy scores, many at once
            noisy = scores[side] + noise.generator.gumbel(0.0, mechanism.scale, (runs, 20))
            return np.asarray(np.argmax(noisy, axis=1))
        return np.array([noise.gumbel_argmax(scores[side], mechanism.scale) for _ in range(runs)])

    about = "20 candidates; the neighbour's first score rises by the sensitivity, all others fall by it"
    return Game("exponential", about, mechanism.guarantee.budget, draw)


def bounded_mean(records: int = 10) -> Game:
    """A mean of bounded losses: one record's loss is at the one end of the bounds, then at the other."""
    mean = BoundedMean(records, (0.0, 1.0), budget=Budget.gdp(1.0))
    totals = [mean.prepare(np.r_[float(side), np.zeros(records - 1)]) for side in (0, 1)]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return means(mean, totals[side], runs, noise)

    about = f"{records} records in [0, 1]; one record's loss goes from 0 to 1"
    return Game("mean", about, mean.guarantee.budget, draw)


def means(mean: BoundedMean, total: int, runs: int, noise: Source) -> Outputs:
    """``runs`` noisy means of one total of whole steps."""
    if isinstance(noise, Simulation):  # the same whole numbers, many at once
        noisy = total + np.rint(noise.generator.normal(0.0, mean.whole_scale, runs))
        return np.asarray(mean.bounds[0] + mean.width * (noisy / (mean.records * 2.0**32)))
    return np.array([mean.mean_of(noise.gaussian_whole(total, mean.whole_scale)) for _ in range(runs)])
