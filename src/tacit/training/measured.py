"""Trainers as algorithms of a front: examples, trainings with fast, seeded noise, and test accuracy.

What is trained here is measured and dropped; ``tacit.train`` trains the same again for release, with exact noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, GuaranteeError, positive
from tacit.gp.threads import one_thread
from tacit.privacy.conversions import gdp_epsilon
from tacit.privacy.noise import Simulation
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.space import Array, Float, Params, Space
from tacit.training.examples import Examples, Unreleased
from tacit.training.registry import CLASSES, find_trainer, load_trainer
from tacit.training.trainer import Base, EncodedRows, Facts, Trainer

if TYPE_CHECKING:
    import pandas as pd

    from tacit.data.schema import Schema

FLOOR = 1e-12  # of delta: what a training's profile may have above that of mu-GDP
APART = "models are trained to be measured, with seeded noise, and never released"
Right = NDArray[np.bool_]


class MeasuredAlgorithm:
    """Examples and test accuracy; a subclass has a space and epsilons, and trains.

    Guarantee. ``utility`` and ``train`` draw fast, seeded noise: what they give is not released.
    """

    name: str = ""
    apart: ClassVar[str] = APART
    most_classes: ClassVar[int] = 2
    linear: ClassVar[bool] = True  # whether a linear model without privacy is what to compare with
    space: Space

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.hold(Examples.of(X, y, X_test, y_test, classes=classes, seed=seed))

    @classmethod
    def from_table(cls, table: pd.DataFrame, target: str, seed: int = 0, schema: Schema | None = None) -> Self:
        """The algorithm on a table, a fifth of it held out. Encoded by its training rows: no model is released."""
        algorithm = cls.__new__(cls)
        algorithm.hold(Examples.from_table(table, target, seed=seed, schema=schema))
        return algorithm

    def hold(self, examples: Examples) -> None:
        """Take the examples on which everything is measured."""
        if len(examples.classes) > self.most_classes:
            raise BadInput(f"{self.name} takes {self.most_classes} classes, got {len(examples.classes)}")
        self.examples = examples
        self.records = len(examples.X_test)  # whose utilities a private front protects

    def train(self, params: Params, seeds: Sequence[int]) -> Unreleased:
        """One model for each seed. Not for release."""
        raise NotImplementedError

    def correct(self, params: Params, seeds: Sequence[int]) -> Right:
        """Which test records (R, records) each model classes right."""
        raise NotImplementedError

    def utilities(self, params: Params, seeds: Sequence[int]) -> Array:
        """Test accuracy of one run for each seed, (R,)."""
        return np.asarray(self.correct(params, seeds).mean(axis=1), float)

    def utility(self, params: Params, seed: int) -> float:
        """Test accuracy of one run."""
        return float(self.utilities(params, [seed])[0])

    def each_utility(self, params: Params, seed: int) -> Array:
        """For every test record whether one run classes it right, (records,)."""
        return np.asarray(self.correct(params, [seed])[0], float)

    def baselines(self) -> dict[str, float]:
        """What a constant guess and, of linear models, one without privacy reach on the test rows."""
        return self.examples.baselines(linear=self.linear)


class MeasuredTrainer(MeasuredAlgorithm):
    """Any trainer of classes, by its name or as an object: its own hyperparameters, and the mu that a training costs.

    Guarantee. ``epsilons`` is for one training record replaced: every training costs at most mu-GDP, whatever its
    hyperparameters are (docs/proofs/private-training.md).
    Differs. Features are divided by the largest of the training rows, so that all are within [-1, 1].

    >>> X = np.repeat([[0.0], [1.0]], 200, axis=0)
    >>> algorithm = MeasuredTrainer("logistic", X, X[:, 0], X, X[:, 0])
    >>> params = {"mu": 1.0, "steps": 20, "rate": 1.0, "clip": 1.0}
    >>> algorithm.epsilons([params], 1e-5).round(2).tolist(), algorithm.utility(params, seed=1)
    ([4.38], 1.0)
    """

    label: str = "every training within mu-GDP, one record replaced"
    most_classes = 1000

    def __init__(self, trainer: str | Trainer, *arrays: Any, **options: Any) -> None:
        self._choose(trainer)
        super().__init__(*arrays, **options)

    @classmethod
    def of_table(
        cls, trainer: str, table: pd.DataFrame, target: str, seed: int = 0, schema: Schema | None = None
    ) -> Self:
        """The trainer on a table, a fifth of it held out."""
        algorithm = cls.__new__(cls)
        algorithm._choose(trainer)
        algorithm.hold(Examples.from_table(table, target, seed=seed, schema=schema))
        return algorithm

    def _choose(self, trainer: str | Trainer) -> None:
        self.trainer = load_trainer(trainer)
        if self.trainer.task != CLASSES:
            raise BadInput(f"a front measures accuracy, and {self.trainer.name} predicts {self.trainer.task}")
        self.name = self.trainer.name

    def hold(self, examples: Examples) -> None:
        super().hold(examples)
        n, d = examples.X.shape
        self.facts = Facts(n, d, CLASSES, len(examples.classes))
        self.space = Space({"mu": Float(0.02, 5.0, log=True), **self.trainer.space(self.facts)})
        self._largest = np.maximum(np.abs(examples.X).max(axis=0), 1.0)

    def epsilons(self, params: Sequence[Params], delta: float) -> Array:
        """Epsilon at delta of each configuration, (n,)."""
        if 0 < delta <= FLOOR:
            raise GuaranteeError(f"delta must be 0 or above {FLOOR:g}, got delta={delta:g}")
        if not delta:
            return np.full(len(params), np.inf)  # Gaussian noise is never pure
        return np.array([gdp_epsilon(positive("mu", p["mu"]), delta - FLOOR) for p in params])

    def train(self, params: Params, seeds: Sequence[int]) -> Unreleased:
        mu = positive("mu", params["mu"])
        settings = self.trainer.calibrate(params, self.facts, Base(mu, tabulate(GaussianProfile(mu), floor=FLOOR)))
        rows = EncodedRows(np.asarray(self.examples.X / self._largest, float), self.examples.y.astype(float))
        with one_thread():
            return Unreleased([self.trainer.train(rows, settings, self.facts, Simulation(seed)) for seed in seeds])

    def correct(self, params: Params, seeds: Sequence[int]) -> Right:
        X = np.clip(self.examples.X_test / self._largest, -1.0, 1.0)
        models = self.train(params, seeds).reveal()
        return np.array([model.scores(X).argmax(axis=1) == self.examples.y_test for model in models])


def is_measurable(name: str) -> bool:
    """Whether a front can be drawn for a trainer of this name."""
    return find_trainer(name).task == CLASSES
