"""The laws of methods, for every method that promises something; and what is left of them for one that does not."""

from __future__ import annotations

from typing import Any

import pytest
from method_laws import MethodLaws, never

import tacit
from tacit.errors import BadInput
from tacit.methods.registry import METHODS, Method, load

PRIVATE = [name for name, method in METHODS.items() if method.notions]


class TestMethod(MethodLaws):
    @pytest.fixture(params=PRIVATE)
    def method(self, request: pytest.FixtureRequest) -> Method:
        return METHODS[request.param]


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(PRIVATE)))
@pytest.mark.parametrize("other", [{"budget": tacit.Budget.gdp(1.0)}, {"no_such_option": 1}, {"out": "here"}])
def test_a_method_that_promises_nothing_takes_no_budget_and_keeps_nothing(name: str, other: dict[str, Any]) -> None:
    facts: dict[str, Any] = {"records": 5, "bounds": (0.0, 1.0), "budget": None, "trials": 3}
    with pytest.raises(BadInput):
        tacit.tune(never, {"x": tacit.Float(0.0, 1.0)}, method=name, **{**facts, **other})
    assert load(METHODS[name].forecasts)
