"""A step of DP-SGD on 784-1000-10 as a release would need it, against the step that only measures.

The step that measures is the library's: sums in single precision, noise from a table of normal quantiles. The one for a
release is written here, to see what it would cost: inputs and activations are whole multiples of 2^-8, clipped errors
are cut towards 0 to multiples of 2^-18, and the matrix products in double precision add whole numbers below 2^53, which
is exact in any order; noise is exact. Norms come from the whole numbers, so one record moves the sum by at most
twice the clip. Processor time of one thread, in turns; the ratio is the median of those of the turns, with quartiles.
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
from tacit.training.dp_mlp import Perceptron
from tacit.training.fast_noise import FastNormals
from tacit.training.inputs import Inputs, squares

TITLE = "A perceptron with exact sums and exact noise, against one that is only measured"
LONG = False

LOTS = (500, 2000, 4000)
RECORDS, SIZES = 12_000, (784, 1000, 10)
CLIP, SIGMA, STEP = 1.0, 1.0, 1e-4
INPUT, ERROR = 8, 18  # bits after the point
TURNS = 5  # for each repeat


class Steps:
    """Both steps on the same network, and how long the noise of the last exact one took."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.rng, self.y = np.random.default_rng(0), y
        self.net = Perceptron(SIZES)
        self.net.initialise(self.rng)
        self.inputs, _ = Inputs.of(X)
        whole = np.rint(X * 2.0**INPUT).astype(np.float32)
        single: Any = Inputs.of(whole)[0]
        self.single, self.double = single, Inputs(single.full.astype(float), single.rare.astype(float), single.squares)
        self.noise = np.empty_like(self.net.theta)
        self.normals = FastNormals(self.rng, STEP * 2 * CLIP * SIGMA)
        self.total = np.empty(self.net.theta.shape)
        self.drawing = 0.0

    def fast(self, lot: np.ndarray) -> None:
        rows = np.empty((len(lot), self.inputs.full.shape[1]), np.float32)
        self.normals.fill(self.noise)
        self.noise += self.net.clipped_sums(self.inputs.lot(lot, rows), self.y[lot], CLIP, times=STEP)
        self.net.theta -= self.noise

    def sums(self, lot: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Whole inputs and errors of both layers; fills ``total`` with the sums of clipped gradients, whole numbers."""
        (first, second), m, unit = self.net.layers, len(lot), 2.0**-INPUT
        columns = self.single.full.shape[1]
        x = self.single.lot(lot, np.empty((m, columns), np.float32))
        h = x.times(first[:-1], None) * np.float32(unit) + first[-1]
        h = np.rint(np.clip(h, 0, 64) * 2.0**INPUT)
        e2 = (h @ second[:-1]) * np.float32(unit) + second[-1]
        e2 -= e2.max(axis=1, keepdims=True)
        np.exp(e2, out=e2)
        e2 /= e2.sum(axis=1, keepdims=True)
        e2[np.arange(m), self.y[lot]] -= 1
        e1 = e2 @ second[:-1].T
        e1 *= h > 0
        square = squares(e2) * (squares(h) * unit**2 + 1) + squares(e1) * (x.squares * unit**2 + 1)
        kept = np.minimum(1, (1 - 1e-5) * CLIP / np.sqrt(np.maximum(square, 1e-30)))[:, None] * 2.0**ERROR
        e1, e2 = np.trunc(e1 * kept).astype(float), np.trunc(e2 * kept).astype(float)
        doubles = self.double.lot(lot, np.empty((m, columns)))
        inner, edge = SIZES[0] * SIZES[1], (SIZES[0] + 1) * SIZES[1]
        doubles.transposed_times(e1, self.total[:inner].reshape(SIZES[0], SIZES[1]))
        self.total[inner:edge] = e1.sum(axis=0) * 2.0**INPUT
        h = h.astype(float)
        np.matmul(h.T, e2, out=self.total[edge : -SIZES[2]].reshape(SIZES[1], SIZES[2]))
        self.total[-SIZES[2] :] = e2.sum(axis=0) * 2.0**INPUT
        return doubles.full, h, e1, e2

    def exact(self, lot: np.ndarray, noise: Source = EXACT) -> None:
        self.sums(lot)
        start = time.thread_time()
        noisy = noise.gaussian_whole_array(self.total.astype(np.int64), 2 * CLIP * SIGMA * 2.0 ** (INPUT + ERROR))
        self.drawing = time.thread_time() - start
        self.net.theta -= (noisy * (STEP * 2.0 ** -(INPUT + ERROR))).astype(np.float32)


def run(repeats: int) -> list[Figure]:
    X, y, *_ = _dpareto.mnist(RECORDS) if _dpareto.there("mnist.npz") else _made()
    figures = []
    with one_thread():
        for m in LOTS:
            steps = Steps(X.astype(np.float32), y)
            lot = steps.rng.choice(RECORDS, m, replace=False)
            full, h, e1, e2 = (part.astype(np.int64) for part in steps.sums(lot))
            same = bool((steps.total[: 5 * SIZES[1]].reshape(5, -1) == full[:, :5].T @ e1).all())
            edge = (SIZES[0] + 1) * SIZES[1]
            same &= bool((steps.total[edge : -SIZES[2]].reshape(SIZES[1], -1) == h.T @ e2).all())
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
