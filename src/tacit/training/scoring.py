"""A metric of ``tacit.metrics`` for models of a table: losses of their scores, moved to [0, 1], and read back.

What a metric needs to know is public or paid for: bounds of a number's loss follow from the target's range, rates of
classes are declared, or those that the noisy counts of the labels show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.metrics import Metric, Reading, find
from tacit.data.metrics.reading import CLASSIFICATION, REGRESSION
from tacit.errors import BadInput
from tacit.training.preparation import Preparation
from tacit.training.trainer import CLASSES, NUMBERS, EncodedRows

Floats = NDArray[np.float64]
TASKS, USUAL = {CLASSES: CLASSIFICATION, NUMBERS: REGRESSION}, {CLASSES: "error", NUMBERS: "absolute"}


def load_metric(metric: str | Metric | None, task: str) -> Metric:
    """A metric by its name, or as it is; the error or the absolute error if left out."""
    found = metric if isinstance(metric, Metric) else find(USUAL[task] if metric is None else metric)
    if found.task != TASKS[task]:
        raise BadInput(f"metric {found.name!r} is for {found.task}, and this model predicts {task}. Nothing was spent")
    return found


def refuse_unknown_rates(metric: Metric) -> None:
    """Where labels are declared nothing is counted, so that rates that a metric needs must be declared with it."""
    if metric.needs_rates and not metric.declared:
        raise BadInput(
            f"metric {metric.name!r} needs the rates of the classes, and a declared schema has none: give them as "
            f"metric=tacit.metrics.find({metric.name!r}, rates={{label: share, ...}}) (--class-rate label=share), or "
            "leave the schema out, and they are learnt with noise. Nothing was spent"
        )


@dataclass(frozen=True)
class Scoring:
    """A metric that knows its bounds and rates, for models of one preparation."""

    metric: Metric
    preparation: Preparation

    @classmethod
    def of(cls, metric: Metric, preparation: Preparation) -> Scoring:
        """The metric settled; BadInput if it does not suit the classes there are."""
        if preparation.task == NUMBERS:
            low, high = preparation.target.range or (-1.0, 1.0)
            bounds = (0.0, metric.widest(high - low)) if metric.bounds is None else None
            return cls(metric.within(bounds), preparation)
        labels, shown = _labels(preparation), preparation.rates
        if metric.needs_rates and not metric.declared and shown is not None:
            told = replace(metric, declared=tuple(zip(labels, shown.rates, strict=True)))
            return cls(replace(told.with_rates(list(labels)), rates_of=shown.rows), preparation)
        return cls(metric.with_rates(list(labels)), preparation)

    @classmethod
    def settle(cls, metric: Metric, preparation: Preparation) -> Scoring:
        """The same; by the usual metric where labels that were learnt, and paid for, do not suit the one asked for."""
        try:
            return cls.of(metric, preparation)
        except BadInput:
            return cls.of(load_metric(None, preparation.task), preparation)

    @property
    def width(self) -> float:
        low, high = self.metric.known_bounds()
        return high - low

    def reading(self, units: int) -> Reading:
        return self.metric.reading(units)

    def mean_in_units(self, mean: float) -> float:
        """A mean within [0, 1] as one within the metric's bounds."""
        return self.metric.known_bounds()[0] + mean * self.width

    def measure(self, scores: Floats, rows: EncodedRows) -> Floats:
        """One loss within [0, 1] for each record, person or pair, from a model's scores. Private."""
        return self._measure(scores, rows.target, rows.owners, rows.units)

    def losses(self, scores: Floats, target: Floats) -> Floats:
        """The same for single rows."""
        return self._measure(scores, target, None, len(target))

    def _measure(self, scores: Floats, target: Floats, owners: Any, units: int) -> Floats:
        metric, low = self.metric, self.metric.known_bounds()[0]
        if self.preparation.task == NUMBERS:
            predictions: Any = self.preparation.predictions(scores)
            answers: Any = self.preparation.predictions(target[:, None])
        else:
            answers = metric.code_answers(target.astype(np.intp), list(_labels(self.preparation)))
            predictions = self._predictions(scores)
        found = metric.measure(predictions, answers, owners, units if owners is not None else 0)
        return np.asarray((found - low) / self.width)

    def _predictions(self, scores: Floats) -> Any:
        if self.metric.reads == "labels":
            return np.argmax(scores, axis=1)
        if self.metric.reads == "probabilities":
            return scores
        first = self.metric.positive
        return scores[:, 1 if first is None else _labels(self.preparation).index(str(first))]


def _labels(preparation: Preparation) -> tuple[str, ...]:
    return tuple(str(c) for c in preparation.target.categories)
