"""The default trainer: linear, additive or both, by how many rows there are for each column at the budget's noise.

    x    rows per column, n mu / d (see ``Facts``)

Where x is small a linear model is all that the noise leaves; where it is large an additive model sees more. Between
them both are trained, each with half of the squared mu, and the mean of their log odds, or numbers, is released. Of
classes so rare that boosting would see little of them, by noisy counts, two linear models are trained instead.
Proof: docs/proofs/private-training.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.files import Json
from tacit.privacy.noise import Source
from tacit.privacy.profiles import GaussianProfile, Profile
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Choice, Params
from tacit.training.descent import LOGISTIC, RIDGE
from tacit.training.ebm import COUNTS, EBM, EBM_NUMBERS, evenness
from tacit.training.linear_losses import link
from tacit.training.registry import read_scores
from tacit.training.starts import FEATURES, draw_rates, log_odds
from tacit.training.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts, Model
from tacit.training.worst_pairs import FAR, replace_row

FEW, MANY = 40.0, 3000.0  # x below which a linear model is trained alone, and from which an additive one is
RATES = 0.01  # share of the squared mu that tells how rare classes are, where both are trained
LINEAR, BOTH, ADDITIVE = "linear", "linear and additive", "additive"
MODELS = (LINEAR, BOTH, ADDITIVE)


@dataclass(frozen=True)
class MeanScores:
    """The mean of models: of their log odds, or of the numbers that they predict."""

    __released__ = True

    models: tuple[Model, ...]
    task: str

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k), or predicted targets (n, 1)."""
        each = np.stack([model.scores(X) for model in self.models])
        if self.task == NUMBERS:
            return np.asarray(each.mean(axis=0))
        odds = np.log(np.maximum(each, 1e-300)).mean(axis=0)
        return link(odds[:, 1:] - odds[:, :1] if odds.shape[1] == 2 else odds, self.task)

    def to_json(self) -> Json:
        return {"kind": "mean", "task": self.task, "models": [model.to_json() for model in self.models]}  # type: ignore[attr-defined]

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> MeanScores:
        return cls(tuple(read_scores(model) for model in stored["models"]), str(stored["task"]))


@dataclass(frozen=True)
class Parts:
    """Trainers with their settings, and mu of the counts of the classes, 0 where nothing hangs on them."""

    trainings: tuple[tuple[Any, Any], ...]
    rates: float

    @property
    def mu(self) -> float:
        return math.hypot(self.rates, *(s.mu for _, s in self.trainings))


@dataclass(frozen=True)
class AutomaticTrainer:
    """A linear model, an additive one, or the mean of two.

    Guarantee. Each training costs at most the base profile that it was calibrated for, one training record replaced:
    the counts and two trainings of the same mu compose to it, whichever the second is. Nothing is assumed of floating
    point.
    Follows. docs/proofs/private-training.md.
    """

    assumptions: ClassVar[tuple[str, ...]] = ()
    premises: ClassVar[tuple[str, ...]] = ()
    persons: ClassVar[bool] = True
    linear: Any
    additive: Any
    few: float = FEW

    @property
    def task(self) -> str:
        return str(self.linear.task)

    @property
    def name(self) -> str:
        return "automatic model" if self.task == CLASSES else "automatic model, numbers"

    def space(self, facts: Facts) -> Mapping[str, Any]:
        """Which model; its own settings are its defaults."""
        return {"model": Choice(MODELS)}

    def defaults(self, facts: Facts, base: Base) -> Params:
        x = facts.rows_per_column(base.mu)
        return {"model": LINEAR if x < FEW else BOTH if x < MANY else ADDITIVE}

    def calibrate(self, params: Params, facts: Facts, base: Base) -> Parts:
        """Trainers with their settings, and counts, which compose to ``base``."""
        chosen = {LINEAR: (self.linear,), BOTH: (self.linear, self.additive), ADDITIVE: (self.additive,)}
        trainers = chosen[str(params["model"])]
        counted = RATES if len(trainers) == 2 and self.task == CLASSES else 0.0
        share = Base(base.mu * math.sqrt((1 - counted) / len(trainers)), base.table)
        each = tuple((t, t.calibrate(t.defaults(facts, share), facts, share)) for t in trainers)
        return Parts(each, base.mu * math.sqrt(counted))

    def profile(self, settings: Parts) -> Profile:
        return GaussianProfile(settings.mu)

    def train(self, rows: EncodedRows, settings: Parts, facts: Facts, noise: Source) -> Model:
        trainings = settings.trainings
        if settings.rates:
            even = evenness(log_odds(draw_rates(rows, facts, settings.rates, noise)))
            if even * facts.rows_per_column(settings.mu) < self.few:
                trainings = (trainings[0], trainings[0])
        models: tuple[Model, ...] = tuple(t.train(rows, s, facts, noise) for t, s in trainings)
        return models[0] if len(models) == 1 else MeanScores(models, self.task)

    def worst_pairs(self, base: Base) -> tuple[WorstPair, ...]:
        """A row whose target turns round, with both trainings so slow that no residual fades."""
        linear = _Set(self.linear, {"steps": 20, "rate": 1e-6, "clip": 0.1})
        additive = _Set(self.additive, {"rounds": 6, "rate": 0.7, "leaves": 3, "clip": 0.35})
        far, other = (FAR, FAR), 0.0 if self.task == CLASSES else -1.0
        counted = RATES if self.task == CLASSES else 0.0
        cases = [
            (LINEAR, "linear", 0.0, FEATURES),
            (BOTH, "linear and additive", 0.0, (1 - counted) * (FEATURES + COUNTS) / 2),
            (ADDITIVE, "additive", 0.0, COUNTS),
        ]
        if self.task == CLASSES:
            cases.append((BOTH, "linear twice", math.inf, (1 - RATES) * FEATURES))
        return tuple(
            replace_row(
                AutomaticTrainer(linear, additive, few),
                base,
                {"model": model},
                ((far, 1.0), (far, other)),
                about=f"{words}; the target of a row turns round",
                outputs=2 if self.task == CLASSES else 1,
                share=math.sqrt(1 - unspent),
            )
            for model, words, few, unspent in cases
        )


@dataclass(frozen=True)
class _Set:
    """A trainer with other defaults."""

    trainer: Any
    params: Params

    @property
    def task(self) -> str:
        return str(self.trainer.task)

    def defaults(self, facts: Facts, base: Base) -> Params:
        return self.params

    def calibrate(self, params: Params, facts: Facts, base: Base) -> Any:
        return self.trainer.calibrate(params, facts, base)

    def train(self, rows: EncodedRows, settings: Any, facts: Facts, noise: Source) -> Model:
        model: Model = self.trainer.train(rows, settings, facts, noise)
        return model


AUTOMATIC, AUTOMATIC_NUMBERS = AutomaticTrainer(LOGISTIC, EBM), AutomaticTrainer(RIDGE, EBM_NUMBERS)
