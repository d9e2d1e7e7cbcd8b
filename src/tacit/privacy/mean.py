"""The mean of bounded losses, computed so that its stated sensitivity is true in floating point.

Summing floats rounds, and the rounding of one partial sum depends on all records before it: replacing one record can
move a computed sum by more than its range. Here every clipped loss is rounded to one of 2^32 steps between the bounds,
and the sum is taken over whole numbers, which is exact in any order. One record moves it by at most 2^32, exactly.
Gaussian noise is added to that whole number; turning it into a mean afterwards is post-processing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import BadInput, ObjectiveError, count, interval, positive, type_and_shape
from tacit.privacy.guarantee import OWN, RECORD, Budget
from tacit.privacy.mechanisms import Mechanism, divide_up, one_of
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.worst_pair import WorstPair

STEPS = 1 << 32
MOST_RECORDS = 1 << 40
SPILL = 1 << 30  # records whose sum fits 64 bits; sums of more are whole numbers of any length
BLOCK = 1 << 16  # records at a time, so that no memory is needed beyond a block


class BoundedMean(Mechanism[float]):
    """The mean over ``records`` losses, each clipped to public ``bounds``, with Gaussian noise.

    ``scale`` is the standard deviation of the noise in the units of the losses.

    Guarantee. mu-GDP with mu = (high - low) / (records scale), for one record replaced; unconditional, floating point
    included. The number of records is public.
    Follows. Dong, Roth and Su (2022), Theorem 1. Proof: docs/proofs/bounded-mean.md.
    Edges. A loss that is not a number counts as the worse bound, silently: how many were clipped or missing is private.
    The rounding to 2^32 steps moves a mean by less than (high - low) 2^-33.

    >>> mean = BoundedMean(1000, (0.0, 1.0), budget=Budget.gdp(0.5))
    >>> round(mean.scale, 6)
    0.002
    """

    premises = (OWN,)

    def __init__(
        self,
        records: int,
        bounds: tuple[float, float],
        *,
        scale: float | None = None,
        budget: Budget | None = None,
        higher_is_better: bool = False,
        unit: str = RECORD,
        noise: Source = EXACT,
    ) -> None:
        self.worst = 0.0 if higher_is_better else 1.0
        self.records, self.bounds, self.noise = count("records", records), interval("bounds", bounds), noise
        if self.records > MOST_RECORDS:
            raise BadInput(f"records must be at most {MOST_RECORDS}, got records={records}")
        self.width = positive("bounds[1] - bounds[0]", self.bounds[1] - self.bounds[0])
        if not self.width >= 1e-290:
            raise BadInput(f"bounds must be at least 1e-290 apart, got bounds={self.bounds}")
        per_step = self.width / STEPS / self.records  # one step of the whole number, in units of the mean
        if one_of(scale, budget):
            self.whole_scale = positive("scale", scale) / per_step  # type: ignore[arg-type]
            stated = Budget.gdp(divide_up(STEPS, self.whole_scale))
        else:
            stated = Budget.gdp(budget.mu())  # type: ignore[union-attr]
            self.whole_scale = divide_up(STEPS, stated.amount)
        if not 2.0**20 <= self.whole_scale <= 2.0**61 / 8:
            raise BadInput(
                f"noise of {self.whole_scale * per_step:.3g} on a mean over {self.records} records in "
                f"[{self.bounds[0]:g}, {self.bounds[1]:g}] is out of range: choose a scale or budget nearer to it"
            )
        self.scale = self.whole_scale * per_step
        self.guarantee = self._state(stated, unit, "Gaussian mechanism (Dong et al. 2022, Theorem 1)")

    @classmethod
    def worst_pair(cls, **amount: Any) -> WorstPair:
        """One loss goes from below the low bound to nowhere, which counts as the high one."""
        values = (np.r_[-9.0, np.full(9, 0.5)], np.r_[np.nan, np.full(9, 0.5)])
        about = "10 losses in [-1, 2]; one goes from below the low bound to no number, which counts as the high bound"
        return cls._pair(about, values, lambda noise: cls(10, (-1.0, 2.0), noise=noise, **amount))

    def total(self, losses: ArrayLike) -> int:
        """The exact sum of the clipped losses in whole steps; totals of disjoint groups of records add. Private.

        Shape (any number of records,).
        """
        array = _array(losses)
        if array.ndim != 1 or array.dtype.kind not in "fiub":
            raise ObjectiveError(f"losses must be one number per record in one dimension, got {type_and_shape(array)}")
        return sum(self._block(array[i : i + BLOCK]) for i in range(0, len(array), BLOCK))

    def _block(self, losses: Any) -> int:
        low, high = self.bounds
        with np.errstate(all="ignore"):  # a loss past all floats warns as it becomes infinite, and would tell of itself
            unit = np.clip(losses.astype(float), low, high)
        unit -= low
        unit /= self.width / STEPS  # a power of 2 apart from dividing by the width first, which rounds the same
        np.copyto(unit, self.worst * STEPS, where=np.isnan(unit))
        return int(np.rint(unit, out=unit).astype(np.int64).sum())

    def prepare(self, losses: ArrayLike) -> int:
        array = _array(losses)
        if array.shape != (self.records,):
            raise ObjectiveError(
                f"losses must have shape ({self.records},), one per record, got {type_and_shape(array)}"
            )
        return self.total(array)

    def draw(self, total: Any) -> float:
        return self.mean_of(self.noise.gaussian_whole(total, self.whole_scale))

    def mean_of(self, total: int) -> float:
        """A sum in whole steps as a mean in the units of the losses. Post-processing if the sum is noisy."""
        return self.bounds[0] + self.above_low(total)

    def above_low(self, total: int) -> float:
        """How far the mean of a sum in whole steps lies above the low bound."""
        return self.width * (total / (self.records * STEPS))


def _array(losses: ArrayLike) -> Any:
    try:
        return np.asarray(losses)
    except ValueError:  # lists of unequal lengths
        raise ObjectiveError(
            "losses must be one number per record in one dimension, got lists of unequal lengths"
        ) from None
