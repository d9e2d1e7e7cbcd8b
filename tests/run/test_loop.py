"""The one loop: as many at once as are wanted, nothing left running, whatever ends it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from tacit.run.evaluate import result, submit
from tacit.run.loop import run_trials
from tacit.space import Float

SPACE = {"x": Float(0.0, 1.0)}


def states(study: optuna.Study) -> list[str]:
    return [t.state.name for t in study.trials]


def run(study: optuna.Study, trials: int, *, at_once: int = 1, begin: Any = None, finish: Any = None) -> None:
    run_trials(
        study,
        SPACE,
        more=lambda running: running < at_once and len(study.trials) < trials,
        begin=begin or (lambda trial: submit(None, lambda: trial.params["x"])),
        finish=finish or (lambda trial, future: study.tell(trial, result(future))),
    )


def test_every_trial_is_asked_evaluated_and_told() -> None:
    study = optuna.create_study()
    run(study, 5)
    assert states(study) == ["COMPLETE"] * 5
    assert [t.value for t in study.trials] == [t.params["x"] for t in study.trials]


@pytest.mark.parametrize("at_once", [1, 3, 7])
def test_as_many_run_at_once_as_are_wanted(at_once: int) -> None:
    study, most = optuna.create_study(), 0

    def finish(trial: optuna.Trial, future: Future[float]) -> None:
        nonlocal most
        most = max(most, states(study).count("RUNNING"))
        study.tell(trial, result(future))

    run(study, 7, at_once=at_once, finish=finish)
    assert most == at_once
    assert states(study) == ["COMPLETE"] * 7


def test_a_trial_that_is_not_wanted_after_all_is_closed() -> None:
    study = optuna.create_study()
    run(study, 3, begin=lambda trial: None if trial.number == 1 else submit(None, lambda: 0.5))
    assert states(study) == ["COMPLETE", "FAIL"]  # nothing ran any more, so the loop was over


@pytest.mark.parametrize("where", ["begin", "finish"])
def test_whatever_ends_the_loop_leaves_nothing_running(where: str) -> None:
    study, never = optuna.create_study(), list[Future[float]]()

    def begin(trial: optuna.Trial) -> Future[float]:
        if trial.number == 2 and where == "begin":
            raise KeyboardInterrupt
        never.append(Future())
        if trial.number == 2:
            never[-1].set_result(0.5)
        return never[-1]

    def finish(trial: optuna.Trial, future: Future[float]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, 9, at_once=3, begin=begin, finish=finish)
    assert states(study) == ["FAIL"] * 3
    assert all(future.cancelled() for future in never[:2])
    assert study.get_trials(states=(TrialState.RUNNING,)) == []
