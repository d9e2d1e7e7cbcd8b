"""Populations in which no setting is better than another, and one run of each path that prints an interval.

A record has a phase b, uniform, and frequencies w. Its loss at x is 1 where cos(w x + b) > t, so that it is 1 with the
same probability at every x, and losses at places that are far apart have little to do with each other. Whatever is
chosen is chosen by luck, of the noise and of the records: the worst case for the interval of what was chosen. The exact
mean of the records that were drawn, and the mean of the population, are both known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import optuna
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

import tacit
from tacit.data.split import divide_rows, hold_out
from tacit.methods.tuned import Tuned
from tacit.privacy.noise import Simulation
from tacit.training.train import SHARES

RECORDS, RATE, MU = 500, 0.1, 0.5
SPACE = {"x": tacit.Float(0.0, 1.0), "y": tacit.Float(0.0, 1.0)}
BUDGET = tacit.Budget.gdp(MU)


@dataclass(frozen=True)
class Covered:
    """Whether the interval of the noise holds the records' own mean, and that for new data the population's."""

    noise: bool
    new_data: bool


class Records:
    """Records of the population: losses at a place."""

    def __init__(self, seed: int, n: int = RECORDS) -> None:
        rng = np.random.default_rng((seed, 7))
        self.w, self.b = rng.normal(0.0, 8.0, (n, 2)), rng.uniform(0.0, 2 * math.pi, n)
        self.kinds = rng.uniform(0.0, 2 * math.pi, (n, 2))
        self.seen: list[float] = []

    def losses(self, params: dict[str, Any]) -> np.ndarray:
        x = np.array([params.get("x", 0.0), params.get("y", 0.0)])
        kind = {"a": 0, "b": 1}.get(params.get("kind", ""))
        shift = 0.0 if kind is None else self.kinds[:, kind]
        found = (np.cos(self.w @ x + self.b + shift) > math.cos(math.pi * RATE)).astype(float)
        self.seen.append(float(found.mean()))
        return found


def branch(trial: Any) -> dict[str, Any]:
    """A space of which a part depends on a choice."""
    kind = trial.suggest_categorical("kind", ["a", "b"])
    return {"kind": kind, "x": trial.suggest_float(f"rate of {kind}", 0.0, 1.0)}


def plain_params(params: dict[str, Any]) -> dict[str, Any]:
    """What ``branch`` made, from the parameters as a study names them."""
    rates = [v for name, v in params.items() if name.startswith("rate of")]
    return {**params, **({"x": rates[0]} if rates else {})}


def judge(value: Tuned, exact: float, true: float = RATE) -> Covered:
    """By what is printed: the score as a metric, with its intervals."""
    score, told = value.score, value.intervals()
    assert score is not None
    return Covered(abs(score - exact) <= told[0][1], abs(score - true) <= told[-1][1])


def tuned(method: str, direction: str, seed: int, **options: Any) -> Covered:
    """One search of tacit.tune."""
    data = Records(seed)
    asked = {"records": RECORDS, "bounds": (0.0, 1.0), "budget": BUDGET, "direction": direction, "seed": seed}
    asked |= {"progress": False, "accept_noise": True, "noise": Simulation(seed), "method": method}
    value = tacit.tune(data.losses, SPACE, **{"trials": 10, **asked, **options}).value
    if method.startswith("kusner"):  # its score is the best that was tried, and says so
        return judge(value, (max if direction == "maximize" else min)(data.seen))
    return judge(value, float(data.losses(value.params).mean()))


def dependent(method: str, direction: str, seed: int) -> Covered:
    """tacit.tune on a space that is a function of a trial."""
    data = Records(seed)
    asked = {"records": RECORDS, "bounds": (0.0, 1.0), "budget": BUDGET, "direction": direction, "seed": seed}
    asked |= {"progress": False, "accept_noise": True, "noise": Simulation(seed), "method": method, "trials": 10}

    def space(trial: Any) -> None:
        branch(trial)

    value = tacit.tune(lambda p: data.losses(plain_params(p)), space, **asked).value
    return judge(value, float(data.losses(plain_params(value.params)).mean()))


def private(space: str, direction: str, seed: int) -> Covered:
    """tacit.private in a study of Optuna."""
    data = Records(seed)

    def losses(trial: Any) -> Any:
        if space == "dependent":
            return data.losses(branch(trial))
        return data.losses({"x": trial.suggest_float("x", 0.0, 1.0), "y": trial.suggest_float("y", 0.0, 1.0)})

    asked = {"records": RECORDS, "bounds": (0.0, 1.0), "budget": BUDGET, "accept_noise": True}
    objective = tacit.private(losses, **asked, trials=12, noise=Simulation(seed))
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed))
    study.optimize(objective, n_trials=12)
    value = objective.release(study).value
    return judge(value, float(data.losses(plain_params(value.params)).mean()))


class Guess(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Knows the label, the first column, and is wrong, or in doubt, by the phase and frequency that follow."""

    def __init__(self, x: float = 0.0) -> None:
        self.x = x

    def fit(self, X: Any, y: Any) -> Guess:
        self.classes_ = np.unique(y)
        return self

    def _phase(self, X: Any) -> Any:
        return np.cos(X[:, 2] * self.x + X[:, 1])

    def predict(self, X: Any) -> Any:
        return np.where(self._phase(X) > math.cos(math.pi * RATE), 1 - X[:, 0], X[:, 0]).astype(int)

    def decision_function(self, X: Any) -> Any:
        return X[:, 0] + self._phase(X)


@cache
def true_auc() -> float:
    """Of ``Guess.decision_function``: P(1 + cos a > cos b), by the midpoint rule."""
    at = np.sort(np.cos((np.arange(4000) + 0.5) * math.pi / 4000))
    return float(np.mean(np.searchsorted(at, 1 + at) / len(at)))


def searched(method: str, scoring: str, seed: int) -> Covered:
    """PrivateSearchCV."""
    rng = np.random.default_rng((seed, 8))
    n = 2 * RECORDS
    y = (rng.random(n) < 0.3).astype(int)
    X = np.column_stack([y, rng.uniform(0, 2 * math.pi, n), rng.normal(0.0, 20.0, n)])
    search = tacit.PrivateSearchCV(
        Guess(),
        {"x": tacit.Float(0.0, 1.0)},
        epsilon=2.0,
        trials=10,
        scoring=scoring,
        method=method,
        accept_noise=True,
        random_state=seed,
        noise=Simulation(seed),
    ).fit(X, y)
    hidden = np.sort(hold_out(n, 0.5, check_random_state(seed))[1].rows)
    model = Guess(**search.best_params_).fit(X, y)
    if scoring == "auc":
        exact, true = float(roc_auc_score(y[hidden], model.decision_function(X[hidden]))), true_auc()
    else:
        exact, true = float((model.predict(X[hidden]) == y[hidden]).mean()), 1 - RATE
    return judge(search.release_.value, exact, true)


def table(n: int, seed: int) -> tuple[Any, Any]:
    """Rows and labels that a line divides, with 5% of the labels turned."""
    rng = np.random.default_rng((seed, 9))
    X = rng.uniform(-1.0, 1.0, (n, 2))
    return X, ((X[:, 0] + 0.5 * X[:, 1] > 0.2) ^ (rng.random(n) < 0.05)).astype(int)


@cache
def fresh() -> tuple[Any, Any]:
    return table(100_000, 10**6)


def trained(seed: int) -> Covered:
    """tacit.train: the error on test rows, and on new ones."""
    X, y = table(3000, seed)
    asked = {"budget": tacit.Budget.approximate(2.0, 1e-5), "runs": 2, "progress": False, "seed": seed}
    schema = tacit.Schema.declare({"0": (-1.0, 1.0), "1": (-1.0, 1.0)}, target="y", labels=[0, 1])
    value = tacit.train("logistic", X, y, **asked, schema=schema, noise=Simulation(seed)).value
    test = divide_rows(len(y), None, SHARES, seed)[2].rows
    exact, true = (float((value.model.predict(A) != b).mean()) for A, b in ((X[test], y[test]), fresh()))
    return Covered(abs(value.score - exact) <= 1.96 * value.deviation, abs(value.score - true) <= value.half_width)
