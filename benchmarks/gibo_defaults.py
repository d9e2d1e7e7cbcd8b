"""Where DP-GIBO's defaults come from: one setting changed at a time, over five kinds of problems in the unit cube.

The figure is the mean regret of the final point, 0 at the best known point and 1 at a random one, over the problems
bowl, valley, errors (zero-one losses), waves and lengths (length-scales of a Gaussian process), each in 5 and 10
dimensions with 300 records, T = 25 steps, mu = 0.5: hard enough to tell settings apart.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import Figure
from benchmarks._gibo_problems import ALL, Problem, descent
from tacit.optimise.gibo_design import CLIP, RADIUS, Settings

TITLE = "DP-GIBO's defaults: mean regret over five kinds of problems in the unit cube, 300 records, T = 25, mu = 0.5"
LONG = True

TRIALS, RECORDS, MU = 25, 300, 0.5
CHANGES: dict[str, list[Any]] = {
    "design": ["cross", "simplex"],
    "radius": [0.02, 0.05, 0.1, 0.15, 0.2, 0.3],
    "rate": [0.05, 0.1, 0.2, 0.3, 0.5],
    "clip": [0.03, 0.1, 0.25, 0.5, 1.0],
    "average": [0.0, 0.25, 0.5],
    "starts": [1, 2, 4],
    "step": ["adagrad", "adam", "momentum", "plain"],
    "lengthscale": [0.2, 0.5, 1.0],
}
WITH = {"adam": {"rate": 0.1}, "momentum": {"rate": 0.2}, "plain": {"rate": 1.0}}
ABOUT = {"lengthscale": {"design": "optimised"}}  # a cross hardly depends on it; the optimised design does


def problems(seed: int) -> list[Problem]:
    return [make(d, RECORDS, seed) for make in ALL for d in (5, 10)]


def regrets(options: dict[str, Any], seeds: int, only: int | None = None) -> np.ndarray:
    """One regret for each problem and seed."""
    found = []
    for seed in range(seeds):
        for p in problems(seed)[:only]:
            start = (
                dict.fromkeys(p.space.names, 0.5)
                if seed == 0
                else p.space.params(np.random.default_rng((seed, 7)).random((1, p.d)))[0]
            )
            given = {**options, "start": [start]}  # further starts are scattered
            found.append(p.regret(descent(p, MU, TRIALS, seed, given).params))
    return np.array(found)


def run(repeats: int) -> list[Figure]:
    figures, seeds = [], max(1, repeats)
    with threadpool_limits(1):
        for name, values in CHANGES.items():
            for value in values:
                options = {**ABOUT.get(name, {}), name: value, **WITH.get(str(value), {})}
                small = name == "lengthscale"  # the optimised design is slow: fewer problems
                found = regrets(options, min(seeds, 2) if small else seeds, 4 if small else None)
                mean, error = float(found.mean()), float(found.std(ddof=1)) / math.sqrt(len(found))
                default = Settings.__dataclass_fields__[name].default
                chosen = "the default" if value == {"radius": RADIUS, "clip": CLIP}.get(name, default) else ""
                note = f"{len(found)} runs" + (f", with {options}" if len(options) > 1 else "")
                label = f"{name} = {value}"
                figures.append(Figure(label, mean, "regret", mean - 2 * error, mean + 2 * error, chosen, note))
                print(f"  {label}: {mean:.4f} +- {error:.4f} {chosen}", flush=True)
    return figures
