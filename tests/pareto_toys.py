"""Small algorithms with known fronts, importable by worker processes and by the command."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit import Choice, Float, Int


class Toy:
    """Epsilon = steps / noise; utility rises with epsilon and is best at rate 0.3. Deterministic."""

    label = "no sampling, one record replaced"
    name = "toy"
    records = 2000

    @property
    def space(self) -> dict[str, Any]:
        return {"noise": Float(0.1, 100.0, log=True), "rate": Float(0.0, 1.0), "steps": Int(1, 4)}

    def epsilons(self, params: Sequence[dict[str, Any]], delta: float) -> np.ndarray:
        return np.array([p["steps"] / p["noise"] for p in params])

    def utility(self, params: dict[str, Any], seed: int) -> float:
        e = params["steps"] / params["noise"]
        return 0.9 * e / (1 + e) * math.exp(-3 * (params["rate"] - 0.3) ** 2)

    def each_utility(self, params: dict[str, Any], seed: int) -> np.ndarray:
        return np.full(self.records, self.utility(params, seed))


class Noisy(Toy):
    """Each run scatters with its seed."""

    name = "noisy"

    def utility(self, params: dict[str, Any], seed: int) -> float:
        return float(np.clip(super().utility(params, seed) + np.random.default_rng(seed).normal(0, 0.02), 0, 1))


class Singly(Toy):
    """The least an algorithm can have: a scalar epsilon, and an error in place of a utility; one categorical."""

    higher = False
    epsilons = None  # type: ignore[assignment]

    @property
    def space(self) -> dict[str, Any]:
        return {"noise": Float(0.1, 100.0, log=True), "model": Choice(["a", "b"])}

    def epsilon(self, params: dict[str, Any], delta: float) -> float:
        return 1 / params["noise"]

    def utility(self, params: dict[str, Any], seed: int) -> float:
        return 1 / (1 + 1 / params["noise"]) if params["model"] == "a" else 0.9


class Breaks(Toy):
    """Raises in part of the space, always."""

    def utility(self, params: dict[str, Any], seed: int) -> float:
        if params["rate"] > 0.6:
            raise RuntimeError("record 17 says no")
        return super().utility(params, seed)


class Answers(Toy):
    """Whatever it is told to."""

    def __init__(self, utility: Any = 0.5, epsilon: float = 1.0) -> None:
        self.answer, self.told = utility, epsilon
        self.calls = 0

    def utility(self, params: dict[str, Any], seed: int) -> Any:
        self.calls += 1
        return self.answer(self.calls) if callable(self.answer) else self.answer

    def epsilons(self, params: Sequence[dict[str, Any]], delta: float) -> np.ndarray:
        return np.full(len(params), self.told)


toy = Toy()
