"""Output perturbation for release: neighbours never end further apart than the stated sensitivity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.privacy.guarantee import Budget
from tacit.trainers.model_files import read_model
from tacit.trainers.perturbed_output import PlainDescent, UnitLinearScores, descend, unit_rows
from tacit.trainers.train import train
from tacit.trainers.trainer import EncodedRows


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    gamma=st.floats(1e-4, 10.0),
    steps=st.integers(1, 60),
    outputs=st.sampled_from([1, 3]),
    loud=st.sampled_from([0.1, 1.0, 50.0]),
)
def test_neighbours_end_no_further_apart_than_is_stated(
    seed: int, gamma: float, steps: int, outputs: int, loud: float
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(0, loud, (12, 2)), rng.integers(max(outputs, 2), size=12).astype(float)
    s = PlainDescent(12, 3, outputs, gamma, steps, 1.0)
    here = descend(EncodedRows(X, y), s)
    X2, y2 = X.copy(), y.copy()
    X2[0], y2[0] = -X[0], (y[0] + 1) % max(outputs, 2)
    assert np.linalg.norm(here - descend(EncodedRows(X2, y2), s)) <= s.sensitivity * (1 + s.room)


def test_the_sensitivity_is_nearly_reached() -> None:
    """All other rows without a target, one row flipped: a step from 0 moves by half of what is possible, no less."""
    s = PlainDescent(10, 2, 1, 1e-3, 1, 1.0)
    target = np.full(10, -1.0)
    target[0] = 0.0
    X = np.zeros((10, 1))
    here = descend(EncodedRows(X, target), s)
    there = descend(EncodedRows(X, np.where(target == 0, 1.0, target)), s)
    assert np.linalg.norm(here - there) == pytest.approx(s.sensitivity / 2, rel=1e-2)


def test_sensitivity_has_its_limits() -> None:
    few, many = (PlainDescent(1000, 3, 1, 1e-2, steps, 1.0) for steps in (1, 10**6))
    assert few.sensitivity == pytest.approx(2 * few.step / 1000)
    assert many.sensitivity == pytest.approx(2 / (1000 * 1e-2))


def test_rows_have_at_most_length_one_whatever_they_hold() -> None:
    rows = unit_rows(np.array([[np.nan, 1e300], [np.inf, -np.inf], [0.0, 0.0], [0.3, -0.2]]))
    assert (np.linalg.norm(rows, axis=1) <= 1.0).all()
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-12)


def test_a_released_model_is_read_from_json(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (5000, 2))
    y = np.where(X[:, 0] > 0, "up", "down")
    release = train("output-perturbation", X, y, budget=Budget.approximate(3.0, 1e-5), runs=4, out=tmp_path)
    assert release.value.score < 0.4
    again = read_model(tmp_path)
    assert isinstance(again.model, UnitLinearScores)
    assert (again.predict_proba(X) == release.value.model.predict_proba(X)).all()
