"""What a model has to beat stands beside its score: a constant, by rows that are not protected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

import tacit
from tacit.data.metrics.constant import read_against_constant
from tacit.methods.tuned import Tuned
from tacit.privacy.noise import Simulation

LABELS = np.array([0, 0, 0, 1, 2, 0])
NUMBERS = np.array([1.0, 2.0, 3.0, 10.0])


@pytest.mark.parametrize(
    ("name", "answers", "bounds", "value"),
    [
        ("error", LABELS, None, 1 / 3),
        ("accuracy", LABELS, None, 2 / 3),
        ("absolute", NUMBERS, (0.0, 100.0), 2.5),
        ("squared", NUMBERS, (0.0, 100.0), 12.5),
        ("rmse", NUMBERS, (0.0, 100.0), 12.5**0.5),
    ],
)
def test_the_constant_is_the_best_one(name: str, answers: Any, bounds: Any, value: float) -> None:
    metric = tacit.metrics.find(name, bounds=bounds)
    assert read_against_constant(metric.reading(9), metric, answers, 3).baseline == pytest.approx(value)


def test_the_share_that_bounds_clip_is_said() -> None:
    metric = tacit.metrics.find("absolute", bounds=(0.0, 5.0))
    assert "[0, 5], of these 25%" in read_against_constant(metric.reading(9), metric, NUMBERS, 0).baseline_of


@pytest.mark.parametrize(("scoring", "base"), [("accuracy", 0.75), ("auc", 0.5)])
def test_a_search_has_the_baseline_beside_its_score(scoring: str, base: float) -> None:
    y = np.tile([0, 0, 0, 1], 100)
    made = tacit.PrivateSearchCV(
        DummyClassifier(), {"random_state": tacit.Int(0, 9)}, scoring=scoring, trials=2, method="pool", random_state=0
    ).set_params(accept_noise=True, noise=Simulation(0))
    search = made.fit(np.zeros((400, 1)), y)
    assert search.baseline_score_ == pytest.approx(base, abs=0.1)
    assert "to beat" in str(search.release_.value)
    assert Tuned.from_json(search.release_.value.to_json()) == search.release_.value


def test_a_loss_has_its_baseline_negated_as_its_score_is() -> None:
    y = np.linspace(0.0, 1.0, 200)
    made = tacit.PrivateSearchCV(DummyRegressor(), {"quantile": tacit.Float(0.1, 0.9)}, bounds=(0.0, 1.0), trials=2)
    search = made.set_params(accept_noise=True, noise=Simulation(0), method="pool", random_state=0)
    assert search.fit(np.zeros((200, 1)), y).baseline_score_ == pytest.approx(-1 / 12, abs=0.02)
