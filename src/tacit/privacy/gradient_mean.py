"""The mean of clipped gradients: sums in whole numbers, with a reach that holds in floating point too.

n    records             m    places that were evaluated      B    clipping norm
d    parameters          G    weights (d, m) of the places    q    2^32, the steps in which B is counted
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import BadInput, ObjectiveError, positive
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import MOST_RECORDS, SPILL
from tacit.privacy.mechanisms import ABOVE, Mechanism
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Array

STEPS = 1 << 32
BLOCK = 1024  # records at a time: the arrays of one block stay in a processor's cache
HUGE, TINY = 1e100, 1e-140


@dataclass(frozen=True)
class Clipped:
    """Sums of per-record gradients, each clipped to norm B and rounded to whole steps of B/q.

    Guarantee. Replacing one record moves the sum by at most ``2 reach`` in the L2 norm, whatever the losses are: a
    clipped gradient has norm at most B (1 + (d + 8) 2^-52) after the rounding of floating-point operations, and
    rounding d coordinates to whole steps adds at most sqrt(d)/2 steps.
    Edges. A record with a loss that is not finite contributes a zero gradient, silently: which ones is private. Losses
    up to the largest float are clipped without overflow.
    """

    weights: Array
    clip: float

    def __post_init__(self) -> None:
        bounded_clip(self.clip)
        if not (np.abs(self.weights) <= 1e40).all():
            raise BadInput("the weights of this design are too large: its places are too near to each other")

    @property
    def reach(self) -> float:
        return reach(len(self.weights))

    def total(self, losses: Sequence[Array]) -> list[int]:
        """The sum over records, d whole numbers, of losses given as m arrays (n,), one for each place. Private."""
        n = len(losses[0]) if losses else 0
        rows = [np.asarray(row) for row in losses]
        if any(row.shape != (n,) for row in rows) or len(rows) != self.weights.shape[1]:
            raise ObjectiveError(f"losses must be {self.weights.shape[1]} arrays of {n}, one number per record")
        whole = [0] * len(self.weights)
        for start in range(0, n, SPILL):  # 64 bits hold the sum of so many records
            total = np.zeros(len(self.weights), np.int64)
            for i in range(start, min(n, start + SPILL), BLOCK):
                total += self._block([row[i : i + BLOCK] for row in rows])
            whole = [a + int(b) for a, b in zip(whole, total, strict=True)]
        return whole

    def _block(self, rows: list[Any]) -> Any:
        # One record's numbers meet another's only in the sum of whole numbers. So matrix products of a library, whose
        # rounding may depend on a record's place in the block, are not used: each column is summed in the same order.
        part = np.array(rows, float)  # (m, records of this block), a copy
        most = np.abs(part).max(axis=0)
        spoiled = ~np.isfinite(most)
        part[:, spoiled] = most[spoiled] = 0.0
        shrunk = np.maximum(most / HUGE, 1.0)  # gradients of huge losses keep their direction
        if (shrunk > 1.0).any():
            part /= shrunk
        gradient = np.zeros((len(self.weights), part.shape[1]))
        work = np.empty_like(gradient)
        for column, row in zip(self.weights.T, part, strict=True):
            used = np.flatnonzero(column)
            if len(used) == len(column):
                gradient += np.multiply(column[:, None], row, out=work)
            else:  # a cross moves one coordinate with each place
                for j in used:
                    gradient[j] += np.multiply(row, column[j], out=work[j])
        norm = np.zeros(part.shape[1])
        for squares in np.multiply(gradient, gradient, out=work):
            norm += squares
        np.sqrt(norm, out=norm)
        keep = np.divide(self.clip, norm, out=np.zeros_like(norm), where=norm > TINY)
        gradient *= np.minimum(keep, shrunk)
        gradient *= STEPS / self.clip
        np.rint(gradient, out=gradient)
        return gradient.astype(np.int64).sum(axis=1)


def reach(d: int) -> float:
    """The largest norm of one record's clipped and rounded gradient, in whole steps."""
    return STEPS * (1 + (d + 8) * 2.0**-52) + math.sqrt(d) / 2


class GradientMean(Mechanism[Array]):
    """The mean of clipped gradients over ``records`` records, with Gaussian noise on each of ``size`` coordinates.

    ``scale`` is the standard deviation of the noise on one coordinate, in the units of the gradient:
    2 B / (n mu), larger by one part in 1e9 for the rounding of gradients to whole steps.

    Guarantee. mu-GDP for one record replaced, unconditional, whatever B is, floating point included.
    Follows. Sopa et al. (2025), Lemma 3.1; Dong, Roth and Su (2022), Theorem 1. Proof:
    docs/proofs/gradient-mean.md.

    >>> mean = GradientMean(1000, clip=1.0, size=5, budget=Budget.gdp(0.5))
    >>> round(mean.scale, 8)
    0.004
    """

    def __init__(self, records: int, *, clip: float, size: int, budget: Budget, unit: str = "", noise: Source = EXACT):
        self.records, self.size, self.noise, self.clip = records, size, noise, bounded_clip(clip)
        if not 1 <= records <= MOST_RECORDS:
            raise BadInput(f"records must be between 1 and {MOST_RECORDS}, got records={records}")
        mu = positive("mu", budget.mu())
        self.whole_scale = 2 * reach(size) / mu * ABOVE
        self.scale = self.whole_scale * self.clip / STEPS / records
        if not 2.0**20 <= self.whole_scale <= 2.0**61 / 8:
            raise BadInput(
                f"mu = {mu:.3g} for each step is out of range: give a budget and trials nearer to each other"
            )
        source = "Gaussian mechanism (Dong et al. 2022, Theorem 1)"
        self.guarantee = self._state(Budget.gdp(mu), unit, source)

    @classmethod
    def worst_pair(cls, **amount: Any) -> WorstPair:
        """One long gradient, shortened to the clip, turns round."""
        counted = Clipped(np.eye(3), clip=0.5)
        values = [
            counted.total([np.r_[slope, np.zeros(9)] for slope in turn * np.array([3.0, -4.0, 12.0])])
            for turn in (1, -1)
        ]
        about = "10 gradients clipped to norm 0.5; a long one turns round"
        return cls._pair(about, (values[0], values[1]), lambda noise: cls(10, clip=0.5, size=3, noise=noise, **amount))

    def draw(self, total: Any) -> Array:
        """The noisy mean (d,) of clipped gradients that sum to ``total`` whole steps."""
        if self.records <= SPILL:
            noisy = self.noise.gaussian_whole_array(np.array(total, np.int64), self.whole_scale).tolist()
        else:  # past 64 bits
            noisy = [self.noise.gaussian_whole(x, self.whole_scale) for x in total]
        return np.array([self.clip * (x / (self.records * STEPS)) for x in noisy])

    def prepare(self, total: Any) -> Any:
        if len(total) != self.size:
            raise BadInput(f"this mechanism takes {self.size} whole numbers, got {len(total)}")
        return [int(x) for x in total]


def bounded_clip(clip: float) -> float:
    """The clipping norm, positive and far from the ends of the floats."""
    if not 1e-100 <= positive("clip", clip) <= 1e100:
        raise BadInput(f"clip must be between 1e-100 and 1e100, got clip={clip!r}; change the unit of the losses")
    return float(clip)
