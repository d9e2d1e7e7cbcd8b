"""The loss of a constant prediction, beside the score: right up to its noise, and inside the guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.audit import lower_bound
from tacit.data.schema import Schema
from tacit.privacy.conversions import gdp_epsilon
from tacit.privacy.noise import EXACT, Simulation
from tacit.training.baseline import draw_baseline
from tacit.training.preparation import Preparation
from tacit.training.scoring import Scoring, load_metric
from tacit.training.trainer import EncodedRows

CLASSES = Preparation(Schema.declare({"x": (0, 1)}, target="y", labels=["a", "b", "c"]), {})
NUMBERS = Preparation(Schema.declare({"x": (0, 1)}, target="y", range=(100, 300)), {})


def scored(preparation: Preparation, metric: str) -> Scoring:
    return Scoring.of(load_metric(metric, preparation.task), preparation)


def rows(target: list[float], owners: list[int] | None = None) -> EncodedRows:
    whose = None if owners is None else np.array(owners)
    return EncodedRows(np.zeros((len(target), 2)), np.array(target, float), whose)


@pytest.mark.parametrize(("metric", "loss"), [("error", 0.5), ("brier", (1 - 0.25 - 0.16 - 0.01) / 2)])
def test_classes_are_foretold_by_their_shares(metric: str, loss: float) -> None:
    found = draw_baseline(rows([0] * 400 + [1] * 500 + [2] * 100), scored(CLASSES, metric), 1e4, EXACT)
    assert found.loss == pytest.approx(loss, abs=1e-3)
    if metric == "error":
        assert found.prediction == "always 'b'"


def test_rows_without_a_target_count_as_the_worst() -> None:
    found = draw_baseline(rows([0] * 50 + [-1] * 50), scored(CLASSES, "error"), 1e4, EXACT)
    assert found.loss == pytest.approx(0.5, abs=1e-3)
    none = draw_baseline(rows([-1] * 50), scored(CLASSES, "error"), 1e4, EXACT)
    assert none.loss > 0.99


@pytest.mark.parametrize(("metric", "loss"), [("absolute", 0.25), ("squared", 1 / 12)])
def test_numbers_are_foretold_by_their_median_or_mean(metric: str, loss: float) -> None:
    spread = np.linspace(-1, 1, 2001)[1:]
    found = draw_baseline(rows(spread.tolist()), scored(NUMBERS, metric), 1e4, EXACT)
    assert found.loss == pytest.approx(loss, abs=5e-3)
    assert found.prediction in ("always about 197", "always about 203")  # the middles of the cells next to 200


def test_noise_on_many_cells_leaves_the_loss_unbiased() -> None:
    """Mean of 200 draws within five deviations of the exact loss: fails once in a million."""
    target, noise = rows(np.linspace(-1, 1, 1001)[1:].tolist()), Simulation(1)
    found = [draw_baseline(target, scored(NUMBERS, "absolute"), 0.2, noise).loss for _ in range(200)]
    stated = draw_baseline(target, scored(NUMBERS, "absolute"), 0.2, noise).deviation
    assert 0.8 * stated < np.std(found) < 1.25 * stated  # 200 draws: beyond once in 10,000
    assert abs(np.mean(found) - 0.25) < 5 * np.std(found) / math.sqrt(200) + 0.005  # choosing the least costs a little


def test_a_person_counts_once() -> None:
    found = draw_baseline(rows([0, 0, 0, 0, 1, 2], [0, 0, 0, 0, 1, 2]), scored(CLASSES, "error"), 1e5, EXACT)
    assert found.loss == pytest.approx(2 / 3, abs=1e-2)


def test_neighbours_are_no_further_apart_than_mu_allows() -> None:
    """Epsilon measured from the loss stays below the claim; the bound fails by chance once in 10,000."""
    noise, mu = Simulation(2), 1.0

    def losses(last: float) -> list[float]:
        data = rows([0.0] * 30 + [last])
        return [draw_baseline(data, scored(CLASSES, "error"), mu, noise).loss for _ in range(1500)]

    measured = lower_bound(losses(0.0), losses(1.0), delta=1e-3, confidence=0.9999, family="gdp")
    assert measured <= gdp_epsilon(mu, 1e-3)
