"""How many charges a ledger takes per second, each on disk before it returns: the price of debiting before drawing.

Beside it, in the same turns, what the disk and the server can do at all: blocks of a plain file written and flushed one
after the other, and commits of a server that write nothing but a word.
"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from tests.postgres_server import Server, binaries

from benchmarks import Figure, median_interval
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger

TITLE = "Ledger: charges per second, each committed to disk"
LONG = False
CHARGES = 160
WARM = 8  # charges of each process before it is timed
BLOCK = 4096
PROCESSES = ("1 process", "2 processes", "16 processes")
GOALS = {"SQLite": {"16 processes": 500.0}, "PostgreSQL": {"16 processes": 1000.0}}
PIECE = Guarantee(Budget.gdp(0.001))
USUAL, ONE_FILTER = Budget.approximate(3.0, 1e-6), Budget.gdp(10.0)  # a ledger as the README opens it; one filter alone

context = get_context("forkserver")


def charge(url: str, name: str, times: int, start: Barrier, end: Barrier) -> None:
    with Ledger.open(url, name) as ledger:
        for _ in range(WARM):  # connected, and its statements planned
            ledger.charge(PIECE, "warm")
        start.wait(120)
        for _ in range(times):
            ledger.charge(PIECE, "benchmark")
        end.wait(120)


def rate(url: str, processes: int, charges: int = CHARGES, budget: Budget = USUAL) -> float:
    """Charges per second of a new ledger that several processes charge at once."""
    ledger = Ledger.open(url, uuid.uuid4().hex, budget)
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
    made = charges // processes * processes
    assert len(ledger.entries()) == made + WARM * processes
    ledger.close()
    return made / seconds


def plain_rate(folder: str, times: int = CHARGES) -> float:
    """How often a second a block of a plain file of the same size is written and is on the disk: the disk's limit."""
    path = Path(folder) / "plain"
    path.write_bytes(bytes(BLOCK * 16))
    descriptor = os.open(path, os.O_RDWR)
    try:
        start = time.perf_counter()
        for i in range(times):
            os.pwrite(descriptor, os.urandom(BLOCK), BLOCK * (i % 16))
            os.fsync(descriptor)
        return times / (time.perf_counter() - start)
    finally:
        os.close(descriptor)


def empty_commits(url: str, processes: int, times: int = CHARGES) -> float:
    """Commits a second of a server that write a word each, by so many connections at once, as pgbench would."""
    import psycopg

    def commit(connection: Any) -> None:
        for _ in range(times // processes):
            connection.execute("SELECT pg_logical_emit_message(true, 'tacit', '')")

    connections = [psycopg.connect(url, autocommit=True) for _ in range(processes)]
    start = time.perf_counter()
    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(commit, connections))
    seconds = time.perf_counter() - start
    for connection in connections:
        connection.close()
    return times // processes * processes / seconds


def measured(
    database: str, repeats: int, works: dict[str, Callable[[int], float]], notes: dict[str, str]
) -> list[Figure]:
    """Rates of several works that take turns; every turn gives a rate of each."""
    rates: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(max(1, repeats)):
        for name, work in works.items():
            rates[name].append(work(turn))
    figures = []
    for name, found in rates.items():
        unit = "charges/s" if "process" in name else "times/s"
        goal: dict[str, Any] = {}
        if name in GOALS.get(database, {}):
            goal = {"against": f"goal {GOALS[database][name]}", "goal": GOALS[database][name], "better": "more"}
        figures.append(
            Figure(f"{database}, {name}", *_ordered(median_interval(found), unit), note=notes.get(name, ""), **goal)
        )
    return figures


def _ordered(found: tuple[float, float, float], unit: str) -> tuple[float, str, float, float]:
    return found[0], unit, found[1], found[2]


def run(repeats: int) -> list[Figure]:
    context.set_forkserver_preload(["tacit.privacy.ledger"])
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:  # on a disk, where /tmp may be memory
        url = f"{folder}/ledger.db"
        works: dict[str, Callable[[int], float]] = {
            "the disk: a plain file, 1 writer": lambda turn: plain_rate(folder),
            "1 process": lambda turn: rate(url, 1, 2 * CHARGES),
            "2 processes": lambda turn: rate(url, 2, 4 * CHARGES),
            "16 processes": lambda turn: rate(url, 16, 10 * CHARGES),
            "16 processes, one filter alone (gdp)": lambda turn: rate(url, 16, 10 * CHARGES, ONE_FILTER),
        }
        note = "synchronous = EXTRA, rollback journal: several writes to the disk for each commit"
        figures = measured("SQLite", repeats, works, dict.fromkeys(PROCESSES, note))
    if binaries() is None:
        return figures
    server = Server(fsync=True)
    try:
        url = server.database("ledgers")
        works = {
            "the server: empty commits, 1 connection": lambda turn: empty_commits(server.url("ledgers"), 1),
            "the server: empty commits, 16 connections": lambda turn: empty_commits(server.url("ledgers"), 16),
            "1 process": lambda turn: rate(url, 1, 2 * CHARGES),
            "2 processes": lambda turn: rate(url, 2, 4 * CHARGES),
            "16 processes": lambda turn: rate(url, 16, 10 * CHARGES),
            "16 processes, one filter alone (gdp)": lambda turn: rate(url, 16, 10 * CHARGES, ONE_FILTER),
        }
        note = "fsync on, Unix socket, the server on the same cores; the ledger is free while a commit is waited for"
        return figures + measured("PostgreSQL", repeats, works, dict.fromkeys(PROCESSES, note))
    finally:
        server.remove()
