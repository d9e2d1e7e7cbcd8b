"""Adult's privacy-utility front under two accountings: the paper's Renyi bound, and tight epsilons of the same steps.

The points that DPareto tests under either are trained once; both their epsilons are computed. What a front gains by
tight epsilons alone is its own points moved left; a search that knows them looks elsewhere too.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks import Figure, Missing
from benchmarks.papers import _dpareto
from benchmarks.papers._renyi import by_renyi
from tacit.pareto import discover
from tacit.pareto.dominance import hypervolume
from tacit.training.dp_sgd import LogisticSGD

TITLE = "Adult's front by Renyi and by tight epsilons"
LONG = True
REPEATS = 1
DELTA, REFERENCE, STARTUP, RUNS = 1e-5, (10.0, 1.0), 16, 3
TRIALS = int(os.environ.get("TACIT_POINTS", "48"))


@lru_cache(maxsize=2)
def algorithm(accounting: str) -> Any:
    made = LogisticSGD(*_dpareto.adult(), shared_lots=True)
    return by_renyi(made) if accounting == "renyi" else made


def searched(accounting: str) -> list[tuple[dict[str, Any], float]]:
    """Parameters and errors of the points tested."""
    front = discover(
        algorithm(accounting),
        delta=DELTA,
        trials=TRIALS,
        startup=STARTUP,
        reference=REFERENCE,
        repeats=RUNS,
        progress=False,
    ).value
    return [(dict(p.params), p.error) for p in front.tested]


def run(repeats: int) -> list[Figure]:
    if not _dpareto.there("adult_libsvm.npz"):
        raise Missing("Adult: set TACIT_DATA to a folder with adult_libsvm.npz")
    figures = []
    for by in ("renyi", "tight"):
        points = searched(by)
        params, errors = [p for p, _ in points], np.array([e for _, e in points])
        for told in ("renyi", "tight"):
            epsilons = algorithm(told).epsilons(params, DELTA)
            volume = float(hypervolume(np.column_stack([epsilons, errors]), REFERENCE))
            note = f"{TRIALS} points, {RUNS} runs each, delta {DELTA:g}, reference {REFERENCE}"
            figures.append(Figure(f"searched by {by} epsilons, told by {told}", volume, "hypervolume", note=note))
            at = [float(errors[epsilons <= limit].min(initial=1.0)) for limit in (0.1, 0.5, 1.0)]
            words = "error at epsilon 0.1, 0.5, 1: " + ", ".join(f"{e:.3f}" for e in at)
            figures.append(
                Figure(f"searched by {by}, told by {told}: least error at epsilon 0.1", at[0], "", note=words)
            )
        ratio = algorithm("renyi").epsilons(params, DELTA) / algorithm("tight").epsilons(params, DELTA)
        figures.append(Figure(f"Renyi over tight epsilon at the points searched by {by}", float(np.median(ratio)), "",
                              float(ratio.min()), float(ratio.max())))  # fmt: skip
    return figures
