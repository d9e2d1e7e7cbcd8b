"""Predictions of a fitted scikit-learn estimator in the form that a metric reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.metrics import Metric
from tacit.data.metrics.reading import CLASSIFICATION
from tacit.data.schema import Column
from tacit.data.units import Rows
from tacit.errors import BadInput, ObjectiveError

Floats = NDArray[np.float64]


def predict_for(metric: Metric, fitted: Any, X: Any, target: Column) -> Floats:
    """What the metric reads, one row for each row of X: shape (n,) or (n, classes), classes as the target has them."""
    if metric.reads == "numbers":
        return np.asarray(fitted.predict(X), float)
    if metric.reads == "labels":
        return np.asarray(target.encode(np.asarray(fitted.predict(X))), float)
    if metric.reads == "probabilities":
        return _by_class(fitted, np.asarray(fitted.predict_proba(X), float), target)
    return _ranking(metric, fitted, X, target)


def settle_metric(metric: Metric, target: Column, answers: Any, owners: Rows | None) -> Metric:
    """The metric with what it needs to know of the classes, by training rows where it was not declared."""
    task = CLASSIFICATION if target.kind == "category" else "regression"
    if metric.task != task:
        raise BadInput(f"{metric.name} is for {metric.task}, and this is a {task}. Nothing was spent")
    if task != CLASSIFICATION:
        return metric
    return metric.with_rates(target.labels.tolist(), target.encode(answers), owners)


def check_estimator(metric: Metric, estimator: Any) -> None:
    """Refuse an estimator that cannot predict what the metric reads."""
    if metric.reads == "probabilities" and not hasattr(estimator, "predict_proba"):
        kind = type(estimator).__name__
        raise BadInput(
            f"{metric.name} reads probabilities, and {kind} has none: set them up (such as probability=True), or use "
            "error or auc. Nothing was spent"
        )
    if metric.reads == "ranking" and not (
        hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")
    ):
        kind = type(estimator).__name__
        raise BadInput(f"{metric.name} reads scores, and {kind} has none; use error. Nothing was spent")


def _by_class(fitted: Any, numbers: Floats, target: Column) -> Floats:
    """Columns in the target's order; a class that was never trained on has 0."""
    places = target.encode(np.asarray(fitted.classes_))
    wide = np.zeros((len(numbers), len(target.categories)))
    wide[:, places[places >= 0]] = numbers[:, places >= 0]
    return wide


def _ranking(metric: Metric, fitted: Any, X: Any, target: Column) -> Floats:
    """Scores of the class that ranks first: by decision function where there is one, else by probability."""
    classes = target.encode(np.asarray(fitted.classes_)).tolist()
    first = 1 if metric.positive is None else [str(c) for c in target.labels.tolist()].index(str(metric.positive))
    if first not in classes:
        raise ObjectiveError("the class that ranks first was never trained on")
    decide = hasattr(fitted, "decision_function")
    scores = np.asarray(fitted.decision_function(X) if decide else fitted.predict_proba(X), float)
    if scores.ndim == 1:
        return scores if classes.index(first) == 1 else -scores
    return np.ascontiguousarray(scores[:, classes.index(first)])
