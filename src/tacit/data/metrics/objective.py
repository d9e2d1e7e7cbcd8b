"""Predictions on private rows as an objective: what tacit.tune takes, with its public facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.containers import read_column
from tacit.data.metrics.reading import CLASSIFICATION
from tacit.data.schema import Column
from tacit.data.units import Rows, number_persons
from tacit.errors import ObjectiveError, type_and_shape
from tacit.objective import LossFacts

if TYPE_CHECKING:
    from tacit.data.metrics.metric import Metric

WIDE = "one number for each class, in the order of classes"


@dataclass(frozen=True, repr=False)
class MetricObjective:
    """Calls ``predict(params)`` and answers with one loss for each record, person or pair. Holds private answers."""

    metric: Metric
    predict: Callable[[Any], Any]
    answers: NDArray[Any]
    target: Column
    owners: Rows | None = None

    @property
    def units(self) -> int:
        return len(self.answers) if self.owners is None else int(self.owners.max()) + 1

    @property
    def facts(self) -> LossFacts:
        return self.metric.facts(self.units, persons=self.owners is not None)

    def __call__(self, params: Any) -> Any:
        predicted = self._check(self.predict(params))
        return self.metric.measure(predicted, self.answers, self.owners, self.units)

    def _check(self, answer: Any) -> Any:
        """Predictions of the shape that the metric reads; labels as numbers of their classes."""
        n, classes = len(self.answers), len(self.target.categories)
        if self.metric.reads == "labels":
            if getattr(answer, "shape", (n,)) == (n,) and hasattr(answer, "__len__") and len(answer) == n:
                return self.target.encode(answer)
        else:
            numbers = np.asarray(answer)
            wanted = (n, classes) if self.metric.reads == "probabilities" else (n,)
            if numbers.shape == wanted and numbers.dtype.kind in "fiub":
                return numbers.astype(float)
        shape = f"({n}, {classes}): {WIDE}" if self.metric.reads == "probabilities" else f"({n},)"
        raise ObjectiveError(
            f"for {self.metric.name} predict must return {self.metric.reads} of shape {shape}, got "
            f"{type_and_shape(answer)}"
        )


def make_objective(
    metric: Metric, predict: Callable[[Any], Any], answers: Any, classes: Sequence[Any], groups: Any
) -> MetricObjective:
    """See Metric.objective."""
    cells = read_column(answers)
    owners = None if groups is None else number_persons(groups, len(cells))
    if metric.task != CLASSIFICATION:
        return MetricObjective(metric, predict, cells.numbers, Column("y"), owners)
    target = Column("y", "category", tuple(classes))
    ready = metric if metric.rates else metric.with_rates(list(classes))
    return MetricObjective(ready, predict, ready.code_answers(target.encode(cells), list(classes)), target, owners)


def one_matching(metric: Metric) -> Metric:
    """The same metric with each record in one pair alone; others as they are."""
    return replace(metric, pairs="one") if metric.pairs else metric
