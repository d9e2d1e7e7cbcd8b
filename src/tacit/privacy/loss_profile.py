"""Delta at every epsilon as tables: what tacit.privacy.loss_distribution computes, and how it is read.

Between the knots of a table the chord in e^epsilon holds: from above because every hockey-stick divergence is convex
there, from below because that of the discrete pair is straight between its knots.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.dominating_pairs import UNIT

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LossTable:
    """Delta at epsilon = h * (first, first + 1, ...) in one direction, with the chord in e^epsilon between them.

    From above, a Chernoff bound continues it: exp(constant - tilt * epsilon) + floor.
    """

    h: float
    first: int
    values: Floats
    tilt: float
    constant: float
    floor: float
    lower: bool

    def at(self, epsilon: Floats) -> Floats:
        """Delta at epsilon >= 0, (n,)."""
        place, last = epsilon / self.h - self.first, len(self.values) - 1
        left = np.clip(np.floor(place), 0, last - 1).astype(np.int64)
        part = np.expm1(np.clip(place - left, 0, 1) * self.h) / np.expm1(self.h)
        inside = self.values[left] + part * (self.values[left + 1] - self.values[left])
        if self.lower:
            return np.where(place > last, 0.0, inside)
        with np.errstate(under="ignore", over="ignore"):
            beyond = np.minimum(self.values[-1], np.exp(self.constant - self.tilt * epsilon) + self.floor)
        return np.where(place < 0, 1.0, np.where(place > last, beyond, inside))

    def epsilon(self, delta: float) -> float:
        """Least epsilon >= 0 with delta at most ``delta``; infinite if there is none."""
        below = np.flatnonzero(self.values <= delta)
        if not below.size:
            room = delta - self.floor
            if self.lower or room <= 0 or self.tilt == 0:
                return self.h * (self.first + len(self.values) - 1) if self.lower else np.inf
            return max(0.0, float(self.constant - np.log(room)) / self.tilt)
        k = int(below[0])
        if k == 0:
            return 0.0 if self.lower else self.h * self.first
        high, low = self.values[k - 1], self.values[k]
        part = (high - delta) / (high - low)
        epsilon_at = float(self.h * (self.first + k - 1) + np.log1p(part * np.expm1(self.h)))
        return epsilon_at * (1 - 8 * UNIT if self.lower else 1 + 8 * UNIT)


@dataclass(frozen=True, eq=False)
class LossProfile:
    """Delta at every real epsilon of a composition; ``reversed`` is that of the other direction.

    From above: never below the hockey-stick divergence of (P, Q). From below: never above that of the pair composed.
    """

    forward: tuple[LossTable, ...] = field(repr=False)
    backward: tuple[LossTable, ...] = field(repr=False)

    @property
    def reversed(self) -> LossProfile:
        return self if self.forward is self.backward else LossProfile(self.backward, self.forward)

    def delta(self, epsilon: ArrayLike) -> Floats:
        asked = np.asarray(epsilon, dtype=np.float64)
        flat, out = asked.ravel(), np.empty(asked.size)
        below = flat < 0
        out[~below] = _best(self.forward, flat[~below])
        eps = flat[below]
        out[below] = -np.expm1(eps) + np.exp(eps) * _best(self.backward, -eps)
        sign = -1 if self.forward[0].lower else 1
        return np.clip(out * (1 + sign * 16 * UNIT), 0.0, 1.0).reshape(asked.shape)

    def epsilon(self, delta: float) -> float:
        """Least epsilon >= 0 at which both directions stay within delta."""
        best = max if self.forward[0].lower else min
        return max(best(table.epsilon(delta) for table in tables) for tables in (self.forward, self.backward))


def _best(tables: tuple[LossTable, ...], epsilon: Floats) -> Floats:
    if not epsilon.size:
        return epsilon
    pairs = [table.at(epsilon) for table in tables]
    best: Floats = np.max(pairs, axis=0) if tables[0].lower else np.min(pairs, axis=0)
    return best
