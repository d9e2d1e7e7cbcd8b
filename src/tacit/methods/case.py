"""What a plan is made for: public numbers only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tacit.errors import BadInput, count, interval, positive
from tacit.methods.observed import ObservationTerms
from tacit.methods.task import MOST_TRIALS
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import MOST_RECORDS
from tacit.space import Float, Space

MOST = {"records": MOST_RECORDS, "trials": MOST_TRIALS, "dimensions": 1000, "candidates": 10_000}


@dataclass(frozen=True)
class Case:
    """Records, trials, parameters, budget, and how much there is to win.

    ``spread`` is how much a typical setting loses against the best one, in the units of the losses.
    """

    records: int
    trials: int
    dimensions: int
    budget: Budget
    spread: float
    bounds: tuple[float, float] = (0.0, 1.0)
    candidates: int = 256

    def __post_init__(self) -> None:
        low, high = interval("bounds", self.bounds)
        if not isinstance(self.budget, Budget):
            raise BadInput("budget must be a tacit.Budget, such as tacit.Budget.approximate(1.0, 1e-6)")
        positive("the amount of the budget", self.budget.amount)
        width, spread = positive("bounds[1] - bounds[0]", high - low), positive("spread", self.spread)
        if spread > width:
            raise BadInput(
                f"spread must be at most the width of the bounds, got spread={spread:g} with bounds ({low:g}, "
                f"{high:g}): it is how much a typical setting loses against the best one"
            )
        for name, most in MOST.items():
            number = count(name, getattr(self, name), least=2 if name == "candidates" else 1)
            if number > most:
                raise BadInput(f"{name} must be at most {most}, got {name}={number}")
            object.__setattr__(self, name, number)

    @property
    def width(self) -> float:
        return self.bounds[1] - self.bounds[0]

    def look(self) -> float:
        """Noise of one look at the records with the whole budget, w / (n mu), as a share of the spread."""
        return (
            ObservationTerms(self.records, self.bounds, Budget.gdp(_mu(self.budget)), 1).mechanism().scale / self.spread
        )

    def terms(self) -> ObservationTerms:
        return ObservationTerms(self.records, self.bounds, self.budget, self.trials)

    def space(self) -> Space:
        return _cube(self.dimensions)

    def objective(self) -> Objective:
        """Only its public facts are used: no method is run here."""
        return Objective(_never, self.records, self.bounds)

    def with_records(self, records: int) -> Case:
        return replace(self, records=records)

    def with_amount(self, amount: float) -> Case:
        return replace(self, budget=replace(self.budget, amount=amount))

    def to_json(self) -> dict[str, Any]:
        about = {"records": self.records, "trials": self.trials, "dimensions": self.dimensions}
        rest = {"bounds": list(self.bounds), "spread": self.spread, "candidates": self.candidates}
        return {**about, "budget": self.budget.to_json(), **rest}


@lru_cache(maxsize=16)
def _cube(dimensions: int) -> Space:
    return Space({f"x{j}": Float(0.0, 1.0) for j in range(dimensions)})


@lru_cache(maxsize=256)
def _mu(budget: Budget) -> float:
    return budget.mu()


def _never(params: dict[str, Any]) -> Any:
    raise AssertionError("a plan evaluates nothing")
