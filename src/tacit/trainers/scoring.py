"""Losses of predictions, one for each row, within [0, 1]: what a search minimises and a release states.

A row without a label that fits counts as the worst. Losses of numbers are in units of the target's range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.trainers.trainer import CLASSES, NUMBERS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scoring:
    """A loss by name: for classes or numbers, and how its mean within [0, 1] is turned into the user's unit."""

    name: str
    task: str
    losses: Callable[[Floats, Floats], Floats]
    power: int = 0  # of the range's width in the user's unit

    def in_units(self, loss: float, width: float) -> float:
        return loss * width**self.power


def _wrong(scores: Floats, target: Floats) -> Floats:
    return np.asarray(np.argmax(scores, axis=1) != target, float)


def _brier(scores: Floats, target: Floats) -> Floats:
    known = target >= 0
    ideal = np.zeros_like(scores)
    ideal[known, target[known].astype(np.intp)] = 1.0
    return np.where(known, ((scores - ideal) ** 2).sum(axis=1) / 2, 1.0)


def _absolute(scores: Floats, target: Floats) -> Floats:
    return np.nan_to_num(np.abs(scores[:, 0] - target) / 2, nan=1.0)


def _squared_loss(scores: Floats, target: Floats) -> Floats:
    return np.nan_to_num((scores[:, 0] - target) ** 2 / 4, nan=1.0)


SCORING = {
    "error": Scoring("error", CLASSES, _wrong),
    "brier": Scoring("brier", CLASSES, _brier),
    "absolute": Scoring("absolute", NUMBERS, _absolute, 1),
    "squared": Scoring("squared", NUMBERS, _squared_loss, 2),
}
