"""What one method would give, before anything is spent: its guarantee, its noise, what theory and experience expect."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import BadInput
from tacit.methods.case import Case
from tacit.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Measured:
    """A mean over runs, the range of most of them (10% to 90%), and where the table had to be left."""

    mean: float
    low: float
    high: float
    outside: tuple[str, ...] = ()

    def times(self, spread: float) -> Measured:
        return Measured(spread * self.mean, spread * self.low, spread * self.high, self.outside)

    def to_json(self) -> dict[str, Any]:
        return {"mean": self.mean, "low": self.low, "high": self.high, "outside": list(self.outside)}


@dataclass(frozen=True)
class Outlook:
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

    def to_json(self) -> dict[str, Any]:
        known = {l: m.to_json() for l, m in self.measured.items()}
        theory = {"bound": self.bound, "statement": self.statement} if self.bound is not None else None
        about: dict[str, Any] = {
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

    ``outlook`` says what follows from the case; ``curve`` names the measured losses (none if empty), which are read at
    the noise that ``level`` gives, as a share of the spread: 0 for what has no noise.
    """

    name: str
    outlook: Callable[[Case], Outlook]
    curve: str = ""
    level: Callable[[Case], float] | None = Case.look
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
