"""Composition and calibration: what several releases cost together, and how to share a budget among them.

A ledger holds a Filter: it admits a charge only if everything admitted so far, this charge included, stays within the
budget, whatever was asked, in whatever order, each choice depending on all earlier answers.

    Canonne2020    Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy
    Rogers2016     Rogers, Roth, Ullman, Vadhan: Privacy odometers and filters
    Feldman2021    Feldman, Zrnic: Individual privacy accounting via a Rényi filter
    Smith2022      Smith, Thakurta: Fully adaptive composition for Gaussian differential privacy
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from tacit.errors import BadInput, GuaranteeError, count, probability
from tacit.privacy import conversions as c
from tacit.privacy.guarantee import Budget, Guarantee, far

SLACK = 1e-9  # relative: room for the rounding of sums and for noise drawn in bulk, far below any printed digit
COMPOSITIONS = ("basic", "gdp", "zcdp")


class Cost(NamedTuple):
    """A charge in a filter's own currency; costs add."""

    amount: float  # epsilon, rho or mu squared
    delta: float = 0.0

    def plus(self, other: Cost) -> Cost:
        return Cost(self.amount + other.amount, self.delta + other.delta)


@dataclass(frozen=True, slots=True)
class Filter:
    """Decides, before each release, whether a budget still covers it, under full adaptivity.

    ``composition`` is the currency in which charges add up:

    - "basic": epsilons add and deltas add (Rogers2016). Takes pure and approximate charges.
    - "gdp": squares of mu add (Smith2022 Theorem 5). Takes pure and Gaussian charges.
    - "zcdp": rhos add (Feldman2021 Theorem 4.5). Takes pure, Gaussian and zCDP charges.

    A pure budget is basic, a zCDP budget zcdp, a GDP budget gdp. An (epsilon, delta) budget may use any of them; its
    default is gdp, exact for Gaussian noise. There, ``reserve`` is the part of delta set aside for charges that carry a
    delta of their own.

    Guarantee. All admitted releases together satisfy ``budget``, up to one part in 1e9 for the rounding of sums and for
    the distances of noise drawn in bulk, which use delta and are refused where the budget has none. Proof:
    docs/proofs/ledger-filters.md.
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

    @classmethod
    def over(cls, budget: Budget, composition: str | None = None, reserve: float = 0.0) -> Filter:
        natural = {"pure": "basic", "approximate": "gdp", "zcdp": "zcdp", "gdp": "gdp"}[budget.notion]
        composition = natural if composition is None else composition
        allowed = COMPOSITIONS if budget.notion == "approximate" else (natural,)
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
    def capacity(self) -> Cost:
        """All that may ever be spent."""
        return _capacity(self)

    def cost(self, guarantee: Guarantee) -> Cost:
        """What a release with this guarantee costs here; GuaranteeError if it cannot be counted in this currency."""
        b = guarantee.budget
        if b is None:
            raise GuaranteeError(f"a release without a guarantee cannot be charged: {guarantee.source}")
        if b.delta and self.composition != "basic" and not self.reserve:
            raise GuaranteeError(
                f"this ledger keeps no delta for a charge with a delta of its own ({b}). Open a ledger with "
                "composition='basic', or with reserve set to the part of delta such charges may use "
                "(tacit ledger open --composition basic, or --reserve). Nothing was released"
            )
        if guarantee.distance and not self.budget.delta:
            raise GuaranteeError(
                f"noise drawn in bulk needs some delta, and the budget of this ledger ({self.budget}) has none. Draw "
                "exact noise: noise=tacit.privacy.noise.EXACT"
            )
        delta = b.delta + far(self.budget.amount, guarantee.distance)  # at the epsilon of the whole: none is larger
        match (self.composition, b.notion):
            case ("basic", "pure" | "approximate"):
                return Cost(b.amount, delta)
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
        remedy = (
            "convert it with guarantee.as_approximate(delta)"
            if self.composition == "basic"
            else "use composition='zcdp'"
        )
        raise GuaranteeError(
            f"a {b.notion} charge cannot be counted in a ledger that composes by {self.composition}: {remedy}"
        )

    def admits(self, spent: Cost, cost: Cost) -> bool:
        """Whether cost still fits after spent."""
        total, limit = spent.plus(cost), self.capacity
        return total.amount <= limit.amount * (1 + SLACK) and total.delta <= limit.delta + self.budget.delta * SLACK

    def to_budget(self, spent: Cost) -> Budget:
        """An amount of this currency as a budget of the same notion as the filter's own."""
        b, amount = self.budget, max(0.0, spent.amount)
        if b.notion != "approximate":
            return Budget(b.notion, math.sqrt(amount) if self.composition == "gdp" else amount)
        if self.composition == "basic":
            return Budget("approximate", amount, max(0.0, spent.delta))
        own = b.delta - self.reserve
        epsilon = c.gdp_epsilon(math.sqrt(amount), own) if self.composition == "gdp" else c.zcdp_epsilon(amount, own)
        return Budget("approximate", epsilon, own + max(0.0, spent.delta))

    def remaining(self, spent: Cost) -> Budget:
        """What is left; a release that costs exactly this is admitted."""
        limit = self.capacity
        return self.to_budget(Cost(limit.amount - spent.amount, limit.delta - spent.delta if not self.reserve else 0.0))


@lru_cache(maxsize=256)
def _capacity(f: Filter) -> Cost:
    b = f.budget
    if f.composition == "basic":
        return Cost(b.amount, b.delta)
    if b.notion == "approximate":
        own = b.delta - f.reserve
        amount = c.gdp_mu(b.amount, own) ** 2 if f.composition == "gdp" else c.zcdp_rho(b.amount, own)
        return Cost(amount, f.reserve)
    return Cost(b.amount**2 if f.composition == "gdp" else b.amount)


def compose(guarantees: Iterable[Guarantee], *, delta: float | None = None) -> Guarantee:
    """The guarantee of several releases taken together, whose parameters were fixed in advance.

    All pure stays pure; Gaussian and pure become GDP; with zCDP among them, zCDP. With approximate ones among them,
    ``delta`` is the total delta to state; what the deltas do not use converts the rest. Distances add. Proof:
    docs/proofs/ledger-filters.md.

    >>> g = Guarantee(Budget.gdp(0.3))
    >>> round(compose([g] * 4).budget.amount, 12)
    0.6
    """
    parts = list(guarantees)
    if not parts:
        raise BadInput("compose needs at least one guarantee, got none")
    if any(g.budget is None for g in parts):
        return Guarantee.none("one of the composed releases has no guarantee", parts[0].unit)
    units = {g.unit for g in parts}
    if len(units) > 1:
        raise GuaranteeError(f"guarantees for different units of privacy do not compose: {', '.join(sorted(units))}")
    distance = math.fsum(g.distance for g in parts)
    parts = [replace(g, distance=0.0) for g in parts]
    budgets = [g.budget for g in parts if g.budget]
    notions = {b.notion for b in budgets}
    source = "standard composition of: " + "; ".join(dict.fromkeys(g.source for g in parts))
    assumptions = tuple(dict.fromkeys(a for g in parts for a in g.assumptions))
    if "approximate" in notions:
        total = _with_deltas(parts, budgets, delta)
    else:
        f = Filter.over(next(b for n in ("zcdp", "gdp", "pure") for b in budgets if b.notion == n))
        total = f.to_budget(Cost(math.fsum(f.cost(g).amount for g in parts)))
    premises = tuple(dict.fromkeys(p for g in parts for p in g.premises))
    return Guarantee(total, parts[0].unit, assumptions, source, parts[0].delta, distance, premises)


def _with_deltas(parts: list[Guarantee], budgets: list[Budget], delta: float | None) -> Budget:
    """(epsilon, delta) of a mixture: the better of adding epsilons and of passing through GDP or zCDP."""
    used = math.fsum(b.delta for b in budgets)
    plain = all(b.notion in ("pure", "approximate") for b in budgets)
    delta = used if delta is None and plain else delta
    if delta is None:
        raise BadInput(
            "composing approximate with GDP or zCDP guarantees needs the total delta to state: compose(..., delta=...)"
        )
    rest = probability("delta", delta) - used
    if rest < 0 or (rest == 0 and not plain):
        raise GuaranteeError(f"the deltas alone add up to {used:g}, which leaves nothing of delta={delta:g}")
    candidates = [math.fsum(b.amount for b in budgets)] if plain else []
    if rest > 0:
        for composition in ("zcdp",) if any(b.notion == "zcdp" for b in budgets) else ("gdp", "zcdp"):
            f = Filter(Budget("approximate", 1.0, delta), composition, used or delta / 2)
            amount = math.fsum(f.cost(g).amount for g in parts)
            candidates.append(
                c.gdp_epsilon(math.sqrt(amount), rest) if composition == "gdp" else c.zcdp_epsilon(amount, rest)
            )
    return Budget("approximate", min(candidates), delta)


def split(budget: Budget, among: int) -> Budget:
    """The equal share of each of ``among`` releases that together use up the budget.

    An (epsilon, delta) budget is shared as the GDP budget it is equivalent to, which suits Gaussian noise.

    >>> split(Budget.gdp(1.0), 4).amount
    0.5
    """
    among = count("among", among)
    match budget.notion:
        case "pure":
            return Budget.pure(budget.amount / among)
        case "zcdp":
            return Budget.zcdp(budget.amount / among)
        case _:
            return Budget.gdp(budget.mu() / math.sqrt(among))
