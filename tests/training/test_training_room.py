"""How large a training still fits: what is named is taken, and not far below the most that is."""

from __future__ import annotations

import pytest

from tacit.errors import BudgetRefused, GuaranteeError
from tacit.privacy.any_filter import AnyFilter
from tacit.privacy.filters import NOTHING, Cost, Filter
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import EXACT
from tacit.privacy.room import fits
from tacit.privacy.units import TABLE
from tacit.run.private_state import PrivateState
from tacit.training.search_cost import COLUMNS, SearchCost, make_law
from tacit.training.secret_search import SecretSearch
from tacit.training.training_room import largest_training

BUDGET = Budget.approximate(3.0, 1e-6)
TERMS = AnyFilter.over(BUDGET)


def charge(epsilon: float, runs: float = 40) -> Guarantee:
    budget = Budget.approximate(epsilon, 1e-6)
    cost = SearchCost(budget, make_law(runs), COLUMNS * budget.mu())
    return Guarantee(budget, divergences=cost.divergences)


@pytest.mark.parametrize("runs", [1, 40])
@pytest.mark.parametrize("spent", [TERMS.cost(Guarantee(Budget.pure(0.8))), TERMS.cost(Guarantee(Budget.gdp(0.3)))])
def test_the_training_that_is_named_is_taken_and_a_fifth_more_is_not(spent: Cost, runs: float):
    def takes(guarantee: Guarantee) -> bool:
        return TERMS.admits(spent, TERMS.cost(guarantee), guarantee)

    epsilon = largest_training(takes, BUDGET, runs)
    assert takes(charge(epsilon, runs))
    assert not takes(charge(1.2 * epsilon, runs))


def test_how_many_trainings_fit_against_one_filter_alone():
    training, counts = charge(1.0), []
    for terms in (TERMS, *(Filter.over(BUDGET, name) for name in ("gdp", "zcdp", "basic"))):
        counts.append(sum(fits(terms, _spend(terms, training, n), training) for n in range(6)))
    assert counts == [3, 0, 0, 1]


def test_a_tuning_a_pool_a_training_and_a_front_of_four_fifths_each_fit():
    gaussian, spent = Guarantee(Budget.gdp(Budget.approximate(0.8, 1e-6).mu())), NOTHING
    for guarantee in (gaussian, Guarantee(Budget.pure(0.8)), charge(0.8), gaussian):
        spent = spent.plus(TERMS.cost(guarantee))
        assert TERMS.holds(spent)


def _spend(terms: Filter | AnyFilter, guarantee: Guarantee, times: int) -> Cost:
    try:
        return terms.cost(guarantee).times(times)
    except GuaranteeError:
        return NOTHING


def test_where_nothing_is_left_no_training_is_named():
    full = TERMS.capacity.times(2)
    assert largest_training(lambda g: TERMS.admits(full, TERMS.cost(g), g), BUDGET) == 0
    assert largest_training(lambda g: TERMS.admits(NOTHING, TERMS.cost(g), g), BUDGET) > 2


def test_a_training_that_is_refused_is_told_what_would_fit(tmp_path):
    with Ledger.open(tmp_path / "l.db", "icu", BUDGET) as ledger:
        ledger.charge(Guarantee(Budget.pure(2.0), TABLE), "pool")
        for runs, words in ((40, "about 38 runs"), (1, "one run")):
            search = SecretSearch("train logistic", SearchCost(BUDGET, make_law(runs), 0.0), TABLE, EXACT)
            with pytest.raises(BudgetRefused, match=rf"A training of {words} at epsilon 0\.[0-9]+ would fit\."):
                search.pay(PrivateState(None), ledger)
        assert len(ledger.entries()) == 1
