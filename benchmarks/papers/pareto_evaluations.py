"""Adult, logistic regression by DP-SGD: how many evaluations each search needs to come near the best front.

All 30,956 records and the paper's domain, but for lots of 32 or more (8), which bounds what one point costs. A point is
the mean of 2 runs that share their lots, and is worth what was measured, as in the paper. The best front is that of
all points of all searches and seeds, so nobody reaches all of it. Random search is uniform on the domain; its points
whose epsilon is 10 or more add nothing and are not trained. BoTorch runs with 4 restarts, 128 raw points and 64 draws
(its tutorial: 10, 512 and 128), and is left out where it is not installed. Every search is kept as it is
done, so that a stopped run goes on.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import util
from typing import Any

import numpy as np

from benchmarks import BOTORCH_SETTING, Figure
from benchmarks.harness.panels import save
from benchmarks.harness.parts import keep_piece
from benchmarks.papers import _dpareto
from benchmarks.papers._front_panels import EPSILON, band, cloud, front, line
from benchmarks.papers._renyi import by_renyi
from tacit.pareto import discover, hypervolume
from tacit.pareto.algorithm import seeds_of
from tacit.pareto.baselines import FixedEpsilonSampler, nsga2, tpe
from tacit.pareto.botorch import BoTorchSampler
from tacit.pareto.sampler import DParetoSampler
from tacit.space import Int, Space
from tacit.training.dp_sgd import LogisticSGD

TITLE = "Adult: evaluations to reach 98% and 99% of the best front's hypervolume"
LONG = True
REPEATS = 5

DELTA, REFERENCE, STARTUP = 1e-5, (10.0, 1.0), 16
SEEDS, POINTS, RANDOM, RUNS, SMALLEST_LOT = 10, 64, 256, 2, 32
MANY = 1500  # random points that the paper draws beside DPareto's
OURS = "DPareto, exact privacy"
Values = list[tuple[float, float]]


@lru_cache(maxsize=1)
def algorithm() -> LogisticSGD:
    made = by_renyi(LogisticSGD(*_dpareto.adult(), shared_lots=True))  # the paper's bound
    made.space = Space({**made.space.distributions, "lot": Int(SMALLEST_LOT, 512, log=True)})
    return made


def known(params: Any) -> np.ndarray:
    return algorithm().epsilons(params, DELTA)


def samplers() -> dict[str, Callable[[int], Any]]:
    space = algorithm().space
    asked: dict[str, Any] = {"startup": STARTUP, "reference": REFERENCE}
    quick = {**BOTORCH_SETTING}
    targets = np.geomspace(0.05, REFERENCE[0], 12).tolist()
    found: dict[str, Callable[[int], Any]] = {
        OURS: lambda s: DParetoSampler(space, known, seed=s, **asked),
        "DPareto, as published": lambda s: DParetoSampler(space, known, seed=s, privacy_model="gp", **asked),
        "BoTorch qLogEHVI": lambda s: BoTorchSampler(space, seed=s, **quick, **asked),
        "fixed-epsilon sweep": lambda s: FixedEpsilonSampler(space, known, targets, startup=STARTUP, seed=s),
        "Optuna TPE": lambda s: tpe(s, startup=STARTUP),
        "Optuna NSGA-II": lambda s: nsga2(s, population=16),
    }
    if not util.find_spec("botorch"):
        del found["BoTorch qLogEHVI"]
    return found


def searched(name: str, seed: int) -> Values:
    """Epsilon and error of every point in turn."""
    if name == "random":
        return drawn(seed)
    sampler = samplers()[name](seed)
    asked: dict[str, Any] = {"delta": DELTA, "trials": POINTS, "reference": REFERENCE, "repeats": RUNS, "seed": seed}
    return [(p.epsilon, p.error) for p in discover(algorithm(), sampler=sampler, **asked).value.tested]


def drawn(seed: int) -> Values:
    points = algorithm().space.params(np.random.default_rng((3, seed)).random((RANDOM, 5)))
    found = []
    for i, (point, epsilon) in enumerate(zip(points, known(points), strict=True)):
        inside = epsilon < REFERENCE[0]
        runs = algorithm().utilities(point, seeds_of(1000 + seed, i, RUNS)) if inside else [0.0]
        found.append((float(epsilon), float(1 - np.mean(runs))))
    return found


def everything(seeds: int, only: str = "") -> dict[str, list[Values]]:
    """Search -> seed -> points; ``only`` restricts to names that contain it, to fill in pieces."""
    found: dict[str, list[Values]] = {}
    for seed in range(seeds):  # seed by seed, so that a run stopped early has as many of each
        for name in [*samplers(), "random"]:
            if only in name:
                key = {"search": name, "seed": seed, "points": POINTS, "random": RANDOM, "runs": RUNS}
                found.setdefault(name, []).append(
                    keep_piece("pareto_evaluations", key, lambda n=name, s=seed: searched(n, s))
                )
    return found


def curves(found: dict[str, list[Values]]) -> tuple[float, dict[str, list[np.ndarray]]]:
    """The best front's hypervolume, and each search's share of it after each evaluation."""
    best = hypervolume([v for sets in found.values() for values in sets for v in values], REFERENCE)

    def curve(values: Values) -> np.ndarray:
        return np.array([hypervolume(values[: k + 1], REFERENCE) for k in range(len(values))]) / best

    return best, {name: [curve(values) for values in sets] for name, sets in found.items()}


def needed(shares: list[np.ndarray], level: float) -> list[float]:
    reached = [np.flatnonzero(c >= level) for c in shares]
    return [float(r[0] + 1) if len(r) else np.inf for r in reached]


def run(repeats: int) -> list[Figure]:
    found = everything(min(SEEDS, 2 * repeats))
    best, shares = curves(found)
    draw(found)
    figures = [Figure("the best front", best, "hypervolume", against="at most 10")]
    for level in (0.98, 0.99):
        for name, each in shares.items():
            figures.append(_told(name, each, level))
        ours, random = (statistics.median(needed(shares[name], level)) for name in (OURS, "random"))
        if np.isfinite(ours):
            note = "" if np.isfinite(random) else f"at least: random did not get there in {RANDOM}"
            title = f"fewer than random to {level:.0%}"
            figures.append(Figure(title, min(random, RANDOM) / ours, "x", against="goal 3", note=note))
    return figures


def _told(name: str, shares: list[np.ndarray], level: float) -> Figure:
    """The median over seeds; where a seed did not get there, the figure says at least."""
    most = len(shares[0])
    each = needed(shares, level)
    missed = sum(not np.isfinite(n) for n in each)
    capped = [min(n, most) for n in each]
    at = ", ".join(
        f"{statistics.mean(c[k - 1] for c in shares):.4f} after {k}" for k in dict.fromkeys((16, 32, 64, most))
    )
    note = f"of the best front: {at}" + (f"; {missed} of {len(each)} seeds not within {most}" if missed else "")
    unit = "evaluations" if 2 * missed < len(each) else "evaluations at least: most seeds did not get there"
    return Figure(f"{name}, to {level:.0%}", statistics.median(capped), unit, min(capped), max(capped), "median", note)


def draw(found: dict[str, list[Values]]) -> None:
    """The paper's Figure 5 for this pair: hypervolume against evaluations, and DPareto beside 1,500 random points."""
    best, shares = curves(found)
    means = {name: np.mean(each, axis=0) for name, each in shares.items()}
    seeds = f"mean of {len(found[OURS])} seeds"
    many = [v for values in found["random"] for v in values][:MANY]
    axes = EPSILON, {"label": "error", "low": 0.15, "high": 0.25}
    ink = {name: k for k, name in enumerate(means)}
    fewer = {name: f"{name}, {len(v)} seeds" if len(v) < len(found[OURS]) else name for name, v in found.items()}
    evaluations = {"label": "evaluations", "low": 1, "high": POINTS}
    longer = {"label": "evaluations", "low": 1, "high": RANDOM, "log": True}
    volumes = {"label": f"hypervolume, {seeds}", "low": 7.5, "high": 8.4}
    missing = {"label": f"share of the best front missing, {seeds}", "low": 1e-3, "high": 1.0, "log": True}
    spread = []
    for name in (OURS, "random"):
        volume = best * np.array(shares[name])
        spread += [band(f"{name}, least to most", volume, ink[name])]
        spread += [line(f"{name}, mean", volume.mean(axis=0), ink[name])]
    save("pareto_evaluations", "adult", "Adult, logistic regression by DP-SGD: DPareto and other searches", [
        {"title": "all searches", "x": evaluations, "y": volumes,
         "series": [line(fewer[name], best * m[:POINTS], ink[name]) for name, m in means.items()]},
        {"title": "all searches, what is missing", "x": evaluations, "y": missing,
         "series": [line(fewer[name], 1 - m[:POINTS], ink[name]) for name, m in means.items()]},
        {"title": "DPareto and random", "x": longer, "y": {**volumes, "label": "hypervolume"}, "series": spread},
        {"title": f"{POINTS} points of DPareto, {len(many):,} of random", "x": axes[0], "y": axes[1], "series": [
            cloud("random points of epsilon below 10", many, axes, 5, size=2),
            cloud("DPareto's points", found[OURS][0], axes, 1),
            front("front of the random points", many, axes[0], 0, dash=0),
            front("front of DPareto's points", found[OURS][0], axes[0], 1),
        ]},
    ])  # fmt: skip


if __name__ == "__main__":
    everything(SEEDS, sys.argv[2])  # --only NAME
