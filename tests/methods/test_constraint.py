"""A second private metric that the answer keeps to: what is chosen, what is released, what it costs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput, ObjectiveError
from tacit.methods.constraint import ConstrainedMean, Constraint
from tacit.methods.observed import list_rivals
from tacit.methods.optimiser import Limit, Looks, Optimiser
from tacit.methods.pool import PENALTY, PoolTerms
from tacit.methods.registry import METHODS
from tacit.objective import Objective
from tacit.privacy.mean import STEPS
from tacit.privacy.noise import Simulation
from tacit.space import Float, Space

N = 4000
ONE = tacit.Budget.approximate(1.0, 1e-6)
SPACE = {"x": tacit.Float(0.0, 1.0)}
WIDE = np.random.default_rng(1).normal(scale=0.05, size=N)


def columns(params: dict[str, Any]) -> np.ndarray:
    """The loss is least at 0.2; the metric is 0.3 + x, so that at least 0.85 needs x >= 0.55."""
    x = params["x"]
    return np.column_stack([0.2 + (x - 0.2) ** 2 + WIDE, 0.3 + x + 0 * WIDE])


def tuned(**changes: Any) -> Any:
    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": ONE, "trials": 30, "progress": False}
    asked |= {"constraint": ("recall", ">=", 0.85), "noise": Simulation(0), "method": "observed", **changes}
    return tacit.tune(columns, SPACE, **asked).value


@pytest.mark.parametrize("method", ["observed", "pool", "auto"])
def test_the_answer_is_the_best_that_keeps_to_it(method: str) -> None:
    value = tuned(method=method)
    assert 0.53 < value.params["x"] < 0.66  # without a constraint 0.2
    about = value.details["constraint"]
    assert abs(about["value"] - (0.3 + value.params["x"])) < 5 * about["deviation"]
    assert "recall" in str(value)


def test_at_most_is_kept_too() -> None:
    value = tuned(constraint=("cost", "<=", 0.4))
    assert value.params["x"] < 0.13


def test_where_no_setting_keeps_to_it_the_nearest_is_the_answer() -> None:
    def few(params: dict[str, Any]) -> np.ndarray:
        return np.column_stack([np.full(N, 0.5 * params["x"]), np.full(N, 0.5 * params["x"])])

    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": ONE, "trials": 25, "progress": False}
    for method in ("observed", "pool"):
        made = tacit.tune(few, SPACE, constraint=("recall", ">=", 0.9), method=method, noise=Simulation(1), **asked)
        assert made.value.params["x"] > 0.85
        assert "is not kept" in str(made.value)


def test_both_columns_are_within_the_budget() -> None:
    """The noise of both, as the sum of squares of what one record moves, is the whole of mu."""
    constraint = Constraint("cost", "<=", 3.0, (0.0, 10.0))
    mean = ConstrainedMean(
        100, (0.0, 2.0), constraint, budget=tacit.Budget.gdp(0.7), higher_is_better=False, unit="one record"
    )
    moved = (2.0 / 100 / mean.loss.scale) ** 2 + (10.0 / 100 / mean.metric.scale) ** 2
    assert 0.7 * (1 - 1e-9) < math.sqrt(moved) <= 0.7


def test_a_missing_value_counts_as_the_one_that_breaks_it() -> None:
    for relation, worst in ((">=", 0), ("<=", 2 * STEPS)):
        limit = Constraint("metric", relation, 0.5)
        mean = ConstrainedMean(
            2, (0.0, 1.0), limit, budget=tacit.Budget.gdp(1.0), higher_is_better=False, unit="one record"
        )
        assert mean.total(np.array([[0.0, np.nan], [0.0, np.nan]]))[1] == worst


def test_one_record_moves_the_quality_of_a_pool_by_no_more_than_its_sensitivity() -> None:
    limit, n = Constraint("metric", ">=", 0.5), 10
    terms = PoolTerms(Objective(columns, n, (0.0, 1.0), columns=2), tacit.Budget.pure(1.0), constraint=limit)
    choice, rng = terms.choice(), np.random.default_rng(0)
    for _ in range(200):
        sums = rng.integers(0, (n - 1) * STEPS, 2)
        (a, b), (c, d) = sums + rng.integers(0, STEPS + 1, 2), sums + rng.integers(0, STEPS + 1, 2)
        before, after = (t + PENALTY * limit.violation(int(g), n) for t, g in ((int(a), b), (int(c), d)))
        assert abs(before - after) + choice.unit <= choice.mechanism.sensitivity
    assert limit.violation(5 * STEPS, n) == 0
    assert limit.violation(4 * STEPS, n) == STEPS


def test_the_probability_of_keeping_to_it_has_the_slope_that_differences_show() -> None:
    rng = np.random.default_rng(3)
    X, margins = rng.random((12, 2)), rng.normal(size=12)
    limit = Limit(Optimiser(Space({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)}), 0.01).model(Looks.of(X, margins)))
    at = rng.random((5, 2))
    value, slope = limit.slope(at)
    np.testing.assert_allclose(value, limit(at), rtol=1e-8)
    for j in range(2):
        step = np.eye(2)[j] * 1e-6
        np.testing.assert_allclose(slope[:, j], (limit(at + step) - limit(at - step)) / 2e-6, rtol=1e-4, atol=1e-6)


def test_an_observation_that_breaks_it_contradicts_no_answer() -> None:
    limit = Constraint("recall", ">=", 0.8)
    trials = [{"params": {"x": i}, "value": 0.1, "constraint": v} for i, v in enumerate((0.7, 0.9, 0.5))]
    assert [t["params"]["x"] for t in list_rivals({"x": 0}, trials, limit)] == [0, 1]
    assert list_rivals({"x": 0}, trials, None) == trials


def test_a_study_goes_on_and_gives_the_same_answer(tmp_path: Path) -> None:
    for method in ("observed", "pool"):
        first = tuned(method=method, out=tmp_path / method)
        assert tuned(method=method, out=tmp_path / method) == first
    assert (tmp_path / "observed" / "trials.csv").read_text().startswith("trial,x,value,constraint\n")
    with pytest.raises(BadInput, match="constraint"):
        tuned(method="observed", out=tmp_path / "observed", constraint=("recall", ">=", 0.5))
    with pytest.raises(BadInput, match="constraint"):
        tuned(method="observed", out=tmp_path / "observed", constraint=None)


@pytest.mark.parametrize("method", [m.name for m in METHODS.values() if "constraint" in m.refuses])
def test_other_methods_refuse_it_in_words(method: str) -> None:
    with pytest.raises(BadInput, match="no constraint; it is for method observed or pool"):
        tuned(method=method, budget=None if method == "nonprivate" else ONE, noise=tacit.privacy.noise.EXACT)


@pytest.mark.parametrize(
    "given",
    [
        "recall>=0.8",
        ("recall",),
        ("recall", ">", 0.8),
        ("recall", ">=", 1.2),
        ("", ">=", 0.5),
        ("r", ">=", 0.5, (1, 0)),
    ],
)
def test_what_is_no_constraint_is_refused(given: Any) -> None:
    with pytest.raises(BadInput):
        tuned(constraint=given)


@pytest.mark.parametrize("text", ["recall", "recall>0.8", "recall>=high", ">=0.8", "a>=0.1 within 0"])
def test_what_the_shell_cannot_read_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is written like"):
        Constraint.parse(text)


def test_it_needs_two_columns_of_records_that_are_held_here() -> None:
    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": ONE, "trials": 10, "progress": False}
    asked |= {"constraint": ("recall", ">=", 0.5), "method": "pool"}
    with pytest.raises(ObjectiveError, match="2 numbers per record"):
        tacit.tune(lambda params: np.zeros(N), SPACE, **asked)
    with pytest.raises(BadInput, match="no groups"):
        tacit.tune(columns, SPACE, groups=np.arange(N), **asked)
