"""The plan of a private training: the law it chooses, what a run keeps, and a refusal in its advice."""

from __future__ import annotations

import json

import pytest
from shell_parts import tacit

from tacit.errors import GuaranteeError
from tacit.planning.training import plan_training
from tacit.privacy.guarantee import Budget
from tacit.privacy.run_laws import geometric
from tacit.privacy.selection_budget import base_for

TOTAL = Budget.approximate(1.0, 1e-5)


def test_a_run_keeps_far_more_than_by_composition_and_no_more_than_a_single_run() -> None:
    plan = plan_training(records=30_000, budget=TOTAL)
    assert 3 * plan.composed_epsilon < plan.run_epsilon < 1.0
    assert plan.runs <= 40 < plan.most_runs


def test_what_a_run_keeps_agrees_with_the_accountant_of_another_law() -> None:
    """The law chosen for its chance may keep less than the geometric one of the same mean, by no more than a tenth."""
    plan = plan_training(records=30_000, budget=TOTAL)
    other = Budget.gdp(base_for(TOTAL, geometric(plan.runs))).epsilon(1e-5)
    assert 0.9 * other <= plan.run_epsilon <= 1.05 * other


def test_too_few_records_are_said_with_how_many_it_takes() -> None:
    assert "not enough records" in plan_training(records=100, budget=TOTAL).advice


def test_a_budget_without_a_delta_is_refused() -> None:
    with pytest.raises(GuaranteeError):
        plan_training(records=1000, budget=Budget.gdp(0.5))


def test_the_shell_prints_it_and_asks_for_dimensions_otherwise() -> None:
    done = tacit("plan", "--train", "--records", "30000", "--epsilon", "1", "--delta", "1e-5", "--json")
    assert json.loads(done.out)["chance"] > 0.7
    refused = tacit("plan", "--records", "30000")
    assert (refused.code, "--dimensions" in refused.err) == (2, True)
