"""Perceptrons by DP-SGD: against loops over examples, finite differences, and plain steps with the same coins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacit.errors import BadInput
from tacit.pareto.algorithm import Algorithm
from tacit.training.dp_mlp import Network, Network128x64, Network1000, Perceptron
from tacit.training.dp_sgd import LogisticSGD
from tacit.training.fast_noise import FastNormals
from tacit.training.inputs import Inputs
from tacit.training.lots import LotSettings, distinct_lots

PARAMS: dict[str, Any] = {"epochs": 1, "lot": 16, "rate": 0.2, "variance": 1.0, "clip": 0.8}


def examples(n: int = 80, d: int = 5, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return 2.0 * np.eye(classes, d)[y] + 0.4 * rng.normal(size=(n, d)), y


def net_of(sizes: tuple[int, ...], seed: int = 0) -> Perceptron:
    net = Perceptron(sizes, np.float64)
    rng = np.random.default_rng(seed)
    net.initialise(rng)
    for W in net.layers:
        W[-1] = rng.normal(size=W.shape[1])
    return net


def loss(net: Perceptron, x: np.ndarray, y: int) -> float:
    """Cross-entropy of one example, straight from the definition."""
    h = x
    for i, W in enumerate(net.layers):
        h = h @ W[:-1] + W[-1]
        if i < len(net.layers) - 1:
            h = np.maximum(h, 0)
    return float(np.log(np.exp(h).sum()) - h[y])


def gradient(net: Perceptron, x: np.ndarray, y: int) -> np.ndarray:
    """One example's gradient by central differences."""
    found = np.zeros_like(net.theta)
    for i in range(len(found)):
        kept = net.theta[i]
        values = []
        for h in (1e-6, -1e-6):
            net.theta[i] = kept + h
            values.append(loss(net, x, y))
        net.theta[i] = kept
        found[i] = (values[0] - values[1]) / 2e-6
    return found


@pytest.mark.parametrize("sizes", [(5, 7, 3), (5, 6, 4, 3), (5, 3)])
@pytest.mark.parametrize("clip", [0.1, 1.5, 1e6])
def test_clipped_sums_equal_a_loop_over_examples_by_finite_differences(sizes: tuple[int, ...], clip: float) -> None:
    X, y = examples(9)
    net = net_of(sizes)
    total = np.zeros_like(net.theta)
    for x, label in zip(X, y, strict=True):
        g = gradient(net, x, label)
        total += g * min(1.0, clip / np.linalg.norm(g))
    np.testing.assert_allclose(net.clipped_sums(X, y, clip), total, atol=1e-7 * 9)


@pytest.mark.parametrize("hidden", [(1000,), (128, 64)])
def test_the_papers_networks_clip_each_example_by_itself(hidden: tuple[int, ...]) -> None:
    """A lot's sum is the sum of lots of one, and each of those has at most the clip's norm."""
    X, y = examples(12, d=784, classes=10)
    net = Perceptron((784, *hidden, 10), np.float64)
    net.initialise(np.random.default_rng(0))
    apart = [net.clipped_sums(X[[i]], y[[i]], 0.5).copy() for i in range(12)]
    free = [net.clipped_sums(X[[i]], y[[i]], 1e9).copy() for i in range(12)]
    np.testing.assert_allclose(net.clipped_sums(X, y, 0.5), np.sum(apart, axis=0), atol=1e-12)
    for g, whole in zip(apart, free, strict=True):
        norm = np.linalg.norm(whole)
        np.testing.assert_allclose(g, whole * min(1, 0.5 / norm), rtol=1e-9, atol=1e-15)
        assert np.linalg.norm(g) <= 0.5 * (1 + 1e-12)


def test_training_equals_the_papers_steps_written_out() -> None:
    """Algorithm 3 with the same coins: the mean of clipped gradients plus (2L / m) N(0, sigma^2 I)."""
    X, y = examples()
    algorithm, s = Network(X, y, X, y, hidden=(6, 4)), LotSettings.of(PARAMS, 80)
    rng, net = np.random.default_rng(5), Perceptron((5, 6, 4, 3))
    net.initialise(rng)
    lots = distinct_lots(rng, 80, 16, s.steps)
    for lot in lots:
        g = net.clipped_sums(X[lot].astype(np.float32), y[lot], 0.8) / 16
        z = np.empty_like(net.theta)
        FastNormals(rng, 1.0).fill(z)
        net.theta -= np.float32(0.2) * (g + np.float32(2 * 0.8 / 16) * z)
    found = algorithm.train(PARAMS, [5]).reveal()[0]
    np.testing.assert_allclose(found.theta, net.theta, rtol=1e-3, atol=1e-5)


def test_leaving_out_zeros_changes_nothing() -> None:
    """Sparse inputs, whose zeros are skipped, against the same training with every column multiplied."""
    X, y = examples(d=12)
    X[:, 2:9] *= np.random.default_rng(1).random((80, 7)) < 0.05
    algorithm = Network(X, y, X, y, hidden=(6, 4))
    held, order = algorithm._inputs
    assert held.full.shape == (80, 5)
    assert order.tolist() != sorted(order)
    sparse = algorithm.train(PARAMS, [5]).reveal()[0].theta
    algorithm.__dict__["_held"] = (Inputs.whole(X.astype(np.float32)[:, order]), order)
    np.testing.assert_allclose(sparse, algorithm.train(PARAMS, [5]).reveal()[0].theta, rtol=1e-4, atol=1e-6)
    net, rows = net_of((12, 5, 3)), X[:9]
    some, order = Inputs.of(rows)
    full = net.clipped_sums(rows[:, order], y[:9], 0.5).copy()
    assert some.rare is not None
    np.testing.assert_allclose(net.clipped_sums(some, y[:9], 0.5), full, atol=1e-12)


def test_a_trained_network_takes_its_inputs_in_the_order_given() -> None:
    """Noise far below the weights: the input that decides has the largest weights, wherever it was held."""
    y = np.arange(200) % 2
    X = np.random.default_rng(0).normal(size=(200, 6)) * (np.random.default_rng(1).random((200, 6)) < 0.05)
    X[:, 3] = 2.0 * y - 1
    net = (
        Network(X, y, X, y, hidden=(8,)).train({**PARAMS, "epochs": 40, "rate": 0.5, "variance": 1e-6}, [0]).reveal()[0]
    )
    assert (net.scores(X.astype(np.float32))[-1].argmax(axis=1) == y).mean() > 0.95


def test_a_lot_of_nothing_but_zeros_is_trained_on() -> None:
    X, y = np.zeros((6, 4)), np.array([0, 1, 2, 0, 1, 2])
    X[0] = 1.0
    net = Network(X, y, X, y, hidden=(3,)).train({**PARAMS, "lot": 1}, [0]).reveal()[0]
    assert np.isfinite(net.theta).all()


def test_fast_normals_are_normal_and_independent() -> None:
    """A million draws: Kolmogorov-Smirnov alarms once in 1,000 seeds, each moment within 5 of its deviations."""
    z = np.empty(1_000_001, np.float32)
    FastNormals(np.random.default_rng(2), 3.0).fill(z)
    z = z.astype(float) / 3.0
    assert stats.kstest(z, "norm").pvalue > 1e-3
    for power, mean, deviation in ((1, 0, 1), (2, 1, 2**0.5), (3, 0, 15**0.5), (4, 3, 96**0.5)):
        assert (z**power).mean() == pytest.approx(mean, abs=5 * deviation / 1000)
    for lag in (1, 2, 4, 65_536):
        assert abs((z[:-lag] * z[lag:]).mean()) < 5 / 950


def test_noise_has_two_clip_sigma_over_lot() -> None:
    """The change of one step at an enormous variance is noise: 16,000 normals, 3% is 5 deviations."""
    X, y = examples(40, d=100)
    algorithm = Network(X, y, X, y, hidden=(150,))
    asked = {"epochs": 1, "lot": 40, "rate": 1.0, "variance": 1e6, "clip": 0.5}
    start = Perceptron(algorithm.sizes)
    start.initialise(np.random.default_rng(3))
    moved = algorithm.train(asked, [3]).reveal()[0].theta - start.theta
    assert moved.std() == pytest.approx(2 * 0.5 * 1000 / 40, rel=0.03)


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
    assert not hasattr(Network, "train_for_release")


def test_bad_layers_and_lots_are_refused() -> None:
    X, y = examples()
    with pytest.raises(BadInput, match="at least one layer"):
        Network(X, y, hidden=())
    with pytest.raises(BadInput, match="hidden must be at least 1"):
        Network(X, y, hidden=(0,))
    with pytest.raises(BadInput, match="lot must be at most"):
        Network(X, y, X, y).utility({**PARAMS, "lot": 81}, 0)


def test_an_example_with_no_gradient_adds_nothing() -> None:
    """A score so large that the softmax is exact: its error is 0 and clipping must not divide by 0."""
    net = Perceptron((1, 2), np.float32)
    net.layers[0][:] = [[2000.0, -2000.0], [0.0, 0.0]]
    assert not net.clipped_sums(np.ones((3, 1), np.float32), np.zeros(3, int), 1.0).any()
