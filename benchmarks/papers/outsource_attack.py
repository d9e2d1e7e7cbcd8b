"""The known-row attack on both transformations: how many rows come back to somebody who knows a few.

Rows as in the paper's synthetic setting (10,000 in a square, largest norm 25) and in a cube; delta is 1e-5. The noisy
projection has epsilon e^1.1; the published one has r = 10 and an epsilon that takes each of its branches. With no
known row the attacker takes the table as it is, turned to its principal directions; with k, the affine map of least
squares.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np

from benchmarks import Figure
from tacit.audit.attacks import guess_rows
from tacit.outsource.curator.transform import ATTACK, NoisyProjection, PublishedProjection
from tacit.privacy.noise import Simulation

TITLE = "Known-row attack: share of 10,000 rows that come back under each transformation"
LONG = False

CLOSE = 0.01  # of the distance that is protected: a row moved by norm 1


def rows_of(d: int, seed: int) -> np.ndarray:
    X = np.random.default_rng(seed).uniform(-1, 1, (10_000, d))
    return X * 25 / np.linalg.norm(X, axis=1).max()


def tables(X: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    n, d = X.shape
    told: dict[str, Any] = {"delta": 1e-5, "noise": Simulation(seed)}
    made: dict[str, Any] = {
        "published projection, singular values as they are": PublishedProjection(
            n, d, epsilon=1e3, dimensions=10, insist=ATTACK, **told
        ),
        "published projection, singular values raised": PublishedProjection(
            n, d, epsilon=1.0, dimensions=10, insist=ATTACK, **told
        ),
        "noisy projection": NoisyProjection(d, epsilon=math.exp(1.1), **told),
    }
    return {name: np.concatenate(list(transform.blocks(X))) for name, transform in made.items()}


def errors(Z: np.ndarray, X: np.ndarray, known: int) -> np.ndarray:
    """Distance of every unknown row from the attacker's guess."""
    if known == 0:
        d = X.shape[1]
        if Z.shape[1] == d:
            guess = Z  # the noisy table is in the rows' own units
        else:
            U, s, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
            guess = U[:, :d] * s[:d]
    else:
        index = np.arange(known)
        guess = guess_rows(Z, X[index], index)
    return np.linalg.norm(guess - X, axis=1)[known:]


def run(repeats: int) -> list[Figure]:
    figures = []
    for d in (2, 3):
        found: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for seed in range(repeats):
            X = rows_of(d, seed)
            for name, Z in tables(X, seed).items():
                for known in (0, d, d + 1, 2 * d):
                    e = errors(Z, X, known)
                    found.setdefault((name, known), []).append((float((e < CLOSE).mean()), float(np.median(e))))
        for (name, known), pairs in found.items():
            shares, medians = zip(*pairs, strict=True)
            words = {0: "0", d: f"d = {d}", d + 1: f"d + 1 = {d + 1}", 2 * d: f"2d = {2 * d}"}[known]
            figures.append(
                Figure(
                    f"d = {d}, {name}, {words} known rows", 100 * statistics.median(shares), "% of rows back",
                    100 * min(shares), 100 * max(shares), "back: within 0.01 of norm",
                    f"median error {statistics.median(medians):.2g} in norm-25 units",
                )
            )  # fmt: skip
    return figures
