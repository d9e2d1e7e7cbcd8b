"""One budget that every kind of release can draw on: a charge is admitted while any of three filters holds.

    epsilon, delta    the budget                       d_k    the part of delta that filter k has
    F_k               filter k, valid for (epsilon, d_k); the d_k add up to delta
    A_k               the transcripts at whose end F_k holds, and no earlier F_j does

**Theorem.** Costs only grow, so where F_k holds at the end, it held all along, and A_k is an event of what F_k alone
would have admitted: P(S and A_k) <= e^epsilon P'(S and A_k) + d_k. Sum over k. The proof, and why delta must be
divided: docs/proofs/ledger-filters.md.

A first charge is chosen before anything was seen. If no filter can hold it and it is within (epsilon, delta) by itself,
it is admitted, and nothing after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy import conversions as c
from tacit.privacy.divergences import ORDERS, conversion, pure_renyi
from tacit.privacy.filters import CLOSED, SLACK, Cost, Filter
from tacit.privacy.guarantee import Budget, Guarantee

# Shares of delta: (the whole of a filter's, of that the reserve for releases with a delta of their own). They add up
# to 1. Of the room for Gaussian noise they leave 96%.
GDP, RENYI, BASIC = (0.65, 0.05), (0.25, 0.10), (0.10, 0.0)
PIECES = 10  # a Gaussian release counts in the basic filter at this part of its delta
NAME = "any"


@dataclass(frozen=True, slots=True)
class AnyFilter:
    """Three filters over one (epsilon, delta) budget: gdp, renyi at ``order``, basic; see the head of this file.

    >>> f = AnyFilter.over(Budget.approximate(3.0, 1e-6))
    >>> tune, pool = Guarantee(Budget.gdp(0.2367)), Guarantee(Budget.pure(1.0))
    >>> [next(n for n in range(20) if not f.holds(f.cost(g).times(n + 1))) for g in (tune, pool)]
    [7, 3]
    """

    budget: Budget
    order: float

    @classmethod
    def over(cls, budget: Budget, order: float | None = None) -> AnyFilter:
        if budget.notion != "approximate":
            raise BadInput(f"composition 'any' divides a delta: it needs an epsilon and a delta, got ({budget})")
        order = best_order(budget) if order is None else order
        if order not in ORDERS:
            raise BadInput(f"the order of a Rényi filter is one of {', '.join(map('{:g}'.format, ORDERS))}")
        return cls(budget, order)

    @property
    def composition(self) -> str:
        return NAME

    @property
    def code(self) -> str:
        """What a ledger's header keeps: the order too, since a later version may choose another."""
        return f"{NAME}:{self.order:g}"

    @property
    def reserve(self) -> float:
        return 0.0

    @property
    def parts(self) -> tuple[Filter, ...]:
        """gdp, renyi, basic."""
        return _parts(self)

    @property
    def capacity(self) -> Cost:
        """All that may ever be spent, in each filter."""
        return Cost.of([(amount, delta) for amount, delta, _ in (f.capacity for f in self.parts)])

    def cost(self, guarantee: Guarantee) -> Cost:
        """What a release costs in each filter; one that cannot count it is closed by it."""
        if guarantee.budget is None:
            raise GuaranteeError(f"a release without a guarantee cannot be charged: {guarantee.source}")
        return _costs(self, guarantee)

    def holds(self, total: Cost, slack: float = SLACK) -> bool:
        """Whether some filter holds charges that cost so much together."""
        limits, sums = _limits(self, slack), total.parts
        if len(sums) < len(limits):  # in some filter nothing is spent
            return True
        return any(a <= most and d <= share for (a, d), (most, share) in zip(sums, limits, strict=True))

    def open_parts(self, spent: Cost, slack: float = SLACK) -> list[tuple[Filter, Cost]]:
        """The filters that hold, each with what was spent in it."""
        sums = [Cost(*part) for part in spent.parts] + [Cost(0.0)] * (len(self.parts) - len(spent.parts))
        return [(f, total) for f, total in zip(self.parts, sums, strict=True) if f.holds(total, slack)]

    def admits(self, spent: Cost, cost: Cost, guarantee: Guarantee | None = None) -> bool:
        """Whether cost still fits after spent; a first charge, whose guarantee is given, by itself too."""
        if self.holds(spent.plus(cost)):
            return True
        return guarantee is not None and not any(map(any, spent.parts)) and self.covers(guarantee)

    def covers(self, guarantee: Guarantee) -> bool:
        """Whether a release is within (epsilon, delta) by itself."""
        try:
            return guarantee.epsilon(self.budget.delta) <= self.budget.amount * (1 + SLACK)
        except GuaranteeError:
            return False

    def to_budget(self, spent: Cost) -> Budget:
        """What was spent, as the least epsilon at delta that a filter which holds says."""
        if not any(map(any, spent.parts)):
            return Budget("approximate", 0.0, 0.0)
        amounts = [f.to_budget(total).amount for f, total in self.open_parts(spent)]
        return replace(self.budget, amount=min([self.budget.amount, *amounts]))

    def remaining(self, spent: Cost) -> Budget:
        """The largest Gaussian release that is admitted now, by its epsilon at delta; of nothing spent, all."""
        if not any(map(any, spent.parts)):
            return self.budget
        mu = largest(lambda mu: self.holds(spent.plus(self.cost(Guarantee(Budget.gdp(mu))))), self._most)
        return replace(self.budget, amount=c.gdp_epsilon(mu, self.budget.delta) if mu else 0.0)

    @property
    def _most(self) -> float:
        """A mu that is never admitted."""
        return 2 * c.gdp_mu(self.budget.amount, self.budget.delta)


def filter_over(budget: Budget, composition: str | None = None, reserve: float = 0.0) -> Filter | AnyFilter:
    """The filter of a budget: any of several for (epsilon, delta), else the one of its notion.

    ``composition`` is one of COMPOSITIONS, or as a header keeps it, with an order.

    >>> filter_over(Budget.approximate(3.0, 1e-6)).code, filter_over(Budget.pure(1.0)).code
    ('any:20', 'basic')
    """
    if composition is None and budget.notion == "approximate" and not reserve:
        composition = NAME
    name, _, order = (composition or "").partition(":")
    if name != NAME:
        return Filter.over(budget, composition, reserve)
    if reserve:
        raise BadInput("reserve is for composition gdp or zcdp: 'any' has divided delta already")
    return AnyFilter.over(budget, float(order) if order else None)


def same_terms(terms: Filter | AnyFilter, asked: Filter | AnyFilter, *, plain: bool) -> bool:
    """Whether a ledger with these terms is the one that was asked for; ``plain``: by its budget alone."""
    same = plain or (terms.composition, terms.reserve) == (asked.composition, asked.reserve)
    return same and terms.budget == asked.budget


def describe_terms(terms: Filter | AnyFilter) -> str:
    """A budget and how it composes, in words."""
    held = f", of which delta {terms.reserve:g} is reserved" if terms.reserve else ""
    return f"budget {terms.budget} composing by {terms.composition}{held}"


def _cost(f: Filter, guarantee: Guarantee) -> tuple[float, float]:
    """What a release costs in one of the filters."""
    b, known = guarantee.budget, guarantee.divergences
    assert b is not None
    if f.composition != "basic":
        try:
            return f.cost(guarantee)[:2]
        except GuaranteeError:
            return CLOSED, 0.0
    piece = f.budget.delta / PIECES
    if b.delta <= piece or known is None:
        return f.cost(guarantee.at(piece))[:2]
    delta = known.delta + piece
    return known.epsilon(delta), delta


@lru_cache(256)
def _costs(whole: AnyFilter, guarantee: Guarantee) -> Cost:
    """Most charges of a ledger are for one of a few guarantees."""
    return Cost.of([_cost(f, guarantee) for f in whole.parts])


@lru_cache(256)
def _limits(whole: AnyFilter, slack: float) -> tuple[tuple[float, float], ...]:
    """What the sums in each filter may come to."""
    return tuple(f.limit(slack) for f in whole.parts)


@lru_cache(256)
def _parts(whole: AnyFilter) -> tuple[Filter, ...]:
    b = whole.budget

    def part(composition: str, shares: tuple[float, float], order: float = 0.0) -> Filter:
        return Filter(replace(b, delta=shares[0] * b.delta), composition, shares[1] * b.delta, order)

    return part("gdp", GDP), part("renyi", RENYI, whole.order), part("basic", BASIC)


def best_order(budget: Budget) -> float:
    """The order at which most of a mixture fits: a Gaussian and a pure release, each of a quarter of epsilon.

    Gaussian releases alone have a filter of their own, and so have pure ones.

    >>> best_order(Budget.approximate(3.0, 1e-6)), best_order(Budget.approximate(1.0, 1e-6))
    (20.0, 48.0)
    """
    quarter = replace(budget, amount=budget.amount / 4)
    rho, own = c.mu_rho(quarter.mu()), (RENYI[0] - RENYI[1]) * budget.delta

    def fits(order: float) -> float:
        return (budget.amount - conversion(order, own)) / (order * rho + pure_renyi(quarter.amount, order))

    return max(ORDERS, key=fits)


def largest(fits: Callable[[float], bool], high: float) -> float:
    """The largest number below ``high`` that fits, to twelve digits; 0 if none does. Smaller numbers fit too.

    >>> round(largest(lambda x: x <= 0.3, 1.0), 6)
    0.3
    """
    low, least = 0.0, 1e-9 * high
    while high - low > 1e-12 * high and high > least:
        x = (low + high) / 2
        low, high = (x, high) if fits(x) else (low, x)
    return low
