"""A Dask cluster of processes of their own, a site for each worker, so that the client's time is its own alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks import Missing

SITES = ("site-a", "site-b")


class Processes:
    """A scheduler and its workers; any may be killed and started again."""

    def __init__(self, folder: str, port: int) -> None:
        self.folder, self.port, self.running = folder, port, dict[str, subprocess.Popen[bytes]]()

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, name: str) -> None:
        kind = "scheduler" if name == "scheduler" else "worker"
        words = [sys.executable, "-m", f"distributed.cli.dask_{kind}"]
        if kind == "scheduler":
            words += ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        else:
            words += [self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
            words += ["--resources", f"{name}=1", "--local-directory", self.folder, "--death-timeout", "60"]
        paths = os.pathsep.join(p for p in sys.path if p)
        with open(os.path.join(self.folder, f"{name}.log"), "ab") as log:
            self.running[name] = subprocess.Popen(
                words, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": paths}, cwd=self.folder
            )

    def kill(self, name: str) -> None:
        self.running[name].kill()
        self.running[name].wait()

    def stop(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()


def connect(processes: Processes, seconds: float = 120.0) -> Any:
    """A client of the cluster with all its workers."""
    from distributed import Client

    end = time.monotonic() + seconds
    while True:
        try:
            client = Client(processes.address, timeout=10, set_as_default=False)
            client.wait_for_workers(len(SITES), timeout=max(1.0, end - time.monotonic()))
            return client
        except (OSError, TimeoutError):
            if time.monotonic() > end:
                raise


@contextmanager
def dask_cluster(folder: str, port: int = 18786) -> Iterator[Processes]:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise Missing("needs Dask: pip install 'tacit[dask]'") from None
    made = Processes(folder, port)
    for name in ("scheduler", *SITES):
        made.start(name)
    try:
        yield made
    finally:
        made.stop()


def make_rows(rows: int, seed: int) -> np.ndarray:
    """Eight features and an answer for each record."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 9)).astype(np.float32)
    x[:, 8] = x[:, 0] - 0.5 * x[:, 1] + rng.logistic(size=rows) > 0
    return x


def train(params: dict[str, Any]) -> np.ndarray:
    return np.array([params["a"], params["b"], 0, 0, 0, 0, 0, 0], np.float32)


def score(model: np.ndarray, frame: Any) -> Any:
    """Logistic losses; of frames of Parquet too."""
    rows = np.asarray(frame, np.float32)
    margin = (rows[:, :8] @ model) * (2 * rows[:, 8] - 1)
    return np.logaddexp(0.0, -margin)


def bare(part: np.ndarray, model: np.ndarray) -> float:
    """What an engineer would write without privacy: the sum of clipped losses, in floats."""
    return float(np.clip(score(model, part), 0.0, 4.0).sum())
