"""What `tacit plan` knows from experience: regret against noise, for parameters, trials and methods; shipped with it.

Regret of the answer is 0 at the best known point and 1 at a typical (random) one: this distance is the *spread*. Noise
is that of one look with the whole budget, w / (n mu), as a share of the spread. For Kusner's Algorithm 1 it is the
scale of the Gumbel noise on its choice, in prior sd; the expectation over the coins of the choice is exact, and the
prior has the mean and the scale of the problem. One valley: bowl, valley, errors, waves. Two basins: a local search
from the middle finds the poorer. "gibo" takes as many steps as the others have evaluations; "gibo_few" as many
evaluations, by simplices; "middle" answers with the middle of the space and looks at no record. Noise is simulated. A
figure is one curve, its value the regret at noise 0.1 (Kusner: 10), and its note the whole curve: each mean with the
10% and 90% quantile of the runs.

    python -m benchmarks plan_table --repeats 4    measures; about 15 minutes on one core
    python -m benchmarks.papers.plan_table                writes the table that is shipped from what was measured
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import tacit
from benchmarks import Figure
from benchmarks.papers._gibo_problems import Problem, Silent, basins, bowl, descent, errors, valley, waves
from tacit.gp.exact import GaussianProcess
from tacit.gp.kernels import Matern52
from tacit.methods.gibo.preview import FEW, few_steps, gibo_defaults
from tacit.methods.kusner import search_noisy
from tacit.methods.kusner.constants import Constants, prior_draws
from tacit.privacy.noise import Simulation

TITLE = "What tacit plan knows: regret against noise for each method, 0 at the best point and 1 at a typical one"
LONG = True
REPEATS = 4

RECORDS, DIMENSIONS, TRIALS = 300, (1, 2, 5, 10, 20, 50), (15, 50)
NOISE, GUMBEL = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0), (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
LANDSCAPES = {"one valley": ((bowl, valley, errors, waves), 1), "two basins": ((basins,), 2)}  # kinds, runs a repeat
METHODS = ("middle", "observed", "random", "gibo", "gibo_few")
CANDIDATES, DELTA, VARIANCE = 256, 5e-7, 0.01
ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "plan_table.json"
HIDDEN = RESULT.with_name("pool_table.json")  # pools and stages are measured by pool_table
SHIPPED = ROOT / "src" / "tacit" / "planning" / "measured.json"
CELL = re.compile(r"noise (\S+): (\S+) \[(\S+), (\S+)\]")
NAME = re.compile(r"(.+), d = (\d+), (\d+) trials: (\w+)")


def once(p: Problem, method: str, trials: int, noise: float, seed: int) -> float:
    """The regret of one run, simulated. "middle" looks at nothing and answers with the middle of the space."""
    if method == "middle":
        return p.regret(dict.fromkeys(p.space.names, 0.5))
    mu = 1 / (p.records * (p.typical - p.least) * (noise or 1e-4))
    source: Any = Simulation(seed) if noise else Silent()
    if method == "gibo":
        return p.regret(descent(p, mu, trials, seed, {}, source).params)
    if method == "gibo_few":
        return p.regret(descent(p, mu, few_steps(trials, p.d), seed, dict(FEW), source).params)
    asked: dict[str, Any] = {"records": p.records, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(mu), "seed": seed}
    asked |= {"trials": trials, "method": method, "noise": source, "progress": False, "accept_noise": True}
    return p.regret(tacit.tune(p.function, p.space, **asked).value.params)


def kusner(p: Problem, trials: int, seed: int) -> list[float]:
    """The expected regret of Algorithm 1's choice for each scale of its noise."""
    listed = p.space.sobol(CANDIDATES, seed)
    points = p.space.features(listed)
    kernel = Matern52((0.3 * math.sqrt(p.d),) * p.d)
    f = prior_draws(kernel, points)
    scale = (p.typical - p.least) / float((f.max(axis=0) - f).mean())
    means = np.array([float(p.function(x).mean()) for x in listed])
    c = Constants("safe", CANDIDATES, trials, DELTA, 1.0, math.sqrt(VARIANCE))
    gp = GaussianProcess(kernel, noise=VARIANCE, candidates=points, capacity=trials)
    mean, _ = search_noisy(lambda i: float((p.typical - means[i]) / scale), gp, c, Simulation(seed))
    below, lost = mean.max() - mean, (means - p.least) / (p.typical - p.least)
    found = []
    for noise in GUMBEL:
        weights = np.exp(-below / noise) if noise else (below == 0).astype(float)
        found.append(float(weights @ lost / weights.sum()))
    return found


def figure(name: str, levels: tuple[float, ...], runs: np.ndarray) -> Figure:
    """One curve; runs is (runs, levels)."""
    means, low, high = runs.mean(axis=0), *np.quantile(runs, (0.1, 0.9), axis=0)
    cells = "; ".join(
        f"noise {x:g}: {m:.4g} [{a:.4g}, {b:.4g}]" for x, m, a, b in zip(levels, means, low, high, strict=True)
    )
    at = levels.index(10.0 if levels is GUMBEL else 0.1)
    print(f"  {name}: {means[at]:.3f}", flush=True)
    made_with = f"defaults {gibo_defaults()}" if "gibo" in name else ""
    note = f"{len(runs)} runs; {cells}"
    return Figure(name, float(means[at]), "regret", float(low[at]), float(high[at]), made_with, note)


def run(repeats: int) -> list[Figure]:
    figures = []
    with threadpool_limits(1):
        for landscape, (kinds, each) in LANDSCAPES.items():
            for d in DIMENSIONS:
                problems = [make(d, RECORDS, seed) for seed in range(each * repeats) for make in kinds]
                for trials in TRIALS:
                    about = f"{landscape}, d = {d}, {trials} trials"
                    for method in METHODS:
                        made = [[once(p, method, trials, x, i) for x in NOISE] for i, p in enumerate(problems)]
                        figures.append(figure(f"{about}: {method}", NOISE, np.array(made)))
                    chosen = [kusner(p, trials, i) for i, p in enumerate(problems)]
                    figures.append(figure(f"{about}: kusner1", GUMBEL, np.array(chosen)))
    return figures


def rising(values: list[float]) -> list[float]:
    """The nearest sequence (least squares) that never falls: more noise does not help, whatever few runs say."""
    blocks: list[list[float]] = []
    for value in values:
        blocks.append([value, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            last, before = blocks.pop(), blocks.pop()
            size = last[1] + before[1]
            blocks.append([(last[0] * last[1] + before[0] * before[1]) / size, size])
    return [mean for mean, size in blocks for _ in range(int(size))]


def shipped(document: dict[str, Any]) -> dict[str, Any]:
    """The table of `tacit plan`, from the result of this benchmark."""
    curves = []
    for f in document["figures"]:
        landscape, d, trials, method = NAME.fullmatch(f["name"]).groups()  # type: ignore[union-attr]
        cells = [[float(x) for x in cell] for cell in CELL.findall(f["note"])]
        noise, *columns = map(list, zip(*cells, strict=True))
        regret, low, high = ([float(f"{max(v, 0.0):.4g}") for v in rising(column)] for column in columns)
        curve = {"method": method, "landscape": landscape, "dimensions": int(d), "trials": int(trials)}
        curve |= {"runs": int(f["note"].split()[0]), "noise": noise, "regret": regret, "low": low, "high": high}
        curves.append(curve)
    source = {key: document[key] for key in ("command", "commit", "repeats")}
    made_with = {f["against"] for f in document["figures"] if "gibo" in f["name"]}
    defaults = made_with.pop().removeprefix("defaults ") if len(made_with) == 1 else ""
    return {"format": "tacit.planning/1", **source, "gibo_defaults": defaults or None, "curves": curves}


def merge(document: dict[str, Any], hidden: dict[str, Any]) -> dict[str, Any]:
    """The result of this benchmark with the curves of pools and stages."""
    more = [f for f in hidden["figures"] if not f["name"].endswith(": observed")]
    command = f"{document['command']}; {hidden['command']}"
    return {**document, "command": command, "figures": [*document["figures"], *more]}


def written(document: dict[str, Any]) -> str:
    """The table as a file: one curve a line."""
    lines = ",\n".join(json.dumps(curve) for curve in document["curves"])
    head = json.dumps({k: v for k, v in document.items() if k != "curves"}, indent=1)
    return f'{head[:-2]},\n "curves": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    SHIPPED.write_text(written(shipped(merge(json.loads(RESULT.read_text()), json.loads(HIDDEN.read_text())))))
    print(f"wrote {SHIPPED.relative_to(ROOT)}")
