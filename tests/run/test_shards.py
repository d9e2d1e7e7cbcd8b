"""Sums that are the same however records are grouped and wherever the groups are."""

from __future__ import annotations

import math
import os
import pickle
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import optuna
import pandas
import pytest
from shard_parts import Part

import tacit
from tacit.errors import BadInput, ObjectiveError
from tacit.objective import Objective
from tacit.privacy.gradient_mean import Clipped
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import Simulation
from tacit.run import frames
from tacit.run.frames import FileRows
from tacit.run.shards import Shards, gradient_total, loss_total

pytestmark = pytest.mark.filterwarnings("ignore::tacit.errors.PrivacyWarning")  # large budgets, for little noise


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
    arguments["method"] = "observed"
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


def test_a_part_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    data, _, _ = problem()
    part = Part(data)
    with pytest.raises(BadInput, match="given twice"):
        Shards([part, Part(data), part])
    files = write_files(tmp_path, data, 2)
    (tmp_path / "again.parquet").hardlink_to(files[0])
    with pytest.raises(BadInput, match="stands twice"):
        Shards.from_parquet(tmp_path)
    with pytest.raises(BadInput, match="given twice"):
        Shards([FileRows(str(files[0])), FileRows(str(files[0]))])
    for both in ([data, data[:]], [data[:10], data[9:]], [data[::2], data[::3]]):
        with pytest.raises(BadInput, match="given twice"):
            Shards(both)
    assert len(Shards([data[::2], data[1::2], np.array(data)]).parts) == 3


def write_files(folder: Path, data: np.ndarray, many: int, rows: int = 100) -> list[Path]:
    paths = [folder / f"{i:02d}.parquet" for i in range(many)]
    for path, part in zip(paths, np.array_split(data, many), strict=True):
        pandas.DataFrame(part, columns=list("abcd")).to_parquet(path, row_group_size=rows)
    return paths


def score(model: np.ndarray, frame: pandas.DataFrame) -> np.ndarray:
    losses: np.ndarray = ((frame[list("abcd")].to_numpy() - model) ** 2).mean(axis=1)
    return losses


def train(params: dict) -> np.ndarray:
    return np.array(list(params.values()))


@pytest.mark.parametrize("cluster", [None, ProcessPoolExecutor])
@pytest.mark.parametrize("method", ["observed", "pool", "gibo", "staged", "nonprivate"])
def test_files_are_scored_in_parts_by_a_model_that_is_trained_once(tmp_path: Path, method: str, cluster) -> None:
    data, _, _ = problem()
    write_files(tmp_path, data, 3)
    space = {name: tacit.Float(0.0, 1.0) for name in "abcd"}
    options = {"staged": {"pool": 3}, "gibo": {"scan": 0}}.get(method, {})
    usual = {"bounds": (0.0, 3.0), "budget": Budget.gdp(5.0), "trials": 3, "progress": False, "method": method}
    usual |= {"noise": Simulation(3), "accept_noise": True, **options}
    usual |= {"budget": None} if method == "nonprivate" else {}
    trainings = []

    def fit(params: dict) -> np.ndarray:
        trainings.append(params)
        return train(params)

    whole = tacit.tune(Part(data), space, records=700, **{**usual, "noise": Simulation(3)}).value.to_json()
    with cluster(2) if cluster else nullcontext() as pool:
        made = tacit.tune(score, space, train=fit, records=str(tmp_path / "*.parquet"), cluster=pool, **usual)
    assert made.value.to_json() == whole
    assert len(trainings) == {"observed": 3, "pool": 3, "staged": 6, "nonprivate": 3}.get(method, len(trainings))


def test_large_files_are_divided_between_their_row_groups(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(frames, "LEAST", 250)
    data, _, _ = problem()
    write_files(tmp_path, data, 1)
    shards = Shards.from_parquet(tmp_path, columns=["a", "b"])
    assert [part.groups for part in shards.parts] == [(0, 1, 2), (3, 4, 5), (6,)]
    assert (shards.counts, shards.records) == ([300, 300, 100], 700)
    rows = np.concatenate([block.to_numpy() for part in shards.parts for block in part.read_blocks()])
    np.testing.assert_array_equal(rows, data[:, :2])


def test_an_optuna_study_is_scored_where_the_records_are(tmp_path: Path) -> None:
    data, _, _ = problem()
    write_files(tmp_path, data, 3)

    def suggest(trial: optuna.Trial) -> np.ndarray:
        return np.array([trial.suggest_float(name, 0.0, 1.0) for name in "abcd"])

    usual = {"bounds": (0.0, 3.0), "budget": Budget.gdp(5.0), "trials": 3}
    found = []
    with ThreadPoolExecutor(2) as pool:
        shards = Shards.from_parquet(tmp_path, cluster=pool)
        for arguments in (
            {"objective": lambda trial: Part(data)(dict(enumerate(suggest(trial)))), "records": 700},
            {"objective": score, "train": suggest, "records": shards},
            {"objective": shards_of(data, 100, 200), "train": lambda t: dict(enumerate(suggest(t))), "records": 700},
        ):
            study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
            study.optimize(tacit.private(**arguments, **usual, noise=Simulation(1)), n_trials=3)
            found.append([t.value for t in study.trials])
    assert found[0] == found[1] == found[2]


def test_what_cannot_be_scored_in_parts_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    data, _, _ = problem()
    write_files(tmp_path, data, 2)
    space, usual = {"a": tacit.Float(0.0, 1.0)}, {"bounds": (0.0, 1.0), "budget": Budget.gdp(5.0), "trials": 3}
    for arguments, why in (
        ({"records": str(tmp_path / "*.parquet")}, "need train=function"),
        ({"records": 700, "train": train}, "records says where they are"),
        ({"records": 700, "cluster": "tcp://localhost:1"}, "a cluster needs records in parts"),
        ({"records": str(tmp_path / "*.csv"), "train": train}, "no Parquet file"),
        ({"records": Shards([data]), "train": train}, "must be known before anything is paid"),
        ({"records": data, "train": train}, "records must be a number, a pattern"),
        ({"records": str(tmp_path), "train": train, "cluster": "somewhere"}, "cluster must be a Dask client"),
    ):
        with pytest.raises(BadInput, match=why):
            tacit.tune(score, space, **usual, **arguments)
    (tmp_path / "bad.parquet").write_text("patient 17")
    with pytest.raises(BadInput, match=r"bad.parquet is no Parquet file") as caught:
        Shards.from_parquet(tmp_path)
    assert "patient" not in str(caught.value)
    future = SimpleNamespace(key="x")
    with pytest.raises(BadInput, match="give train=function"):
        tacit.private(Shards([future]), records=7, **usual, accept_noise=True)


def test_parts_that_change_their_number_of_records_are_refused() -> None:
    sizes = iter([3, 4, 4, 3])
    parts = Shards([lambda p: np.zeros(next(sizes)), lambda p: np.zeros(next(sizes))])
    asked, mean = Objective(parts, 7, (0, 1)), BoundedMean(7, (0.0, 1.0), budget=Budget.gdp(1.0))
    assert loss_total(asked, mean, {}) == 0
    with pytest.raises(ObjectiveError, match="one loss for each of its 3 records"):
        loss_total(asked, mean, {})


class DiesInProcess:
    def __call__(self, params: dict) -> np.ndarray:
        os._exit(1)


def test_a_worker_that_died_is_called_one() -> None:
    asked = Objective(Shards([DiesInProcess()]), 1, (0, 1))
    mean = BoundedMean(1, (0.0, 1.0), budget=Budget.gdp(1.0))
    with ProcessPoolExecutor(1) as pool, pytest.raises(ObjectiveError, match="a worker died"):
        loss_total(asked, mean, {}, executor=pool)


def test_threads_leave_the_filters_of_warnings_as_they_were() -> None:
    def part(params: dict) -> np.ndarray:
        time.sleep(0.01)
        return np.zeros(1)

    asked = Objective(Shards([lambda p: part(p), lambda p: part(p), lambda p: part(p)]), 3, (0, 1))
    before, mean = list(warnings.filters), BoundedMean(3, (0.0, 1.0), budget=Budget.gdp(1.0))
    with ThreadPoolExecutor(3) as pool:
        for _ in range(5):
            loss_total(asked, mean, {}, executor=pool)
    assert warnings.filters == before
