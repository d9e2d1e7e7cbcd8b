"""DPareto against BoTorch's qLogEHVI on the five tables that confirm, as `pareto_tables` judges fronts.

The same budgets: even seeds test 24 points once, odd seeds 30 points three times, a third of them at the start; the
points of the front that a search shows are trained 32 times more, and their means make the hypervolume. It is told as a
share: 0 is a constant guess, 1 the best front of all judged points of the table.
"""

from __future__ import annotations

from importlib import util

from threadpoolctl import threadpool_limits

from benchmarks import Figure, Missing
from benchmarks.papers._front_tables import TABLES
from benchmarks.papers.pareto_tables import (
    BOTORCH,
    CHOSEN_ON,
    OURS,
    REFERENCE,
    algorithms,
    compare_shares,
    keep_judged,
    volume,
)

TITLE = "Five tables, 24 to 30 points: fronts of DPareto and of BoTorch, judged by fresh runs"
LONG = True
REPEATS = 10


def run(repeats: int) -> list[Figure]:
    if util.find_spec("botorch") is None:
        raise Missing("BoTorch: pip install 'tacit[botorch]'")
    tables = [table for table in TABLES if table not in CHOSEN_ON]
    shares: dict[str, dict[tuple[str, int], float]] = {OURS: {}, BOTORCH: {}}
    with threadpool_limits(1):
        found = {
            (search, table, seed): keep_judged(table, search, seed)
            for seed in range(repeats)
            for table in tables
            for search in shares
        }
    for table in tables:
        best = volume([p for (_, t, _), front in found.items() if t == table for p in front])
        least = REFERENCE[0] * algorithms(table)[0].baselines()["majority"]
        for (search, t, seed), front in found.items():
            if t == table:
                shares[search][table, seed] = (volume(front) - least) / (best - least)
    figures = []
    for table in (*tables, "all five"):
        for search, each in shares.items():
            values = {k: v for k, v in each.items() if table in (k[0], "all five")}
            figures.append(compare_shares(f"{table}: {search}", search, values, shares[OURS]))
    return figures
