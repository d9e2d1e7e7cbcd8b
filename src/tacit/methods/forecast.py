"""What one method would give, before anything is spent: its guarantee, its noise, what theory and experience expect.

A plan is made for public numbers only, ``PlanInput``. A method's entry in the registry names its ``Forecast``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tacit.errors import BadInput, count, interval, positive
from tacit.files import Json
from tacit.methods.observed import ObservationTerms
from tacit.methods.task import MOST_TRIALS
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mean import MOST_RECORDS
from tacit.space import Float, Params, Space

MOST = {"records": MOST_RECORDS, "trials": MOST_TRIALS, "dimensions": 1000, "candidates": 10_000}


@dataclass(frozen=True)
class PlanInput:
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

    def with_records(self, records: int) -> PlanInput:
        return replace(self, records=records)

    def with_amount(self, amount: float) -> PlanInput:
        return replace(self, budget=replace(self.budget, amount=amount))

    def to_json(self) -> Json:
        about = {"records": self.records, "trials": self.trials, "dimensions": self.dimensions}
        rest = {"bounds": list(self.bounds), "spread": self.spread, "candidates": self.candidates}
        return {**about, "budget": self.budget.to_json(), **rest}


@lru_cache(maxsize=16)
def _cube(dimensions: int) -> Space:
    return Space({f"x{j}": Float(0.0, 1.0) for j in range(dimensions)})


@lru_cache(maxsize=256)
def _mu(budget: Budget) -> float:
    return budget.mu()


def _never(params: Params) -> Any:
    raise AssertionError("a plan evaluates nothing")


@dataclass(frozen=True)
class Measured:
    """A mean over runs, the range of most of them (10% to 90%), and where the table had to be left."""

    mean: float
    low: float
    high: float
    outside: tuple[str, ...] = ()

    def times(self, spread: float) -> Measured:
        return Measured(spread * self.mean, spread * self.low, spread * self.high, self.outside)

    def to_json(self) -> Json:
        return {"mean": self.mean, "low": self.low, "high": self.high, "outside": list(self.outside)}


@dataclass(frozen=True)
class Preview:
    """What one method would give. Losses of quality and noise are in the units of the losses."""

    method: str
    guarantee: Guarantee
    evaluations: int
    arguments: Mapping[str, Any] = field(default_factory=dict)  # of tacit.tune, beside the case's own
    noise: float | None = None  # standard deviation
    noise_of: str = ""
    bound: float | None = None  # what theory says is lost at most
    statement: str = ""  # which theory
    measured: Mapping[str, Measured] = field(default_factory=dict)  # by landscape; the plan fills it in
    releases: str = ""  # in words; the plan fills it in
    unavailable: str = ""  # why this budget cannot run it
    refused: bool = False  # tacit.tune refuses so much noise, unless it is accepted
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """Expected loss of quality where nobody knows whether there is one valley or more: half of each."""
        return sum(m.mean for m in self.measured.values()) / len(self.measured) if self.measured else math.inf

    def to_json(self) -> Json:
        known = {l: m.to_json() for l, m in self.measured.items()}
        theory = {"bound": self.bound, "statement": self.statement} if self.bound is not None else None
        about: Json = {
            "method": self.method,
            "kind": self.guarantee.kind,
            "guarantee": self.guarantee.to_json(),
        }
        about |= {"unavailable": self.unavailable or None, "refused": self.refused, "arguments": dict(self.arguments)}
        about |= {"releases": self.releases or None}
        numbers = {"evaluations": self.evaluations, "noise": self.noise, "noise_of": self.noise_of or None}
        return {**about, **numbers, "theory": theory, "measured": known or None, "notes": list(self.notes)}


@dataclass(frozen=True)
class Forecast:
    """How one row of a plan comes about.

    ``preview`` says what follows from the case; ``curve`` names the measured losses (none if empty), which are read at
    the noise that ``level`` gives, as a share of the spread: 0 for what has no noise.
    """

    name: str
    preview: Callable[[PlanInput], Preview]
    curve: str = ""
    level: Callable[[PlanInput], float] | None = PlanInput.look
    defaults: Callable[[], str] | None = None  # a name for the settings that the curve must have been measured with

    @property
    def own_curve(self) -> bool:
        """Whether its losses depend on the budget, and are not those of another row."""
        return self.curve == self.name and self.level is not None


def would_refuse(check: Callable[[], Any]) -> bool:
    """Whether a check raises BadInput."""
    try:
        check()
    except BadInput:
        return True
    return False
