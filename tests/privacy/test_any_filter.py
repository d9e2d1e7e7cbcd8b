"""Any of several filters: every strategy of small adversaries, what fits, the first charge, and shares of delta."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy import any_filter
from tacit.privacy import conversions as c
from tacit.privacy.any_filter import AnyFilter, best_order, filter_over
from tacit.privacy.divergences import ORDERS, Divergences
from tacit.privacy.filters import CLOSED, NOTHING, SLACK, Cost, Filter
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.profiles import GaussianProfile

README = Budget.approximate(3.0, 1e-6)


@dataclass(frozen=True)
class Kind:
    """A mechanism with few outcomes: their probabilities on two neighbours, and what it is charged as."""

    guarantee: Guarantee
    p: tuple[float, ...]
    q: tuple[float, ...]


def response(epsilon: float, own: float = 0.0) -> Kind:
    """The worst (epsilon, own)-DP mechanism: with probability own it tells all, else it is randomised response."""
    yes, no = (1 - own) * np.array([math.exp(epsilon), 1.0]) / (1 + math.exp(epsilon))
    budget = Budget("approximate", epsilon, own) if own else Budget.pure(epsilon)
    return Kind(Guarantee(budget), (yes, no, own, 0.0), (no, yes, 0.0, own))


def gaussian(mu: float, outcomes: int) -> Kind:
    """A Gaussian of which only the cell is told, so that its outcomes are few; mu-GDP as before."""
    edges = np.concatenate([[-np.inf], np.linspace(-2.2, 2.2, outcomes - 1), [np.inf]])
    p, q = (np.diff(ndtr(edges - shift)) for shift in (mu / 2, -mu / 2))
    return Kind(Guarantee(Budget.gdp(mu)), tuple(p), tuple(q))


def largest_delta(rule, budget: Budget, kinds: list[Kind], depth: int) -> float:
    """The exact delta at the budget's epsilon of the best of all adaptive strategies of at most ``depth`` charges.

    After every history of outcomes each admitted kind is tried; the best choice is made for that history alone. What
    is admitted depends on how many of each kind were charged. Both directions.
    """
    x = math.exp(budget.amount)

    def best(p: np.ndarray, q: np.ndarray, made: tuple[int, ...]) -> np.ndarray:
        value = np.maximum(p - x * q, 0.0)
        if sum(made) == depth:
            return value
        for i, kind in enumerate(kinds):
            if rule(made, kind):
                after = tuple(n + (i == k) for k, n in enumerate(made))
                outcomes = (np.multiply.outer(a, b).ravel() for a, b in ((p, kind.p), (q, kind.q)))
                value = np.maximum(value, best(*outcomes, after).reshape(len(p), -1).sum(axis=1))
        return value

    start, none = np.ones(1), (0,) * len(kinds)
    forward = best(start, start, none)[0]
    kinds = [Kind(k.guarantee, k.q, k.p) for k in kinds]
    return float(max(forward, best(start, start, none)[0]))


def rule_of(terms, kinds: list[Kind]):
    """What a filter admits after so many charges of each kind."""

    @cache
    def admits(made: tuple[int, ...], guarantee: Guarantee) -> bool:
        spent = NOTHING
        for kind, n in zip(kinds, made, strict=True):
            spent = spent.plus(terms.cost(kind.guarantee).times(n)) if n else spent
        return terms.admits(spent, terms.cost(guarantee), guarantee)

    return lambda made, kind: admits(made, kind.guarantee)


class Undivided(AnyFilter):
    """The same filters, each with the whole of delta: unsound."""

    @property
    def parts(self):
        return tuple(replace(f, budget=self.budget, reserve=0.0) for f in super().parts)

    def cost(self, guarantee):
        return Cost.of([any_filter._cost(f, guarantee) for f in self.parts])

    def holds(self, total, slack=1e-9):
        return bool(self.open_parts(total, slack))


TOYS = [  # a budget, two kinds, depth
    (Budget.approximate(1.0, 0.02), gaussian(0.33, 4), response(0.05, 1.5e-3), 5),
    (Budget.approximate(1.0, 0.02), gaussian(0.6, 5), response(0.3), 4),
    (Budget.approximate(2.0, 0.05), response(0.5), response(0.4, 4e-3), 6),
    (Budget.approximate(1.5, 0.1), gaussian(0.5, 4), response(0.0, 8e-3), 5),
    (Budget.approximate(0.8, 0.02), gaussian(0.25, 3), response(0.2), 6),
    (Budget.approximate(1.0, 0.05), response(0.9, 0.04), gaussian(0.3, 4), 4),  # a first charge that closes it
    (Budget.approximate(2.0, 0.2), gaussian(0.9, 5), response(0.7), 4),
]


@pytest.mark.parametrize(("budget", "one", "other", "depth"), TOYS)
def test_no_strategy_of_a_small_adversary_exceeds_the_budget(budget, one, other, depth):
    terms, kinds = AnyFilter.over(budget), [one, other]
    delta = largest_delta(rule_of(terms, kinds), budget, kinds, depth)
    assert delta <= budget.delta * (1 + 1e-9)
    assert delta > 0.02 * budget.delta  # it was tried


def test_without_dividing_delta_a_small_adversary_exceeds_the_budget():
    """One Gaussian; then the rest of one currency where the answer tells much, of the other where it tells little."""
    budget = Budget.approximate(1.0, 0.05)
    mu = c.gdp_mu(1.0, 0.05)
    first, rest, reveal = gaussian(0.6 * mu, 24), gaussian(0.79 * mu, 24), response(0.0, 0.9 * 0.05)
    kinds = [first, rest, reveal]
    unsound = Undivided.over(budget)
    assert largest_delta(rule_of(unsound, kinds), budget, kinds, 3) > 1.2 * budget.delta
    assert largest_delta(rule_of(AnyFilter.over(budget), kinds), budget, kinds, 3) <= budget.delta


@pytest.mark.parametrize("budget", [README, Budget.approximate(0.1, 1e-9), Budget.approximate(20.0, 1e-3)])
def test_the_filters_divide_delta_and_no_more(budget):
    parts = AnyFilter.over(budget).parts
    assert math.fsum(f.budget.delta for f in parts) <= budget.delta * (1 + 1e-15)
    assert [f.composition for f in parts] == ["gdp", "renyi", "basic"]
    for f in parts:
        assert f.budget.amount == budget.amount
        assert f.own > 0
        assert f.reserve < f.budget.delta


@pytest.mark.parametrize("order", ORDERS)
def test_the_capacity_of_the_renyi_filter_is_within_its_budget(order):
    """A Gaussian that uses it up, whose delta at epsilon is known exactly, is within the filter's own delta."""
    f = AnyFilter.over(README, order).parts[1]
    rho = f.capacity.amount / order
    if rho > 0:
        assert c.gdp_delta(math.sqrt(2 * rho), README.amount) <= f.own
        assert f.own + f.capacity.delta <= f.budget.delta * (1 + 1e-12)
    assert f.to_budget(f.capacity).amount <= README.amount


KINDS = {
    "tune": Guarantee(Budget.gdp(Budget.approximate(0.8, 1e-6).mu())),
    "pool": Guarantee(Budget.pure(0.8)),
    "zcdp": Guarantee(Budget.zcdp(0.05)),
    "kusner": Guarantee(Budget.approximate(0.8, 2e-8)),
    "training": Guarantee(Budget.approximate(0.8, 1e-6), divergences=Divergences.of(GaussianProfile(0.19), 1e-8)),
}


def test_costs_in_each_filter_are_those_of_the_notion():
    f, mu, a = AnyFilter.over(README), KINDS["tune"].budget.amount, best_order(README)
    assert f.cost(KINDS["tune"]).parts[0] == (mu**2, 0.0)
    assert f.cost(KINDS["tune"]).parts[1] == pytest.approx((a * mu**2 / 2, 0.0))
    assert f.cost(KINDS["tune"]).parts[2] == (pytest.approx(Budget.gdp(mu).epsilon(1e-8)), pytest.approx(1e-8))
    assert f.cost(KINDS["pool"]).parts[0] == (c.pure_mu(0.8) ** 2, 0.0)
    assert f.cost(KINDS["pool"]).parts[2] == (0.8, 0.0)
    assert f.cost(KINDS["zcdp"]).parts[0] == (CLOSED, 0.0)
    assert f.cost(KINDS["zcdp"]).parts[1] == pytest.approx((a * 0.05, 0.0))
    assert f.cost(KINDS["kusner"]).parts[2] == (0.8, 2e-8)
    known = KINDS["training"].divergences
    assert f.cost(KINDS["training"]).parts[:2] == ((known.mu**2, 1e-8), (known.at(a), 1e-8))
    assert f.cost(KINDS["training"]).parts[2] == (pytest.approx(known.epsilon(2e-8)), pytest.approx(2e-8))


def test_a_charge_without_a_guarantee_is_refused():
    with pytest.raises(GuaranteeError, match="without a guarantee"):
        AnyFilter.over(README).cost(Guarantee.none("simulated"))


@pytest.mark.parametrize("kinds", list(itertools.permutations(KINDS, 3)))
def test_costs_only_grow_and_a_closed_filter_stays_closed(kinds):
    f, spent, still = AnyFilter.over(README), NOTHING, {"gdp", "renyi", "basic"}
    for name in kinds:
        before, spent = spent, spent.plus(f.cost(KINDS[name]))
        assert all(a >= b for a, b in zip(itertools.chain(*spent.parts), itertools.chain(*before.parts), strict=False))
        now = {part.composition for part, _ in f.open_parts(spent)}
        assert now <= still
        still = now
    assert ("gdp" in still) == ({"pool", "zcdp", "kusner"}.isdisjoint(kinds))


@pytest.mark.parametrize("name", KINDS)
def test_one_charge_of_the_whole_budget_is_taken_and_nothing_after_it(name):
    whole = {
        "tune": Guarantee(Budget.gdp(README.mu())),
        "pool": Guarantee(Budget.pure(3.0)),
        "zcdp": Guarantee(Budget.zcdp(c.zcdp_rho(3.0, 1e-6))),
        "kusner": Guarantee(README),
        "training": Guarantee(README, divergences=Divergences.of(GaussianProfile(0.6), 1e-8)),
    }[name]
    f = AnyFilter.over(README)
    assert f.admits(NOTHING, f.cost(whole), whole)
    spent = f.cost(whole)
    for small in (Guarantee(Budget.gdp(0.3)), Guarantee(Budget.approximate(0.5, 9e-8))):
        assert not f.admits(spent, f.cost(small), small) or f.holds(spent.plus(f.cost(small)))
    if name in ("tune", "zcdp", "kusner"):
        assert not f.holds(spent)  # taken as a first charge alone
        tiny = Guarantee(Budget.pure(1e-6))
        assert not f.admits(spent, f.cost(tiny), tiny)


def test_a_second_charge_is_not_judged_by_itself():
    f = AnyFilter.over(README)
    spent, whole = f.cost(Guarantee(Budget.pure(1e-3))), Guarantee(README)
    assert f.admits(NOTHING, f.cost(whole), whole)
    assert not f.admits(spent, f.cost(whole), whole)


def test_a_first_charge_above_the_budget_is_refused():
    f = AnyFilter.over(README)
    for budget in (Budget.pure(3.01), Budget.gdp(README.mu() * 1.01), Budget.approximate(3.0, 1.1e-6)):
        assert not f.admits(NOTHING, f.cost(Guarantee(budget)), Guarantee(budget))


def test_what_remains_is_admitted_and_hardly_more_is_not():
    f, spent = AnyFilter.over(README), NOTHING
    for name in ("tune", "training", "pool", "tune"):
        spent = spent.plus(f.cost(KINDS[name]))
        mu = Budget.approximate(f.remaining(spent).amount, 1e-6).mu()
        assert f.holds(spent.plus(f.cost(Guarantee(Budget.gdp(mu * (1 - 1e-6))))))
        assert not f.holds(spent.plus(f.cost(Guarantee(Budget.gdp(mu * (1 + 1e-5))))))
        assert f.to_budget(spent).amount <= 3.0
    assert f.remaining(NOTHING) == README
    assert f.remaining(f.capacity.times(2)).amount == 0


@pytest.mark.parametrize("k", range(3))
def test_one_filter_that_holds_to_its_very_limit_is_enough(k):
    f = AnyFilter.over(README)
    limits = [part.limit(SLACK) for part in f.parts]

    def held(amount: float, delta: float) -> bool:
        return f.holds(Cost.of([(amount, delta) if i == k else (CLOSED, 0.0) for i in range(3)]))

    most, share = limits[k]
    assert held(most, share)
    assert not held(math.nextafter(most, math.inf), share)
    assert not held(most, math.nextafter(share, math.inf))


def test_a_first_charge_is_covered_to_the_very_limit():
    f, most = AnyFilter.over(README), README.amount * (1 + SLACK)
    assert f.covers(Guarantee(replace(README, amount=most)))
    assert not f.covers(Guarantee(replace(README, amount=math.nextafter(most, math.inf))))


def test_of_nothing_spent_every_filter_holds_and_nothing_is_told():
    f = AnyFilter.over(README)
    assert f.open_parts(NOTHING) == [(part, Cost(0.0)) for part in f.parts]
    assert f.to_budget(NOTHING) == Budget("approximate", 0.0, 0.0)
    told = f.to_budget(f.cost(KINDS["pool"]))
    assert (told.amount, told.delta) == (pytest.approx(0.8), README.delta)


def fits(terms, guarantee: Guarantee) -> int:
    cost = terms.cost(guarantee)
    return next(n for n in range(100) if not terms.holds(cost.times(n + 1)))


def test_how_many_of_each_kind_fit_against_one_filter_alone():
    """Of tunings as many as gdp, of pools as many as basic; a mixture that no other ledger takes."""
    every = AnyFilter.over(README)
    one = {name: Filter.over(README, name) for name in ("gdp", "zcdp", "basic")}
    tune, pool = Guarantee(Budget.gdp(Budget.approximate(1.0, 1e-6).mu())), Guarantee(Budget.pure(1.0))
    assert [fits(f, tune) for f in (every, *one.values())] == [7, 7, 6, 1]
    assert [fits(f, pool) for f in (every, *one.values())] == [3, 0, 0, 3]
    mixture = [KINDS["tune"], KINDS["pool"], KINDS["training"], KINDS["tune"]]
    together = NOTHING
    for guarantee in mixture:
        together = together.plus(every.cost(guarantee))
        assert every.holds(together)


def test_the_order_is_the_one_at_which_most_of_a_mixture_fits():
    """A Gaussian and a pure release of a quarter of epsilon each, as often as the Renyi filter's own delta allows."""
    for budget in (README, Budget.approximate(1.0, 1e-6), Budget.approximate(8.0, 1e-5)):
        pair = [
            Guarantee(Budget.gdp(c.gdp_mu(budget.amount / 4, budget.delta))),
            Guarantee(Budget.pure(budget.amount / 4)),
        ]

        def room(order: float, budget: Budget = budget, pair: list[Guarantee] = pair) -> float:
            f = AnyFilter.over(budget, order).parts[1]
            return f.capacity.amount / sum(f.cost(g).amount for g in pair)

        assert room(best_order(budget)) == max(map(room, ORDERS)) > 2


def test_terms_are_read_back_as_they_are_kept():
    f = filter_over(README)
    assert filter_over(README, f.code) == f
    assert filter_over(README, "any:8") == AnyFilter(README, 8.0)
    assert filter_over(README, None, 1e-7).composition == "gdp"
    odd = ((Budget.pure(1.0), "any", 0.0), (README, "any:7.5", 0.0), (README, "any", 1e-7))
    for budget, composition, reserve in odd:
        with pytest.raises(BadInput, match=r"needs an epsilon and a delta|order|reserve"):
            filter_over(budget, composition, reserve)
    with pytest.raises((BadInput, ValueError)):
        filter_over(README, "any:x")
