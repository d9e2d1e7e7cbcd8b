"""Normals for trainers that only measure: seeded, quick, never for a release."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

LEVELS = 65_536


class FastNormals:
    """N(0, deviation^2) in single precision, five times as fast as ``rng.standard_normal``.

    Differs. Each draw is one of 65,536 equally likely quantiles, scaled to the right variance: no more than 1/131,072
    away in distribution, and never beyond 4.33 deviations. Good enough to measure what noise does to a model.
    """

    def __init__(self, rng: np.random.Generator, deviation: float) -> None:
        self.rng, self.values = rng, _quantiles() * np.float32(deviation)

    def fill(self, out: NDArray[np.float32]) -> None:
        """Fresh draws in ``out`` (n,)."""
        bits: NDArray[np.uint64] = np.asarray(self.rng.bit_generator.random_raw(-(-len(out) // 4)))
        self.values.take(bits.view(np.uint16)[: len(out)], out=out, mode="clip")


@lru_cache(maxsize=1)
def _quantiles() -> NDArray[np.float32]:
    z = ndtri((np.arange(LEVELS) + 0.5) / LEVELS)
    quantiles: NDArray[np.float32] = (z / z.std()).astype(np.float32)
    return quantiles
