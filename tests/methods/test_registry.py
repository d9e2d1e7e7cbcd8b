"""A new method is one file and one line: a toy is found by everything that reads the registry."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import toy_method
from method_laws import MethodLaws

import tacit
from tacit.errors import BadInput
from tacit.methods.registry import METHODS, Method

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "tacit"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Method:
    monkeypatch.setitem(METHODS, "toy", toy_method.LINE)
    return toy_method.LINE


class TestToy(MethodLaws):
    @pytest.fixture
    def method(self, toy: Method) -> Method:
        return toy


def test_tune_runs_it(toy: Method) -> None:
    budget = tacit.Budget.gdp(1.0)
    facts = {"records": 5000, "bounds": (0.0, 1.0), "budget": budget, "trials": 8, "progress": False}
    release = tacit.tune(
        lambda p: np.full(5000, (p["x"] - 0.3) ** 2), {"x": tacit.Float(0.0, 1.0)}, method="toy", shift=2, **facts
    )
    assert release.value.method == "toy"
    assert len(release.value.trials) == 8


def test_a_plan_has_a_row_of_it(toy: Method) -> None:
    plan = tacit.plan(records=2000, trials=20, dimensions=2, budget=tacit.Budget.gdp(1.0))
    assert plan["toy"].noise == plan["random"].noise
    assert "\ntoy " in str(plan)


def test_scikit_learn_users_can_name_it(toy: Method) -> None:
    from tacit.integrations.sklearn import searches

    assert "toy" in searches()


def test_the_help_of_the_command_lists_it() -> None:
    code = """
import sys, toy_method
from tacit.methods.registry import METHODS
METHODS["toy"] = toy_method.LINE
from tacit.cli import app
app(["tune", "--help"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=TESTS, check=True)
    assert "toy, scattered settings, the best released" in " ".join(done.stdout.split())


def test_a_method_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"method must be one of auto, observed, random.*got method='toy'"):
        tacit.tune(
            lambda p: [0.5], {"x": tacit.Float(0.0, 1.0)}, records=1, bounds=(0, 1), budget=None, trials=1, method="toy"
        )


def test_no_code_asks_which_method_it_has_before_it() -> None:
    """Comparisons with the name of a method, or with how it begins, belong to the registry's entries."""
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare):
                asked = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "startswith":
                asked = [node.func.value, *node.args]
            else:
                continue
            names = {n.id for n in asked if isinstance(n, ast.Name)} | {n.attr for n in asked if hasattr(n, "attr")}
            texts = {n.value for a in asked for n in ast.walk(a) if isinstance(n, ast.Constant)} & {*METHODS, "kusner"}
            if "method" in names and texts:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert found == []
