"""Games of private training: whole runs of ``tacit.train``, its search included, and one run with many canaries.

y    what a run of the adversary's puts out: N(0, 1) on the data set, N(mu, 1) on its neighbour
c    outcomes above it score best; then come all others, the least first
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tacit.audit.game import Game, Outputs, repeat
from tacit.audit.games.one_run import OneRun
from tacit.privacy.guarantee import Budget
from tacit.privacy.mechanisms import LATTICE
from tacit.privacy.noise import Source
from tacit.privacy.profiles import GaussianProfile, Profile
from tacit.schema import Schema
from tacit.space import Float, Int, Params
from tacit.trainers.parts import divide_rows
from tacit.trainers.train import SHARES, train
from tacit.trainers.trainer import CLASSES, Base, EncodedRows, Facts

ROWS, RUNS, CUT = 600, 10, 1.8
FINE = 2.0**30  # whole numbers in one deviation of the adversary's noise


@dataclass(frozen=True)
class NoisySum:
    """What the adversary's training puts out, and scores of rows that make the most telling outcome win."""

    __released__ = True

    y: float

    def scores(self, X: Any) -> Any:
        """Probabilities whose Brier loss on rows of the first class is 0 above c, and between 1/4 and 1 below it."""
        loss = 0.0 if self.y > CUT else 0.25 + 0.75 / (1 + math.exp(-self.y))
        first = np.full(len(X), 1 - math.sqrt(loss))
        return np.column_stack([first, 1 - first])


@dataclass(frozen=True)
class Adversary:
    """A trainer that says as much as it may: the sum of one feature, within its base, and a score against its data."""

    name: str = "an adversary"
    task: str = CLASSES
    assumptions: tuple[str, ...] = ()
    premises: tuple[str, ...] = ()

    def space(self, facts: Facts) -> Mapping[str, Any]:
        return {"nothing": Float(0.0, 1.0)}

    def calibrate(self, params: Params, facts: Facts, base: Base) -> float:
        return base.mu

    def profile(self, settings: float) -> Profile:
        return GaussianProfile(settings)

    def train(self, rows: EncodedRows, settings: float, facts: Facts, noise: Source) -> NoisySum:
        """One row moves the sum by at most 2: as much as mu deviations."""
        total = float(np.clip(np.nan_to_num(rows.X[:, 0]), -1.0, 1.0).sum())
        drawn = noise.gaussian_whole(round(total * settings / 2 * FINE), FINE * (1 + 4 * LATTICE))
        return NoisySum(drawn / FINE + settings / 2)


@cache
def _neighbours() -> tuple[Any, Any]:
    """Rows of one column that are all 0, but for one that trains: -1, or 1."""
    first = divide_rows(ROWS, None, SHARES, 0)[0].rows[0]
    tables = np.zeros((2, ROWS, 1))
    tables[0, first], tables[1, first] = -1.0, 1.0
    return tables[0], tables[1]


def whole_search(epsilon: float = 2.0, delta: float = 0.05) -> Game:
    """``tacit.train`` from end to end, with a trainer and a score that an adversary wrote."""
    budget, labels = Budget.approximate(epsilon, delta), np.full(ROWS, "a", object)
    schema = Schema.declare({"0": (-1, 1)}, target="y", labels=["a", "b"])

    def once(side: int, noise: Source) -> float:
        how: dict[str, Any] = {"budget": budget, "runs": RUNS, "schema": schema, "metric": "brier", "noise": noise}
        found = train(Adversary(), _neighbours()[side], labels, **how, progress=False)
        model: Any = found.value.model.model
        return float(model.y)

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return repeat(lambda source: once(side, source))(runs, noise)

    about = (
        f"tacit.train, about {RUNS} runs, one training row replaced; the trainer puts out all that a run may, and its "
        "score makes the most telling run win"
    )
    return Game("train", about, budget, draw, runs=1000, exact=True)


def trained_canaries(canaries: int = 512, epsilon: float = 16.0, delta: float = 1e-5) -> OneRun:
    """One ``tacit.train`` whose training rows are all canaries, each with a column of its own and a label by its coin.

    The attacker sees the released model, its weights, and guesses the coins.
    """
    rows = round(canaries / SHARES[0])
    part = divide_rows(rows, None, SHARES, 0)[0].rows
    X = np.zeros((rows, len(part)))
    X[part, np.arange(len(part))] = 1.0
    names = [str(j) for j in range(len(part))]
    schema = Schema.declare(dict.fromkeys(names, (-1, 1)), target="y", labels=["heads", "tails"])
    budget = Budget.approximate(epsilon, delta)
    # small steps, so that every residual stays at one half and no canary's gradient is cut or fades
    space = {"steps": Int(20, 24), "rate": Float(0.01, 0.02), "clip": Float(0.7, 0.71)}

    def play(noise: Source, seed: int) -> tuple[Any, Any]:
        coins = np.random.default_rng((seed, 1)).integers(0, 2, rows)
        labels = np.where(coins == 1, "tails", "heads")
        release = train("logistic", X, labels, space, budget=budget, runs=5, schema=schema, noise=noise, progress=False)
        model: Any = release.value.model.model
        return model.weights[0, :-1:2], coins[part]  # of each column its place; the other says "missing"

    about = (
        f"one tacit.train on {len(part)} canaries, each a training row with a column of its own and a label by its coin"
    )
    return OneRun("train-one-run", about, budget, play)
