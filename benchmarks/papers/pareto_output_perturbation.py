"""Logistic regression with output perturbation on Adult: its exact front, and how near DPareto and random search come.

The paper's first example: penalty gamma in [1e-4, 1], noise sigma in [0.1, 10], delta 1e-6, batches of 1, 10 passes.
Given the trained weights w, a test record x is classed wrong with probability Phi(-(w x) / (sigma |x|)), signed by its
class: the error's mean over the noise needs no draws. Searches see the mean of 50 draws (the paper: 50 runs) after one
training; they are judged by that exact mean, so that a lucky draw is worth nothing. The exact front is a grid of 48
penalties and 200 noise levels. All trainings here take one and the same random order; the paper's runs differ in it.
"""

from __future__ import annotations

import itertools
import statistics
from functools import lru_cache
from typing import Any

import numpy as np
import optuna
from scipy.special import expit, ndtr

from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.papers import _dpareto
from tacit.gp.threads import one_thread
from tacit.pareto import DParetoSampler, hypervolume
from tacit.space import Params
from tacit.training.output_perturbation import OutputPerturbation

TITLE = "Output perturbation on Adult: share of the exact front's hypervolume"
LONG = True
REPEATS = 3

DELTA, DRAWS, STARTUP, POINTS, RANDOM, SEEDS = 1e-6, 50, 8, 32, 128, 3
GRID = (48, 200)
REFERENCES = ((10.0, 1.0), (1.0, 0.5))
ONES = 14  # of the 123 binary features at most this many are 1: the public bound on a record's norm is its root


@lru_cache(maxsize=1)
def algorithm() -> OutputPerturbation:
    return OutputPerturbation(*_dpareto.adult(), bound=ONES**0.5)


def trained(gammas: np.ndarray) -> np.ndarray:
    """Weights (k, d) for many penalties in one pass: the steps of the algorithm, all penalties at once, one order."""
    made = algorithm()
    order = np.random.default_rng(0).permutation(made.examples.records)
    rows = (made._rows * (2.0 * made.examples.y - 1)[:, None])[order]
    w, g = np.zeros((len(gammas), rows.shape[1])), gammas[:, None]
    with one_thread():
        for epoch in range(made.epochs):
            t = np.arange(epoch * len(rows) + 1, (epoch + 1) * len(rows) + 1)
            steps = np.minimum(1 / (1 + gammas), 1 / np.outer(t, gammas))
            for x, step in zip(rows, steps[:, :, None], strict=True):
                pull = step * expit(-(w @ x))[:, None]
                w *= 1 - step * g
                w += pull * x
    return w


def observed(w: np.ndarray, sigma: float, seed: int) -> float:
    """Test error, the mean of 50 draws of the noise."""
    made = algorithm()
    noisy = w + sigma * np.random.default_rng(seed).standard_normal((DRAWS, len(w)))
    return float(((noisy @ made.examples.X_test.T > 0) != (made.examples.y_test == 1)).mean())


def judged(points: list[Params]) -> np.ndarray:
    """Epsilon and exact error of each, (n, 2)."""
    made = algorithm()
    gammas, at = np.unique([p["gamma"] for p in points], return_inverse=True)
    pieces = [np.asarray(_weights(tuple(part))) for part in np.array_split(gammas, -(-len(gammas) // 64))]
    X, sign = made.examples.X_test, 2.0 * made.examples.y_test - 1
    margins = np.concatenate(pieces) @ X.T * sign / np.sqrt((X**2).sum(axis=1))
    errors = [float(ndtr(-margins[k] / p["sigma"]).mean()) for k, p in zip(at, points, strict=True)]
    return np.column_stack([made.epsilons(points, DELTA), errors])


def _weights(gammas: tuple[float, ...]) -> Any:
    about = {"weights": [float(g) for g in gammas]}
    return keep_piece("pareto_output_perturbation", about, lambda: trained(np.array(gammas)).tolist())


def grid() -> list[Params]:
    gammas, sigmas = np.geomspace(1e-4, 1.0, GRID[0]), np.geomspace(0.1, 10.0, GRID[1])
    return [{"gamma": float(g), "sigma": float(s)} for g in gammas for s in sigmas]


def found(seeds: int) -> dict[str, list[Params]]:
    """What DPareto tests in turn, for every seed and reference. All searches go in step, so as to train together."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = algorithm().space
    studies = {}
    for seed, reference in itertools.product(range(seeds), REFERENCES):
        asked: dict[str, Any] = {"startup": STARTUP, "reference": reference, "seed": seed}
        sampler = DParetoSampler(space, lambda ps: algorithm().epsilons(ps, DELTA), **asked)
        studies[f"{seed} {reference}"] = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    while len(next(iter(studies.values())).trials) < POINTS:
        at_once = 1 if next(iter(studies.values())).trials else STARTUP  # the first depend on nothing
        trials = [(s, s.ask(fixed_distributions=space.distributions)) for s in studies.values() for _ in range(at_once)]
        weights = trained(np.array([t.params["gamma"] for _, t in trials]))
        for (study, trial), w in zip(trials, weights, strict=True):
            epsilon = float(algorithm().epsilons([trial.params], DELTA)[0])
            study.tell(trial, [epsilon, observed(w, trial.params["sigma"], trial.number)])
    return {name: [t.params for t in study.trials] for name, study in studies.items()}


def searched(seeds: int) -> dict[str, list[Params]]:
    about = {"seeds": seeds, "references": REFERENCES, "points": POINTS, "draws": DRAWS}
    return dict(keep_piece("pareto_output_perturbation", about, lambda: found(seeds)))


def shares(points: list[Params], reference: tuple[float, float], best: float) -> np.ndarray:
    values = judged(points)
    return np.array([hypervolume(values[: k + 1], reference) for k in range(len(values))]) / best


def run(repeats: int) -> list[Figure]:
    exact, seeds, figures = judged(grid()), min(SEEDS, max(2, repeats)), []
    space, tested = algorithm().space, searched(seeds)
    drawn = [space.params(np.random.default_rng((5, s)).random((RANDOM, 2))) for s in range(seeds)]
    for reference in REFERENCES:
        best, where = hypervolume(exact, reference), f"reference ({reference[0]:g}, {reference[1]:g})"
        figures.append(Figure(f"exact front, {where}", best, "hypervolume", note=f"{len(exact):,} points of a grid"))
        ours = [shares(tested[f"{s} {reference}"], reference, best) for s in range(seeds)]
        random = [shares(points, reference, best) for points in drawn]
        for name, each in (("DPareto, exact privacy", ours), ("random", random)):
            for k in (8, 16, 24, 32, 64, 128):
                if k <= len(each[0]):
                    at = [float(c[k - 1]) for c in each]
                    title, unit = f"{name} after {k}, {where}", "of the exact front"
                    figures.append(Figure(title, statistics.mean(at), unit, min(at), max(at), f"{seeds} seeds"))
        need = [statistics.median(_first(c) for c in each) for each in (ours, random)]
        if np.isfinite(need[0]):
            most = min(need[1], RANDOM)
            note = f"medians {need[0]:g} and {most:g}" + (", at least" if need[1] > RANDOM else "")
            figures.append(
                Figure(f"fewer than random to 99%, {where}", most / need[0], "x", against="goal 3", note=note)
            )
    return figures


def _first(share: np.ndarray) -> float:
    reached = np.flatnonzero(share >= 0.99)
    return float(reached[0] + 1) if len(reached) else np.inf
