"""Metrics by name: each knows its bounds, its unit and how far one record, or person, can move it.

    tacit.metrics.auc, error, accuracy, balanced, balanced_accuracy, log_loss, brier, absolute, squared, quantile
    tacit.metrics.find("auc")

A private search sees one loss for each record (or person, or pair); a metric makes these from predictions, and reads
their mean back as what was asked for.
"""

from __future__ import annotations

from tacit.data.metrics.metric import Metric
from tacit.data.metrics.names import (
    NAMES,
    absolute,
    accuracy,
    auc,
    balanced,
    balanced_accuracy,
    brier,
    error,
    find,
    log_loss,
    quantile,
    squared,
)
from tacit.data.metrics.reading import Reading

zero_one = error

__all__ = [
    "NAMES",
    "Metric",
    "Reading",
    "absolute",
    "accuracy",
    "auc",
    "balanced",
    "balanced_accuracy",
    "brier",
    "error",
    "find",
    "log_loss",
    "quantile",
    "squared",
    "zero_one",
]
