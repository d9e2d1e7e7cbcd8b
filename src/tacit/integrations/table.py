"""A table, a target column and a named model become an objective: one loss per private validation row.

The rows are split at random. Training rows train the model and are NOT protected; validation rows are read only through
their losses, and are what a release protects. Everything that is shared by all losses comes from the training rows
alone, or from a declared schema: encoders, the task, and whether a column holds numbers or words. A validation cell
that does not fit counts as missing, so that it can move no other row's loss and cannot make the run fail.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.errors import BadInput, choice, count, extra, probability
from tacit.schema import TASKS, Schema
from tacit.schema.cells import Mask, read_cells, read_numbers
from tacit.schema.matrix import Matrix
from tacit.space import Choice, Float, Int, Space

PROTECTED = "protected: the validation rows. NOT protected: the training rows, which the published model may reveal"
FEW = 200  # training rows on which a space is tried
LEAST_TRAINING = 10


@dataclass(frozen=True)
class TableModel:
    """A scikit-learn estimator by name, for each task, and the space it is searched in."""

    classifier: str
    regressor: str
    space: Callable[[int], dict[str, Any]]  # of the number of training rows
    fixed: dict[str, Any]


MODELS = {
    "linear": TableModel(
        "sklearn.linear_model.LogisticRegression",
        "tacit.integrations.table.RidgeByC",
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


@dataclass(frozen=True, repr=False)
class TableObjective:
    """Fits a model on the training rows; answers with one loss per validation row: 0 or 1, or the squared error.

    ``known`` says which validation rows have a target that the schema knows; the others have no loss.
    """

    model: str
    task: str
    matrix: Matrix
    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    known: Mask

    @property
    def records(self) -> int:
        return len(self.known)

    @property
    def space(self) -> Space:
        return Space(MODELS[self.model].space(len(self.train[1])))

    def __call__(self, params: dict[str, Any]) -> Any:
        fitted = self.estimator(params).fit(*self.train)
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # from here on a warning would tell of private rows
            warnings.simplefilter("ignore")
            predicted, answers = fitted.predict(self.validation[0]), self.validation[1]
            missed = predicted != answers if self.task == "classification" else (predicted - answers) ** 2
            return np.where(self.known, missed, np.nan)

    def refuse_space(self, space: Space) -> None:
        """Refuse a space that the model cannot take; tried on training rows, which are not protected."""
        known, middle = self.estimator({}).get_params(), space.params(np.full((1, space.dimensions), 0.5))[0]
        unknown = sorted(set(middle) - set(known))
        if unknown:
            raise BadInput(
                f"the model {self.model!r} has no parameter {', '.join(unknown)}; it has {', '.join(sorted(known))}. "
                "Nothing was spent"
            )
        every: Any = np.unique(self.train[1], return_index=True)[1] if self.task == "classification" else []
        few = np.union1d(np.arange(min(FEW, len(self.train[1]))), every).astype(int)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.estimator(middle).fit(self.train[0][few], self.train[1][few])
        except Exception as error:  # in full: it comes from training rows alone
            raise BadInput(
                f"the model {self.model!r} cannot be fitted with {middle}: {error}. Nothing was spent"
            ) from None

    def baseline(self, bounds: tuple[float, float]) -> str:
        """What no model would score, by the targets of the training rows alone; and how many of them bounds clip."""
        answers = np.asarray(self.train[1])
        if self.task == "classification":
            wrong = 1 - np.unique(answers, return_counts=True)[1].max() / len(answers)
            return f"to beat: always the most frequent class is wrong in {100 * wrong:.3g}% of the training rows"
        squares, (low, high) = (answers - answers.mean()) ** 2, bounds
        clipped = float(np.mean((squares < low) | (squares > high)))
        return (
            f"to beat: always the mean has a squared error of {np.clip(squares, low, high).mean():.4g} on the training "
            f"rows. Squared errors are clipped at the bounds [{low:g}, {high:g}], and so is the score: of that mean's "
            f"errors {100 * clipped:.3g}% are"
        )

    def estimator(self, params: dict[str, Any]) -> Any:
        """An unfitted model with these parameters, for rows that ``matrix`` has encoded."""
        wanted = MODELS[self.model]
        home, name = (wanted.classifier if self.task == "classification" else wanted.regressor).rsplit(".", 1)
        made = getattr(extra(home, "sklearn", "tuning on a table"), name)(**{**wanted.fixed, **params})
        return made.set_params(max_iter=1000) if name == "LogisticRegression" else made


def table_objective(
    table: Any,
    target: str,
    model: str,
    *,
    task: str | None = None,
    validation: float = 0.5,
    seed: int = 0,
    schema: Schema | None = None,
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
    features, answers = table.drop(columns=[target]), table[target]
    known = table_schema(features.iloc[seen], answers.iloc[seen], target, task, schema)
    assert known.target is not None
    made = "classification" if known.target.kind == "category" else "regression"
    matrix, train = Matrix.fit(known, features.iloc[seen])
    here, there = known.encode_target(answers.iloc[seen]), known.encode_target(answers.iloc[hidden])
    if not here[1].all():
        raise BadInput(f"the target {target!r} is none of the declared labels in some training rows; leave them out")
    if made == "classification" and len(np.unique(here[0])) < 2:
        raise BadInput("the training rows hold one class only; use a smaller validation share or another seed")
    private = matrix.encode(features.iloc[hidden])
    return TableObjective(model, made, matrix, (train, here[0]), (private, there[0]), there[1])


def table_schema(features: Any, answers: Any, target: str, task: str | None, declared: Schema | None) -> Schema:
    """What the columns hold, as declared or as training rows show; a task that nobody named is judged by them too."""
    if task is not None:
        choice("task", task, TASKS)
    if declared is not None and declared.target is not None:
        if declared.target.name != target:
            raise BadInput(f"the schema has the target {declared.target.name!r}, got the target {target!r}")
        if task is not None and (declared.target.kind == "category") != (task == "classification"):
            raise BadInput(f"the schema declares its target for another task than {task}")
        return declared
    numbers, strange = read_numbers(read_cells(answers))
    if np.isnan(numbers).any() and not strange.any():
        raise BadInput(f"the target {target!r} is missing in some training rows; leave such rows out of the table")
    if task is None:
        many = not strange.any() and len(np.unique(numbers)) > 20 and (numbers % 1 != 0).any()
        task = "regression" if many else "classification"
    try:
        seen = Schema.of_rows(features, answers, task=task, words="category")
    except BadInput as wrong:
        raise BadInput(f"the target {target!r}: {wrong}") from None
    return seen if declared is None else replace(declared, target=seen.target)
