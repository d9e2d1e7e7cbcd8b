"""What our benchmark problems say: regret against noise, read between the cells that were measured.

The table is made by python -m benchmarks plan_table; nobody types into it. Regret is a share of the spread: 0 at the
best setting, 1 at a typical one.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib import resources

from tacit.files import Json
from tacit.methods.forecast import Measured

LANDSCAPES = ("one valley", "two basins")


@lru_cache(maxsize=1)
def document() -> Json:
    """The table as it is shipped."""
    read: Json = json.loads((resources.files("tacit.planning") / "measured.json").read_text("utf-8"))
    return read


@lru_cache(maxsize=1)
def _curves() -> dict[tuple[str, str, int, int], Json]:
    return {(c["method"], c["landscape"], c["dimensions"], c["trials"]): c for c in document()["curves"]}


def regret(method: str, landscape: str, *, dimensions: int, trials: int, noise: float) -> Measured:
    """Regret at this noise: linear between measured cells, in the logarithms of dimensions, trials and noise.

    Edges. Outside the table the nearest cell answers, and ``outside`` says so. Never falls as the noise grows.

    >>> little, much = (regret("observed", "one valley", dimensions=3, trials=30, noise=x) for x in (0.01, 0.5))
    >>> little.mean < much.mean
    True
    """
    mine = [key for key in _curves() if key[:2] == (method, landscape)]
    ds, ts = sorted({key[2] for key in mine}), sorted({key[3] for key in mine})
    mean = low = high = 0.0
    for d, share in _between(ds, dimensions):
        for t, part in _between(ts, trials):
            at = _at(_curves()[method, landscape, d, t], noise)
            mean, low, high = (so + share * part * x for so, x in zip((mean, low, high), at, strict=True))
    most = _curves()[mine[0]]["noise"][-1]
    asked = (("parameters", dimensions, ds), ("trials", trials, ts))
    outside = [f"{x} {name}: measured {_span(g)}" for name, x, g in asked if not g[0] <= x <= g[-1]]
    outside += [f"noise {noise:.3g}: measured up to {most:g}"] * (noise > most)
    return Measured(mean, low, high, tuple(outside))


def _span(grid: list[int]) -> str:
    return f"at {grid[0]}" if len(grid) == 1 else f"from {grid[0]} to {grid[-1]}"


def _between(grid: list[int], value: int) -> list[tuple[int, float]]:
    """The measured neighbours of a value, with weights that add up to 1."""
    if value <= grid[0] or value >= grid[-1]:
        return [(grid[0] if value <= grid[0] else grid[-1], 1.0)]
    above = next(g for g in grid if g >= value)
    below = max(g for g in grid if g <= value)
    if above == below:
        return [(above, 1.0)]
    share = math.log(value / below) / math.log(above / below)
    return [(below, 1 - share), (above, share)]


def _at(curve: Json, noise: float) -> tuple[float, float, float]:
    """Mean, low and high of one curve. Linear up to the first noise that was measured, then in its logarithm."""
    levels, first = curve["noise"], curve["noise"][1]

    def scale(x: float) -> float:
        return math.log1p(x / first)

    if noise >= levels[-1]:
        return curve["regret"][-1], curve["low"][-1], curve["high"][-1]
    i = next(i for i, level in enumerate(levels) if level > noise)
    share = (scale(noise) - scale(levels[i - 1])) / (scale(levels[i]) - scale(levels[i - 1]))
    point = [(1 - share) * curve[k][i - 1] + share * curve[k][i] for k in ("regret", "low", "high")]
    return point[0], point[1], point[2]
