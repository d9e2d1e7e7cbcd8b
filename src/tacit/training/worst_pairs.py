"""Rows on which a trainer spends what it was calibrated for: one of them counts, and it is replaced by another."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Source
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Params
from tacit.training.trainer import CLASSES, Base, EncodedRows, Facts

if TYPE_CHECKING:
    from tacit.training.trainer import Trainer

ROWS, FAR = 4096, 64.0  # so many that noise hardly moves the weights; the end of what features are cut to
Row = tuple[tuple[float, ...], float]  # features and target


def replace_row(
    trainer: Trainer, base: Base, params: Params, rows: tuple[Row, Row], *, about: str, outputs: int, share: float = 1.0
) -> WorstPair:
    """A training on rows without a target, which add nothing to any sum, but for one that is replaced."""
    nothing = -1.0 if trainer.task == CLASSES else np.nan
    sides = []
    for features, target in rows:
        X, targets = np.zeros((ROWS, len(features))), np.full(ROWS, nothing)
        X[0], targets[0] = features, target
        sides.append(EncodedRows(X, targets))
    return play_training(trainer, base, params, (sides[0], sides[1]), about=about, outputs=outputs, share=share)


def play_training(
    trainer: Trainer,
    base: Base,
    params: Params,
    sides: tuple[EncodedRows, EncodedRows],
    *,
    about: str,
    outputs: int,
    share: float,
) -> WorstPair:
    """A training on either of two tables, calibrated to ``base``."""
    facts = Facts(len(sides[0].X), sides[0].X.shape[1], trainer.task, outputs)

    @cache
    def settings() -> Any:
        return trainer.calibrate(params, facts, base)

    def play(side: int, noise: Source) -> Any:
        return trainer.train(sides[side], settings(), facts, noise)

    words = f"{outputs} classes" if trainer.task == CLASSES else "a number"
    return WorstPair(f"{words}: {about}", Budget.gdp(base.mu), play, share)
