"""One run of a search: a setting drawn afresh, a model trained with noise, a noisy score on validation rows."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import Source
from tacit.space import Params, Space
from tacit.trainers.trainer import CLASSES, Base, EncodedRows, Facts, Model, Trainer

Floats = NDArray[np.float64]
Losses = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Run:
    """What a run leaves: private until it is the one that is released. A run that failed has no model."""

    params: Params
    loss: float
    model: Model | None

    def __repr__(self) -> str:
        return "<a run, private>"


@dataclass(frozen=True, repr=False)
class Search:
    """All that a run needs; the same for every run."""

    trainer: Trainer
    space: Space
    facts: Facts
    base: Base
    losses: Losses
    training: EncodedRows
    validation: EncodedRows
    noise: Source

    def __repr__(self) -> str:
        return f"<a search with {self.trainer.name}, private>"

    def run(self) -> Run:
        """Draw a setting, train, score. A run that fails counts, with the worst score: why it failed is private.

        Guarantee. At most ``base`` for one row replaced: a training row meets the training alone, a validation row the
        score alone.
        """
        params = self.draw_params()
        try:
            settings = self.trainer.calibrate(params, self.facts, self.base)
            model = self.trainer.train(self.training, settings, self.facts, self.noise)
            return Run(params, self.score(model, self.validation, self.base.mu), model)
        except Exception:
            return Run(params, np.inf, None)

    def score(self, model: Model, rows: EncodedRows, mu: float) -> float:
        """The mean loss of a model on rows, with noise: mu-GDP for one row, or person, replaced."""
        mean = BoundedMean(rows.units, (0.0, 1.0), budget=Budget.gdp(mu), noise=self.noise)
        return mean.draw(mean.total(rows.by_unit(self.losses(model.scores(rows.X), rows.target))))

    def draw_params(self) -> Params:
        """A setting from the public law, uniform over the space, by the operating system's generator."""
        point = [secrets.randbits(53) / 2.0**53 for _ in range(self.space.dimensions)]
        return self.space.params([point])[0]

    def rehearse(self) -> None:
        """Run once on rows that were made up, so that a trainer that cannot work says so before anything is spent."""
        rng = np.random.default_rng(0)
        n = min(200, self.facts.records)
        few = replace(self.facts, records=n)
        X = rng.uniform(-1, 1, (n, self.facts.features))
        target = rng.integers(self.facts.outputs, size=n) if self.facts.task == CLASSES else rng.uniform(-1, 1, n)
        params = self.space.params([[0.5] * self.space.dimensions])[0]
        model = self.trainer.train(
            EncodedRows(X, target.astype(float)), self.trainer.calibrate(params, few, self.base), few, self.noise
        )
        scores = np.asarray(model.scores(X))
        wanted = (n, self.facts.outputs)
        if scores.shape != wanted or not np.isfinite(scores).all():
            raise BadInput(
                f"the trainer {self.trainer.name!r} must give a model whose scores have shape {wanted} and are finite, "
                f"got shape {scores.shape} on made-up rows. Nothing was spent"
            )


def best_of(runs: list[Run]) -> Run:
    """The run with the least loss; ties are broken at random."""
    least = min(r.loss for r in runs)
    return secrets.choice([r for r in runs if r.loss == least])
