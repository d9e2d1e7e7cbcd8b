"""What exactness costs: draws by the exact sampler, as releases use them, against NumPy's generator.

All through the same mechanism, which differs only in where its noise comes from; the debit of a ledger is not in it.
Draws are timed in processor time of the thread, in turns: on a busy machine the wall clock measures the others. The
ratio for an array is the median of those of the turns, with the quartiles.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Figure
from tacit.errors import MissingExtra
from tacit.integrations.opendp import OpenDPNoise
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import Exponential, Gaussian, Laplace, Mechanism
from tacit.privacy.noise import EXACT, Simulation

TITLE = "Exact draws against NumPy's"
LONG = False

AT_LEAST = 0.05  # seconds per measurement
ARRAYS = (10_000, 200_000, 1_000_000)
TURNS = 7  # for each repeat
TABLES, COLUMNS = (50_000, 1_000_000), 10


def cases() -> dict[str, tuple[Callable[..., Mechanism[Any]], Any]]:
    """Each kind of draw: the mechanism, given where noise comes from, and the value it draws around."""
    rng = np.random.default_rng(0)
    kinds: dict[str, tuple[Callable[..., Mechanism[Any]], Any]] = {
        "Gaussian, one number": (lambda noise: Gaussian(1.0, scale=1.0, noise=noise), np.array(0.5)),
        "Gaussian, 33 numbers": (lambda noise: Gaussian(1.0, scale=1.0, size=33, noise=noise), rng.random(33)),
        "mean of bounded losses, noise on the whole number": (
            lambda noise: BoundedMean(8000, (0.0, 1.0), scale=0.004, noise=noise),
            4000 << 32,
        ),
        "Laplace, one number": (lambda noise: Laplace(1.0, scale=1.0, noise=noise), np.array(0.5)),
    }
    for n in (100, 10_000, 1_000_000):
        name = f"exponential mechanism, {n:,} candidates"
        kinds[name] = (lambda noise: Exponential(1.0, scale=1.0, noise=noise), rng.random(n))
    return kinds


def per_draw(mechanism: Mechanism[Any], value: Any, times: int) -> float:
    start = time.thread_time()
    for _ in range(times):
        mechanism.draw(value)
    return (time.thread_time() - start) / times


def run(repeats: int) -> list[Figure]:
    figures = []
    for name, (make, value) in cases().items():
        both = {"exact": make(EXACT), "numpy": make(Simulation(0))}
        times = {key: max(1, int(AT_LEAST / per_draw(m, value, 3))) for key, m in both.items()}  # also the warm-up
        taken: dict[str, list[float]] = {"exact": [], "numpy": []}
        for _ in range(max(1, repeats)):  # in turns
            for key, mechanism in both.items():
                taken[key].append(per_draw(mechanism, value, times[key]))
        ours, peer = ((statistics.median(s), min(s), max(s)) for s in taken.values())
        note = f"exact {1e6 * ours[0]:,.3g} us, NumPy {1e6 * peer[0]:,.3g} us, medians"
        one = "candidates" not in name and "33" not in name
        goals: list[Any] = [{"goal": g, "better": "less"} if one else {} for g in (10.0, 15.0)]
        spread = ours[1] / peer[2], ours[2] / peer[1]
        figures += [
            Figure(name, ours[0] / peer[0], "x slower", *spread, "a NumPy draw", note, **goals[0]),
            Figure(f"{name}, time", 1e6 * ours[0], "us", 1e6 * ours[1], 1e6 * ours[2], **goals[1]),
        ]
    return figures + arrays(repeats) + published()


def arrays(repeats: int) -> list[Figure]:
    """Noise on a whole array, per number: on values, as the public mechanisms draw it, and on whole numbers."""
    generator = np.random.default_rng(0)
    figures = []
    for n in ARRAYS:
        values, whole = np.zeros(n), np.zeros(n, np.int64)
        gaussian, laplace = (kind(1.0, scale=1.0, size=n) for kind in (Gaussian, Laplace))
        normal, two_sided = (
            lambda draw=draw, v=values: v + draw(0.0, 1.0, v.size) for draw in (generator.normal, generator.laplace)
        )
        ways: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "Gaussian, values": (lambda m=gaussian, v=values: m.draw(v), normal),
            "Gaussian, whole numbers of scale 2^40": (
                lambda v=whole: EXACT.gaussian_whole_array(v, 2.0**40),
                normal,
            ),
            "Laplace, values": (lambda m=laplace, v=values: m.draw(v), two_sided),
        }
        for name, (ours, numpys) in ways.items():
            figures.append(_in_turns(f"{n:,} numbers: {name}", n, ours, numpys, TURNS * repeats, 5.0))
    return figures + opendp_array()


def opendp_array() -> list[Figure]:
    """A third party's sampler on an array, for comparison."""
    n, generator = 1000, np.random.default_rng(0)
    try:
        theirs = Gaussian(1.0, scale=1.0, size=n, noise=OpenDPNoise())
        theirs.draw(np.zeros(n))
    except MissingExtra:
        return []
    values = np.zeros(n)
    return [
        _in_turns(
            f"OpenDP, {n:,} numbers: Gaussian, values",
            n,
            lambda: theirs.draw(values),
            lambda: values + generator.normal(0.0, 1.0, n),
            3,
            None,
        )
    ]


def _in_turns(
    name: str, n: int, ours: Callable[[], Any], numpys: Callable[[], Any], turns: int, goal: float | None
) -> Figure:
    ours(), numpys()
    times = []
    for _ in range(turns):
        start = time.thread_time()
        ours()
        middle = time.thread_time()
        numpys()
        times.append((middle - start, time.thread_time() - middle))
    ratios = sorted(a / b for a, b in times)
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    each = [1e9 * statistics.median(t) / n for t in zip(*times, strict=True)]
    note = f"{each[0]:.3g} ns of the processor a number, NumPy {each[1]:.3g} ns, medians of {turns} turns"
    more = {"goal": goal, "better": "less"} if goal else {}
    return Figure(name, statistics.median(ratios), "x slower", low, high, "a NumPy draw", note, **more)


PUBLISH = """
import sys, threading, time, numpy as np
from tacit.outsource.curator import Curator
from tacit.privacy.noise import EXACT, load_samplers
load_samplers(), EXACT.gaussian(np.zeros(10), 1.0)  # whatever the table
def anonymous():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon")) / 1024
peak = [0.0]
def watch():
    while True:
        peak[0] = max(peak[0], anonymous()); time.sleep(0.02)
threading.Thread(target=watch, daemon=True).start()
folder = sys.argv[1]
rows = np.load(folder + "/rows.npy", mmap_mode="r")
before, start, spent = anonymous(), time.perf_counter(), time.process_time()
with Curator(rows, np.zeros(len(rows)), epsilon=3.0, delta=1e-7, state=folder + "/state") as curator:
    print(time.perf_counter() - start, time.process_time() - spent, peak[0] - before)
"""


def published() -> list[Figure]:
    """A noisy table published by a curator, in a process of its own that watches its memory; rows are a mapped file."""
    figures, memory = [], []
    for n in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            rows = np.lib.format.open_memmap(Path(folder) / "rows.npy", "w+", dtype=np.float64, shape=(n, COLUMNS))
            rng = np.random.default_rng(0)
            for part in np.array_split(rows, 10):
                part[:] = rng.normal(size=part.shape)
            rows.flush()
            done = subprocess.run([sys.executable, "-c", PUBLISH, folder], capture_output=True, text=True, check=True)
        wall, spent, taken = map(float, done.stdout.split())
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        note = f"{load}; compressed and committed to SQLite as it is drawn"
        goal = {"against": "goal 15", "goal": 15.0, "better": "less"} if n == TABLES[-1] else {}
        figures.append(Figure(f"publishing {n:,} x {COLUMNS}", wall, "s", note=note, **goal))
        figures.append(Figure(f"publishing {n:,} x {COLUMNS}, processor time", spent, "s", note="no wait is in it"))
        memory.append(taken)
    name = f"memory that publishing {TABLES[-1]:,} x {COLUMNS} took, over that of {TABLES[0]:,} x {COLUMNS}"
    note = f"{memory[-1]:.0f} MB against {memory[0]:.0f} MB"
    figures.append(Figure(name, memory[-1] / memory[0], "x", against="goal 1.5", note=note, goal=1.5, better="less"))
    return figures
