"""Output perturbation: its sensitivity by adversary, its epsilon by dp-accounting, its steps written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BadInput
from tacit.pareto.algorithm import Algorithm
from tacit.privacy.noise import Simulation
from tacit.training import output_perturbation
from tacit.training.output_perturbation import OutputPerturbation
from tacit.training.perturbed_output import PlainDescent, unit_rows
from tacit.training.registry import find_trainer
from tacit.training.secret_lots import draw_order
from tacit.training.trainer import EncodedRows, Facts

PARAMS: dict[str, Any] = {"gamma": 0.05, "sigma": 0.5}


def examples(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] > 0).astype(int)


def made(n: int = 60, **asked: Any) -> OutputPerturbation:
    return OutputPerturbation(*examples(n), *examples(200, seed=1), **{"epochs": 2, **asked})


def test_training_equals_the_papers_steps_written_out() -> None:
    """Wu et al. Algorithm 2, projection included, one example a step over one order, then sigma N(0, I)."""
    algorithm, (X, y) = made(bound=2.0), examples()
    x = X / 2.0
    x /= np.maximum(1, np.linalg.norm(x, axis=1))[:, None]
    rng, gamma = np.random.default_rng(7), 0.05
    order, w, t = rng.permutation(60), np.zeros(4), 0
    for _ in range(2):
        for i in order:
            t += 1
            s = 2 * y[i] - 1
            gradient = -s * x[i] / (1 + math.exp(s * (w @ x[i]))) + gamma * w
            w = w - min(1 / (1 + gamma), 1 / (gamma * t)) * gradient
            w = w / max(1.0, gamma * np.linalg.norm(w))
    np.testing.assert_allclose(algorithm.train(PARAMS, [7]).reveal()[0], w + 0.5 * rng.standard_normal(4), rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(-4, 0), st.integers(0, 19))
def test_replacing_a_record_moves_the_weights_by_at_most_the_sensitivity(seed: int, power: float, at: int) -> None:
    """Adversarial: features of norm 1 along one line, and the record replaced by its opposite."""
    rng = np.random.default_rng(seed)
    x = np.sign(rng.normal(size=(20, 1))) * np.array([[1.0, 0.0]])
    y = rng.integers(0, 2, 20)
    other_x, other_y = x.copy(), y.copy()
    other_x[at] *= rng.choice([-1, 1])
    other_y[at] = 1 - y[at]
    gamma, order = 10**power, rng.permutation(20)[None]
    pair = [
        OutputPerturbation(a, b, a, b, classes=(0, 1), epochs=3)._fit(gamma, order)
        for a, b in ((x, y), (other_x, other_y))
    ]
    allowed = OutputPerturbation(x, y, x, y, classes=(0, 1)).sensitivity(gamma)
    assert np.linalg.norm(pair[0] - pair[1]) <= allowed
    assert np.linalg.norm(pair[0]) <= 1 / gamma  # the projection that is left out never acts


def test_the_sensitivity_is_nearly_reached() -> None:
    """One step in from the end of a pass at large gamma: the bound is not idle (within a factor of 5)."""
    x, y = np.ones((20, 1)), np.r_[np.ones(19, int), 0]
    other = np.ones(20, int)
    fitted = [
        OutputPerturbation(x, a, x, a, classes=(0, 1), epochs=1)._fit(1.0, np.arange(20)[None]) for a in (y, other)
    ]
    allowed = OutputPerturbation(x, y, x, y).sensitivity(1.0)
    assert allowed / 5 <= np.linalg.norm(fitted[0] - fitted[1]) <= allowed


@pytest.mark.parametrize(("gamma", "sigma"), [(0.05, 1.0), (1.0, 0.1), (0.5, 10.0)])
def test_epsilons_equal_dp_accountings_privacy_loss_distribution(gamma: float, sigma: float) -> None:
    algorithm = made()
    mu = 4 / (60 * gamma * sigma)
    peer = pld.privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=1e-4)
    found = algorithm.epsilons([{"gamma": gamma, "sigma": sigma}], 1e-6)[0]
    assert found == pytest.approx(peer.get_epsilon_for_delta(1e-6), rel=1e-3)
    assert "one record replaced" in algorithm.label
    assert isinstance(algorithm, Algorithm)


def test_repeats_at_once_equal_repeats_one_by_one() -> None:
    algorithm = made()
    together = algorithm.train(PARAMS, [3, 1, 2]).reveal()
    apart = [made().train(PARAMS, [seed]).reveal()[0] for seed in (3, 1, 2)]
    np.testing.assert_allclose(together, apart, rtol=1e-9)
    assert algorithm.utilities(PARAMS, [3, 1]).tolist() == [algorithm.utility(PARAMS, s) for s in (3, 1)]


def test_models_kept_for_another_sigma_differ_by_the_noise_alone() -> None:
    algorithm = made()
    one, two = (algorithm.train({"gamma": 0.05, "sigma": s}, [0, 1]).reveal() for s in (1.0, 3.0))
    base = made().train({"gamma": 0.05, "sigma": 1e-12}, [0, 1]).reveal()
    np.testing.assert_allclose(two - base, 3 * (one - base), rtol=1e-9)
    for i in range(20):
        algorithm.train({"gamma": 0.1 + i, "sigma": 1.0}, [0])
    assert len(algorithm._kept) <= 8


def test_little_noise_learns_and_much_noise_forgets() -> None:
    algorithm = made(500, bound=3.0)
    assert algorithm.utilities({"gamma": 1e-3, "sigma": 0.01}, [0, 1]).min() > 0.85
    assert algorithm.utilities({"gamma": 1.0, "sigma": 10.0}, list(range(30))).mean() == pytest.approx(0.5, abs=0.2)
    assert algorithm.each_utility(PARAMS, 0).shape == (algorithm.records,)


def test_the_trainer_of_its_name_takes_the_same_steps() -> None:
    """With next to no noise, on rows of length 1, which both take as they are but for the constant."""
    X, y = np.array([[3.0, 4.0], [-5.0, 12.0], [8.0, -6.0], [-1.0, -1.0]] * 10), np.array([1, 0, 1, 0] * 10)
    rows, noise = EncodedRows(X, y.astype(float)), Simulation(5)
    settings = PlainDescent(40, 3, 1, 0.05, 3, 1e9, passes=True)
    released = find_trainer("output_perturbation").load().train(rows, settings, Facts(40, 2, "classes", 2), noise)
    order, x, w, t = draw_order(40, Simulation(5)), unit_rows(X), np.zeros(3), 0
    for _ in range(3):
        for i in order:
            t += 1
            s = 2 * y[i] - 1
            gradient = -s * x[i] / (1 + math.exp(s * (w @ x[i]))) + 0.05 * w
            w = w - min(1 / 1.05, 1 / (0.05 * t)) * gradient
    np.testing.assert_allclose(released.weights[0], w, rtol=1e-6)
    assert settings.sensitivity == OutputPerturbation(X, y, X, y).sensitivity(0.05) == 4 / (40 * 0.05)


def test_bad_input_is_refused() -> None:
    X, _ = examples()
    with pytest.raises(BadInput, match="takes 2 classes"):
        OutputPerturbation(X, np.arange(60) % 3)
    with pytest.raises(BadInput, match="bound must be positive"):
        made(bound=0.0)
    with pytest.raises(BadInput, match="'sigma' is missing"):
        made().utility({"gamma": 1.0}, 0)
    with pytest.raises(BadInput, match="gamma must be positive"):
        made().epsilons([{"gamma": 0.0, "sigma": 1.0}], 1e-6)


def test_runs_one_after_the_other_and_all_at_once_end_alike() -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(30, 5)) / 5
    orders = np.array([rng.permutation(30) for _ in range(6)])
    together = output_perturbation._descend_together(0.05, rows, orders, 3)
    apart = [output_perturbation.descend_passes(0.05, [rows[i] for i in order], 3) for order in orders]
    np.testing.assert_allclose(together, apart, rtol=1e-10)
