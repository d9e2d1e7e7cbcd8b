"""Ours against Optuna's samplers and BoTorch at equal budget, on BBOB surfaces that chose nothing.

Twelve cells: 2, 5, 10 and 20 parameters at three levels of noise; see _arms.py. Each rival has the better of 50 and 200
trials and the better of two answer rules, by their means in that very cell; "observed" has 50, and "auto" what its
table chooses where 2,000 evaluations are allowed. GPSampler and qLogNEI, which take long, have 50 trials at the least
noise with 5 and 10 parameters. Each figure is a mean over surfaces, with one standard error to either side. The choice
is right if its mean regret is at most 1.3 times the least of all methods of ours at all sizes, or within a standard
error of the difference. Then real models on real tables, on a grid of settings evaluated beforehand (see _grids.py), by
shares of wrong predictions beyond the best setting's: 500 evaluations are allowed to "auto", the others have 50 trials.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import Figure, Missing
from benchmarks.papers._arms import DIMENSIONS, NOISE, OURS, RIVALS, SLOW, measure
from benchmarks.papers._grids import GRIDS, run_grid
from benchmarks.papers.plan_choice import choose, figure, regrets

TITLE = "Private search against TPE, CMA-ES, GPSampler, qLogNEI and random at equal budget: BBOB and real tables"
LONG = True
REPEATS = 8
SIZES = (50, 200)
SIZES_OF = {"TPE, one by one": (50,)}  # which takes longest
ENOUGH = 1.3  # times the least regret
EPSILONS, ALLOWED, WORSE = (1.0, 3.0), 500, 0.002  # of real tables; by how much none may be worse than TPE


def best_rule(d: int, name: str, noise: float, repeats: int, sizes: Sequence[int] = SIZES) -> np.ndarray:
    """The regrets of a rival at its better number of trials and by its better rule of answering."""
    ways = itertools.product(sizes, ("regret", "model"))
    listed = [regrets("confirming", d, name, size, noise, repeats, answer) for size, answer in ways]
    return min(listed, key=lambda v: float(v.mean()))


def run(repeats: int) -> list[Figure]:
    figures, won, behind, right = [], 0, 0, 0
    with threadpool_limits(1):
        for d in DIMENSIONS:
            for noise in NOISE:
                about = f"d = {d}, noise {noise:g}"
                rivals = {name: best_rule(d, name, noise, repeats, SIZES_OF.get(name, SIZES)) for name in RIVALS}
                auto = regrets("confirming", d, *choose(d, noise), noise, repeats)
                plain = regrets("confirming", d, "observed", 50, noise, repeats)
                tpe = best_rule(d, "TPE", noise, repeats, sizes=SIZES[:1])
                won += all(_is_level(auto, v) for v in rivals.values())
                behind += not _is_level(plain, tpe)
                best = min((regrets("confirming", d, *a, noise, repeats) for a in OURS), key=lambda v: float(v.mean()))
                right += bool(auto.mean() <= ENOUGH * best.mean()) or _is_level(auto, best)
                named = {
                    "best of ours": best,
                    "auto": auto,
                    "observed, 50 trials": plain,
                    "TPE, 50 trials": tpe,
                    **rivals,
                }
                figures += [figure(f"{about}: {name}", v) for name, v in {**named, **rivals}.items()]
        for name in SLOW:
            try:
                figures += [_slow(name, d, repeats) for d in (5, 10)]
            except (Missing, ModuleNotFoundError) as reason:
                print(f"  {name} is left out: {reason}", flush=True)
        real = [cell for epsilon in EPSILONS for cell in _real(epsilon, repeats)]
    cells = len(DIMENSIONS) * len(NOISE)
    heads = [
        Figure("cells in which the choice of auto is right", right, f"of {cells}", goal=10.0, better="more"),
        Figure("cells in which auto is best or level", won, f"of {cells}", goal=10.0, better="more"),
        Figure("cells in which observed is behind TPE", behind, f"of {cells}", goal=1.0, better="less"),
        Figure(
            "cells of real tables in which auto is worse than TPE by more than 0.002",
            sum(bool(auto.mean() - tpe.mean() > WORSE) for _, auto, _, tpe in real),
            f"of {len(real)}",
            goal=0.0,
            better="less",
        ),
    ]
    for about, auto, plain, tpe in real:
        figures += [figure(f"{about}: auto", auto), figure(f"{about}: observed", plain), figure(f"{about}: TPE", tpe)]
    return heads + figures


def _real(epsilon: float, repeats: int) -> list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """What each cell of real tables is, and the regrets of auto, observed and TPE."""
    cells = []
    for model, table in GRIDS:
        runs = [
            min(
                np.array([run_grid(model, table, epsilon, name, trials, seed) for seed in range(repeats)]).T,
                key=np.mean,
            )
            for name, trials in (("auto", ALLOWED), ("observed", SIZES[0]), ("TPE", SIZES[0]))
        ]
        cells.append((f"{model} on {table}, epsilon {epsilon:g}", runs[0], runs[1], runs[2]))
    return cells


def _is_level(ours: np.ndarray, rival: np.ndarray) -> bool:
    apart = ours - rival
    error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
    return bool(apart.mean() <= error)


def _slow(name: str, d: int, repeats: int) -> Figure:
    runs = [measure("confirming", d, seed, name, SIZES[0], NOISE[0]) for seed in range(repeats)]
    each = 1e3 * float(np.mean([r["seconds"] for r in runs]))
    whole = figure(f"d = {d}, noise {NOISE[0]:g}: {name}", best_rule(d, name, NOISE[0], repeats, sizes=SIZES[:1]))
    return replace(whole, note=f"{whole.note}; {each:.3g} ms a trial")
