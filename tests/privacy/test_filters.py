"""Filters: the laws of each, and why the reserve is fixed in advance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy import conversions as c
from tacit.privacy.filters import Cost, Filter
from tacit.privacy.guarantee import Budget, Guarantee

settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")

FILTERS = {
    "pure": Filter.over(Budget.pure(2.0)),
    "zcdp": Filter.over(Budget.zcdp(0.7)),
    "gdp": Filter.over(Budget.gdp(1.3)),
    "approximate basic": Filter.over(Budget.approximate(1.0, 1e-5), "basic"),
    "approximate gdp": Filter.over(Budget.approximate(1.0, 1e-6)),
    "approximate zcdp": Filter.over(Budget.approximate(3.0, 1e-6), "zcdp"),
    "approximate gdp with reserve": Filter.over(Budget.approximate(1.0, 1e-5), "gdp", 1e-6),
    "approximate zcdp with reserve": Filter.over(Budget.approximate(1.0, 1e-5), "zcdp", 9e-6),
}
every_filter = pytest.mark.parametrize("f", FILTERS.values(), ids=FILTERS.keys())
NATURAL = {"basic": Budget.pure, "gdp": Budget.gdp, "zcdp": Budget.zcdp}
amounts = st.floats(1e-3, 0.5)


def charges(f: Filter) -> st.SearchStrategy[Guarantee]:
    """Guarantees of every notion that f takes."""
    notions = [st.builds(Budget.pure, amounts)]
    if f.composition != "basic":
        notions.append(st.builds(Budget.gdp, amounts))
    if f.composition == "zcdp":
        notions.append(st.builds(Budget.zcdp, amounts))
    if f.capacity.delta:
        notions.append(st.builds(Budget.approximate, amounts, st.floats(1e-9, 5e-6)))
    return st.builds(Guarantee, st.one_of(notions))


def total(costs: list[Cost]) -> Cost:
    spent = Cost(0.0)
    for cost in costs:
        spent = spent.plus(cost)
    return spent


def in_currency(f: Filter, budget: Budget) -> Budget:
    """A budget as the natural charge that just fits in it."""
    if budget.notion != "approximate" or f.composition == "basic":
        return budget
    return Budget.gdp(budget.mu()) if f.composition == "gdp" else Budget.zcdp(c.zcdp_rho(budget.amount, budget.delta))


@every_filter
@given(amounts, st.integers(1, 200))
def test_n_charges_cost_as_much_as_one_charge_of_n(f, amount, n):
    one = f.cost(Guarantee(NATURAL[f.composition](amount)))
    whole = f.cost(Guarantee(NATURAL[f.composition](amount * (math.sqrt(n) if f.composition == "gdp" else n))))
    assert total([one] * n).amount == pytest.approx(whole.amount, rel=1e-9)


@every_filter
@given(st.data())
def test_the_order_of_charges_does_not_matter(f, data):
    costs = [f.cost(g) for g in data.draw(st.lists(charges(f), max_size=12))]
    there, back = total(costs), total(costs[::-1])
    assert there.amount == pytest.approx(back.amount, rel=1e-12)
    assert there.delta == pytest.approx(back.delta, rel=1e-12)


@every_filter
@settings(max_examples=40)
@given(st.data())
def test_what_was_admitted_never_exceeds_the_budget(f, data):
    spent = Cost(0.0)
    for guarantee in data.draw(st.lists(charges(f), max_size=25)):
        cost = f.cost(guarantee)
        spent = spent.plus(cost) if f.admits(spent, cost) else spent
    left = in_currency(f, f.remaining(spent)) if f.remaining(spent).amount else None
    if left is not None:  # drive it to the very edge
        cost = f.cost(Guarantee(left))
        spent = spent.plus(Cost(cost.amount))
    stated = f.to_budget(spent)
    assert stated.notion == f.budget.notion
    assert stated.amount <= f.budget.amount * (1 + 2e-9)
    assert stated.delta <= f.budget.delta * (1 + 1e-9)


@every_filter
@given(st.floats(0, 0.9))
def test_what_remains_is_admitted_and_hardly_more_is_not(f, share):
    spent = Cost(share * f.capacity.amount)
    left = in_currency(f, f.remaining(spent))
    cost = f.cost(Guarantee(left))
    assert f.admits(spent, cost)
    assert not f.admits(spent, Cost(cost.amount * (1 + 1e-6), cost.delta))
    if cost.delta:
        assert not f.admits(spent, Cost(cost.amount, cost.delta * (1 + 1e-6)))


@every_filter
def test_nothing_spent_leaves_the_budget_and_all_spent_leaves_nothing(f):
    everything = f.remaining(Cost(0.0))
    assert everything.amount == pytest.approx(f.budget.amount, rel=1e-9)
    assert everything.delta == pytest.approx(f.budget.delta - f.reserve)
    assert f.remaining(f.capacity).amount == 0
    assert not f.admits(f.capacity, Cost(f.capacity.amount * 1e-6))


@pytest.mark.parametrize(
    ("f", "budget", "remedy"),
    [
        (FILTERS["pure"], Budget.gdp(0.1), "open one with an epsilon and a delta"),
        (FILTERS["gdp"], Budget.zcdp(0.1), "open one with an epsilon and a delta"),
        (FILTERS["gdp"], Budget.approximate(0.1, 1e-9), "composes by any or basic, or one with a reserve"),
        (FILTERS["approximate zcdp"], Budget.approximate(0.1, 1e-9), "composes by any or basic, or one with a reserve"),
        (FILTERS["pure"], None, "a release without a guarantee cannot be charged: because"),
    ],
)
def test_a_charge_that_cannot_be_counted_is_refused_with_a_remedy(f, budget, remedy):
    with pytest.raises(GuaranteeError, match=remedy):
        f.cost(Guarantee(budget, source="because"))


def test_a_basic_filter_takes_gaussian_noise_by_the_epsilon_that_it_quotes():
    cost = FILTERS["approximate basic"].cost(Guarantee(Budget.gdp(0.2), delta=1e-7))
    assert cost == (Budget.gdp(0.2).epsilon(1e-7), 1e-7, ())


def test_a_pure_filter_admits_no_delta():
    f = FILTERS["pure"]
    assert not f.admits(Cost(0.0), f.cost(Guarantee(Budget.approximate(0.1, 1e-12))))


@pytest.mark.parametrize(
    ("budget", "composition", "reserve"),
    [
        (Budget.pure(1.0), "gdp", 0.0),
        (Budget.gdp(1.0), "zcdp", 0.0),
        (Budget.gdp(1.0), "magic", 0.0),
        (Budget.gdp(1.0), None, 1e-7),
        (Budget.approximate(1.0, 1e-6), "basic", 1e-7),
        (Budget.approximate(1.0, 1e-6), "gdp", 1e-6),
        (Budget.approximate(1.0, 1e-6), "gdp", -1e-9),
        (Budget.approximate(1.0, 1e-6), "gdp", math.nan),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(budget, composition, reserve):
    with pytest.raises(BadInput, match=r"composition=|reserve"):
        Filter.over(budget, composition, reserve)


# Why the reserve is fixed when the filter is made

CASES = [(1.0, 1e-6), (0.1, 1e-6), (4.0, 1e-6), (8.0, 1e-9)]


def best_of_either(epsilon: float, m: float, rest: float, reveal: float, *, both: bool = False) -> float:
    """The exact delta at epsilon of an analyst who decides, after a first answer, how to go on.

    The first answer is Gaussian with mu^2 = m: x ~ N(0, 1) on one data set, x ~ N(sqrt(m), 1) on its neighbour, whose
    densities are q(x) and p(x) with log ratio l(x) = sqrt(m) x - m/2. Given x, the analyst takes one of

        A   a second Gaussian with mu^2 = rest. Given x it adds  p(x) D(epsilon - l(x)),  where
            D(e) = Phi(u/2 - e/u) - exp(e) Phi(-u/2 - e/u),  u = sqrt(rest),  is its hockey stick, here also for e < 0,
        B   an answer that tells which data set it is with probability s = reveal, and otherwise nothing. It is
            (0, s)-DP and adds  p(x) [s + (1 - s) max(0, 1 - exp(epsilon - l(x)))],

    whichever adds more. The whole has hockey-stick divergence  integral of p(x) max(A(x), B(x)) dx  at epsilon. With
    both=True the analyst takes both, which adds  p(x) [s + (1 - s) D(epsilon - l(x))].
    The integrand is smooth but for two kinks and Gaussian in its tails, so the trapezoid rule on a fine grid will do.
    """
    t = np.linspace(-14, 14, 200_001)  # x - sqrt(m)
    e = epsilon - (math.sqrt(m) * t + m / 2)
    u = math.sqrt(rest)
    a = ndtr(u / 2 - e / u) - np.exp(e) * ndtr(-u / 2 - e / u)
    b = reveal + (1 - reveal) * np.maximum(0, -np.expm1(e))
    gain = reveal + (1 - reveal) * a if both else np.maximum(a, b)
    return float(np.trapezoid(np.exp(-t * t / 2) / math.sqrt(2 * math.pi) * gain, t))


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_deciding_after_seeing_answers_how_to_divide_delta_nearly_doubles_it(epsilon, delta):
    """The filter "admit if gdp_delta(sqrt(sum of mu^2), epsilon) + sum of own deltas <= delta" is unsound.

    It looks reasonable: whatever is admitted, the Gaussians' delta and the own deltas add up to at most delta. But let
    M be the largest admissible sum of mu^2, spend m < M first, and then, after seeing the answer, either the rest M - m
    (A) or an own delta of s = delta - gdp_delta(sqrt(m), epsilon) (B). Always A costs delta; always B costs delta. But
    A gains where the first likelihood ratio was large and B gains everywhere else, and choosing gains nearly both.
    """
    whole = c.gdp_mu(epsilon, delta) ** 2

    def attack(m: float) -> float:
        s = delta - c.gdp_delta(math.sqrt(m), epsilon)
        assert c.gdp_delta(math.sqrt(m), epsilon) + s <= delta * (1 + 1e-12)  # B is admitted by that filter
        return best_of_either(epsilon, m, whole - m, s)

    assert best_of_either(epsilon, 0.5 * whole, 0.5 * whole, 0.0) == pytest.approx(delta, rel=1e-6)  # A alone: honest
    assert max(attack(share * whole) for share in np.linspace(0.5, 0.85, 8)) > 1.9 * delta


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
@pytest.mark.parametrize("kept", [0.0, 1e-3, 0.1, 0.5, 0.9, 0.999])
def test_a_reserve_that_is_fixed_in_advance_refuses_that_strategy_and_holds(epsilon, delta, kept):
    f = Filter.over(Budget.approximate(epsilon, delta), "gdp", kept * delta)
    whole = c.gdp_mu(epsilon, delta) ** 2
    for share in (0.5, 0.6, 0.7, 0.8):
        # The strategy itself: both ways of going on would have to be admitted after the first answer.
        m, s = share * whole, delta - c.gdp_delta(math.sqrt(share * whole), epsilon)
        reveal = Guarantee(Budget("approximate", 0.0, s))
        first = f.admits(Cost(0.0), Cost(m))
        second = first and f.admits(Cost(m), Cost(whole - m))
        if kept == 0:
            with pytest.raises(GuaranteeError, match="reserve"):
                f.cost(reveal)
        else:
            assert not (second and f.admits(Cost(m), f.cost(reveal)))
        # The same idea with the most that this filter does admit.
        limit = f.capacity
        m = share * limit.amount
        assert f.admits(Cost(m), Cost(limit.amount - m, limit.delta))
        for both in (False, True):
            exact = best_of_either(epsilon, m, limit.amount - m, limit.delta, both=both)
            assert exact <= delta * (1 + 1e-6)
        assert exact >= 0.999 * delta  # taking both uses the budget up: the bound is not vacuous


def test_a_cost_covers_another_where_it_does_in_every_filter() -> None:
    cost = Cost(1.0, 1e-6, ((2.0, 0.0),))
    assert cost.covers(cost)
    assert cost.covers(Cost(1.0, 1e-6))
    assert cost.covers(Cost(1.0 + 0.9e-9, 1e-6, ((2.0, 0.0),)))
    for more in (
        Cost(1.0 + 1.1e-9, 1e-6, ((2.0, 0.0),)),
        Cost(1.0, 1.1e-6, ((2.0, 0.0),)),
        Cost(1.0, 1e-6, ((2.1, 0.0),)),
        Cost(1.0, 1e-6, ((2.0, 1e-9),)),
        Cost(1.0, 1e-6, ((2.0, 0.0), (0.1, 0.0))),
    ):
        assert not cost.covers(more)


def test_costs_add_and_are_multiplied_in_every_filter() -> None:
    a, b = Cost(1.0, 0.25, ((2.0, 0.5),)), Cost(4.0, 0.125)
    assert a.plus(b) == b.plus(a) == Cost(5.0, 0.375, ((2.0, 0.5),))
    assert b.plus(b) == b.times(2) == Cost(8.0, 0.25)
    assert a.times(3) == Cost(3.0, 0.75, ((6.0, 1.5),))


@pytest.mark.parametrize(
    ("composition", "budget", "amount", "delta"),
    [
        ("basic", Budget.pure(0.3), 0.3, 0.0),
        ("basic", Budget.approximate(0.3, 1e-7), 0.3, 1e-7),
        ("basic", Budget.gdp(0.3), c.gdp_epsilon(0.3, 1e-6), 1e-6),
        ("basic", Budget.zcdp(0.3), c.zcdp_epsilon(0.3, 1e-6), 1e-6),
        ("gdp", Budget.pure(0.3), c.pure_mu(0.3) ** 2, 0.0),
        ("gdp", Budget.approximate(0.3, 1e-7), c.pure_mu(0.3) ** 2, 1e-7),
        ("gdp", Budget.gdp(0.3), 0.3**2, 0.0),
        ("zcdp", Budget.pure(0.3), 0.3**2 / 2, 0.0),
        ("zcdp", Budget.approximate(0.3, 1e-7), 0.3**2 / 2, 1e-7),
        ("zcdp", Budget.gdp(0.3), 0.3**2 / 2, 0.0),
        ("zcdp", Budget.zcdp(0.3), 0.3, 0.0),
        ("renyi", Budget.gdp(0.3), 5 * 0.3**2 / 2, 0.0),
        ("renyi", Budget.zcdp(0.3), 5 * 0.3, 0.0),
        # randomised response, the worst pure mechanism: log of E (p/q)^a under q, divided by a - 1
        ("renyi", Budget.pure(0.3), math.log((math.exp(1.5) + math.exp(-1.2)) / (math.exp(0.3) + 1)) / 4, 0.0),
    ],
)
def test_a_charge_costs_what_its_notion_says_in_each_currency(
    composition: str, budget: Budget, amount: float, delta: float
) -> None:
    f = Filter(Budget.approximate(1.0, 1e-5), composition, 0.0 if composition == "basic" else 1e-6, 5.0)
    cost = f.cost(Guarantee(budget, delta=1e-6))
    assert (cost.amount, cost.delta) == (pytest.approx(amount, rel=2e-9), pytest.approx(delta, rel=1e-9))
    assert cost.amount >= amount * (1 - 1e-15)


def test_a_renyi_filter_holds_what_the_conversion_leaves() -> None:
    """Canonne, Kamath and Steinke (2020), Proposition 12, at one order; nothing at an order that converts to more."""
    taken = math.log1p(-1 / 20) - (math.log(0.9e-5) + math.log(20)) / 19
    f = Filter(Budget.approximate(1.0, 1e-5), "renyi", 1e-6, 20.0)
    assert (f.capacity.amount, f.capacity.delta) == (pytest.approx(1.0 - taken, rel=1e-9), 1e-6)
    assert f.to_budget(f.capacity).amount == pytest.approx(1.0, rel=1e-9)
    assert Filter(Budget.approximate(1.0, 1e-5), "renyi", 1e-6, 2.0).capacity.amount == 0.0
