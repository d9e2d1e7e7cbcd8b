"""Fronts on Adult with every point kept: three pairs of model and optimiser, their runs, and random search.

What the paper draws in Figures 5 to 8, at a budget that a laptop carries in minutes: 16 + 48 points (16 + 256), lots
of 32 or more (8), 10 runs a point that share their lots (10). Random search draws by the paper's Table 4, as many
points as DPareto, its lots raised to 32 where they are smaller. The grids of Figure 6 have 3 and 4 steps per axis;
TACIT_GRIDS=3 in the environment leaves the larger one out. Random and grid points whose epsilon is 10 or more add
nothing and are not trained. At the paper's size the hypervolumes are those of pareto_adult, which keeps no points.
Every set is kept as it is done.
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
from benchmarks.papers._front_panels import EPSILON, between, cloud, front, grown, line
from tacit.pareto import discover, hypervolume
from tacit.pareto.algorithm import seeds_of
from tacit.space import Int, Params, Space
from tacit.trainers.dp_sgd import LogisticAdam, LogisticSGD, SupportVectorSGD

TITLE = "Adult: fronts of three pairs of model and optimiser, and random search, drawn"
LONG = True
REPEATS = 1

DELTA, REFERENCE, STARTUP, POINTS, RUNS, SMALLEST_LOT = 1e-5, (10.0, 1.0), 16, 64, 10, 32
GRIDS = [int(per_axis) for per_axis in os.environ.get("TACIT_GRIDS", "3,4").split(",")]
PAIRS = (LogisticSGD, LogisticAdam, SupportVectorSGD)
Tested = list[tuple[float, float, float, float]]  # epsilon; mean, least and largest error of the runs


@lru_cache(maxsize=3)
def algorithm(kind: type) -> Any:
    made = kind(*_dpareto.adult(), shared_lots=True)
    made.accounting = "renyi"  # the paper's; see front_accounting for ours
    made.space = Space({**made.space.distributions, "lot": Int(SMALLEST_LOT, 512, log=True)})
    return made


def dpareto(kind: type) -> Tested:
    asked: dict[str, Any] = {"trials": POINTS, "startup": STARTUP, "reference": REFERENCE, "repeats": RUNS}
    tested = discover(algorithm(kind), delta=DELTA, **asked).tested
    return [(p.epsilon, p.error, 1 - p.best, 1 - p.worst) for p in tested]


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
    rng, made = np.random.default_rng(7), algorithm(kind)
    points = [{name: draw(rng) for name, draw in made.random.items()} for _ in range(POINTS)]
    points = [{**p, "lot": max(p["lot"], SMALLEST_LOT)} for p in points]
    epsilons, trained = made.epsilons(points, DELTA), iter(measured(kind, points, 1000))
    return [next(trained) if e < REFERENCE[0] else (float(e), 1.0, 1.0, 1.0) for e in epsilons]


def grid(per_axis: int) -> Tested:
    """Equal steps over the random search's ranges, as the authors' code takes them."""
    ranges = algorithm(LogisticSGD).random
    ends = {name: (SMALLEST_LOT if name == "lot" else d.low, d.high) for name, d in ranges.items()}
    axes = np.meshgrid(*[np.linspace(*both, per_axis) for both in ends.values()])
    points = [dict(zip(ends, map(float, p), strict=True)) for p in np.stack(axes, -1).reshape(-1, len(ends))]
    return measured(LogisticSGD, [{**p, "epochs": round(p["epochs"]), "lot": round(p["lot"])} for p in points], 5000)


def everything() -> dict[str, Tested]:
    about = {"points": POINTS, "runs": RUNS, "lot": SMALLEST_LOT}
    found = {}
    for kind in PAIRS:
        for what, work in (("dpareto", dpareto), ("random", random)):
            key = {"what": what, "algorithm": kind.__name__, **about}
            found[f"{what} {kind.name}"] = keep_piece("pareto_fronts", key, partial(work, kind))
    for per_axis in GRIDS:
        key = {"what": "grid", "per axis": per_axis, **about}
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
        title, against = f"hypervolume gained over random, {kind.name}", f"one set of {POINTS} random points"
        figures.append(Figure(title, ours - other, against=against, note=note))
    for per_axis in GRIDS:
        gained = volume(found[f"dpareto {LogisticSGD.name}"]) - volume(found[f"grid {per_axis}"])
        title = f"hypervolume gained over a grid of {per_axis**5:,}, {LogisticSGD.name}"
        figures.append(Figure(title, gained, against=f"{POINTS} points of DPareto", note=note))
    return figures


def draw(found: dict[str, Tested]) -> None:
    """The paper's Figures 5 (top left), 8 (left), 6 and 7, in this order."""
    axes = EPSILON, {"label": "error", "low": 0.15, "high": 0.25}
    evaluations = {"label": "evaluations", "low": 1, "high": POINTS}
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
