"""Ask, evaluate, tell: the one loop of everything that evaluates the trials of a study, here or by an executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial


def run_trials(
    study: Study,
    distributions: dict[str, Any] | Callable[[Trial], None],
    *,
    more: Callable[[int], bool],
    begin: Callable[[Trial], Future[Any] | None],
    finish: Callable[[Trial, Future[Any]], None],
) -> None:
    """Run trials until there are no more.

    ``distributions`` are those of every trial, or a function that suggests the parameters of each. ``more`` says, with
    so many running, whether another one is wanted. ``begin`` starts its evaluation, or gives None if it is not wanted
    after all. ``finish`` takes what came out and tells the study.

    Edges. What ``begin`` or ``finish`` raises ends the loop, as does Ctrl-C; trials under way are closed as failed.
    """
    from optuna.trial import TrialState

    from tacit.run.study_trials import ask_trial

    running = dict[Future[Any], "Trial"]()
    try:
        while True:
            while more(len(running)):
                trial = ask_trial(study, distributions)
                try:
                    if callable(distributions):
                        distributions(trial)
                    future = begin(trial)
                except BaseException:
                    study.tell(trial, state=TrialState.FAIL)
                    raise
                if future is None:
                    study.tell(trial, state=TrialState.FAIL)
                    break
                running[future] = trial
            if not running:
                return
            done = [f for f in running if f.done()] or wait(running, return_when=FIRST_COMPLETED).done
            for future in done:
                finish(running[future], future)
                del running[future]
    finally:
        for future, trial in running.items():
            future.cancel()
            study.tell(trial, state=TrialState.FAIL, skip_if_finished=True)
