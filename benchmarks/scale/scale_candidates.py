"""What candidates, dimensions and trials cost: the choice of the next point, and the private choice among many.

Records play no part here. One thread, least times; a proposal is what a search does between two evaluations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure
from benchmarks.scale._sizes import grown
from tacit.methods.optimiser import Optimiser
from tacit.outsource.modeler import Modeler, Prior
from tacit.outsource.protocol.terms import Answer, Published
from tacit.pareto.sampler import DParetoSampler
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.mechanisms import Exponential
from tacit.space import Space

TITLE = "Scale: seconds against candidates, dimensions and trials"
LONG = False
REPEATS = 3

CANDIDATES = (10, 100, 1000, 10_000, 100_000)
DIMENSIONS = (2, 5, 10, 20, 50, 100)
TRIALS = (20, 50, 100, 200, 400)
FRONT = (16, 32, 64, 128, 256)
SEEN = 50  # observations behind a proposal


def space(d: int) -> Space:
    return Space({f"x{j}": tacit.Float(0.0, 1.0) for j in range(d)})


def choosing(n: int) -> Callable[[], Any]:
    scores, pick = np.random.default_rng(0).random(n), Exponential(1.0, scale=1.0)
    return lambda: pick.draw(scores)


def proposing(d: int, seen: int, listed: int | None = None) -> Callable[[], Any]:
    """One proposal of private observations after ``seen`` of them: fit, scatter, upper confidence bound."""
    where, rng = space(d), np.random.default_rng(0)
    known = where.sobol(listed, 0) if listed else None
    X = where.features(where.params(rng.random((seen, d))))
    y = -((X - 0.4) ** 2).sum(axis=1) + 0.1 * rng.normal(size=seen)

    def work() -> None:
        Optimiser(where, 0.01, known).propose(X, y, np.empty((0, X.shape[1])))

    return work


def kusner(n: int) -> Callable[[], Any]:
    where = space(2)
    listed = where.sobol(n, 0)
    settings: dict[str, Any] = {"records": 1000, "bounds": (0.0, 1.0), "budget": tacit.Budget.approximate(50.0, 1e-3)}

    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tacit.tune(lambda p: np.full(1000, p["x0"]), where, trials=30, method="kusner1", candidates=listed,
                       accept_noise=True, progress=False, **settings)  # fmt: skip

    return work


def stepping(d: int) -> Callable[[], Any]:
    """One step of DP-GIBO over 1,000 records: 2d evaluations of next to no cost."""
    settings: dict[str, Any] = {"records": 1000, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(100.0)}
    base = np.linspace(0.0, 0.4, 1000)
    return lambda: tacit.tune(lambda p: base + 0.3 * p["x0"], space(d), trials=1, method="gibo", progress=False,
                              accept_noise=True, **settings)  # fmt: skip


class Table:
    """A published table without a curator."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, none = rows, Guarantee.none("a benchmark")
        self.terms = Published("s", len(rows), rows.shape[1], "noisy", 1.0, 0.0, 1000, none, none, "")

    def published(self) -> Published:
        return self.terms

    def table(self) -> Any:
        return self.rows

    def answers(self) -> list[Answer]:
        return []

    def ask(self, rows: Sequence[int], *, request: str) -> list[Answer]:
        return [Answer(r, float(np.sin(self.rows[r]).sum())) for r in rows]


def modelling(n: int) -> Callable[[], Any]:
    """Twenty queries by a modeler over a table of n rows, prior known."""
    table = Table(np.random.default_rng(0).uniform(-10, 10, (n, 2)))
    return lambda: Modeler(table, prior=Prior(2.0)).run(min(20, n))


def fronting(seen: int) -> Callable[[], Any]:
    """Five proposals of DPareto after ``seen`` points, in 5-D, epsilon a formula."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    where, rng = space(5), np.random.default_rng(0)

    def epsilons(params: Sequence[dict[str, Any]]) -> np.ndarray:
        return np.array([10 ** (2 * p["x0"] - 1) for p in params])

    trials = []
    for cube in rng.random((seen, 5)):
        params = where.params(cube[None])[0]
        values = [float(epsilons([params])[0]), float(np.clip(0.5 - 0.3 * cube[0] + 0.2 * cube[1], 0.01, 0.99))]
        kinds = dict(where.distributions)
        trials.append(optuna.trial.create_trial(params=params, distributions=kinds, values=values))

    def work() -> None:
        sampler = DParetoSampler(where, epsilons, startup=16)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
        study.add_trials(trials)
        for _ in range(5):
            trial = study.ask(fixed_distributions=dict(where.distributions))
            study.tell(trial, [float(epsilons([trial.params])[0]), 0.3])

    return work


def run(repeats: int) -> list[Figure]:
    fronting(16)()  # loads Optuna
    several = {"repeats": repeats}
    return [
        *grown("exponential mechanism, one draw", "candidates", CANDIDATES, choosing, expected="1 is linear",
               **several),
        *grown("private observations, one proposal", "candidates", CANDIDATES,
               lambda n: proposing(2, SEEN, n), expected="1 is linear", note=f"after {SEEN} observations", **several),
        *grown("Kusner's Algorithm 1, 30 trials", "candidates", CANDIDATES, kusner, expected="1 is linear", **several),
        *grown("modeler, 20 queries", "rows", CANDIDATES, modelling, expected="1 is linear", **several),
        *grown("private observations, one proposal", "dimensions", DIMENSIONS, lambda d: proposing(d, SEEN),
               expected="1,088 places whatever d", note=f"after {SEEN} observations", **several),
        *grown("DP-GIBO, one step", "dimensions", DIMENSIONS, stepping, expected="2d evaluations of d numbers each",
               note="1,000 records", **several),
        *grown("private observations, one proposal", "trials", TRIALS, lambda t: proposing(4, t),
               expected="3 is a refit, 2 an appended point", note="4-D, hyper-parameters fitted anew", **several),
        *grown("DPareto, 5 proposals", "trials", FRONT, fronting, expected="3 is a refit, 2 an appended point",
               note="5-D, by a new process: no warm start", **several),
    ]  # fmt: skip
