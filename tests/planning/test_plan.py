"""A plan tells the truth: the noise that runs really carry, laws of more and less, Kusner at small epsilon."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from each import each

import tacit
from tacit.errors import BadInput
from tacit.methods.kusner import preview as kusner
from tacit.methods.kusner.preview import choice_scale
from tacit.planning import measured
from tacit.planning.measured import LANDSCAPES
from tacit.planning.plan import Plan
from tacit.planning.rows import expected_loss, forecasts
from tacit.privacy.noise import Simulation

ROOT = Path(__file__).parents[2]
WORKABLE = [name for name, forecast in forecasts().items() if forecast.own_curve]
ONE = tacit.Budget.approximate(1.0, 1e-6)


def simulated() -> dict[str, Any]:
    return {"noise": Simulation(0), "progress": False, "accept_noise": True}


def made(**changes: Any) -> Plan:
    usual: dict[str, Any] = {"records": 1000, "trials": 20, "dimensions": 2, "budget": ONE, "spread": 0.1}
    return tacit.plan(**{**usual, **changes})


def losses(params: dict[str, float]) -> np.ndarray:
    return np.full(1000, 3 + sum((x - 0.4) ** 2 for x in params.values()))


SPACE = {"a": tacit.Float(0.0, 1.0), "b": tacit.Float(0.0, 1.0)}
FACTS: dict[str, Any] = {"records": 1000, "bounds": (3.0, 5.0), "trials": 20}


@each("method", ["observed", "random", "grid"])
def test_the_noise_is_that_of_a_run(method: str) -> None:
    release = tacit.tune(losses, SPACE, **FACTS, budget=ONE, method=method, **simulated())
    assert made(bounds=(3.0, 5.0))[method].noise == release.value.noise


def test_gibos_noise_and_evaluations_are_those_of_a_run() -> None:
    row = made(bounds=(3.0, 5.0), budget=tacit.Budget.gdp(0.5))["gibo"]
    release = tacit.tune(losses, SPACE, **FACTS, budget=tacit.Budget.gdp(0.5), method="gibo", **simulated())
    details = release.value.details
    assert (row.noise, row.evaluations) == (details["noise_scale"], details["evaluations"])
    clip, mu = details["settings"]["clip"], details["mu_path"]
    assert row.noise == pytest.approx(2 * clip * math.sqrt(20) / (1000 * mu), rel=1e-6)
    places = len(details["scan"]["places"])
    assert f", {places} for the start, 1 for the score; " in row.notes[0]


def test_held_to_few_evaluations_gibo_runs_as_told() -> None:
    row = made(bounds=(3.0, 5.0), dimensions=2)["gibo_few"]
    facts = {**FACTS, "budget": ONE, **row.arguments}
    release = tacit.tune(losses, SPACE, **facts, **simulated())
    assert row.evaluations == release.value.details["evaluations"] <= 20
    assert row.noise == release.value.details["noise_scale"]
    assert "evaluations, 1 for the score; " in row.notes[0], "nothing is spent on where to begin"


def test_kusners_sensitivity_is_that_of_a_run() -> None:
    case = made(bounds=(3.0, 5.0)).case
    with pytest.warns(UserWarning, match="hides a change"):
        release = tacit.tune(
            losses, SPACE, **FACTS, budget=ONE, method="kusner1", prior_scale=_prior_scale(case), **simulated()
        )
    told = kusner.preview_choice(case)
    assert told.sensitivity == pytest.approx(release.value.details["choice_sensitivity"], rel=1e-12)
    assert told.score_noise == pytest.approx(release.value.deviation, rel=1e-2)  # the candidates are other ones


def _prior_scale(case: Any) -> float:
    from tacit.methods.kusner.preview import _model

    return float(case.spread / _model(case.dimensions, case.candidates)[2])


def test_at_epsilon_one_kusner_is_told_to_choose_blindly() -> None:
    row = made(records=1_000_000)["kusner1"]
    told = kusner.preview_choice(made(records=1_000_000).case)
    assert row.guarantee.kind == "conditional"
    assert row.refused
    assert told.off_uniform < 0.014  # of probability, whatever the number of records
    assert told.regret > 0.98
    assert row.measured["one valley"].mean > 0.09  # of a spread of 0.1
    assert "to within" in row.notes[0]
    assert "uniform" in row.notes[0]
    assert made(budget=tacit.Budget.approximate(1000.0, 1e-6))["kusner1"].measured["one valley"].mean < 0.05


def test_the_choice_is_as_near_to_uniform_as_its_probabilities_say() -> None:
    """Against a choice that is made: 20,000 draws of the mechanism on one draw of the prior; false alarm below 1e-6."""
    from tacit.methods.kusner.preview import _model

    case = made(budget=tacit.Budget.approximate(40.0, 1e-6), candidates=8).case
    _, f, _ = _model(2, 8)
    rng, n = np.random.default_rng(0), 20_000
    scale, apart = choice_scale(case), []
    for column in f.T[:16]:
        picked = np.argmax(column + rng.gumbel(0.0, scale, (n, 8)), axis=1)
        apart.append(0.5 * np.abs(np.bincount(picked, minlength=8) / n - 1 / 8).sum())
    weights = np.exp(f[:, :16] / scale)
    exact = 0.5 * np.abs(weights / weights.sum(axis=0) - 1 / 8).sum(axis=0)
    assert np.abs(np.array(apart) - exact).max() < 0.03
    whole = np.exp(f / scale)
    mean = float((0.5 * np.abs(whole / whole.sum(axis=0) - 1 / 8).sum(axis=0)).mean())
    assert kusner.preview_choice(case).off_uniform == pytest.approx(mean)


@each(
    ("records", "trials", "dimensions", "epsilon"),
    [(1, 1, 1, 0.01), (30, 7, 3, 0.5), (400, 33, 8, 1.0), (20_000, 50, 2, 3.0), (10**6, 200, 60, 20.0)],
)
@each(("more", "times"), [(1, 1.001), (100, 1.5), (10**7, 20.0)])
def test_more_records_or_epsilon_are_never_worse(
    records: int, more: int, trials: int, dimensions: int, epsilon: float, times: float
) -> None:
    budget = tacit.Budget.approximate(epsilon, 1e-6)
    few = made(records=records, trials=trials, dimensions=dimensions, budget=budget)
    many = made(records=records + more, trials=trials, dimensions=dimensions, budget=budget)
    larger = tacit.Budget.approximate(epsilon * times, 1e-6)
    loud = made(records=records, trials=trials, dimensions=dimensions, budget=larger)
    for method in forecasts():
        for better in (many, loud):
            a, b = few[method], better[method]
            for landscape in a.measured:
                assert b.measured[landscape].mean <= a.measured[landscape].mean * (1 + 1e-12)
            if a.noise is not None and b.noise is not None:
                assert b.noise <= a.noise * (1 + 1e-9)
            if a.bound is not None and b.bound is not None:
                assert b.bound <= a.bound * (1 + 1e-9)


@each("method", WORKABLE)
@each("landscape", LANDSCAPES)
def test_backwards_is_the_inverse_of_forwards(method: str, landscape: str) -> None:
    plan = made(want=0.03)
    needed = plan.needed[method][landscape]
    if needed.records is not None:
        assert expected_loss(forecasts()[method], plan.case.with_records(needed.records), landscape).mean <= 0.03
        if needed.records > 1:
            assert expected_loss(forecasts()[method], plan.case.with_records(needed.records - 1), landscape).mean > 0.03
    else:
        assert expected_loss(forecasts()[method], plan.case.with_records(10**9), landscape).mean > 0.03
    if needed.budget is not None:
        assert expected_loss(forecasts()[method], replace(plan.case, budget=needed.budget), landscape).mean <= 0.03
        assert (
            expected_loss(forecasts()[method], plan.case.with_amount(needed.budget.amount * 0.99), landscape).mean
            > 0.03
        )
    else:
        assert expected_loss(forecasts()[method], plan.case.with_amount(1000.0), landscape).mean > 0.03


def test_something_can_be_reached_and_something_cannot() -> None:
    needed = made(want=0.03).needed
    assert needed["observed"]["one valley"].records is not None
    assert needed["kusner1"]["one valley"].records is None
    assert needed["kusner1"]["one valley"].budget is not None
    assert made(want=0.03).to_json()["needed"]["kusner1"]["one valley"]["records"] is None


def test_a_plan_spends_and_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.privacy import ledger, noise

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("a plan drew noise or touched a ledger")

    for name in ("gaussian", "gaussian_whole", "laplace", "gumbel_argmax"):
        monkeypatch.setattr(type(noise.EXACT), name, never)
    monkeypatch.setattr(ledger.Ledger, "open", never)
    assert str(made(want=0.01))


def test_the_classes_of_guarantee_are_those_of_the_methods() -> None:
    plan = made(dimensions=1)
    kinds = {o.method: o.guarantee.kind for o in plan.previews}
    unconditional = {"observed", "random", "grid", "pool", "pool_many", "staged", "gibo", "gibo_few", "kusner3"}
    assert {m for m, kind in kinds.items() if kind == "unconditional"} == unconditional
    assert {m for m, kind in kinds.items() if kind == "conditional"} == {"kusner1", "kusner2"}
    assert plan["observed"].guarantee.epsilon(1e-6) == pytest.approx(1.0)
    assert plan["kusner1"].guarantee.budget == ONE


def test_a_budget_that_a_method_cannot_use_is_said_and_not_raised() -> None:
    pure = made(budget=tacit.Budget.pure(1.0), dimensions=1, want=0.01)
    assert {o.method for o in pure.previews if not o.unavailable} == {
        "pool",
        "pool_many",
        "kusner3",
        "nonprivate",
        "middle",
    }
    assert "not pure" in pure["observed"].unavailable
    assert pure.recommendation.method == "pool"
    gdp = made(budget=tacit.Budget.gdp(0.5), want=0.01)
    assert gdp["kusner1"].unavailable
    assert not gdp["observed"].unavailable
    assert gdp.needed.keys() == {"observed", "random", "pool", "pool_many", "staged", "gibo", "gibo_few"}
    assert "not possible" in str(pure)


def test_too_little_to_win_is_told_to_be_left_alone() -> None:
    plan = made(records=20, dimensions=10)
    assert (plan.recommendation.method, plan.recommendation.call) == ("middle", "")
    assert "more records" in plan.recommendation.reason


def test_the_recommended_call_runs() -> None:
    plan = made(records=1000, bounds=(3.0, 5.0), spread=0.3)
    assert plan.recommendation.method in WORKABLE
    assert plan[plan.recommendation.method].guarantee.unconditional
    made_here = eval(plan.recommendation.call, {"tacit": tacit, "losses": losses, "space": SPACE})
    assert made_here.guarantee.unconditional


def test_no_more_evaluations_are_recommended_than_were_asked_for() -> None:
    for trials in (5, 30, 2000):
        plan = made(trials=trials, records=20_000)
        assert plan.recommendation.arguments["trials"] <= trials
        assert f"that {trials:,} evaluations allow" in plan.recommendation.reason


@each(
    ("changes", "words"),
    [
        ({"records": 0}, "records must be at least 1"),
        ({"records": 2.5}, "records must be a whole number"),
        ({"records": 2**41}, "records must be at most"),
        ({"trials": 0}, "trials must be at least 1"),
        ({"trials": 10**6}, "trials must be at most"),
        ({"dimensions": 0}, "dimensions must be at least 1"),
        ({"dimensions": 5000}, "dimensions must be at most 1000"),
        ({"spread": -0.1}, "spread must be positive"),
        ({"spread": math.nan}, "spread must be finite"),
        ({"spread": 2.0}, "spread must be at most the width"),
        ({"want": 0.0}, "want must be positive"),
        ({"want": math.inf}, "want must be finite"),
        ({"candidates": 1}, "candidates must be at least 2"),
        ({"candidates": 10**7}, "candidates must be at most"),
        ({"bounds": (1.0, 0.0)}, "bounds must have low < high"),
        ({"budget": 1.0}, "budget must be a tacit.Budget"),
    ],
)
def test_bad_input_names_the_rule(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        made(**changes)


def test_a_method_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match="no method 'magic'; it has observed"):
        made()["magic"]


def test_the_spread_that_was_assumed_is_marked() -> None:
    assert "assumed" in str(made(spread=None, bounds=(0.0, 5.0)))
    assert made(spread=None, bounds=(0.0, 5.0)).case.spread == 0.5
    assert "assumed" not in str(made())


def test_outside_the_table_the_plan_says_so() -> None:
    assert "OUTSIDE" not in str(made(trials=50))
    far = made(dimensions=80, trials=60)
    assert "OUTSIDE THE TABLE" in str(far)
    assert any("80 parameters" in s for s in far["gibo"].measured["one valley"].outside)


@each("method", [*WORKABLE, "middle"])
def test_measured_cells_are_read_back_exactly(method: str) -> None:
    curves = [c for c in measured.document()["curves"] if c["method"] == method]
    assert curves
    for c in curves:
        for noise, value in zip(c["noise"], c["regret"], strict=True):
            at = {"dimensions": c["dimensions"], "trials": c["trials"], "noise": noise}
            assert measured.regret(method, c["landscape"], **at).mean == pytest.approx(value, rel=1e-12)


def test_between_cells_lies_between_their_values() -> None:
    at = [measured.regret("gibo", "one valley", dimensions=d, trials=15, noise=0.1).mean for d in (5, 7, 10)]
    assert min(at[0], at[2]) <= at[1] <= max(at[0], at[2])


def test_the_shipped_table_is_what_the_code_makes_of_the_kept_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    table = importlib.import_module("benchmarks.papers.plan_table")
    result = table.merge(json.loads(table.RESULT.read_text()), json.loads(table.HIDDEN.read_text()))
    assert (ROOT / "src" / "tacit" / "planning" / "measured.json").read_text() == table.written(table.shipped(result))


def test_losses_measured_with_other_defaults_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.methods.gibo.preview import gibo_defaults

    for stored, marked in ((gibo_defaults(), False), ("00000000", True), (None, True)):
        monkeypatch.setitem(measured.document(), "gibo_defaults", stored)
        assert ("earlier defaults" in str(made())) == marked


def test_a_rising_curve_is_the_nearest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    rising = importlib.import_module("benchmarks.papers.plan_table").rising
    assert rising([1.0, 2.0, 3.0]) == [1.0, 2.0, 3.0]
    assert rising([3.0, 1.0, 2.0, 5.0]) == [2.0, 2.0, 2.0, 5.0]


def test_the_json_is_one_document_without_infinities() -> None:
    for plan in (made(want=0.01), made(records=1, budget=tacit.Budget.pure(0.1))):
        text = json.dumps(plan.to_json(), allow_nan=False)
        document = json.loads(text)
        assert [m["method"] for m in document["methods"]] == list(forecasts())
        assert document["recommendation"]["reason"]


@each("changes", [{}, {"want": 0.02}, {"records": 1}, {"budget": tacit.Budget.pure(1.0)}])
def test_the_picture_is_well_formed_and_names_its_curves(changes: dict[str, Any]) -> None:
    plan = made(**changes)
    svg = ET.fromstring(plan.picture())
    words = " ".join(svg.itertext())
    assert all(m in words for m in ("middle", *LANDSCAPES, "records"))
    assert ("wanted" in words) == ("want" in changes)
    assert "nan" not in plan.picture()


def test_the_table_shows_every_method_once() -> None:
    lines = str(made()).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("---"))
    assert [line.split()[0] for line in lines[start + 1 : start + 1 + len(forecasts())]] == list(forecasts())


def test_a_plan_loads_no_optimisers_statistics_or_tables() -> None:
    """They would take longer than the plan itself."""
    heavy = {"scipy.optimize", "scipy.stats", "sklearn", "pandas", "sqlalchemy", "matplotlib"}
    code = (
        "import sys, tacit; print(tacit.plan(records=5000, trials=30, dimensions=4, budget=tacit.Budget.approximate("
        f"1.0, 1e-6)).recommendation.method); print(sorted({heavy} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[1] == "[]"
