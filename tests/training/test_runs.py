"""How settings are drawn, and how many models are trained if nobody says."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked import exit_code
from train_parts import BUDGET, quick, table

from tacit.errors import BadInput, TacitError
from tacit.privacy.guarantee import Budget
from tacit.run.private_state import PrivateState
from tacit.space import Float, Int, Space
from tacit.training import secret_search
from tacit.training.descent import DescentTrainer
from tacit.training.runs import SLOWER, TRIES, Run, Search, draw_params, load_run, run_all
from tacit.training.select import OwnSearch, select
from tacit.training.train import count_runs, train
from tacit.training.trainer import CLASSES, EncodedRows, Facts


def test_settings_are_drawn_oftener_near_the_middle_of_a_trainers_own_space_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shares are 0.75 and 0.5; 4,000 draws stay within 0.05 of them but once in 10^10."""
    space = Space({"x": Float(0.0, 1.0)})
    for centred, share in ((True, 0.75), (False, 0.5)):
        drawn = [draw_params(space, centred=centred)["x"] for _ in range(4000)]
        assert abs(np.mean([abs(x - 0.5) < 0.25 for x in drawn]) - share) < 0.05
    asked: list[bool] = []

    def watched(space: Space, *, centred: bool) -> Any:
        asked.append(centred)
        return draw_params(space, centred=centred)

    monkeypatch.setattr("tacit.training.runs.draw_params", watched)
    quick(table())
    own = len(asked)
    quick(table(), space={"steps": Int(20, 30), "rate": Float(0.5, 1.0), "clip": Float(1.0, 2.0)})
    assert asked[:own] == [True] * own
    assert asked[own:] == [False] * (len(asked) - own)
    assert 0 < own < len(asked)


def test_a_space_of_ones_own_is_searched_by_about_forty_runs() -> None:
    assert [count_runs(None), count_runs(None, {}), count_runs(1, {}), count_runs(3)] == [1, 40, 1, 3]


class Narrow(DescentTrainer):
    """Takes seven features and no other number of them."""

    def train(self, rows: Any, settings: Any, facts: Any, noise: Any) -> Any:
        raise ValueError(f"7 features wanted, not {facts.features}")


def test_a_trainer_that_raises_says_so_before_anything_is_spent_and_in_its_own_words() -> None:
    """The rows were made up, so the words tell of nobody."""
    told = r"failed on made-up rows \(200, 5\): ValueError: 7 features wanted, not 5. Nothing was spent"
    with pytest.raises(BadInput, match=told):
        train(Narrow(), table(), target="ill", budget=BUDGET, progress=False)


def select_killed(folder: Path) -> Any:
    """Three runs, of which the second kills the process, as one does that needs more memory than there is."""

    def note(name: str, value: Any) -> None:
        with (folder / name).open("a") as file:
            print(value, file=file)

    def objective(params: Any, base: Any) -> Any:
        note("calls", params["x"])
        if params["x"] < 0.5:
            os.kill(os.getpid(), signal.SIGKILL)
        return params["x"], np.full(4000, params["x"])

    def draw(search: Any) -> Any:
        note("drawn", "")
        number = len((folder / "drawn").read_text().splitlines())
        return {"x": {1: 0.9, 2: 0.2, 3: 0.8}.get(number, 0.01 * number + 0.5)}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_search, "draw_runs", lambda law: 3)
        patch.setattr(OwnSearch, "draw_params", draw)
        asked: dict[str, Any] = {"records": 4000, "budget": Budget.approximate(2.0, 1e-6), "runs": 2, "progress": False}
        return select(objective, {"x": Float(0.0, 1.0)}, **asked, out=folder / "out")


def test_a_run_that_was_killed_goes_on_with_its_setting_and_at_last_counts_as_failed(tmp_path: Path) -> None:
    """Else the law of the settings would be another one wherever the kill depends on the setting."""
    plans = set[bytes]()
    for _ in range(TRIES):
        assert exit_code(select_killed, tmp_path) == -signal.SIGKILL
        plans.add((tmp_path / "out" / "private" / "plan").read_bytes()[32:])
    assert len(plans) == 1
    assert len(json.loads(plans.pop())["settings"]) == 6
    assert select_killed(tmp_path).value.params["x"] == 0.8
    assert (tmp_path / "calls").read_text().split() == ["0.9", *["0.2"] * TRIES, "0.8"]
    assert not (tmp_path / "out" / "private").exists()


class Killer:
    """A runner that takes its process with it, for some settings."""

    def draw_params(self) -> Any:
        raise AssertionError("settings are drawn before the runs")

    def run(self, params: Any) -> Run:
        if params["kills"]:
            import os

            os._exit(1)
        return Run(params, 0.5, None)


def test_runs_beside_one_that_kills_its_pool_do_not_fail_with_it(tmp_path: Path) -> None:
    state = PrivateState(tmp_path / "private")
    settings = [{"kills": i == 2, "number": i} for i in range(5)]
    for _ in range(2 * TRIES):  # three times with the others, three times alone
        with ProcessPoolExecutor(2) as pool, pytest.raises(TacitError, match="a worker died"):
            run_all(Killer(), settings, state, pool)
    with ProcessPoolExecutor(2) as pool:
        run_all(Killer(), settings, state, pool)
    runs = [load_run(state, i) for i in range(5)]
    assert [run.failed for run in runs] == [False, False, True, False, False]
    assert [run.params for run in runs] == settings
    assert runs[2].loss == math.inf


def test_an_interrupt_by_a_person_does_not_count_against_a_run(tmp_path: Path) -> None:
    state = PrivateState(tmp_path / "private")

    class Stopped(Killer):
        def run(self, params: Any) -> Run:
            raise KeyboardInterrupt

    for _ in range(TRIES + 1):
        with pytest.raises(KeyboardInterrupt):
            run_all(Stopped(), [{"kills": False}], state, None)
    run_all(Killer(), [{"kills": False}], state, None)
    assert not load_run(state, 0).failed


class Slow:
    """Takes 30 microseconds for a row and a step."""

    name, task = "slow", CLASSES

    def calibrate(self, params: Any, facts: Facts, base: Any) -> int:
        return int(params["steps"])

    def train(self, rows: EncodedRows, settings: int, facts: Facts, noise: Any) -> Any:
        assert len(rows.X) == facts.records
        time.sleep(3e-5 * len(rows.X) * settings)


@pytest.mark.parametrize("fixed", [None, {"steps": 1}])
def test_the_most_that_a_run_may_take_is_known_without_a_row(fixed: Any) -> None:
    """Sleep is never shorter than it should be: 2,000 rows take 60 ms for a step, so 10,000 take 0.3 s."""
    search = Search(
        Slow(),  # type: ignore[arg-type]
        Space({"steps": Int(1, 2)}),
        Facts(10_000, 3, CLASSES, 2),
        base=None,  # type: ignore[arg-type]
        scoring=None,
        training=None,  # type: ignore[arg-type]
        validation=None,  # type: ignore[arg-type]
        noise=None,  # type: ignore[arg-type]
        fixed=fixed,
    )
    steps = 1 if fixed else 2
    assert SLOWER * 0.2 * steps < search.longest() < SLOWER * 5 * steps
