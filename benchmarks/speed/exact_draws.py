"""What exactness costs: one draw from OpenDP's samplers, as releases use them, against one from NumPy's generator.

Both through the same mechanism, which differs only in where its noise comes from; the debit of a ledger is not in it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import Figure
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import Exponential, Gaussian, Laplace, Mechanism
from tacit.privacy.noise import EXACT, Simulation

TITLE = "One exact draw against a NumPy draw"
LONG = False

AT_LEAST = 0.05  # seconds per measurement


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
    start = time.perf_counter()
    for _ in range(times):
        mechanism.draw(value)
    return (time.perf_counter() - start) / times


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
        figures += [
            Figure(name, ours[0] / peer[0], "x slower", ours[1] / peer[2], ours[2] / peer[1], "a NumPy draw", note),
            Figure(f"{name}, time", 1e6 * ours[0], "us", 1e6 * ours[1], 1e6 * ours[2]),
        ]
    return figures
