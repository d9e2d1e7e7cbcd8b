"""Any metric chooses the model and is its score: right on fresh rows, in its own unit, with noise of its own size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from train_parts import BUDGET, table

import tacit
from tacit.data.schema import Schema
from tacit.errors import BadInput
from tacit.privacy.ledger import Ledger
from tacit.training.learn import estimate_rates
from tacit.training.preparation import Preparation
from tacit.training.scoring import Scoring, load_metric
from tacit.training.trainer import CLASSES, NUMBERS, EncodedRows

LABELS = Preparation(Schema.declare({"x": (0, 1)}, target="y", labels=["a", "b"]), {})
RANGE = Preparation(Schema.declare({"x": (0, 1)}, target="y", range=(100, 300)), {})


def fresh_score(model: Any, metric: str, data: pd.DataFrame) -> float:
    X, y = data.drop(columns="ill"), data["ill"].to_numpy()
    own = model.predict_proba(X)
    yes = own[:, model.classes_.tolist().index("yes")]
    wrong = model.predict(X) != y
    if metric == "auc":
        return float(roc_auc_score(y == "yes", yes))
    if metric == "balanced":
        return float(np.mean([wrong[y == c].mean() for c in ("yes", "no")]))
    true = np.where(y == "yes", yes, 1 - yes)
    return float(np.minimum(-np.log(true), -np.log(0.01)).mean()) if metric == "log_loss" else float(1 - wrong.mean())


@pytest.mark.parametrize("metric", ["auc", "balanced", "log_loss", "accuracy"])
def test_the_score_is_that_of_the_metric_on_fresh_rows(metric: str) -> None:
    """Within five standard deviations, of the noise and of both samples: fails by chance once in a million."""
    release = tacit.train(
        "logistic", table(), target="ill", budget=BUDGET, runs=4, metric=metric, progress=False, parts=(0.6, 0.2, 0.2)
    )
    value = release.value
    assert value.metric == metric
    true = fresh_score(value.model, metric, table(4000, seed=9))
    assert value.score == pytest.approx(true, abs=5 * np.hypot(value.deviation, 1.4 * value.sampling))
    better = value.details["baseline"] < value.score if metric in ("auc", "accuracy") else None
    if better is not None:
        assert better
    if metric == "auc":
        assert value.details["baseline"] == pytest.approx(0.5, abs=0.01)


def test_numbers_have_the_bounds_of_their_range_and_are_read_in_their_unit() -> None:
    target, scores = np.array([-1.0, 0.0, np.nan]), np.array([[1.0], [0.5], [0.0]])
    rows = EncodedRows(np.zeros((3, 2)), target)
    for name, worst, losses in (
        ("absolute", 200.0, [200.0, 50.0, 200.0]),
        ("rmse", 200.0**2, [200.0**2, 50.0**2, 200.0**2]),
        ("quantile:0.9", 180.0, [20.0, 5.0, 180.0]),
    ):
        scoring = Scoring.of(load_metric(name, NUMBERS), RANGE)
        assert scoring.metric.bounds == (0.0, worst)
        assert scoring.measure(scores, rows) * worst == pytest.approx(losses)
    assert Scoring.of(load_metric("rmse", NUMBERS), RANGE).reading(3).read(2500.0) == 50.0


def test_persons_count_once() -> None:
    rows = EncodedRows(np.zeros((3, 2)), np.array([0.0, 0.0, 1.0]), np.array([0, 0, 1]))
    found = Scoring.of(load_metric("error", CLASSES), LABELS).measure(np.array([[0, 1.0], [1, 0], [0, 1]]), rows)
    assert found.tolist() == [0.5, 0.0]


def test_what_a_metric_needs_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/l.db", "set", tacit.Budget.approximate(9.0, 1e-3), composition="basic")
    schema = Schema.declare({"age": (0, 120), "ward": ["north", "west"]}, target="ill", labels=["no", "yes"])
    options: dict[str, Any] = {"target": "ill", "budget": BUDGET, "runs": 2, "progress": False, "ledger": ledger}
    with pytest.raises(BadInput, match="rates"):
        tacit.train("logistic", table(), schema=schema, metric="auc", **options)
    wrong = tacit.metrics.find("auc", rates={"a": 0.5, "b": 0.5})
    with pytest.raises(BadInput, match="rates must name"):
        tacit.train("logistic", table(), schema=schema, metric=wrong, **options)
    assert not [e for e in ledger.entries() if e.kind == "charge"]
    told = tacit.metrics.find("auc", rates={"no": 0.4, "yes": 0.6})
    assert tacit.train("logistic", table(), schema=schema, metric=told, **options).value.score > 0.6


def test_a_metric_that_does_not_suit_the_labels_that_were_learnt_gives_way_to_the_usual_one() -> None:
    release = tacit.train("logistic", table(), target="ill", budget=BUDGET, runs=2, metric="auc:maybe", progress=False)
    assert release.value.metric == "error"
    assert "scored by error: auc:maybe does not suit the labels that were learnt, 'no', 'yes'" in str(release.value)
    assert "remarks" not in tacit.train("logistic", table(), target="ill", budget=BUDGET, progress=False).value.details


def test_rates_of_noisy_counts_are_worth_fewer_rows() -> None:
    quiet, loud = estimate_rates([900.0, 100.0], 0.0), estimate_rates([900.0, 100.0], 30.0)
    assert quiet.rates == loud.rates == pytest.approx((0.9, 0.1))
    assert quiet.rows == pytest.approx(1000)
    assert loud.rows == pytest.approx(0.09 / (0.09 / 1000 + 0.03**2))
