"""Five tuning problems on which none of DP-GIBO's defaults was chosen: real models, one loss in [0, 1] per record.

Everything is generated from the seed. The unit cube stands for the logarithms of what is tuned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.papers._gibo_problems import Problem

Losses = Callable[[np.ndarray], np.ndarray]


def group_lasso(seed: int, d: int = 20, train: int = 50, n: int = 150) -> Losses:
    """One penalty for each of d groups of three columns, half of them idle; log lambda in [-13.8, 0]."""
    rng = np.random.default_rng((seed, d, 21))
    X = rng.normal(size=(train + n, 3 * d)) / np.sqrt(3)
    beta = np.repeat(rng.random(d) < 0.5, 3) * rng.normal(size=3 * d)
    y = X @ beta / np.sqrt(d) + 0.3 * rng.normal(size=train + n)
    A, target = X[:train], y[:train]
    step = 1 / (np.linalg.norm(A, 2) ** 2 / train)

    def losses(u: np.ndarray) -> np.ndarray:
        weights = np.exp(-13.8 * (1 - u))[:, None] * step
        w, ahead, t = np.zeros(3 * d), np.zeros(3 * d), 1.0
        for _ in range(150):  # accelerated proximal gradient
            moved = (ahead - step * A.T @ (A @ ahead - target) / train).reshape(d, 3)
            size = np.sqrt((moved**2).sum(axis=1, keepdims=True))
            new = (moved * np.maximum(0, 1 - weights / np.maximum(size, 1e-300))).ravel()
            later = (1 + np.sqrt(1 + 4 * t * t)) / 2
            ahead, w, t = new + (t - 1) / later * (new - w), new, later
        return np.minimum(1.0, (y[train:] - X[train:] @ w) ** 2 / 2)

    return losses


def support_vectors(seed: int, d: int = 33, train: int = 200, n: int = 1000) -> Losses:
    """30 log length-scales in [-2, 2], epsilon, C and gamma of support vector regression."""
    from sklearn.svm import SVR

    rng = np.random.default_rng((seed, 22))
    X = rng.normal(size=(train + n, d - 3))
    y = np.sin(X[:, 0]) + 0.7 * X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.3 * rng.normal(size=train + n)
    y = (y - y[:train].mean()) / y[:train].std()
    low, high = np.log([0.01, 0.01, 0.1]), np.log([1.0, 5.0, 3.0])

    def losses(u: np.ndarray) -> np.ndarray:
        epsilon, C, gamma = np.exp(low + u[-3:] * (high - low))
        S = X / np.exp(4 * u[:-3] - 2)
        size = (S * S).sum(axis=1)
        K = np.exp(-gamma * np.maximum(size[:, None] + size[:train] - 2 * S @ S[:train].T, 0))
        model = SVR(kernel="precomputed", epsilon=epsilon, C=C).fit(K[:train], y[:train])
        predicted = K[train:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
        return np.asarray(np.minimum(1.0, (predicted - y[train:]) ** 2 / 4))

    return losses


def log_lengths(seed: int, d: int = 10, train: int = 100, n: int = 4500) -> Losses:
    """Length-scales of a Gaussian-process regression in [0.05, 5], on a log scale: section 4.3 of Sopa et al."""
    from benchmarks.papers._gibo_lengths import regression

    inner = regression(seed + 700, "uniform", train, n)
    return lambda u: np.minimum(1.0, inner(0.05 * 100**u))


def feature_weights(seed: int, d: int = 50, train: int = 300, n: int = 2000) -> Losses:
    """Weights of d columns in a kernel classifier (Nadaraya-Watson), on a log scale; one minus the chance."""
    rng = np.random.default_rng((seed, 24))
    X = rng.normal(size=(train + n, d))
    label = (X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.8 * X[:, 3] - 0.6 + 0.3 * rng.normal(size=train + n)) > 0
    X, y = X.astype(np.float32), label.astype(np.float32)  # half as long, and equal to six digits
    both = np.stack([y[:train], np.ones(train, np.float32)], axis=1)

    def losses(u: np.ndarray) -> np.ndarray:
        S = X * (10 ** (2 * u - 1.5)).astype(np.float32)
        near = S[train:] @ S[:train].T
        near -= (S[:train] ** 2).sum(axis=1) / 2  # what is left out is the same for a whole row
        near -= near.max(axis=1, keepdims=True)
        found = np.exp(near, out=near) @ both
        return np.abs(y[train:] - found[:, 0] / found[:, 1]).astype(float)

    return losses


def ridge_penalties(seed: int, d: int = 30, train: int = 150, n: int = 5000) -> Losses:
    """One penalty for each column of a ridge regression on correlated columns, log lambda in [-7, 7]."""
    rng = np.random.default_rng((seed, 25))
    X = rng.normal(size=(train + n, d)) + 0.7 * rng.normal(size=(train + n, 1))
    beta = rng.normal(size=d) * (rng.random(d) < 0.3)
    y = X @ beta + 2 * rng.normal(size=train + n)
    y = y / y[:train].std()
    gram, cross = X[:train].T @ X[:train], X[:train].T @ y[:train]

    def losses(u: np.ndarray) -> np.ndarray:
        w = np.linalg.solve(gram + np.diag(np.exp(14 * u - 7)), cross)
        return np.asarray(np.minimum(1.0, (y[train:] - X[train:] @ w) ** 2 / 4))

    return losses


HELD_OUT = {
    "group lasso": (group_lasso, 20, 150, 1.0),
    "support vectors": (support_vectors, 33, 1000, 1.0),
    "log length-scales": (log_lengths, 10, 4500, 1.0),
    "feature weights": (feature_weights, 50, 2000, 0.5),
    "ridge penalties": (ridge_penalties, 30, 5000, 2.0),
}


def held_out(name: str, seed: int) -> tuple[Problem, float]:
    """A problem and its mu; regret is 0 at loss 0 and 1 at the mean of 30 random points."""
    make, d, n, mu = HELD_OUT[name]
    losses = make(seed)
    typical = float(np.mean([losses(u).mean() for u in np.random.default_rng((seed, 98)).random((30, d))]))
    return Problem(name, d, n, losses, 0.0, typical), mu
