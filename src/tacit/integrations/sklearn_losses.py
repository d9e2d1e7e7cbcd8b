"""One loss per validation row of a scikit-learn estimator that was fitted on training rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing

from tacit.data.cells import Mask
from tacit.data.metrics import Metric, Reading
from tacit.data.metrics.constant import read_against_constant
from tacit.data.schema import Column
from tacit.data.units import Rows, mean_by_person
from tacit.errors import ObjectiveError, extra, type_and_shape
from tacit.integrations.predictions import check_estimator, predict_for
from tacit.objective import LossFacts
from tacit.space import Array

REHEARSED = 50  # training rows on which the loss is tried before anything is spent


@dataclass(frozen=True, repr=False)
class Losses:
    """An objective: fits on the training rows, answers with one loss per validation row, person or pair.

    ``loss`` is a metric, or a function (fitted, X, y) -> one loss per row. ``known`` says which validation rows have a
    label that the schema knows; the others have no loss. ``owners`` says whose they are, where persons have several.
    """

    estimator: Any
    loss: Metric | Callable[[Any, Any, Any], Any]
    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    known: Mask
    target: Column
    bounds: tuple[float, float]
    owners: Rows | None = None
    train_owners: Rows | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def units(self) -> int:
        return len(self.known) if self.owners is None else int(self.owners.max()) + 1

    @property
    def facts(self) -> LossFacts:
        if isinstance(self.loss, Metric):
            return replace(self.loss.facts(self.units, persons=self.owners is not None), reading=self._reading)
        return LossFacts(self.units, self.bounds, "record" if self.owners is None else "person")

    @cached_property
    def _reading(self) -> Reading:
        """With the score of a constant beside it, by training rows."""
        assert isinstance(self.loss, Metric)
        answers, labels = self.train[1], self.target.labels.tolist()
        if self.target.kind == "category":
            answers = self.loss.code_answers(self.target.encode(answers), labels)
        return read_against_constant(self.loss.reading(self.units), self.loss, answers, len(labels), self.train_owners)

    def fit(self, params: Mapping[str, Any]) -> Any:
        return clone(self.estimator).set_params(**params).fit(*self.train, **self.fit_params)

    def rehearse(self) -> None:
        """Fit the estimator as given and try the loss on training rows, which are not protected: errors are shown."""
        few, fitted = np.arange(min(REHEARSED, len(self.train[1]))), self.fit({})
        if isinstance(self.loss, Metric):
            check_estimator(self.loss, fitted)
        answer = np.asarray(self._call(fitted, _safe_indexing(self.train[0], few), self.train[1][few]), float)
        if answer.shape[:1] != (len(few),) or answer.ndim != 1 + self._wide:
            raise ObjectiveError(
                f"scoring must return one loss per row, shape ({len(few)},), got {type_and_shape(answer)}"
            )

    @property
    def _wide(self) -> bool:
        return isinstance(self.loss, Metric) and self.loss.reads == "probabilities"

    def __call__(self, params: Mapping[str, Any]) -> Array:
        try:
            fitted = self.fit(params)
        except Exception as error:  # in full: it comes from training rows alone
            text = f"{type(error).__name__}: {error}"
            warnings.warn(f"{params} cannot be fitted and count as the worst. {text}", FitFailedWarning, stacklevel=2)
            return np.full(self.facts.records, np.nan)
        each = self._each(fitted)
        if isinstance(self.loss, Metric):
            codes = self.target.encode(self.validation[1]) if self.target.kind == "category" else self.validation[1]
            answers = np.where(self.known, codes, -1 if self.target.kind == "category" else np.nan)
            answers = self.loss.code_answers(answers, self.target.labels.tolist())
            return self.loss.measure(each, answers, self.owners, self.units)
        each = np.where(self.known, each, np.nan)
        if self.owners is None:
            return each
        low, high = self.bounds
        with np.errstate(all="ignore"):
            clipped = np.clip(np.where(np.isnan(each), high, each), low, high)
        return mean_by_person(clipped, self.owners, self.units)

    def _call(self, fitted: Any, X: Any, y: Any) -> Any:
        return (
            predict_for(self.loss, fitted, X, self.target) if isinstance(self.loss, Metric) else self.loss(fitted, X, y)
        )

    def _each(self, fitted: Any) -> Array:
        """One loss, or prediction, per row; missing for a row that fails.

        The others are then asked together, with a training row in its place: as many rows as if none had failed, since
        a product of matrices of another size may round otherwise, and a row must move no loss but its own.
        """
        X, y = self.validation
        answer = self._ask(fitted, X, y)
        if answer is not None:
            return answer
        one = np.arange(1)
        spare = _safe_indexing(self.train[0], one), self.train[1][one]
        if self._ask(fitted, *spare) is None:  # these settings fail on every row, as on training rows
            return self._nothing(len(y))
        alone = self._halves(fitted, np.arange(len(y)))
        failed = np.isnan(alone) if alone.ndim == 1 else np.isnan(alone).any(axis=1)
        places = np.where(failed, len(y), np.arange(len(y)))
        together = self._ask(fitted, _safe_indexing(_stack(X, spare[0]), places), np.append(y, spare[1])[places])
        if together is None:
            return alone
        together[failed] = np.nan
        return together

    def _nothing(self, rows: int) -> Array:
        return np.full((rows, len(self.target.categories)) if self._wide else rows, np.nan)

    def _halves(self, fitted: Any, rows: NDArray[np.intp]) -> Array:
        """Where rows fail together, their halves, until those that fail are alone."""
        answer = self._ask(fitted, _safe_indexing(self.validation[0], rows), self.validation[1][rows])
        if answer is not None or len(rows) == 1:
            return self._nothing(1) if answer is None else answer
        return np.concatenate([self._halves(fitted, half) for half in np.array_split(rows, 2)])

    def _ask(self, fitted: Any, X: Any, y: Any) -> Array | None:
        try:
            answer = np.array(self._call(fitted, X, y), float)
        except Exception:  # what it said may quote a row
            return None
        return answer if answer.shape == self._nothing(len(y)).shape else None


def _stack(rows: Any, more: Any) -> Any:
    """Rows of one form, one below the other."""
    if hasattr(rows, "iloc"):
        return extra("pandas", "sklearn", "a table with names").concat([rows, more], ignore_index=True)
    if hasattr(rows, "tocsr"):
        return extra("scipy.sparse", "sklearn", "sparse rows").vstack([rows, more]).tocsr()
    return np.concatenate([rows, more])
