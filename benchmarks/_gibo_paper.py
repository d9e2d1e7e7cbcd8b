"""What the experiments of Sopa et al. share: a run in a box, noise that remembers what was under it, verdicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.objective import Objective
from tacit.optimise.gibo import Problem, release
from tacit.optimise.gibo_design import Settings
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation

PLOTS = Path(__file__).parent / "results" / "gibo_paper"
BOUNDS = (0.0, 10.0)


class Recorder(Simulation):
    """Simulated noise that remembers what was under it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.exact: list[int] = []

    def gaussian_whole(self, value: int, scale: float) -> int:
        self.exact.append(value)
        return super().gaussian_whole(value, scale)


def descend(
    losses: Callable[..., Any], low: Any, high: Any, n: int, mu: float, T: int, noise: Any, options: Any
) -> Any:
    """A run in a box given by its corners (d,); ``losses(x)`` takes a point of it. Its path and result."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    space = tacit.Space({f"x{j}": tacit.Float(a, b) for j, (a, b) in enumerate(zip(low, high, strict=True))})
    asked = Objective(lambda params: losses(np.array(list(params.values()))), n, BOUNDS)
    settings = Settings.of({"average": 0.0, **options}, BOUNDS, space)
    made = release(Problem(asked, space, T, Budget.gdp(mu), settings, noise=noise, accepted=True)).value
    return np.array([list(p.values()) for p in made.details["path"][0]]), made


def held(claim: str, yes: bool, more: str = "") -> str:
    return f"claim: {claim}: {'HELD' if yes else 'DID NOT HOLD'}{'; ' + more if more else ''}"


def keep(ends: dict[str, list[float]], traces: dict[str, list[Any]], name: str, trace: Any) -> None:
    ends.setdefault(name, []).append(float(trace[-1]))
    traces.setdefault(name, []).append(trace)
