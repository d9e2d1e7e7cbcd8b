"""The theorems of Kusner et al. about Algorithm 1, checked on draws from the Gaussian process that they assume.

The paper has no experiments; its statements are what can be tried. Two functions of neighbouring data sets are drawn
with correlation k1, Algorithm 1 runs on both with its published constants and with noise of its own, and each statement
either holds or does not. A statement that always holds with room to spare is loose: the room is shown too. Theorems 5
and 6, about exact scores, are tried in ``kusner_exact``.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks import Figure
from benchmarks.papers.kusner_table import KERNELS, NOISE, SPREAD, WAVES, draw
from tacit.gp.exact import GaussianProcess
from tacit.methods.kusner import search_noisy
from tacit.methods.kusner.constants import Constants, data_kernel, information_gain
from tacit.privacy.guarantee import Budget
from tacit.privacy.mechanisms import Exponential, Laplace
from tacit.privacy.noise import Simulation

TITLE = "Kusner's Theorems 1 to 4 and 8 on GP draws: how often they hold, and by how much"
LONG = False
REPEATS = 3

CANDIDATES, TRIALS, EPSILON, DELTA, RECORDS, A = 1000, 30, 1.0, 0.1, 500, math.log(20)


def pair(rng: np.random.Generator, k1: float, d: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Candidates, and the functions of two neighbouring data sets over them."""
    C, f = draw(CANDIDATES, d, rng)
    waves = rng.normal(size=(d, WAVES)) / np.array(KERNELS[d].lengthscales)[:, None]
    g = np.cos(C @ waves + rng.uniform(0, 2 * math.pi, WAVES)) @ rng.normal(size=WAVES) * math.sqrt(2 / WAVES)
    return C, f, k1 * f + math.sqrt(1 - k1 * k1) * g


def once(seed: int, c: Constants, gamma_of: dict[str, float]) -> dict[str, float]:
    """Each statement's left side over its right side, on one pair: it holds if this is at most 1."""
    rng = np.random.default_rng(seed)
    C, f, other = pair(rng, c.k1)
    if not gamma_of:  # data-independent; candidates differ between seeds, their bound hardly does
        gamma_of["gamma"] = information_gain(KERNELS[1], C, TRIALS, NOISE)
    omega = c.regret(gamma_of["gamma"])

    def run(values: np.ndarray) -> tuple[np.ndarray, float]:
        gp = GaussianProcess(KERNELS[1], noise=NOISE, candidates=C, capacity=TRIALS)
        return search_noisy(lambda i: float(values[i]), gp, c, Simulation(rng))

    (mean, best), (moved, best_moved) = run(f), run(other)
    noise = Simulation(rng)
    pick = Exponential(c.choice_sensitivity, budget=Budget.pure(EPSILON), noise=noise)
    blur = Laplace(omega + c.c + c.q, budget=Budget.pure(EPSILON), noise=noise)
    score = best + float(rng.laplace(0.0, blur.scale))
    chosen = int(pick.draw(mean))
    off = math.sqrt(NOISE) * math.sqrt(8 * math.log(1 / DELTA)) + omega + A * blur.scale
    return {
        "Theorem 1, the posterior mean's change": float(np.abs(mean - moved).max()) / c.choice_sensitivity,
        "Theorem 2, the choice below the best": float(mean.max() - mean[chosen])
        / (pick.scale * (math.log(CANDIDATES) + A)),
        "Theorem 3, the best score's change": abs(best - best_moved) / (omega + c.c + c.q),
        "Theorem 4, the released score off the best": abs(score - float(f.max())) / off,
    }


CLAIMS = {
    "Theorem 1": ("1 - delta", 1 - DELTA),
    "Theorem 2": ("1 - (delta + e^-a)", 1 - DELTA - math.exp(-A)),
    "Theorem 3": ("1 - delta", 1 - DELTA),
    "Theorem 4": ("1 - (delta + e^-a)", 1 - DELTA - math.exp(-A)),
}


def run(repeats: int) -> list[Figure]:
    c = Constants("icml", CANDIDATES, TRIALS, DELTA, data_kernel(RECORDS, 1.0, SPREAD), math.sqrt(NOISE))
    gamma: dict[str, float] = {}
    runs = [once(seed, c, gamma) for seed in range(40 * repeats)]
    figures = []
    for name in runs[0]:
        shares = np.array([r[name] for r in runs])
        words, claim = CLAIMS[name.split(",")[0]]
        note = f"{len(runs)} pairs, {CANDIDATES:,} candidates, T = {TRIALS}, epsilon = {EPSILON:g}, delta = {DELTA:g}"
        held, room = float(np.mean(shares <= 1)), f"in the middle the bound is {1 / np.median(shares):.3g} times larger"
        against = f"claim: at least {words} = {claim:.3g}"
        figures.append(
            Figure(f"{name}: holds", held, "of draws", against=against, goal=claim, better="more", note=note)
        )
        ends = float(shares.min()), float(shares.max())
        figures.append(Figure(f"{name}: over its bound", float(np.median(shares)), "", *ends, "1 is tight", room))
    tail = float(np.mean(np.abs(np.random.default_rng(0).laplace(size=200_000)) <= A))
    against = f"claim: at least 1 - e^-a = {1 - math.exp(-A):.3g}"
    figures.append(
        Figure("Theorem 8, Laplace noise within a times its scale: holds", tail, "of draws", against=against,
               goal=round(1 - math.exp(-A), 2), better="more", note="200,000 draws; the statement is an equality")
    )  # fmt: skip
    return figures
