"""A second private metric that the answer must keep: recall of at least 0.8, a cost of at most 3.

    l, g    mean loss, and mean of the constrained metric, each clipped to its own public bounds of width w1, w2
    n       records          mu    of one observation          c    +1 for "at least", -1 for "at most"
    m       margin c (g - bound): the constraint is kept where m >= 0

One record moves l by at most w1 / n and g by at most w2 / n. In units of the widths both together move by at most
sqrt(2) / n in the L2 norm, so one draw of a Gaussian vector with standard deviation sqrt(2) / (n mu) in each coordinate
is mu-GDP. Proof: docs/proofs/private-observations.md, section "Constraints".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.errors import BadInput, ObjectiveError, choice, interval
from tacit.files import Json
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import STEPS, BoundedMean
from tacit.privacy.noise import EXACT, Source

RELATIONS = (">=", "<=")
TEXT = re.compile(r"\s*(\w[\w .-]*?)\s*(>=|<=)\s*(\S+?)(?:\s+within\s+(\S+)\s+(\S+))?\s*")
SHAPE = "('recall', '>=', 0.8), or ('cost', '<=', 3.0, (0.0, 10.0)) with the bounds of one record's value"


@dataclass(frozen=True)
class Constraint:
    """What the mean of a second column of the objective must keep: its name, relation, bound and public bounds."""

    name: str
    relation: str
    bound: float
    bounds: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        choice("the relation of a constraint", self.relation, RELATIONS)
        low, high = interval("the bounds of a constraint", self.bounds)
        object.__setattr__(self, "bounds", (low, high))
        if not isinstance(self.name, str) or not self.name:
            raise BadInput(f"a constraint needs a name: {SHAPE}. Nothing was spent")
        if not isinstance(self.bound, int | float) or not low <= self.bound <= high:
            raise BadInput(
                f"the bound of a constraint must be within {low:g} and {high:g}, the bounds of one record's value, got "
                f"{self.bound!r}. Nothing was spent"
            )
        object.__setattr__(self, "bound", float(self.bound))

    @classmethod
    def read(cls, given: Any) -> Constraint | None:
        """From a tuple of three or four, or None.

        >>> Constraint.read(("recall", ">=", 0.8)).to_json()
        {'name': 'recall', 'relation': '>=', 'bound': 0.8, 'bounds': [0.0, 1.0]}
        """
        if given is None or isinstance(given, cls):
            return given
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) not in (3, 4):
            raise BadInput(f"constraint must be {SHAPE}. Nothing was spent")
        return cls(*given)

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """From a line of the shell.

        >>> Constraint.parse("recall>=0.8") == Constraint("recall", ">=", 0.8)
        True
        >>> Constraint.parse("cost <= 3 within 0 10").bounds
        (0.0, 10.0)
        """
        matched = TEXT.fullmatch(text)
        try:
            name, relation, bound, low, high = matched.groups()  # type: ignore[union-attr]
            return cls(name, relation, float(bound), (0.0, 1.0) if low is None else (float(low), float(high)))
        except (AttributeError, ValueError):
            raise BadInput(
                f"a constraint is written like recall>=0.8, or 'cost<=3 within 0 10' with the bounds of one record's "
                f"value, got {text!r}. Nothing was spent"
            ) from None

    @property
    def sign(self) -> float:
        return 1.0 if self.relation == ">=" else -1.0

    def margin(self, value: float) -> float:
        """How far a value is on the right side; negative if it is not."""
        return self.sign * (value - self.bound)

    def violation(self, total: int, records: int) -> int:
        """By how many whole steps a sum of the metric is on the wrong side; moves by at most as much as the sum."""
        low, high = self.bounds
        least = round((self.bound - low) / (high - low) * records * STEPS)
        return max(0, int(self.sign) * (least - total))

    def describe(self, values: Sequence[float], deviation: float) -> Json:
        """What is released of it: its noisy mean at the answer, and how well that is known."""
        low, high = self.bounds
        value = min(max(math.fsum(values) / len(values), low), high)
        return {**self.to_json(), "value": value, "deviation": deviation}

    def to_json(self) -> Json:
        return {"name": self.name, "relation": self.relation, "bound": self.bound, "bounds": list(self.bounds)}


class ConstrainedMean:
    """The means of two bounded columns, loss and constrained metric, by one draw of a Gaussian vector.

    Guarantee. mu-GDP of the budget for one record replaced: see the module. Each coordinate is exact as BoundedMean is.
    """

    def __init__(
        self,
        records: int,
        bounds: tuple[float, float],
        constraint: Constraint,
        *,
        budget: Budget,
        higher_is_better: bool,
        unit: str,
        noise: Source = EXACT,
    ) -> None:
        each = Budget.gdp(budget.mu() / math.sqrt(2) * (1 - 1e-12))  # two squares add up to no more than the whole
        asked: dict[str, Any] = {"budget": each, "unit": unit, "noise": noise}
        self.loss = BoundedMean(records, bounds, higher_is_better=higher_is_better, **asked)
        # what is missing counts as the bound that breaks the constraint
        self.metric = BoundedMean(records, constraint.bounds, higher_is_better=constraint.sign > 0, **asked)
        self.records, self.bounds, self.scale, self.guarantee = records, bounds, self.loss.scale, self.loss.guarantee

    def total(self, values: Any) -> list[int]:
        """The exact sums of both columns (records, 2) in whole steps. Private."""
        if values.ndim != 2 or values.shape[1] != 2:
            raise ObjectiveError("with a constraint the objective must return two columns: losses, and the metric's")
        return [self.loss.total(values[:, 0]), self.metric.total(values[:, 1])]

    def draw(self, totals: Sequence[int]) -> list[float]:
        """Both noisy means."""
        return [self.loss.draw(totals[0]), self.metric.draw(totals[1])]

    def mean_of(self, totals: Sequence[int]) -> float:
        return self.loss.mean_of(totals[0])
