"""Small things that several tests here use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.outsource.protocol.terms import Answer, Published
from tacit.privacy.guarantee import Guarantee


def some_rows(n: int = 200, d: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-15, 15, (n, d))


def hill(rows: np.ndarray) -> np.ndarray:
    """A smooth answer per row, best near (5, -5)."""
    return np.exp(-0.5 * ((rows - np.array([5.0, -5.0])) ** 2).sum(axis=1) / 8.0**2)


class Given:
    """A source without a curator: a table, answers, and a record of what was asked."""

    def __init__(self, table: np.ndarray, values: np.ndarray, *, noise: float = 0.0, answer_noise: float = 0.0) -> None:
        self.values, self.Z, self.asked, self.history = values, table, [], []  # type: ignore[var-annotated]
        none = Guarantee.none("a test")
        n, r = table.shape
        self.terms = Published("s", n, r, "noisy", noise, answer_noise, 1000, none, none, "")

    def published(self) -> Published:
        return self.terms

    def table(self) -> Any:
        return self.Z

    def answers(self) -> list[Answer]:
        return list(self.history)

    def ask(self, rows: Sequence[int], *, request: str) -> list[Answer]:
        self.asked.append(list(rows))
        return [Answer(r, None if np.isnan(self.values[r]) else float(self.values[r])) for r in rows]
