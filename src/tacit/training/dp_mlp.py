"""Perceptrons by DP-SGD as a front measures them: the trainers of ``perceptron.py`` with seeded noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import BadInput, count
from tacit.privacy.noise import Simulation
from tacit.space import Params
from tacit.training.by_lots import ByLots
from tacit.training.examples import Unreleased
from tacit.training.linear_losses import score_count
from tacit.training.measured import Right
from tacit.training.perceptron import PerceptronTrainer
from tacit.training.registry import CLASSES
from tacit.training.trainer import EncodedRows, Facts


class Network(ByLots):
    """A ReLU network with ``hidden`` layers, softmax and cross-entropy, by DP-SGD.

    Guarantee. ``epsilons`` is (epsilon, delta) for one training record replaced, fixed-size lots drawn afresh without
    replacement. Models are trained with fast, seeded noise to be measured; none is released.
    Follows. Avent2020 Algorithm 3, with its domain for mnist (Table 1) and random baseline (Table 3).
    Differs. Weights start random, not at 0, where ReLU networks stay; the seed decides, the data have no part in it.
    T floor(n / m) steps. Single precision; see ``PerceptronTrainer``. Two classes have one score.
    Edges. Seeds are trained one after the other, on one thread: several workers use a machine better than several
    threads do (two threads on two busy cores were four times slower than one).

    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    >>> net = Network(X, y, X, y, hidden=(5,))
    >>> net.train({"epochs": 1, "lot": 20, "rate": 0.1, "variance": 1.0, "clip": 1.0}, seeds=[7])
    <not released, no guarantee: a list>
    """

    name = "perceptron, DP-SGD"
    kind = "mnist"
    linear = False
    most_classes = 1000
    hidden: tuple[int, ...] = (128, 64)
    HIDDEN: ClassVar[str] = "hidden must name at least one layer, such as (128, 64)"

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        hidden: Sequence[int] | None = None,
        classes: Sequence[Any] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(X, y, X_test, y_test, classes=classes, seed=seed)
        if hidden is not None:
            if not len(hidden):
                raise BadInput(self.HIDDEN)
            self.hidden = tuple(count("hidden", h) for h in hidden)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Width of every layer, inputs and scores included."""
        return (self.examples.X.shape[1], *self.hidden, score_count(len(self.examples.classes)))

    def train(self, params: Params, seeds: Sequence[int]) -> Unreleased:
        """Scores of one model for each seed."""
        data, trainer = self.examples, PerceptronTrainer(CLASSES, self.hidden, published=True)
        facts = Facts(data.records, data.X.shape[1], CLASSES, len(data.classes))
        settings, rows = trainer.settle(params, data.records), EncodedRows(data.X, data.y.astype(float))
        return Unreleased([trainer.train(rows, settings, facts, Simulation(seed)) for seed in seeds])

    def correct(self, params: Params, seeds: Sequence[int]) -> Right:
        models = self.train(params, seeds).reveal()
        return np.array([m.scores(self.examples.X_test).argmax(axis=1) == self.examples.y_test for m in models])


class Network1000(Network):
    """784-1000-10 on mnist: the paper's MLP1."""

    name = "perceptron of 1000, DP-SGD"
    hidden = (1000,)


class Network128x64(Network):
    """784-128-64-10 on mnist: the paper's MLP2."""

    name = "perceptron of 128 and 64, DP-SGD"
    hidden = (128, 64)
