"""A study of private observations that is quick to run, and what is looked up in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState

import tacit
from tacit.methods.observed import ObservationTerms
from tacit.privacy.noise import Exact
from tacit.run.study_store import is_claimed

N = 2000
BUDGET = tacit.Budget.approximate(1.0, 1e-6)
SPACE = {"x": tacit.Float(0.0, 1.0)}


def bowl(params: dict[str, Any]) -> np.ndarray:
    return np.full(N, 0.2 + (params["x"] - 0.3) ** 2)


def terms(trials: int = 5, budget: tacit.Budget = BUDGET, **other: Any) -> ObservationTerms:
    return ObservationTerms(**{"records": N, "bounds": (0.0, 1.0), "budget": budget, "trials": trials, **other})


def study(storage: Any = None, **other: Any) -> optuna.Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    return optuna.create_study(storage=storage, study_name="tacit", sampler=sampler, load_if_exists=True, **other)


def at(path: Path) -> str:
    return f"sqlite:///{path}/study.db"


def trials_of(storage: str) -> list[Any]:
    return optuna.load_study(study_name="tacit", storage=storage).get_trials()


def finished(storage: str) -> list[tuple[dict[str, Any], float]]:
    return [(t.params, t.value) for t in trials_of(storage) if t.state == TrialState.COMPLETE]


def claims(storage: str) -> int:
    return sum(map(is_claimed, trials_of(storage)))


def tuned(objective: Callable[[Any], Any] = bowl, **other: Any) -> tacit.Release:
    given = {"records": N, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": 5, "method": "random", "progress": False}
    return tacit.tune(objective, SPACE, **{**given, **other})


class Counting(Exact):
    """Exact noise that counts its draws."""

    def __init__(self) -> None:
        self.draws = 0

    def gaussian_whole(self, value: int, scale: float) -> int:
        self.draws += 1
        return super().gaussian_whole(value, scale)
