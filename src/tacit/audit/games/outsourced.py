"""The known-row attack on a user's own table, under both transformations: what would come back, before publishing.

This is for the curator alone: it reads the rows, spends nothing and publishes nothing, and the images it attacks are
drawn here and thrown away.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.audit.attacks import known_rows
from tacit.errors import BadInput
from tacit.outsource.curator.transform import ATTACK, NoisyProjection, PublishedProjection, usable
from tacit.privacy.noise import Simulation
from tacit.space import Array

MOST = 20_000  # rows that are attacked; more say nothing new
BAR = 40


@dataclass(frozen=True)
class Attacked:
    """What ``known`` rows give back of the others under one transformation."""

    transform: str
    guarantee: str
    known: int
    share: float
    median_error: float

    def __str__(self) -> str:
        bar = "#" * round(BAR * self.share)
        typical = f"typical error {self.median_error:.2g} of the spread"
        return f"{self.transform:11} {self.known:4} known  |{bar:{BAR}}| {self.share:4.0%} given back, {typical}"


def attack_table(
    rows: ArrayLike, *, epsilon: float, delta: float, scale: ArrayLike | None = None, seed: int = 0
) -> list[Attacked]:
    """Attack a table (n, d) with d, d + 1 and 2d known rows, under the published and the noisy projection.

    >>> found = attack_table(np.random.default_rng(0).normal(size=(100, 2)), epsilon=3.0, delta=1e-5)
    >>> [(a.transform, a.known, a.share) for a in found if a.known == 3]
    [('projection', 3, 1.0), ('noisy', 3, 0.0)]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns and large deltas are the serving command's to tell
        X = usable(rows, delta)
    if len(X) > MOST:
        X = X[np.sort(np.random.default_rng(seed).permutation(len(X))[:MOST])]
    n, d = X.shape
    if n < 2 * d + 2:
        raise BadInput(f"the attack needs more than 2d + 1 = {2 * d + 1} rows of {d} columns, got {n}")
    noise, r = Simulation(seed), max(d, min(10, n))
    transforms: list[Any] = [
        PublishedProjection(n, d, epsilon=epsilon, delta=delta, dimensions=r, scale=scale, insist=ATTACK, noise=noise),
        NoisyProjection(d, epsilon=epsilon, delta=delta, scale=scale, noise=noise),
    ]
    kinds = {"projection": "none", "noisy": f"epsilon = {epsilon:g}, delta = {delta:g}"}
    results = []
    for transform in transforms:
        Z, truth = np.concatenate(list(transform.blocks(X))), X / transform.divisor
        for known in (d, d + 1, 2 * d):
            came = known_rows(Z, truth, _pick_rows(truth, known, seed))
            results.append(Attacked(transform.kind, kinds[transform.kind], known, came.share, came.median_error))
    return results


def _pick_rows(X: Array, known: int, seed: int) -> Any:
    """Known rows at random, distinct where the table allows: a duplicate tells nothing."""
    order = np.random.default_rng(seed).permutation(len(X))
    _, first = np.unique(X[order], axis=0, return_index=True)
    distinct = order[np.sort(first)]
    return distinct[:known] if len(distinct) >= known else order[:known]


def format_attack(found: list[Attacked], rows: tuple[int, ...]) -> str:
    """The picture, in words and bars."""
    head = f"The known-row attack on your own {rows[0]} rows of {rows[1]} columns; nothing was published or spent."
    worst = max(a.share for a in found if a.transform == "projection")
    tail = "The published projection gives rows away: use the noisy one." if worst > 0 else "No row came back."
    return "\n".join([head, "", *map(str, found), "", tail])
