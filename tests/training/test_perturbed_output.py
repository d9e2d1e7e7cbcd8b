"""Output perturbation for release: neighbours never end further apart than the stated sensitivity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BadInput
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.training.linear_losses import LOSSES
from tacit.training.model_files import read_model
from tacit.training.perturbed_output import OUTPUT, PlainDescent, UnitLinearScores, descend, unit_rows
from tacit.training.train import train
from tacit.training.trainer import CLASSES, Base, EncodedRows, Facts


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


@pytest.mark.parametrize(("scores", "classes"), [(1, 2), (3, 3), (5, 5)])
def test_the_sensitivity_is_nearly_reached(scores: int, classes: int) -> None:
    """All other rows without a target, the label of one replaced: a step from 0 moves by half of what is possible."""
    s = PlainDescent(10, 2, scores, 1e-3, 1, 1.0)
    target = np.full(10, -1.0)
    target[0] = 0.0
    X = np.zeros((10, 1))
    here = descend(EncodedRows(X, target), s)
    there = descend(EncodedRows(X, np.where(target == 0, classes - 1.0, target)), s)
    assert np.linalg.norm(here - there) == pytest.approx(s.sensitivity / 2, rel=1e-9)


@pytest.mark.parametrize("scores", [1, 3])
def test_gradient_and_curvature_are_bounded_by_what_the_loss_reaches(scores: int) -> None:
    """The residual of a sure and wrong score, and the slope of residuals between two classes that are even."""
    s = PlainDescent(10, 2, scores, 0.1, 1, 1.0)
    wrong = np.zeros((1, scores))
    wrong[0, 0] = 200.0
    target = np.array([0.0 if scores == 1 else 1.0])
    residual = LOSSES["logistic"]
    assert np.linalg.norm(residual(wrong, target)) == pytest.approx(s.largest_gradient, rel=1e-12)
    even, h = np.full((1, scores), -200.0), 1e-4
    even[0, :2] = 0.0
    slopes = [(residual(even + h * e, target) - residual(even - h * e, target)) / (2 * h) for e in np.eye(scores)]
    assert np.linalg.eigvalsh(np.vstack(slopes)).max() == pytest.approx(1 / s.step - s.gamma, rel=1e-6)


def test_the_weights_get_the_noise_of_their_sensitivity() -> None:
    """mu-GDP: the noise is the sensitivity, with its room for rounding, divided by mu."""
    facts, base = Facts(50, 2, CLASSES, 3), Base(0.7, tabulate(GaussianProfile(0.7), floor=1e-9))
    s = OUTPUT.calibrate({"gamma": 0.01, "steps": 20}, facts, base)
    assert (s.records, s.inputs, s.scores, s.gamma, s.steps, s.mu) == (50, 3, 3, 0.01, 20, 0.7)
    scales = []

    class Recorder(Simulation):
        def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
            scales.append(scale)
            return values

    rng = np.random.default_rng(0)
    rows = EncodedRows(rng.normal(size=(50, 2)), rng.integers(3, size=50).astype(float))
    model = OUTPUT.train(rows, s, facts, Recorder(0))
    assert scales == [pytest.approx(s.sensitivity / 0.7, rel=1e-7)]
    assert scales[0] >= s.sensitivity * (1 + s.room) / 0.7
    assert (model.weights == descend(rows, s)).all()
    assert OUTPUT.profile(s) == GaussianProfile(0.7)


def test_the_room_for_rounding_grows_with_all_that_is_added_up() -> None:
    """Stated in docs/proofs/private-training.md; records beyond what it covers are refused."""
    s = PlainDescent(1000, 9, 4, 0.25, 7, 1.0)
    sums, weights = (1000 + 9 + 50) * 6.0, 59 * (1 + 0.75) / 0.25
    assert s.room == pytest.approx(1e-9 + 4 * 2.0**-52 * 1000 * (sums + weights), rel=1e-12)
    base = Base(0.7, tabulate(GaussianProfile(0.7), floor=1e-9))
    with pytest.raises(BadInput, match="too many for output perturbation"):
        OUTPUT.calibrate({"gamma": 1e-4, "steps": 5}, Facts(10**8, 2, CLASSES, 2), base)


def test_rows_without_a_class_train_nothing() -> None:
    rows = EncodedRows(np.array([[0.5], [-0.25], [1.0]]), np.full(3, -1.0))
    assert (descend(rows, PlainDescent(3, 2, 1, 0.1, 5, 1.0)) == 0.0).all()


def test_sensitivity_has_its_limits() -> None:
    few, many = (PlainDescent(1000, 3, 1, 1e-2, steps, 1.0) for steps in (1, 10**6))
    assert few.sensitivity == pytest.approx(2 * few.step / 1000)
    assert many.sensitivity == pytest.approx(2 / (1000 * 1e-2))


def test_rows_have_at_most_length_one_whatever_they_hold() -> None:
    rows = unit_rows(np.array([[np.nan, 1e300], [np.inf, -np.inf], [0.0, 0.0], [0.3, -0.2]]))
    assert (np.linalg.norm(rows, axis=1) <= 1.0).all()
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-12)


def test_features_beyond_64_are_cut_and_missing_ones_are_0() -> None:
    rows = unit_rows(np.array([[-100.0, 100.0], [np.nan, 3.0], [64.0, -64.0]]))
    expected = np.array([[-64.0, 64.0, 1.0], [0.0, 3.0, 1.0], [64.0, -64.0, 1.0]])
    assert rows == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), rel=1e-12)


def test_a_released_model_is_read_from_json(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (5000, 2))
    y = np.where(X[:, 0] > 0, "up", "down")
    release = train("output-perturbation", X, y, budget=Budget.approximate(3.0, 1e-5), runs=4, out=tmp_path)
    assert release.value.score < 0.4
    again = read_model(tmp_path)
    assert isinstance(again.model, UnitLinearScores)
    assert (again.predict_proba(X) == release.value.model.predict_proba(X)).all()
