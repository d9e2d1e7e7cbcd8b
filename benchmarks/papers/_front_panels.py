"""Panels of fronts: staircases, the points they come from, and how their hypervolume grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.pareto import hypervolume, nondominated

Series = dict[str, Any]
EPSILON = {"label": "epsilon", "low": 0.05, "high": 10.0, "log": True}


def front_of(values: Any, axis: dict[str, Any]) -> list[list[float]]:
    """The front of (n, 2) by rising epsilon, within the axis; what lies before it begins at its low end."""
    values = np.array(values, float)
    values = values[values[:, 0] <= axis["high"]]
    front = values[nondominated(values)]
    front = front[np.argsort(front[:, 0])]
    before, inside = front[front[:, 0] < axis["low"]][-1:], front[front[:, 0] >= axis["low"]]
    return [[max(float(e), axis["low"]), float(f)] for e, f in np.concatenate([before, inside])]


def front(name: str, values: Any, axis: dict[str, Any], ink: int, **more: Any) -> Series:
    return {"name": name, "style": "steps", "points": front_of(values, axis), "ink": ink, **more}


def between(name: str, best: Any, worst: Any, axis: dict[str, Any], ink: int) -> Series:
    """From the front of the best to that of the worst."""
    edges = {"points": front_of(best, axis), "upper": front_of(worst, axis)}
    return {"name": name, "style": "step band", **edges, "ink": ink}


def cloud(name: str, values: Any, axes: tuple[dict[str, Any], dict[str, Any]], ink: int, **more: Any) -> Series:
    """The points that lie within the axes."""
    values = np.array(values, float)
    low, high = ([axis[end] for axis in axes] for end in ("low", "high"))
    inside = ((values >= low) & (values <= high)).all(axis=1)
    return {"name": name, "style": "dots", "points": values[inside], "ink": ink, **more}


def grown(values: Sequence[Sequence[float]], reference: tuple[float, float]) -> np.ndarray:
    """Hypervolume after each point."""
    return np.array([hypervolume([v[:2] for v in values[: k + 1]], reference) for k in range(len(values))])


def line(name: str, along: Any, ink: int, **more: Any) -> Series:
    """Values after 1, 2, 3, ... evaluations."""
    return {"name": name, "style": "line", "points": _counted(along), "ink": ink, **more}


def band(name: str, curves: Any, ink: int) -> Series:
    """From the least to the most of several curves, (seeds, evaluations)."""
    edges = {"points": _counted(np.min(curves, axis=0)), "upper": _counted(np.max(curves, axis=0))}
    return {"name": name, "style": "band", **edges, "ink": ink}


def _counted(along: Any) -> list[list[float]]:
    return [[k, float(v)] for k, v in enumerate(along, 1)]
