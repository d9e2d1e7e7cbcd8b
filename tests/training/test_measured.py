"""Any trainer of the registry as an algorithm of a front: epsilon of its mu, accuracy by seeded noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from registered import marks

from tacit.errors import BadInput, GuaranteeError
from tacit.pareto import discover
from tacit.pareto.algorithm import Algorithm
from tacit.privacy.conversions import gdp_epsilon
from tacit.space import Space
from tacit.training.measured import FLOOR, MeasuredTrainer
from tacit.training.registry import CLASSES, TRAINERS


def examples(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n, 3)) * np.array([1.0, 5.0, 0.2])
    return X, (X[:, 1] > 0).astype(int)


def measured(name: Any, n: int = 400) -> MeasuredTrainer:
    return MeasuredTrainer(name, *examples(n, 0), *examples(100, 1), classes=(0, 1))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=marks(n)) for n, entry in TRAINERS.items() if entry.task == CLASSES]
)
def test_every_trainer_of_classes_is_an_algorithm_whose_runs_repeat(name: str) -> None:
    algorithm = measured(name)
    assert isinstance(algorithm, Algorithm)
    params = {**Space(algorithm.space).params([[0.6] * len(Space(algorithm.space).names)])[0], "mu": 5.0}
    first, second = (algorithm.each_utility(params, 3) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (algorithm.records,)


def test_epsilon_is_that_of_mu_less_the_floor_and_grows_with_it() -> None:
    algorithm = measured("logistic")
    low, high = algorithm.epsilons([{"mu": 0.5}, {"mu": 2.0}], 1e-6)
    assert low == gdp_epsilon(0.5, 1e-6 - FLOOR) < high
    assert np.isinf(algorithm.epsilons([{"mu": 0.5}], 0.0)).all()
    with pytest.raises(GuaranteeError, match="above"):
        algorithm.epsilons([{"mu": 0.5}], FLOOR)


def test_a_front_of_a_trainer_says_what_more_epsilon_buys() -> None:
    front = discover(measured("logistic", 2000), delta=1e-5, trials=8, startup=6, reference=(40.0, 1.0)).value
    assert front.points[-1].utility > 0.85
    assert "mu-GDP" in front.label


def test_a_trainer_of_numbers_is_refused() -> None:
    with pytest.raises(BadInput, match="predicts numbers"):
        measured("ridge")
