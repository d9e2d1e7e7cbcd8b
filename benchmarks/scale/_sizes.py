"""Cost against size: one figure for each size, and the power with which it grows."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import Figure, slope

ENOUGH = 1.0  # seconds after which a size is not repeated
TAIL = 3  # the power is that of the largest sizes, where what is constant no longer matters


def grown(
    line: str,
    axis: str,
    sizes: Sequence[int],
    prepared: Callable[[int], Callable[[], Any]],
    *,
    repeats: int,
    expected: str = "",
    note: str = "",
) -> list[Figure]:
    """``prepared(size)`` makes ready and gives the work to time. Median, least and most; then the power."""
    figures, least_times = [], []
    prepared(sizes[0])()  # warm up
    for size in sizes:
        work, seconds = prepared(size), list[float]()
        while len(seconds) < max(1, repeats) and sum(seconds) < ENOUGH:
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        least = min(seconds)
        least_times.append(least)
        unit, factor = ("ms", 1e3) if least < 1 else ("s", 1.0)
        spread = (factor * v for v in (statistics.median(seconds), least, max(seconds)))
        figures.append(Figure(f"{line}, {size:,} {axis}", next(spread), unit, *spread, note=note))
    return [*figures, power(line, axis, sizes, least_times, expected)]


def power(line: str, axis: str, sizes: Sequence[int], seconds: Sequence[float], expected: str = "") -> Figure:
    tail = min(TAIL, len(sizes))
    middle, low, high = slope(sizes[-tail:], seconds[-tail:])
    said = f"over the {tail} largest sizes, least times; 95% interval of the fit"
    return Figure(f"growth with {axis}: {line}", middle, "as a power", low, high, expected, said)
