"""Seven small problems on which variants of DP-GIBO are chosen; the winners are tried on those of _gibo_held_out.

Real models but for the last, one loss in [0, 1] per record, everything from the seed. An evaluation takes a fraction of
a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.papers._gibo_problems import Problem, basins

Losses = Callable[[np.ndarray], np.ndarray]


def logistic_penalties(seed: int, d: int = 12, n: int = 600, train: int = 60) -> Losses:
    """One penalty for each of d columns of a logistic regression, log lambda in [-7, 5]; the log loss."""
    rng = np.random.default_rng((seed, 31))
    X = rng.normal(size=(train + n, d))
    beta = 1.5 * (rng.random(d) < 0.3) * rng.normal(size=d)
    y = (X @ beta + rng.logistic(size=train + n) > 0).astype(float)
    A, target = X[:train], y[:train]

    def losses(u: np.ndarray) -> np.ndarray:
        penalty, w = np.exp(12 * u - 7), np.zeros(d)
        for _ in range(6):  # Newton
            chance = 1 / (1 + np.exp(-np.clip(A @ w, -30, 30)))
            slope = A.T @ (chance - target) + penalty * w
            w = w - np.linalg.solve(A.T @ (A * (chance * (1 - chance))[:, None]) + np.diag(penalty), slope)
        margin = np.clip((2 * y[train:] - 1) * (X[train:] @ w), -30, 30)
        return np.asarray(np.minimum(1.0, np.log1p(np.exp(-margin)) / 3))

    return losses


def source_weights(seed: int, d: int = 24, n: int = 1500, each: int = 8) -> Losses:
    """Weights in [0.01, 10] of d sources of training rows, half of them poor, in a ridge regression."""
    rng = np.random.default_rng((seed, 32))
    train, columns = d * each, 15
    X, beta = rng.normal(size=(train + n, columns)), rng.normal(size=columns) / 4
    poor = np.repeat(rng.random(d) < 0.5, each)
    y = X @ beta + 0.3 * rng.normal(size=train + n)
    y[:train] = np.where(poor, -0.5 * y[:train] + rng.normal(size=train), y[:train])
    A = X[:train]

    def losses(u: np.ndarray) -> np.ndarray:
        weights = np.repeat(10 ** (3 * u - 2), each)
        w = np.linalg.solve(A.T @ (A * weights[:, None]) + 0.1 * np.eye(columns), A.T @ (weights * y[:train]))
        return np.asarray(np.minimum(1.0, (y[train:] - X[train:] @ w) ** 2 / 2))

    return losses


def _kernel_ridge(seed: int, d: int, n: int, train: int, scale: Losses) -> Losses:
    rng = np.random.default_rng((seed, d, 33))
    X = rng.random((train + n, d))
    y = np.sin(np.pi * X[:, 0] * X[:, 1]) + 2 * (X[:, 2] - 0.5) ** 2 + X[:, 3] + 0.1 * rng.normal(size=train + n)
    y = y - y[:train].mean()

    def losses(u: np.ndarray) -> np.ndarray:
        S = X / scale(u)
        size = (S * S).sum(axis=1)
        K = np.exp(-0.5 * np.maximum(size[:, None] + size[:train] - 2 * S @ S[:train].T, 0))
        fitted = np.linalg.solve(K[:train] + 0.05 * np.eye(train), y[:train])
        return np.asarray(np.minimum(1.0, 2 * (y[train:] - K[train:] @ fitted) ** 2))

    return losses


def kernel_lengths(seed: int, d: int = 12, n: int = 400) -> Losses:
    """Length-scales of a kernel ridge regression in [0.05, 5], on a log scale."""
    return _kernel_ridge(seed, d, n, 40, lambda u: 0.05 * 100**u)


def linear_lengths(seed: int, d: int = 8, n: int = 500) -> Losses:
    """The same, but on a linear scale: the loss is flat near the wall at 0."""
    return _kernel_ridge(seed, d, n, 40, lambda u: 0.05 + 4.95 * u)


def smooth_terms(seed: int, d: int = 10, n: int = 400, train: int = 100) -> Losses:
    """Penalties on the bends of the d terms of an additive model, six cosines each, log lambda in [-9, 5]."""
    rng = np.random.default_rng((seed, 34))
    X = rng.random((train + n, d))
    terms = np.concatenate([np.cos(np.pi * k * X) for k in range(1, 7)], axis=1)  # column k d + j: frequency k + 1
    bend = np.repeat(np.arange(1, 7) ** 2.0, d)
    beta = rng.normal(size=6 * d) / bend * np.tile(rng.random(d) < 0.5, 6)
    y = terms @ beta + 0.3 * rng.normal(size=train + n)
    gram, cross = terms[:train].T @ terms[:train], terms[:train].T @ y[:train]

    def losses(u: np.ndarray) -> np.ndarray:
        w = np.linalg.solve(gram + np.diag(np.tile(np.exp(14 * u - 9), 6) * bend), cross)
        return np.asarray(np.minimum(1.0, (y[train:] - terms[train:] @ w) ** 2))

    return losses


def nearest_class(seed: int, d: int = 20, n: int = 1000, train: int = 60) -> Losses:
    """Weights in [0.03, 3] of d columns in a classifier by the nearest of five class means; zero-one losses."""
    rng = np.random.default_rng((seed, 35))
    label = rng.integers(5, size=train + n)
    means = 1.2 * rng.normal(size=(5, d)) * (np.arange(d) < d // 4)
    X = means[label] + rng.normal(size=(train + n, d)) * np.exp(0.7 * rng.normal(size=d))
    centres = np.array([X[:train][label[:train] == c].mean(axis=0) for c in range(5)])

    def losses(u: np.ndarray) -> np.ndarray:
        weights = 0.03 * 100**u
        far = (centres**2) @ weights - 2 * X[train:] @ (weights * centres).T
        return (far.argmin(axis=1) != label[train:]).astype(float)

    return losses


def _basins(seed: int, d: int = 10, n: int = 1000) -> Losses:
    return basins(d, n, seed).losses


CHOOSING: dict[str, tuple[Callable[[int], Losses], int, int, float]] = {
    "logistic penalties": (logistic_penalties, 12, 600, 1.0),
    "source weights": (source_weights, 24, 1500, 0.4),
    "kernel length-scales": (kernel_lengths, 12, 400, 1.0),
    "linear length-scales": (linear_lengths, 8, 500, 1.0),
    "smooth terms": (smooth_terms, 10, 400, 0.5),
    "nearest class": (nearest_class, 20, 1000, 1.0),
    "two basins": (_basins, 10, 1000, 1.0),
}


def choosing(name: str, seed: int) -> tuple[Problem, float]:
    """A problem and its mu; regret is 0 at loss 0 and 1 at the mean of 30 random points."""
    make, d, n, mu = CHOOSING[name]
    losses = make(seed)
    typical = float(np.mean([losses(u).mean() for u in np.random.default_rng((seed, 98)).random((30, d))]))
    return Problem(name, d, n, losses, 0.0, typical), mu
