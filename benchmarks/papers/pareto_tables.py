"""Small budgets on seven tables: what the fronts of DPareto, random search, TPE and NSGA-II are worth.

Logistic regression by DP-SGD in the paper's domain, but for lots of 16 or more and 16 epochs at most, which bounds what
a point costs; tight epsilons at delta 1e-5. Even seeds test 24 points once, odd seeds 30 points three times. Luck does
not count: the points of the front that a search shows are trained 32 times more, and their means make the hypervolume.
It is told as a share: 0 is a constant guess, 1 the best front of all judged points of the table. Changes to DPareto
were chosen on houses and patients; the other five tables confirm them. BoTorch takes seconds a point: `pareto_botorch`
measures it on those five.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import util
from typing import Any

import numpy as np
from optuna.samplers import TPESampler

from benchmarks import BOTORCH_SETTING, Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.papers._front_tables import TABLES, load
from tacit.pareto import discover, hypervolume
from tacit.pareto.baselines import DrawnSampler, nsga2, tpe
from tacit.pareto.botorch import BoTorchSampler
from tacit.pareto.sampler import DParetoSampler
from tacit.space import Int, Params, Space
from tacit.training.dp_sgd import LogisticSGD

TITLE = "Seven tables, 24 to 30 points: fronts of DPareto and of other searches, judged by fresh runs"
LONG = True
REPEATS = 10

DELTA, REFERENCE, RUNS = 1e-5, (10.0, 1.0), 32
CHOSEN_ON = ("houses", "patients")
OURS, BEFORE, BOTORCH = "DPareto", "DPareto, first release", "BoTorch qLogEHVI"
Judged = list[tuple[float, float, float, float]]  # of each point of the front: epsilon, judged error, its interval


@lru_cache(maxsize=8)
def algorithms(table: str) -> tuple[LogisticSGD, LogisticSGD]:
    """To search, and to judge by runs that share their lots."""
    parts = load(table)
    searched, judging = LogisticSGD(*parts), LogisticSGD(*parts, shared_lots=True)
    distributions = {**searched.space.distributions, "epochs": Int(1, 16, log=True), "lot": Int(16, 512, log=True)}
    searched.space = Space(distributions)
    return searched, judging


def budget(seed: int) -> tuple[int, int]:
    """Points and runs of each."""
    return (30, 3) if seed % 2 else (24, 1)


class FirstRelease(DParetoSampler):
    """As it was: 16 startup points over the whole space, whatever their epsilons."""

    def _startup_design(self) -> list[Params]:
        return []


def searches() -> dict[str, Callable[[LogisticSGD, int, int], Any]]:
    """Name -> algorithm, seed, points -> a sampler; None is what ``discover`` does by itself."""
    quick = {**BOTORCH_SETTING, "reference": REFERENCE}
    found: dict[str, Callable[[LogisticSGD, int, int], Any]] = {
        OURS: lambda a, s, n: None,
        BEFORE: lambda a, s, n: FirstRelease(
            a.space, lambda p: a.quick_epsilons(p, DELTA), startup=16, reference=REFERENCE, seed=s
        ),
        "Optuna TPE, multivariate": lambda a, s, n: tpe(s, startup=10),
        "Optuna TPE, plain": lambda a, s, n: TPESampler(seed=s),
        "Optuna NSGA-II": lambda a, s, n: nsga2(s, population=8),
        "random": lambda a, s, n: DrawnSampler(a.space, seed=s),
    }
    if util.find_spec("botorch"):
        found[BOTORCH] = lambda a, s, n: BoTorchSampler(a.space, startup=n // 3, seed=s, **quick)
    return found


def judge(table: str, search: str, seed: int) -> Judged:
    """The front that a search shows, each point with the mean of fresh runs."""
    algorithm, judging = algorithms(table)
    points, runs = budget(seed)
    asked: dict[str, Any] = {"delta": DELTA, "trials": points, "reference": REFERENCE, "repeats": runs, "seed": seed}
    front = discover(algorithm, sampler=searches()[search](algorithm, seed, points), **asked).value
    shown, halves = [p for p in front.points if p.epsilon < REFERENCE[0]], RUNS // 2
    seeds = [[10**6 * (seed + 1) + h * 1000 + k for k in range(halves)] for h in range(2)]
    errors = [1 - float(np.mean([judging.utilities(p.params, half) for half in seeds])) for p in shown]
    return [(p.epsilon, e, 1 - (p.high or 1.0), 1 - (p.low or 0.0)) for p, e in zip(shown, errors, strict=True)]


def everything(repeats: int, only: str = "", tables: str = "") -> dict[tuple[str, str, int], Judged]:
    """Table, search, seed -> the judged front; ``only`` (parts of names by |) and ``tables`` restrict it."""
    found = {}
    for seed in range(repeats):
        for table in TABLES:
            for search in searches():
                if any(part in search for part in only.split("|")) and tables in table and search != BOTORCH:
                    found[table, search, seed] = keep_judged(table, search, seed)
    return found


def keep_judged(table: str, search: str, seed: int) -> Judged:
    key = {"table": table, "search": search, "seed": seed, "budget": budget(seed), "runs": RUNS}
    piece = keep_piece("pareto_tables", key, lambda: judge(table, search, seed))
    return [(epsilon, error, low, high) for epsilon, error, low, high in piece]


def volume(front: Any) -> float:
    return float(hypervolume([p[:2] for p in front], REFERENCE)) if front else 0.0


def run(repeats: int) -> list[Figure]:
    found = everything(repeats)
    shares: dict[str, dict[tuple[str, int], float]] = {}
    for table in TABLES:
        best = volume([p for (t, _, _), front in found.items() if t == table for p in front])
        least = REFERENCE[0] * algorithms(table)[0].baselines()["majority"]
        for (t, search, seed), front in found.items():
            if t == table:
                shares.setdefault(search, {})[table, seed] = (volume(front) - least) / (best - least)
    figures = []
    for table in (*TABLES, "the five that confirm", "all seven"):
        inside = {"all seven": tuple(TABLES), "the five that confirm": tuple(t for t in TABLES if t not in CHOSEN_ON)}
        for search, each in shares.items():
            values = {k: v for k, v in each.items() if k[0] in inside.get(table, (table,))}
            figures.append(compare_shares(f"{table}: {search}", search, values, shares[OURS]))
    return [*figures, *_coverage(found)]


def compare_shares(
    title: str, search: str, values: dict[tuple[str, int], float], ours: dict[tuple[str, int], float]
) -> Figure:
    """A mean with its 95% interval, and what DPareto is ahead on the same tables and seeds."""
    mean, half = _interval(np.array(list(values.values())))
    note = f"{len(values)} searches"
    if search != OURS:
        ahead, wide = _interval(np.array([ours[k] - v for k, v in values.items()]))
        wins = sum(ours[k] > v for k, v in values.items())
        note += f"; DPareto ahead by {ahead:.3f} ({ahead - wide:.3f} to {ahead + wide:.3f}), in {wins}"
    return Figure(title, mean, "of the best front", mean - half, mean + half, note=note)


def _interval(values: np.ndarray) -> tuple[float, float]:
    from scipy import stats

    wide = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return float(values.mean()), float(wide)


def _coverage(found: dict[tuple[str, str, int], Judged]) -> list[Figure]:
    """Whether the intervals of points of fronts hold the mean of the fresh runs."""
    figures = []
    for runs in (1, 3):
        fronts = [f for (_, s, seed), f in found.items() if s == OURS and budget(seed)[1] == runs]
        held = [low <= error <= high for front in fronts for _, error, low, high in front]
        title = f"intervals of DPareto's fronts that hold the mean of fresh runs, runs a point: {runs}"
        note = f"{len(held)} points of {len(fronts)} fronts; the fresh mean, of {RUNS} runs, scatters too"
        figures.append(Figure(title, 100 * float(np.mean(held)), "%", goal=93.0, better="more", note=note))
    return figures


if __name__ == "__main__":  # python -m benchmarks.papers.pareto_tables SEEDS [SEARCH [TABLE]]: fill in pieces
    everything(int(sys.argv[1]), *sys.argv[2:])
