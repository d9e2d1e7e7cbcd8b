"""What a private training would cost and give: what one run keeps, what a search would leave, and what train pays."""

from __future__ import annotations

import json
import math

import pytest
from shell_parts import tacit as shell
from train_parts import table

import tacit
from tacit.errors import BadInput
from tacit.privacy.guarantee import Budget
from tacit.training.forecast import forecast
from tacit.training.search_cost import COLUMNS, SearchCost, make_law

TOTAL = Budget.approximate(1.0, 1e-5)


def test_a_plan_says_what_train_itself_computes() -> None:
    plan = forecast(records=30_000, budget=TOTAL, runs=40)
    one, many = (SearchCost(TOTAL, make_law(runs), COLUMNS * TOTAL.mu()) for runs in (1, 40))
    assert plan.kept * TOTAL.mu() == pytest.approx(one.base.mu)
    assert plan.search_kept * TOTAL.mu() == pytest.approx(many.base.mu)
    assert (plan.runs, plan.most_runs) == (many.law.mean, 120)
    assert plan.guarantee.divergences == one.divergences
    assert plan.guarantee.budget == TOTAL
    assert plan.choice_noise == many.choice_noise(3000)  # a tenth of the records validates
    assert plan.score_noise == one.score_noise(3000)


@pytest.mark.parametrize("declared", [False, True])
def test_a_training_pays_and_gives_what_was_forecast(declared: bool) -> None:
    """The charge, the mu of a run, and the noise on the score: one SearchCost, asked beforehand and paid."""
    budget, rows = Budget.approximate(2.0, 1e-5), table()
    columns = {"age": (0, 120), "ward": ["north", "west"]}
    schema = tacit.Schema.declare(columns, target="ill", labels=["no", "yes"]) if declared else None
    plan = forecast(records=len(rows), budget=budget, declared=declared)
    release = tacit.train("logistic", rows, target="ill", schema=schema, budget=budget, progress=False)
    assert release.guarantee.budget == plan.guarantee.budget
    assert release.guarantee.divergences == plan.guarantee.divergences
    assert release.value.details["base_mu"] == pytest.approx(plan.kept * budget.mu(), rel=1e-12)
    assert release.value.deviation == pytest.approx(plan.score_noise, rel=1e-12)
    assert (release.value.details["columns_mu"] == 0.0) == declared


def test_score_and_counts_together_cost_what_a_test_row_may() -> None:
    cost = SearchCost.of(TOTAL, 1)
    score, counts = cost.test_mu
    assert math.hypot(score, counts) == pytest.approx(TOTAL.mu(), rel=1e-12)
    assert score == pytest.approx(3 * counts, rel=1e-12)  # nine tenths of the squared mu
    assert cost.score_noise(250) == pytest.approx(1 / (250 * score), rel=1e-12)
    assert cost.choice_noise(250) == pytest.approx(1 / (250 * cost.base.mu), rel=1e-12)


def test_one_run_keeps_twice_what_a_run_of_a_search_does_and_that_far_more_than_by_composition() -> None:
    plan = forecast(records=30_000, budget=TOTAL)
    assert 3 * plan.composed_epsilon < plan.search_epsilon < 0.6 * plan.run_epsilon
    assert "--runs" not in plan.advice


def test_too_few_records_are_said_with_how_many_it_takes() -> None:
    assert "not enough records" in forecast(records=100, budget=TOTAL).advice


def test_a_budget_without_a_delta_is_refused() -> None:
    with pytest.raises(BadInput, match="needs a budget with a delta"):
        forecast(records=1000, budget=Budget.gdp(0.5))


def test_the_shell_prints_it_and_asks_for_dimensions_otherwise() -> None:
    done = shell("plan", "--goal", "train", "--records", "30000", "--epsilon", "1", "--delta", "1e-5", "--json")
    assert json.loads(done.out)["chance"] > 0.7
    refused = shell("plan", "--records", "30000")
    assert (refused.code, "--dimensions" in refused.err) == (2, True)
