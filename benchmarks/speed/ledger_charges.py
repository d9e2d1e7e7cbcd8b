"""How many charges a ledger takes per second, each on disk before the next: the price of debiting before drawing."""

from __future__ import annotations

import statistics
import tempfile
import time
import uuid
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path

from tests.postgres_server import Server, binaries

from benchmarks import Figure
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger

TITLE = "Ledger: charges per second, each committed to disk"
LONG = False
CHARGES = 160
PIECE = Guarantee(Budget.gdp(0.001))

context = get_context("forkserver")


def charge(url: str, name: str, times: int, start: Barrier, end: Barrier) -> None:
    with Ledger.open(url, name) as ledger:
        ledger.remaining()  # connected
        start.wait(120)
        for _ in range(times):
            ledger.charge(PIECE, "benchmark")
        end.wait(120)


def rate(url: str, processes: int, charges: int = CHARGES) -> float:
    """Charges per second of a new ledger that several processes charge at once."""
    ledger = Ledger.open(url, uuid.uuid4().hex, Budget.gdp(10.0))
    start, end = context.Barrier(processes + 1), context.Barrier(processes + 1)
    work = (url, ledger.name, charges // processes, start, end)
    children = [context.Process(target=charge, args=work) for _ in range(processes)]
    for child in children:
        child.start()
    start.wait(120)
    begun = time.perf_counter()
    end.wait(120)
    seconds = time.perf_counter() - begun
    for child in children:
        child.join()
    assert len(ledger.entries()) == charges // processes * processes
    ledger.close()
    return charges / seconds


def measured(database: str, url: str, repeats: int, note: str) -> list[Figure]:
    figures = []
    for processes in (1, 8):
        rates = [rate(url, processes) for _ in range(max(1, repeats))]
        name = f"{database}, {processes} process{'es' if processes > 1 else ''}"
        figures.append(Figure(name, statistics.median(rates), "charges/s", min(rates), max(rates), note=note))
    return figures


def run(repeats: int) -> list[Figure]:
    context.set_forkserver_preload(["tacit.privacy.ledger"])
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:  # on a disk, where /tmp may be memory
        figures = measured("SQLite", f"{folder}/ledger.db", repeats, "synchronous = EXTRA, rollback journal")
    if binaries() is None:
        return figures
    server = Server(fsync=True)
    try:
        return figures + measured("PostgreSQL", server.database("ledgers"), repeats, "fsync on, over a Unix socket")
    finally:
        server.remove()
