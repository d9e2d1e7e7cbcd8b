"""A table, a target column and a named model become an objective: one loss per private validation row.

The rows are split at random. Training rows train the model and are NOT protected; validation rows are read only through
their losses, and are what a release protects. Encoders are fitted on the training rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import BadInput, choice, count, extra, probability
from tacit.space import Choice, Float, Int, Space

PROTECTED = "protected: the validation rows. NOT protected: the training rows, which the published model may reveal"
LEAST_TRAINING = 10


@dataclass(frozen=True)
class Model:
    """A scikit-learn estimator by name, for each task, and the space it is searched in."""

    classifier: str
    regressor: str
    space: Callable[[], dict[str, Any]]
    fixed: dict[str, Any]


MODELS = {
    "linear": Model(
        "sklearn.linear_model.LogisticRegression",
        "tacit.table.RidgeByC",
        lambda: {"C": Float(1e-4, 1e3, log=True)},
        {},
    ),
    "boosting": Model(
        "sklearn.ensemble.HistGradientBoostingClassifier",
        "sklearn.ensemble.HistGradientBoostingRegressor",
        lambda: {
            "learning_rate": Float(0.01, 1.0, log=True),
            "max_leaf_nodes": Int(2, 128, log=True),
            "l2_regularization": Float(1e-3, 1e2, log=True),
            "max_iter": Int(20, 200, log=True),
        },
        {"early_stopping": False, "random_state": 0},
    ),
    "forest": Model(
        "sklearn.ensemble.RandomForestClassifier",
        "sklearn.ensemble.RandomForestRegressor",
        lambda: {"max_depth": Int(1, 30), "min_samples_leaf": Int(1, 50, log=True), "max_features": Float(0.1, 1.0)},
        {"n_estimators": 100, "random_state": 0},
    ),
    "svm": Model(
        "sklearn.svm.SVC",
        "sklearn.svm.SVR",
        lambda: {"C": Float(1e-2, 1e3, log=True), "gamma": Float(1e-4, 1e1, log=True)},
        {},
    ),
    "neighbours": Model(
        "sklearn.neighbors.KNeighborsClassifier",
        "sklearn.neighbors.KNeighborsRegressor",
        lambda: {"n_neighbors": Int(1, 100, log=True), "weights": Choice(["uniform", "distance"])},
        {},
    ),
}


def RidgeByC(C: float = 1.0) -> Any:  # noqa: N802
    """Ridge regression with the inverse strength C, as scikit-learn's classifiers call it."""
    return extra("sklearn.linear_model", "sklearn", "tuning on a table").Ridge(alpha=1 / C)


@dataclass
class TableObjective:
    """Fits a model on the training rows; answers with one loss per validation row: 0 or 1, or the squared error."""

    model: str
    task: str
    train: tuple[Any, Any]
    validation: tuple[Any, Any]

    @property
    def records(self) -> int:
        return len(self.validation[1])

    @property
    def space(self) -> Space:
        return Space(MODELS[self.model].space())

    def __call__(self, params: dict[str, Any]) -> Any:
        fitted = self.estimator(params).fit(*self.train)
        predicted = fitted.predict(self.validation[0])
        if self.task == "classification":
            return (predicted != self.validation[1]).astype(float)
        return (predicted - self.validation[1]) ** 2

    def estimator(self, params: dict[str, Any]) -> Any:
        """An unfitted pipeline with these parameters."""
        wanted = MODELS[self.model]
        home, name = (wanted.classifier if self.task == "classification" else wanted.regressor).rsplit(".", 1)
        made = getattr(extra(home, "sklearn", "tuning on a table"), name)(**{**wanted.fixed, **params})
        if name == "LogisticRegression":
            made.set_params(max_iter=1000)
        return extra("sklearn.pipeline", "sklearn", "tuning on a table").make_pipeline(_encoder(self.train[0]), made)


def read_table(path: str | Path) -> Any:
    """A CSV or Parquet file as a pandas DataFrame."""
    pandas = extra("pandas", "sklearn", "reading a table")
    path = Path(path)
    if path.suffix not in (".csv", ".parquet", ".gz", ".tsv"):
        raise BadInput(f"a table must be a .csv, .tsv or .parquet file, got {path.name}")
    try:
        if path.suffix == ".parquet":
            extra("pyarrow", "parquet", "reading Parquet")
            return pandas.read_parquet(path)
        return pandas.read_csv(path, sep="\t" if ".tsv" in path.suffixes else ",")
    except OSError as error:
        raise BadInput(f"the table {path} cannot be read: {error.strerror or type(error).__name__}") from None
    except (ValueError, UnicodeDecodeError) as error:  # parsers quote lines of the file: never repeat them
        raise BadInput(f"the table {path} cannot be parsed ({type(error).__name__})") from None


def table_objective(
    table: Any, target: str, model: str, *, task: str | None = None, validation: float = 0.5, seed: int = 0
) -> TableObjective:
    """Split a DataFrame into training and private validation rows and make its objective."""
    choice("model", model, tuple(MODELS))
    if target not in table.columns:
        raise BadInput(f"the table has no column {target!r}; it has {', '.join(map(str, table.columns))}")
    if table.shape[1] < 2:
        raise BadInput(f"the table must have a column besides the target, got {table.shape[1]} in all")
    held = round(probability("validation", validation) * len(table))
    count("validation rows", held)
    count("training rows", len(table) - held, least=LEAST_TRAINING)
    order = np.random.default_rng(seed).permutation(len(table))
    features, answers = table.drop(columns=[target]), table[target].to_numpy()
    seen, hidden = order[held:], order[:held]
    if task is None:  # judged by training rows alone
        numeric = answers.dtype.kind == "f" and len(np.unique(answers[seen])) > 20
        task = "regression" if numeric else "classification"
    choice("task", task, ("classification", "regression"))
    train, rest = (features.iloc[seen], answers[seen]), (features.iloc[hidden], answers[hidden])
    if task == "classification" and len(np.unique(train[1].astype(str))) < 2:
        raise BadInput("the training rows hold one class only; use a smaller validation share or another seed")
    return TableObjective(model, task, train, rest)


def _encoder(features: Any) -> Any:
    """Numbers: missing ones at the median, then standardised. Words: one column each. Fitted on training rows."""
    pandas = extra("pandas", "sklearn", "reading a table")
    compose = extra("sklearn.compose", "sklearn", "tuning on a table")
    impute = extra("sklearn.impute", "sklearn", "tuning on a table")
    encode = extra("sklearn.preprocessing", "sklearn", "tuning on a table")
    pipeline = extra("sklearn.pipeline", "sklearn", "tuning on a table")
    numbers = [c for c in features.columns if pandas.api.types.is_numeric_dtype(features[c])]
    words = [c for c in features.columns if c not in numbers]
    scale = pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), encode.StandardScaler())
    one_hot = encode.OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=50)
    return compose.ColumnTransformer([("numbers", scale, numbers), ("words", one_hot, words)])
