"""The recorder: what enters a mechanism moves by no more than was declared, and nothing else depends on the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import tacit
from tacit.audit.recorder import Compared, Recorder, compared, record
from tacit.methods.kusner.regularised import RegularisedClassifier
from tacit.methods.optimiser import sobol_points
from tacit.privacy.mean import STEPS, BoundedMean
from tacit.privacy.mechanisms import Exponential, Gaussian, Laplace

N, T = 20, 6
HERE, THERE = (np.r_[x, np.full(N - 1, 0.5)] for x in (0.0, 1.0))
UNIT = {"x": tacit.Float(0.0, 1.0)}


def tuned(method: str, budget: tacit.Budget, **more: Any) -> Any:
    def run(data: np.ndarray, recorder: Recorder) -> Any:
        about = {"records": N, "bounds": (0.0, 1.0), "budget": budget, "trials": T, "method": method, **more}
        objective = recorder.watch(lambda params: data * (0.5 + params["x"] / 2))
        return tacit.tune(objective, UNIT, **about, noise=recorder, accept_noise=True, progress=False)

    return run


@pytest.mark.parametrize("method", ["observed", "random"])
def test_private_observations_move_by_what_they_claim_and_no_more(method: str) -> None:
    budget = tacit.Budget.gdp(1.5)

    def run(data: np.ndarray, recorder: Recorder) -> Any:
        about = {"records": N, "bounds": (0.0, 1.0), "budget": budget, "trials": T, "method": method}
        objective = recorder.watch(lambda params: data)
        return tacit.tune(objective, UNIT, **about, noise=recorder, accept_noise=True, progress=False)

    found = compared(run, HERE, THERE)
    assert found.within(budget, {"gaussian_whole": STEPS}) == []
    assert found.mu == pytest.approx(1.5, rel=1e-6), "the neighbours are the worst there are"
    assert found.moved == {"gaussian_whole": float(STEPS)}


@pytest.mark.parametrize("pair", range(4))
def test_where_private_observations_look_depends_on_answers_only(pair: int) -> None:
    rng = np.random.default_rng(pair)
    one, other = rng.random(N), rng.random(N)
    other[1:] = one[1:]
    found = compared(tuned("observed", tacit.Budget.gdp(20.0)), one, other, seed=pair)
    assert found.same_flow
    assert found.same_evaluations
    assert found.same_error
    assert 0 < found.mu < 20.0


def test_dp_gibo_moves_by_what_it_claims_and_no_more() -> None:
    budget, space = tacit.Budget.gdp(2.0), {f"x{i}": tacit.Float(0.0, 1.0) for i in range(3)}

    def run(steep: float, recorder: Recorder) -> Any:
        losses = recorder.watch(lambda params: np.r_[steep, np.zeros(9)] * sum(params.values()))
        about = {"records": 10, "bounds": (0.0, 1.0), "budget": budget, "trials": 4, "method": "gibo"}
        return tacit.tune(losses, space, **about, noise=recorder, accept_noise=True, progress=False)

    found = compared(run, 1e3, -1e3)
    assert found.within(budget) == []
    assert found.mu == pytest.approx(2.0, rel=1e-6)
    assert found.same_evaluations


def test_dp_gibos_start_steps_and_score_reach_the_claim_together_and_no_more() -> None:
    d, budget = 3, tacit.Budget.gdp(2.0)
    space = {f"x{i}": tacit.Float(0.0, 1.0) for i in range(d)}
    between = (0.5 * d + float(sobol_points(d, 1, 0).sum())) / 2  # of the two places: up at one, down at the other

    def run(steep: float, recorder: Recorder) -> Any:
        losses = recorder.watch(lambda params: np.r_[steep, np.zeros(9)] * (sum(params.values()) - between))
        about = {"records": 10, "bounds": (0.0, 1.0), "budget": budget, "trials": 4, "method": "gibo"}
        return tacit.tune(losses, space, **about, scan=2, noise=recorder, accept_noise=True, progress=False)

    found = compared(run, 1e3, -1e3)
    assert found.within(budget) == []
    drawn = 2 * ndtri(1 / (1 + math.exp(-found.epsilon / 2)))  # mu of a draw whose privacy losses have this range
    assert math.hypot(found.mu, drawn) == pytest.approx(2.0, rel=1e-6)
    assert math.hypot(found.mu, drawn) <= 2.0
    assert found.same_evaluations


def test_algorithm_3_moves_by_no_more_than_its_sensitivity() -> None:
    row = np.array([[1.0, 0.0]])

    def run(label: int, recorder: Recorder) -> Any:
        model = RegularisedClassifier(row, [1], row, [label], loss="hinge")
        about = {"records": 1, "bounds": (0.0, 1.0), "budget": tacit.Budget.pure(1.0), "trials": 2, "candidates": 3}
        space = {"s": tacit.Float(10.0, 10.01)}
        return tacit.tune(model, space, **about, method="kusner3", noise=recorder, accept_noise=True)

    with pytest.warns(UserWarning, match="Laplace noise"):
        found = compared(run, 1, -1, replay="coins")
    assert found.within(tacit.Budget.pure(1.0)) == []
    assert 0.9 < found.epsilon <= 1.0


def test_the_norms_are_those_of_the_mechanisms() -> None:
    def run(data: np.ndarray, recorder: Recorder) -> None:
        Gaussian(5.0, scale=10.0, size=2, noise=recorder).release(data[:2])
        Laplace(7.0, scale=14.0, size=2, noise=recorder).release(data[:2])
        Exponential(4.0, scale=14.0, noise=recorder).release(data[:2])

    found = compared(run, np.zeros(2), np.array([3.0, -4.0]))
    assert found.moved == {"gaussian": 5.0, "laplace": 7.0, "gumbel": 7.0}
    assert found.mu == 0.5
    assert found.epsilon == 1.0


def test_a_replay_of_answers_answers_the_same_and_one_of_coins_shifts() -> None:
    def run(value: float, recorder: Recorder) -> float:
        return Gaussian(1.0, scale=1.0, noise=recorder).release(value).value

    first = record(run, 0.0, Recorder(3))
    assert record(run, 1.0, Recorder(3, tape=first)).result == first.result
    assert record(run, 1.0, Recorder(3, tape=first, replay="coins")).result == pytest.approx(first.result + 1.0)


def test_a_recorded_mean_is_the_mean_of_a_simulation() -> None:
    mean = BoundedMean(N, (0.0, 1.0), scale=0.1, noise=Recorder(5))
    drawn = [mean.release(HERE).value for _ in range(2000)]
    assert abs(np.mean(drawn) - HERE.mean()) < 5 * 0.1 / np.sqrt(2000)
    assert mean.guarantee.kind == "none"


@pytest.mark.parametrize(
    ("claim", "mu", "epsilon", "fits"),
    [
        (tacit.Budget.gdp(1.0), 1.0, 0.0, True),
        (tacit.Budget.gdp(1.0), 1.1, 0.0, False),
        (tacit.Budget.gdp(0.13), 0.0, 0.1, True),  # every pure mechanism is a Gaussian one of some mu
        (tacit.Budget.gdp(0.12), 0.0, 0.1, False),
        (tacit.Budget.gdp(1.0), 0.99, 0.1, True),
        (tacit.Budget.gdp(1.0), 0.999, 0.1, False),
        (tacit.Budget.pure(1.0), 0.0, 1.0, True),
        (tacit.Budget.pure(1.0), 0.1, 0.0, False),
        (tacit.Budget.approximate(1.0, 1e-5), 0.2, 0.0, True),
        (tacit.Budget.approximate(1.0, 1e-5), 0.4, 0.0, False),
        (tacit.Budget.zcdp(0.5), 1.0, 0.0, True),
        (tacit.Budget.zcdp(0.5), 1.0, 0.1, False),
    ],
)
def test_what_entered_is_held_against_each_notion(claim: tacit.Budget, mu: float, epsilon: float, fits: bool) -> None:
    found = Compared(mu, epsilon, {"gaussian": 1.0}, True, True, True, ())
    assert (found.within(claim) == []) is fits


def test_a_declared_sensitivity_that_is_exceeded_is_said() -> None:
    found = Compared(0.1, 0.0, {"gaussian": 1.5}, True, True, True, ())
    assert found.within(tacit.Budget.gdp(1.0), {"gaussian": 1.5}) == []
    assert "declared sensitivity" in found.within(tacit.Budget.gdp(1.0), {"gaussian": 1.0})[0]
