"""The plan of a private training: what one run keeps, what a search would leave, and a refusal in its advice."""

from __future__ import annotations

import json

import pytest
from shell_parts import tacit

from tacit.errors import GuaranteeError
from tacit.planning.training import plan_training
from tacit.privacy.guarantee import Budget
from tacit.training.search_cost import COLUMNS, SearchCost, make_law

TOTAL = Budget.approximate(1.0, 1e-5)


def test_a_plan_says_what_train_itself_computes() -> None:
    plan = plan_training(records=30_000, budget=TOTAL, runs=40)
    one, many = (SearchCost(TOTAL, make_law(runs), COLUMNS * TOTAL.mu()) for runs in (1, 40))
    assert plan.kept * TOTAL.mu() == pytest.approx(one.base.mu)
    assert plan.search_kept * TOTAL.mu() == pytest.approx(many.base.mu)
    assert (plan.runs, plan.most_runs) == (many.law.mean, 120)
    assert plan.guarantee.divergences == one.divergences
    assert plan.guarantee.budget == TOTAL


def test_one_run_keeps_twice_what_a_run_of_a_search_does_and_that_far_more_than_by_composition() -> None:
    plan = plan_training(records=30_000, budget=TOTAL)
    assert 3 * plan.composed_epsilon < plan.search_epsilon < 0.6 * plan.run_epsilon
    assert "--runs" not in plan.advice


def test_too_few_records_are_said_with_how_many_it_takes() -> None:
    assert "not enough records" in plan_training(records=100, budget=TOTAL).advice


def test_a_budget_without_a_delta_is_refused() -> None:
    with pytest.raises(GuaranteeError):
        plan_training(records=1000, budget=Budget.gdp(0.5))


def test_the_shell_prints_it_and_asks_for_dimensions_otherwise() -> None:
    done = tacit("plan", "--goal", "train", "--records", "30000", "--epsilon", "1", "--delta", "1e-5", "--json")
    assert json.loads(done.out)["chance"] > 0.7
    refused = tacit("plan", "--records", "30000")
    assert (refused.code, "--dimensions" in refused.err) == (2, True)
