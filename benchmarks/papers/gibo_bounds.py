"""The bounds of Sopa et al. (2025) on DP-GIBO's path: whether they hold, how wide they are, what they say of its runs.

Theorem 3.2 to Corollary 3.4 on a bowl in five dimensions, where L = tau = 1 and designs of more than d places leave no
bias; Lemma A.2 on sums of kernels, whose norms are known exactly; Lemma A.3 on normal draws. Then what the noise costs
by Theorem 3.2, 2 V, as a share of the largest squared gradient B^2, in the paper's own experiments: above 1 the theorem
says nothing there.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks import Figure
from tacit.gp.gradient import GradientPosterior
from tacit.gp.kernels import RBF
from tacit.methods.gibo.bounds import DescentBounds

TITLE = "DP-GIBO: the theorems of Sopa et al. (2025), tried and evaluated"
LONG = False

SEEDS = 100  # for each repeat
RUNS = {  # d, n, T, mu
    "4.1, mu = 0.5": (5, 50, 150, 0.5),
    "4.1, mu = 2": (5, 50, 150, 2.0),
    "4.2": (4, 100, 100, 1.0),
    "4.3": (10, 4500, 25, 1.0),
    "4.4": (33, 5000, 25, 1.0),
}


def bowl(bounds: DescentBounds, seed: int) -> dict[str, float]:
    """Measured over bound, for each statement, on |theta - mean|^2 / 2 with the longest step."""
    draw = np.random.default_rng(seed)
    theta = draw.normal(size=bounds.dimensions)
    theta *= bounds.clip / np.linalg.norm(theta)
    first, squared = float(theta @ theta) / 2, 0.0
    scale = 2 * bounds.clip * math.sqrt(bounds.steps) / (bounds.records * bounds.mu)
    for _ in range(bounds.steps):
        squared += float(theta @ theta) / bounds.steps
        gradient = theta * min(1.0, bounds.clip / np.linalg.norm(theta))
        theta = theta - gradient - scale * draw.normal(size=bounds.dimensions)
    gap = float(theta @ theta) / 2
    return {
        "Theorem 3.2, Corollary 3.6: mean squared gradient": squared / bounds.mean_squared_gradient(first, 1.0),
        "Theorem 3.3, Corollary 3.6: gap to the least loss": gap / bounds.gap(first, 1.0, 1.0),
        "Corollary 3.4: distance to the best parameters": math.sqrt(2 * gap) / bounds.distance(first, 1.0, 1.0),
    }


def bias(seed: int, d: int = 3) -> float:
    """Error of a posterior gradient over Lemma A.2's bound, for a sum of kernels whose norm is sqrt(a' K a)."""
    draw, kernel = np.random.default_rng(seed), RBF((0.5,) * d)
    centres, weights, theta = draw.random((6, d)), draw.normal(size=6), draw.random(d)
    values = lambda X: kernel(X, centres) @ weights  # noqa: E731
    norm = math.sqrt(float(weights @ kernel(centres, centres) @ weights))
    model = GradientPosterior(kernel, noise=1e-10)
    places = np.clip(theta + 0.2 * draw.normal(size=(draw.integers(1, d + 2), d)), 0, 1)
    model.append(places)
    step = 1e-5 * np.eye(d)
    true = np.array([(values(theta + h) - values(theta - h)) / 2e-5 for h in step[:, None, :]]).ravel()
    error = float(np.linalg.norm(model.weights(theta) @ values(np.array(model.points)) - true))
    return error / (norm * math.sqrt(max(model.trace(theta), 1e-300)))


def told(name: str, shares: list[float], note: str) -> list[Figure]:
    middle, low, high = (float(np.quantile(shares, q)) for q in (0.5, 0.0, 1.0))
    return [
        Figure(f"{name}: holds", float(np.mean(np.array(shares) <= 1)), "of runs", note=note),
        Figure(f"{name}: over its bound", middle, "", low, high, note="median, least and most"),
    ]


def run(repeats: int) -> list[Figure]:
    seeds = range(SEEDS * repeats)
    bounds = DescentBounds(dimensions=5, records=5000, steps=50, mu=1.0)
    figures, runs = [], [bowl(bounds, seed) for seed in seeds]
    for name in runs[0]:
        figures += told(name, [r[name] for r in runs], "a bowl, n = 5,000, T = 50, mu = 1, delta = 0.05")
    figures += told("Lemma A.2: bias of a gradient", [bias(seed) for seed in seeds], "sums of six kernels, d = 3")
    longest = [np.linalg.norm(np.random.default_rng(s).normal(size=(50, 5)), axis=1).max() for s in seeds]
    figures += told("Lemma A.3: the longest of T normal vectors", [x / bounds.largest_normal for x in longest], "")
    figures.append(Figure("Lemma A.4: the radius that is not left", bounds.radius(1.0, 1.0), "", note="the bowl's"))
    for name, (d, n, T, mu) in RUNS.items():
        cost = 2 * DescentBounds(dimensions=d, records=n, steps=T, mu=mu).noise_cost
        note = "above 1: the theorem says nothing" if cost > 1 else "below 1: the theorem says something"
        figures.append(Figure(f"Theorem 3.2, what noise costs in {name}", cost, "of B^2", note=note))
    return figures
