"""DPareto against random search and grids on Adult, in the form of the paper's Table 2 and Figure 6.

The paper's sizes: 16 + 256 points, ``repeats`` sets of 256 random points (the paper's 19: ``--repeats 19``), grids of
243 and 1,024 for logistic regression by SGD, as in its Figure 6. Less than the paper's: a point is the mean of 3
runs that share their lots (the authors' code: 10). In the environment, TACIT_POINTS gives another number of points and
TACIT_GRIDS=3 only the smaller grid.

Points whose epsilon is 10 or more add nothing to the hypervolume, and epsilon is known beforehand: random and grid
points there are not trained. Every set is kept as it is done, so that a stopped run goes on.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.papers import _dpareto
from benchmarks.papers._renyi import by_renyi
from tacit.pareto import discover, hypervolume
from tacit.pareto.algorithm import seeds_of
from tacit.space import Params
from tacit.training.dp_sgd import LogisticAdam, LogisticSGD, SupportVectorSGD

TITLE = "Privacy-utility fronts on Adult: DPareto against random search and grids"
LONG = True
DELTA, REFERENCE, STARTUP = 1e-5, (10.0, 1.0), 16
POINTS = int(os.environ.get("TACIT_POINTS", "272"))
GRIDS = [int(per_axis) for per_axis in os.environ.get("TACIT_GRIDS", "3,4").split(",")]
RUNS = 3
PAPER = {
    LogisticSGD: "0.158 (0.053, 0.264)",
    LogisticAdam: "0.439 (0.272, 0.607)",
    SupportVectorSGD: "0.282 (0.161, 0.402)",
}


@lru_cache(maxsize=4)
def algorithm(kind: type) -> Any:
    made = by_renyi(kind(*_dpareto.adult(), shared_lots=True))  # the paper's bound
    return made


def measured(kind: type, points: list[Params], seed: int, runs: int) -> float:
    """Hypervolume of these points, each the mean of some runs."""
    found = []
    epsilons = algorithm(kind).epsilons(points, DELTA)
    for i, (point, epsilon) in enumerate(zip(points, epsilons, strict=True)):
        if epsilon < REFERENCE[0]:
            found.append((epsilon, 1 - algorithm(kind).utilities(point, seeds_of(seed, i, runs)).mean()))
    return float(hypervolume(found, REFERENCE))


def random_set(kind: type, seed: int, many: int, runs: int) -> float:
    """The paper's random search, its own ranges: learning rates reach 0.1 where DPareto's domain ends at 0.05."""
    rng, made = np.random.default_rng((7, seed)), algorithm(kind)
    points = [{name: draw(rng) for name, draw in made.random.items()} for _ in range(many)]
    return measured(kind, points, 1000 + seed, runs)


def found_by_dpareto(kind: type, trials: int, runs: int) -> float:
    front = discover(
        algorithm(kind), delta=DELTA, trials=trials, startup=STARTUP, reference=REFERENCE, repeats=runs
    ).value
    return float(front.hypervolume(REFERENCE))


def grid(kind: type, per_axis: int, runs: int) -> float:
    """Equal steps over the random search's ranges, as the authors' code takes them."""
    made = algorithm(kind)
    axes = [np.linspace(d.low, d.high, per_axis) for d in made.random.values()]
    names = list(made.random)
    points = [dict(zip(names, map(float, p), strict=True)) for p in np.stack(np.meshgrid(*axes), -1).reshape(-1, 5)]
    for point in points:
        point.update(epochs=round(point["epochs"]), lot=round(point["lot"]))
    return measured(kind, points, 5000, runs)


def gain(kind: Any, ours: float, sets: list[float], against: str, note: str) -> Figure:
    """Mean difference over random sets with its 95% t-interval, ours held fixed, as in the paper's Table 2."""
    differences = ours - np.array(sets)
    mean, n = float(differences.mean()), len(sets)
    half = math.inf if n < 2 else float(stats.t.ppf(0.975, n - 1) * differences.std(ddof=1) / n**0.5)
    low, high = (mean - half, mean + half) if n > 1 else (None, None)
    return Figure(f"hypervolume gained over random, {kind.name}", mean, "", low, high, against, note)


def piece(what: str, kind: type, *asked: int) -> float:
    """One of the functions above, kept under its name and arguments."""
    work = {"random": random_set, "dpareto": found_by_dpareto, "grid": grid}[what]
    key = {"what": what, "algorithm": kind.__name__, "asked": asked}
    return float(keep_piece("pareto_adult", key, lambda: work(kind, *asked)))


def run(repeats: int) -> list[Figure]:
    random = POINTS - STARTUP
    with ProcessPoolExecutor(2) as pool:
        ours = {kind: pool.submit(piece, "dpareto", kind, POINTS, RUNS) for kind in PAPER}
        # set by set over the algorithms, so that a run stopped early has as many sets of each
        sets = {
            (kind, s): pool.submit(piece, "random", kind, s, random, RUNS) for s in range(repeats) for kind in PAPER
        }
        grids = {per_axis: pool.submit(piece, "grid", LogisticSGD, per_axis, RUNS) for per_axis in GRIDS}
        figures = []
        for kind, paper in PAPER.items():
            best, others = ours[kind].result(), [sets[kind, s].result() for s in range(repeats)]
            note = (
                f"{STARTUP} + {random} points against {repeats} sets of {random} (19 of 256), {RUNS} runs a point (10)"
            )
            figures += [
                Figure(f"hypervolume, {kind.name}", best, against="at most 10"),
                gain(kind, best, others, f"the paper's {paper}", note),
            ]
        figures += [
            Figure(
                f"hypervolume gained over a grid of {per_axis**5:,}, {LogisticSGD.name}",
                ours[LogisticSGD].result() - found.result(),
                against="above 0 in the paper's Figure 6, no number given",
                note=f"{RUNS} runs a point",
            )
            for per_axis, found in grids.items()
        ]
    return figures
