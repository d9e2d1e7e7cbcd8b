"""A plan for 64 workers and a billion records, simulated with constants that other benchmarks measured.

The scheduler, 64 workers of Dask, each a site, and the client share this machine. Every part waits for as long as its
rows take to be read and scored (`scale_tables`), and then its losses, which are a constant, are clipped and summed as
always. What an evaluation takes beyond the longest wait is what a cluster of this size costs.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure, Missing
from benchmarks.harness.sources import HERE
from tacit.privacy.guarantee import Budget
from tacit.run.shards import Shards

TITLE = "Scale: a simulated plan for 64 workers and a billion records"
LONG = True
REPEATS = 1

RECORDS, WORKERS, PARTS = 10**9, 64, 16  # parts of one worker
TRIALS = 4
CONSTANT = "an evaluation: processor time of a private row"


def seconds_a_row() -> float:
    """What reading and scoring a row took, by the kept result."""
    path = HERE / "results" / "scale_tables.json"
    kept = json.loads(path.read_text())["figures"] if path.exists() else []
    found = [figure["value"] for figure in kept if figure["name"].endswith(CONSTANT)]
    if not found:
        raise Missing("needs what a row takes: python -m benchmarks scale_tables")
    return float(found[0]) * 1e-6


@contextmanager
def many_workers() -> Iterator[Any]:
    try:
        import dask
        from distributed import Client, Scheduler, SpecCluster, Worker
    except ImportError:
        raise Missing("needs Dask: pip install 'tacit[dask]'") from None
    options = {"nthreads": 1, "dashboard": False, "memory_limit": 0}
    workers = {i: {"cls": Worker, "options": {**options, "resources": {site(i): 1}}} for i in range(WORKERS)}
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        scheduler = {"cls": Scheduler, "options": {"dashboard": False, "port": 0}}
        with (
            SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client


def site(number: int) -> str:
    return f"site-{number:02d}"


def train(params: dict[str, Any]) -> float:
    return float(params["x"])


def score(model: float, waits: tuple[int, float]) -> Any:
    rows, seconds = waits
    time.sleep(seconds)
    return np.broadcast_to(0.2 + (model - 0.3) ** 2, rows)


def run(repeats: int) -> list[Figure]:
    rows, each = RECORDS // (WORKERS * PARTS), seconds_a_row()
    sizes = [rows] * (WORKERS * PARTS)
    sizes[0] += RECORDS - sum(sizes)
    parts = [(n, n * each) for n in sizes]
    longest = sum(seconds for _, seconds in parts[:1]) + (PARTS - 1) * parts[-1][1]
    homes = [site(i % WORKERS) for i in range(len(parts))]
    with many_workers() as client:
        shards = Shards([list(part) for part in parts], counts=sizes, homes=homes, cluster=client)
        start, used = time.perf_counter(), time.process_time()
        made = tacit.tune(
            score, {"x": tacit.Float(0.0, 1.0)}, train=train, records=shards, bounds=(0.0, 1.0),
            budget=Budget.approximate(1.0, 1e-10), trials=TRIALS, progress=False,
        )  # fmt: skip
        took, processor = time.perf_counter() - start, time.process_time() - used
    assert abs(float(made.value.score or 0.0) - (0.2 + (made.value.params["x"] - 0.3) ** 2)) < 1e-5
    return [
        Figure(f"{RECORDS:,} records, {WORKERS} workers, {len(parts):,} parts: an evaluation", took / TRIALS, "s",
               against=f"{longest:.3g} s for reading and scoring alone",
               note=f"simulated: a part waits {1e6 * each:.3g} microseconds a row; mean of {TRIALS}"),
        Figure("of that, what the cluster, sums and search cost", took / TRIALS - longest, "s",
               note=f"{processor / TRIALS:.3g} s of processor time of two cores, which play all {WORKERS} workers"),
        Figure("50 trials of such a plan", 50 * took / TRIALS / 60, "min",
               note="reckoned; the training of models apart"),
        Figure("noise on one evaluation of 50, epsilon 1", noise_of_fifty(), "",
               note="reckoned, delta 1e-10, losses of width 1"),
        Figure("load of the machine meanwhile", os.getloadavg()[1], "processes", note="of the last five minutes"),
    ]  # fmt: skip


def noise_of_fifty() -> float:
    from tacit.methods.observed import ObservationTerms

    return ObservationTerms(RECORDS, (0.0, 1.0), Budget.approximate(1.0, 1e-10), 50).mechanism().scale
