"""What the experiments of Sopa et al. share: a run in a box, noise that remembers what was under it, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from benchmarks.harness.charts import steps
from benchmarks.harness.parts import keep_piece
from tacit.methods.gibo import GradientSearch, release
from tacit.methods.gibo.design import AVERAGE, CLIP, RADIUS, RATES, SCAN, SCANNED, SCORED, DescentSettings
from tacit.methods.task import Task
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation

PLOTS = Path(__file__).parents[1] / "results" / "gibo_paper"
BOUNDS = (0.0, 10.0)


class Recorder(Simulation):
    """Simulated noise that remembers what was under it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.exact: list[int] = []

    def gaussian_whole_array(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.exact += values.tolist()
        return super().gaussian_whole_array(values, scale)


def descend(
    losses: Callable[..., Any],
    low: Any,
    high: Any,
    n: int,
    mu: float,
    T: int,
    noise: Any,
    options: Any,
    bounds: tuple[float, float] = BOUNDS,
) -> Any:
    """A run in a box given by its corners (d,); ``losses(x)`` takes a point of it. Its path and result."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    space = tacit.Space({f"x{j}": tacit.Float(a, b) for j, (a, b) in enumerate(zip(low, high, strict=True))})
    asked = Objective(lambda params: losses(np.array(list(params.values()))), n, bounds)
    settings = DescentSettings.of({"average": 0.0, "score_budget": 0.0, **options}, bounds, space)
    made = release(
        GradientSearch(Task(asked, space, Budget.gdp(mu), T, noise=noise, accept_noise=True), settings)
    ).value
    return np.array([list(p.values()) for p in made.details["path"][0]]), made


def held(claim: str, yes: bool, more: str = "") -> str:
    return f"claim: {claim}: {'HELD' if yes else 'DID NOT HOLD'}{'; ' + more if more else ''}"


def piece(name: str, seed: int, work: Callable[[], tuple[dict[str, Any], dict[str, Any]]]) -> tuple[Any, Any]:
    """One repeat of a long experiment, final losses and traces by method, kept so that a second run goes on."""
    settings = repr((RADIUS, SCAN, SCANNED, SCORED, RATES, CLIP, AVERAGE))
    ends, traces = keep_piece("gibo_paper", {"experiment": name, "seed": seed, "defaults": settings}, work)
    return ends, traces


def gathered(repeats: int, name: str, work: Callable[[int], tuple[dict[str, Any], dict[str, Any]]]) -> tuple[Any, Any]:
    """All repeats of an experiment: lists of final losses, and of traces, by method."""
    ends, traces = dict[str, list[float]](), dict[str, list[Any]]()
    for seed in range(repeats):
        found, along = piece(name, seed, lambda seed=seed: work(seed))  # type: ignore[misc]
        for whole, part in ((ends, found), (traces, along)):
            for method, value in part.items():
                whole.setdefault(method, []).append(value)
        print(f"  {name} {seed}: " + ", ".join(f"{k} {v:.3g}" for k, v in found.items()), flush=True)
    return ends, traces


def keep(ends: dict[str, float], traces: dict[str, list[float]], name: str, trace: Any) -> None:
    ends[name], traces[name] = float(trace[-1]), [float(x) for x in trace]


def draw_steps(path: Path, title: str, lines: Mapping[str, Sequence[float]], **labels: Any) -> None:
    """Write a picture of one line for each name, over 1, 2, 3, ..."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(steps(title, lines, **labels))
