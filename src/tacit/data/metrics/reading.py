"""How a released mean loss is read as the metric that was asked for. Post-processing of public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.files import Json

CLASSIFICATION, REGRESSION = "classification", "regression"  # tasks
ANYTHING = (-math.inf, math.inf)
Interval = tuple[float, float]


def clip_interval(value: float, half_width: float, possible: Interval = ANYTHING) -> Interval:
    """The ends of an interval, as far as they are possible.

    >>> clip_interval(0.75, 0.5, (0.0, 1.0))
    (0.25, 1.0)
    """
    low, high = possible
    return min(max(value - half_width, low), high), min(max(value + half_width, low), high)


@dataclass(frozen=True)
class Reading:
    """The metric is offset + factor * loss, or the root of the loss.

    ``spread`` is the relative standard deviation of the factor, where it rests on class rates that other rows showed.
    ``baseline`` is what a constant prediction scores, where it is known, ``baseline_reach`` the half-width of its 95%
    interval for new data, and ``baseline_of`` which it is, and on what rows.

    >>> Reading("accuracy", 1.0, -1.0, higher=True).read(0.25)
    0.75
    """

    __released__ = True

    name: str
    offset: float = 0.0
    factor: float = 1.0
    root: bool = False
    higher: bool = False  # larger is better
    spread: float = 0.0
    unit: bool = False  # the metric itself is between 0 and 1
    about: str = ""  # what it rests on
    baseline: float | None = None
    baseline_of: str = ""
    baseline_reach: float = 0.0

    def read(self, loss: float) -> float:
        """The metric at a mean loss."""
        value = math.sqrt(max(0.0, loss)) if self.root else self.offset + self.factor * loss
        return min(max(value, 0.0), 1.0) if self.unit else value

    def reach(self, loss: float, half_width: float) -> float:
        """The half-width of the metric's interval, at the same level, from that of the loss.

        >>> reading = Reading("auc", 1.0, -5.0, higher=True, spread=0.03)
        >>> round(reading.reach(0.04, 0.0), 5) == round(1.96 * 0.03 * 5 * 0.04, 5)
        True
        """
        if self.root:
            middle = math.sqrt(max(0.0, loss))
            return max(math.sqrt(max(0.0, loss + half_width)) - middle, middle - math.sqrt(max(0.0, loss - half_width)))
        return math.hypot(self.factor * half_width, 1.96 * self.spread * self.factor * loss)

    @property
    def possible(self) -> Interval:
        """The ends of the metric's range. No loss of a metric is negative."""
        if self.unit:
            return 0.0, 1.0
        return (0.0, math.inf) if self.root or (self.factor > 0 and not self.offset) else ANYTHING

    def larger_is_better(self, loss: float) -> float:
        """The metric, negated where smaller is better: what scikit-learn calls a score."""
        return self.read(loss) if self.higher else -self.read(loss)

    def to_json(self) -> Json:
        always = ("name", "factor", *(("baseline",) if self.baseline is not None else ()))
        return {name: value for name, value in self.__dict__.items() if value or name in always}
