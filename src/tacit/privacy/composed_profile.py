"""A Gaussian mechanism and something after it, composed: the profile of both together.

    L      privacy loss of the Gaussian mechanism: N(mu^2/2, mu^2) under its own data
    H_x    hockey-stick divergence of what comes after, delta at epsilon = log x

    delta(eps) = E_L [ H_{e^(eps - L)} ]                    (Zhu, Dong and Wang 2022, Theorem 10)

H falls as its epsilon rises, so on every cell of a grid of L the upper end is taken: the sum is never below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from tacit.errors import positive
from tacit.privacy.profiles import SLACK, Profile, whole_line

Floats = NDArray[np.float64]
CELLS, FAR = 400, 9.0  # cells of L, which reach 9 standard deviations; what lies beyond has probability 1.2e-19
MANY = 64  # epsilons at a time


@dataclass(frozen=True)
class ComposedProfile:
    """mu-GDP, then whatever ``after`` bounds, which may depend on what the first gave.

    >>> from tacit.privacy.profiles import GaussianProfile, epsilon_at
    >>> both = ComposedProfile(0.3, GaussianProfile(0.4))
    >>> round(epsilon_at(both, 1e-6), 3), round(epsilon_at(GaussianProfile(0.5), 1e-6), 3)
    (2.261, 2.254)
    """

    mu: float
    after: Profile

    def __post_init__(self) -> None:
        positive("mu", self.mu)

    @cached_property
    def reversed(self) -> Profile:
        back = self.after.reversed
        return self if back is self.after else ComposedProfile(self.mu, back)

    def delta(self, epsilon: ArrayLike) -> Floats:
        back = self.after.reversed
        return whole_line(epsilon, lambda e: self._forward(e, self.after), lambda e: self._forward(e, back))

    def _forward(self, eps: Floats, after: Profile) -> Floats:
        edges = np.linspace(-FAR, FAR, CELLS + 1)
        mass = np.diff(ndtr(edges))
        beyond = ndtr(-FAR)  # above the last edge counts as delta 1, below the first as the first
        mass[0] += beyond
        upper = self.mu**2 / 2 + self.mu * edges[1:]
        flat = eps.ravel()
        rows = [after.delta(flat[i : i + MANY, None] - upper) @ mass for i in range(0, flat.size, MANY)]
        total = (np.concatenate(rows) if rows else np.empty(0)).reshape(eps.shape)
        return np.asarray((total + beyond) * (1 + SLACK))
