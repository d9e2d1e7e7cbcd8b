"""Time and memory of DP-GIBO: its designs against an autodiff optimiser, scaling in records and parameters, shards.

The peer minimises the same criterion as the published code does, by 1000 Adam steps per design with automatic
differentiation (torch, double precision); its figures are absent where torch is not installed. Under two threads only
what has a peer is measured again.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Figure, ratio, threads, timed
from tacit.gp.design import optimise_places, symmetric_design
from tacit.gp.gradient import NUGGET, GradientPosterior
from tacit.gp.kernels import RBF
from tacit.methods.gibo import GradientSearch, release
from tacit.methods.gibo.design import DescentSettings
from tacit.methods.task import Task
from tacit.objective import Objective
from tacit.privacy.gradient_mean import Clipped
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation
from tacit.run.shards import Shards
from tacit.space import Float, Space

TITLE = "DP-GIBO: seconds per design and step, scaling, and ten million records in shards"
LONG = True
THREADS = (1, 2)
D, LENGTH = 33, 0.5


def autodiff(theta: np.ndarray, batch: int, steps: int = 1000) -> tuple[np.ndarray, float]:
    """The straightforward way: Adam on the trace criterion through a Cholesky factor, from a random start."""
    import torch

    torch.set_num_threads(threads())
    torch.manual_seed(0)
    at = torch.tensor(theta)
    z = (at + 0.1 * torch.randn(batch, len(theta), dtype=torch.float64)).requires_grad_()
    optimiser = torch.optim.Adam([z], lr=0.01)

    def criterion() -> Any:
        K = torch.exp(-0.5 * ((z[:, None] - z[None]) ** 2).sum(-1) / LENGTH**2) + NUGGET * torch.eye(batch)
        away = (z - at) / LENGTH**2
        G = torch.exp(-0.5 * ((z - at) ** 2).sum(-1) / LENGTH**2)[:, None] * away
        W = torch.linalg.solve_triangular(torch.linalg.cholesky(K), G, upper=False)
        return len(theta) / LENGTH**2 - (W**2).sum()

    for _ in range(steps):
        optimiser.zero_grad()
        alpha = criterion()
        alpha.backward()
        optimiser.step()
    return z.detach().numpy(), float(criterion().detach())


def closeness(points: np.ndarray, theta: np.ndarray) -> float:
    """Mean relative error of gradients of random functions, drawn from the prior, found from these places."""
    rng = np.random.default_rng(1)
    waves, phase, size = rng.normal(size=(D, 400)) / LENGTH, rng.uniform(0, 2 * np.pi, 400), rng.normal(size=(400, 50))
    values = np.cos(points @ waves + phase) @ size
    true = -(np.sin(theta @ waves + phase)[:, None] * size).T @ waves.T
    known = GradientPosterior(RBF((LENGTH,) * D), noise=NUGGET)
    known.append(points)
    found = known.weights(theta) @ values
    return float(np.mean(np.linalg.norm(found.T - true, axis=1) / np.linalg.norm(true, axis=1)))


def clipped_mean(gradients: np.ndarray) -> np.ndarray:
    """What the peer does with gradients (d, n): one matrix product, without care for the rounding of sums."""
    return (gradients / np.maximum(np.linalg.norm(gradients, axis=0), 1.0)).mean(axis=1)


def designs(repeats: int) -> list[Figure]:
    theta, kernel = np.zeros(D), RBF((LENGTH,) * D)
    box, model = (np.full(D, -0.5), np.full(D, 0.5)), GradientPosterior(kernel)
    closed = timed(lambda: symmetric_design("simplex", kernel, theta, noise=NUGGET), repeats)
    search = timed(lambda: optimise_places(model, theta, D + 1, box), repeats)
    made = symmetric_design("simplex", kernel, theta, noise=NUGGET)
    figures = [
        Figure(f"closed-form simplex, d = {D}", 1e3 * closed[0], "ms", 1e3 * closed[1], 1e3 * closed[2]),
        Figure(f"L-BFGS design, {D + 1} places, d = {D}", 1e3 * search[0], "ms", 1e3 * search[1], 1e3 * search[2]),
        Figure(
            "trace of the closed-form simplex",
            made.trace,
            "",
            against=f"{optimise_places(model, theta, D + 1, box)[1]:.4g} by L-BFGS",
        ),
    ]
    if importlib.util.find_spec("torch") is not None:
        peer = timed(lambda: autodiff(theta, D + 1), min(repeats, 2))
        places, alpha = autodiff(theta, D + 1)
        against = f"1000 Adam steps with torch autodiff: {peer[0]:.2f} s per design; goal 100"
        figures += [
            ratio("closed form against autodiff, d = 33", closed, peer, against),
            ratio("L-BFGS against autodiff, d = 33", search, peer, against),
            Figure(
                "gradient error with the closed form",
                closeness(made.points, theta),
                "relative",
                against=f"autodiff {closeness(places, theta):.4g} (its trace {alpha:.4g})",
                note="random smooth functions, 50",
            ),
        ]
        matrix = np.random.default_rng(0).random((D + 1, 5000))
        sums = Clipped(made.weights, 1.0)
        ours = timed(
            lambda: (symmetric_design("simplex", kernel, theta, noise=NUGGET), sums.total(list(matrix))), repeats
        )
        plain = timed(lambda: clipped_mean(made.weights @ matrix), repeats)
        theirs = (peer[0] + plain[0], peer[1] + plain[1], peer[2] + plain[2])
        figures.append(ratio("a whole step over 5,000 records, evaluations apart", ours, theirs, against))
    return figures


def step_seconds(n: int, d: int, design: str = "cross") -> float:
    """Seconds for one step, from design to noise, of losses that cost next to nothing."""
    base = np.random.default_rng(0).random(n)
    space = Space({f"x{j}": Float(0.0, 1.0) for j in range(d)})
    asked = Objective(lambda params: base * params["x0"], n, (0.0, 1.0))
    settings = DescentSettings.of({"design": design}, (0.0, 1.0), space)
    p = GradientSearch(Task(asked, space, Budget.gdp(1.0), 2, noise=Simulation(0), accept_noise=True), settings)
    begun = time.perf_counter()
    release(p)
    return (time.perf_counter() - begun) / 2


def scaling(repeats: int) -> list[Figure]:
    figures = []
    step_seconds(1000, 3)
    by_n = {n: min(step_seconds(n, 10) for _ in range(max(1, repeats // 2))) for n in (10_000, 100_000, 1_000_000)}
    by_d = {d: min(step_seconds(20_000, d) for _ in range(max(1, repeats // 2))) for d in (5, 10, 20, 40)}
    for n, seconds in by_n.items():
        figures.append(
            Figure(f"one step, d = 10, {n:,} records", seconds, "s", note="a cross: 20 evaluations of next to no cost")
        )
    for d, seconds in by_d.items():
        figures.append(Figure(f"one step, d = {d}, 20,000 records", seconds, "s"))
    power = float(np.polyfit(np.log(list(by_n)), np.log(list(by_n.values())), 1)[0])
    figures.append(Figure("growth with records, as a power", power, "", against="1 is linear"))
    power = float(np.polyfit(np.log(list(by_d)), np.log(list(by_d.values())), 1)[0])
    figures.append(Figure("growth with parameters, as a power", power, "", against="a cross needs 2d evaluations"))
    return figures


class Made:
    """A shard whose records are made when they are needed, as if they lived elsewhere."""

    def __init__(self, seed: int, records: int, d: int) -> None:
        self.seed, self.records, self.d = seed, records, d

    def __call__(self, params: dict[str, Any]) -> np.ndarray:
        rows = np.random.default_rng(self.seed).random((self.records, self.d), dtype=np.float32)
        off = rows - np.array(list(params.values()), np.float32)
        return np.einsum("ij,ij->i", off, off)


def through_shards(parts: int, each: int = 100_000, d: int = 5) -> tuple[float, float]:
    """Seconds of one step and the peak memory of this process in MB."""
    space = Space({f"x{j}": Float(0.0, 1.0) for j in range(d)})
    asked = Objective(Shards([Made(i, each, d) for i in range(parts)]), parts * each, (0.0, 1.0))
    settings = DescentSettings.of({}, (0.0, 1.0), space)
    begun = time.perf_counter()
    release(GradientSearch(Task(asked, space, Budget.gdp(1.0), 1, noise=Simulation(0)), settings))
    seconds = time.perf_counter() - begun
    # Not ru_maxrss: a process inherits that from the one that started it.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return seconds, int(peak.split()[1]) / 1024


def shards() -> list[Figure]:
    found = {}
    for parts in (1, 10, 100):  # a process each, so that the peak is its own
        code = f"from benchmarks.speed.gibo_speed import through_shards; print(*through_shards({parts}))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        found[parts] = tuple(map(float, done.stdout.split()))
    figures = []
    for parts, (seconds, memory) in found.items():
        note = f"{parts} shards of 100,000, d = 5, one step of 10 evaluations: {seconds:.1f} s"
        figures.append(Figure(f"peak memory, {parts * 100_000:,} records", memory, "MB", note=note))
    grown = found[100][1] / found[1][1]
    return [*figures, Figure("memory at 10 million records over that at 100,000", grown, "x", against="flat is 1")]


def run(repeats: int) -> list[Figure]:
    return designs(repeats) if threads() > 1 else [*designs(repeats), *scaling(repeats), *shards()]
