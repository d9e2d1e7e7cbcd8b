"""The default trainer: which model for which table, the mean of two, and its JSON form."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tacit.privacy.noise import Simulation
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.training.automatic import ADDITIVE, AUTOMATIC, AUTOMATIC_NUMBERS, BOTH, LINEAR, RATES, MeanScores
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
    settings = trainer.calibrate({"model": BOTH}, facts, base(0.5))  # type: ignore[attr-defined]
    counted = RATES if trainer.task == CLASSES else 0.0  # type: ignore[attr-defined]
    assert settings.mu == pytest.approx(0.5)
    assert math.hypot(settings.rates, *(s.mu for _, s in settings.trainings)) <= 0.5
    assert settings.rates == pytest.approx(0.5 * math.sqrt(counted))
    assert [s.mu for _, s in settings.trainings] == pytest.approx([0.5 * math.sqrt((1 - counted) / 2)] * 2)


@pytest.mark.parametrize(("share", "kinds"), [(0.5, ["linear", "additive"]), (0.02, ["linear", "linear"])])
def test_of_a_rare_class_two_linear_models_are_trained(share: float, kinds: list[str]) -> None:
    """x is 100: times 4 p (1 - p), about 8 at 0.02, it is below 40."""
    rng = np.random.default_rng(2)
    X, facts = rng.uniform(-1, 1, (2400, 12)), Facts(2400, 12, CLASSES, 2)
    rows = EncodedRows(X, (rng.random(2400) < share).astype(float))
    model = AUTOMATIC.train(rows, AUTOMATIC.calibrate({"model": BOTH}, facts, base(0.5)), facts, Simulation(0))
    assert isinstance(model, MeanScores)
    assert [m.to_json()["kind"] for m in model.models] == kinds  # type: ignore[attr-defined]


def test_a_table_of_numbers_counts_no_classes() -> None:
    facts = Facts(2400, 12, NUMBERS, 1)
    assert AUTOMATIC_NUMBERS.calibrate({"model": BOTH}, facts, base(0.5)).rates == 0.0


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
