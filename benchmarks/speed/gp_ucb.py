"""GP-UCB over a finite set of candidates: appending a point against refitting, the same choices by all.

beta_t = 2 log(n t^2 pi^2 / (3 delta)), choose argmax mean + sqrt(beta_t) sd, observe with noise, repeat (Kusner2015).
"""

from __future__ import annotations

import importlib.util
import math
import statistics
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks import Figure, ratio, slope, threads, timed
from tacit.gp.exact import GaussianProcess
from tacit.gp.kernels import RBF

TITLE = "GP-UCB over 10,000 candidates in 2-D, 50 steps, fixed hyper-parameters"
LONG = False
THREADS = (1, 2)

CANDIDATES, STEPS, LENGTH, NOISE, DELTA = 10_000, 50, 0.15, 1e-2, 0.1
Loop = Callable[[np.ndarray, np.ndarray, int], list[int]]


def problem(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Candidates in the unit square, and what each would answer: a smooth function plus noise, drawn once."""
    rng = np.random.default_rng(seed)
    C = rng.random((n, 2))
    f = np.sin(7 * C[:, 0]) * np.cos(5 * C[:, 1]) + np.exp(-30 * ((C - 0.7) ** 2).sum(axis=1))
    return C, f + math.sqrt(NOISE) * rng.normal(size=n)


def beta(n: int, t: int) -> float:
    return 2 * math.log(n * t**2 * math.pi**2 / (3 * DELTA))


def appending(C: np.ndarray, y: np.ndarray, steps: int) -> list[int]:
    """tacit: one row of solves for each new point."""
    gp = GaussianProcess(RBF((LENGTH, LENGTH)), noise=NOISE, candidates=C, capacity=steps)
    score, chosen = np.empty(len(C)), []
    for t in range(1, steps + 1):
        np.sqrt(gp.variance, out=score)
        score *= math.sqrt(beta(len(C), t))
        score += gp.mean
        i = int(score.argmax())
        chosen.append(i)
        gp.append_candidate(i, y[i])
    return chosen


def refitting(predict: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]) -> Loop:
    """A loop that hands all points to ``predict(X, y, C) -> mean, sd`` at every step."""

    def loop(C: np.ndarray, y: np.ndarray, steps: int) -> list[int]:
        mean, sd = np.zeros(len(C)), np.ones(len(C))
        chosen: list[int] = []
        for t in range(1, steps + 1):
            chosen.append(int(np.argmax(mean + math.sqrt(beta(len(C), t)) * sd)))
            mean, sd = predict(C[chosen], y[chosen], C)
        return chosen

    return loop


def by_numpy(X: np.ndarray, y: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The textbook posterior as one would write it in NumPy, which has no triangular solve."""

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2) / LENGTH**2)

    L = np.linalg.cholesky(kernel(X, X) + NOISE * np.eye(len(X)))
    cross = kernel(X, C)
    V = np.linalg.solve(L, cross)
    return V.T @ np.linalg.solve(L, y), np.sqrt(np.maximum(1.0 - (V**2).sum(axis=0), 0.0))


def by_sklearn(X: np.ndarray, y: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels

    model = GaussianProcessRegressor(kernels.RBF(LENGTH), alpha=NOISE, optimizer=None).fit(X, y)
    mean, sd = model.predict(C, return_std=True)
    return mean, sd


def by_botorch(X: np.ndarray, y: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """SingleTaskGP with the same kernel and noise; candidates as a batch of single points, much its fastest way."""
    import gpytorch
    import torch
    from botorch.models import SingleTaskGP

    kernel = gpytorch.kernels.RBFKernel().to(torch.float64)
    kernel.lengthscale = LENGTH
    model = SingleTaskGP(
        torch.from_numpy(X),
        torch.from_numpy(y)[:, None],
        train_Yvar=torch.full((len(y), 1), NOISE, dtype=torch.float64),
        covar_module=kernel,
        mean_module=gpytorch.means.ZeroMean(),
        outcome_transform=None,
    )
    with torch.no_grad():
        posterior = model.posterior(torch.from_numpy(C)[:, None, :])
        return posterior.mean[:, 0, 0].numpy(), posterior.variance[:, 0, 0].clamp_min(0).sqrt().numpy()


def run(repeats: int) -> list[Figure]:
    return _peers(repeats) + (_growth(repeats) if threads() == 1 else [])


def _peers(repeats: int) -> list[Figure]:
    C, y = problem(CANDIDATES)
    loops = {"NumPy refit": (refitting(by_numpy), "goal 25")}
    if importlib.util.find_spec("sklearn"):
        loops["scikit-learn, refit and predict"] = (refitting(by_sklearn), "goal 10")
    if importlib.util.find_spec("botorch"):
        import torch

        torch.set_num_threads(threads())
        loops["BoTorch, batched"] = (refitting(by_botorch), "goal 40")
    choices = appending(C, y, STEPS)
    for name, (loop, _) in loops.items():  # also the warm-up
        same = sum(a == b for a, b in zip(choices, loop(C, y, STEPS), strict=True))
        if same != STEPS:
            raise AssertionError(f"{name} makes {same} of {STEPS} choices as we do: not the same work")
    # In turns, so that a busy machine slows all of them alike.
    everyone = {"appending": appending} | {name: loop for name, (loop, _) in loops.items()}
    seconds: dict[str, list[float]] = {name: [] for name in everyone}
    for _ in range(repeats):
        for name, loop in everyone.items():
            seconds[name].append(timed(lambda loop=loop: loop(C, y, STEPS), 1)[0])
    spread = {name: (statistics.median(s), min(s), max(s)) for name, s in seconds.items()}
    ours = spread["appending"]
    figures = [Figure("appending, 50 steps", 1e3 * ours[0], "ms", 1e3 * ours[1], 1e3 * ours[2])]
    for name, (_, goal) in loops.items():
        figure = ratio(f"appending against {name}", ours, spread[name], goal)
        least = spread[name][1] / ours[1]
        note = f"least over least {least:.0f}x; {1e3 * spread[name][0]:.0f} ms; all {STEPS} choices the same"
        figures.append(replace(figure, note=note))
    return figures


def _growth(repeats: int) -> list[Figure]:
    """How the time grows: slope of log time over log size, least times."""

    def least(n: int, steps: int) -> float:
        C, y = problem(n)
        return timed(lambda: appending(C, y, steps), min(repeats, 3))[1]

    sizes, lengths = (10_000, 30_000, 100_000), (50, 150, 500)
    by_size, by_length = [least(n, STEPS) for n in sizes], [least(CANDIDATES, t) for t in lengths]
    return [
        Figure("growth with candidates, 10,000 to 100,000", *_power(sizes, by_size),
               against="1 is linear", note=f"100,000 candidates, 50 steps: {by_size[-1]:.3g} s"),
        Figure("growth with steps, 50 to 500", *_power(lengths, by_length),
               against="2 is one product with all earlier rows for each step; refitting is 3",
               note=f"10,000 candidates, 500 steps: {by_length[-1]:.3g} s"),
    ]  # fmt: skip


def _power(sizes: tuple[int, ...], seconds: list[float]) -> tuple[float, str, float, float]:
    middle, low, high = slope(sizes, seconds)
    return middle, "log-log slope", low, high
