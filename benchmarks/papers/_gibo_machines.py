"""Section 4.4 of Sopa et al. (2025), support vector regression with 33 parameters; the group lasso of its scripts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Figure
from benchmarks.papers._gibo_held_out import group_lasso
from benchmarks.papers._gibo_lengths import (
    OBSERVED,
    OURS,
    PRIVATE,
    RANDOM,
    SELECTED,
    SILENT,
    observed,
    private_best,
    selected,
)
from benchmarks.papers._gibo_paper import PLOTS, descend, draw_steps, gathered, held, keep
from benchmarks.papers._gibo_problems import Silent
from tacit.gp.design import best_radius
from tacit.gp.kernels import RBF
from tacit.privacy.noise import Simulation

Losses = Callable[[np.ndarray], np.ndarray]
PAPER = "DP-GIBO"
# the ranges of the authors' scripts; the text has those of C and gamma the other way round
LOW = [-2.0] * 30 + list(np.log([0.01, 0.01, 0.1]))
HIGH = [2.0] * 30 + list(np.log([1.0, 5.0, 3.0]))


def regression_machine(X: np.ndarray, y: np.ndarray, train: int) -> Losses:
    """Squared validation errors for 30 log length-scales and the logs of epsilon, C and gamma."""
    from sklearn.svm import SVR

    X, y = (X - X[:train].mean(axis=0)) / X[:train].std(axis=0), (y - y[:train].mean()) / y[:train].std()

    def losses(x: np.ndarray) -> np.ndarray:
        epsilon, C, gamma = np.exp(x[30:])
        S = X / np.exp(x[:30])
        size = (S * S).sum(axis=1)
        K = np.exp(-gamma * np.maximum(size[:, None] + size[:train] - 2 * S @ S[:train].T, 0))
        model = SVR(kernel="precomputed", epsilon=epsilon, C=C).fit(K[:train], y[:train])
        predicted = K[train:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
        return np.asarray((predicted - y[train:]) ** 2)

    return losses


def slices(folder: Path, seed: int) -> tuple[Losses, int]:
    """The rows of CT slice that are to be had: 282 train, 400 validate."""
    z, rng = np.load(folder / "ct_slice_partial.npz"), np.random.default_rng((seed, 9))
    X, y = z["X_first682"].astype(float), z["reference_all"][:682]
    rows, train = rng.permutation(682), 282
    live = np.flatnonzero(X[rows[:train]].std(axis=0) > 0.05)
    return regression_machine(X[rows][:, rng.choice(live, 30, replace=False)], y[rows], train), 400


def blogs(folder: Path, seed: int) -> tuple[Losses, int]:
    """UCI BlogFeedback in place of CT slice: 300 train, 1,000 validate."""
    z, rng, train, n = np.load(folder / "blogfeedback.npz"), np.random.default_rng((seed, 9)), 300, 1000
    rows = rng.choice(len(z["y_train"]), train + n, replace=False)
    live = np.flatnonzero(z["X_train"][rows[:train]].std(axis=0) > 0)
    X = z["X_train"][rows][:, rng.choice(live, 30, replace=False)].astype(float)
    return regression_machine(X, np.log1p(z["y_train"][rows]), train), n


def compare(
    losses: Losses,
    low: Any,
    high: Any,
    *,
    records: int,
    mu: float,
    T: int,
    seed: int,
    clip: float,
    bounds: tuple[float, float],
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """The authors' scripts from a uniform start, with noise and without; random search, private and not; our defaults.

    Everything but the last has T (d + 1) evaluations, or 40 for private observations.
    """
    ends, traces = dict[str, float](), dict[str, list[float]]()
    rng, low, high = np.random.default_rng((seed, 12)), np.asarray(low, float), np.asarray(high, float)
    d, unit = len(low), float(1 / (high - low)[0])
    radius = unit * best_radius("simplex", RBF((1.0,) * d), 5e-6)
    options = {"clip": clip / unit, "design": "simplex", "lengthscale": unit, "radius": radius, "rate": unit}
    options["start"] = {f"x{j}": float(v) for j, v in enumerate(rng.uniform(low, high))}
    tried = [losses(rng.uniform(low, high)) for _ in range((d + 1) * T)]
    means = [float(found.mean()) for found in tried]
    keep(ends, traces, RANDOM, np.minimum.accumulate(means))
    ends[PRIVATE], ends[SELECTED] = (
        means[private_best(tried, seed, mu, bounds)],
        means[selected(tried, seed, mu, bounds)],
    )
    ends[OBSERVED] = observed(losses, low, high, records, seed, mu, bounds)
    for name, noise in ((PAPER, Simulation(seed)), (SILENT, Silent())):
        path, _ = descend(losses, low, high, records, mu, T, noise, options, bounds)
        keep(ends, traces, name, [float(losses(x).mean()) for x in path])
    simplex = {"design": "simplex", "average": 0.5}
    steps = max(1, T - round(64 / (d + 1)))  # the places of the first draw count too
    _, made = descend(losses, low, high, records, mu, steps, Simulation(seed), simplex, bounds)
    ends[OURS] = float(losses(np.array(list(made.params.values()))).mean())
    return ends, traces


def tell(where: str, ends: dict[str, list[float]], said: str, claimed: bool = True) -> list[Figure]:
    """A row for each method, and the claims; what is not in the text of the paper is none of its claims."""
    means, repeats = {k.replace(", mu = 1", ""): float(np.mean(v)) for k, v in ends.items()}, len(ends[PAPER])
    figures = [
        Figure(f"{where} loss, {k.replace(', mu = 1', '')}", float(np.mean(v)), "", min(v), max(v), "", said)
        for k, v in ends.items()
    ]
    rivals = [float(np.mean(ends[k])) for k in (PRIVATE, SELECTED, OBSERVED)]
    random, paper, silent, ours = (float(np.mean(ends[k])) for k in (RANDOM, PAPER, SILENT, OURS))
    wins = sum(x < y for x, y in zip(ends[PAPER], ends[RANDOM], strict=True))
    both = ", ".join(f"{k} {v:.3g}" for k, v in means.items() if k not in (PAPER, SILENT, "our defaults"))
    return [
        *figures,
        Figure(
            f"{where} private gap",
            paper - silent,
            "loss",
            against=both,
            note=held(
                "both beat random search, and the private one is at most a little worse",
                max(paper, silent) < random and paper - silent < (random - silent) / 2,
                f"better than random search in {wins} of {repeats}; {said}",
            )
            if claimed
            else f"published settings better than random search in {wins} of {repeats}; {said}",
        ),
        Figure(
            f"{where} our defaults, with simplices",
            ours,
            "loss",
            against=both,
            note=held(
                "beats private random search, by selection too, and private observations at equal guarantee",
                ours < min(rivals),
                said,
            ),
        ),
    ]


def machines(repeats: int) -> list[Figure]:
    """4.4: d = 33, b = 34, T = 10, B = 0.5 as in the scripts; n mu as near to the paper's 5,000 as the data allow."""
    home = os.environ.get("TACIT_DATA")
    cases = {
        "4.4 CT slice:": (slices, "ct_slice_partial.npz", 4.5, "682 rows of CT slice of two patients, n mu = 1,800"),
        "4.4 stand-in:": (blogs, "blogfeedback.npz", 5.0, "UCI BlogFeedback, not CT slice, n mu = 5,000"),
    }
    figures = []
    for where, (load, file, mu, about) in cases.items():
        if not home or not (Path(home) / file).exists():
            continue

        def once(seed: int) -> tuple[dict[str, float], dict[str, list[float]]]:
            losses, records = load(Path(home), seed)  # noqa: B023
            return compare(losses, LOW, HIGH, records=records, mu=mu, T=10, seed=seed, clip=0.5, bounds=(0.0, 4.0))  # noqa: B023

        ends, traces = gathered(repeats, where, once)
        lines = {k: np.mean(v, axis=0) for k, v in traces.items() if k != RANDOM}
        name = "4.4-svm.svg" if "CT" in where else "4.4-stand-in.svg"
        draw_steps(PLOTS / name, f"{where} validation loss", lines, x="step", y="loss")
        figures += tell(where, ends, f"{about}, T = 10, {repeats} repeats (paper: 5)")
        above = np.mean(traces[PAPER], axis=0)[1:] > np.mean(traces[SILENT], axis=0)[1:]
        claim = held("the private gap is constantly larger", bool(above.all()), f"mean losses of {repeats} repeats")
        name = f"{where} steps at which the loss with noise is above that without"
        figures.append(Figure(name, float(above.mean()), "of steps", against="as Figure 3 has it: 1", note=claim))
    return figures


def penalties(repeats: int) -> list[Figure]:
    """The group lasso of the scripts: 50 rows train, 150 validate, T = 20, mu = 1, B = 0.05, log lambda from -13.8."""
    figures = []
    for d in (2, 5, 10, 20):

        def once(seed: int) -> tuple[dict[str, float], dict[str, list[float]]]:
            inner = group_lasso(seed + 100, d)  # noqa: B023

            def losses(x: np.ndarray) -> np.ndarray:
                return inner(1 + x / 13.8)

            low, high = [-13.8] * d, [0.0] * d  # noqa: B023
            return compare(losses, low, high, records=150, mu=1.0, T=20, seed=seed, clip=0.05, bounds=(0.0, 1.0))

        ends, _ = gathered(repeats, f"group lasso, d = {d}", once)
        figures += tell(
            f"group lasso, d = {d}:", ends, f"n = 150, mu = 1, uniform start, {repeats} repeats", claimed=False
        )
    return figures
