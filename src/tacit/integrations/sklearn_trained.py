"""For scikit-learn users: estimators that protect every row that they are fitted on, around tacit.train."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.data.metrics import Metric
from tacit.data.schema import Schema
from tacit.data.table import Table, form_of, is_frame
from tacit.errors import BadInput, extra, refuse_short_memory
from tacit.integrations.sklearn import take_labels
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import Release
from tacit.space import Space
from tacit.training.registry import load_trainer
from tacit.training.train import train
from tacit.training.trained import Trained
from tacit.training.trainer import CLASSES, NUMBERS, Trainer

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.validation import _check_feature_names, check_is_fitted

    from tacit.integrations.sklearn_compat import holds_booleans, refuse_company, restore_booleans
except ImportError:
    extra("sklearn", "sklearn", "PrivateClassifier and PrivateRegressor")
    raise

if TYPE_CHECKING:
    from tacit.privacy.ledger_like import LedgerLike


class _PrivateModel(BaseEstimator):  # type: ignore[misc]
    """What both share; ``_task`` is what is predicted."""

    _task: str
    _default: str

    def __init__(
        self,
        trainer: str | Trainer | None = None,
        *,
        space: Mapping[str, Any] | Space | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        runs: float | None = None,
        schema: Schema | None = None,
        scoring: str | Metric | None = None,
        parts: tuple[float, float, float] | None = None,
        hide_runs: bool = False,
        ledger: LedgerLike = None,
        seed: int = 0,
        noise: Source | None = None,
    ) -> None:
        self.trainer, self.space, self.epsilon, self.delta, self.runs = trainer, space, epsilon, delta, runs
        self.schema, self.scoring, self.parts, self.hide_runs = schema, scoring, parts, hide_runs
        self.ledger, self.seed, self.noise = ledger, seed, noise

    @refuse_short_memory()
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Train and choose; X (rows, columns), y (rows,), and in ``groups`` whose each row is. Spends the budget."""
        if y is None:
            raise BadInput(f"{type(self).__name__} requires y to be passed, but the target y is None")
        refuse_company(self)
        chosen = load_trainer(self._default if self.trainer is None else self.trainer)
        if chosen.task != self._task:
            raise BadInput(
                f"{type(self).__name__} needs a trainer of {self._task}, and {chosen.name} predicts {chosen.task}. "
                "Nothing was spent"
            )
        self._boolean = self._task == CLASSES and holds_booleans(y)
        rows, labels = _rows(X), take_labels(y)
        if len(rows) != len(labels):
            raise BadInput(f"Found input variables with inconsistent numbers of samples: {[len(rows), len(labels)]}")
        if len(labels) < 2:
            raise BadInput(f"a private training needs some hundreds of rows, got n_samples={len(labels)}")
        _check_feature_names(self, X, reset=True)
        self.n_features_in_ = rows.shape[1]
        self.release_: Release[Trained] = train(
            chosen,
            rows,
            labels,
            self.space,
            budget=Budget.approximate(self.epsilon, self.delta),
            runs=self.runs,
            schema=self.schema,
            groups=groups,
            metric=self.scoring,
            parts=self.parts,
            hide_runs=self.hide_runs,
            ledger=self.ledger,
            progress=False,
            seed=self.seed,
            noise=EXACT if self.noise is None else copy.deepcopy(self.noise),  # fit leaves parameters as they are
        )
        self.guarantee_: Guarantee = self.release_.guarantee
        return self

    def _check(self, X: Any) -> Any:
        """Rows of the shape that was fitted."""
        check_is_fitted(self, "release_")
        rows = _rows(X)
        _check_feature_names(self, X, reset=False)
        if rows.shape[1] != self.n_features_in_:
            raise BadInput(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        return rows

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, or numbers, one for each row."""
        rows = self._check(X)
        return restore_booleans(self.release_.value.model.predict(rows), self._boolean)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.input_tags.allow_nan, tags.input_tags.string = True, True, True
        tags.non_deterministic = self.noise is None
        return tags


class PrivateClassifier(ClassifierMixin, _PrivateModel):  # type: ignore[misc]
    """A classifier that protects every row it is fitted on: tacit.train as a scikit-learn estimator.

    Args:
        trainer: A name of ``tacit.training.registry`` that predicts classes, "auto" if left out, or an object.
        space: Of the hyperparameters, instead of the trainer's own.
        epsilon: Of the columns, a search, the model and its score together.
        delta: Its delta.
        runs: About so many models, of which the best one is kept; one if left out.
        schema: Declares the columns; without one they are learnt with noise.
        scoring: The metric of the score and of a search.
        parts: Shares of the rows that train, choose and test.
        hide_runs: Whether the most runs are always done, so that their number need not be hidden.
        ledger: The ledger that pays, or its path or URL.
        seed: Divides the rows; noise is never seeded.
        noise: Exact, or a ``tacit.Simulation``, which has no guarantee.

    Attributes after fit: ``release_``, with model, hyperparameters, score and guarantee; ``guarantee_``; ``classes_``.

    Guarantee. That of tacit.train: (epsilon, delta) for one row replaced, with ``groups`` in ``fit`` one person. What
    is kept after ``fit`` was released: it may be pickled and published.
    Edges. EVERY FIT SPENDS epsilon. A scaler in front of it in a pipeline, cross-validation, bagging, stacking and
    calibration around it are refused: they would fit many times, or show what no noise covers. Rows are given as they
    are. The score in ``release_`` is unbiased and paid for: use that. ``score(X, y)`` is exact, for public rows.

    >>> import numpy as np, tacit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> model = tacit.PrivateClassifier(epsilon=2.0).fit(X, np.where(X[:, 0] > 0, "up", "down"))
    >>> model.predict(np.array([[0.9, 0.0], [-0.9, 0.0]])).tolist(), model.guarantee_.epsilon(1e-6)
    (['up', 'down'], 2.0)
    """

    _task, _default = CLASSES, "auto"

    @property
    def classes_(self) -> NDArray[Any]:
        check_is_fitted(self, "release_")
        return restore_booleans(self.release_.value.model.classes_, self._boolean)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of ``classes_``, (n, k)."""
        rows = self._check(X)
        return self.release_.value.model.predict_proba(rows)


class PrivateRegressor(RegressorMixin, _PrivateModel):  # type: ignore[misc]
    """A regressor that protects every row it is fitted on; see PrivateClassifier for its arguments.

    Its default ``trainer`` is "auto-numbers".

    >>> import numpy as np, tacit
    >>> X = np.random.default_rng(0).uniform(0, 10, (4000, 1))
    >>> schema = tacit.Schema.declare({"0": (0, 10)}, target="y", range=(0, 100))
    >>> model = tacit.PrivateRegressor(epsilon=2.0, schema=schema).fit(X, 10 * X[:, 0])
    >>> bool(abs(model.predict(np.array([[5.0]]))[0] - 50) < 15)
    True
    """

    _task, _default = NUMBERS, "auto-numbers"


def _rows(X: Any) -> Table:
    """Rows as a table, by their shape and type alone: cells are private."""
    if hasattr(X, "tocsr"):
        raise TypeError("Sparse data was passed, but dense data is required: convert it to an array or a DataFrame")
    shape = getattr(X, "shape", None)
    if getattr(getattr(X, "dtype", None), "kind", "O") == "c":
        raise BadInput("Complex data not supported")
    if not is_frame(X) and ((shape is not None and len(shape) != 2) or form_of(X)[0] != "matrix"):
        many = 1 if shape is None else len(shape)
        raise BadInput(f"Expected 2D array, got {many}D array instead. Reshape your data to (rows, columns)")
    table = Table.of(X)
    if not table.rows or not table.names:
        kind = "sample(s)" if not table.rows else "feature(s)"
        raise BadInput(f"Found array with 0 {kind} (shape={table.shape}) while a minimum of 1 is required.")
    return table
