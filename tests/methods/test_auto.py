"""The choice of method="auto": from public numbers alone, the same as the plan's, within what was allowed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput
from tacit.methods.auto import (
    ALIKE,
    AMONG,
    NEARLY,
    SIZES,
    AutoChoice,
    choose,
    expected_regret,
    find_best,
    is_refused,
    table,
)
from tacit.methods.forecast import PlanInput
from tacit.methods.pool import choice_noise
from tacit.methods.registry import METHODS
from tacit.privacy.noise import Simulation

ONE = tacit.Budget.approximate(1.0, 1e-6)
SPACE = {"x": tacit.Float(0.0, 1.0), "y": tacit.Float(0.0, 1.0)}
N = 2000
KINDS = ("regret", "typical")


def losses(params: dict[str, Any]) -> np.ndarray:
    return np.full(N, 0.2 + 0.5 * (params["x"] - 0.4) ** 2 + 0.3 * (params.get("y", 0.5) - 0.6) ** 2)


def tuned(space: Any = None, **changes: Any) -> Any:
    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": ONE, "trials": 40, "method": "auto"}
    asked |= {"progress": False, "accept_noise": True, "noise": Simulation(0), **changes}
    return tacit.tune(losses, SPACE if space is None else space, **asked)


@pytest.mark.parametrize("dimensions", [1, 2, 7, 20, 60])
@pytest.mark.parametrize("records", [50, 2000, 10**6])
@pytest.mark.parametrize("trials", [1, 2, 30, 300, 5000])
def test_the_choice_keeps_to_the_evaluations_that_are_allowed(dimensions: int, records: int, trials: int) -> None:
    made = choose(PlanInput(records, trials, dimensions, ONE, 0.1))
    assert made is not None
    assert made.method in AMONG
    assert made.evaluations <= trials
    assert made.reason.startswith(f"{made.method} with")
    assert made == choose(PlanInput(records, trials, dimensions, ONE, 0.1))


def test_the_plan_recommends_what_auto_does() -> None:
    plan = tacit.plan(records=N, trials=40, dimensions=2, budget=ONE, spread=0.1)
    made = choose(plan.case)
    assert made is not None
    assert plan.recommendation.method == made.method == tuned().value.method
    assert plan.recommendation.reason.startswith(made.reason)


def test_more_noise_never_promises_less_regret() -> None:
    for cell in table()["cells"]:
        for name in ("regret", "typical", "noise"):
            assert cell[name] == sorted(cell[name])
    levels = (1e-5, 1e-3, 0.03, 0.5, 3.0)
    for method in AMONG:
        for kind in ("regret", "typical"):
            regrets = [expected_regret(method, 100, 6, level, kind) for level in levels]
            assert regrets == sorted(regrets)


@pytest.mark.parametrize("dimensions", [2, 5, 10, 20])
@pytest.mark.parametrize("records", [2000, 20_000, 10**6])
def test_of_what_is_level_the_least_typical_regret_is_chosen(records: int, dimensions: int) -> None:
    """At the dimensions and sizes that were measured; a mean is ruled by the surfaces that nothing solves."""
    case = PlanInput(records, 2000, dimensions, ONE, 0.1)
    noise = {"pool": choice_noise(case)}
    expected = {
        (method, size): [expected_regret(method, size, dimensions, noise.get(method, case.look()), k) for k in KINDS]
        for method, sizes in SIZES.items()
        for size in sizes
    }
    least = min(mean for mean, _ in expected.values())
    typical = min(t for mean, t in expected.values() if mean <= least + ALIKE)
    chosen = choose(case)
    assert chosen is not None
    assert (chosen.regret, chosen.typical) in [tuple(e) for e in expected.values()]
    assert chosen.typical <= NEARLY * typical
    assert chosen.regret <= least + ALIKE


def test_means_decide_then_typical_regrets_then_evaluations() -> None:
    """The least mean wins alone; what is level in the mean is chosen by what is typical, and then by evaluations."""

    def offer(evaluations: int, regret: float, typical: float) -> AutoChoice:
        return AutoChoice("observed", evaluations, {}, evaluations, regret, typical)

    few, far = offer(50, 0.1, 0.02), offer(2000, 0.131, 0.001)
    assert find_best([few, far]) == few
    near = offer(200, 0.129, 0.01)
    assert find_best([few, near]) == near
    assert find_best([few, replace(near, typical=0.0239)]).evaluations == 200
    assert find_best([few, replace(near, typical=0.0241)]) == few


@pytest.mark.parametrize(("trials", "descends"), [(299, False), (300, True), (2000, True)])
def test_a_descent_is_not_promised_what_more_evaluations_reached(trials: int, descends: bool) -> None:
    chosen = choose(PlanInput(2000, trials, 5, ONE, 0.1))
    assert chosen is not None
    assert (chosen.method == "gibo") is descends


def test_each_method_is_measured_in_every_dimension() -> None:
    cells = {(c["method"], c["evaluations"], c["dimensions"]) for c in table()["cells"]}
    sizes = {(m, e) for m, e, _ in cells}
    assert {m for m, _ in sizes} == {*AMONG, "middle"}
    assert cells == {(m, e, d) for m, e in sizes for d in (2, 5, 10, 20)}


def test_what_an_argument_rules_out_is_not_chosen(tmp_path: Path) -> None:
    """A pure budget needs a pool; a storage, a study; a choice has no gradient; an option names its method."""
    assert tuned(budget=tacit.Budget.pure(5.0)).value.method == "pool"
    assert tuned(storage=f"sqlite:///{tmp_path}/study.db", trials=10).value.method == "observed"
    assert tuned(score_share=0.3).value.method == "pool"
    assert tuned(region_share=0.3, trials=10).value.method == "staged"
    mixed = {"x": tacit.Float(0.0, 1.0), "kind": tacit.Choice(["a", "b"])}
    assert tuned(mixed, trials=2000).value.method != "gibo"
    with pytest.raises(BadInput, match="no method"):
        tuned(budget=tacit.Budget.pure(5.0), region_share=0.3)
    with pytest.raises(BadInput, match="needs a budget"):
        tuned(budget=None)


def test_a_space_that_is_a_function_is_observed() -> None:
    def space(trial: Any) -> None:
        trial.suggest_float("x", 0.0, 1.0)

    assert tuned(space, trials=10).value.method == "observed"


def test_a_study_that_was_begun_goes_on_as_it_was_begun(tmp_path: Path) -> None:
    """Whatever auto would choose today."""
    for method, more in (("observed", {}), ("staged", {"pool": 6})):
        first = tuned(method=method, trials=7, out=tmp_path / method, **more)
        again = tuned(trials=40, out=tmp_path / method)
        assert again.value == first.value
        assert again.value.method == method


@pytest.mark.parametrize("method", ["pool", "gibo"])
def test_a_run_that_keeps_a_journal_goes_on_as_it_was_begun(tmp_path: Path, method: str) -> None:
    first = tuned(method=method, trials=7, out=tmp_path)
    again = tuned(trials=40, out=tmp_path)
    assert again.value == first.value
    assert again.value.method == method


def test_what_would_be_refused_is_not_chosen_while_another_is_not() -> None:
    """With 100 records observations are too noisy at any regret, and a pool is not."""
    case = PlanInput(100, 50, 1, tacit.Budget.approximate(1.0, 1e-6), 0.1)
    assert is_refused("observed", case)
    assert not is_refused("pool", case)
    for dimensions in (1, 5, 20):
        made = choose(replace(case, dimensions=dimensions))
        assert made is not None
        assert not made.refused
    hopeless = choose(replace(case, records=10))
    assert hopeless is not None
    assert hopeless.refused


def test_it_is_the_default(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "trials": 6, "noise": Simulation(0)}
    release = tacit.tune(losses, SPACE, budget=tacit.Budget.pure(1.0), progress=False, **asked)
    assert release.value.method == "pool"  # nothing else is pure
    search = tacit.PrivateSearchCV(None, SPACE)
    assert search.method == "auto"


def test_the_shipped_table_is_what_the_kept_result_gives() -> None:
    root = Path(__file__).parents[2]
    import importlib

    benchmark = importlib.import_module("benchmarks.papers.plan_choice")
    kept = json.loads((root / "benchmarks" / "results" / "plan_choice.json").read_text())
    assert benchmark.shipped(kept) == table()


def test_every_method_that_is_chosen_from_is_unconditional() -> None:
    assert not any(METHODS[method].conditional for method in AMONG)
