"""One loss per validation row of a scikit-learn estimator that was fitted on training rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing

from tacit.errors import ObjectiveError, described
from tacit.space import Array

REHEARSED = 50  # training rows on which the loss is tried before anything is spent


@dataclass(frozen=True)
class Losses:
    """An objective: fits on the training rows, answers with one loss per validation row."""

    estimator: Any
    loss: Callable[[Any, Any, Any], Any]
    train: tuple[Any, Any]
    validation: tuple[Any, Any]

    def fitted(self, params: Mapping[str, Any]) -> Any:
        return clone(self.estimator).set_params(**params).fit(*self.train)

    def rehearse(self) -> None:
        """Fit the estimator as given and try the loss on training rows, which are not protected: errors are shown."""
        few = np.arange(min(REHEARSED, len(self.train[1])))
        answer = np.asarray(self.loss(self.fitted({}), _safe_indexing(self.train[0], few), self.train[1][few]), float)
        if answer.shape != (len(few),):
            raise ObjectiveError(f"scoring must return one loss per row, shape ({len(few)},), got {described(answer)}")

    def __call__(self, params: Mapping[str, Any]) -> Array:
        try:
            fitted = self.fitted(params)
        except Exception as error:  # told in full: it comes from training rows alone
            told = f"{type(error).__name__}: {error}"
            warnings.warn(f"{params} cannot be fitted and count as the worst. {told}", FitFailedWarning, stacklevel=2)
            return np.full(len(self.validation[1]), np.nan)
        return self._rows(fitted, *self.validation)

    def _rows(self, fitted: Any, X: Any, y: Any) -> Array:
        """One loss per row; where together they fail, by halves, until the rows that fail are alone and missing."""
        n = len(y)
        try:
            answer = np.asarray(self.loss(fitted, X, y), float)
            if answer.shape == (n,):
                return answer
        except Exception:
            pass  # what it said may quote a row
        if n == 1:
            return np.array([np.nan])
        halves = np.split(np.arange(n), [n // 2])
        return np.concatenate([self._rows(fitted, _safe_indexing(X, half), y[half]) for half in halves])


def wrong(fitted: Any, X: Any, y: Any) -> Any:
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


LOSSES = {"accuracy": wrong, "log_loss": log_loss, "squared_error": squared_error, "absolute_error": absolute_error}
