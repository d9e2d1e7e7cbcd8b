"""The sparse vector technique: its exact front, and how many evaluations each search needs to come near it.

python -m benchmarks.papers.pareto_sparse_vector docs/sparse_vector_front.svg      draws both fronts

Searches see the mean F1 of 50 random orders, as in the paper. They are judged by the exact mean F1 of the points they
tested, so that a lucky draw is worth nothing. The exact front is that of all 30 bounds and 240 noise levels. To tell
what is due to the draws and what to the search: DPareto once more on the exact F1, and the points that a search which
knew the whole front would test, taking the most gained each time. BoTorch runs with 4 restarts, 128 raw points and 64
draws (its tutorial: 10, 512 and 128), and is left out where it is not installed. Every search is kept.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import util
from typing import Any

import numpy as np

from benchmarks import BOTORCH_SETTING, Figure
from benchmarks.harness.parts import keep_piece
from tacit.pareto import Comparison, Front, Point, discover, hypervolume, nondominated
from tacit.pareto.acquisition import Staircase
from tacit.pareto.baselines import DrawnSampler, FixedEpsilonSampler, grid, nsga2, tpe
from tacit.pareto.botorch import BoTorchSampler
from tacit.pareto.sampler import DParetoSampler
from tacit.space import Array, Params, Space
from tacit.training.sparse_vector import SparseVector

TITLE = "Sparse vector: evaluations to reach 99% of the exact front's hypervolume"
LONG = True
REPEATS = 5

SEEDS, STARTUP, NOISES, LONGEST = 10, 8, 240, 512
BOTORCH, NOISELESS = "BoTorch qLogEHVI", "DPareto on the exact F1"
REFERENCES = ((10.0, 1.0), (100.0, 1.0))
SVT = SparseVector()
SPACE: Space = SVT.space
Searches = dict[str, tuple[int, Callable[[int, tuple[float, float]], Any]]]


@cache
def judged(b: float, C: int) -> tuple[float, float]:
    """Epsilon and exact error."""
    params = {"b": b, "C": C}
    return float(SVT.epsilons([params], 0.0)[0]), 1.0 - SVT.expected_utility(params)


def known(params: list[Params]) -> np.ndarray:
    return SVT.epsilons(params, 0.0)


def exact_front() -> np.ndarray:
    return np.array([judged(float(b), C) for b in np.geomspace(1e-2, 1e2, NOISES) for C in range(1, 31)])


class NoDraws:
    """Sparse vector whose utility is the exact mean."""

    label, space = SVT.label, SPACE

    def epsilons(self, params: Sequence[Params], delta: float) -> Array:
        return SVT.epsilons(params, delta)

    def utility(self, params: Params, seed: int) -> float:
        return SVT.expected_utility(params)


def searches() -> Searches:
    """Name -> most evaluations, and the sampler for a seed and a reference."""
    ours = {"startup": STARTUP}
    quick: dict[str, Any] = {**BOTORCH_SETTING, **ours}
    found: Searches = {
        "DPareto, exact privacy": (192, lambda s, r: DParetoSampler(SPACE, known, reference=r, seed=s, **ours)),
        "DPareto, as published": (
            128,
            lambda s, r: DParetoSampler(SPACE, known, reference=r, seed=s, privacy_model="gp", **ours),
        ),
        "fixed-epsilon sweep": (
            96,
            lambda s, r: FixedEpsilonSampler(SPACE, known, np.geomspace(0.1, r[0], 12).tolist(), seed=s, **ours),
        ),
        "Optuna TPE": (128, lambda s, r: tpe(s, startup=STARTUP)),
        "Optuna NSGA-II": (128, lambda s, r: nsga2(s, population=20)),
        "random": (512, lambda s, r: DrawnSampler(SPACE, seed=s)),
        NOISELESS: (128, lambda s, r: DParetoSampler(SPACE, known, reference=r, seed=s, **ours)),
        BOTORCH: (64, lambda s, r: BoTorchSampler(SPACE, reference=r, seed=s, **quick)),
    }
    if not util.find_spec("botorch"):
        del found[BOTORCH]
    return {name: (min(most, LONGEST), sampler) for name, (most, sampler) in found.items()}


def curve(front: Front, reference: tuple[float, float]) -> np.ndarray:
    """Exact hypervolume after each evaluation."""
    points = [judged(p.params["b"], p.params["C"]) for p in front.tested]
    return np.array([hypervolume(points[: k + 1], reference) for k in range(len(points))])


def first(values: np.ndarray, level: float) -> float:
    reached = np.flatnonzero(values >= level)
    return float(reached[0] + 1) if len(reached) else np.inf


def searched(name: str, seed: int, reference: tuple[float, float]) -> list[float]:
    """Exact hypervolume after each evaluation of one search."""
    most, sampler = searches()[name]
    asked: dict[str, Any] = {"trials": most, "reference": reference, "seed": seed}
    algorithm = NoDraws() if name == NOISELESS else SVT
    return list(curve(discover(algorithm, delta=0.0, sampler=sampler(seed, reference), **asked).value, reference))


def fewest(truth: np.ndarray, reference: tuple[float, float]) -> int:
    """Points of the exact front, the most gained each time, until 99% of it is there."""
    front, chosen = truth[nondominated(truth)], np.empty((0, 2))
    while hypervolume(chosen, reference) < 0.99 * hypervolume(front, reference):
        gained = Staircase.of(chosen, reference).gain(front[:, 0], front[:, 1])
        chosen = np.vstack([chosen, front[np.argmax(gained)]])
    return len(chosen)


def run(repeats: int) -> list[Figure]:
    seeds = min(SEEDS, max(2, 2 * repeats))
    truth = exact_front()
    figures = []
    for reference in REFERENCES:
        best = hypervolume(truth, reference)
        where = f"reference ({reference[0]:g}, 1)"
        figures.append(Figure(f"exact front, {where}", best, "hypervolume", note=f"{len(truth)} points of a grid"))
        curves: dict[str, list[np.ndarray]] = {}
        for name, (most, _) in searches().items():
            curves[name] = []
            for seed in range(seeds):
                about = {"search": name, "seed": seed, "most": most, "reference": reference}
                work = partial(searched, name, seed, reference)
                curves[name].append(np.array(keep_piece("pareto_sparse_vector", about, work)))
            figures.append(_told(name, where, curves[name], best, most))
        figures.append(
            Figure(f"knowing the whole front, {where}", fewest(truth, reference), "evaluations", note="to 99%")
        )
        figures += _against_random(where, curves, best)
    for k in (3, 4):
        points = discover(SVT, delta=0.0, trials=k * k, sampler=grid(SPACE, k)).value
        share = curve(points, REFERENCES[1])[-1] / hypervolume(truth, REFERENCES[1])
        figures.append(Figure(f"grid of {k} per axis, reference (100, 1)", share, "of the exact front"))
    return figures


def _told(name: str, where: str, curves: list[np.ndarray], best: float, most: int) -> Figure:
    """Evaluations to 99%, the median over seeds; where a seed did not get there, the figure says at least."""
    needed = [first(c, 0.99 * best) for c in curves]
    missed = sum(not np.isfinite(n) for n in needed)
    capped = [min(n, most) for n in needed]
    at = ", ".join(
        f"{statistics.mean(c[k - 1] for c in curves) / best:.3f} after {k}"
        for k in sorted({min(k, most) for k in (16, 32, 64, most)})
    )
    note = f"of the exact front: {at}" + (f"; {missed} of {len(needed)} seeds not within {most}" if missed else "")
    unit = "evaluations" if 2 * missed < len(needed) else "evaluations at least: most seeds did not get there"
    return Figure(f"{name}, {where}", statistics.median(capped), unit, min(capped), max(capped), "median", note)


def _against_random(where: str, curves: dict[str, list[np.ndarray]], best: float) -> list[Figure]:
    """How many times fewer evaluations: to 99% of the exact front, and to what random reaches at its end."""
    ours, random = curves["DPareto, exact privacy"], curves["random"]
    figures = []
    need, most = statistics.median(first(c, 0.99 * best) for c in ours), len(random[0])
    if np.isfinite(need):
        other = statistics.median(first(c, 0.99 * best) for c in random)
        note = "" if np.isfinite(other) else f"at least: random did not get there in {most}"
        title = f"fewer than random to 99%, {where}"
        figures.append(Figure(title, min(other, most) / need, "x", against="goal 3", note=note))
    level = statistics.mean(c[-1] for c in random)
    reached = statistics.median(first(c, level) for c in ours)
    title, note = (
        f"fewer than random to its level, {where}",
        f"random's mean after {most}: {level / best:.3f} of the front",
    )
    return [*figures, Figure(title, most / reached, "x", against="goal 3", note=note)]


def picture(path: str) -> None:
    """The exact front, and DPareto's on top, as in the paper's Figures 2 and 4."""
    grid_params = [{"b": float(b), "C": C} for b in np.geomspace(1e-2, 1e2, NOISES) for C in range(1, 31)]
    judgements = [judged(p["b"], p["C"]) for p in grid_params]
    points = [Point.of(p, e, [1.0 - f]) for p, (e, f) in zip(grid_params, judgements, strict=True) if 0.05 < e < 100]
    exact = Front(tuple(points), SVT.label, 0.0)
    exact = Front(exact.points, SVT.label, 0.0)  # the front alone: the picture has no room for the rest
    found = discover(SVT, delta=0.0, trials=96, repeats=4, reference=REFERENCES[1]).value
    shown = Front(tuple(p for p in found.points if p.epsilon < 100), SVT.label, 0.0)
    Comparison({"exact, 7,200 points": exact, "DPareto, 96 points": shown}).plot().save(path)


if __name__ == "__main__":
    picture(sys.argv[1])
