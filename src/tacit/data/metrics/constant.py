"""What a model has to beat: the metric of the best constant prediction, on rows that may be known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.metrics.metric import Metric
from tacit.data.metrics.reading import CLASSIFICATION, Reading
from tacit.data.units import Rows


def read_against_constant(
    reading: Reading, metric: Metric, answers: Any, classes: int, owners: Rows | None = None
) -> Reading:
    """The reading with the score of a constant beside it, by answers of rows that are not protected.

    ``answers`` are as the metric takes them. Where bounds clip losses, it also says how many of these they clip.

    >>> import tacit
    >>> metric = tacit.metrics.find("error")
    >>> made = read_against_constant(metric.reading(10), metric, np.array([0, 0, 0, 1]), 2)
    >>> made.baseline, round(made.baseline_reach, 3), made.baseline_of
    (0.25, 0.424, 'always the most frequent class, on the training rows')
    """
    if metric.pairs:
        return replace(reading, baseline=0.5, baseline_of="no order at all")
    answers = np.asarray(answers)
    if metric.task == CLASSIFICATION:
        known = answers[answers >= 0].astype(np.intp)
        rates = np.bincount(known, minlength=classes) / len(known)
    if metric.reads == "labels":
        weights = rates if not metric.balances else rates / np.asarray(metric.rates)
        constant: Any = np.full(len(answers), float(weights.argmax()))
        said = "always the most frequent class" if not metric.balances else "always one class"
    elif metric.reads == "probabilities":
        constant, said = np.tile(rates, (len(answers), 1)), "always the shares of the classes"
    else:
        constant, said = np.full(len(answers), metric.best_constant(answers)), "always the same number, the best one"
    losses = metric.measure(constant, answers, owners)
    loss, off = float(losses.mean()), 1.96 * float(losses.std()) / len(losses) ** 0.5
    said += ", on the training rows"
    if metric.reads == "numbers" and metric.losses is not None:
        (low, high), each = metric.known_bounds(), metric.losses(constant, answers)
        clipped = 100 * float(np.mean((each < low) | (each > high)))
        said += f"; losses are clipped at the bounds [{low:g}, {high:g}], of these {clipped:.3g}%"
    shown = metric.shown
    return replace(reading, baseline=shown.read(loss), baseline_reach=shown.reach(loss, off), baseline_of=said)
