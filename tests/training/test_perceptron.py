"""A perceptron for release: exact sums of clipped gradients, whatever the weights are, and its JSON form."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT
from tacit.training.linear_losses import LOSSES
from tacit.training.model_files import read_model
from tacit.training.perceptron import (
    INPUT_BITS,
    PerceptronScores,
    PerceptronSettings,
    activate,
    first_weights,
    whole_inputs,
    whole_sums,
)
from tacit.training.train import train

S = PerceptronSettings(100, 5, 20, 4, 0.1, 0.7, 1.0)


def parts(loud: float, outputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = whole_inputs(rng.uniform(-1, 1, (20, 3)))
    h = activate(x, rng.normal(0, loud, (4, 4)))
    return x, h, rng.normal(0, loud, (5, outputs)), rng.normal(0, loud, (20, outputs))


@pytest.mark.parametrize("loud", [1e-3, 1.0, 1e6, 1e160])
@pytest.mark.parametrize("outputs", [1, 3])
def test_one_record_adds_at_most_the_clip_in_whole_numbers(loud: float, outputs: int) -> None:
    x, h, second, residual = parts(loud, outputs)
    limit = (S.clip / S.unit) ** 2
    for i in range(20):
        one = whole_sums(x[i : i + 1], h[i : i + 1], second, residual[i : i + 1], S)
        assert all(v == math.trunc(v) for v in one)
        assert sum(int(v) ** 2 for v in one) <= limit  # Python's whole numbers are exact
    if loud == 1e6:  # far above the clip, so that the norm is close to it
        assert sum(int(v) ** 2 for v in one) > 0.99 * limit


def test_the_sum_over_a_lot_is_exact() -> None:
    x, h, second, residual = parts(1.0, 3)
    each = [whole_sums(x[i : i + 1], h[i : i + 1], second, residual[i : i + 1], S) for i in range(20)]
    exact = [sum(int(row[j]) for row in each) for j in range(len(each[0]))]
    assert [int(v) for v in whole_sums(x, h, second, residual, S)] == exact


def test_numbers_that_are_none_add_nothing() -> None:
    x, h, second, residual = parts(1.0, 3)
    residual[:] = np.nan
    assert not whole_sums(x, h, second, residual, S).any()


def test_the_sum_is_the_gradient_where_nothing_is_clipped() -> None:
    rng = np.random.default_rng(0)
    x, target = whole_inputs(rng.uniform(-1, 1, (20, 3))), rng.integers(3, size=20).astype(float)
    first, second = rng.normal(0, 1, (4, 4)), rng.normal(0, 1, (5, 3))
    wide = PerceptronSettings(100, 5, 20, 4, 0.1, 1e4, 1.0)

    def loss(w: np.ndarray) -> float:
        inner = np.maximum(x @ w[:16].reshape(4, 4) * 2.0**-INPUT_BITS, 0)
        scores = np.hstack([inner, np.ones((20, 1))]) @ w[16:].reshape(5, 3)
        scores -= scores.max(axis=1, keepdims=True)
        return float((np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(20), target.astype(int)]).sum())

    w = np.concatenate([first.ravel(), second.ravel()])
    h = activate(x, first)
    residual = LOSSES["logistic"](h @ second * 2.0**-INPUT_BITS, target)
    found = whole_sums(x, h, second, residual, wide) * wide.unit
    steps = np.eye(len(w)) * 1e-5
    slopes = np.array([(loss(w + d) - loss(w - d)) / 2e-5 for d in steps])
    assert np.abs(found - slopes).max() < 0.1  # rounding the hidden layer to 2^-8 moves it by less
    assert np.corrcoef(found, slopes)[0, 1] > 0.9999


def test_a_perceptron_learns_what_no_line_divides_and_is_read_from_json(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (6000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    from tacit.data.schema import Schema

    schema = Schema.declare({"0": (-1, 1), "1": (-1, 1)}, target="y", labels=[0, 1])
    budget = Budget.approximate(8.0, 1e-5)
    release = train("mlp", X, y, budget=budget, runs=4, schema=schema, out=tmp_path, progress=False)
    assert release.value.score < 0.45
    assert not release.guarantee.assumptions[1:]
    (tmp_path / "model.joblib").unlink(missing_ok=True)
    again = read_model(tmp_path)
    assert isinstance(again.model, PerceptronScores)
    assert (again.predict_proba(X) == release.value.model.predict_proba(X)).all()


def test_first_weights_have_no_constant() -> None:
    assert not first_weights(5, 3, EXACT)[-1].any()
