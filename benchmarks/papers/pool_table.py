"""Few records: private observations, a hidden pool, and the two in stages, at equal guarantee.

Regret is 0 at the best known point and 1 at a typical one. Noise is that of one look with the whole budget, w / (n mu),
as a share of the distance between the two; for a pool it is the scale of the Gumbel noise on its choice. The levels are
those of n = 5,000, 2,000, 1,000, 500 and 300 records at epsilon 1, delta 1e-6 where a typical setting loses 0.1, and
the ends. Private observations have 50 trials, the stages 200 candidates and 50 trials, "pool" as many candidates as it
has trials, "pool_many" 1,000. The expectation over the coins of a pool's choice is exact. The settings of the stages
were chosen on other problems (seed 101 of bowl, valley, waves and basins; shares 0.15, 0.3 and 0.45, half-widths 0.15,
0.25 and 0.35). A figure is one curve: its value is the regret at n = 1,000, its note all of it.

    python -m benchmarks pool_table --repeats 2       measures
    python -m benchmarks.papers.plan_table            writes the table of `tacit plan` from both results
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import tacit
from benchmarks import Figure
from benchmarks.papers._gibo_problems import Problem, Silent, basins, bowl, errors, valley, waves
from tacit.methods.pool import PoolTerms
from tacit.objective import Objective
from tacit.privacy.noise import Simulation

TITLE = "Few records: private observations, a hidden pool, and both in stages, at equal guarantee"
LONG = True
REPEATS = 2

RECORDS, DIMENSIONS, TRIALS, MANY = 150, (2, 4, 6, 10), 50, 1000
SIZES, SPREAD, BUDGET = (5000, 2000, 1000, 500, 300), 0.1, tacit.Budget.approximate(1.0, 1e-6)
LOOKS = tuple(float(f"{1 / (n * BUDGET.mu() * SPREAD):.4g}") for n in SIZES)
NOISE = (0.0, *LOOKS, 0.5)
GUMBEL = (0.0, 0.001, 0.003, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 1.0)
ANY = (1, 2, 4, 6, 10, 20, 50)  # parameters; a pool costs little to measure
LANDSCAPES = {"one valley": ((bowl, valley, errors, waves), 1), "two basins": ((basins,), 2)}
FIRST = 500  # the seed of the first problem


class Quiet(Silent):
    """Silent noise that can also choose."""

    def gumbel_argmax(self, scores: np.ndarray, scale: float) -> int:
        return int(np.argmax(scores))


def gumbel_noise(records: int) -> float:
    """The noise of a pool's choice among so many records, as a share of the spread."""
    return PoolTerms(Objective(min, records, (0.0, 1.0)), BUDGET).choice().scale / SPREAD


def once(p: Problem, method: str, noise: float, seed: int) -> float:
    """The regret of one run, simulated."""
    mu = 1 / (p.records * (p.typical - p.least) * (noise or 1e-4))
    source: Any = Simulation(seed) if noise else Quiet()
    asked: dict[str, Any] = {"records": p.records, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(mu), "seed": seed}
    asked |= {"trials": TRIALS, "method": method, "noise": source, "progress": False, "accept_noise": True}
    return p.regret(tacit.tune(p.function, p.space, **asked).value.params)


def pool(p: Problem, size: int, seed: int) -> list[float]:
    """The expected regret of a pool's choice for each scale of its noise."""
    lost = np.array([p.regret(x) for x in p.space.sobol(size, seed)])
    found = []
    for noise in GUMBEL:
        weights = np.exp(-(lost - lost.min()) / noise) if noise else (lost == lost.min()).astype(float)
        found.append(float(weights @ lost / weights.sum()))
    return found


def measure(landscape: str, d: int, repeats: int, method: str) -> np.ndarray:
    """Regrets (runs, levels) of one method."""
    kinds, each = LANDSCAPES[landscape]
    runs = []
    with threadpool_limits(1):
        for seed in range(FIRST, FIRST + each * repeats):
            for make in kinds:
                p = make(d, RECORDS, seed)
                if method.startswith("pool"):
                    runs.append(pool(p, int(method.split()[1]), seed))
                else:
                    runs.append([once(p, method, x, seed) for x in NOISE])
    return np.array(runs)


def figure(name: str, levels: tuple[float, ...], at: float, runs: np.ndarray) -> Figure:
    means, low, high = runs.mean(axis=0), *np.quantile(runs, (0.1, 0.9), axis=0)
    cells = "; ".join(
        f"noise {x:g}: {m:.4g} [{a:.4g}, {b:.4g}]" for x, m, a, b in zip(levels, means, low, high, strict=True)
    )
    value, lowest, highest = (
        float(np.interp(math.log1p(at / 1e-3), np.log1p(np.array(levels) / 1e-3), y)) for y in (means, low, high)
    )
    print(f"  {name}: {value:.3f}", flush=True)
    return Figure(name, value, "regret", lowest, highest, "", f"{len(runs)} runs; {cells}")


def run(repeats: int) -> list[Figure]:
    look, gumbel = LOOKS[2], gumbel_noise(SIZES[2])
    jobs: list[tuple[str, int, str, str, int]] = []  # landscape, d, method, name, trials
    for landscape in LANDSCAPES:
        for d in ANY:
            jobs += [(landscape, d, f"pool {size}", "pool", size) for size in (15, TRIALS, 250, MANY)]
            jobs += [(landscape, d, f"pool {MANY}", "pool_many", trials) for trials in (15, TRIALS)]
        jobs += [(landscape, d, m, m, TRIALS) for d in DIMENSIONS for m in ("observed", "staged")]
    figures = []
    with ProcessPoolExecutor(2) as workers:
        needed = sorted({job[:3] for job in jobs}, key=lambda job: job[2].startswith("pool"))
        made = {(land, d, how): workers.submit(measure, land, d, repeats, how) for land, d, how in needed}
        for landscape, d, method, name, trials in jobs:
            about = f"{landscape}, d = {d}, {trials} trials: {name}"
            hidden = method.startswith("pool")
            figures.append(
                figure(
                    about, GUMBEL if hidden else NOISE, gumbel if hidden else look, made[landscape, d, method].result()
                )
            )
    return figures
