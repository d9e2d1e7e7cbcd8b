"""Theorems 5 and 6 of Kusner et al., about exact scores: is there an A and a tau, and do the statements then hold?

They rest on a bound on the sampler's regret after t scores, A exp(-t tau / (log t)^(d/4)), with constants of the
function class that the paper gives for none. Here they are fitted: on half of the draws, to the regret that all but
delta/2 of them stay below; the statements are then tried on the other half. They are facts about these draws only: no
data may be asked for them, so a release takes them as inputs.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks import Figure
from benchmarks.papers.kusner_bounds import CANDIDATES, DELTA, EPSILON, RECORDS, A, pair
from benchmarks.papers.kusner_table import KERNELS, SPREAD
from tacit.gp.exact import GaussianProcess
from tacit.methods.kusner.branch import branch_and_bound
from tacit.methods.kusner.constants import Constants, data_kernel, vanishing_regret
from tacit.privacy.guarantee import Budget
from tacit.privacy.mechanisms import Laplace

TITLE = "Kusner's Theorems 5 and 6 on GP draws: exact scores by branch and bound"
LONG = False
REPEATS = 3

TRIALS = {1: 30, 2: 60}
FLOOR = 1e-6  # prior standard deviations: a regret below counts as none


def curve(C: np.ndarray, f: np.ndarray, d: int) -> tuple[np.ndarray, float]:
    """The regret of the best of the first t scores, (T,), and the score that is released before noise."""
    gp = GaussianProcess(KERNELS[d], candidates=C, capacity=TRIALS[d])
    values = branch_and_bound(gp, C, lambda i: float(f[i]), trials=TRIALS[d], alpha=DELTA / 4).values
    return f.max() - np.maximum.accumulate(values), float(values[-1])


def fitted(curves: np.ndarray, d: int) -> tuple[float, float]:
    """A and tau: a line through the log of the (1 - delta/2)-quantile, raised until it is above all of it."""
    t = np.arange(2, curves.shape[1] + 1)
    x, high = t / np.log(t) ** (d / 4), np.quantile(curves[:, 1:], 1 - DELTA / 2, axis=0)
    some = high > FLOOR
    tau, _ = np.polyfit(x[some], np.log(high[some]), 1)
    return float(np.exp((np.log(high[some]) - tau * x[some]).max())), -float(tau)


def tried(d: int, draws: int) -> list[Figure]:
    T, k1 = TRIALS[d], data_kernel(RECORDS, 1.0, SPREAD)
    c = Constants("icml", CANDIDATES, T, DELTA, k1).change(2)
    seen = []
    for seed in range(draws):
        rng = np.random.default_rng((seed, d, 5))
        C, f, other = pair(rng, k1, d)
        (regret, last), (_, moved) = curve(C, f, d), curve(C, other, d)
        seen.append((regret, last, moved, float(f.max()), float(rng.laplace())))
    half = draws // 2
    big, tau = fitted(np.array([s[0] for s in seen[:half]]), d)
    omega = vanishing_regret("icml", T, d, big, tau)
    blur = Laplace(omega + c, budget=Budget.pure(EPSILON)).scale
    rest = seen[half:]
    fifth = np.array([abs(last - moved) / (omega + c) for _, last, moved, _, _ in rest])
    sixth = np.array([abs(last + blur * e - best) / (omega + A * blur) for _, last, _, best, e in rest])
    about = f"{CANDIDATES:,} candidates in {d}-D, T = {T}, {half} draws to fit, {len(rest)} to try"
    figures = [
        Figure(f"{d}-D: tau that fits", tau, note=f"A = {big:.3g} prior sd; the bound at T is {omega:.2g}; {about}"),
        Figure(f"{d}-D: regret at T that all but delta/2 stay below", float(np.quantile([s[0][-1] for s in rest],
               1 - DELTA / 2)), "prior sd", against=f"A exp(-T tau/(log T)^(d/4)) = {omega:.2g}"),
    ]  # fmt: skip
    for name, shares, claim in (
        ("Theorem 5, the released score's change", fifth, 1 - DELTA),
        ("Theorem 6, the released score off the best", sixth, 1 - DELTA - math.exp(-A)),
    ):
        room = f"in the middle the bound is {1 / max(float(np.median(shares)), 1e-9):.3g} times larger"
        held = float(np.mean(shares <= 1))
        figures.append(Figure(f"{d}-D: {name}: holds", held, "of draws", goal=claim, better="more",
                              against=f"claim: at least {claim:.3g}", note=f"{room}; {about}"))  # fmt: skip
    return figures


def run(repeats: int) -> list[Figure]:
    return [figure for d in TRIALS for figure in tried(d, 40 * repeats)]
