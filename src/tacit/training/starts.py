"""Where a linear model begins: at the means of its features and the rates of its classes, both with noise.

    R    the most that the features of a row can be in the L2 norm, from public facts
    m    mu of the features, and of the targets

Features less their means make the gradient of the constant small, and the clip cuts less of the others. A constant that
begins at the log odds of the classes need not be found by the descent, which matters where a class is rare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import Source
from tacit.training.linear_losses import score_count
from tacit.training.trainer import CLASSES, EncodedRows, Facts

Floats = NDArray[np.float64]
FEATURES, TARGETS = 0.04, 0.02  # shares of the squared mu of a training
FINE = 2.0**20  # sums are whole multiples of 2^-20
RAREST = 0.002  # rate of a class that is begun with, at least


@dataclass(frozen=True)
class Start:
    """Means of the features (d,), and constants (k,). Released with the model, as a part of its constant."""

    means: Floats
    constants: Floats


def longest_row(facts: Facts) -> float:
    """R: of a column one word is 1; of a number its place is at most 1, and one of its bins is 1."""
    return math.sqrt(sum(2 if span.number and span.stop - span.start > 2 else 1 for span in facts.spans))


def draw_start(rows: EncodedRows, facts: Facts, mu: float, noise: Source, *, odds: bool) -> Start:
    """Means and constants of a training that costs mu; with its gradients at most mu, see ``FEATURES``.

    Guarantee. One record, or person, replaced moves the sum of the features by at most 2 R and that of the targets by
    sqrt(2) (classes) or 2 (numbers): sqrt(FEATURES + TARGETS) mu-GDP. Rows are cut to R, and all sums are exact.
    """
    X, reach = np.nan_to_num(rows.X, nan=0.0, posinf=1.0, neginf=-1.0), longest_row(facts)
    X = np.clip(X, -reach, reach)
    size = np.sqrt(np.einsum("ij,ij->i", X, X))
    shy = (1 - (X.shape[1] + 16) * 2.0**-52) * reach
    X = X * (np.minimum(1.0, shy / np.maximum(size, 1e-300)) * rows.weights)[:, None]
    sums = np.trunc(X * FINE).sum(axis=0)  # towards 0, so that no norm grows; below 2^53, so exact
    means = _add(sums, 2 * reach / (math.sqrt(FEATURES) * mu), noise) / facts.records
    if facts.task == CLASSES:
        rates = draw_rates(rows, facts, math.sqrt(TARGETS) * mu, noise)
        return Start(means, log_odds(rates) if odds else np.zeros(score_count(facts.outputs)))
    target = np.nan_to_num(np.clip(rows.target, -1.0, 1.0))
    total = np.trunc(target * rows.weights * FINE).sum(keepdims=True)
    return Start(means, np.clip(_add(total, 2 / (math.sqrt(TARGETS) * mu), noise) / facts.records, -1.0, 1.0))


def draw_rates(rows: EncodedRows, facts: Facts, mu: float, noise: Source) -> Floats:
    """Shares of the classes among the records, from noisy counts.

    Guarantee. One record, or person, replaced moves the counts by at most sqrt(2) in the L2 norm: mu-GDP.
    """
    shown = np.where(rows.target >= 0, rows.target, facts.outputs).astype(np.intp)
    counts = np.bincount(shown, np.trunc(rows.weights * FINE), facts.outputs + 1)[: facts.outputs].astype(float)
    return _add(counts, math.sqrt(2) / mu, noise) / facts.records


def log_odds(rates: Floats) -> Floats:
    """Scores with which a model gives the classes these shares, each at least RAREST."""
    likely = np.log(np.clip(rates / max(float(rates.sum()), 1e-9), RAREST, 1.0))
    return likely[1:] - likely[:1] if len(rates) == 2 else likely


def _add(sums: Floats, scale: float, noise: Source) -> Floats:
    drawn = noise.gaussian_whole_array(sums.astype(np.int64), scale * FINE * ABOVE)
    return np.asarray(drawn / FINE, float)
