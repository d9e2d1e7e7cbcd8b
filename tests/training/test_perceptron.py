"""A perceptron for release: exact sums of clipped gradients, whatever the weights are, and its JSON form."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from tacit.privacy.guarantee import Budget
from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import Simulation
from tacit.training.linear_losses import LOSSES
from tacit.training.model_files import read_model
from tacit.training.perceptron import (
    INPUT_BITS,
    PerceptronScores,
    PerceptronSettings,
    PerceptronTrainer,
    as_layers,
    first_weights,
    put_out,
    whole_inputs,
    whole_sums,
)
from tacit.training.secret_lots import draw_lot
from tacit.training.train import train
from tacit.training.trainer import EncodedRows, Facts

S = PerceptronSettings(100, 5, 20, (4,), 0.1, 0.7, 1.0)


def parts(loud: float, hidden: tuple[int, ...], outputs: int) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    rng, sizes = np.random.default_rng(3), (3, *hidden, outputs)
    layers = [rng.normal(0, loud, (i + 1, o)) for i, o in itertools.pairwise(sizes)]
    return put_out(whole_inputs(rng.uniform(-1, 1, (20, 3))), layers), layers, rng.normal(0, loud, (20, outputs))


@pytest.mark.parametrize("loud", [1e-3, 1.0, 1e6, 1e100])
@pytest.mark.parametrize("hidden", [(4,), (5, 3)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_one_record_adds_at_most_the_clip_in_whole_numbers(loud: float, hidden: tuple[int, ...], outputs: int) -> None:
    at, layers, residual = parts(loud, hidden, outputs)
    limit = (S.clip / S.unit) ** 2
    largest = 0
    for i in range(20):
        one = whole_sums([a[i : i + 1] for a in at], layers, residual[i : i + 1], S)
        assert all(v == math.trunc(v) for v in one)
        largest = max(largest, sum(int(v) ** 2 for v in one))  # Python's whole numbers are exact
    assert largest <= limit
    if loud == 1e6:  # far above the clip, so that the norm is close to it
        assert largest > 0.99 * limit


@pytest.mark.parametrize("hidden", [(4,), (5, 3)])
def test_the_sum_over_a_lot_is_exact(hidden: tuple[int, ...]) -> None:
    at, layers, residual = parts(1.0, hidden, 3)
    each = [whole_sums([a[i : i + 1] for a in at], layers, residual[i : i + 1], S) for i in range(20)]
    exact = [sum(int(row[j]) for row in each) for j in range(len(each[0]))]
    assert [int(v) for v in whole_sums(at, layers, residual, S)] == exact


def test_numbers_that_are_none_add_nothing() -> None:
    at, layers, residual = parts(1.0, (4,), 3)
    residual[:] = np.nan
    assert not whole_sums(at, layers, residual, S).any()


@pytest.mark.parametrize("hidden", [(4,), (6, 4)])
@pytest.mark.parametrize("clip", [1.0, 1e4])
def test_the_sum_is_that_of_clipped_gradients_by_finite_differences(hidden: tuple[int, ...], clip: float) -> None:
    rng = np.random.default_rng(0)
    x, target = whole_inputs(rng.uniform(-1, 1, (20, 3))), rng.integers(3, size=20)
    shapes = [(i + 1, o) for i, o in itertools.pairwise((3, *hidden, 3))]
    w = np.concatenate([rng.normal(0, 1, i * o) for i, o in shapes])

    def losses(w: np.ndarray) -> np.ndarray:
        a = x * 2.0**-INPUT_BITS
        for weights in as_layers(w, shapes)[:-1]:
            a = np.hstack([np.maximum(a @ weights, 0), np.ones((20, 1))])
        scores = a @ as_layers(w, shapes)[-1]
        return np.asarray(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(20), target])

    steps = np.eye(len(w)) * 1e-5
    slopes = np.array([(losses(w + d) - losses(w - d)) / 2e-5 for d in steps])
    slopes *= np.minimum(1, clip / np.linalg.norm(slopes, axis=0))
    layers = as_layers(w, shapes)
    at = put_out(x, layers)
    residual = LOSSES["logistic"](at[-1] @ layers[-1] * 2.0**-INPUT_BITS, target.astype(float))
    wide = PerceptronSettings(100, 5, 20, hidden, 0.1, clip, 1.0)
    total = whole_sums(at, layers, residual, wide) * wide.unit
    assert np.abs(total - slopes.sum(axis=1)).max() < 0.15  # rounding hidden layers to 2^-8 moves it by less
    assert np.corrcoef(total, slopes.sum(axis=1))[0, 1] > 0.999


def test_training_equals_the_published_steps_written_out() -> None:
    """Algorithm 3 with the same coins: the mean of clipped gradients plus noise, no momentum, the last weights."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 5)), rng.integers(3, size=80)
    trainer = PerceptronTrainer(hidden=(6, 4), published=True)
    s = trainer.settle({"epochs": 1, "lot": 16, "rate": 0.2, "variance": 1.0, "clip": 0.8}, 80)
    model = trainer.train(EncodedRows(X, y.astype(float)), s, Facts(80, 5, "classes", 3), Simulation(5))
    source, single = Simulation(5), np.dtype(np.float32)
    theta, layers = first_weights((5, 6, 4, 3), source, single, top=True)
    x = whole_inputs(X, single)
    for _ in range(5):
        lot = draw_lot(80, 16, source)
        at = put_out(x[lot], layers)
        residual = LOSSES["logistic"](at[-1] @ layers[-1] / 256, y[lot].astype(float))
        total = whole_sums(at, layers, residual, s)[None, :]
        drawn = (
            total + np.float32(2 * 0.8 / s.unit * ABOVE) * source.generator.standard_normal(total.shape, np.float32)
        )[0]
        theta -= (0.2 / 16 * s.unit * drawn).astype(np.float32)
    np.testing.assert_allclose(np.concatenate([w.ravel() for w in model.layers]), theta, rtol=1e-3, atol=1e-4)


def test_a_model_of_an_earlier_release_reads() -> None:
    old = {"kind": "perceptron", "task": "classes", "first": [[1.0], [0.5]], "second": [[2.0], [-1.0]]}
    read = PerceptronScores.from_json(old)
    np.testing.assert_allclose(read.scores(np.array([[1.0]]))[0, 1], 1 / (1 + math.exp(-2.0)))
    assert PerceptronScores.from_json(read.to_json()).to_json() == read.to_json()


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


def test_first_weights_have_no_constant_and_those_of_scores_are_zero_unless_published() -> None:
    for top in (False, True):
        _, layers = first_weights((5, 4, 3, 2), Simulation(0), top=top)
        assert not any(weights[-1].any() for weights in layers)
        assert [bool(weights.any()) for weights in layers] == [True, True, top]
