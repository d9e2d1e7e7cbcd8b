"""Problems in the unit cube with one loss per record, for the studies of DP-GIBO. Losses lie in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.methods.gibo import GradientSearch, release
from tacit.methods.gibo.design import DescentSettings
from tacit.methods.task import Task
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation
from tacit.space import Float, Space


@dataclass(frozen=True)
class Problem:
    """Losses (n,) of a point of the cube (d,), and the least and the typical mean loss, where regret is 0 and 1."""

    name: str
    d: int
    records: int
    losses: Callable[[np.ndarray], np.ndarray]
    least: float
    typical: float

    @property
    def space(self) -> Space:
        return Space({f"x{j}": Float(0.0, 1.0) for j in range(self.d)})

    def function(self, params: dict[str, Any]) -> np.ndarray:
        return self.losses(np.array([params[f"x{j}"] for j in range(self.d)]))

    def regret(self, params: dict[str, Any]) -> float:
        return (float(self.function(params).mean()) - self.least) / (self.typical - self.least)


class Silent:
    """No noise: the non-private limit. Not for releases."""

    simulated = True

    def gaussian_whole(self, value: int, scale: float) -> int:
        return value

    def gumbel_argmax(self, scores: np.ndarray, scale: float) -> int:
        return int(np.argmax(scores))

    def gaussian_whole_array(self, values: np.ndarray, scale: float) -> np.ndarray:
        return values


def descent(problem: Problem, mu: float, trials: int, seed: int, options: dict[str, Any], noise: Any = None) -> Any:
    """One simulated run of DP-GIBO."""
    asked = Objective(problem.function, problem.records, (0.0, 1.0))
    settings = DescentSettings.of(options, (0.0, 1.0), problem.space)
    source = Simulation(seed) if noise is None else noise
    task = Task(asked, problem.space, Budget.gdp(mu), trials, noise=source, accept_noise=True, seed=seed)
    return release(GradientSearch(task, settings)).value


def _made(
    name: str, d: int, n: int, losses: Callable[[np.ndarray], np.ndarray], best: np.ndarray, seed: int
) -> Problem:
    rng = np.random.default_rng((seed, 99))
    typical = float(np.mean([losses(u).mean() for u in rng.random((30, d))]))
    # The best of many perturbed copies of the known optimum of the noiseless problem: close to the true least value.
    near = [best, *np.clip(best + 0.02 * rng.normal(size=(40, d)), 0, 1)]
    return Problem(name, d, n, losses, min(float(losses(u).mean()) for u in near), typical)


def bowl(d: int, n: int, seed: int) -> Problem:
    """A quadratic, steeper along some coordinates than others, with records that disagree."""
    rng = np.random.default_rng((seed, d, 1))
    target, steep = 0.05 + 0.9 * rng.random(d), np.exp(rng.normal(0, 0.7, d))
    centres = target + 0.2 * rng.normal(size=(n, d))
    scale = 1.5 / (d * steep.mean())

    def losses(u: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, ((u - centres) ** 2) @ steep * scale)

    return _made("bowl", d, n, losses, np.clip(centres.mean(axis=0), 0, 1), seed)


def valley(d: int, n: int, seed: int) -> Problem:
    """A curved, narrow valley: each coordinate should follow a bend of the one before."""
    rng = np.random.default_rng((seed, d, 2))
    shift, spread = 0.2 * rng.random(d) + 0.2, 0.1 * rng.normal(size=(n, 1))

    def losses(u: np.ndarray) -> np.ndarray:
        before = np.concatenate([[0.5], u[:-1]])
        off = u - shift - 0.8 * (before - 0.3) ** 2 + spread
        return np.minimum(1.0, 3.0 * (off**2).mean(axis=1))

    best = np.zeros(d)
    last = 0.5
    for j in range(d):
        last = best[j] = shift[j] + 0.8 * (last - 0.3) ** 2
    return _made("valley", d, n, losses, np.clip(best, 0, 1), seed)


def errors(d: int, n: int, seed: int) -> Problem:
    """Zero-one losses: each record is right inside its own ball around a shared centre, so no record has a slope."""
    rng = np.random.default_rng((seed, d, 3))
    target = 0.15 + 0.7 * rng.random(d)
    centres = target + 0.05 * rng.normal(size=(n, d))
    radius = rng.uniform(0.1, 0.8, n) * math.sqrt(d) * 0.7

    def losses(u: np.ndarray) -> np.ndarray:
        return (((u - centres) ** 2).sum(axis=1) > radius**2).astype(float)

    return _made("errors", d, n, losses, target, seed)


def waves(d: int, n: int, seed: int) -> Problem:
    """A bowl with ripples: a local search may stop on the way."""
    rng = np.random.default_rng((seed, d, 4))
    target = 0.1 + 0.8 * rng.random(d)
    centres = target + 0.05 * rng.normal(size=(n, d))

    def losses(u: np.ndarray) -> np.ndarray:
        off = u - centres
        return np.minimum(1.0, (1.2 * off**2 + 0.04 * (1 - np.cos(18 * off))).mean(axis=1))

    return _made("waves", d, n, losses, target, seed)


def lengths(d: int, n: int, seed: int, train: int = 80) -> Problem:
    """Length-scales in [0.05, 5], on a log scale, of a Gaussian-process regression: Sopa et al. 4.3, but smaller."""
    rng = np.random.default_rng((seed, d, 5))
    true = 0.05 * 100 ** (0.5 + 0.5 * rng.random(d))
    X = rng.normal(size=(train + n, d)) / math.sqrt(d)
    waves = rng.normal(size=(d, 500)) / true[:, None]
    f = np.sqrt(2 / 500) * np.cos(X @ waves + rng.uniform(0, 2 * np.pi, 500)) @ rng.normal(size=500)
    y = f + 0.1 * rng.normal(size=train + n)

    def losses(u: np.ndarray) -> np.ndarray:
        S = X / (0.05 * 100**u)
        A, B = S[:train], S[train:]
        a = (A * A).sum(axis=1)
        K = np.exp(-0.5 * np.maximum(a[:, None] + a - 2 * A @ A.T, 0)) + 0.01 * np.eye(train)
        k = np.exp(-0.5 * np.maximum((B * B).sum(axis=1)[:, None] + a - 2 * B @ A.T, 0))
        return np.minimum(1.0, (y[train:] - k @ np.linalg.solve(K, y[:train])) ** 2)

    return _made("lengths", d, n, losses, np.log(true / 0.05) / math.log(100), seed)


def basins(d: int, n: int, seed: int) -> Problem:
    """Two basins: the poorer one is wide and nearer to the middle, where a local search begins."""
    rng = np.random.default_rng((seed, d, 6))
    side = rng.choice([-1.0, 1.0], d)
    poor, good = 0.5 + 0.1 * side, 0.5 - 0.35 * side
    spread = 0.05 * rng.normal(size=(n, d))

    def losses(u: np.ndarray) -> np.ndarray:
        near, far = (((u - c - spread) ** 2).mean(axis=1) for c in (poor, good))
        return np.minimum(1.0, np.minimum(0.2 + 2 * near, 4 * far))

    return _made("basins", d, n, losses, good, seed)


def plateau(d: int, n: int, seed: int) -> Problem:
    """A hole in a plain: far from it there is next to no slope to follow."""
    rng = np.random.default_rng((seed, d, 8))
    target = 0.1 + 0.8 * rng.random(d)
    centres = target + 0.03 * rng.normal(size=(n, d))

    def losses(u: np.ndarray) -> np.ndarray:
        return 1 - np.exp(-((u - centres) ** 2).mean(axis=1) / (2 * 0.08**2))

    return _made("plateau", d, n, losses, target, seed)


ALL = (bowl, valley, errors, waves, lengths, basins, plateau)
