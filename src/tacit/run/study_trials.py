"""Asking a study for a trial and telling it a value, in one write each where the sampler is one of ours.

With ``tacit.run.study``, ``study_store`` and ``study_storage`` the only places that touch private parts of Optuna.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING

from tacit.files import Json
from tacit.run.sampler import JointSampler
from tacit.run.study_store import read_trials
from tacit.space import Params

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import Trial


def ask_trial(study: Study, distributions: dict[str, BaseDistribution] | Callable[[Trial], None]) -> Trial:
    """The next trial. Where its sampler knows all of it beforehand, it is written at once, not parameter by parameter.

    Otherwise Optuna asks; ``distributions`` may be a function that suggests later.
    """
    from optuna.storages import InMemoryStorage
    from optuna.trial import Trial, TrialState, create_trial

    if callable(distributions):
        return study.ask()
    known = _foresee(study)
    if known is None:
        return study.ask(fixed_distributions=distributions)
    params, attributes, due = known
    study._thread_local.cached_all_trials = None
    storage, number = study._storage, study._study_id
    if isinstance(storage, InMemoryStorage):  # nothing is saved by writing at once, and the copy of a whole trial costs
        result = storage.create_new_trial(number)
        for name, d in distributions.items():
            storage.set_trial_param(result, name, d.to_internal_repr(params[name]), d)
        for name, value in attributes.items():
            storage.set_trial_user_attr(result, name, value)
        return Trial(study, result)
    whole = create_trial(state=TrialState.RUNNING, params=params, distributions=distributions, user_attrs=attributes)
    trial = Trial(study, storage.create_new_trial(number, template_trial=whole))
    if due is not None and trial.number != due:  # another process was quicker, and has these parameters
        study.tell(trial, state=TrialState.FAIL)
        return study.ask(fixed_distributions=distributions)
    return trial


def _foresee(study: Study) -> tuple[Params, Json, int | None] | None:
    """Parameters and attributes of the next trial; and its number, if it must have that."""
    from optuna.trial import TrialState

    if not isinstance(study.sampler, JointSampler):
        return None
    trials = read_trials(study)
    if any(t.state == TrialState.WAITING for t in trials):  # enqueued: Optuna gives it out
        return None
    if (known := study.sampler.foresee(trials, study.directions[0].name)) is not None:
        return *known, None
    if any(t.state == TrialState.RUNNING for t in trials):  # others are at work, and may take the next number
        return None
    first = study.sampler.foresee_first(len(trials))
    return None if first is None else (first, {}, len(trials))


def tell_trial(study: Study, trial: Trial, value: float) -> None:
    """Tell a finite value; to a sampler of ours in one write, since it does not look at a trial that ends.

    What this thread has read of the study stays, with the value, so that the next trial is asked for without a look.
    """
    from optuna.trial import TrialState

    if not isinstance(study.sampler, JointSampler):
        study.tell(trial, value)
        return
    study._storage.set_trial_state_values(trial._trial_id, TrialState.COMPLETE, [value])
    trials = study._thread_local.cached_all_trials
    if trials is None or len(trials) <= trial.number:
        study._thread_local.cached_all_trials = None
        return
    done = copy(trials[trial.number])
    done.state, done.values, done.user_attrs = TrialState.COMPLETE, [value], trial.user_attrs
    study._thread_local.cached_all_trials = [*trials[: trial.number], done, *trials[trial.number + 1 :]]
