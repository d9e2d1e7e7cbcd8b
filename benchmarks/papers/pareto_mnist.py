"""Privacy-utility fronts of the paper's two perceptrons on MNIST, at a budget that a laptop carries.

Far less than the paper's: 6,000 images to train on (60,000), up to 3 epochs (400), lots of 64 or more (16), 16 + 16
points (16 + 256) of one run each (10), 2 random sets (its 19). Random points follow the paper's Table 3, their epochs
folded into the same range. Both searches see all 10,000 test images. Every set is kept as it is done.
"""

from __future__ import annotations

import statistics
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks import Figure
from benchmarks.harness.panels import save
from benchmarks.harness.parts import keep_piece
from benchmarks.papers import _dpareto
from benchmarks.papers._front_panels import EPSILON, cloud, front, grown, line
from benchmarks.papers._renyi import by_renyi
from tacit.pareto import discover, hypervolume
from tacit.pareto.algorithm import seeds_of
from tacit.space import Int, Space
from tacit.training.dp_mlp import Network, Network128x64, Network1000

TITLE = "MNIST: fronts of 784-1000-10 and 784-128-64-10 at a small budget, against random search"
LONG = True
REPEATS = 2

DELTA, REFERENCE, STARTUP, POINTS, SETS = 1e-5, (10.0, 1.0), 16, 32, 2
RECORDS, EPOCHS, SMALLEST_LOT = 6_000, 3, 64
NETWORKS: dict[str, type[Network]] = {"784-1000-10": Network1000, "784-128-64-10": Network128x64}


@lru_cache(maxsize=2)
def algorithm(name: str) -> Network:
    made = by_renyi(NETWORKS[name](*_dpareto.mnist(RECORDS)))  # the paper's bound
    cut = {"epochs": Int(1, EPOCHS), "lot": Int(SMALLEST_LOT, 4000, log=True)}
    made.space = Space({**made.space.distributions, **cut})
    return made


def dpareto(name: str) -> list[tuple[float, float]]:
    asked: dict[str, Any] = {"trials": POINTS, "startup": STARTUP, "reference": REFERENCE}
    return [(p.epsilon, p.error) for p in discover(algorithm(name), delta=DELTA, **asked).value.tested]


def random(name: str, seed: int) -> list[tuple[float, float]]:
    """Points whose epsilon is 10 or more add nothing and are not trained."""
    rng, made = np.random.default_rng((7, seed)), algorithm(name)
    points = [{n: draw(rng) for n, draw in made.random.items()} for _ in range(POINTS)]
    points = [{**p, "epochs": 1 + (p["epochs"] - 1) % EPOCHS, "lot": max(p["lot"], SMALLEST_LOT)} for p in points]
    found = []
    for i, (point, epsilon) in enumerate(zip(points, made.epsilons(points, DELTA), strict=True)):
        inside = epsilon < REFERENCE[0]
        found.append((float(epsilon), 1 - made.utility(point, seeds_of(1000 + seed, i, 1)[0]) if inside else 1.0))
    return found


def run(repeats: int) -> list[Figure]:
    figures, found = [], {}
    note = f"{RECORDS:,} images, up to {EPOCHS} epochs, {STARTUP} + {POINTS - STARTUP} points of one run"
    for name in NETWORKS:
        about = {"network": name, "points": POINTS, "records": RECORDS, "epochs": EPOCHS}
        tested = keep_piece("pareto_mnist", about, lambda n=name: dpareto(n))
        others = [
            keep_piece("pareto_mnist", {**about, "set": s}, lambda n=name, s=s: random(n, s)) for s in range(SETS)
        ]
        found[name] = [tested, *others]
        ours, *sets = (hypervolume(values, REFERENCE) for values in found[name])
        gained = [ours - other for other in sets]
        figures += [
            Figure(f"hypervolume, {name}", ours, against="at most 10", note=note),
            Figure(
                f"hypervolume gained over random, {name}",
                statistics.mean(gained),
                "",
                min(gained),
                max(gained),
                f"{SETS} sets of {POINTS} random points",
                "too few sets for an interval: least and most",
            ),
        ]
    draw(found)
    return figures


def draw(found: dict[str, list[list[tuple[float, float]]]]) -> None:
    """The paper's Figure 5, top right and bottom left, and Figure 8, right."""
    axes = {**EPSILON, "low": 0.1}, {"label": "error", "low": 0.1, "high": 1.0}
    evaluations = {"label": "evaluations", "low": 1, "high": POINTS}
    volumes, fronts, pairs = [], [], []
    for k, (name, (ours, *others)) in enumerate(found.items()):
        volumes.append(line(f"{name}, DPareto", grown(ours, REFERENCE), k, dash=0))
        mean = np.mean([grown(values, REFERENCE) for values in others], axis=0)
        volumes.append(line(f"{name}, random, mean of {SETS} sets", mean, k, dash=2))
        fronts.append(front(f"{name}, DPareto's {POINTS} points", ours, axes[0], k))
        drawn = [v for values in others for v in values]
        pairs.append({"title": f"{name}: DPareto and random", "x": axes[0], "y": axes[1], "series": [
            cloud(f"the {STARTUP} points that DPareto began with", ours[:STARTUP], axes, 6, size=5),
            cloud("points that DPareto chose", ours[STARTUP:], axes, 0, size=5),
            cloud(f"random points, {SETS} sets", drawn, axes, 1),
            front("front of what DPareto began with", ours[:STARTUP], axes[0], 6, dash=2),
            front("front of DPareto", ours, axes[0], 0),
            *[front(f"front of {POINTS} random points, set {s + 1}", values, axes[0], 1, dash=1 + 3 * s)
              for s, values in enumerate(others)],
        ]})  # fmt: skip
    growth = {"label": "hypervolume", "low": 0.0, "high": 8.0}
    panels = [{"title": "hypervolume", "x": evaluations, "y": growth, "series": volumes}]
    panels += [{"title": "fronts of the two perceptrons", "x": axes[0], "y": axes[1], "series": fronts}, *pairs]
    save("pareto_mnist", "fronts", f"MNIST, {RECORDS:,} images: two perceptrons by DP-SGD", panels)
