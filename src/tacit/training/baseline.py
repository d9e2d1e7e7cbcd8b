"""What a score is worth beside no model at all: the loss of the best constant prediction, from noisy counts.

    mu    that a test row may cost          m    test rows (or persons, one row of each)

The targets of the test rows are counted by class, or by cells of their range, those without a target apart. The counts
are drawn once, with a share of what a test row may cost; the score is drawn with the rest. One row replaced moves two
counts by one, sqrt(2) in the L2 norm. Everything after the noise costs nothing. The number of test rows is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import Source
from tacit.training.preparation import Preparation
from tacit.training.scoring import Scoring
from tacit.training.trainer import CLASSES, EncodedRows

Floats = NDArray[np.float64]
CELLS = 32  # of the range of a number
FINE = 2**20  # noise is drawn in parts of a row, on a lattice far finer than itself


@dataclass(frozen=True)
class Baseline:
    """The mean loss, within [0, 1], of always predicting the same, what that is in words, and its noise's deviation."""

    loss: float
    prediction: str
    deviation: float = 0.0


def draw_baseline(rows: EncodedRows, scoring: Scoring, mu: float, noise: Source) -> Baseline:
    """The baseline of test rows. ``mu``-GDP for one row, or person, replaced.

    Edges. Rows without a target that fits count with the worst loss, as they do in the score. A constant ranks nothing:
    it loses half the pairs whose labels differ, by the rates that the metric knows, and nothing is drawn.
    """
    preparation = scoring.preparation
    if scoring.metric.pairs:
        positive = scoring.metric.rates[1]
        return Baseline(positive * (1 - positive), "always the same rank")
    target = rows.target if rows.owners is None else rows.target[np.unique(rows.owners, return_index=True)[1]]
    places = class_places(preparation) if preparation.task == CLASSES else cell_places()
    known = target >= 0 if preparation.task == CLASSES else np.isfinite(target)
    cell = target if preparation.task == CLASSES else nearest_cell(target)
    cell = np.where(known, cell, len(places)).astype(np.intp)
    exact = np.bincount(cell, minlength=len(places) + 1)
    scale = math.sqrt(2) / mu * FINE * ABOVE
    noisy = noise.gaussian_whole_array(exact * FINE, scale) / FINE
    each = scale / FINE / len(target)
    return best_constant(noisy[:-1] / len(target), float(noisy[-1]) / len(target), places, scoring, each)


def best_constant(shares: Floats, lost: float, places: Floats, scoring: Scoring, noise: float) -> Baseline:
    """Post-processing: of the constants that may suit the metric the one whose mean loss by ``shares`` is least.

    ``noise`` is the deviation of one share.
    """
    preparation = scoring.preparation
    if preparation.task == CLASSES:
        likely = np.maximum(shares, 1e-12)
        constants = np.vstack([np.eye(len(shares)), likely / likely.sum()])
    else:
        constants = places[:, None]
    each = [scoring.losses(np.tile(c, (len(places), 1)), places) for c in constants]
    losses = [mean_loss(loss, shares, lost) for loss in each]
    best = int(np.argmin(losses))
    shown: Any = preparation.predictions(constants[best][None, :])[0]
    if preparation.task != CLASSES:
        words = f"always about {float(shown):.3g}"
    else:
        words = f"always {str(shown)!r}" if best < len(shares) else "always the same probabilities"
    spread = noise * math.sqrt(min(_squares_counted(each[best])))
    return Baseline(min(max(losses[best], 0.0), 1.0), words, spread)


def mean_loss(losses: Floats, shares: Floats, lost: float) -> float:
    """The mean over all rows, those without a target at 1: by what is lost or by what is not, whichever has less noise.

    >>> mean_loss(np.array([0.0, 1.0]), np.array([0.7, 0.2]), 0.1).__round__(3)
    0.3
    """
    kept, gone = _squares_counted(losses)
    if kept < gone:
        return float(1 - shares @ (1 - losses))  # shares and lost add up to 1, but for the noise
    return float(shares @ losses + lost)


def _squares_counted(losses: Floats) -> tuple[float, float]:
    """By how much the noise of a share counts, squared and added up: by what is not lost, and by what is lost."""
    return float(np.sum((1 - losses) ** 2)), float(np.sum(losses**2) + 1)


def class_places(preparation: Preparation) -> Floats:
    return np.arange(len(preparation.target.categories), dtype=float)


def cell_places() -> Floats:
    """The middles of the cells of [-1, 1]."""
    return (np.arange(CELLS) + 0.5) / CELLS * 2 - 1


def nearest_cell(target: Floats) -> Floats:
    return np.clip(np.floor((np.nan_to_num(target) + 1) / 2 * CELLS), 0, CELLS - 1)
