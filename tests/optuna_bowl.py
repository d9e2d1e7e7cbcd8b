"""What the tests of tacit.private share; as a script, a process that shares a study with others.

python optuna_bowl.py STORAGE WANTED PAID
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState

import tacit
from tacit.errors import BudgetRefused
from tacit.integrations.optuna import PrivateObjective

N = 2000
BUDGET = tacit.Budget.approximate(1.0, 1e-6)
optuna.logging.set_verbosity(optuna.logging.ERROR)


def bowl(trial: Any) -> np.ndarray:
    """Least at rate = 0.1; one loss per record."""
    x = np.log10(trial.suggest_float("rate", 1e-3, 1.0, log=True)) + 1
    return np.linspace(0.8, 1.2, N) * (0.1 + 0.1 * x**2)


def wrapped(objective: Callable[[Any], Any] = bowl, *, trials: int = 20, **options: Any) -> PrivateObjective:
    given = {"records": N, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": trials, **options}
    return tacit.private(objective, **given)


def study_in(storage: Any = None, **options: Any) -> optuna.Study:
    sampler = options.pop("sampler", None) or optuna.samplers.RandomSampler(seed=0)
    return optuna.create_study(storage=storage, sampler=sampler, load_if_exists=True, **options)


def values(study: optuna.Study) -> list[float]:
    return [t.value for t in study.get_trials(states=(TrialState.COMPLETE,)) if t.value is not None]


def opened(address: str) -> Any:
    if not address.startswith("journal:"):
        return address
    backend = optuna.storages.journal.JournalFileBackend(address.removeprefix("journal:"))
    return optuna.storages.JournalStorage(backend)


if __name__ == "__main__":
    address, wanted, paid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    shared = optuna.load_study(study_name="shared", storage=opened(address), sampler=optuna.samplers.RandomSampler())
    try:
        shared.optimize(wrapped(trials=paid), n_trials=wanted)
    except BudgetRefused:
        print("refused")
