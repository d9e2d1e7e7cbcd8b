"""Losses of single rows, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.data.metrics.losses import (
    absolute_losses,
    brier_losses,
    log_losses,
    own_probability,
    quantile_losses,
    squared_losses,
    wrong,
)

PROBABILITIES = np.array([[0.2, 0.5, 0.3], [0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
CLASSES = np.array([1.0, -1.0, 0.0, 2.0])  # -1 is none of them


def test_a_row_of_no_class_has_no_loss_and_others_their_own() -> None:
    nan = np.nan
    assert wrong(np.array([1.0, 1.0, 2.0, -1.0]), CLASSES) == pytest.approx([0.0, nan, 1.0, 1.0], nan_ok=True)
    assert wrong(np.array([-1.0]), np.array([-1.0])) == pytest.approx([nan], nan_ok=True)
    assert own_probability(PROBABILITIES, CLASSES) == pytest.approx([0.5, nan, 1.0, 0.0], nan_ok=True)
    assert log_losses(PROBABILITIES, CLASSES) == pytest.approx([np.log(2), nan, 0.0, np.inf], nan_ok=True)
    assert brier_losses(PROBABILITIES, CLASSES) == pytest.approx([0.19, nan, 0.0, 1.0], nan_ok=True)


def test_losses_of_numbers() -> None:
    numbers, answers = np.array([1.0, 5.0]), np.array([3.0, 2.0])
    assert absolute_losses(numbers, answers).tolist() == [2.0, 3.0]
    assert squared_losses(numbers, answers).tolist() == [4.0, 9.0]
    assert quantile_losses(numbers, answers, 0.9) == pytest.approx([1.8, 0.3])
