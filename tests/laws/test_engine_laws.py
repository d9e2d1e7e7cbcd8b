"""The laws of engines, for each of them; and what none of them would do by itself."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_laws import SPACE, USUAL, EngineLaws, N, counts, frames, score, score_and_fail, score_column, train
from engine_parts import dask_sites, local_ray

import tacit
from tacit.errors import ObjectiveError
from tacit.privacy.noise import Simulation
from tacit.run.engine import PartAnswer, settle
from tacit.run.shards import Shards


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    pytest.importorskip("distributed")
    with dask_sites() as client:
        yield client


@pytest.fixture(scope="module")
def ray_shards() -> Iterator[Shards]:
    """Parts in Ray's store, and the actors that hold them: one set for all laws, since actors are slow to start."""
    pytest.importorskip("ray")
    with local_ray() as ray:
        made = Shards([ray.put(frame) for frame in frames()], counts=counts())
        made.engine()
        yield made


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    with ProcessPoolExecutor(2) as pool:
        yield pool


class TestHere(EngineLaws):
    @pytest.fixture
    def shards(self) -> Shards:
        return Shards(frames(), counts=counts())


class TestThreads(EngineLaws):
    @pytest.fixture
    def shards(self) -> Iterator[Shards]:
        with ThreadPoolExecutor(3) as pool:
            yield Shards(frames(), counts=counts(), cluster=pool)


class TestProcesses(EngineLaws):
    pinned = False  # whoever is free takes the next part: they are sent with every question

    @pytest.fixture
    def shards(self, processes: Any) -> Shards:
        return Shards(frames(), counts=counts(), cluster=processes)


class TestDask(EngineLaws):
    """Two sites with a process each; parts were loaded there, most of them at the first."""

    @pytest.fixture
    def shards(self, dask: Any) -> Shards:
        sites = ["site-a" if i < 5 else "site-b" for i in range(len(counts()))]
        held = [
            dask.submit(np.array, frame, pure=False, resources={site: 1e-6})
            for frame, site in zip(frames(), sites, strict=True)
        ]
        return Shards(held, counts=counts())

    def test_no_part_is_ever_found_at_the_other_site(self, dask: Any, shards: Shards) -> None:
        self.total(shards)
        before = dask.who_has(shards.parts)
        for _ in range(4):
            self.total(shards)
        assert dask.who_has(shards.parts) == before
        assert {len(where) for where in before.values()} == {1}

    def test_the_logs_of_workers_quote_no_record(self, dask: Any, shards: Shards) -> None:
        with pytest.raises(ObjectiveError):
            self.total(shards, score_and_fail)
        said = repr(dask.get_worker_logs()) + repr(dask.get_scheduler_logs())
        assert "Start worker" in said
        assert "8675309" not in said

    @pytest.mark.filterwarnings("ignore::tacit.errors.PrivacyWarning")  # a large budget, for little noise
    def test_frames_of_dask_are_counted_and_scored_where_they_are(self, dask: Any) -> None:
        import pandas
        from dask.dataframe import from_pandas

        rows = np.concatenate(frames())
        table = from_pandas(pandas.DataFrame(rows, columns=["x", "y"]), npartitions=5)
        shards = Shards.from_dask(table, cluster=dask)
        assert (len(shards.parts), shards.records) == (5, N)
        assert self.total(shards) == self.total(Shards(frames()))
        release = tacit.tune(score, SPACE, train=train, records=table, cluster=dask, trials=2, **USUAL)
        assert release.guarantee.unconditional

    def test_train_may_return_the_future_of_a_model(self, dask: Any, shards: Shards) -> None:
        def fit(params: dict[str, Any]) -> Any:
            return dask.submit(train, params, pure=False)

        found = [
            tacit.tune(score, SPACE, train=how, records=shards, trials=2, noise=Simulation(1), **USUAL).value.to_json()
            for how in (train, fit)
        ]
        assert found[0] == found[1]


class TestDaskPlainParts(EngineLaws):
    """Parts that the client held: put on the cluster once, at the sites that are named."""

    @pytest.fixture
    def shards(self, dask: Any) -> Shards:
        sites = ["site-b" if i < 3 else "site-a" for i in range(len(counts()))]
        return Shards(frames(), counts=counts(), homes=sites, cluster=dask)


class TestRay(EngineLaws):
    @pytest.fixture
    def shards(self, ray_shards: Shards) -> Shards:
        return ray_shards

    def logs(self) -> str:
        import ray

        folder = Path(ray._private.worker._global_node.get_logs_dir_path())
        said = "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())
        assert "HomeActor" in said
        return said

    @pytest.mark.slow
    def test_blocks_of_a_dataset_are_counted_and_scored_where_they_are(self, ray_shards: Shards) -> None:
        import ray.data

        ray.data.DataContext.get_current().enable_progress_bars = False
        table = ray.data.from_numpy(frames())
        shards = Shards.from_ray(table)
        assert shards.records == N
        assert self.total(shards, score_column) == self.total(Shards(frames()))


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([PartAnswer(0, (5,), 2)], "1 of 2 parts did not answer"),
        ([PartAnswer(0, (5,), 2), PartAnswer(2, (5,), 3)], "for part 2; there are parts 0 to 1"),
        (
            [PartAnswer(0, (5,), 2), PartAnswer(0, (6,), 2), PartAnswer(1, (1,), 3)],
            "part 0 answered twice",
        ),
        (
            [PartAnswer(0, (5,), 2), PartAnswer(1, (1,), 4)],
            "part 1 must answer with one loss for each of its 3",
        ),
        ([PartAnswer(0, (5,), 2), PartAnswer(1, failure="no")], "no"),
    ],
)
def test_answers_that_do_not_settle_are_refused(answers: list[PartAnswer], why: str) -> None:
    with pytest.raises(ObjectiveError, match=why):
        settle(answers, [2, 3])
