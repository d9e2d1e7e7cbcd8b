"""The default trainer: which model for which table, the mean of two, and its JSON form."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tacit.privacy.noise import Simulation
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.training.automatic import ADDITIVE, AUTOMATIC, AUTOMATIC_NUMBERS, BOTH, LINEAR, MeanScores
from tacit.training.model_files import scores_to_json
from tacit.training.registry import read_scores
from tacit.training.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts


def base(mu: float) -> Base:
    return Base(mu, tabulate(GaussianProfile(0.5), floor=1e-9))


@pytest.mark.parametrize(
    ("rows", "columns", "model"), [(1900, 13, LINEAR), (5000, 20, BOTH), (40_000, 14, BOTH), (200_000, 14, ADDITIVE)]
)
def test_the_model_follows_from_rows_columns_and_budget(rows: int, columns: int, model: str) -> None:
    assert AUTOMATIC.defaults(Facts(rows, columns, CLASSES, 2), base(0.25)) == {"model": model}


@pytest.mark.parametrize("trainer", [AUTOMATIC, AUTOMATIC_NUMBERS])
def test_two_models_cost_together_what_one_may(trainer: object) -> None:
    facts = Facts(3000, 4, trainer.task, 2 if trainer.task == CLASSES else 1)  # type: ignore[attr-defined]
    settings = AUTOMATIC.calibrate({"model": BOTH}, facts, base(0.5))
    assert math.hypot(*(s.mu for _, s in settings)) == pytest.approx(0.5)
    assert settings[0][1].mu == pytest.approx(0.5 / math.sqrt(2))


def test_the_mean_of_log_odds_is_read_back_from_json() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 3))
    y = (X[:, 0] > 0).astype(float)
    facts = Facts(3000, 3, CLASSES, 2)
    model = AUTOMATIC.train(
        EncodedRows(X, y), AUTOMATIC.calibrate({"model": BOTH}, facts, base(2.0)), facts, Simulation(0)
    )
    assert isinstance(model, MeanScores)
    scores = model.scores(X)
    first, second = (m.scores(X) for m in model.models)
    odds = (np.log(first[:, 1] / first[:, 0]) + np.log(second[:, 1] / second[:, 0])) / 2
    assert np.log(scores[:, 1] / scores[:, 0]) == pytest.approx(odds, abs=1e-9)
    assert ((scores[:, 1] > 0.5) == y).mean() > 0.9
    document = scores_to_json(model)
    assert document is not None
    assert np.allclose(read_scores(json.loads(json.dumps(document))).scores(X), scores)


def test_the_mean_of_numbers_and_of_three_classes() -> None:
    facts = Facts(600, 2, NUMBERS, 1)
    X = np.random.default_rng(1).uniform(-1, 1, (600, 2))
    settings = AUTOMATIC_NUMBERS.calibrate({"model": BOTH}, facts, base(3.0))
    model = AUTOMATIC_NUMBERS.train(EncodedRows(X, X[:, 0]), settings, facts, Simulation(0))
    assert np.abs(model.scores(X)[:, 0] - X[:, 0]).mean() < 0.2
    three = Facts(600, 2, CLASSES, 3)
    settings = AUTOMATIC.calibrate({"model": BOTH}, three, base(3.0))
    y = np.digitize(X[:, 0], [-0.3, 0.3]).astype(float)
    scores = AUTOMATIC.train(EncodedRows(X, y), settings, three, Simulation(0)).scores(X)
    assert np.allclose(scores.sum(axis=1), 1.0)
    assert (np.argmax(scores, axis=1) == y).mean() > 0.7
