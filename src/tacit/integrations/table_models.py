"""Models by name for tables: a scikit-learn estimator for each task, and the space it is searched in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import extra

if TYPE_CHECKING:  # help lists the models without NumPy
    from tacit.space import Params


@dataclass(frozen=True)
class TableModel:
    """A scikit-learn estimator by name, for each task, and the space it is searched in."""

    classifier: str
    regressor: str
    parameters: Callable[[Any, int], dict[str, Any]]  # of tacit.space, loaded here, and the number of training rows
    fixed: Params
    trees: bool = False  # takes missing cells, and a category as one column

    def space(self, rows: int) -> dict[str, Any]:
        """What is searched by default."""
        from tacit import space

        return self.parameters(space, rows)


MODELS = {
    "linear": TableModel(
        "sklearn.linear_model.LogisticRegression",
        "tacit.integrations.table_models.RidgeByC",
        lambda space, rows: {"C": space.Float(1e-4, 1e3, log=True)},
        {},
    ),
    "boosting": TableModel(
        "sklearn.ensemble.HistGradientBoostingClassifier",
        "sklearn.ensemble.HistGradientBoostingRegressor",
        lambda space, rows: {
            "learning_rate": space.Float(0.01, 1.0, log=True),
            "max_leaf_nodes": space.Int(2, 128, log=True),
            "l2_regularization": space.Float(1e-3, 1e2, log=True),
            "max_iter": space.Int(20, 200, log=True),
        },
        {"early_stopping": False, "random_state": 0},
        trees=True,
    ),
    "forest": TableModel(
        "sklearn.ensemble.RandomForestClassifier",
        "sklearn.ensemble.RandomForestRegressor",
        lambda space, rows: {
            "max_depth": space.Int(1, 30),
            "min_samples_leaf": space.Int(1, 50, log=True),
            "max_features": space.Float(0.1, 1.0),
        },
        {"n_estimators": 100, "random_state": 0},
        trees=True,
    ),
    "svm": TableModel(
        "sklearn.svm.SVC",
        "sklearn.svm.SVR",
        lambda space, rows: {"C": space.Float(1e-2, 1e3, log=True), "gamma": space.Float(1e-4, 1e1, log=True)},
        {},
    ),
    "neighbours": TableModel(
        "sklearn.neighbors.KNeighborsClassifier",
        "sklearn.neighbors.KNeighborsRegressor",
        lambda space, rows: {
            "n_neighbors": space.Int(1, min(100, rows), log=True),
            "weights": space.Choice(["uniform", "distance"]),
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
