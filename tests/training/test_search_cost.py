"""What a search costs: every share of delta is taken off, and a single run costs what composition says."""

from __future__ import annotations

import math

import pytest

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy.conversions import gdp_delta, gdp_epsilon
from tacit.privacy.divergences import Divergences
from tacit.privacy.guarantee import Budget
from tacit.privacy.profiles import GaussianProfile, epsilon_at
from tacit.privacy.published_selection import renyi_selection
from tacit.privacy.run_laws import Fixed, NegativeBinomial
from tacit.training.search_cost import SearchCost, make_law

BUDGET = Budget.approximate(1.5, 1e-5)


@pytest.mark.parametrize("columns", [0.0, 0.2])
def test_what_is_lost_to_lone_words_and_what_the_runs_may_lose_are_delta_together(columns: float) -> None:
    """A lone word comes out on either neighbour, with a chance of ``missed``, each at a cost of 1 + e^epsilon."""
    cost = SearchCost(BUDGET, make_law(8.0), columns)
    words = 2 * cost.missed * (1 + math.exp(BUDGET.amount))
    assert words == pytest.approx(0.01 * BUDGET.delta)
    runs = float(cost.profile(0.1).delta(cost.epsilon(0.1)))
    assert runs + words == pytest.approx(BUDGET.delta, rel=1e-4)


def test_the_floors_of_all_runs_are_a_thousandth_of_delta() -> None:
    cost = SearchCost(BUDGET, make_law(8.0), 0.0)
    assert cost.floor * cost.law.mean == pytest.approx(1e-3 * BUDGET.delta)
    far = float(cost.profile(0.01).delta(BUDGET.amount))  # where one run's own delta is nothing beside the floor
    assert 0.5e-3 * BUDGET.delta <= far <= 1e-3 * BUDGET.delta * (1 + math.exp(BUDGET.amount))


@pytest.mark.parametrize("columns", [0.0, 0.3])
def test_one_run_and_the_columns_cost_what_two_gaussians_cost(columns: float) -> None:
    """A hundredth of delta for lone words, the floor and the cells of the composition add half a per cent."""
    cost = SearchCost(BUDGET, make_law(1), columns)
    exact = gdp_epsilon(math.hypot(columns, 0.4), BUDGET.delta)
    assert exact <= cost.epsilon(0.4) <= exact * 1.005
    raised = float(SearchCost(BUDGET, make_law(1), columns and 0.001).profile(0.001).delta(BUDGET.amount))
    assert raised == pytest.approx(1e-3 * BUDGET.delta, rel=1e-6)  # nothing but the floor
    assert not cost.searches


def test_one_run_keeps_nearly_all_of_mu() -> None:
    """Forty keep half of it."""
    one, many = (SearchCost(BUDGET, make_law(runs), 0.2 * BUDGET.mu()).base.mu / BUDGET.mu() for runs in (1, 40))
    assert 0.97 < one < math.sqrt(1 - 0.2**2)
    assert many < 0.55


def test_the_base_is_the_largest_within_the_budget() -> None:
    cost = SearchCost(BUDGET, make_law(8.0), 0.1)
    base = cost.base
    assert cost.epsilon(base.mu) <= BUDGET.amount < cost.epsilon(base.mu * 1.002)
    assert base.table.delta(0.3) == pytest.approx(gdp_delta(base.mu, 0.3) + cost.floor, rel=1e-3)


def test_the_law_of_runs_has_its_mean_and_its_cap() -> None:
    law = make_law(8.0)
    assert law.largest == 24
    assert law.law == NegativeBinomial.with_mean(8.0, 2.0)
    assert make_law(1.01).largest == 3
    assert make_law(1.4).largest == 4


def test_other_ways_of_counting_are_told_beside_it() -> None:
    cost = SearchCost(BUDGET, make_law(8.0), 0.1)
    told = cost.to_json()
    mu, law = cost.base.mu, cost.law
    assert (told["base_mu"], told["columns_mu"], told["expected_runs"]) == (mu, 0.1, law.mean)
    composed = math.sqrt(0.1**2 + mu**2 * law.mean)
    assert told["epsilons"]["composition"] == pytest.approx(gdp_epsilon(composed, BUDGET.delta), rel=1e-9)
    assert told["epsilons"]["Renyi"] == epsilon_at(renyi_selection(GaussianProfile(mu).curve(), law.law), BUDGET.delta)
    assert "Renyi" not in SearchCost(BUDGET, Fixed(2), 0.1).to_json()["epsilons"]


def test_what_leaves_nothing_for_the_runs_is_refused() -> None:
    with pytest.raises(BadInput, match="needs a budget with a delta"):
        SearchCost(Budget.pure(1.0), make_law(8.0), 0.0)
    whole = BUDGET.mu()
    with pytest.raises(GuaranteeError, match="leaves nothing for the runs"):
        _ = SearchCost(BUDGET, make_law(8.0), whole).base


def test_divergences_give_up_seven_thousandths_of_delta_and_count_lone_words() -> None:
    """Lone words change what comes out on either neighbour, each with a chance of ``missed``."""
    cost = SearchCost(BUDGET, make_law(8.0), 0.0)
    assert cost.wrong == pytest.approx(2 * cost.missed, rel=1e-12)
    assert cost.divergences == Divergences.of(cost.profile(cost.base.mu), 7e-3 * BUDGET.delta, 2 * cost.missed)
