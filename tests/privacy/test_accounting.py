"""Composition: the laws of every filter, oracles for compose, and why the reserve is fixed in advance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy import conversions as c
from tacit.privacy.accounting import Cost, Filter, compose, split
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
        (FILTERS["pure"], Budget.gdp(0.1), r"guarantee.as_approximate\(delta\)"),
        (FILTERS["approximate basic"], Budget.zcdp(0.1), r"guarantee.as_approximate\(delta\)"),
        (FILTERS["gdp"], Budget.zcdp(0.1), "use composition='zcdp'"),
        (FILTERS["gdp"], Budget.approximate(0.1, 1e-9), "composition='basic', or with reserve"),
        (FILTERS["approximate zcdp"], Budget.approximate(0.1, 1e-9), "composition='basic', or with reserve"),
        (FILTERS["pure"], None, "a release without a guarantee cannot be charged: because"),
    ],
)
def test_a_charge_that_cannot_be_counted_is_refused_with_a_remedy(f, budget, remedy):
    with pytest.raises(GuaranteeError, match=remedy):
        f.cost(Guarantee(budget, source="because"))


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


# Composition with parameters fixed in advance


@given(st.lists(amounts, min_size=1, max_size=20))
def test_pure_guarantees_add(parts):
    together = compose([Guarantee(Budget.pure(e)) for e in parts])
    assert together.notion == "pure"
    assert together.epsilon() == pytest.approx(math.fsum(parts), rel=1e-12)


@pytest.mark.parametrize(("mu", "epsilon", "times"), [(0.5, 1.0, 1), (0.3, 0.2, 8), (2.0, 0.5, 2), (0.1, 3.0, 1)])
def test_a_mixture_of_gaussian_and_laplace_is_bounded_by_what_we_state(mu, epsilon, times):
    gaussian = pld.privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=1e-3)
    laplace = pld.privacy_loss_distribution.from_laplace_mechanism(1 / epsilon, value_discretization_interval=1e-3)
    peer = gaussian.compose(laplace).self_compose(times).get_epsilon_for_delta(1e-6)
    parts = [Guarantee(Budget.gdp(mu)), Guarantee(Budget.pure(epsilon))] * times
    ours = compose(parts).epsilon(1e-6)
    assert peer <= ours
    assert peer <= compose([*parts, Guarantee(Budget.zcdp(1e-12))]).epsilon(1e-6)


@pytest.mark.parametrize(
    ("k", "epsilon", "own", "delta"), [(1, 0.5, 1e-7, 1e-6), (10, 0.3, 1e-8, 1e-5), (400, 0.02, 1e-9, 1e-6)]
)
def test_approximate_guarantees_compose_to_no_less_than_the_optimum(k, epsilon, own, delta):
    # Exact (Kairouz et al. 2015): each reveals all with probability own, otherwise answers by randomised response.
    stated = compose([Guarantee(Budget.approximate(epsilon, own))] * k, delta=delta).budget
    j = np.arange(k + 1)
    loss = (k - 2 * j) * epsilon
    stick = np.sum(binom.pmf(j, k, 1 / (1 + math.exp(epsilon))) * np.maximum(0, -np.expm1(stated.amount - loss)))
    revealed = -math.expm1(k * math.log1p(-own))
    assert stated.delta == delta
    assert revealed + (1 - revealed) * stick <= delta
    assert stated.amount <= k * epsilon


def test_without_a_delta_to_spare_epsilons_and_deltas_add():
    parts = [Budget.approximate(0.5, 1e-6), Budget.pure(0.25), Budget.approximate(0.125, 2e-6)]
    together = compose([Guarantee(b) for b in parts]).budget
    assert together.amount == 0.875
    assert together.delta == pytest.approx(3e-6, rel=1e-12)


def test_many_small_approximate_guarantees_beat_their_sum():
    together = compose([Guarantee(Budget.approximate(0.02, 1e-9))] * 400, delta=1e-6).budget
    assert together.amount < 3 < 400 * 0.02


def test_a_delta_of_its_own_and_a_gaussian_need_the_total_delta():
    parts = [Guarantee(Budget.approximate(0.5, 1e-6)), Guarantee(Budget.gdp(0.5))]
    with pytest.raises(BadInput, match="needs the total delta to state"):
        compose(parts)
    with pytest.raises(GuaranteeError, match="leaves nothing of delta=1e-06"):
        compose(parts, delta=1e-6)
    together = compose(parts, delta=1e-5).budget
    assert together.delta == 1e-5
    assert together.amount > Budget.gdp(0.5).epsilon(1e-5)


@pytest.mark.parametrize("budget", [Budget.pure(0.2), Budget.gdp(0.3), Budget.zcdp(0.1), Budget.approximate(0.1, 1e-8)])
def test_composing_n_copies_is_composing_pairs_of_halves(budget):
    g = Guarantee(budget)
    flat = compose([g] * 6).budget
    nested = compose([compose([g] * 2), compose([g] * 4)]).budget
    assert flat.notion == nested.notion
    assert flat.amount == pytest.approx(nested.amount, rel=1e-12)
    assert flat.delta == pytest.approx(nested.delta, rel=1e-12)
    assert flat.amount > budget.amount


def test_what_is_assumed_and_who_proved_it_is_carried_along():
    parts = [Guarantee(Budget.pure(1.0), "u", ("a", "b"), "s"), Guarantee(Budget.pure(1.0), "u", ("b", "c"), "t")]
    together = compose(parts)
    assert together.assumptions == ("a", "b", "c")
    assert together.unit == "u"
    assert together.source.endswith("s; t")


def test_guarantees_for_different_units_do_not_compose():
    with pytest.raises(GuaranteeError, match="a household, a record"):
        compose([Guarantee(Budget.pure(1.0), "a record"), Guarantee(Budget.pure(1.0), "a household")])


def test_one_release_without_a_guarantee_leaves_none():
    assert compose([Guarantee(Budget.pure(1.0)), Guarantee.none("simulated")]).kind == "none"


def test_composing_nothing_is_refused():
    with pytest.raises(BadInput, match="at least one guarantee"):
        compose([])


@given(st.sampled_from([Budget.pure, Budget.zcdp, Budget.gdp]), amounts, st.integers(1, 300))
def test_the_shares_of_a_budget_together_are_the_budget(make, amount, among):
    whole = compose([Guarantee(split(make(amount), among))] * among).budget
    assert whole.notion == make(amount).notion
    assert whole.amount == pytest.approx(amount, rel=1e-9)


@given(st.floats(0.1, 10), st.floats(1e-9, 1e-3), st.integers(1, 300))
def test_the_shares_of_an_approximate_budget_together_are_the_budget(epsilon, delta, among):
    whole = compose([Guarantee(split(Budget.approximate(epsilon, delta), among))] * among)
    assert whole.epsilon(delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("among", [0, -1, 1.5, True, None])
def test_a_budget_is_split_among_a_whole_number(among):
    with pytest.raises(BadInput, match="among must be"):
        split(Budget.pure(1.0), among)


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
