"""What the papers say, and what is so: six findings, each computed here from the constants as published."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

from benchmarks import Figure
from benchmarks.papers._gaussian_pairs import gaussian_delta
from benchmarks.papers.kusner_table import KERNELS, NOISE, SPREAD, TRIALS, draw
from tacit.audit.attacks import known_rows
from tacit.gp.exact import GaussianProcess
from tacit.methods.kusner import search_noisy
from tacit.methods.kusner.constants import Constants, LipschitzTerms, data_kernel
from tacit.methods.kusner.regularised import RegularisedClassifier
from tacit.outsource.curator.projection_bounds import (
    distance_factors,
    largest_rank,
    rank_of_regret_bound,
    smallest_singular_value,
)
from tacit.outsource.curator.transform import ATTACK, NoisyProjection, PublishedProjection
from tacit.privacy.conversions import gdp_delta, gdp_mu
from tacit.privacy.guarantee import Budget
from tacit.privacy.mechanisms import Exponential
from tacit.privacy.noise import Simulation

TITLE = "Findings: what the published statements leave out"
LONG = False


def chosen_index() -> list[Figure]:
    """Algorithm 1, q: the noise at the index of the largest noisy score is the largest of T noises, not one noise."""
    T, delta = 50, 0.1
    q = Constants("icml", 1000, T, delta, 0.99, 1.0).q
    workshop = Constants("workshop", 1000, T, delta, 0.99, 1.0).q
    one, largest = float(ndtr(-q / 2)), 1 - float(ndtr(q / 2)) ** T
    drawn = np.random.default_rng(0).normal(size=(200_000, T)).max(axis=1)
    safe = 1 - (2 * float(ndtr(Constants("safe", 1000, T, delta, 0.99, 1.0).q / 2)) - 1) ** (2 * T)
    note = f"simulated {np.mean(drawn > q / 2):.4f}; one noise alone {one:.2g}"
    where = "chance that the noise at the chosen index exceeds q/2 (T = 50, delta = 0.1, constant f)"
    return [
        Figure(where, largest, "", None, None, "paper: delta/3 = 0.033", note),
        Figure(
            "the same with the workshop's q", 1 - float(ndtr(workshop / 2)) ** T, "", against="paper: delta/3 = 0.033"
        ),
        Figure("the same with the safe q, both data sets", safe, "", None, None, "delta/3 = 0.033", ""),
    ]


def split_of_delta() -> list[Figure]:
    """Algorithm 1, beta_t: what its three events may cost together, in units of delta."""
    found = []
    for version in ("icml", "safe"):
        c = Constants(version, 50, 10, 0.1, 0.99, 0.1)
        band = math.fsum(50 * math.exp(-c.beta(t) / 2) for t in range(1, 200_000))
        spent = (2 * band + 0.1 / 3) / 0.1
        found.append(
            Figure(f"delta spent by three events, constants {version}", spent, "delta", against="claim 1 delta")
        )
    return found


def theorem_7() -> list[Figure]:
    """Algorithm 3: one record's label turned, normalised sigmoid, on a model of norm 1/lambda_min."""
    e, found = np.array([[1.0, 0.0]]), []
    for score, sides in (("sigmoid", 2.0), ("ramp", 1.0)):
        one, other = (
            RegularisedClassifier(e, [1], e, [label], loss="hinge", score=score)({"s": 10.0}) for label in (1, -1)
        )
        published = LipschitzTerms("icml", 1, 1.0, 2.0, 10.0, 10.0, sides=sides).record
        moved = float(abs(one - other)[0])
        name = f"a score's move over the published record term, {score}"
        found.append(Figure(name, moved / published, "x", against="Theorem 7: at most 1"))
    return found


def outsourcing_bounds() -> list[Figure]:
    """Lemma 1, Theorems 2 and 3 and the guideline for r in the synthetic setting: n = 10,000, delta_ucb = 0.05."""
    axis = np.linspace(0, 1, 100)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid *= 25 / np.linalg.norm(grid - grid.mean(axis=0), axis=1).max()
    smallest = smallest_singular_value(grid)
    asked = {"diameter": 1.0, "lengthscale": 1.25, "largest": 3.0, "error": 100.0}
    silent = [r for r in (3, 10, 20, 50) if distance_factors(10_000, r, 0.025, smallest=smallest, omega=1.0) is None]
    least = "its weakest demand: nu = 1/2"
    figures = [
        Figure("rank from which Theorem 3 says something", rank_of_regret_bound(10_000, **asked), "", note=least),
        Figure("ranks among the paper's 3, 10, 20, 50 of which Lemma 1 and Theorem 2 say nothing", len(silent)),
    ]
    for exponent, paper in ((1.1, 10), (1.3, 15), (1.5, 20)):
        rank = largest_rank(smallest, epsilon=math.exp(exponent), delta=1e-5)
        note = "the paper's is the largest of those that it tried; the next it tried is above ours"
        figures.append(Figure(f"largest r with sigma_min >= omega, epsilon e^{exponent}", rank, paper=paper, note=note))
    return figures


def known_row_attack() -> list[Figure]:
    """The paper's synthetic setting: n = 10,000, d = 2, r = 10; three rows are known."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(10_000, 2))
    X *= 25 / np.linalg.norm(X, axis=1).max()
    found = []
    for epsilon, branch in ((1.0, "raised"), (3000.0, "not raised")):
        made = PublishedProjection(
            10_000, 2, epsilon=epsilon, delta=1e-5, dimensions=10, insist=ATTACK, noise=Simulation(1)
        )
        (Z,) = made.blocks(X)
        assert made.raised == (branch == "raised")
        back = known_rows(Z, X, 3)
        note = f"largest error {back.error:.2g} of the rows' spread"
        name = f"rows given back by 3 known ones, published projection, singular values {branch}"
        found.append(Figure(name, back.share, "of all", None, None, f"claim: epsilon = {epsilon:g}", note))
    Z = np.concatenate(list(NoisyProjection(2, epsilon=3.0, delta=1e-5, noise=Simulation(1)).blocks(X)))
    back = known_rows(Z, X, 3)
    note = f"median error {back.median_error:.2g} of the rows' spread"
    found.append(Figure("the same, noisy projection at epsilon = 3", back.share, "of all", note=note))
    return [*found, column(6, 2), column(2, 6)]


def column(n: int, d: int) -> Figure:
    """One column of Z is N(0, X X') but for a factor: what two neighbours' columns give away."""
    X = 5 * np.random.default_rng(0).normal(size=(n, d))
    moved = X.copy()
    moved[0, 0] += 1.0
    delta = gaussian_delta(np.zeros(n), X @ X.T, np.zeros(n), moved @ moved.T, 10.0)
    why = "different column spaces: 1 at every epsilon" if n > d else "full rank, not centred: finite"
    return Figure(f"delta at epsilon = 10 of one published column, n = {n}, d = {d}", delta, note=why)


def nearly_uniform(repeats: int) -> list[Figure]:
    """Algorithm 1's choice among 1000 candidates: its distance from a uniform one, over draws of f."""
    distance: dict[float, list[float]] = {1.0: [], 10.0: [], 100.0: []}
    k1, n = data_kernel(500, 1.0, SPREAD), 1000
    for seed in range(10 * repeats):
        rng = np.random.default_rng(seed)
        C, f = draw(n, 1, rng)
        c = Constants("safe", n, TRIALS, 1e-3, k1, math.sqrt(NOISE))
        gp = GaussianProcess(KERNELS[1], noise=NOISE, candidates=C, capacity=TRIALS)
        mean, _ = search_noisy(lambda i, f=f: float(f[i]), gp, c, Simulation(rng))
        for epsilon, seen in distance.items():
            weights = np.exp((mean - mean.max()) / Exponential(c.choice_sensitivity, budget=Budget.pure(epsilon)).scale)
            seen.append(0.5 * float(np.abs(weights / weights.sum() - 1 / n).sum()))
    return [
        Figure(
            f"total variation between Algorithm 1's choice and a uniform one, epsilon = {epsilon:g}",
            float(np.mean(seen)),
            "",
            min(seen),
            max(seen),
            "0 is uniform, 1 is sure",
            f"{len(seen)} draws of f, 1000 candidates, T = 30, delta = 1e-3; least to most over draws",
        )
        for epsilon, seen in distance.items()
    ]


def divided_afterwards() -> list[Figure]:
    """A filter that lets delta be divided after answers were seen: the delta of its worst analyst, over its own.

    x ~ N(0, 1) on one data set, N(sqrt(m), 1) on the other; then either the rest of mu^2, or a reveal with chance s.
    """
    found = []
    for epsilon, delta in ((1.0, 1e-6), (0.1, 1e-6), (4.0, 1e-6), (8.0, 1e-9)):
        whole = gdp_mu(epsilon, delta) ** 2
        worst = max(_analyst(epsilon, delta, share * whole, whole) for share in np.linspace(0.5, 0.85, 15))
        name = f"delta of an analyst who divides it afterwards, epsilon = {epsilon:g}, delta = {delta:g}"
        found.append(Figure(name, worst / delta, "delta", against="a sound filter: 1 delta"))
    return found


def _analyst(epsilon: float, delta: float, m: float, whole: float) -> float:
    t, u = np.linspace(-14, 14, 100_001), math.sqrt(whole - m)
    e, s = epsilon - (math.sqrt(m) * t + m / 2), delta - gdp_delta(math.sqrt(m), epsilon)
    gaussian = ndtr(u / 2 - e / u) - np.exp(e) * ndtr(-u / 2 - e / u)
    reveal = s + (1 - s) * np.maximum(0, -np.expm1(e))
    return float(np.trapezoid(np.exp(-t * t / 2) / math.sqrt(2 * math.pi) * np.maximum(gaussian, reveal), t))


def run(repeats: int) -> list[Figure]:
    with threadpool_limits(1):
        parts = [chosen_index(), split_of_delta(), theorem_7(), known_row_attack(), nearly_uniform(repeats)]
        parts.append(outsourcing_bounds())
        return [figure for part in [*parts, divided_afterwards()] for figure in part]
