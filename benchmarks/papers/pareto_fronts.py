"""Fronts on Adult with every point kept: three pairs of model and optimiser, their runs, and random search.

What the paper draws in Figures 5 to 8, over the paper's domain and with its 10 runs a point, which share their lots:
the points are those of `pareto_table2`, read as printed, told by the paper's accounting. DPareto has 16 + 112 points
(16 + 256), random search 256. The grids of Figure 6 have 3 and 4 steps per axis, lots of 32 or more (8); TACIT_GRIDS=3
in the environment leaves the larger one out. Random and grid points whose epsilon is 10 or more add nothing and are not
trained. With 16 + 256 points and 19 random sets the hypervolumes are those of pareto_adult, which keeps no points.
"""

from __future__ import annotations

import os
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks import Figure
from benchmarks.harness.panels import save
from benchmarks.harness.parts import keep_piece
from benchmarks.papers import _dpareto
from benchmarks.papers._avent import Reading
from benchmarks.papers._front_panels import EPSILON, between, cloud, front, grown, line
from benchmarks.papers._renyi import by_renyi
from benchmarks.papers.pareto_table2 import DELTA, READINGS, REFERENCE, RUNS, SIZE, STARTUP, piece
from benchmarks.papers.pareto_table2 import TRIALS as POINTS
from tacit.pareto import hypervolume
from tacit.pareto.algorithm import seeds_of
from tacit.space import Int, Params, Space
from tacit.training.dp_sgd import LogisticAdam, LogisticSGD, SupportVectorSGD

TITLE = "Adult: fronts of three pairs of model and optimiser, and random search, drawn"
LONG = True
REPEATS = 1

PRINTED, SMALLEST_LOT = "as printed", 32
GRIDS = [int(per_axis) for per_axis in os.environ.get("TACIT_GRIDS", "3,4").split(",")]
PAIRS = (LogisticSGD, LogisticAdam, SupportVectorSGD)
Tested = list[tuple[float, float, float, float]]  # epsilon; mean, least and largest error of the runs


@lru_cache(maxsize=3)
def algorithm(kind: type) -> Any:
    made = by_renyi(kind(*_dpareto.adult(), shared_lots=True))  # the paper's bound
    made.space = Space({**made.space.distributions, "lot": Int(SMALLEST_LOT, 512, log=True)})
    return made


def tell(kind: type, tested: list[tuple[Params, list[float]]]) -> Tested:
    reading = Reading(kind, **READINGS[PRINTED], accounting="renyi")
    epsilons = reading.epsilons([params for params, _ in tested], DELTA)
    errors = [1 - np.array(runs) for _, runs in tested]
    return [(float(e), *map(float, (x.mean(), x.min(), x.max()))) for e, x in zip(epsilons, errors, strict=True)]


def measured(kind: type, points: list[Params], seed: int) -> Tested:
    """Points within the reference, each by its runs."""
    found: Tested = []
    for i, (point, epsilon) in enumerate(zip(points, algorithm(kind).epsilons(points, DELTA), strict=True)):
        if epsilon < REFERENCE[0]:
            errors = 1 - algorithm(kind).utilities(point, seeds_of(seed, i, RUNS))
            found.append((float(epsilon), float(errors.mean()), float(errors.min()), float(errors.max())))
    return found


def random(kind: type) -> Tested:
    """In turn; a point beyond the reference is there as error 1, so that evaluations are counted."""
    rng, reading = np.random.default_rng((7, 0)), Reading(kind, **READINGS[PRINTED])
    runs = {repr(params): runs for params, runs in piece("random", kind, PRINTED)}
    points = [reading.draw(rng) for _ in range(SIZE)]
    return tell(kind, [(p, runs.get(repr(p), [0.0])) for p in points])


def grid(per_axis: int) -> Tested:
    """Equal steps over the random search's ranges, as the authors' code takes them."""
    ranges = algorithm(LogisticSGD).random
    ends = {name: (SMALLEST_LOT if name == "lot" else d.low, d.high) for name, d in ranges.items()}
    axes = np.meshgrid(*[np.linspace(*both, per_axis) for both in ends.values()])
    points = [dict(zip(ends, map(float, p), strict=True)) for p in np.stack(axes, -1).reshape(-1, len(ends))]
    return measured(LogisticSGD, [{**p, "epochs": round(p["epochs"]), "lot": round(p["lot"])} for p in points], 5000)


def everything() -> dict[str, Tested]:
    found = {}
    for kind in PAIRS:
        found[f"dpareto {kind.name}"] = tell(kind, piece("dpareto", kind, PRINTED))
        found[f"random {kind.name}"] = random(kind)
    for per_axis in GRIDS:
        key = {"what": "grid", "per axis": per_axis, "runs": RUNS, "lot": SMALLEST_LOT}
        found[f"grid {per_axis}"] = keep_piece("pareto_fronts", key, partial(grid, per_axis))
    return found


def volume(tested: Tested) -> float:
    return float(hypervolume([p[:2] for p in tested], REFERENCE))


def run(repeats: int) -> list[Figure]:
    found, figures = everything(), []
    draw(found)
    note = f"{STARTUP} + {POINTS - STARTUP} points, {RUNS} runs a point"
    for kind in PAIRS:
        ours, other = (volume(found[f"{what} {kind.name}"]) for what in ("dpareto", "random"))
        figures.append(Figure(f"hypervolume, {kind.name}", ours, against="at most 10", note=note))
        title, against = f"hypervolume gained over random, {kind.name}", f"one set of {SIZE} random points"
        figures.append(Figure(title, ours - other, against=against, note=note))
    for per_axis in GRIDS:
        gained = volume(found[f"dpareto {LogisticSGD.name}"]) - volume(found[f"grid {per_axis}"])
        title = f"hypervolume gained over a grid of {per_axis**5:,}, {LogisticSGD.name}"
        figures.append(Figure(title, gained, against=f"{POINTS} points of DPareto", note=note))
    return figures


def draw(found: dict[str, Tested]) -> None:
    """The paper's Figures 5 (top left), 8 (left), 6 and 7, in this order."""
    axes = EPSILON, {"label": "error", "low": 0.15, "high": 0.25}
    evaluations = {"label": "evaluations", "low": 1, "high": SIZE}
    ours = {kind.name: np.array(found[f"dpareto {kind.name}"]) for kind in PAIRS}
    volumes = []
    for k, name in enumerate(ours):
        for what, title, dash in (("dpareto", "DPareto", 0), ("random", "random", 2)):
            volumes.append(line(f"{name}, {title}", grown(found[f"{what} {name}"], REFERENCE), k, dash=dash))
    growth = {"label": "hypervolume", "low": 7.5, "high": 8.4}
    panels = [{"title": "hypervolume", "x": evaluations, "y": growth, "series": volumes}]

    def graph(title: str, *series: dict[str, Any]) -> None:
        panels.append({"title": title, "x": axes[0], "y": axes[1], "series": series})

    graph("fronts of the three pairs", *[front(n, t[:, :2], axes[0], k) for k, (n, t) in enumerate(ours.items())])
    grids = [(per_axis, found[f"grid {per_axis}"]) for per_axis in GRIDS]
    if grids:
        graph(
            f"against grids, {LogisticSGD.name}",
            *[cloud(f"grid of {g**5:,}, points", [p[:2] for p in t], axes, k) for k, (g, t) in enumerate(grids, 4)],
            front(f"DPareto, {POINTS} points", ours[LogisticSGD.name][:, :2], axes[0], 0),
            *[front(f"grid of {g**5:,}, front", [p[:2] for p in t], axes[0], k) for k, (g, t) in enumerate(grids, 1)],
        )
    for k, (name, t) in enumerate(ours.items()):
        best, worst = t[:, [0, 2]], t[:, [0, 3]]
        graph(
            f"runs, {name}",
            between(f"from the best to the worst of {RUNS} runs", best, worst, axes[0], k),
            front("front of the mean", t[:, :2], axes[0], k, dash=0),
        )
    save("pareto_fronts", "adult", f"Adult: DPareto's {STARTUP} + {POINTS - STARTUP} points, {RUNS} runs each", panels)
