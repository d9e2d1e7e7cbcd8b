"""What every method of the registry obeys. A suite inherits ``MethodLaws`` and says by a fixture which method it is."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.audit.games.tuned import of_method
from tacit.errors import BadInput, BudgetRefused, ObjectiveError
from tacit.methods.forecast import Forecast, PlanInput
from tacit.methods.neighbours import Neighbours
from tacit.methods.registry import METHODS, Method, load
from tacit.methods.tune import read_release
from tacit.objective import Objective
from tacit.page import Page
from tacit.planning.rows import preview
from tacit.privacy.guarantee import NOTIONS, Budget
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import EXACT, Simulation
from tacit.privacy.release import Release

BUDGETS = {
    "pure": Budget.pure(1.0),
    "approximate": Budget.approximate(1.0, 1e-6),
    "zcdp": Budget.zcdp(0.5),
    "gdp": Budget.gdp(1.0),
}


class Spy:
    """Exact noise that looks at the ledger first. What carries ``gaussian`` noise inside Algorithm 1 stays inside."""

    simulated = False

    def __init__(self, before: Callable[[], None]) -> None:
        self.before, self.draws = before, 0

    def __getattr__(self, name: str) -> Any:
        draw = getattr(EXACT, name)
        if not callable(draw):
            return draw

        def after_a_look(*arguments: Any) -> Any:
            if name != "gaussian":
                self.draws += 1
                self.before()
            return draw(*arguments)

        return after_a_look


def never(params: Any) -> Any:
    raise AssertionError("a record was looked at")


class MethodLaws:
    """Each test takes ``method``; the task is the one on which the method is audited."""

    def tune(self, method: Method, **changes: Any) -> Release[Any]:
        data: Neighbours = load(method.neighbours)()
        function = changes.pop("objective", data.objectives[0])
        usual: dict[str, Any] = {"records": data.records, "bounds": (0.0, 1.0), "budget": data.budget}
        usual |= {"trials": data.trials, "method": method.name, "accept_noise": True, "progress": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tacit.tune(function, data.space, **{**usual, **data.arguments, **changes})

    def budget(self, method: Method) -> Budget:
        return load(method.neighbours)().budget

    def ledger(self, method: Method, folder: Path, times: float = 3.0) -> Ledger:
        """A ledger that holds so many releases."""
        budget = self.budget(method)
        total = replace(budget, amount=times * budget.amount, delta=times * budget.delta)
        composition = "basic" if budget.notion in ("pure", "approximate") else None
        return Ledger.open(folder / "ledger.db", "l", total, composition=composition)

    def test_it_has_a_name_and_one_line(self, method: Method) -> None:
        assert METHODS[method.name] is method
        assert method.about
        assert "\n" not in method.about
        assert set(method.notions) <= set(NOTIONS)

    def test_everything_that_is_named_is_there(self, method: Method) -> None:
        for name in (method.function, method.page, *filter(None, (method.options, method.neighbours))):
            assert callable(load(name))
        assert method.journal or not method.live_page

    @pytest.mark.parametrize(
        ("changes", "rule"),
        [
            ({"records": 0}, "records must be at least 1"),
            ({"bounds": (1.0, 0.0)}, "low < high"),
            ({"trials": 0}, "trials must be at least 1"),
            ({"trials": 10**6}, "trials must be at most"),
            ({"seed": -1}, "seed must be at least 0"),
            ({"direction": "sideways"}, "direction must be one of"),
            ({"no_such_option": 1}, "takes no option no_such_option"),
            ({"budget": None}, "needs a budget"),
            ({"budget": 1.0}, r"must be a tacit\.Budget"),
        ],
    )
    def test_bad_input_is_refused_before_a_look(self, changes: dict[str, Any], rule: str, method: Method) -> None:
        with pytest.raises(BadInput, match=rule):
            self.tune(method, objective=never, **changes)

    @pytest.mark.parametrize("notion", NOTIONS)
    def test_a_budget_it_cannot_keep_is_refused_before_a_look(self, notion: str, method: Method) -> None:
        if notion in method.notions:
            return method.check_budget(BUDGETS[notion])
        with pytest.raises(BadInput, match="Nothing was spent"):
            self.tune(method, objective=never, budget=BUDGETS[notion])
        return None

    def test_arguments_it_has_no_use_for_are_refused_before_a_look(self, method: Method, tmp_path: Path) -> None:
        given: dict[str, Any] = {"storage": "sqlite://", "executor": object(), "at_once": 2, "candidates": 4}
        given |= {"out": tmp_path / "out", "public": [({"x": 0.5}, 0.5)], "constraint": ("metric", ">=", 0.5)}
        for name in method.refuses:
            with pytest.raises(BadInput, match=rf"no {name}(; it is for method [a-z0-9 ]+)?\. Nothing was spent"):
                self.tune(method, objective=never, **{name: given[name]})

    def test_a_ledger_that_holds_too_little_lets_nothing_happen(
        self, method: Method, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Objective, "losses", lambda self, params: never(params))
        spy = Spy(lambda: None)
        with self.ledger(method, tmp_path, 0.5) as ledger:
            with pytest.raises(BudgetRefused, match="Nothing was released"):
                self.tune(method, ledger=ledger, noise=spy)
            assert all(e.kind != "charge" for e in ledger.entries())
        assert spy.draws == 0

    def test_simulated_noise_is_not_charged(self, method: Method, tmp_path: Path) -> None:
        with self.ledger(method, tmp_path) as ledger, pytest.raises(BadInput, match="simulated noise"):
            self.tune(method, objective=never, ledger=ledger, noise=Simulation(0))
        assert self.tune(method, noise=Simulation(0)).guarantee.kind == "none"

    def test_the_debit_is_there_before_the_first_draw(self, method: Method, tmp_path: Path) -> None:
        with self.ledger(method, tmp_path) as ledger:
            charges: list[int] = []
            spy = Spy(lambda: charges.append(sum(e.kind == "charge" for e in ledger.entries())))
            self.tune(method, ledger=ledger, noise=spy)
            assert set(charges) == {1}

    def test_the_release_carries_a_guarantee_that_the_ledger_confirms(self, method: Method, tmp_path: Path) -> None:
        with self.ledger(method, tmp_path) as ledger:
            release = self.tune(method, ledger=ledger)
            guarantee, budget = release.guarantee, self.budget(method)
            assert guarantee.unconditional is not method.conditional
            delta = budget.delta or (0.0 if budget.notion == "pure" else 1e-6)
            assert guarantee.epsilon(delta) <= budget.epsilon(delta) * (1 + 1e-9)
            certificate = json.loads(json.dumps(release.certificate(), allow_nan=False))
            assert ledger.verify_certificate(certificate).paid
        assert release.value.method == method.name
        assert release.value.score is not None
        assert isinstance(load(method.page)(certificate), Page)

    def test_a_run_that_was_cut_short_goes_on_or_keeps_nothing(
        self, method: Method, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if "out" in method.refuses:
            return
        out, asked, losses = tmp_path / "out", [0], Objective.losses

        def dies_at_the_second(objective: Objective, params: Any) -> Any:
            asked[0] += 1
            if asked[0] == 2:
                raise ObjectiveError("it died")
            return losses(objective, params)

        with self.ledger(method, tmp_path) as ledger:
            monkeypatch.setattr(Objective, "losses", dies_at_the_second)
            with pytest.raises(ObjectiveError, match="it died"):
                self.tune(method, ledger=ledger, out=out)
            if not method.resumable:
                assert [p.name for p in out.iterdir()] == [".lock"]
            release = self.tune(method, ledger=ledger, out=out)
            assert read_release(out) == release.certificate()
            assert sum(e.kind == "charge" for e in ledger.entries()) == 1
            if method.resumable:
                assert self.tune(method, objective=never, ledger=ledger, out=out) == release

    def test_a_plan_says_what_it_would_give(self, method: Method) -> None:
        rows: tuple[Forecast, ...] = load(method.forecasts)
        assert rows
        case = PlanInput(2000, 20, 1, BUDGETS[method.notions[0]], 0.1)
        for row in rows:
            made = preview(row, case)
            assert made.method == row.name
            assert not made.unavailable
            assert made.arguments["method"] == method.name
            assert set(made.arguments) - {"method", "trials", "candidates"} <= set(method.option_names())

    def test_its_audit_has_a_game(self, method: Method) -> None:
        game = of_method(method.name)
        outputs = [game.draw(side, 2, Simulation(side)) for side in (0, 1)]
        assert np.isfinite(outputs).all()
        assert outputs[0].shape == outputs[1].shape
        assert game.claim == self.budget(method)
        assert bool(game.conditional) == method.conditional
