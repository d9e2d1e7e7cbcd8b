"""Perceptrons as fronts measure them: seeds, noise, sizes and domains; their sums are in test_perceptron.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.pareto.algorithm import Algorithm
from tacit.privacy.noise import Simulation
from tacit.training.dp_mlp import Network, Network128x64, Network1000
from tacit.training.dp_sgd import LogisticSGD
from tacit.training.perceptron import first_weights

PARAMS: dict[str, Any] = {"epochs": 1, "lot": 16, "rate": 0.2, "variance": 1.0, "clip": 0.8}


def examples(n: int = 80, d: int = 5, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return 2.0 * np.eye(classes, d)[y] + 0.4 * rng.normal(size=(n, d)), y


def test_noise_has_two_clip_sigma_over_lot() -> None:
    """The change of one step at an enormous variance is noise: 16,000 normals, 3% is 5 deviations."""
    X, y = examples(40, d=100)
    algorithm = Network(X, y, X, y, hidden=(150,))
    asked = {"epochs": 1, "lot": 40, "rate": 1.0, "variance": 1e6, "clip": 0.5}
    start = first_weights(algorithm.sizes, Simulation(3), np.dtype(np.float32), top=True)[0]
    (model,) = algorithm.train(asked, [3]).reveal()
    moved = np.concatenate([weights.ravel() for weights in model.layers]) - start
    assert moved.std() == pytest.approx(2 * 0.5 * 1000 / 40, rel=0.03)


def test_a_lot_of_nothing_but_zeros_is_trained_on() -> None:
    X, y = np.zeros((6, 4)), np.array([0, 1, 2, 0, 1, 2])
    X[0] = 1.0
    (model,) = Network(X, y, X, y, hidden=(3,)).train({**PARAMS, "lot": 1}, [0]).reveal()
    assert all(np.isfinite(weights).all() for weights in model.layers)


def test_a_perceptron_learns_and_repeats_by_seed() -> None:
    X, y = examples(600)
    algorithm = Network(X, y, *examples(100, seed=1), hidden=(16,))
    asked = {"epochs": 10, "lot": 50, "rate": 0.5, "variance": 0.25, "clip": 1.0}
    found = algorithm.utilities(asked, [1, 2, 1])
    assert found.min() > 0.8
    assert found[0] == found[2]
    assert algorithm.utility(asked, 2) == found[1]


def test_epsilon_is_that_of_dp_sgd_whatever_the_model() -> None:
    X, y = examples(classes=2)
    points = [PARAMS, {**PARAMS, "variance": 9.0, "epochs": 30}]
    network, linear = Network(X, y, X, y), LogisticSGD(X, y, X, y)
    np.testing.assert_array_equal(network.epsilons(points, 1e-5), linear.epsilons(points, 1e-5))
    assert network.label == linear.label
    assert isinstance(network, Algorithm)


def test_the_papers_networks_have_its_sizes_and_domain() -> None:
    X, y = examples(12, d=784, classes=10)
    assert Network1000(X, y, X, y).sizes == (784, 1000, 10)
    big = Network128x64(X, y, X, y)
    assert big.sizes == (784, 128, 64, 10)
    assert big.space.distributions["epochs"].high == 400
    assert Network128x64(X, y, X, y, hidden=(7,)).sizes == (784, 7, 10)


def test_models_for_measuring_stay_unreleased() -> None:
    X, y = examples()
    model = Network(X, y, X, y, hidden=(3,)).train(PARAMS, [0])
    assert "not released" in repr(model)


def test_bad_layers_and_lots_are_refused() -> None:
    X, y = examples()
    with pytest.raises(BadInput, match="at least one layer"):
        Network(X, y, hidden=())
    with pytest.raises(BadInput, match="hidden must be at least 1"):
        Network(X, y, hidden=(0,))
    with pytest.raises(BadInput, match="lot must be at most"):
        Network(X, y, X, y).utility({**PARAMS, "lot": 81}, 0)
