"""Losses of predictions, one for each row; nan where there is none. Each by its own row alone.

Classes are numbered from 0, -1 for a label that is none of them. Shapes: labels (n,), probabilities (n, classes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def wrong(labels: Floats, answers: Floats) -> Floats:
    """1 for a row predicted wrongly."""
    return np.where(answers < 0, np.nan, (labels != answers).astype(float))


def own_probability(probabilities: Floats, answers: Floats) -> Floats:
    """The probability of each row's own class; nan for a row of none."""
    codes = np.asarray(answers, np.intp)
    own = probabilities[np.arange(len(codes)), np.maximum(codes, 0)]
    return np.where(codes < 0, np.nan, own)


def log_losses(probabilities: Floats, answers: Floats) -> Floats:
    """-log of the probability of each row's own class."""
    with np.errstate(all="ignore"):
        return -np.log(own_probability(probabilities, answers))


def brier_losses(probabilities: Floats, answers: Floats) -> Floats:
    """Half the squared distance of the probabilities from the row's own class: (1 - p)^2 for two classes."""
    codes = np.asarray(answers, np.intp)
    away = np.array(probabilities, float)
    away[np.arange(len(codes)), np.maximum(codes, 0)] -= 1.0
    with np.errstate(all="ignore"):
        halves: Any = (away * away).sum(axis=1) / 2
    return np.where(codes < 0, np.nan, halves)


def absolute_losses(numbers: Floats, answers: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.abs(numbers - answers)


def squared_losses(numbers: Floats, answers: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return (numbers - answers) ** 2


def quantile_losses(numbers: Floats, answers: Floats, level: float) -> Floats:
    """The pinball loss: ``level`` times what is missing, 1 - level times what is too much.

    >>> quantile_losses(np.array([1.0, 3.0]), np.array([2.0, 2.0]), 0.75).tolist()
    [0.75, 0.25]
    """
    with np.errstate(all="ignore"):
        short = answers - numbers
        return np.maximum(level * short, (level - 1) * short)
