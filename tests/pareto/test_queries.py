"""What a front predicts at hyper-parameters that were not tested."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pareto_toys import Noisy, Toy

from tacit import Budget, Simulation
from tacit.errors import BadInput
from tacit.pareto import Front, Point, PrivateTest, discover
from tacit.pareto.estimates import ErrorModel, scatter
from tacit.pareto.surrogate import Scale
from tacit.space import Space

LABEL = "no sampling, one record replaced"
SPACE = Space(Toy().space)


def front_of(*pairs: tuple[float, float], **about: object) -> Front:
    points = tuple(Point.of({"x": i}, e, [u]) for i, (e, u) in enumerate(pairs))
    return Front(points, LABEL, 1e-6, **about)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found() -> Front:
    return discover(Noisy(), delta=1e-6, trials=36, startup=12, repeats=3).value


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_a_prediction_holds_at_untested_hyper_parameters(found: Front, epsilon: float) -> None:
    answer = found.predict(Toy(), epsilon=epsilon)
    truth = Toy().utility(answer.params, 0)
    best = 0.9 * epsilon / (1 + epsilon)
    assert answer.epsilon == Toy().epsilons([answer.params], 0.0)[0] <= epsilon
    assert answer.low <= answer.utility <= answer.high
    assert answer.low - 0.03 <= truth <= answer.high + 0.03  # three deviations of a mean of three runs
    assert truth > best - 0.06


def test_a_prediction_reaches_a_wanted_utility_at_little_epsilon(found: Front) -> None:
    answer = found.predict(Toy(), utility=0.45)  # 0.9 e / (1 + e) = 0.45 at e = 1
    assert 0.75 < answer.epsilon < 1.4
    with pytest.raises(BadInput, match="expects no utility"):
        found.predict(Toy(), utility=0.97)
    with pytest.raises(BadInput, match="the least is"):
        found.predict(Toy(), epsilon=1e-3)


def test_a_prediction_needs_an_algorithm_and_points(found: Front) -> None:
    with pytest.raises(BadInput, match="the algorithm must have"):
        found.predict(object(), epsilon=1.0)
    with pytest.raises(BadInput, match="at least 3"):
        discover(Toy(), delta=0.0, trials=2).value.predict(Toy(), epsilon=1.0)
    again = Front.from_json(found.to_json())
    assert again.predict(Noisy(), epsilon=1.0) == found.predict(Toy(), epsilon=1.0)


def test_known_noise_is_in_every_interval() -> None:
    """Utilities of 0.6 with noise of 0.02 on each: a lucky point is not taken at its word, nor a model at its own."""
    drawn = np.random.default_rng(4).normal(0.6, 0.02, 16)
    params = [{"noise": 0.1 * 1.5**i, "rate": (7 * i % 16) / 16, "steps": 1 + i % 4} for i in range(16)]
    points = tuple(Point.of(p, p["steps"] / p["noise"], [u]) for p, u in zip(params, drawn, strict=True))
    wide = Front(points, LABEL, 1e-6, noise=0.02).predict(Toy(), epsilon=5.0)
    assert wide.low < 0.6 < wide.high
    assert 0.01 < wide.high - wide.low < 0.12  # less than the noise of one draw, more than nothing


def test_tested_points_have_intervals_that_hold_what_was_seen(found: Front) -> None:
    for p in found.tested:
        assert p.low is not None
        assert p.high is not None
        assert 0.0 <= p.low <= p.utility <= p.high <= 1.0
    held = [p.low <= Toy().utility(p.params, 0) <= p.high for p in found.tested]  # type: ignore[operator]
    assert sum(held) >= 32  # of 36: less than once in a thousand fronts if each holds 95%
    again = Front.from_json(found.to_json())
    assert [p.low for p in again.tested] == [p.low for p in found.tested]


def test_a_private_point_is_placed_with_its_noise() -> None:
    private = PrivateTest(Budget.gdp(2.0), noise=Simulation(3))
    front = discover(Toy(), delta=1e-6, trials=20, startup=8, private=private).value
    assert front.noise == pytest.approx(math.sqrt(20) / (2000 * 2.0))
    assert all(p.low <= Toy().utility(p.params, 0) <= p.high for p in front.tested)  # type: ignore[operator]


def uneven(seed: int, runs: int) -> tuple[list[Point], list[float]]:
    """Points whose runs scatter by 0.05 at epsilon 0.05 and 30 times less at 1.5, and the true means."""
    rng = np.random.default_rng(seed)
    cube, epsilons = rng.random((30, 3)), np.geomspace(0.05, 5.0, 30)
    truth = [0.6 + 0.15 * e / (0.3 + e) + 0.02 * x for e, x in zip(epsilons, cube[:, 1], strict=True)]
    drawn = [rng.normal(t, 0.05 * 0.05 / min(e, 1.5), runs) for t, e in zip(truth, epsilons, strict=True)]
    params = SPACE.params(np.column_stack([1 - np.log(epsilons / 0.05) / np.log(100), cube[:, 1:]]))
    return [Point.of(p, e, u.tolist()) for p, e, u in zip(params, epsilons, drawn, strict=True)], truth


@pytest.mark.parametrize("runs", [1, 2])
def test_intervals_hold_where_runs_scatter_unevenly(runs: int) -> None:
    """Of 10 fronts, 300 points. Under 95% coverage fewer than 270 happen with probability below 1e-3."""
    held = []
    for seed in range(10):
        points, truth = uneven(seed, runs)
        error, low, high = ErrorModel.of(SPACE, points, 0.0).errors(SPACE.features([p.params for p in points]))
        held += [a <= 1 - t <= b for a, b, t in zip(low, high, truth, strict=True)]
        assert ((low <= error) & (error <= high)).all()
    assert np.mean(held) >= 0.90


def test_scatter_is_told_by_runs_and_falls_with_epsilon() -> None:
    points, _ = uneven(3, 3)
    found = np.sqrt(scatter(points, Scale("linear")) * 3)
    true = np.array([0.05 * 0.05 / min(p.epsilon, 1.5) for p in points])
    assert np.median(np.abs(np.log(found / true))) < 0.7
    assert found[0] > 5 * found[-1]
    assert not scatter([Point.of(p.params, p.epsilon, [0.5, 0.5]) for p in points], Scale("logit")).any()
