"""A step of DP-SGD on 784-1000-10 for release, against the same step as a front measures it.

Both are the trainer's own. For release inputs and activations are whole multiples of 2^-8, clipped errors are cut
towards 0, matrix products in double precision add whole numbers below 2^53, which is exact in any order, and noise is
exact. As measured all of it is in single precision, with NumPy's noise. Processor time of one thread, in turns; the
ratio is the median of those of the turns, with quartiles.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import Figure
from benchmarks.papers import _dpareto
from tacit.gp.threads import one_thread
from tacit.privacy.noise import EXACT, Simulation, Source
from tacit.training.descent import add_noise
from tacit.training.linear_losses import LOSSES
from tacit.training.perceptron import PerceptronSettings, first_weights, put_out, whole_inputs, whole_sums

TITLE = "A perceptron with exact sums and exact noise, against one that is only measured"
LONG = False

LOTS = (500, 2000, 4000)
RECORDS, SIZES = 12_000, (784, 1000, 10)
CLIP, SIGMA, STEP = 1.0, 1.0, 1e-4
TURNS = 5  # for each repeat


class Steps:
    """Both steps from the same weights, and how long the noise of the last one took."""

    def __init__(self, X: np.ndarray, y: np.ndarray, lot: int) -> None:
        self.settings = PerceptronSettings(RECORDS, 1, lot, SIZES[1:-1], STEP, CLIP, SIGMA)
        self.rng, self.y, self.drawing = np.random.default_rng(0), y.astype(float), 0.0
        self.inputs = {dtype: whole_inputs(X, np.dtype(dtype)) for dtype in (np.float32, np.float64)}
        self.weights = {dtype: first_weights(SIZES, Simulation(0), np.dtype(dtype), top=True) for dtype in self.inputs}

    def sums(self, lot: np.ndarray, dtype: Any) -> np.ndarray:
        """Sums of clipped gradients, whole numbers."""
        layers = self.weights[dtype][1]
        outputs = put_out(self.inputs[dtype][lot], layers)
        residual = LOSSES["logistic"](outputs[-1] @ layers[-1] / 256, self.y[lot]).astype(dtype)
        return whole_sums(outputs, layers, residual, self.settings)

    def step(self, lot: np.ndarray, dtype: Any, noise: Source) -> None:
        total, start = self.sums(lot, dtype), time.thread_time()
        noisy = add_noise(total[None, :], self.settings.scale, noise)[0]
        self.drawing = time.thread_time() - start
        self.weights[dtype][0][:] -= noisy * (STEP * self.settings.unit)

    def fast(self, lot: np.ndarray) -> None:
        self.step(lot, np.float32, Simulation(0))

    def exact(self, lot: np.ndarray, noise: Source = EXACT) -> None:
        self.step(lot, np.float64, noise)


def run(repeats: int) -> list[Figure]:
    X, y, *_ = _dpareto.mnist(RECORDS) if _dpareto.there("mnist.npz") else _made()
    figures = []
    with one_thread():
        for m in LOTS:
            steps = Steps(X, y, m)
            lot = steps.rng.choice(RECORDS, m, replace=False)
            apart = [steps.sums(lot[[i]], np.float64).astype(np.int64) for i in range(40)]
            same = bool((steps.sums(lot[:40], np.float64) == np.sum(apart, axis=0)).all())
            times = [_turn(steps, lot) for _ in range(TURNS * repeats)]
            ratios = sorted(exact / fast for exact, fast, *_ in times)
            quartiles = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
            each = [1e3 * statistics.median(column) for column in zip(*times, strict=True)]
            note = f"{each[0]:.0f} ms, of which noise {each[2]:.0f} ms, against {each[1]:.0f} ms"
            name = f"784-1000-10, lots of {m:,}: a step with exact sums and exact noise"
            against = "the step that measures; goal 3"
            value = statistics.median(ratios)
            figures.append(Figure(name, value, "x slower", *quartiles, against, note, goal=3.0, better="less"))
            against_numpy = sorted(exact / numpys for exact, *_, numpys in times)
            ends = against_numpy[len(times) // 4], against_numpy[-1 - len(times) // 4]
            name, value = f"lots of {m:,}: a step with exact noise", statistics.median(against_numpy)
            note = f"{each[0]:.0f} ms against {each[3]:.0f} ms; all else is the same"
            against = "the same step with NumPy's noise; goal 1.5"
            figures.append(Figure(name, value, "x slower", *ends, against, note, goal=1.5, better="less"))
            figures.append(Figure(f"lots of {m:,}: sums equal those in whole numbers", float(same), "", goal=1.0))
    return figures


def _turn(steps: Steps, lot: np.ndarray) -> tuple[float, float, float, float]:
    def timed(step: Callable[..., Any], *more: Any) -> float:
        start = time.thread_time()
        step(lot, *more)
        return time.thread_time() - start

    exact, drawing = timed(steps.exact), steps.drawing
    return exact, timed(steps.fast), drawing, timed(steps.exact, Simulation(0))


def _made() -> tuple[np.ndarray, np.ndarray]:
    """As many inputs as MNIST's that are seldom filled."""
    rng = np.random.default_rng(0)
    filled = rng.random((RECORDS, SIZES[0])) < np.where(np.arange(SIZES[0]) < 343, 0.4, 0.02)
    return (rng.random((RECORDS, SIZES[0])) * filled).astype(np.float32), rng.integers(0, SIZES[2], RECORDS)
