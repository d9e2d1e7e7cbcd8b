"""Models by name for tables: a scikit-learn estimator for each task, and the space it is searched in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.errors import extra
from tacit.space import Choice, Float, Int, Params


@dataclass(frozen=True)
class TableModel:
    """A scikit-learn estimator by name, for each task, and the space it is searched in."""

    classifier: str
    regressor: str
    space: Callable[[int], dict[str, Any]]  # of the number of training rows
    fixed: Params
    trees: bool = False  # takes missing cells, and a category as one column


MODELS = {
    "linear": TableModel(
        "sklearn.linear_model.LogisticRegression",
        "tacit.integrations.table_models.RidgeByC",
        lambda rows: {"C": Float(1e-4, 1e3, log=True)},
        {},
    ),
    "boosting": TableModel(
        "sklearn.ensemble.HistGradientBoostingClassifier",
        "sklearn.ensemble.HistGradientBoostingRegressor",
        lambda rows: {
            "learning_rate": Float(0.01, 1.0, log=True),
            "max_leaf_nodes": Int(2, 128, log=True),
            "l2_regularization": Float(1e-3, 1e2, log=True),
            "max_iter": Int(20, 200, log=True),
        },
        {"early_stopping": False, "random_state": 0},
        trees=True,
    ),
    "forest": TableModel(
        "sklearn.ensemble.RandomForestClassifier",
        "sklearn.ensemble.RandomForestRegressor",
        lambda rows: {
            "max_depth": Int(1, 30),
            "min_samples_leaf": Int(1, 50, log=True),
            "max_features": Float(0.1, 1.0),
        },
        {"n_estimators": 100, "random_state": 0},
        trees=True,
    ),
    "svm": TableModel(
        "sklearn.svm.SVC",
        "sklearn.svm.SVR",
        lambda rows: {"C": Float(1e-2, 1e3, log=True), "gamma": Float(1e-4, 1e1, log=True)},
        {},
    ),
    "neighbours": TableModel(
        "sklearn.neighbors.KNeighborsClassifier",
        "sklearn.neighbors.KNeighborsRegressor",
        lambda rows: {
            "n_neighbors": Int(1, min(100, rows), log=True),
            "weights": Choice(["uniform", "distance"]),
        },
        {},
    ),
}


def RidgeByC(C: float = 1.0) -> Any:  # noqa: N802
    """Ridge regression with the inverse strength C, as scikit-learn's classifiers call it."""
    return extra("sklearn.linear_model", "sklearn", "tuning on a table").Ridge(alpha=1 / C)


def make_estimator(model: str, task: str, params: Params) -> Any:
    """An unfitted estimator of the model with these parameters."""
    wanted = MODELS[model]
    home, name = (wanted.classifier if task == "classification" else wanted.regressor).rsplit(".", 1)
    estimator = getattr(extra(home, "sklearn", "tuning on a table"), name)(**{**wanted.fixed, **params})
    return estimator.set_params(max_iter=1000) if name == "LogisticRegression" else estimator
