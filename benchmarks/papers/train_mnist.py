"""A perceptron of MNIST for release at a total of (3, 1e-5), its search included.

The table is the 60,000 training images, each shrunk to 14 x 14 by the mean of four pixels, a step that knows no other
row; the 10,000 test images are the truth. Ranges and labels are declared: they are public, and cost nothing.

    ours            tacit.train("mlp"): about 8 settings, everything paid; one image replaced
    one setting     the same trainer, the middle of that space, no search: the whole budget and all rows in one training
    not private     scikit-learn's perceptron with 48 hidden units, 20 epochs, on the same features

Fewer settings than usual, and a narrower space than the trainer's own, chosen beforehand: forty take hours here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.papers._dpareto import mnist
from tacit.data.schema import Schema
from tacit.privacy.noise import EXACT
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.space import Float, Int, Space
from tacit.training.learn import declared_preparation
from tacit.training.perceptron import MLP
from tacit.training.trained import PublishedModel
from tacit.training.trainer import Base

TITLE = "MNIST: a perceptron for release, total epsilon = 3, delta = 1e-5, its search included"
LONG = True
REPEATS = 1

TOTAL, RUNS = tacit.Budget.approximate(3.0, 1e-5), 8
SPACE = {
    "epochs": Int(6, 20, log=True),
    "lot": Int(1000, 4000, log=True),
    "hidden": Int(32, 64, log=True),
    "rate": Float(0.1, 1.0, log=True),
    "clip": Float(0.5, 2.0, log=True),
}


@lru_cache(maxsize=1)
def images() -> tuple[Any, Any, Any, Any]:
    """Rows and labels of the table, and of the truth."""
    train, train_labels, test, test_labels = mnist()

    def shrink(rows: Any) -> Any:
        return np.asarray(rows, float).reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(rows), 196)

    return shrink(train), np.asarray(train_labels, int), shrink(test), np.asarray(test_labels, int)


def schema() -> Schema:
    """A black pixel is 0 and a white one 1, so that most features of a row are 0."""
    return Schema.declare({str(j): (-1.0, 1.0) for j in range(196)}, target="digit", labels=list(range(10)))


def accuracy(model: Any) -> float:
    _, _, fresh, truth = images()
    return 100 * float((np.asarray(model.predict(fresh)).astype(int) == truth).mean())


def search() -> float:
    rows, labels, _, _ = images()
    how: dict[str, Any] = {"budget": TOTAL, "runs": RUNS, "schema": schema(), "progress": False}
    return accuracy(tacit.train("mlp", rows, labels, SPACE, **how).value.model)


def single() -> float:
    rows, labels, _, _ = images()
    preparation, space, mu = declared_preparation(rows, schema()), Space(SPACE), TOTAL.mu()
    facts = preparation.facts(len(rows))
    base = Base(mu, tabulate(GaussianProfile(mu), floor=1e-9))
    settings = MLP.calibrate(space.params([[0.5] * space.dimensions])[0], facts, base)
    model = MLP.train(preparation.rows(rows, labels), settings, facts, EXACT)
    return accuracy(PublishedModel(preparation, model, MLP.name))


def open_perceptron() -> float:
    from sklearn.neural_network import MLPClassifier

    rows, labels, fresh, truth = images()
    model = MLPClassifier((48,), max_iter=20, random_state=0).fit(rows, labels)
    return 100 * float((model.predict(fresh) == truth).mean())


WAYS = {
    "ours, perceptron": search,
    "one setting": single,
    "not private perceptron": open_perceptron,
}


def run(repeats: int) -> list[Figure]:
    figures = []
    for name, way in WAYS.items():
        values = [keep_piece("train_mnist", {"way": name, "repeat": r}, way) for r in range(repeats)]
        ends = (min(values), max(values)) if repeats > 1 else (None, None)
        figures.append(Figure(f"accuracy, {name}", float(np.mean(values)), "points", *ends, note=f"{repeats} repeats"))
    return figures
