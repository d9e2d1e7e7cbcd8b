"""Sections 4.3 and C.5 of Sopa et al. (2025): length-scales of a Gaussian-process regression in ten dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import Figure
from benchmarks._gibo_paper import PLOTS, descend, held, keep
from benchmarks._gibo_problems import Silent
from benchmarks._lines import chart
from tacit.gp.exact import GaussianProcess
from tacit.gp.fit import fit
from tacit.gp.kernels import Matern52
from tacit.privacy.noise import Simulation


def regression(seed: int, inputs: str, train: int = 100, n: int = 4500) -> Callable[[np.ndarray], np.ndarray]:
    """4.3: squared validation errors of a Gaussian process with these length-scales, data from one with true ones.

    The paper does not say how its inputs were drawn. Standard normal inputs were tried first, and the claim did not
    hold: about half the draws cannot be learned from 100 rows, and then there is little to tune. Uniform in the unit
    cube most can, and it held. Both are reported.
    """
    rng, d = np.random.default_rng((seed, 5)), 10
    true = 5 * rng.random(d)
    X = rng.normal(size=(train + n, d)) if inputs == "normal" else rng.random((train + n, d))
    waves = rng.normal(size=(d, 1000)) / np.maximum(true, 0.05)[:, None]
    y = np.sqrt(2 / 1000) * np.cos(X @ waves + rng.uniform(0, 2 * np.pi, 1000)) @ rng.normal(size=1000)

    def losses(x: np.ndarray) -> np.ndarray:
        S = (X / np.maximum(x, 0.05)).astype(np.float32)
        A, B = S[:train], S[train:]
        a = (A * A).sum(axis=1)
        K = np.exp(-0.5 * np.maximum(a[:, None] + a - 2 * A @ A.T, 0)).astype(float) + 1e-3 * np.eye(train)
        k = np.exp(-0.5 * np.maximum((B * B).sum(axis=1)[:, None] + a - 2 * B @ A.T, 0))
        return (y[train:] - k @ np.linalg.solve(K, y[:train])) ** 2

    return losses


def lengthscales(repeats: int) -> list[Figure]:
    """4.3 and C.5: length-scales in [0, 5]^10, n = 4500, b = 11, T = 25, B = 1, AdaGrad; 265 evaluations each."""
    d, T, box = 10, 25, ([0.0] * 10, [5.0] * 10)
    ends: dict[str, list[float]] = {}
    traces: dict[str, list[Any]] = {}
    for seed in range(repeats):
        f, rng = regression(seed, "uniform"), np.random.default_rng((seed, 6))
        start = {f"x{j}": v for j, v in enumerate(5 * rng.random(d))}
        paper = {"clip": 5.0, "design": "simplex", "radius": 0.02, "rate": 0.2, "start": start}
        tried = [float(f(5 * rng.random(d)).mean()) for _ in range(265)]
        keep(ends, traces, "random search", np.minimum.accumulate(tried))
        keep(ends, traces, "GP-UCB", np.minimum.accumulate(upper_confidence(f, rng)))
        for mu in (0.1, 0.3, 1.0, np.inf):
            noise = Silent() if mu == np.inf else Simulation(seed)
            path, _ = descend(f, *box, 4500, min(mu, 1.0), T, noise, paper)
            name = "GIBO without noise" if mu == np.inf else f"DP-GIBO, mu = {mu:g}"
            keep(ends, traces, name, [float(f(x).mean()) for x in path])
        path, made = descend(f, *box, 4500, 1.0, 13, Simulation(seed), {"clip": 1.25, "average": 0.25, "start": start})
        ends.setdefault("our defaults, 260 evaluations, mu = 1", []).append(
            float(f(np.array(list(made.params.values()))).mean())
        )
        for sigma in (0.01, 1.0, 1e-4):
            jitter = np.random.default_rng((seed, 8))
            noisy = {**paper, "radius": None, "evaluation_noise": sigma}
            path, _ = descend(
                lambda x, f=f, j=jitter: f(x) + 0.01 * j.normal(), *box, 4500, 1.0, T, Simulation(seed), noisy
            )
            keep(ends, traces, f"noise 0.01, modelled as {sigma:g}", [float(f(x).mean()) for x in path])
    means = {k: float(np.mean(v)) for k, v in ends.items()}
    for name, part in (
        ("4.3-mu", [k for k in traces if "mu" in k or "without" in k]),
        ("C.5-noise", [k for k in traces if "modelled" in k]),
    ):
        chart(
            PLOTS / f"{name}.svg",
            f"{name}: validation loss",
            {k: np.mean(traces[k], axis=0) for k in part},
            x="step",
            y="loss",
        )
    ours = "uniform inputs, 100 training rows, radius 0.1 and AdaGrad rate 1 are ours"
    after = "chosen after normal inputs, where it did not hold"
    said = f"{repeats} repeats (paper: 10); {ours}, {after}; the baselines are not private"
    ours, gap = (
        means["DP-GIBO, mu = 1"],
        [means[f"DP-GIBO, mu = {m}"] - means["GIBO without noise"] for m in ("0.1", "0.3", "1")],
    )
    negative = "; a gap below 0: too few repeats to resolve it" * (min(gap) < 0)
    low, mid, high = (means[f"noise 0.01, modelled as {s}"] for s in ("0.0001", "0.01", "1"))
    figures = [
        Figure(f"4.3 loss, {k}", v, "", float(np.min(ends[k])), float(np.max(ends[k])), "", "")
        for k, v in means.items()
    ]
    figures += [
        Figure(
            "4.3 DP-GIBO, mu = 1, 275 evaluations",
            ours,
            "loss",
            against=f"random {means['random search']:.3g}, GP-UCB {means['GP-UCB']:.3g} at 265",
            note=held("beats random search and GP-UCB", ours < min(means["random search"], means["GP-UCB"]), said),
        ),
        Figure(
            "4.3 private gap at mu = 0.1, 0.3, 1",
            gap[0],
            "loss",
            against=f"{gap[1]:.3g} at 0.3, {gap[2]:.3g} at 1",
            note=held("the private gap shrinks as mu grows", gap[0] > gap[1] > gap[2], said + negative),
        ),
        Figure(
            "C.5 loss with the noise underestimated",
            low,
            "loss",
            against=f"right {mid:.3g}, overestimated {high:.3g}, random {means['random search']:.3g}",
            note=held("underestimating the noise hurts most", low > max(mid, high), said),
        ),
    ]
    return figures


def normal_inputs(repeats: int) -> list[Figure]:
    """4.3 once more with standard normal inputs: the same claim on harder data."""
    ends: dict[str, list[float]] = {"random search": [], "GP-UCB": [], "DP-GIBO, mu = 1": []}
    for seed in range(repeats):
        f, rng = regression(seed, "normal"), np.random.default_rng((seed, 6))
        start = {f"x{j}": v for j, v in enumerate(5 * rng.random(10))}
        ends["random search"].append(min(float(f(5 * rng.random(10)).mean()) for _ in range(265)))
        ends["GP-UCB"].append(min(upper_confidence(f, rng)))
        options = {"clip": 5.0, "design": "simplex", "radius": 0.02, "rate": 0.2, "start": start}
        path, _ = descend(f, [0.0] * 10, [5.0] * 10, 4500, 1.0, 25, Simulation(seed), options)
        ends["DP-GIBO, mu = 1"].append(float(f(path[-1]).mean()))
    random, ucb, ours = (float(np.mean(v)) for v in ends.values())
    wins = sum(o < min(r, u) for r, u, o in zip(*ends.values(), strict=True))
    said = f"it was best in {wins} of {repeats} repeats; a start in a flat region does not leave it"
    yes = ours < min(random, ucb)
    against = f"random {random:.3g}, GP-UCB {ucb:.3g}"
    note = held("beats random search and GP-UCB", yes, said)
    return [Figure("4.3 with normal inputs: DP-GIBO, mu = 1", ours, "loss", against=against, note=note)]


def upper_confidence(f: Callable[..., Any], rng: np.random.Generator, trials: int = 265, d: int = 10) -> list[float]:
    """GP-UCB over 4,000 scattered candidates of [0, 5]^d; length-scales and scale by evidence every 40 evaluations."""
    C, found, chosen = rng.random((4000, d)), list[float](), list[int]()
    for t in range(trials):
        if t < 15:
            chosen.append(t)
        else:
            if (t - 15) % 40 == 0:
                best = fit(Matern52((0.5,) * d), C[chosen], np.array(found), restarts=1)
                gp = GaussianProcess(best.kernel, noise=best.noise, mean=best.mean, scale=best.scale, candidates=C)
                gp.extend(C[chosen], np.array(found))
            else:
                gp.append_candidate(chosen[-1], found[-1])
            bound = gp.mean - np.sqrt(2 * np.log(t) * gp.variance)
            bound[chosen] = np.inf
            chosen.append(int(np.argmin(bound)))
        found.append(float(f(5 * C[chosen[-1]]).mean()))
    return found
