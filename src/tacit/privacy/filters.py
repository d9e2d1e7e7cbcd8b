"""What a ledger holds: a filter admits a charge only if everything admitted so far, it included, stays in the budget.

It does so whatever was asked, in whatever order, each choice depending on all earlier answers.

    Canonne2020    Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy
    Rogers2016     Rogers, Roth, Ullman, Vadhan: Privacy odometers and filters
    Feldman2021    Feldman, Zrnic: Individual privacy accounting via a Rényi filter
    Smith2022      Smith, Thakurta: Fully adaptive composition for Gaussian differential privacy
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy import conversions as c
from tacit.privacy.divergences import conversion, pure_renyi
from tacit.privacy.guarantee import Budget, Guarantee

SLACK = 1e-9  # relative: room for the rounding of sums, far below any printed digit
SINGLE = ("basic", "gdp", "zcdp")
COMPOSITIONS = ("any", *SINGLE)
CLOSED = 1e300  # the cost of what a filter cannot count: more than any capacity, for ever, since costs only grow


class Cost(NamedTuple):
    """A charge in a filter's own currency; costs add. ``others`` are the costs in further filters, each a pair."""

    amount: float  # epsilon, rho, mu squared, or a Rényi divergence
    delta: float = 0.0
    others: tuple[tuple[float, float], ...] = ()

    @property
    def parts(self) -> tuple[tuple[float, float], ...]:
        """The pairs (amount, delta) of all filters."""
        return (self.amount, self.delta), *self.others

    def plus(self, other: Cost) -> Cost:
        if not (self.others or other.others):
            return Cost(self.amount + other.amount, self.delta + other.delta)
        both = zip_longest(self.parts, other.parts, fillvalue=(0.0, 0.0))
        return Cost.of([(a + b, d + e) for (a, d), (b, e) in both])

    def covers(self, other: Cost) -> bool:
        """Whether it is at least as much in every filter, to one part in 1e9."""
        both = zip_longest(self.parts, other.parts, fillvalue=(0.0, 0.0))
        return all(b <= a * (1 + SLACK) and e <= d * (1 + SLACK) for (a, d), (b, e) in both)

    def times(self, count: int) -> Cost:
        return Cost.of([(count * amount, count * delta) for amount, delta in self.parts])

    @classmethod
    def of(cls, parts: list[tuple[float, float]]) -> Cost:
        (amount, delta), *others = parts
        return cls(amount, delta, tuple(others))


NOTHING = Cost(0.0)


@dataclass(frozen=True, slots=True)
class Filter:
    """Decides, before each release, whether a budget still covers it, under full adaptivity.

    ``composition`` is the currency in which charges add up:

    - "basic": epsilons add and deltas add (Rogers2016). Takes everything, Gaussian and zCDP charges by the epsilon at
      the delta that they quote.
    - "gdp": squares of mu add (Smith2022 Theorem 5). Takes pure and Gaussian charges.
    - "zcdp": rhos add (Feldman2021 Theorem 4.5). Takes pure, Gaussian and zCDP charges.
    - "renyi": Rényi divergences of ``order`` add (Feldman2021 Theorem 4.5). Takes everything. Part of "any" alone.

    A pure budget is basic, a zCDP budget zcdp, a GDP budget gdp. An (epsilon, delta) budget may use any of the first
    three, or all of them: see AnyFilter. ``reserve`` is the part of delta set aside for charges that carry a delta of
    their own.

    Guarantee. All admitted releases together satisfy ``budget``, up to one part in 1e9 for the rounding of sums.
    Proof: docs/proofs/ledger-filters.md.
    Edges. The reserve is fixed when the filter is made, on purpose: deciding later how much of delta goes where, after
    seeing answers, can break the budget by a factor of 2 (a test shows it).

    >>> f = Filter.over(Budget.gdp(1.0))
    >>> half = f.cost(Guarantee(Budget.gdp(0.5)))
    >>> sum(f.admits(Cost(k * half.amount), half) for k in range(6))
    4
    """

    budget: Budget
    composition: str
    reserve: float = 0.0
    order: float = 0.0

    @classmethod
    def over(cls, budget: Budget, composition: str | None = None, reserve: float = 0.0) -> Filter:
        natural = {"pure": "basic", "approximate": "gdp", "zcdp": "zcdp", "gdp": "gdp"}[budget.notion]
        composition = natural if composition is None else composition
        allowed = SINGLE if budget.notion == "approximate" else (natural,)
        if composition not in allowed:
            raise BadInput(
                f"a {budget.notion} budget composes by {' or '.join(allowed)}, got composition={composition!r}"
            )
        if reserve and not (budget.notion == "approximate" and composition != "basic"):
            raise BadInput("reserve is for an (epsilon, delta) budget that composes by gdp or zcdp; leave it at 0 here")
        if not 0 <= reserve < max(budget.delta, 1e-300):
            raise BadInput(f"reserve must be in [0, delta), got reserve={reserve!r} with delta={budget.delta:g}")
        return cls(budget, composition, float(reserve) + 0.0)  # never -0.0, which not every database keeps

    @property
    def code(self) -> str:
        """What a ledger's header keeps of it."""
        return self.composition

    @property
    def capacity(self) -> Cost:
        """All that may ever be spent."""
        return _capacity(self)

    @property
    def own(self) -> float:
        """The part of delta that converts the currency to epsilon."""
        return self.budget.delta - self.reserve

    def cost(self, guarantee: Guarantee) -> Cost:
        """What a release with this guarantee costs here; GuaranteeError if it cannot be counted in this currency."""
        b, known = guarantee.budget, guarantee.divergences
        if b is None:
            raise GuaranteeError(f"a release without a guarantee cannot be charged: {guarantee.source}")
        if self.composition == "gdp":
            known = known if known is not None and math.isfinite(known.mu) else None
        elif self.composition != "renyi":
            known = None
        delta = b.delta if known is None else known.delta
        if delta and self.composition != "basic" and not self.reserve:
            raise GuaranteeError(
                f"ledger composing by {self.composition} keeps no delta for a release with a delta of its own ({b}): "
                "open one that composes by any or basic, or one with a reserve. Nothing was released"
            )
        a = self.order
        match (self.composition, b.notion):
            case ("gdp", _) if known is not None:
                return Cost(known.mu**2, delta)
            case ("renyi", _) if known is not None:
                return Cost(known.at(a), delta)
            case ("basic", "pure" | "approximate"):
                return Cost(b.amount, delta)
            case ("basic", _) if self.budget.delta:
                return Cost(b.epsilon(guarantee.delta), guarantee.delta + delta)
            case ("gdp", "pure" | "approximate"):
                return Cost(c.pure_mu(b.amount) ** 2, delta)
            case ("gdp", "gdp"):
                return Cost(b.amount**2, delta)
            case ("zcdp", "pure" | "approximate"):
                return Cost(c.pure_rho(b.amount), delta)
            case ("zcdp", "gdp"):
                return Cost(c.mu_rho(b.amount), delta)
            case ("zcdp", "zcdp"):
                return Cost(b.amount, delta)
            case ("renyi", "pure" | "approximate"):
                return Cost(pure_renyi(b.amount, a), delta)
            case ("renyi", "gdp"):
                return Cost(a * c.mu_rho(b.amount) * (1 + c.STEP), delta)
            case ("renyi", "zcdp"):
                return Cost(a * b.amount * (1 + c.STEP), delta)
        raise GuaranteeError(
            f"a {b.notion} charge cannot be counted in a ledger with budget {self.budget} that composes by "
            f"{self.composition}: open one with an epsilon and a delta, which takes every kind. Nothing was released"
        )

    def holds(self, total: Cost, slack: float = SLACK) -> bool:
        """Whether charges that cost so much together are within the budget."""
        amount, delta = self.limit(slack)
        return total.amount <= amount and total.delta <= delta

    def limit(self, slack: float) -> tuple[float, float]:
        """What the sums of amounts and of deltas may come to."""
        most = self.capacity
        return most.amount * (1 + slack), most.delta + self.budget.delta * slack

    def admits(self, spent: Cost, cost: Cost, guarantee: Guarantee | None = None) -> bool:
        """Whether cost still fits after spent."""
        return self.holds(spent.plus(cost))

    def to_budget(self, spent: Cost) -> Budget:
        """An amount of this currency as a budget of the same notion as the filter's own."""
        b, amount = self.budget, max(0.0, spent.amount)
        if b.notion != "approximate":
            return Budget(b.notion, math.sqrt(amount) if self.composition == "gdp" else amount)
        match self.composition:
            case "basic":
                return Budget("approximate", amount, max(0.0, spent.delta))
            case "gdp":
                epsilon = c.gdp_epsilon(math.sqrt(amount), self.own)
            case "zcdp":
                epsilon = c.zcdp_epsilon(amount, self.own)
            case _:
                epsilon = max(0.0, amount + conversion(self.order, self.own)) if amount else 0.0
        return Budget("approximate", epsilon, self.own + max(0.0, spent.delta))

    def remaining(self, spent: Cost) -> Budget:
        """What is left; a release that costs exactly this is admitted."""
        limit = self.capacity
        return self.to_budget(Cost(limit.amount - spent.amount, limit.delta - spent.delta if not self.reserve else 0.0))


@lru_cache(maxsize=256)
def _capacity(f: Filter) -> Cost:
    b = f.budget
    if f.composition == "basic":
        return Cost(b.amount, b.delta)
    if f.composition == "renyi":
        return Cost(max(0.0, b.amount - conversion(f.order, f.own)) * (1 - c.STEP), f.reserve)
    if b.notion == "approximate":
        amount = c.gdp_mu(b.amount, f.own) ** 2 if f.composition == "gdp" else c.zcdp_rho(b.amount, f.own)
        return Cost(amount, f.reserve)
    return Cost(b.amount**2 if f.composition == "gdp" else b.amount)
