"""Break processes, disks, clocks, files and servers on purpose for ten minutes, and count what did not hold.

``make chaos`` runs it and fails at a violation, which it prints in words; tests/test_chaos.py runs a short form. All
parts run at once, since most of them wait; what a part cannot do here is said (``Report.missing``).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.postgres_server import Server, binaries, memory

from benchmarks import Figure, Missing
from benchmarks.faults import _commits as commits
from benchmarks.faults import _copies as copies
from benchmarks.faults import _curators as curators
from benchmarks.faults import _damage as damage
from benchmarks.faults import _ledgers as ledgers
from benchmarks.faults import _runs as runs
from benchmarks.faults import _standbys as standbys
from benchmarks.faults._report import Report

TITLE = "Faults injected into ledger, curator, tune and train, and promises that did not hold"
LONG = True
REPEATS = 1
SECONDS = 500  # parts finish what they began then, and begin nothing more
GOAL = 4000
SEED = 20
Part = Callable[[Report, Path], None]


def parts(servers: Sequence[Server]) -> list[Part]:
    """What is broken, and at most how often in each way."""
    return [
        lambda r, f: curators.on_server(r, f, servers[1], 120, 12),
        lambda r, f: ledgers.on_server(r, f, servers[0], 150, 15),
        lambda r, f: curators.on_files(r, f, 250),
        lambda r, f: ledgers.on_files(r, f, 250),
        lambda r, f: runs.killed_runs(r, f, "tune", 250),
        lambda r, f: runs.killed_runs(r, f, "train", 150),
        lambda r, f: curators.on_small_disk(r, f, 100),
        lambda r, f: ledgers.on_small_disk(r, f, 100),
        lambda r, f: curators.on_a_clock(r, f, 100),
        lambda r, f: ledgers.on_a_clock(r, f, 100),
        lambda r, f: runs.on_small_disk(r, f, "tune", 40),
        lambda r, f: runs.on_small_disk(r, f, "train", 40),
        lambda r, f: runs.killed_commands(r, f, 20),
        lambda r, f: standbys.fail_over(r, f, 20),
        lambda r, f: standbys.fall_behind(r, f, 8),
        lambda r, f: copies.curators(r, f, 150),
        lambda r, f: copies.files(r, f, 300),
        lambda r, f: copies.servers(r, f, servers[2], servers[3], 40),
        lambda r, f: copies.logs(r, f, 600),
        lambda r, f: copies.settings(r, f, 30),
        lambda r, f: commits.commits(r, f, 900),
        lambda r, f: commits.live_runs(r, f, 120),
        lambda r, f: damage.ledgers(r, f, 1200, 200),
        lambda r, f: damage.states(r, f, 250, 60),
        lambda r, f: damage.runs(r, f, "tune", 60),
        lambda r, f: damage.runs(r, f, "train", 60),
    ]


def break_all(seconds: float, seed: int = SEED) -> Report:
    """Every part for so many seconds. A server that is restarted serves one part."""
    whole = Report(seed)
    before = os.environ.get("XDG_STATE_HOME")
    servers = [Server() for _ in range(4)]
    try:
        with tempfile.TemporaryDirectory(prefix="tacit-chaos-", dir=memory()) as place:
            os.environ["XDG_STATE_HOME"] = f"{place}/seen"  # what this machine saw of ledgers on servers
            asked = parts(servers)

            def do(number: int) -> Report:
                report = Report(seed + number, seconds)
                asked[number](report, Path(place))
                return report

            with ThreadPoolExecutor(len(asked)) as lanes:
                for report in lanes.map(do, range(len(asked))):
                    whole.add(report)
    finally:
        for server in servers:
            server.remove()
        os.environ.pop("XDG_STATE_HOME") if before is None else os.environ.update(XDG_STATE_HOME=before)
    return whole


def run(repeats: int) -> list[Figure]:
    if binaries() is None:
        raise Missing("no PostgreSQL server binaries: apt install postgresql")
    whole = break_all(SECONDS * repeats)
    for words in (*whole.violations, *whole.missing):
        print(f"  {words}", flush=True)
    total = whole.faults.total()
    assert not whole.violations, f"{len(whole.violations)} violations after {total} faults"
    note = "; ".join(whole.missing)
    figures = [
        Figure("faults injected", float(total), against=f"goal {GOAL:,}", goal=GOAL, better="more", note=note),
        Figure("violations", float(len(whole.violations)), against="goal 0", goal=0.0, better="less"),
        Figure("invariants looked at", float(whole.checks)),
    ]
    figures += [Figure(f"faults, {kind}", float(n)) for kind, n in sorted(whole.faults.items())]
    figures += [Figure(f"work done meanwhile, {kind}", float(n)) for kind, n in sorted(whole.done.items())]
    return figures + [Figure(f"typed refusals, {kind}", float(n)) for kind, n in sorted(whole.refusals.items()) if n]
