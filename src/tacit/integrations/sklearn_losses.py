"""One loss per validation row of a scikit-learn estimator that was fitted on training rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing

from tacit.errors import ObjectiveError, extra, type_and_shape
from tacit.schema.cells import Mask
from tacit.space import Array

REHEARSED = 50  # training rows on which the loss is tried before anything is spent


@dataclass(frozen=True)
class Losses:
    """An objective: fits on the training rows, answers with one loss per validation row.

    ``known`` says which validation rows have a label that the schema knows; the others have no loss.
    """

    estimator: Any
    loss: Callable[[Any, Any, Any], Any]
    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    known: Mask

    def fit(self, params: Mapping[str, Any]) -> Any:
        return clone(self.estimator).set_params(**params).fit(*self.train)

    def rehearse(self) -> None:
        """Fit the estimator as given and try the loss on training rows, which are not protected: errors are shown."""
        few = np.arange(min(REHEARSED, len(self.train[1])))
        answer = np.asarray(self.loss(self.fit({}), _safe_indexing(self.train[0], few), self.train[1][few]), float)
        if answer.shape != (len(few),):
            raise ObjectiveError(
                f"scoring must return one loss per row, shape ({len(few)},), got {type_and_shape(answer)}"
            )

    def __call__(self, params: Mapping[str, Any]) -> Array:
        try:
            fitted = self.fit(params)
        except Exception as error:  # told in full: it comes from training rows alone
            said = f"{type(error).__name__}: {error}"
            warnings.warn(f"{params} cannot be fitted and count as the worst. {said}", FitFailedWarning, stacklevel=2)
            return np.full(len(self.known), np.nan)
        return np.where(self.known, self._each(fitted), np.nan)

    def _each(self, fitted: Any) -> Array:
        """One loss per row; missing for a row that fails.

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
            return np.full(len(y), np.nan)
        alone = self._halves(fitted, np.arange(len(y)))
        places = np.where(np.isnan(alone), len(y), np.arange(len(y)))
        together = self._ask(fitted, _safe_indexing(_stack(X, spare[0]), places), np.append(y, spare[1])[places])
        return alone if together is None else np.where(np.isnan(alone), np.nan, together)

    def _halves(self, fitted: Any, rows: NDArray[np.intp]) -> Array:
        """Where rows fail together, their halves, until those that fail are alone."""
        answer = self._ask(fitted, _safe_indexing(self.validation[0], rows), self.validation[1][rows])
        if answer is not None or len(rows) == 1:
            return np.array([np.nan]) if answer is None else answer
        return np.concatenate([self._halves(fitted, half) for half in np.array_split(rows, 2)])

    def _ask(self, fitted: Any, X: Any, y: Any) -> Array | None:
        try:
            answer = np.asarray(self.loss(fitted, X, y), float)
        except Exception:  # what it said may quote a row
            return None
        return answer if answer.shape == (len(y),) else None


def _stack(rows: Any, more: Any) -> Any:
    """Rows of one form, one below the other."""
    if hasattr(rows, "iloc"):
        return extra("pandas", "sklearn", "a table with names").concat([rows, more], ignore_index=True)
    if hasattr(rows, "tocsr"):
        return extra("scipy.sparse", "sklearn", "sparse rows").vstack([rows, more]).tocsr()
    return np.concatenate([rows, more])


def zero_one(fitted: Any, X: Any, y: Any) -> Any:
    """1 for each row predicted wrongly."""
    return (np.asarray(fitted.predict(X)) != y).astype(float)


def log_loss(fitted: Any, X: Any, y: Any) -> Any:
    """-log of the probability of each row's own class; infinite, so the worse bound, for a class never trained on."""
    own = (np.asarray(y)[:, None] == fitted.classes_) * fitted.predict_proba(X)
    with np.errstate(divide="ignore"):
        return -np.log(own.sum(axis=1))


def squared_error(fitted: Any, X: Any, y: Any) -> Any:
    return (np.asarray(fitted.predict(X)) - y) ** 2


def absolute_error(fitted: Any, X: Any, y: Any) -> Any:
    return np.abs(np.asarray(fitted.predict(X)) - y)


LOSSES = {"accuracy": zero_one, "log_loss": log_loss, "squared_error": squared_error, "absolute_error": absolute_error}
