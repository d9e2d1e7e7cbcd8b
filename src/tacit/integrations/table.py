"""A table, a target column and a named model become an objective: one loss per private validation row.

The rows are split at random. Training rows train the model and are NOT protected; validation rows are read only through
their losses, and are what a release protects. Everything that is shared by all losses comes from the training rows
alone: encoders, the task, and whether a column holds numbers or words. A validation cell that does not fit counts as
missing, so that it can move no other row's loss and cannot make the run fail.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import BadInput, choice, count, extra, probability
from tacit.space import Choice, Float, Int, Space

PROTECTED = "protected: the validation rows. NOT protected: the training rows, which the published model may reveal"
LEAST_TRAINING = 10
FURTHEST = 1e6  # standard deviations; more would overflow the models' own arithmetic


@dataclass(frozen=True)
class Model:
    """A scikit-learn estimator by name, for each task, and the space it is searched in."""

    classifier: str
    regressor: str
    space: Callable[[int], dict[str, Any]]  # of the number of training rows
    fixed: dict[str, Any]


MODELS = {
    "linear": Model(
        "sklearn.linear_model.LogisticRegression",
        "tacit.integrations.table.RidgeByC",
        lambda rows: {"C": Float(1e-4, 1e3, log=True)},
        {},
    ),
    "boosting": Model(
        "sklearn.ensemble.HistGradientBoostingClassifier",
        "sklearn.ensemble.HistGradientBoostingRegressor",
        lambda rows: {
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
        lambda rows: {
            "max_depth": Int(1, 30),
            "min_samples_leaf": Int(1, 50, log=True),
            "max_features": Float(0.1, 1.0),
        },
        {"n_estimators": 100, "random_state": 0},
    ),
    "svm": Model(
        "sklearn.svm.SVC",
        "sklearn.svm.SVR",
        lambda rows: {"C": Float(1e-2, 1e3, log=True), "gamma": Float(1e-4, 1e1, log=True)},
        {},
    ),
    "neighbours": Model(
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
        return Space(MODELS[self.model].space(len(self.train[1])))

    def __call__(self, params: dict[str, Any]) -> Any:
        fitted = self.estimator(params).fit(*self.train)
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # from here on a warning would tell of private rows
            warnings.simplefilter("ignore")
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
    """A CSV, TSV or Parquet file as a pandas DataFrame. Cells of text files stay text: see table_objective."""
    pandas = extra("pandas", "sklearn", "reading a table")
    path = Path(path)
    kinds = [suffix.lower() for suffix in path.suffixes[-2:]]
    if not {".csv", ".tsv", ".parquet"} & set(kinds):
        raise BadInput(f"a table must be a .csv, .tsv or .parquet file, got {path.name}")
    if ".parquet" in kinds:
        extra("pyarrow", "parquet", "reading Parquet")
    try:
        if ".parquet" in kinds:
            return pandas.read_parquet(path)
        table = pandas.read_csv(path, sep="\t" if ".tsv" in kinds else ",", dtype=str)
    except OSError as error:
        raise BadInput(f"the table {path} cannot be read: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # parsers quote lines of the file: never repeat them
        kind = "it is empty" if isinstance(error, pandas.errors.EmptyDataError) else type(error).__name__
    else:
        if isinstance(table.index, pandas.RangeIndex):
            return table
        kind = "rows have more cells than the first line"  # pandas takes the surplus for names of rows
    raise BadInput(f"the table {path} cannot be parsed ({kind})")


def table_objective(
    table: Any, target: str, model: str, *, task: str | None = None, validation: float = 0.5, seed: int = 0
) -> TableObjective:
    """Split a DataFrame into training and private validation rows and make its objective."""
    choice("model", model, tuple(MODELS))
    if target not in table.columns:
        near = difflib.get_close_matches(target, [str(c) for c in table.columns], n=1)
        meant = f", did you mean {near[0]!r}?" if near else "; the first line of the file must name them"
        raise BadInput(f"the table has no column {target!r} among its {table.shape[1]} columns{meant}")
    if table.shape[1] < 2:
        raise BadInput(f"the table must have a column besides the target, got {table.shape[1]} in all")
    held = round(probability("validation", validation) * len(table))
    if held < 1 or len(table) - held < LEAST_TRAINING:
        raise BadInput(
            f"a table needs 1 row to validate and {LEAST_TRAINING} to train on, got {held} and {len(table) - held}: "
            f"{len(table)} rows below the line of names, divided by validation={validation:g}"
        )
    order = np.random.default_rng(count("seed", seed, least=0)).permutation(len(table))
    seen, hidden = order[held:], order[:held]
    answers = _understood(table[target], seen)
    numeric = answers.dtype.kind == "f"
    if _missing(answers[seen]).any():
        raise BadInput(f"the target {target!r} is missing in some training rows; leave such rows out of the table")
    if task is None:  # judged by training rows alone
        many = numeric and len(np.unique(answers[seen])) > 20 and (answers[seen] % 1 != 0).any()
        task = "regression" if many else "classification"
    choice("task", task, ("classification", "regression"))
    if task == "regression" and not numeric:
        raise BadInput(f"regression needs numbers, and the target {target!r} holds words in some training rows")
    if task == "classification" and len(np.unique(answers[seen])) < 2:
        raise BadInput("the training rows hold one class only; use a smaller validation share or another seed")
    pandas = extra("pandas", "sklearn", "reading a table")
    columns = {str(c): _understood(table[c], seen) for c in table.columns if c != target}
    features = pandas.DataFrame(columns)
    return TableObjective(model, task, (features.iloc[seen], answers[seen]), (features.iloc[hidden], answers[hidden]))


def _understood(column: Any, seen: Any) -> Any:
    """Cells as numbers if all training cells are numbers or missing, else as words; cell by cell, shape (rows,).

    A cell that is no number among numbers, or is not finite, is missing: nan. A missing word is the empty one.
    """
    if column.dtype.kind in "fiub":
        numbers = column.to_numpy(dtype=float, na_value=math.nan, copy=True)
    else:
        cells = column.to_numpy(dtype=object, copy=True)
        cells[column.isna().to_numpy()] = ""  # first of all: pandas' own NA cannot be compared
        empty = cells == ""
        cells[empty] = math.nan
        try:
            numbers = cells.astype(float)  # float(cell) for each
        except (TypeError, ValueError, OverflowError):
            numbers = np.array([_number(cell) for cell in cells])
        if (np.isnan(numbers) & ~empty)[seen].any():
            cells[empty] = ""
            return np.array([str(cell) for cell in cells], dtype=object)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _missing(cells: Any) -> Any:
    return np.isnan(cells) if cells.dtype.kind == "f" else cells == ""


def _encoder(features: Any) -> Any:
    """Numbers: missing ones at the median, then standardised. Words: one column each. Fitted on training rows."""
    compose = extra("sklearn.compose", "sklearn", "tuning on a table")
    impute = extra("sklearn.impute", "sklearn", "tuning on a table")
    encode = extra("sklearn.preprocessing", "sklearn", "tuning on a table")
    pipeline = extra("sklearn.pipeline", "sklearn", "tuning on a table")
    numbers = [c for c in features.columns if features[c].dtype.kind == "f"]
    words = [c for c in features.columns if c not in numbers]
    scale = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="median", keep_empty_features=True),
        encode.StandardScaler(),
        encode.FunctionTransformer(_within_reach),
    )
    one_hot = encode.OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=50)
    return compose.ColumnTransformer([("numbers", scale, numbers), ("words", one_hot, words)])


def _within_reach(values: Any) -> Any:
    return np.clip(values, -FURTHEST, FURTHEST)
