"""Real models on real tables, evaluated on a whole grid of settings beforehand: a search then takes no time.

A support vector machine (C, gamma), boosted trees (learning rate, leaves) and a perceptron (learning rate, penalty) on
two tables that come with scikit-learn. Half of the rows train, the others are the private records; a loss is 1 where a
prediction is wrong. Parameters are the indices of a 9 x 9 grid, logarithmic in each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import optuna

import tacit
from benchmarks.harness.parts import keep_piece
from benchmarks.papers._arms import make_sampler
from tacit.methods.observed import ObservationTerms
from tacit.methods.optimiser import Optimiser
from tacit.privacy.noise import Simulation
from tacit.space import Int, Space

SIDE, DELTA = 9, 1e-6
GRIDS = (("SVM", "digits"), ("SVM", "breast cancer"), ("boosting", "breast cancer"))
GRIDS += (("perceptron", "digits"), ("perceptron", "breast cancer"))
SPACE = Space({"i": Int(0, SIDE - 1), "j": Int(0, SIDE - 1)})


@dataclass(frozen=True)
class Grid:
    """Losses (9, 9, records) of every setting."""

    losses: np.ndarray

    @property
    def records(self) -> int:
        return int(self.losses.shape[2])

    def regret(self, params: dict[str, Any]) -> float:
        """The share of wrong predictions beyond that of the best setting."""
        means = self.losses.mean(axis=2)
        return float(means[params["i"], params["j"]] - means.min())

    def at(self, params: dict[str, Any]) -> np.ndarray:
        return self.losses[params["i"], params["j"]].astype(float)


@lru_cache(maxsize=8)
def load_grid(model: str, table: str) -> Grid:
    """Measured once, and kept."""
    kept = keep_piece("tune_rivals", {"model": model, "table": table}, lambda: _measure_grid(model, table))
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(kept["bits"]), np.uint8))
    return Grid(bits[: SIDE * SIDE * kept["records"]].reshape(SIDE, SIDE, kept["records"]))


def _measure_grid(model: str, table: str) -> dict[str, Any]:
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.preprocessing import StandardScaler

    X, y = {"digits": load_digits, "breast cancer": load_breast_cancer}[table](return_X_y=True)
    order = np.random.default_rng(7).permutation(len(y))
    train, hidden = order[: len(y) // 2], order[len(y) // 2 :]
    X = StandardScaler().fit(X[train]).transform(X)
    make, wrong = _models()[model], np.empty((SIDE, SIDE, len(hidden)), np.uint8)
    for i, a in enumerate(np.linspace(0, 1, SIDE)):
        for j, b in enumerate(np.linspace(0, 1, SIDE)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wrong[i, j] = make(a, b).fit(X[train], y[train]).predict(X[hidden]) != y[hidden]
    return {"records": len(hidden), "bits": np.packbits(wrong).tobytes().hex()}


def _models() -> dict[str, Callable[[float, float], Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    def between(low: float, high: float, share: float) -> float:
        return float(low * (high / low) ** share)

    return {
        "SVM": lambda a, b: SVC(C=between(1e-3, 1e3, a), gamma=between(1e-5, 1.0, b)),
        "boosting": lambda a, b: HistGradientBoostingClassifier(
            learning_rate=between(1e-3, 1.0, a), max_leaf_nodes=round(between(2, 32, b)), max_iter=20
        ),
        "perceptron": lambda a, b: MLPClassifier(
            (16,), learning_rate_init=between(1e-4, 1.0, a), alpha=between(1e-5, 10.0, b), max_iter=30, random_state=0
        ),
    }


def run_grid(model: str, table: str, epsilon: float, name: str, trials: int, seed: int) -> list[float]:
    """The regret of one run of a method of ours at equal budget; of a rival, by each of its two answers. Kept."""
    key = {"model": model, "table": table, "epsilon": epsilon, "name": name, "trials": trials, "seed": seed}

    def work() -> list[float]:
        grid, budget = load_grid(model, table), tacit.Budget.approximate(epsilon, DELTA)
        if name in ("auto", "observed"):
            asked: dict[str, Any] = {"records": grid.records, "bounds": (0.0, 1.0), "budget": budget, "seed": seed}
            asked |= {"trials": trials, "method": name, "noise": Simulation(seed), "accept_noise": True}
            return [grid.regret(tacit.tune(grid.at, SPACE, **asked, progress=False).value.params)]
        return _rival(grid, name, trials, budget, seed)

    regrets: list[float] = keep_piece("tune_rivals", key, work)
    return regrets


def _rival(grid: Grid, name: str, trials: int, budget: tacit.Budget, seed: int) -> list[float]:
    """By its best noisy value, and by our model of all its observations."""
    scale = ObservationTerms(grid.records, (0.0, 1.0), budget, trials).mechanism().scale
    rng, study = np.random.default_rng((seed, 6)), optuna.create_study(sampler=make_sampler(name, seed))
    for _ in range(trials):
        trial = study.ask(fixed_distributions=SPACE.distributions)
        study.tell(trial, float(grid.at(trial.params).mean()) + scale * float(rng.normal()))
    listed, y = [t.params for t in study.trials], np.array([t.value for t in study.trials], float)
    model = Optimiser(SPACE, scale**2).answer(SPACE.features(listed), -y).index
    return [grid.regret(listed[int(y.argmin())]), grid.regret(listed[model])]
