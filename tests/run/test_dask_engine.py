"""What a Dask cluster does when it is hurt: a typed refusal, nothing left behind, and no waiting without an end."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from benchmarks.scale._cluster import SITES, Processes, connect, dask_cluster
from engine_laws import MEAN, N, counts, frames, score, score_and_die

from tacit.errors import ObjectiveError
from tacit.run import dask_engine
from tacit.run.shards import Shards

pytestmark = pytest.mark.slow  # each has a cluster of its own, to hurt
POINT = np.array([0.2, 0.7])
HOMES = [SITES[i % 2] for i in range(len(counts()))]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def hurt_cluster(folder: Path) -> Iterator[tuple[Processes, Any]]:
    pytest.importorskip("distributed")
    with dask_cluster(str(folder), free_port()) as processes:
        client = connect(processes)
        try:
            yield processes, client
        finally:
            client.close(timeout=1)


def total(shards: Shards, scoring: Any = score, model: Any = POINT) -> list[int]:
    return shards.with_score(scoring, None).add_up([model], MEAN, N, None)


def score_and_note(model: tuple[np.ndarray, str], frame: Any) -> Any:
    Path(model[1]).touch()
    time.sleep(0.5)
    return score(model[0], frame)


def count_tasks(dask_scheduler: Any) -> int:
    return sum("tacit" in str(key) for key in dask_scheduler.tasks)


def test_a_site_that_stays_away_ends_the_question_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_engine, "PATIENCE", 1.0)
    with hurt_cluster(tmp_path) as (processes, client):
        shards = Shards(frames(), counts=counts(), homes=HOMES, cluster=client)
        with pytest.raises(ObjectiveError, match=r"no worker of site-[ab] has been there for 1 s"):
            total(shards, score_and_die)
        while client.run_on_scheduler(count_tasks):  # else they would meet the workers of the next question, and kill
            time.sleep(0.1)
        for site in SITES:
            processes.kill(site)
            processes.start(site)
        client.wait_for_workers(2)
        monkeypatch.setattr(dask_engine, "PATIENCE", 60.0)
        assert total(shards) == total(Shards(frames()))


def test_parts_and_questions_that_no_worker_may_take_are_not_waited_for_without_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_engine, "PATIENCE", 1.0)
    with hurt_cluster(tmp_path) as (processes, client):
        held = [client.submit(np.array, frame, pure=False, resources={"site-c": 1}) for frame in frames()]
        with pytest.raises(ObjectiveError, match="that may make all parts"):
            total(Shards(held, counts=counts()))
        for site in SITES:
            processes.kill(site)
        with pytest.raises(ObjectiveError, match="no worker has been there for 1 s"):
            total(Shards(frames(), counts=counts(), cluster=client))


def test_a_scheduler_that_is_gone_is_called_that(tmp_path: Path) -> None:
    with hurt_cluster(tmp_path) as (processes, client):
        shards = Shards(frames(), counts=counts(), homes=HOMES, cluster=client)
        assert total(shards) == total(Shards(frames()))
        processes.kill("scheduler")
        while client.status == "running":
            time.sleep(0.05)
        with pytest.raises(ObjectiveError, match="the scheduler of the Dask cluster is gone"):
            total(shards)


def test_a_worker_that_dies_in_mid_sum_changes_no_digit(tmp_path: Path) -> None:
    with hurt_cluster(tmp_path) as (processes, client):
        shards = Shards(frames(), counts=counts(), cluster=client)  # no homes: whoever is there
        begun, mark = shards.with_score(score_and_note, None), tmp_path / "begun"

        def kill() -> None:
            while not mark.exists():
                time.sleep(0.05)
            processes.kill("site-b")

        killer = Thread(target=kill)
        killer.start()
        found = begun.add_up([(POINT, str(mark))], MEAN, N, None)
        killer.join()
        assert found == total(Shards(frames()))
