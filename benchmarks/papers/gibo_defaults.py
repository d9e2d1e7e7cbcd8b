"""Where DP-GIBO's defaults come from: one setting changed at a time, over seven kinds of problems in the unit cube.

The figure is the mean regret of the final point, 0 at the best known point and 1 at a random one, over the problems
bowl, valley, errors (zero-one losses), waves, lengths (length-scales of a Gaussian process), basins (two, the poorer
nearer to the middle) and plateau (a hole in a plain), each in 5 and 10 dimensions with 300 records, T = 25 steps,
mu = 0.5 for everything: hard enough to tell settings apart. Whether to draw the first point is tried once more with
3,000 records. Notes give the regret by kind. The seeds are not those of the paper's experiments, where the defaults are
tried afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.papers._gibo_problems import ALL, Problem, descent
from tacit.methods.gibo.design import CLIP, RADIUS, SCAN, SCANNED, SCORED, DescentSettings

TITLE = "DP-GIBO's defaults: mean regret over seven kinds of problems in the unit cube, 300 records, T = 25, mu = 0.5"
LONG = True

TRIALS, RECORDS, MU = 25, 300, 0.5
CHANGES: dict[str, list[Any]] = {
    "design": ["cross", "simplex"],
    "radius": [0.05, 0.1, 0.2, 0.3, (0.3, 0.1), (0.3, 0.05), (0.3, 0.02)],
    "scan": [0, 16, 64, 256],
    "scan_budget": [0.1, 0.2, 0.4],  # of a draw among 64 places
    "rate": [None, 0.05, 0.1, 0.2, 0.3, 0.5],
    "clip": [0.03, 0.1, 0.25, 0.5, 1.0],
    "average": [0.0, 0.25, 0.5],
    "starts": [1, 2, 4],
    "step": ["adagrad", "adam", "momentum", "plain"],
    "lengthscale": [0.2, 0.5, 1.0],
}
WITH = {"adam": {"rate": 0.1}, "momentum": {"rate": 0.2}, "plain": {"rate": 1.0}}
MANY: list[dict[str, Any]] = [{"scan": 0}, {"scan": SCAN}, {"scan": 256}, {"scan": SCAN, "starts": 2}]
# a cross hardly depends on the length-scale; the optimised design does
ABOUT: dict[str, dict[str, Any]] = {"lengthscale": {"design": "optimised"}, "scan_budget": {"scan": SCAN}}
DEFAULTS = {"radius": RADIUS, "clip": CLIP, "scan": SCAN, "scan_budget": SCANNED, "rate": None}
FIRST = 300  # of the seeds


def regrets(
    options: dict[str, Any], seeds: int, kinds: Sequence[Any] = ALL, records: int = RECORDS
) -> dict[str, list[float]]:
    """For each kind of problem a regret for each dimension and seed."""
    found: dict[str, list[float]] = {}
    for make in kinds:
        for d in (5, 10):
            for seed in range(FIRST, FIRST + seeds):
                key = {
                    "kind": make.__name__,
                    "d": d,
                    "seed": seed,
                    "options": repr(options),
                    "defaults": repr((DEFAULTS, SCORED, records)),
                }
                regret = keep_piece("gibo_defaults", key, lambda: _once(make(d, records, seed), seed, options))  # noqa: B023
                found.setdefault(make.__name__, []).append(float(regret))
    return found


def _once(p: Problem, seed: int, options: dict[str, Any]) -> float:
    return p.regret(descent(p, MU, TRIALS, seed, options).params)


def figure(label: str, by_kind: dict[str, list[float]], chosen: str, note: str = "") -> Figure:
    found = np.concatenate(list(by_kind.values()))
    mean, error = float(found.mean()), float(found.std(ddof=1)) / math.sqrt(len(found))
    each = ", ".join(f"{kind} {np.mean(v):.3f}" for kind, v in by_kind.items())
    print(f"  {label}: {mean:.4f} +- {error:.4f} {chosen} {each}", flush=True)
    return Figure(label, mean, "regret", mean - 2 * error, mean + 2 * error, chosen, f"{len(found)} runs: {each}{note}")


def run(repeats: int) -> list[Figure]:
    figures, seeds, usual = [], max(1, repeats), dict[str, list[float]]()
    with threadpool_limits(1):
        for name, values in CHANGES.items():
            for value in values:
                options = {**ABOUT.get(name, {}), name: value, **WITH.get(str(value), {})}
                small = name == "lengthscale"  # the optimised design is slow: fewer problems
                default = DEFAULTS.get(name, DescentSettings.__dataclass_fields__[name].default)
                chosen = "the default" if value == default else ""
                if chosen and name not in ABOUT:
                    by_kind = usual = usual or regrets({}, seeds)
                else:
                    by_kind = regrets(options, 1 if small else seeds, ALL[:2] if small else ALL)
                figures.append(figure(f"{name} = {value}", by_kind, chosen, f"; with {options}" * (len(options) > 1)))
        for options in MANY:
            label = ", ".join(f"{k} = {v}" for k, v in options.items())
            chosen = "the default" if options == {"scan": SCAN} else ""
            by_kind = regrets(options, seeds, records=10 * RECORDS)
            figures.append(figure(f"{10 * RECORDS:,} records: {label}", by_kind, chosen))
    return figures
