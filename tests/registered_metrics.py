"""The worst neighbours of a metric, found by trying: every replacement of one record, or person, among a few."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import tacit
from tacit.data.metrics.metric import Metric
from tacit.data.metrics.names import NAMES
from tacit.data.metrics.reading import CLASSIFICATION
from tacit.data.schema import Schema
from tacit.privacy.guarantee import Budget
from tacit.privacy.worst_pair import WorstPair
from tacit.training.preparation import Preparation
from tacit.training.runs import Search
from tacit.training.scoring import Scoring
from tacit.training.trainer import EncodedRows

RATES = {2: (0.9, 0.1), 3: (0.7, 0.2, 0.1)}
UNITS, MANY = 8, 3  # records or persons; rows of the person who is replaced, if it has several
MU = 0.8


@dataclass(frozen=True)
class Table:
    """Predictions and answers, and whose they are. The first unit is the one that is replaced."""

    predictions: Any
    answers: Any
    owners: Any = None

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not (np.isnan(self.predictions).any() or np.isnan(self.answers).any())


def predictions_of(metric: Metric, classes: int) -> list[Any]:
    """What a model may say, the corners and worse."""
    if metric.reads == "labels":
        return list(range(classes))
    if metric.reads == "probabilities":
        corners = [row.tolist() for row in np.eye(classes)]
        return [*corners, [1 / classes] * classes, [math.nan] * classes]
    return [-1e9, -1.5, 0.0, 1.5, 1e9, math.nan]


def answers_of(metric: Metric, classes: int) -> list[float]:
    return [*range(classes), math.nan] if metric.task == CLASSIFICATION else [-1.5, 0.0, 1.5, math.nan]


def tables(metric: Metric, classes: int, others: Any, *, persons: bool) -> Iterator[Table]:
    """Every way for the first unit to be, beside others that stay."""
    rows = list(itertools.product(predictions_of(metric, classes), answers_of(metric, classes)))
    own = [[row] * many for row in rows for many in ((1, MANY) if persons else (1,))]
    for mine in own:
        said, true = zip(*mine, *others, strict=True)
        owners = np.r_[np.zeros(len(mine), int), np.arange(1, UNITS)] if persons else None
        yield Table(np.array(said, float), np.array(true, float), owners)


def surroundings(metric: Metric, classes: int) -> list[list[Any]]:
    """The other units: all of one answer, with predictions that do not tie."""
    first = answers_of(metric, classes)[:2]
    if metric.reads == "labels":
        return [[(answer, answer)] * (UNITS - 1) for answer in first]
    if metric.reads == "probabilities":
        return [[(np.eye(classes)[int(answer)].tolist(), answer)] * (UNITS - 1) for answer in first]
    return [[(0.01 * i, answer) for i in range(UNITS - 1)] for answer in first]


def settle(metric: Metric, classes: int) -> Metric:
    if metric.task == CLASSIFICATION:
        declared = tuple((str(c), rate) for c, rate in enumerate(RATES[classes]))
        return replace(metric, declared=declared).with_rates(list(range(classes))) if metric.needs_rates else metric
    return metric if metric.bounds is not None else metric.within((0.0, 2.5))


def worst_tables(metric: Metric, classes: int, *, persons: bool) -> tuple[Table, Table]:
    """The two tables, one unit apart, whose mean losses lie furthest apart. Never further than is claimed.

    What is missing counts as the worse bound, however wide the bounds are: it does not show that they are reached.
    """
    best, gap = None, -1.0
    for others in surroundings(metric, classes):
        tried = list(tables(metric, classes, others, persons=persons))
        means = np.array([float(measure(metric, table).mean()) for table in tried])
        assert np.ptp(means) <= metric.sensitivity(UNITS) * (1 + 1e-9), f"{metric.name}: a unit moves the mean too far"
        known = np.flatnonzero([table.complete for table in tried])
        low, high = known[np.argmin(means[known])], known[np.argmax(means[known])]
        if means[high] - means[low] > gap:
            best, gap = (tried[low], tried[high]), means[high] - means[low]
    assert best is not None
    return best


def measure(metric: Metric, table: Table) -> Any:
    answers = np.nan_to_num(table.answers, nan=-1).astype(int) if metric.task == CLASSIFICATION else table.answers
    return metric.measure(table.predictions, answers, table.owners, UNITS if table.owners is not None else 0)


def tune(metric: Metric, sides: tuple[Table, Table], classes: int, side: int, noise: Any) -> Any:
    """As a user tunes by it: a random search of three trials."""
    table = sides[side]
    said: Any = table.predictions.astype(int) if metric.reads == "labels" else table.predictions
    true: Any = table.answers
    if metric.task == CLASSIFICATION:
        true = [str(int(a)) for a in table.answers]
        said = [str(p) for p in said] if metric.reads == "labels" else said
    groups = None if table.owners is None else table.owners.tolist()
    names = [str(c) for c in range(classes)]
    objective = metric.objective(lambda params: said, true, classes=names, groups=groups)
    about: dict[str, Any] = {"budget": Budget.gdp(MU), "trials": 3, "method": "random", "accept_noise": True}
    return tacit.tune(objective, {"x": tacit.Float(0.0, 1.0)}, **about, noise=noise, progress=False)


@dataclass(frozen=True)
class Told:
    """A model that predicts what its rows hold."""

    def scores(self, X: Any) -> Any:
        return X


def score(metric: Metric, side: int, noise: Any) -> Any:
    """As a training scores its models: on two numbers at the ends of the target's range."""
    preparation = Preparation(Schema.declare({"a": (0, 1)}, target="y", range=(-3.0, 5.0)), {})
    scoring = Scoring.of(metric, preparation)
    X = np.array([[(1.0, -1.0)[side]], *[[0.0]] * (UNITS - 1)])
    rows = EncodedRows(X, np.r_[1.0, np.zeros(UNITS - 1)])
    unused: Any = None
    search = Search(unused, unused, unused, unused, scoring, rows, rows, noise)
    return search.score(Told(), rows, MU)


def metric_pairs(name: str) -> list[WorstPair]:
    """One record and one person, with two classes and three; a number also as a training scores it."""
    metric, pairs = NAMES[name](), []
    counts = (2,) if metric.pairs or metric.task != CLASSIFICATION else (2, 3)
    for classes, persons in itertools.product(counts, (False, True)):
        ready = settle(metric, classes)
        sides = worst_tables(ready, classes, persons=persons)
        who = (
            f"one of {UNITS} persons replaced, with 1 or {MANY} rows" if persons else f"one of {UNITS} records replaced"
        )
        words = f"{classes} classes: {who}" if metric.task == CLASSIFICATION else who
        pairs.append(WorstPair(words, Budget.gdp(MU), partial(tune, ready, sides, classes)))
    if metric.task != CLASSIFICATION:
        assert metric.widest(8.0) > 0
        words = "a model's score: one of 8 predictions goes from the target to the other end of its range"
        pairs.append(WorstPair(words, Budget.gdp(MU), partial(score, metric), share=1.0))
    return pairs
