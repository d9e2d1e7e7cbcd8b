"""Games of outsourced optimisation and of private training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.audit.game import Game, Outputs
from tacit.files import Json
from tacit.outsource.curator.transform import ATTACK, NoisyProjection, PublishedProjection
from tacit.privacy.accounting import compose
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT, Simulation, Source
from tacit.space import Params

Array = np.ndarray[Any, np.dtype[np.float64]]


def neighbours(rows: int, columns: int) -> tuple[Array, Array]:
    """Rows of norm at most 25, as in the paper's experiments, and the same with one row moved by exactly 1."""
    X = np.random.default_rng(0).normal(size=(rows, columns))
    X *= 25 / np.linalg.norm(X, axis=1).max()
    moved = X.copy()
    moved[0, 0] += 1.0
    return X, moved


def projection(rows: int = 12, columns: int = 2, size: int = 3) -> Game:
    """The published projection of more rows than columns."""
    tables = neighbours(rows, columns)
    inside = np.linalg.qr(tables[0] - tables[0].mean(axis=0))[0]

    def once(table: Array, noise: Source) -> float:
        transform = PublishedProjection(
            rows, columns, epsilon=3.0, delta=1e-5, dimensions=size, insist=ATTACK, noise=noise
        )
        (Z,) = transform.blocks(table)
        outside = float(np.linalg.norm(Z - inside @ (inside.T @ Z)) / np.linalg.norm(Z))
        return math.log10(outside + 1e-18)  # rounding leaves about -15 on the first data set, where exactly 0 is meant

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return np.array([once(tables[side], noise) for _ in range(runs)])

    about = (
        f"the published projection of {rows} rows in {columns} dimensions, one row moved by 1; the attacker asks how "
        "far the table lies outside the column space of the first data set"
    )
    return Game("projection", about, None, draw, runs=2000)


def noisy_projection(rows: int = 3, columns: int = 2) -> Game:
    """The noisy projection: the whole published table."""
    tables = neighbours(rows, columns)
    claim = NoisyProjection(columns, epsilon=3.0, delta=1e-5).guarantee.budget

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        transform = NoisyProjection(columns, epsilon=3.0, delta=1e-5, noise=noise)
        if isinstance(noise, Simulation):  # many tables of the same rows, one after another
            many = np.concatenate(list(transform.blocks(np.tile(tables[side], (runs, 1)))))
            return many.reshape(runs, rows * columns)
        return np.array([np.concatenate(list(transform.blocks(tables[side]))).ravel() for _ in range(runs)])

    about = f"the noisy projection of {rows} rows in {columns} dimensions, one row moved by 1; the whole table"
    return Game("noisy-projection", about, claim, draw)


def private_answers(queries: int = 4) -> Game:
    """A curator's private answers: those of one modeler who asks ``queries`` rows."""
    from tacit.outsource.curator import Curator
    from tacit.outsource.curator.payments import answer_mechanism
    from tacit.outsource.curator.rows import PrivateAnswers

    answers = PrivateAnswers((0.0, 1.0), Budget.gdp(0.5))
    mechanism = answer_mechanism(answers, "", EXACT)
    assert mechanism is not None
    claim = compose([mechanism.guarantee] * queries).budget

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        values: list[float] = []
        while len(values) < runs * queries:  # every row is answered with noise of its own: one curator, many runs
            some = min(1000, runs * queries - len(values))
            rows = np.arange(2.0 * some).reshape(some, 2)
            terms: Json = {"epsilon": 1.0, "delta": 1e-5, "answers": answers, "queries": some}
            # the one record decides about every row; clipped to the two ends
            column = np.full(some, 1e9 if side else np.nan)
            with Curator(rows, column, **terms, noise=noise) as curator:
                # the answers to many requests share a commit, where a column has them
                for result in curator.ask_all([("audit", f"request-{row}", [row]) for row in range(some)]):
                    if isinstance(result, Exception):
                        raise result
                    values.append(float(result[0].value or 0.0))
        return np.array(values).reshape(runs, queries)

    about = (
        f"{queries} private answers of a curator whose evaluation of every row depends on one record: none can be "
        "evaluated, which counts as the low bound, or all lie above the high one"
    )
    return Game("private-answers", about, claim, draw, runs=20_000, chunk=2000)


# Training


def train_once(params: Params, X: Array, y: Any, noise: Source) -> Array:
    """Weights of logistic regression by DP-SGD, as it is trained for release."""
    from tacit.training.descent import LOGISTIC_SGD
    from tacit.training.trainer import CLASSES, EncodedRows, Facts

    rows, facts = EncodedRows(X, np.asarray(y, float)), Facts(len(X), X.shape[1], CLASSES, 2)
    weights: Array = LOGISTIC_SGD.train(rows, LOGISTIC_SGD.settle(params, len(X)), facts, noise).weights
    return np.asarray(weights[0])


def dp_sgd() -> Game:
    """DP-SGD on the whole data set as one batch: the label of one record with a long gradient is turned."""
    from tacit.training.dp_sgd import LogisticSGD

    params = {"epochs": 4, "lot": 8, "rate": 1e-3, "variance": 4.0, "clip": 1.0}
    X = np.zeros((8, 1))
    X[0] = 1e3
    trainers = [
        LogisticSGD(X, np.r_[side, np.zeros(7)].astype(int), X, np.r_[0, np.ones(7)], classes=(0, 1)) for side in (0, 1)
    ]
    budget = Budget.approximate(float(trainers[0].epsilons([params], 1e-2)[0]), 1e-2)

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        if isinstance(noise, Simulation):  # many models in one pass, with fast noise
            seeds = noise.generator.integers(2**31, size=runs).tolist()
            return np.asarray(trainers[side].train(params, seeds).reveal(), float)
        return np.array([train_once(params, X, trainers[side].examples.y, noise) for _ in range(runs)])

    about = (
        "4 steps of DP-SGD with all 8 records in every batch; the label of one record with a clipped gradient is turned"
    )
    return Game("dp-sgd", about, budget, draw, runs=20_000, chunk=2000)
