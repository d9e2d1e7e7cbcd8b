"""Whether the intervals that are printed hold what they say: 400 simulated runs of every path that prints one.

No setting is better than another (see _coverage.py), so what is chosen is chosen by luck: of the noise, and of the 500
records. "noise" is the interval about the mean of these very records, "new data" the one about the mean of the
population from which they were drawn. Both should hold in 95% of the runs, and in at least 93%; where an interval
holds for all observations at once it may hold more often. In brackets the 95% interval of the share (Clopper and
Pearson). Where 95% hold, fewer than 93% of 400 are seen once in 25 times, and there are many rows: a path that falls
below is run 2,000 times more with fresh seeds, and both shares are shown. A score that is minimised, and one that is
maximised. Kusner's score is that of the best setting tried, at epsilon 20.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import optuna
from scipy.stats import binom, binomtest
from threadpoolctl import threadpool_limits

import tacit
from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.papers._coverage import Covered, dependent, private, searched, trained, tuned

TITLE = "Coverage of the 95% intervals of released scores, 400 simulated runs a path, no setting better than another"
LONG = True
REPEATS = 400

LEAST, MORE = 93.0, 2000
WORKERS = int(os.environ.get("TACIT_WORKERS", "2"))
DIRECTIONS = ("minimize", "maximize")
KUSNER: dict[str, Any] = {"budget": tacit.Budget.approximate(20.0, 1e-6), "candidates": 32, "prior_mean": 0.1}
KUSNER |= {"prior_scale": 0.05}
Path = Callable[[int], Covered]


def list_paths() -> dict[str, Path]:
    """One run of each path, by a seed."""
    paths: dict[str, Path] = {}
    for way in DIRECTIONS:
        for method in ("observed", "random", "grid"):
            paths[f"tune {method}, {way}"] = partial(tuned, method, way)
        for method in ("observed", "random"):
            paths[f"tune {method}, dependent space, {way}"] = partial(dependent, method, way)
        paths[f"tune pool of 50, {way}"] = partial(tuned, "pool", way, trials=50)
        laplace = tacit.Budget.pure(2.0)
        paths[f"tune pool of 50, Laplace noise, {way}"] = partial(tuned, "pool", way, trials=50, budget=laplace)
        paths[f"tune staged, {way}"] = partial(tuned, "staged", way, pool=40)
        paths[f"tune gibo, {way}"] = partial(tuned, "gibo", way, trials=4)
        paths[f"tune gibo, 3 starts, {way}"] = partial(tuned, "gibo", way, trials=6, starts=3)
        paths[f"tune kusner1, {way}"] = partial(tuned, "kusner1", way, **KUSNER)
        for space in ("one space", "dependent space"):
            paths[f"private, {space}, {way}"] = partial(private, space.split()[0], way)
    for method, scoring in (("observed", "accuracy"), ("pool", "accuracy"), ("observed", "auc"), ("pool", "auc")):
        paths[f"PrivateSearchCV {method}, {scoring}"] = partial(searched, method, scoring)
    return {**paths, "train logistic, error": trained}


def figure(name: str, covered: list[bool]) -> Figure:
    """The share covered, in percent."""
    k, n = sum(covered), len(covered)
    low, high = binomtest(k, n).proportion_ci(method="exact")
    chance = float(binom.cdf(k, n, 0.95))
    note = f"{k} of {n} runs" + (f"; 95% would give so few with probability {chance:.2g}" if chance < 0.5 else "")
    goal = f"at least {LEAST:g}%"
    return Figure(name, 100 * k / n, "%", 100 * low, 100 * high, goal, note, goal=LEAST, better="more")


def count(name: str, held: list[list[bool]]) -> list[Figure]:
    """How many runs each interval of a path held in; Kusner's algorithms print none for new data."""
    about = ("noise",) if "kusner" in name else ("noise", "new data")
    return [figure(f"{name}: {what}", list(map(bool, each))) for what, each in zip(about, held, strict=False)]


def repeat(name: str, times: int, first: int = 0) -> list[list[bool]]:
    """That many runs of a path, kept: whether the intervals of noise and of new data held in each."""
    key = {"path": name, "times": times, "first": first}
    kept: list[list[bool]] = keep_piece("score_coverage", key, lambda: _repeat(name, times, first))
    return kept


def _repeat(name: str, times: int, first: int) -> list[list[bool]]:
    """With one thread."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        once = list_paths()[name]
        runs = [once(seed) for seed in range(first, first + times)]
    print(f"  {name}: {sum(r.noise for r in runs)}, {sum(r.new_data for r in runs)} of {times}", flush=True)
    return [[r.noise for r in runs], [r.new_data for r in runs]]


def run(repeats: int) -> list[Figure]:
    with ProcessPoolExecutor(WORKERS) as workers:
        jobs = {name: workers.submit(repeat, name, repeats) for name in list_paths()}
        results = {name: job.result() for name, job in jobs.items()}
        low = [n for n, runs in results.items() if any(f.value < LEAST for f in count(n, runs))]
        again = {f"{n}, again": workers.submit(repeat, n, MORE, repeats) for n in low if repeats >= REPEATS}
        results |= {name: job.result() for name, job in again.items()}
    return [f for name, runs in sorted(results.items()) for f in count(name, runs)]
