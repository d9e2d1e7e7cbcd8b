"""Games of private training: whole searches of ``tacit.train``, and one run with many canaries.

y    what a run of the adversary's puts out: N(0, 1) on the data set, N(mu, 1) on its neighbour
c    outcomes above it score best; then come all others, the least first
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.game import Game, Outputs
from tacit.audit.games.one_run import OneRun
from tacit.data.containers import read_column
from tacit.data.metrics import find
from tacit.data.schema import Schema
from tacit.data.split import divide_rows
from tacit.data.table import Table
from tacit.privacy.guarantee import Budget
from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import Source
from tacit.privacy.profiles import GaussianProfile, Profile
from tacit.privacy.units import TABLE
from tacit.run.private_state import PrivateState
from tacit.space import Float, Int, Params
from tacit.training.descent import LOGISTIC_LOTS
from tacit.training.learn import declared_preparation
from tacit.training.private_table import DividedTable, identify_table
from tacit.training.search_cost import SearchCost
from tacit.training.train import ONE_RUN, SHARES, Training, train
from tacit.training.trainer import CLASSES, Base, EncodedRows, Facts

ROWS, RUNS = 1800, 10
CUT, LEAST = 1.35, -4.0  # c, and the outcome below which all score alike
FINE = 2.0**30  # whole numbers in one deviation of the adversary's noise


@dataclass(frozen=True)
class NoisySum:
    """What the adversary's training puts out, and scores of rows that make the most telling outcome win."""

    __released__ = True

    y: float

    def scores(self, X: Any) -> Any:
        """Probabilities whose Brier loss on rows of the first class is 0 above c, and between 1/8 and 1 below it."""
        place = min(max((self.y - LEAST) / (CUT - LEAST), 0.0), 1.0)
        loss = 0.0 if self.y > CUT else 0.125 + 0.875 * place
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
        drawn = noise.gaussian_whole(int(total * settings / 2 * FINE), FINE * ABOVE)  # cut towards 0: no norm grows
        return NoisySum(drawn / FINE + settings / 2)


def adversarial_training(side: int, budget: Budget, noise: Source) -> Training:
    """A training on rows of one column that are all 0, but for one that trains: -1, or 1."""
    labels, X = np.full(ROWS, "a", object), np.zeros((ROWS, 1))
    parts = divide_rows(ROWS, None, SHARES, 0)
    X[parts[0].rows[0]] = (-1.0, 1.0)[side]
    schema = Schema.declare({"0": (-1, 1)}, target="y", labels=["a", "b"])
    return Training(
        Adversary(),
        DividedTable(Table.of(X), read_column(labels), *parts),
        SearchCost.of(budget, RUNS, learns=False),
        declared_preparation(X, schema),
        None,
        find("brier"),
        hide_runs=False,
        unit=TABLE,
        noise=noise,
        data=identify_table(X, labels, None, None, schema, None, "an audit"),
    )


def whole_search(epsilon: float = 2.0, delta: float = 0.01) -> Game:
    """The search of ``tacit.train``, from the secret number to the winner, with an adversary's trainer and score.

    What comes before (rows, columns) is the same in every run, and made once; what comes after meets other rows alone.
    """
    budget = Budget.approximate(epsilon, delta)

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        job = adversarial_training(side, budget, noise)
        secret, search = job.secret, job.begin(PrivateState(None))[1]
        winners = [secret.find_best(search, PrivateState(None), None, progress=False) for _ in range(runs)]
        return np.array([run.model.y for run in winners])

    about = (
        f"the search of tacit.train, about {RUNS} runs, one training row replaced; the trainer puts out all that a run "
        "may, and its score makes the most telling run win"
    )
    apart = "the best of a secret number of runs, each of which the law plays by itself"
    return Game("train", about, budget, draw, runs=10_000, apart=apart)


def trained_canaries(canaries: int = 512, epsilon: float = 16.0, delta: float = 1e-5) -> OneRun:
    """One ``tacit.train`` whose training rows are all canaries, each with a column of its own and a label by its coin.

    The attacker sees the released model, its weights, and guesses the coins.
    """
    rows = round(canaries / ONE_RUN[0])
    part = divide_rows(rows, None, ONE_RUN, 0)[0].rows
    X = np.zeros((rows, len(part)))
    X[part, np.arange(len(part))] = 1.0
    names = [str(j) for j in range(len(part))]
    schema = Schema.declare(dict.fromkeys(names, (-1, 1)), target="y", labels=["heads", "tails"])
    budget = Budget.approximate(epsilon, delta)
    # Small steps, so that every residual stays at one half and no canary's gradient is cut or fades; batches of all
    # rows, since with so many columns the noise of their means would hide every row.
    whole = len(part)
    space = {"epochs": Int(20, 24), "lot": Int(whole - 1, whole), "rate": Float(0.01, 0.02), "clip": Float(0.7, 0.71)}

    def play(noise: Source, coins: Any) -> Any:
        sides = np.arange(rows) % 2
        sides[part] = coins
        labels = np.where(sides == 1, "tails", "heads")
        release = train(
            LOGISTIC_LOTS, X, labels, space, budget=budget, runs=1, schema=schema, noise=noise, progress=False
        )
        model: Any = release.value.model.model
        return model.weights[0, :-1:2]  # of each column its place; the other says "missing"

    about = (
        f"one tacit.train on {len(part)} canaries, each a training row with a column of its own and a label by its coin"
    )
    apart = "one training, which the law plays by itself"
    return OneRun("train-one-run", about, budget, len(part), play, apart=apart)
