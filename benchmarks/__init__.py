"""How we know where we stand.

Each module of papers/, speed/, scale/ and faults/ measures one thing and offers

    TITLE: str                      a line for the results page
    LONG: bool                      True: `make bench` takes it only while there is time left
    def run(repeats: int) -> list[Figure]

and may offer

    REPEATS: int                    how often, unless asked otherwise; else as often as the kept result, else 5
    THREADS: tuple[int, ...]        run under each of these limits on linear algebra, such as (1, 2); else (1,)

    papers/    what papers and methods claim, measured      speed/    ratios to peers      scale/    cost against size
    faults/    what holds when things break
    harness/   the runner, the pages and their pictures     results/  the kept JSON
    _*.py      what several benchmarks share; the runner finds all others by their names

Peers run in the same process or the same minute. A benchmark that lacks a peer, data or a server raises Missing with
the reason: it is skipped, and shown as missing. A figure that was not measured is absent, never copied.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BOTORCH_SETTING = {"restarts": 4, "raw": 128, "draws": 64}
"""Of BoTorch's searches for fronts wherever they stand, timed or judged; its tutorial has 10, 512 and 128."""


class Missing(Exception):
    """Something this machine does not have: a peer, data, a server. The message says what, and how to get it."""


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
    paper: float | None = None  # the paper's figure, in the same unit
    peer: float | None = None  # the peer's figure: in the same unit, or of a ratio, in seconds
    ours: float | None = None  # of a ratio: our side of it, in seconds
    goal: float | None = None
    better: str = ""  # "more" or "less": which side of the goal meets it; else told by the unit


def threads() -> int:
    """How many threads linear algebra may use in this run. The runner has set it; torch is to be told apart."""
    return int(os.environ.get("TACIT_THREADS", "1"))


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, float, float]:
    """Median, least and most seconds of ``repeats`` calls, after one call to warm up."""
    work()
    seconds = []
    for _ in range(max(1, repeats)):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), min(seconds), max(seconds)


def in_turns(
    works: Mapping[str, Callable[[int], Any]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of several works, each called with the number of the turn; in every turn one after the other.

    What else the machine does meanwhile then meets all of them alike. The order is turned round every other time.
    ``time.process_time`` counts this process alone, and so says nearly the same on a busy machine.
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(max(1, repeats)):
        for name in works if turn % 2 == 0 else reversed(works):
            start = clock()
            works[name](turn)
            taken[name].append(clock() - start)
    return taken


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median, and the two values between which that of all such values lies with 95%, whatever their law.

    The k-th least and the k-th largest of n, with k the largest of which P(Binomial(n, 1/2) < k) <= 0.025. For fewer
    than six values there is none such: then the least and the most.

    >>> median_interval(range(1, 12))
    (6, 2, 10)
    """
    n, order = len(values), sorted(values)
    k = 0
    while sum(math.comb(n, i) for i in range(k + 1)) / 2**n <= 0.025:
        k += 1
    k = max(k, 1)
    return statistics.median(order), order[k - 1], order[n - k]


def ratio_in_turns(name: str, ours: Sequence[float], peer: Sequence[float], against: str) -> Figure:
    """How many times faster we are than a peer that took turns with us: the median of the turns' ratios."""
    middle, low, high = median_interval([p / o for o, p in zip(ours, peer, strict=True)])
    seconds = {"peer": statistics.median(peer), "ours": statistics.median(ours)}
    return Figure(name, middle, "x faster", low, high, against, **seconds)


def ratio(name: str, ours: tuple[float, float, float], peer: tuple[float, float, float], against: str) -> Figure:
    """How many times faster we are than a peer measured in the same run: ratio of medians, with its extremes."""
    ends = peer[1] / ours[2], peer[2] / ours[1]
    return Figure(name, peer[0] / ours[0], "x faster", *ends, against, peer=peer[0], ours=ours[0])


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float, float]:
    """The power with which a cost grows: least squares of log cost over log size, with its 95% interval.

    Student's t with as many degrees of freedom as points beyond two; without any, the interval is the slope itself.
    """
    from scipy.special import stdtrit

    x, y = [math.log(s) for s in sizes], [math.log(t) for t in seconds]
    mx, my, free = statistics.fmean(x), statistics.fmean(y), len(x) - 2
    spread = sum((a - mx) ** 2 for a in x)
    power = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / spread
    if free < 1:
        return power, power, power
    left = sum((b - my - power * (a - mx)) ** 2 for a, b in zip(x, y, strict=True))
    half = float(stdtrit(free, 0.975)) * math.sqrt(left / free / spread)
    return power, power - half, power + half
