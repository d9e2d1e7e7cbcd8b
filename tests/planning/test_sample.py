"""A sample is called enough where its errors are small beside what settings differ by, and never where they are not."""

from __future__ import annotations

import math

import pytest

import tacit
from tacit.methods.forecast import PlanInput
from tacit.planning.sample import SHARE, describe_sample, errors_of, find_sample
from tacit.privacy.guarantee import Budget

BUDGET = Budget.approximate(1.0, 1e-6)


def case(records: int, spread: float = 0.1) -> PlanInput:
    return PlanInput(records, 50, 2, BUDGET, spread)


def test_of_a_thousand_million_ten_million_are_enough() -> None:
    made = case(10**9)
    assert find_sample(made) == 10**7
    noise, error = errors_of(made, 10**9)
    assert (noise, error) == (pytest.approx(3e-8, rel=0.4), pytest.approx(1.6e-5, rel=0.1))
    [said] = describe_sample(made)
    assert "a random 10,000,000 of the 1,000,000,000 records are enough, at 1% of the cost" in said
    assert said in str(tacit.plan(records=10**9, trials=50, dimensions=2, budget=BUDGET).to_json()["notes"])


@pytest.mark.parametrize("spread", [0.01, 0.1, 1.0])
def test_the_sample_is_the_least_power_of_ten_whose_errors_are_small(spread: float) -> None:
    made = case(10**12, spread)
    size = find_sample(made)
    assert size is not None
    assert math.hypot(*errors_of(made, size)) <= spread / SHARE < math.hypot(*errors_of(made, size // 10))


def test_nothing_is_said_where_all_records_are_needed() -> None:
    assert describe_sample(case(5000)) == describe_sample(case(10**7)) == []


def test_nothing_is_said_of_a_pure_budget() -> None:
    assert find_sample(PlanInput(10**9, 50, 2, Budget.pure(1.0), 0.1)) is None
