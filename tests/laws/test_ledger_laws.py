"""Laws that hold for every composition and on every database."""

from __future__ import annotations

import itertools
import math
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.errors import BudgetRefused, GuaranteeError
from tacit.privacy.any_filter import AnyFilter
from tacit.privacy.filters import NOTHING, Cost, Filter
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger

FILTERS = [
    Filter.over(Budget.pure(2.0)),
    Filter.over(Budget.gdp(1.5)),
    Filter.over(Budget.zcdp(1.0)),
    Filter.over(Budget.approximate(2.0, 1e-5), "basic"),
    Filter.over(Budget.approximate(2.0, 1e-5), "gdp"),
    Filter.over(Budget.approximate(2.0, 1e-5), "zcdp"),
    Filter.over(Budget.approximate(2.0, 1e-5), "gdp", 1e-6),
    Filter.over(Budget.approximate(2.0, 1e-5), "zcdp", 1e-6),
]
EXAMPLES = settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
amounts = st.floats(0.01, 1.0)
budgets = st.one_of(
    amounts.map(Budget.pure),
    amounts.map(Budget.gdp),
    amounts.map(Budget.zcdp),
    st.builds(Budget.approximate, amounts, st.sampled_from([1e-8, 3e-7, 1e-6])),
)


def names(terms: Filter) -> str:
    return f"{terms.budget.notion}-{terms.composition}" + ("-reserve" if terms.reserve else "")


# On a server three filters: what a filter computes does not depend on the database.
PLACES = [pytest.param("sqlite", terms, id=f"sqlite-{names(terms)}") for terms in FILTERS]
PLACES += [
    pytest.param("postgres", terms, id=f"postgres-{names(terms)}", marks=pytest.mark.postgres)
    for terms in (FILTERS[0], FILTERS[4], FILTERS[7])
]
at_every_place = pytest.mark.parametrize(("ledger_url", "terms"), PLACES, indirect=["ledger_url"])


def fresh(url: str, terms: Filter) -> Ledger:
    return Ledger.open(url, uuid.uuid4().hex, terms.budget, composition=terms.composition, reserve=terms.reserve)


def pieces(terms: Filter, n: int, share: float) -> tuple[Guarantee, Guarantee]:
    """A guarantee, and another of which n make the first: whole = a share of the budget, in the filter's currency."""
    amount = terms.capacity.amount * share
    match terms.composition:
        case "basic" if terms.budget.delta:
            delta = terms.budget.delta * share
            return Guarantee(Budget.approximate(amount, delta)), Guarantee(Budget.approximate(amount / n, delta / n))
        case "basic":
            return Guarantee(Budget.pure(amount)), Guarantee(Budget.pure(amount / n))
        case "gdp":
            return Guarantee(Budget.gdp(math.sqrt(amount))), Guarantee(Budget.gdp(math.sqrt(amount / n)))
    return Guarantee(Budget.zcdp(amount)), Guarantee(Budget.zcdp(amount / n))


@at_every_place
@given(n=st.integers(1, 7), share=st.floats(0.05, 1.0))
@EXAMPLES
def test_n_charges_cost_what_one_charge_of_n_costs(ledger_url: str, terms: Filter, n: int, share: float) -> None:
    whole, part = pieces(terms, n, share)
    once, often = fresh(ledger_url, terms), fresh(ledger_url, terms)
    once.charge(whole)
    for _ in range(n):
        often.charge(part)
    a, b = once.entries()[-1].spent, often.entries()[-1].spent
    assert (b.amount, b.delta, *b.others) == pytest.approx((a.amount, a.delta, *a.others), rel=1e-9)
    one, many = once.spent().budget, often.spent().budget
    assert one is not None
    assert many is not None
    assert many.amount == pytest.approx(one.amount, rel=1e-6)
    # What one cannot afford, the other cannot: a charge of the rest fits both, a little more fits neither.
    rest = 1.0 - share
    if rest > 0.01:
        fits, too_much = pieces(terms, 1, rest)[0], pieces(terms, 1, rest * 1.001)[0]
        assert once.can_afford(fits)
        assert often.can_afford(fits)
        assert not once.can_afford(too_much)
        assert not often.can_afford(too_much)
    for ledger in (once, often):
        ledger.verify()
        ledger.close()


@at_every_place
@given(asked=st.lists(budgets, max_size=6))
@EXAMPLES
def test_a_ledger_admits_exactly_what_its_filter_admits(ledger_url: str, terms: Filter, asked: list[Budget]) -> None:
    ledger, spent, admitted = fresh(ledger_url, terms), Cost(0.0), 0
    for budget in asked:
        guarantee = Guarantee(budget)
        try:
            cost = terms.cost(guarantee)
        except GuaranteeError:
            with pytest.raises(GuaranteeError):
                ledger.charge(guarantee)
            continue
        expected = terms.admits(spent, cost)
        assert ledger.can_afford(guarantee) == expected
        if expected:
            ledger.charge(guarantee)
            spent, admitted = spent.plus(cost), admitted + 1
        else:
            with pytest.raises(BudgetRefused):
                ledger.charge(guarantee)
    found = ledger.entries()
    assert len(found) == admitted
    assert all(a.spent.amount < b.spent.amount for a, b in itertools.pairwise(found))
    assert ledger.remaining() == terms.remaining(spent)
    ledger.verify()
    ledger.close()


@given(asked=st.lists(budgets, min_size=1, max_size=8))
@EXAMPLES
def test_a_ledger_of_several_filters_admits_exactly_what_they_admit(ledger_url: str, asked: list[Budget]) -> None:
    terms, spent = AnyFilter.over(Budget.approximate(2.0, 1e-5)), NOTHING
    ledger = Ledger.open(ledger_url, uuid.uuid4().hex, terms.budget)
    for guarantee in map(Guarantee, asked):
        cost = terms.cost(guarantee)
        expected = terms.admits(spent, cost, guarantee)
        assert ledger.can_afford(guarantee) == expected
        if expected:
            ledger.settle(ledger.charge(guarantee), "0" * 64)
            spent = spent.plus(cost)
        else:
            with pytest.raises(BudgetRefused):
                ledger.charge(guarantee)
    found = ledger.entries()
    assert (found[-1].spent if found else NOTHING) == spent
    assert ledger.remaining() == terms.remaining(spent)
    ledger.verify()
    ledger.close()


@at_every_place
def test_what_remains_can_be_spent_and_then_nothing_remains(ledger_url: str, terms: Filter) -> None:
    ledger = fresh(ledger_url, terms)
    ledger.charge(pieces(terms, 1, 0.3)[0])
    ledger.charge(pieces(terms, 1, 0.7)[0])
    assert ledger.remaining().amount == pytest.approx(0.0, abs=1e-3)
    assert not ledger.can_afford(pieces(terms, 1, 0.001)[0])
    assert ledger.spent().budget is not None
    assert ledger.spent().budget.amount == pytest.approx(terms.budget.amount, rel=1e-6)
