"""How we know where we stand.

Each module here measures one thing and offers

    TITLE: str                      a line for the results page
    LONG: bool                      True keeps it out of `make bench`
    def run(repeats: int) -> list[Figure]

Peers run in the same process, single-threaded unless the figure says otherwise. A figure that was not measured is
absent, never copied.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured number: what it is, its spread, and what it is held against."""

    name: str
    value: float
    unit: str = ""
    low: float | None = None
    high: float | None = None
    against: str = ""  # the peer, paper or goal, in words with its number
    note: str = ""


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, float, float]:
    """Median, least and most seconds of ``repeats`` calls, after one call to warm up."""
    work()
    seconds = []
    for _ in range(max(1, repeats)):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), min(seconds), max(seconds)


def ratio(name: str, ours: tuple[float, float, float], peer: tuple[float, float, float], against: str) -> Figure:
    """How many times faster we are than a peer measured in the same run: ratio of medians, with its extremes."""
    return Figure(name, peer[0] / ours[0], "x faster", peer[1] / ours[2], peer[2] / ours[1], against)
