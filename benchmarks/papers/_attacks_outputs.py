"""Attacks on what comes out: an entry point is run many times on either of two data sets, and a bound at 99% counted.

For entry points that hide what enters their noise (lots drawn in secret, noise drawn ahead, a secret number of runs):
there the recorder sees too little, and outputs are all that an attacker has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.papers._attacks import Attack
from tacit.audit.bounds import lower_bound
from tacit.audit.play import run_game
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation

RARE = 1e-2  # delta of the claims whose outputs are counted: a few thousand runs see no rarer event


GAMES: dict[str, tuple[str, str, int | None]] = {
    "kusner1": ("tacit.tune, kusner1", "one record at either end of the bounds", 1000),
    "kusner2": ("tacit.tune, kusner2", "one record at either end of the bounds", 1000),
    "pool": ("tacit.tune, pool", "one record at either end of the bounds", 600),
    "staged": ("tacit.tune, staged", "one record at either end of the bounds", 300),
    "search-cv": ("PrivateSearchCV", "a held-out row from always right to always wrong", 400),
    "optuna": ("tacit.private", "one record at either end of the bounds", 600),
    "private-front": ("tacit.pareto, private", "one record's utility from NaN to above 1", 1000),
    "noisy-projection": ("tacit.Curator, noisy", "a row moved by norm 1", 40_000),
    "projection": ("tacit.Curator, published projection", "a row moved by norm 1, n > d", 2000),
    "private-answers": ("tacit.Curator, private answers", "one record decides about every row", 400),
    "train": ("tacit.train", "a whole search by an adversary's trainer and score", 10_000),
    "train-one-run": ("tacit.train", "every training row a canary", None),
    "dp-sgd": ("logistic-sgd", "a label is turned", 20_000),
    "sparse-vector": ("SparseVector", "where it stopped", 200_000),
}
"""Game -> entry point, what is tried, and runs on each side; None for one run with canaries."""


def game(name: str, repeats: int) -> Attack:
    """A game of ``tacit audit``: claimed and measured at its own delta."""
    entry, tried, runs = GAMES[name]
    found = run_game(name, runs and runs * repeats, exact=False if runs else None, seed=repeats)
    made = f"{found.runs} runs on each side" if found.runs > 1 else f"one run, {found.event['canaries']} canaries"
    at = f" at delta = {found.delta:g}" if found.delta else ""
    note = f"{made}, bound at 99%{at}"
    note += "; conditional claim, data of our choice" if found.conditional else ""
    note += "; told apart in every run: grows with the runs without end" if found.separated else ""
    return Attack(entry, tried, found.claimed, found.measured, note)


def training(name: str, params: dict[str, Any], read: Callable[[Any], Any], *, runs: int, features: int = 1) -> Attack:
    """One training for release: the label of one record is turned; no other row has one, so that none hides it."""
    from tacit.privacy.profiles import GaussianProfile, tabulate
    from tacit.training.registry import load_trainer
    from tacit.training.trainer import CLASSES, Base, EncodedRows, Facts

    trainer, rows = load_trainer(name), 64
    facts = Facts(rows, features, trainer.task, 2 if trainer.task == CLASSES else 1)
    base = Base(1.0, tabulate(GaussianProfile(1.0), floor=1e-9))
    settings = trainer.calibrate(params, facts, base)
    X, nobody = np.ones((rows, features)), -1.0 if trainer.task == CLASSES else np.nan
    turned = (0.0, 1.0) if trainer.task == CLASSES else (-1.0, 1.0)
    data = [EncodedRows(X, np.r_[label, np.full(rows - 1, nobody)]) for label in turned]
    outputs = [
        np.array([read(trainer.train(data[side], settings, facts, noise)) for _ in range(runs)])
        for side, noise in enumerate((Simulation(0), Simulation(1)))
    ]
    found = float(lower_bound(outputs[0], outputs[1], delta=RARE))
    note = f"{runs} runs on each side, bound at 99% at delta = {RARE:g}"
    return Attack(f"tacit.train, one run of {name}", "a label is turned", Budget.gdp(1.0).epsilon(RARE), found, note)


LOTS = {"epochs": 1, "lot": 48, "rate": 1e-3, "clip": 0.2}  # one step on most rows: the least that hides a record
BOOSTS = {"rounds": 4, "rate": 0.3, "leaves": 3, "clip": 0.3}


def trainings(repeats: int) -> Iterator[Attack]:
    """Trainers whose noise is drawn ahead, or whose lots are secret: the recorder cannot see what enters."""
    yield training("logistic-lots", LOTS, weights, runs=6000 * repeats)
    yield training("logistic-poisson", LOTS, weights, runs=6000 * repeats, features=200)
    yield training("mlp", {**LOTS, "clip": 0.05, "hidden": 4}, score, runs=4000 * repeats)
    for name in ("ebm", "ebm-numbers"):
        yield training(name, BOOSTS, tables, runs=3000 * repeats)


def weights(model: Any) -> float:
    """The attacker knows which way the record pulls: every weight alike."""
    return float(model.weights.sum())


def score(model: Any) -> float:
    """What the model says where the record is."""
    return float(model.scores(np.ones((1, 1)))[0, -1])


def tables(model: Any) -> list[float]:
    """What boosting says of the place where the record is, and its constant."""
    from tacit.training.additive import place_in_bins

    (table,), (span,) = model.tables, model.columns
    return [float(model.constant[0]), float(table[place_in_bins(np.ones((1, 1)), span, model.cells)[0], 0])]


def chosen_winner(runs: int, cut: float = 1.6) -> Attack:
    """tacit.select with the score that an adversary would write: outcomes above a cut win, then the least.

    On the neighbour the first crowd out the second, so that the least win far more often on the data set.
    """
    import tacit

    claim, records = Budget.approximate(4.0, 0.05), 40

    def once(side: int, noise: Simulation) -> float:
        def objective(params: Any, base: Any) -> Any:
            drawn = tacit.mechanisms.Gaussian(1.0, budget=Budget.gdp(base.mu), noise=noise).release(float(side))
            y = drawn.value * base.mu
            return y, np.full(records, 0.0 if y > cut else 0.25 + 0.75 / (1 + np.exp(-y)))

        space = {"nothing": tacit.Float(0.0, 1.0)}
        return float(tacit.select(objective, space, records=records, budget=claim, runs=5, noise=noise).value.model)

    outputs = [np.array([once(side, Simulation(s)) for s in range(side * runs, (side + 1) * runs)]) for side in (0, 1)]
    found = float(lower_bound(outputs[0], outputs[1], delta=claim.delta))
    note = f"{runs} runs on each side, bound at 99% at delta = {claim.delta:g}"
    return Attack("tacit.select", "an adversary's score", claim.amount, found, note)
