"""A hidden pool, then private observations: what it costs, where it looks, and what is left of what it hid."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput
from tacit.methods import staged
from tacit.methods.forecast import PlanInput
from tacit.methods.pool import Choice
from tacit.objective import Objective
from tacit.privacy.accounting import compose
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import STEPS
from tacit.privacy.noise import EXACT, Simulation
from tacit.run.study import open_study
from tacit.space import Choice as Options
from tacit.space import Float, Int, Space

pytestmark = pytest.mark.filterwarnings("ignore::tacit.errors.PrivacyWarning")  # large budgets, for little noise

SPACE = {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}
SECRET = 0.012345678901


def losses(params: dict[str, Any]) -> Any:
    return np.full(2000, SECRET + (params["x"] - 0.8) ** 2 + (params["y"] - 0.2) ** 2)


def tune(objective: Any = losses, **changes: Any) -> Any:
    usual: dict[str, Any] = {"records": 2000, "bounds": (0.0, 1.0), "budget": Budget.gdp(2.0), "trials": 5, "pool": 30}
    return tacit.tune(objective, SPACE, **{**usual, "method": "staged", "progress": False, **changes})


@pytest.mark.parametrize("budget", [Budget.approximate(1.0, 1e-6), Budget.zcdp(0.1), Budget.gdp(0.5)])
def test_region_and_observations_compose_to_the_budget_and_no_less(budget: Budget) -> None:
    terms = staged.StagedTerms(2000, (0.0, 1.0), budget, 40, share=0.3)
    choice = Choice(Objective(losses, 2000, (0.0, 1.0)), terms.region_budget(), EXACT)
    parts = [choice.mechanism.guarantee, *[terms.mechanism().guarantee] * 40]
    whole, stated = compose(parts).budget, terms.guarantee().budget
    assert whole is not None
    assert stated is not None
    assert whole.amount == pytest.approx(stated.amount, rel=1e-6)
    assert whole.amount <= stated.amount
    assert stated.amount == pytest.approx(budget.mu())


def test_it_observes_in_the_box_alone() -> None:
    value = tune(noise=Simulation(0), half_width=0.1, budget=Budget.gdp(50.0)).value
    for name, best in (("x", 0.8), ("y", 0.2)):
        seen = [t["params"][name] for t in value.trials]
        assert max(seen) - min(seen) <= 0.2
        assert all(abs(x - best) < 0.3 for x in seen)  # the best of 30 scattered points is near enough


@pytest.mark.parametrize("low", [1e-4, 1.0])
def test_a_box_keeps_kinds_scales_and_options(low: float) -> None:
    space = Space({"rate": Float(low, 100.0, log=True), "depth": Int(1, 9), "loss": Options(["a", "b"])})
    params = space.params([[0.9, 0.5, 0.1]])[0]
    box = staged.box_around(space, params, 0.25).distributions
    assert box["loss"] == space.distributions["loss"]
    assert (box["depth"].low, box["depth"].high) == (3, 7)
    assert box["rate"].log
    assert box["rate"].high == 100.0
    assert math.log(box["rate"].low / low) / math.log(100.0 / low) == pytest.approx(0.65)


def test_nothing_of_the_hidden_losses_is_left(tmp_path: Path) -> None:
    release = tune(out=tmp_path)
    hidden = [losses(p)[0] for p in Space(SPACE).sobol(30)]
    marks = [f"{m:.8f}"[:9] for m in hidden] + [str(2000 * round(m * STEPS)) for m in hidden]
    texts = [p.read_bytes().decode("latin-1") for p in tmp_path.rglob("*") if p.is_file()]
    texts += [repr(release), str(pickle.dumps(release))]
    assert not any(mark in text for mark in marks for text in texts)
    assert not (tmp_path / "private").exists()
    assert len(release.value.trials) == 5


def test_its_preview_counts_the_pool_and_the_trials() -> None:
    case = PlanInput(2000, 30, 2, Budget.gdp(1.0), 0.1)
    preview = staged.FORECASTS[0].preview(case)
    assert preview.evaluations == staged.POOL + 30
    assert "230 evaluations in all" in preview.notes[0]


def test_a_run_that_was_killed_neither_evaluates_nor_draws_again(tmp_path: Path) -> None:
    seen: list[Any] = []

    def dies_after(many: int) -> Any:
        def look(params: dict[str, Any]) -> Any:
            if len(seen) == many:
                raise KeyboardInterrupt
            seen.append(params)
            return losses(params)

        return look

    for many in (20, 32):  # in the pool, and in the observations
        with pytest.raises(BaseException):  # noqa: B017, PT011
            tune(dies_after(many), out=tmp_path)
    release = tune(dies_after(1000), out=tmp_path)
    assert len(seen) == 30 + 5  # one evaluation for the trials that confirm
    study = open_study(f"sqlite:///{tmp_path / 'study.db'}", "tacit", ["minimize"])
    assert sum(staged.REGION in t.user_attrs for t in study.trials) == 1
    assert tune(never, out=tmp_path) == release


def never(params: Any) -> Any:
    raise AssertionError("a record was looked at")


def test_a_region_that_was_lost_is_not_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = []

    def die(self: Any, totals: Any) -> int:
        draws.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(Choice, "draw", die)
    with pytest.raises(KeyboardInterrupt):
        tune(out=tmp_path)
    assert len(tune(out=tmp_path).value.trials) == 5  # in the whole space
    assert len(draws) == 1
    assert staged._find_region(open_study(f"sqlite:///{tmp_path / 'study.db'}", "tacit", ["minimize"])) == -1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"pool": 0}, "pool must be"),
        ({"region_share": 1.0}, "region_share must be"),
        ({"region_share": -0.1}, "region_share must be"),
        ({"half_width": 0.0}, "half_width must be"),
    ],
)
def test_wrong_options_are_refused_before_a_look(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        tune(never, **changes)
