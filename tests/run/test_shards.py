"""Clipped sums: bounded in floating point whatever the losses are, and the same however records are grouped."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from shard_parts import Part

import tacit
from tacit.errors import BadInput, ObjectiveError
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import Simulation
from tacit.run.shards import STEPS, Clipped, GradientMean, Shards, gradient_total, loss_total, reach

anything = st.one_of(
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -1e300, 1.7976931348623157e308, 5e-324, 0.0, -0.0, 1e-200]),
)
some_weights = arrays(np.float64, (3, 4), elements=st.floats(-1e6, 1e6))
some_losses = arrays(np.float64, (4, 3), elements=anything)


def norm_of(whole: list[int]) -> float:
    return math.sqrt(sum(x * x for x in whole))


@settings(max_examples=300, deadline=None)
@given(some_weights, some_losses, arrays(np.float64, (4,), elements=anything), st.floats(1e-6, 1e6))
def test_one_record_moves_the_sum_by_at_most_twice_the_reach(weights, losses, other, clip) -> None:
    clipped, neighbour = Clipped(weights, clip), losses.copy()
    neighbour[:, 1] = other
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        moved = [a - b for a, b in zip(clipped.total(list(losses)), clipped.total(list(neighbour)), strict=True)]
        alone = clipped.total([row[1:2] for row in losses])
    assert norm_of(moved) <= 2 * clipped.reach
    assert norm_of(alone) <= clipped.reach


@settings(max_examples=100, deadline=None)
@given(some_weights, arrays(np.float64, (4, 9), elements=anything), st.integers(0, 9))
def test_sums_of_groups_add_to_the_sum_of_all_exactly(weights, losses, cut) -> None:
    clipped = Clipped(weights, 1.0)
    left, right = clipped.total(list(losses[:, :cut])), clipped.total(list(losses[:, cut:]))
    assert [a + b for a, b in zip(left, right, strict=True)] == clipped.total(list(losses))


def test_the_slack_for_rounding_is_about_one_part_in_a_thousand_million() -> None:
    for d in (1, 33, 1000):
        assert STEPS < reach(d) < STEPS * (1 + 1e-8)


def test_gradients_are_clipped_to_the_norm_and_otherwise_left_alone() -> None:
    weights = np.array([[2.0, -2.0, 0.0], [0.0, 1.0, -1.0]])
    losses = np.array([[0.3, 5.0, 0.1], [0.1, 1.0, 0.1], [0.0, 9.0, 0.1]])
    g = weights @ losses
    expected = (g * np.minimum(1, 1.0 / np.maximum(np.linalg.norm(g, axis=0), 1e-300))).sum(axis=1)
    found = np.array(Clipped(weights, 1.0).total(list(losses))) / STEPS
    np.testing.assert_allclose(found, expected, atol=3 * 2.0**-32)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_record_with_a_loss_that_is_not_finite_contributes_nothing(bad) -> None:
    clipped, losses = Clipped(np.array([[1.0, -1.0]]), 1.0), np.array([[0.5, 0.5], [0.2, 0.2]])
    spoiled = losses.copy()
    spoiled[0, 1] = bad
    assert clipped.total(list(spoiled)) == clipped.total([row[:1] for row in losses])


def test_a_huge_loss_keeps_its_direction() -> None:
    weights = np.array([[3.0, 0.0], [0.0, 4.0]])
    found = np.array(Clipped(weights, 2.0).total([np.array([1e300]), np.array([1e300])])) * 2.0 / STEPS
    np.testing.assert_allclose(found, [1.2, 1.6], rtol=1e-9)


def test_the_noise_is_that_of_the_formula() -> None:
    for n, clip, mu, d in ((50, 1.0, 0.5, 5), (4500, 0.3, 1.0, 10), (10_000_000, 7.0, 0.1, 33)):
        assert GradientMean(n, clip=clip, size=d, budget=Budget.gdp(mu)).scale == pytest.approx(
            2 * clip / (n * mu), rel=2e-8
        )


def test_the_drawn_noise_has_that_deviation() -> None:
    """False alarm: below 1e-6, by the chi-square with 40,000 degrees of freedom."""
    mean = GradientMean(100, clip=2.0, size=4, budget=Budget.gdp(1.0), noise=Simulation(0))
    drawn = np.array([mean.draw([0, 0, 0, 0]) for _ in range(10_000)])
    assert drawn.std() == pytest.approx(mean.scale, rel=0.02)
    exact = GradientMean(100, clip=2.0, size=4, budget=Budget.gdp(1.0))
    drawn = np.array([exact.draw([0, STEPS, 0, 0]) for _ in range(500)])
    assert drawn.std(axis=0) == pytest.approx(np.full(4, exact.scale), rel=0.2)
    assert drawn.mean(axis=0)[1] == pytest.approx(2.0 / 100, abs=6 * exact.scale / math.sqrt(500))


def problem(n: int = 700, d: int = 4):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(n, d))
    weights = rng.normal(size=(d, 5))
    listed = [dict(zip("abcd", rng.random(d), strict=True)) for _ in range(5)]
    return data, Clipped(weights, 0.7), listed


def shards_of(data, *cuts):
    return Shards([Part(part) for part in np.split(data, cuts)])


def test_shards_equal_the_whole_to_the_last_bit() -> None:
    data, clipped, listed = problem(5000)
    whole = gradient_total(Objective(Part(data), 5000, (0, 1)), listed, clipped, executor=None, memory={})
    for cuts in ((1,), (17, 2048, 2049), tuple(range(100, 5000, 100))):
        parts = Objective(shards_of(data, *cuts), 5000, (0, 1))
        assert gradient_total(parts, listed, clipped, executor=None, memory={}) == whole


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_finds_the_same_sums(kind) -> None:
    data, clipped, listed = problem()
    mean = BoundedMean(700, (0.0, 1.0), budget=Budget.gdp(1.0))
    with kind(2) as pool:
        for function in (Part(data), shards_of(data, 100, 350)):
            asked = Objective(function, 700, (0, 1))
            here = gradient_total(asked, listed, clipped, executor=None, memory={})
            assert gradient_total(asked, listed, clipped, executor=pool, memory={}) == here
            assert loss_total(asked, mean, listed[0], executor=pool) == loss_total(asked, mean, listed[0])


def test_losses_of_shards_add_to_those_of_the_whole() -> None:
    data, _, listed = problem()
    mean = BoundedMean(700, (0.0, 1.0), budget=Budget.gdp(1.0))
    parts, whole = Objective(shards_of(data, 3, 400), 700, (0, 1)), Objective(Part(data), 700, (0, 1))
    assert loss_total(parts, mean, listed[0]) == loss_total(whole, mean, listed[0])
    np.testing.assert_array_equal(parts.losses(listed[0]), whole.losses(listed[0]))


def test_places_that_are_remembered_are_not_evaluated_again() -> None:
    data, clipped, listed = problem()
    seen, part = [], Part(data)
    asked = Objective(lambda params: seen.append(params) or part(params), 700, (0, 1))
    memory: dict = {}
    first = gradient_total(asked, listed, clipped, executor=None, memory=memory)
    assert gradient_total(asked, listed, clipped, executor=None, memory=memory) == first
    assert len(seen) == 5
    gradient_total(
        asked,
        [*listed[:3], {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0}],
        Clipped(np.ones((4, 4)), 1.0),
        executor=None,
        memory=memory,
    )
    assert (len(seen), len(memory)) == (6, 4)  # what is no longer listed is dropped


def test_shards_that_hold_another_number_of_records_are_refused() -> None:
    data, clipped, listed = problem()
    asked = Objective(shards_of(data, 10), 701, (0, 1))
    with pytest.raises(ObjectiveError, match="700 records together; records=701"):
        gradient_total(asked, listed, clipped, executor=None, memory={})
    with pytest.raises(ObjectiveError, match="700 records together"):
        loss_total(asked, BoundedMean(701, (0.0, 1.0), budget=Budget.gdp(1.0)), listed[0])


def test_bad_shards_are_refused() -> None:
    with pytest.raises(BadInput, match="at least one part"):
        Shards([])
    _, clipped, listed = problem()
    for part, why in ((7, "function of the parameters"), (lambda params: 1.0, "one number per record")):
        with pytest.raises(ObjectiveError, match=why):
            gradient_total(Objective(Shards([part]), 1, (0, 1)), listed, clipped, executor=None, memory={})
    for clip in (0.0, -1.0, math.nan, 1e200):
        with pytest.raises(BadInput, match="clip"):
            Clipped(np.ones((1, 1)), clip)
    with pytest.raises(BadInput, match="too near"):
        Clipped(np.array([[math.inf]]), 1.0)


def test_a_failing_shard_does_not_show_what_it_said() -> None:
    def fails(params):
        raise ValueError("patient 17")

    with pytest.raises(ObjectiveError) as caught:
        gradient_total(
            Objective(Shards([fails]), 1, (0, 1)), [{"x": 1}], Clipped(np.ones((1, 1)), 1.0), executor=None, memory={}
        )
    assert "patient" not in str(caught.value)
    assert pickle.loads(pickle.dumps(Shards([Part(np.ones((1, 1)))]))).parts[0] is not None


@pytest.mark.parametrize("kind", [None, ThreadPoolExecutor, ProcessPoolExecutor])
def test_private_observations_take_shards(kind) -> None:
    """Serial, threads and processes find the same sums, hence the same study under the same simulated noise."""
    data, _, _ = problem()
    space = {name: tacit.Float(0.0, 1.0) for name in "abcd"}
    arguments = {"records": 700, "bounds": (0.0, 3.0), "budget": Budget.gdp(5.0), "trials": 6, "progress": False}
    whole = tacit.tune(Part(data), space, **arguments, noise=Simulation(3)).value.to_json()
    with kind(2) if kind else nullcontext() as pool:
        made = tacit.tune(shards_of(data, 100, 350), space, **arguments, noise=Simulation(3), executor=pool, at_once=1)
        assert made.value.to_json() == whole
        with pytest.raises(ObjectiveError, match="700 records together"):
            tacit.tune(shards_of(data, 100), space, **{**arguments, "records": 701}, executor=pool, at_once=1)


def test_an_executor_that_cannot_send_the_objective_says_so_without_quoting_it() -> None:
    _, clipped, listed = problem()
    asked = Objective(Shards([lambda params: np.zeros(1)]), 1, (0, 1))
    with ProcessPoolExecutor(1) as pool, pytest.raises(ObjectiveError, match="the executor could not run") as caught:
        gradient_total(asked, listed, clipped, executor=pool, memory={})
    assert "lambda" not in str(caught.value)


def test_dask_workers_hold_their_own_records() -> None:
    distributed = pytest.importorskip("distributed")
    data, clipped, listed = problem()
    whole = gradient_total(Objective(Part(data), 700, (0, 1)), listed, clipped, executor=None, memory={})
    with distributed.Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        futures = client.scatter([Part(part) for part in np.split(data, (100, 350))])
        asked = Objective(Shards(futures), 700, (0, 1))
        assert gradient_total(asked, listed, clipped, executor=client.get_executor(), memory={}) == whole
