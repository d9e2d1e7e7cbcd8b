"""What is proved of DP-GIBO's path, as numbers. Nothing here is a guarantee of privacy.

    F_0    f(theta_0) - f(theta*)       L, tau  smoothness, strong convexity      B   bound on gradients, clipping norm
    T      steps                        eta     step length, at most 1 / L        C   bound on losses' RKHS norms
    V      what the noise costs         trace   Tr(grad k_D grad') of each step   n   records; d parameters

All hold with probability 1 - delta, over the noise, where the assumptions of Sopa et al. (2025), 2.7 to 2.10, do.
Lemma A.2 (bias at most C sqrt(trace)) and Lemma A.4 (a radius that is not left) need no more than these; Theorem B.2
has constants up to O(.) only, so there is nothing to compute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.errors import positive, probability


@dataclass(frozen=True)
class DescentBounds:
    """The bounds of one setting."""

    dimensions: int
    records: int
    steps: int
    mu: float
    clip: float = 1.0
    delta: float = 0.05

    @property
    def largest_normal(self) -> float:
        """The norm that none of T standard normal vectors exceeds.

        Follows. Sopa2025, Lemma A.3: 4 sqrt(d) + 2 sqrt(2 log(T / delta)).
        """
        return 4 * math.sqrt(self.dimensions) + 2 * math.sqrt(
            2 * math.log(self.steps / probability("delta", self.delta))
        )

    @property
    def noise_cost(self) -> float:
        """V of Theorem 3.2: M (2 + M / (2 B^2)), M = 2 B^2 sqrt(T) (Lemma A.3) / (n mu).

        >>> round(DescentBounds(dimensions=33, records=5000, steps=25, mu=1.0).noise_cost, 3)
        0.122
        """
        B2 = self.clip**2
        M = 2 * B2 * math.sqrt(self.steps) * self.largest_normal / (self.records * positive("mu", self.mu))
        return M * (2 + M / (2 * B2))

    def mean_squared_gradient(
        self, first_gap: float, smoothness: float, *, norm: float = 0.0, traces: Sequence[float] = ()
    ) -> float:
        """Theorem 3.2; with traces that are all ``epsilon`` it is the first part of Corollary 3.6."""
        bias = norm**2 * sum(traces) / self.steps
        return 2 * first_gap * smoothness / self.steps + bias + 2 * self.noise_cost

    def gap(
        self, first_gap: float, convexity: float, rate: float, *, norm: float = 0.0, traces: Sequence[float] = ()
    ) -> float:
        """f(theta_T) - f(theta*), by Theorem 3.3.

        Corollary 3.6 bounds the geometric sum by 1 / (eta tau): no more than this with traces that are all ``epsilon``.
        """
        left = 1 - rate * convexity
        bias = norm**2 * rate / 2 * sum(left ** (self.steps - 1 - t) * trace for t, trace in enumerate(traces))
        return left**self.steps * first_gap + bias + self.noise_cost / convexity

    def distance(
        self, first_gap: float, convexity: float, rate: float, *, norm: float = 0.0, traces: Sequence[float] = ()
    ) -> float:
        """|theta_T - theta*|, by Corollary 3.4: the root of Theorem 3.3's bound over tau."""
        return math.sqrt(self.gap(first_gap, convexity, rate, norm=norm, traces=traces) / convexity)

    def radius(self, smoothness: float, convexity: float, *, norm: float = 0.0, trace: float = 0.0) -> float:
        """The distance from theta* that is not left, by Lemma A.4 with eta = 1 / L."""
        eta = 1 / smoothness
        total = math.sqrt(norm**2 * trace + 2 / eta * self.noise_cost) / convexity
        scale = 2 * math.sqrt(self.steps) / (self.records * self.mu)
        return total + eta * self.clip * (1 + scale * self.largest_normal)
