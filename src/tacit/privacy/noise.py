"""Where noise comes from: exact samplers for releases, a seeded generator for simulations that say so.

Exact draws come from OpenDP: discrete Gaussian and discrete Laplace noise on a lattice far finer than the scale, and
Gumbel noise compared exactly, so that no rounding of floating-point numbers leaks. They cannot be seeded.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FINENESS = 40  # the lattice is 2^-40 of the scale, or finer
SMALLEST = -1074  # exponent of the smallest float


class Source(Protocol):
    """Adds noise to values, or picks the largest of noisy scores."""

    simulated: bool

    def gaussian(self, values: Array, scale: float) -> Array: ...
    def gaussian_whole(self, value: int, scale: float) -> int: ...
    def laplace(self, values: Array, scale: float) -> Array: ...
    def gumbel_argmax(self, scores: Array, scale: float) -> int: ...


class Exact:
    """OpenDP's exact samplers: for everything that is released."""

    simulated = False

    def gaussian(self, values: Array, scale: float) -> Array:
        return np.asarray(float_noise("gaussian", values.size, scale)(values.ravel()), float).reshape(values.shape)

    def gaussian_whole(self, value: int, scale: float) -> int:
        return int(whole_gaussian(scale)(int(value)))

    def laplace(self, values: Array, scale: float) -> Array:
        return np.asarray(float_noise("laplace", values.size, scale)(values.ravel()), float).reshape(values.shape)

    def gumbel_argmax(self, scores: Array, scale: float) -> int:
        return int(noisy_max(scale)(np.ascontiguousarray(scores, float)))

    def __repr__(self) -> str:
        return "Exact()"


class Simulation:
    """Seeded NumPy noise for tests and experiments. Whatever it touches is stamped *simulated, no guarantee*."""

    simulated = True

    def __init__(self, seed: int | np.random.Generator) -> None:
        self.generator = np.random.default_rng(seed)

    def gaussian(self, values: Array, scale: float) -> Array:
        return values + self.generator.normal(0.0, scale, values.shape)

    def gaussian_whole(self, value: int, scale: float) -> int:
        return int(value) + round(self.generator.normal(0.0, scale))

    def laplace(self, values: Array, scale: float) -> Array:
        return values + self.generator.laplace(0.0, scale, values.shape)

    def gumbel_argmax(self, scores: Array, scale: float) -> int:
        return int(np.argmax(scores + self.generator.gumbel(0.0, scale, scores.shape)))

    def __repr__(self) -> str:
        return "Simulation()"


EXACT = Exact()


def lattice(scale: float) -> int:
    """The exponent k of a lattice of spacing 2^k that is at most 2^-40 of the scale."""
    return max(SMALLEST, math.frexp(scale)[1] - 1 - FINENESS)


@lru_cache(maxsize=256)
def float_noise(kind: str, size: int, scale: float) -> Any:
    """OpenDP's measurement for a vector of floats; its privacy map includes the rounding to the lattice."""
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size)
    if kind == "gaussian":
        return (domain, dp.l2_distance(T=float)) >> dp.m.then_gaussian(scale=scale, k=lattice(scale))
    return (domain, dp.l1_distance(T=float)) >> dp.m.then_laplace(scale=scale, k=lattice(scale))


@lru_cache(maxsize=256)
def whole_gaussian(scale: float) -> Any:
    """OpenDP's discrete Gaussian on the integers."""
    dp = _opendp()
    return (dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")) >> dp.m.then_gaussian(scale=scale)


@lru_cache(maxsize=256)
def noisy_max(scale: float) -> Any:
    """OpenDP's exponential mechanism: the largest score after Gumbel noise."""
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    return (domain, dp.linf_distance(T=float)) >> dp.m.then_noisy_max(dp.zero_concentrated_divergence(), scale=scale)


def prepared() -> None:
    """Load the exact samplers. It takes a second or more, and so is done before a draw is claimed."""
    _opendp()


@lru_cache(maxsize=1)
def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp
