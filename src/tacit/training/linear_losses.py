"""Residuals of linear models: the derivative of one record's loss by its scores. Each depends on its own record alone.

s   scores of a record (k,), k = 1 unless there are three classes or more
t   target: the number of its class, or a number within [-1, 1]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tacit.training.trainer import NUMBERS

Floats = NDArray[np.float64]


def logistic(scores: Floats, target: Floats) -> Floats:
    """Of the log-loss: two classes by one score, more by one score for each."""
    if scores.shape[1] == 1:
        return np.asarray(expit(scores) - target[:, None])
    residual: Floats = softmax(scores, axis=1)
    residual[np.arange(len(target)), target.astype(np.intp)] -= 1.0
    return residual


def hinge(scores: Floats, target: Floats) -> Floats:
    """Of the hinge loss; with three classes or more, of each class against all others."""
    if scores.shape[1] == 1:
        sign = 2.0 * target[:, None] - 1.0
    else:
        sign = np.full(scores.shape, -1.0)
        sign[np.arange(len(target)), target.astype(np.intp)] = 1.0
    return np.asarray(np.where(sign * scores < 1.0, -sign, 0.0))


def squared_loss(scores: Floats, target: Floats) -> Floats:
    """Of half the squared error."""
    return scores - target[:, None]


LOSSES: dict[str, Callable[[Floats, Floats], Floats]] = {"logistic": logistic, "hinge": hinge, "squared": squared_loss}


def score_count(outputs: int) -> int:
    """How many scores a model has: one for two classes or a number, else one for each class."""
    return outputs if outputs > 2 else 1


def link(scores: Floats, task: str) -> Floats:
    """Probabilities of the classes (n, k), or predicted targets (n, 1) within [-1, 1]."""
    if task == NUMBERS:
        return np.clip(scores, -1.0, 1.0)
    if scores.shape[1] > 1:
        return np.asarray(softmax(scores, axis=1))
    positive = expit(scores)
    return np.hstack([1 - positive, positive])
