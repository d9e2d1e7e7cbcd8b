"""What is predicted, classes or a number: said by the trainer, the labels, the schema or the metric, or by nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.data.metrics import Metric, find
from tacit.data.metrics.reading import CLASSIFICATION
from tacit.data.schema import Schema
from tacit.training.registry import load_trainer
from tacit.training.trainer import CLASSES, NUMBERS, Trainer

AUTO = {None: "auto", CLASSES: "auto", NUMBERS: "auto-numbers"}  # what "auto" is, for each task


def settle_task(
    trainer: str | Trainer, labels: Sequence[Any] | None, schema: Schema | None, metric: str | Metric | None
) -> str | None:
    """The task as far as public things tell it; None if the target's cells alone could, which takes paid noise.

    >>> settle_task("auto", None, None, "absolute"), settle_task("auto", ["no", "yes"], None, None)
    ('numbers', 'classes')
    >>> settle_task("auto", None, None, None) is None
    True
    """
    if trainer != AUTO[None]:
        return load_trainer(trainer).task
    if labels is not None:
        return CLASSES
    if schema is not None and schema.target is not None and schema.target.is_settled:
        return CLASSES if schema.target.kind == "category" else NUMBERS
    if metric is not None:
        found = find(metric) if isinstance(metric, str) else metric
        return CLASSES if found.task == CLASSIFICATION else NUMBERS
    return None
