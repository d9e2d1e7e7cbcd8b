"""Which method for how many parameters: private observations, private random search and DP-GIBO at equal guarantee.

Regret of the answer, 0 at the best known point and 1 at a random one, with 1,000 records and mu = 0.5 for everything:
over four problems with one valley (bowl, valley, errors, waves), and over one with two (basins), of which a local
search from the middle finds the poorer. Private observations and random search get 40 noisy evaluations; DP-GIBO a
scan of 64 places and 25 steps of 2d evaluations each, whose number costs time but no privacy. Where evaluations are
dear, the row "as many evaluations" holds it to about 40 as well: a scan of 8 places up to 10 parameters, then simplices
of d + 1, as many steps as fit, at least one. Noise is simulated.
"""

from __future__ import annotations

import math
import time

import numpy as np
from threadpoolctl import threadpool_limits

import tacit
from benchmarks import Figure
from benchmarks.papers._gibo_problems import Problem, basins, bowl, descent, errors, valley, waves
from tacit.methods.gibo.design import SCAN
from tacit.privacy.noise import Simulation

TITLE = "Regret at equal guarantee (mu = 0.5, 1,000 records): private observations, random search, DP-GIBO"
LONG = True

RECORDS, MU, TRIALS, STEPS = 1000, 0.5, 40, 25
DIMENSIONS, ONE = (2, 5, 10, 20, 50), (bowl, valley, errors, waves)

METHODS = ("private observations", "private random search", "DP-GIBO", "DP-GIBO, as many evaluations")


def tuned(p: Problem, method: str, seed: int) -> float:
    made = tacit.tune(
        p.function,
        p.space,
        records=p.records,
        bounds=(0.0, 1.0),
        budget=tacit.Budget.gdp(MU),
        trials=TRIALS,
        method=method,
        noise=Simulation(seed),
        seed=seed,
        progress=False,
        accept_noise=True,
    )
    return p.regret(made.value.params)


def run(repeats: int) -> list[Figure]:
    figures = []
    with threadpool_limits(1):
        for d, kinds in ((d, kinds) for kinds in (ONE, (basins,)) for d in DIMENSIONS):
            problems = [make(d, RECORDS, seed) for make in kinds for seed in range(repeats)]
            rows: dict[str, list[float]] = {name: [] for name in METHODS}
            scan = 8 if d <= 10 else 0
            short = max(1, (TRIALS - scan) // (d + 1))
            seconds = dict.fromkeys(rows, 0.0)
            for seed, p in enumerate(problems):
                for name in rows:
                    begun = time.perf_counter()
                    if name == "DP-GIBO":
                        rows[name].append(p.regret(descent(p, MU, STEPS, seed, {}).params))
                    elif "DP-GIBO" in name:
                        few = {"design": "simplex", "average": 0.0, "radius": 0.2, "scan": scan}
                        rows[name].append(p.regret(descent(p, MU, short, seed, few).params))
                    else:
                        rows[name].append(tuned(p, "observed" if "observations" in name else "random", seed))
                    seconds[name] += (time.perf_counter() - begun) / len(problems)
            best = min(rows, key=lambda k: float(np.mean(rows[k])))
            for name, found in rows.items():
                mean, error = float(np.mean(found)), float(np.std(found, ddof=1)) / math.sqrt(len(found))
                used = {"DP-GIBO": SCAN + 2 * d * STEPS, METHODS[3]: scan + short * (d + 1)}.get(name, TRIALS)
                note = f"{len(found)} runs, {used} evaluations, {seconds[name]:.1f} s" + ", best" * (name == best)
                label = f"{'one valley' if kinds is ONE else 'two basins'}, d = {d}: {name}"
                figures.append(Figure(label, mean, "regret", mean - 2 * error, mean + 2 * error, "", note))
                print(f"  {label}: {mean:.3f} {note}", flush=True)
    return figures
