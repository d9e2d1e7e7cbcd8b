"""What finished trials say about untested hyperparameters: Gaussian processes on log epsilon and logit error.

A model refits its hyperparameters as points arrive, less often later, each time from where it was. Candidates are a
pool over the whole space, whose epsilons are computed once, and fresh ones around the front.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.errors import choice
from tacit.gp.exact import GaussianProcess
from tacit.gp.fit import FittedModel, fit
from tacit.gp.kernels import Matern52
from tacit.space import Array, Params, Space

Epsilons = Callable[[Sequence[Params]], Array]
CLIP = 2e-3  # errors nearer to 0 or 1 than this are modelled as if this near: a logit has no end
SMALLEST = 1e-9  # epsilons below are modelled as this


@dataclass(frozen=True)
class Scale:
    """An increasing change of scale on which values look Gaussian, and the way back."""

    name: str

    def __post_init__(self) -> None:
        choice("scale", self.name, ("log", "logit", "linear"))

    def forward(self, v: Array) -> Array:
        if self.name == "log":
            return np.asarray(np.log(np.clip(v, SMALLEST, 1 / SMALLEST)))
        if self.name == "logit":
            v = np.clip(v, CLIP, 1 - CLIP)
            return np.asarray(np.log(v) - np.log1p(-v))
        return np.asarray(v, float)

    def forward_exact(self, v: Array) -> Array:
        """Like forward, without limits: infinite at the ends."""
        with np.errstate(divide="ignore"):
            if self.name == "log":
                return np.asarray(np.log(v))
            return np.asarray(np.log(v) - np.log1p(-v)) if self.name == "logit" else np.asarray(v, float)

    def inverse(self, z: Array) -> Array:
        if self.name == "log":
            return np.asarray(np.exp(np.minimum(z, 700.0)))
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * z))) if self.name == "logit" else np.asarray(z, float)


class ObjectiveModel:
    """A Gaussian process (Matern 5/2) over a space for one objective, on its scale.

    ``noise`` is the known variance of each value, for released observations; noise of the runs is fitted on top.
    """

    def __init__(self, scale: str, noise: float = 0.0) -> None:
        self.scale, self.noise = Scale(scale), noise
        self._fitted: FittedModel | None = None
        self._fitted_on = 0
        self._held: tuple[Array, Array, GaussianProcess] | None = None

    def posterior(self, X: Array, values: Array, pool: Array | None = None, *, final: bool = False) -> GaussianProcess:
        """Given values (n,) at features X (n, features). A constant value is fine: its spread counts as 1.

        Mean and variance over the ``pool`` (m, features) come with it. What is returned may be kept here too: append to
        a copy. ``final`` looks longer for hyperparameters.
        """
        z, n = self.scale.forward(values), len(values)
        if self._fitted is None or final or n >= self._fitted_on + max(1, n // 16) or n < self._fitted_on:
            kernel = Matern52((0.5 * math.sqrt(X.shape[1]),) * X.shape[1])
            restarts = 2 if self._fitted is None or final or n < 24 else 0
            warm = None if final else self._fitted
            self._fitted, self._fitted_on = fit(kernel, X, z, noise=self.noise, warm=warm, restarts=restarts), n
            self._held = None
        if self._held is not None:
            old, was, gp = self._held
            k = len(was)
            if k <= n and np.array_equal(old, X[:k]) and np.array_equal(was, z[:k]):
                for x, v in zip(X[k:], z[k:], strict=True):
                    gp.append(x, float(v))
                self._held = (X, z, gp)
                return gp
        gp = self._fitted.condition(X, z, noise=self.noise, candidates=pool)
        self._held = (X, z, gp) if pool is not None else None
        return gp


@dataclass(frozen=True)
class Candidates:
    """Points of a space, as parameters and as features (n, features), with their computed epsilons (n,)."""

    params: list[Params]
    features: Array
    epsilon: Array

    @classmethod
    def at(cls, space: Space, cube: Array, epsilons: Epsilons | None) -> Candidates:
        params = space.params(cube)
        known = epsilons(params) if epsilons is not None else np.full(len(params), np.nan)
        return cls(params, space.features(params), known)

    def __add__(self, other: Candidates) -> Candidates:
        return Candidates(
            self.params + other.params,
            np.concatenate([self.features, other.features]),
            np.concatenate([self.epsilon, other.epsilon]),
        )


def points_around(
    space: Space, centres: Sequence[Params], distances: Sequence[float], each: int, seed: Sequence[int]
) -> Array:
    """Points of the cube around centres: ``each`` of them at each distance, a few coordinates moved at a time."""
    generator, d = np.random.default_rng(tuple(seed)), space.dimensions
    middle = space.cube(centres)[:, None, None, :]
    steps = generator.normal(0.0, 1.0, (len(centres), len(distances), each, d)) * np.asarray(distances)[:, None, None]
    steps *= generator.random(steps.shape) < max(0.3, min(1.0, 2.5 / d))
    return np.asarray(np.clip((middle + steps).reshape(-1, d), 0.0, 1.0))


def golden_points(dimensions: int, start: int, n: int, seed: int) -> Array:
    """n points of an evenly scattered sequence from its ``start``-th, shifted at random by seed, (n, dimensions).

    The additive recurrence of the generalised golden ratio: any stretch of it covers the cube evenly.
    """
    phi = 2.0
    for _ in range(64):
        phi = (1 + phi) ** (1 / (dimensions + 1))
    step = phi ** -np.arange(1.0, dimensions + 1)
    shift = np.random.default_rng(seed).random(dimensions)
    points: Array = (shift + np.outer(np.arange(start + 1, start + n + 1), step)) % 1.0
    return points
