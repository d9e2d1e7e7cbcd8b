"""What workers cost and gain: processes that charge one ledger, and evaluations that run side by side.

Charges are real processes on real files, each charge on disk before the next; with more processes than cores they
share them, so what is seen there is the queue at the ledger and not the speed of more machines. Evaluations are
simulated: an evaluation that waits for a second's eighth stands for one on another machine, which needs no core here.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from tests.postgres_server import Server, binaries

import tacit
from benchmarks import Figure, slope
from benchmarks.scale._sizes import TAIL
from benchmarks.speed import ledger_charges

TITLE = "Scale: one ledger and one study under 1 to 64 workers"
LONG = False
REPEATS = 2

WORKERS = (1, 2, 4, 8, 16, 32, 64)
WAIT, TRIALS = 0.125, 80  # seconds of one evaluation; evaluations of a study, 64 of them searched and 16 confirmed


def charging(database: str, url: str, repeats: int, note: str) -> list[Figure]:
    figures, rates = [], []
    cores = os.cpu_count() or 1
    for n in WORKERS:
        found = [ledger_charges.rate(url, n, max(2, 128 // n) * n) for _ in range(max(1, repeats))]
        rates.append(statistics.median(found))
        said = note + (f"; {n} processes on {cores} cores, oversubscribed" if n > cores else "")
        label = f"{database}: charges a second of all together, {n} workers"
        figures.append(Figure(label, rates[-1], "charges/s", min(found), max(found), note=said))
    power, low, high = slope(WORKERS[-TAIL:], rates[-TAIL:])
    expected = "0: charges queue at the ledger and cost no more for waiting"
    label = f"growth with workers: charges a second, {database}"
    return [*figures, Figure(label, power, "as a power", low, high, expected, "the three largest numbers of workers")]


def studying(repeats: int) -> list[Figure]:
    """A study whose evaluations wait elsewhere: how near k workers come to k times the speed."""
    space = {f"x{j}": tacit.Float(0.0, 1.0) for j in range(4)}
    settings: dict[str, Any] = {"records": 1000, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(1.0)}

    def waiting(params: dict[str, Any]) -> np.ndarray:
        time.sleep(WAIT)
        return np.full(1000, 0.25 * (params["x0"] - 0.3) ** 2)

    figures, seconds = [], []
    for n in WORKERS:
        with ThreadPoolExecutor(n) as pool:
            start = time.perf_counter()
            tacit.tune(waiting, space, trials=TRIALS, executor=pool, progress=False, accept_noise=True, **settings)
            seconds.append(time.perf_counter() - start)
        gained = seconds[0] / seconds[-1]
        note = f"simulated: an evaluation waits {WAIT:g} s; {gained:.3g} times faster than one worker"
        figures.append(Figure(f"private observations, {TRIALS} trials, {n} workers", seconds[-1], "s", note=note))
    power, low, high = slope(WORKERS[:4], seconds[:4])
    said = "1 to 8 workers; -1 is as many times faster as there are workers"
    label = "growth with workers: private observations"
    return [*figures, Figure(label, power, "as a power", low, high, "-1 is perfect", said)]


def run(repeats: int) -> list[Figure]:
    ledger_charges.context.set_forkserver_preload(["tacit.privacy.ledger"])
    figures = studying(repeats)
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:  # on a disk, where /tmp may be memory
        figures += charging("SQLite", f"{folder}/ledger.db", repeats, "synchronous = EXTRA, rollback journal")
    if binaries() is None:
        return figures
    server = Server(fsync=True)
    try:
        return figures + charging("PostgreSQL", server.database("ledgers"), repeats, "fsync on, over a Unix socket")
    finally:
        server.remove()
