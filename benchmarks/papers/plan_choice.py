"""Whether `tacit plan` chooses well on surfaces it was not made from: pool, staged, observed at equal guarantee.

Cells: n = 300 to 5,000 records and d = 2 to 10 parameters, epsilon 1, delta 1e-6, a typical setting loses 0.1 against
the best. In each cell 20 surfaces, half with one valley, half with two basins. Their seeds are neither those that chose
the settings of the stages (101) nor those of the plan's own table (0 and 500 on). Regret is 0 at the best known point
and 1 at a typical one. Private observations have 50 trials, the stages 200 candidates and 50 trials, the pool 1,000
candidates; the expectation over the coins of a pool's choice is exact.

Right, as it was laid down before measuring: the mean regret of what the plan recommends exceeds the least of the three
by no more than 0.01, or by no more than two standard errors of the difference, surface by surface. Wanted: 9 cells of
10. Beside it, whether the stages could be the default: where they are better and worse than private observations.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits

import tacit
from benchmarks import Figure
from benchmarks.papers import plan_table
from benchmarks.papers._gibo_problems import Problem, basins, bowl, errors, valley, waves
from benchmarks.papers.pool_table import BUDGET, DIMENSIONS, LOOKS, MANY, RECORDS, SIZES, SPREAD, TRIALS, gumbel_noise
from benchmarks.papers.pool_table import once as search

TITLE = "The plan's choice between pool, staged and observed, on 20 surfaces a cell that it was not made from"
LONG = True
REPEATS = 20

KINDS, FIRST, WORKERS = (bowl, basins, valley, basins, errors, basins, waves, basins), 2000, 4
METHODS = ("pool", "staged", "observed")
ALIKE, ERRORS = 0.01, 2.0  # regret, and standard errors, that do not count
NAMES = {"pool_many": "pool"}


def choose(records: int, dimensions: int) -> str:
    """What the plan recommends."""
    asked = {"records": records, "dimensions": dimensions, "trials": TRIALS, "budget": BUDGET, "spread": SPREAD}
    return tacit.plan(**asked).recommendation.method


def draw(p: Problem, records: int, seed: int) -> float:
    """The expected regret of a pool's choice."""
    lost = np.array([p.regret(x) for x in p.space.sobol(MANY, seed)])
    weights = np.exp(-(lost - lost.min()) / gumbel_noise(records))
    return float(weights @ lost / weights.sum())


def measure(d: int, at: int, chosen: tuple[str, ...]) -> dict[tuple[str, int], float]:
    """Regret of each method on one surface, by method and records."""
    with threadpool_limits(1):
        seed = FIRST + at
        p = KINDS[at % len(KINDS)](d, RECORDS, seed)
        regrets = {}
        for n, look in zip(SIZES, LOOKS, strict=True):
            regrets["pool", n] = draw(p, n, seed)
            for method in ("staged", "observed"):
                regrets[method, n] = search(p, method, look, seed)
            for method in set(chosen) - {*METHODS}:
                regrets[method, n] = plan_table.once(p, method, TRIALS, look, seed)
    return regrets


def interval(name: str, runs: np.ndarray, note: str = "") -> Figure:
    half = 1.96 * runs.std(ddof=1) / math.sqrt(len(runs))
    return Figure(name, float(runs.mean()), "regret", float(runs.mean() - half), float(runs.mean() + half), note=note)


def exceeds(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the mean of a is above that of b by more than counts."""
    over = a - b
    return bool(over.mean() > max(ALIKE, ERRORS * over.std(ddof=1) / math.sqrt(len(over))))


def run(repeats: int) -> list[Figure]:
    cells = list(product(DIMENSIONS, sorted(SIZES)))
    plan = {(d, n): NAMES.get(method := choose(n, d), method) for d, n in cells}
    with ProcessPoolExecutor(WORKERS) as workers:
        jobs = {
            (d, at): workers.submit(measure, d, at, tuple({plan[d, n] for n in SIZES}))
            for d in DIMENSIONS
            for at in range(max(2, repeats))
        }
        surfaces = {key: job.result() for key, job in jobs.items()}
    figures, right, least, better, worse = [], 0, 0, [], []
    for d, n in cells:
        cell = f"d = {d}, n = {n:,}"
        runs = {m: np.array([surfaces[d, at][m, n] for at in range(max(2, repeats))]) for m in {*METHODS, plan[d, n]}}
        best = min(METHODS, key=lambda m: runs[m].mean())
        good = not exceeds(runs[plan[d, n]], runs[best])
        right, least = right + good, least + (plan[d, n] == best)
        better += [cell] if exceeds(runs["observed"], runs["staged"]) else []
        worse += [cell] if exceeds(runs["staged"], runs["observed"]) else []
        for m in sorted(runs, key=lambda m: runs[m].mean()):
            note = f"the plan's choice, {'right' if good else 'WRONG'}" if m == plan[d, n] else ""
            figures.append(interval(f"{cell}: {m}", runs[m], note))
            print(f"  {figures[-1].name}: {figures[-1].value:.3f} {note}", flush=True)
    many, goal = len(cells), 0.9
    said = f"{least} of {many} have the very least mean"
    figures.append(
        Figure("cells in which the plan's choice is right", right / many, "of 1", note=said, goal=goal, better="more")
    )
    told = f"worse in {', '.join(worse) or 'none'}"
    figures.append(Figure("cells in which staged beats observed", float(len(better)), f"of {many}", note=told))
    return figures
