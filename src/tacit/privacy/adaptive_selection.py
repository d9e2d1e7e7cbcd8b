"""Private selection by laws that learn: each run may draw its setting by what earlier runs gave, within bounds.

    pi_0     the public law of settings; Q and Q' are one run with it, on two neighbouring data sets
    pi_j     the law of run j, any function of earlier runs, with c <= pi_j / pi_0 <= C at every setting
    t, G     as in ``tacit.privacy.selection``: Q(a run beats y), and the most that Q' can give to such an event

Whatever happened before, run j puts out y with at most C and at least c times the density of Q. It is beaten with
probability at least T(t) = max(c t, 1 - C (1-t)), on the neighbour at most S(G) = min(C G, 1 - c (1-G)). Hence

    A <= C f'(1 - T(t)) Q   and   A' >= c f'(1 - S(G(t))) Q',

and all that follows is as for laws that do not learn. docs/proofs/selection.md has the proof. A bound to compare with:
no method of tacit draws settings so.

    Wang2023  Wang, Gao, Zhang, Shen, Su: DP-HyPO, an adaptive private hyperparameter optimization framework
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import BadInput, GuaranteeError, real
from tacit.privacy.profiles import TINY, Profile, RenyiProfile, whole_line
from tacit.privacy.published_selection import renyi_selection
from tacit.privacy.run_laws import NegativeBinomial, RunLaw
from tacit.privacy.selection import (
    MARGIN,
    SHIFT,
    Floats,
    Lines,
    hull_weights,
    largest_share,
    lines_of,
    place_points,
    thin_weights,
)

POINTS = 4000  # of t: corners alone bound a and b, which are not convex here, so more of them than elsewhere


@dataclass(frozen=True)
class AdaptiveProfile:
    """The profile of the best of K runs whose laws of settings stay within [least, most] of a public one.

    Guarantee: never below the exact delta of the selection, for any score and any way to learn from earlier runs, if
        every setting's profile is at most ``base``.
    Follows: docs/proofs/selection.md, "Laws that learn".
    Edges: least = most = 1 is `tacit.privacy.selection.select`, up to the grid. Which settings earlier runs drew, and
        how they scored, must stay secret, as their number must.

    >>> from tacit.privacy.profiles import GaussianProfile, epsilon_at
    >>> from tacit.privacy.run_laws import geometric
    >>> adaptive = AdaptiveProfile(GaussianProfile(0.26805), geometric(40.0), least=0.8, most=1.25)
    >>> round(epsilon_at(adaptive, 1e-5), 2)
    3.0
    """

    base: Profile
    law: RunLaw
    least: float  # c
    most: float  # C

    def __post_init__(self) -> None:
        if not 0 < real("least", self.least) <= 1 <= real("most", self.most):
            raise BadInput(
                f"a law that learns needs 0 < least <= 1 <= most, got least={self.least!r} and most={self.most!r}: a "
                "density cannot be above, or below, another everywhere"
            )

    @cached_property
    def reversed(self) -> AdaptiveProfile:
        back = self.base.reversed
        return self if back is self.base else AdaptiveProfile(back, self.law, self.least, self.most)

    def delta(self, epsilon: ArrayLike) -> Floats:
        return whole_line(epsilon, self._forward, lambda eps: self.reversed._forward(eps))

    @cached_property
    def shifts(self) -> tuple[Floats, Floats]:
        """The weights w_j and the shifts log s_j of the sum of ``tacit.privacy.selection``."""
        a, b = self._both(*place_points(self._both, POINTS))
        # between two points a is at most the left one's and b at least the right one's: both fall in t
        return thin_weights(*hull_weights(a[-2::-1], b[:0:-1]))

    @cached_property
    def _lines(self) -> Lines:
        return lines_of(self.base, self.law.mean)

    def _both(self, t: Floats, u: Floats) -> tuple[Floats, Floats]:
        """C f'(1 - T(t)) and c f'(1 - S(G(t))) at t and u = 1 - t, rounded up and down."""
        G, V, _ = largest_share(self._lines, t, u)
        c, C, low, high = self.least, self.most, 1 - MARGIN, 1 + MARGIN
        beaten, unbeaten = np.maximum(c * t * low, 1 - C * u * high), np.minimum(1 - c * t * low, C * u * high)
        a = C * self.law.derivative(np.clip(unbeaten, 0.0, 1.0), np.clip(beaten, 0.0, 1.0))
        kept, lost = np.maximum(1 - C * G * high, c * V * low), np.minimum(C * G * high, 1 - c * V * low)
        b = c * self.law.derivative(np.clip(kept - MARGIN, 0.0, 1.0), np.clip(lost + MARGIN, 0.0, 1.0))
        return np.maximum.accumulate(a[::-1])[::-1], np.minimum.accumulate(b)

    def _forward(self, eps: Floats) -> Floats:
        weights, shifts = self.shifts
        rows = [self.base.delta(eps[i : i + 256, None] + shifts) @ weights for i in range(0, len(eps), 256)]
        total = np.concatenate(rows) if rows else np.empty(0)
        return np.minimum(np.maximum(total * (1 + SHIFT), TINY), 1.0)


def adaptive_renyi(profile: RenyiProfile, law: RunLaw, *, least: float, most: float) -> RenyiProfile:
    """The published bound, as a cross-check: Wang2023 for negative binomial laws, both directions.

    >>> from tacit.privacy.profiles import GaussianProfile, epsilon_at
    >>> from tacit.privacy.run_laws import geometric
    >>> curve = GaussianProfile(0.26805).curve()
    >>> round(epsilon_at(adaptive_renyi(curve, geometric(40.0), least=0.8, most=1.25), 1e-5), 2)
    4.06
    """
    if not isinstance(law, NegativeBinomial):
        raise GuaranteeError(f"the published bound is for negative binomial laws, got {type(law).__name__}")
    orders = np.array(profile.orders)
    fixed = renyi_selection(profile, law)
    learnt = (orders / (orders - 1) + 1 + law.eta) * math.log(most / least)
    return RenyiProfile(fixed.orders, tuple((np.array(fixed.values) + learnt).tolist()))
