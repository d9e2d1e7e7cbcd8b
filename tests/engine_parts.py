"""Clusters for tests: a Dask cluster of two sites with a process each, and a local Ray."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def dask_sites(sites: tuple[str, ...] = ("site-a", "site-b"), nanny: bool = True) -> Iterator[Any]:
    """A client of a cluster with one process for each site, whose name is a resource of its worker."""
    import dask
    from distributed import Client, Nanny, Scheduler, SpecCluster, Worker

    options = {"nthreads": 1, "dashboard": False, "memory_limit": 0}
    kind = Nanny if nanny else Worker
    workers = {i: {"cls": kind, "options": {**options, "resources": {s: 1}}} for i, s in enumerate(sites)}
    quiet = {"distributed.admin.log-format": "%(message)s", "distributed.worker.daemon": True}
    with dask.config.set(quiet):
        scheduler = {"cls": Scheduler, "options": {"dashboard": False, "port": 0}}
        cluster = SpecCluster(workers=workers, scheduler=scheduler, silence_logs=40)
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


@contextmanager
def local_ray(cores: int = 2) -> Iterator[Any]:
    import ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))  # what tests define is importable by workers
        ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level="error",
                 object_store_memory=100 * 2**20)  # fmt: skip
    try:
        yield ray
    finally:
        ray.shutdown()
