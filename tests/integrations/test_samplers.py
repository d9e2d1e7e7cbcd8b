"""Optuna's own suites for samplers, and what they do not ask: noise, directions, narrowed ranges, seeds."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna_bowl import bowl, wrapped

import tacit
from tacit.errors import BadInput
from tacit.samplers import DParetoSampler, KnownNoiseSampler

SPACE = {"x": tacit.Float(0.0, 1.0), "y": tacit.Float(0.0, 1.0)}


@pytest.fixture(autouse=True)
def quiet_optuna() -> None:
    logging.getLogger("optuna").setLevel(logging.WARNING)


class TestKnownNoiseSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """All of Optuna's suite for samplers of one objective."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: KnownNoiseSampler(0.01, startup=4, seed=0)


def epsilons(params: Any) -> np.ndarray:
    return np.array([1.0 + p["x"] for p in params])


class TestDParetoSampler(MultiObjectiveSamplerTestCase):
    """Optuna's suite for several objectives. Exceptions: those of single objectives, which a front has not, and of
    relative sampling in other spaces than its own."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: DParetoSampler(SPACE, epsilons)


def optimised(sampler: BaseSampler, directions: list[str], *, trials: int = 24, high: float = 1.0) -> optuna.Study:
    """Error (x - 1)^2 + (y - 0.3)^2 within [0.05, 0.95], epsilon 1 + x; a study that maximises has 1 less the error."""
    study = optuna.create_study(directions=directions, sampler=sampler)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0.0, high), trial.suggest_float("y", 0.0, 1.0)
        error = 0.05 + 0.45 * ((x - 1) ** 2 + (y - 0.3) ** 2)
        return 1.0 + x, 1 - error if directions[1] == "maximize" else error

    study.optimize(objective, n_trials=trials)
    return study


def test_a_maximised_accuracy_gives_the_points_of_its_minimised_error() -> None:
    less, more = (
        optimised(DParetoSampler(SPACE, epsilons, startup=6, reference=(3.0, 1.0), seed=1), ["minimize", way])
        for way in ("minimize", "maximize")
    )
    for one, other in zip(less.trials, more.trials, strict=True):
        assert one.params["y"] == pytest.approx(other.params["y"], abs=1e-6)
    assert np.mean([abs(t.params["y"] - 0.3) for t in more.trials[12:]]) < 0.2


@pytest.mark.parametrize("directions", [["maximize", "minimize"], ["maximize", "maximize"]])
def test_a_maximised_epsilon_is_refused(directions: list[str]) -> None:
    with pytest.raises(BadInput, match="minimises epsilon"):
        optimised(DParetoSampler(SPACE, epsilons), directions, trials=1)


def test_a_front_goes_on_in_a_narrowed_range_and_in_a_part_of_its_space() -> None:
    sampler = DParetoSampler(SPACE, epsilons, startup=4, reference=(3.0, 1.0), seed=1)
    study = optimised(sampler, ["minimize", "minimize"], trials=8)
    narrow: Any = {"x": FloatDistribution(0.0, 0.4)}
    for _ in range(4):
        trial = study.ask(fixed_distributions=narrow)
        assert trial.params.keys() == {"x"}
        assert trial.params["x"] <= 0.4
        study.tell(trial, (1.0 + trial.params["x"], 0.5))
    narrower = DParetoSampler({**SPACE, "x": tacit.Float(0.0, 0.4)}, epsilons, startup=4, reference=(3.0, 1.0))
    study.sampler = narrower  # trials beyond 0.4 have no place in it
    assert study.ask(fixed_distributions=narrower.space.distributions).params["x"] <= 0.4


@pytest.mark.parametrize("make", [lambda: KnownNoiseSampler(seed=0), lambda: DParetoSampler(SPACE, epsilons)])
def test_a_reseeded_sampler_draws_other_points(make: Callable[[], BaseSampler]) -> None:
    study = optuna.create_study()
    draws = []
    for _ in range(2):
        sampler = make()
        sampler.reseed_rng()
        trial = study._storage.get_trial(study._storage.create_new_trial(study._study_id))
        draws.append(sampler.sample_independent(study, trial, "x", FloatDistribution(0.0, 1.0)))
    assert draws[0] != draws[1]


def test_known_noise_is_searched_through_and_ranges_may_narrow() -> None:
    generator, high = np.random.default_rng(0), [1.0]

    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0.0, high[0]), trial.suggest_float("y", 0.0, 1.0)
        return float((x - 0.3) ** 2 + (y - 0.6) ** 2 + 0.01 * generator.normal())

    study = optuna.create_study(sampler=KnownNoiseSampler(0.01, startup=8, seed=0))
    study.optimize(objective, n_trials=20)
    high[0] = 0.5
    study.optimize(objective, n_trials=10)
    late = study.trials[-5:]
    assert all(t.params["x"] <= 0.5 for t in late)
    assert np.mean([(t.params["x"] - 0.3) ** 2 + (t.params["y"] - 0.6) ** 2 for t in late]) < 0.05


def test_a_sampler_can_be_pickled_and_goes_on() -> None:
    study = optuna.create_study(sampler=KnownNoiseSampler(0.01, startup=4, seed=3))
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0), n_trials=6)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert len(study.trials) == 8


def test_negative_noise_is_refused() -> None:
    with pytest.raises(BadInput, match="standard deviation"):
        KnownNoiseSampler(-1.0)


def test_a_private_objective_has_a_sampler_that_knows_its_noise() -> None:
    objective = wrapped(bowl)
    study = optuna.create_study(sampler=objective.sampler(seed=0))
    study.optimize(objective, n_trials=12)
    value = objective.release(study).value
    assert objective.sampler().noise == objective.noise_scale == value.noise
