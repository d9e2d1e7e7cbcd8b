"""Kharkovskii et al. (2020): tables 1 to 3 and the real data of figures 2b and 2c, with the noisy projection beside.

Simple regret in standard deviations of the objective. Every run draws its own function (synthetic) or first row (real
data, by the seed), and its own projection or noise. Length-scales are taken as known, as in the paper; rows are scaled
to a largest norm of 25, as in the paper, which reads the rows and is uncharged: it is a public input here. Noise is
simulated, so that runs repeat. The real data differ from the paper's: see the notes.

On real data there is one table: runs differ by their start and their noise only, and ask for much the same rows. Their
standard errors say nothing of another table, and a regret of zero there may mean that the one best row lies where
GP-UCB looks first. Two controls stand beside it: the best answer moved to a row at random, and all answers shuffled,
where no method can beat random rows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import Figure
from tacit.gp.fit import fit
from tacit.gp.kernels import RBF
from tacit.outsource.modeler import Modeler, Prior
from tacit.outsource.terms import Answer, Published
from tacit.outsource.transform import ATTACK, NoisyProjection, PublishedProjection
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import Simulation

TITLE = "Outsourced optimisation: the published projection, the noisy one, none, and random rows"
LONG = True

SIDE, LENGTH, GRID = 7.5, 1.25, 100  # the domain's side in its own units: six length-scales
RUNS = 10  # runs for each repeat: 50 by default, as in the paper; half of them on real data
TABLES = {  # exponent of epsilon: {r: published regret}
    1.1: {3: 0.073, 6: 0.038, 8: 0.018, 10: 0.014, 15: 0.118, 20: 0.137},
    1.3: {3: 0.091, 9: 0.009, 12: 0.019, 15: 0.008, 20: 0.127, 30: 0.134},
    1.5: {5: 0.05, 10: 0.021, 15: 0.003, 20: 0.002, 30: 0.094, 50: 0.142},
}
NONE = Guarantee.none("a benchmark")


@dataclass(frozen=True)
class Problem:
    """Rows in norm-25 units, their answers in standard deviations, and what a modeler knows beforehand."""

    rows: np.ndarray
    values: np.ndarray
    prior: Prior


@dataclass
class Given:
    """A curator without a service: the table, its noise, and the answers."""

    shown: np.ndarray
    noise: float
    values: np.ndarray

    def published(self) -> Published:
        n, r = self.shown.shape
        return Published("benchmark", n, r, "given", self.noise, 0.0, 10**6, NONE, NONE, "")

    def table(self) -> np.ndarray:
        return self.shown

    def answers(self) -> list[Answer]:
        return []

    def ask(self, rows: Sequence[int], *, request: str) -> list[Answer]:
        return [Answer(row, float(self.values[row])) for row in rows]


def synthetic(seed: int, side: float = SIDE) -> Problem:
    """A draw of the paper's Gaussian process over a 100 x 100 grid."""
    rng = np.random.default_rng(seed)
    axis = np.linspace(0, side, GRID)
    K = np.exp(-0.5 * (axis[:, None] - axis) ** 2 / LENGTH**2) + 1e-9 * np.eye(GRID)
    L = np.linalg.cholesky(K)
    f = (L @ rng.normal(size=(GRID, GRID)) @ L.T).ravel()
    X = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2) - side / 2
    unit = 25 / np.linalg.norm(X, axis=1).max()
    return Problem(X * unit, f + math.sqrt(1e-5) * rng.normal(size=len(f)), Prior(LENGTH * unit, noise=1e-5))


def real(X: np.ndarray, y: np.ndarray) -> Problem:
    """Columns divided by length-scales fitted to 400 rows, then all by the largest norm over 25."""
    some = np.random.default_rng(0).permutation(len(X))[:400]
    unit = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    z = (y - y.mean()) / y.std()
    fitted = fit(RBF((0.3,) * X.shape[1]), unit[some], z[some])
    rows = unit / np.asarray(fitted.kernel.lengthscales)
    rows = rows - rows.mean(axis=0)
    factor = 25 / np.linalg.norm(rows, axis=1).max()
    variance = fitted.kernel.variance * fitted.scale**2
    return Problem(rows * factor, z, Prior(factor, variance, fitted.mean, max(fitted.noise, 1e-6)))


def data(name: str) -> Path:
    folder = os.environ.get("TACIT_DATA")
    if not folder or not (Path(folder) / name).exists():
        raise SystemExit(f"set TACIT_DATA to a folder that holds {name}")
    return Path(folder) / name


def loans() -> Problem:
    """Lending Club 2007 to 2011: amount, rate and income; return on investment. 36,000 of the rows, as in the paper."""
    kept = np.load(data("lending_club_core.npz"), allow_pickle=False)
    X, y = kept["X"], kept["roi"]
    good = np.isfinite(X).all(axis=1) & np.isfinite(y) & kept["meets_policy"] & (X[:, 0] >= 500)
    chosen = np.random.default_rng(1).permutation(np.flatnonzero(good))[:36_000]
    X, y = X[chosen], y[chosen]
    return real(np.column_stack([np.log(X[:, 0]), X[:, 1], np.log(X[:, 2])]), np.log1p(np.maximum(y, -0.9)))


def condominiums() -> Problem:
    """Singapore condominium resales of 2015: longitude and latitude; the cheapest square metre."""
    kept = np.load(data("singapore_condo_resale_2015.npz"), allow_pickle=False)
    return real(kept["data"][:, [1, 0]], -np.log(kept["price_psm"]))


Shown = Callable[[Problem, int], tuple[np.ndarray, float]]


def projected(epsilon: float, r: int, delta: float) -> Shown:
    def show(p: Problem, seed: int) -> tuple[np.ndarray, float]:
        n, d = p.rows.shape
        noise = Simulation(seed)
        made = PublishedProjection(n, d, epsilon=epsilon, delta=delta, dimensions=r, insist=ATTACK, noise=noise)
        return next(made.blocks(p.rows)), 0.0

    return show


def noisy(epsilon: float, delta: float) -> Shown:
    def show(p: Problem, seed: int) -> tuple[np.ndarray, float]:
        made = NoisyProjection(p.rows.shape[1], epsilon=epsilon, delta=delta, noise=Simulation(seed))
        return np.concatenate(list(made.blocks(p.rows))), made.scale_of_noise

    return show


def as_it_is(p: Problem, seed: int) -> tuple[np.ndarray, float]:
    return p.rows, 0.0


def regrets(problem: Callable[[int], Problem], shown: Shown | None, trials: int, runs: int) -> np.ndarray:
    """Simple regret of each run; without a table, of rows at random."""
    found = []
    for seed in range(runs):
        p = problem(seed)
        if shown is None:
            asked = np.random.default_rng(seed).choice(len(p.values), trials, replace=False)
        else:
            table, noise = shown(p, 1000 + seed)
            # the first row is at random, as each run of the paper has its own start
            start = [
                Answer(int(i), float(p.values[i])) for i in np.random.default_rng(seed).integers(len(table), size=1)
            ]
            source = Given(table, noise, p.values)
            source.answers = lambda start=start: list(start)  # type: ignore[method-assign,misc]
            asked = np.array([a.row for a in Modeler(source, prior=p.prior, seed=seed).run(trials).answers])
        found.append(p.values.max() - p.values[asked].max())
    return np.array(found)


def figure(name: str, r: np.ndarray, against: str = "", note: str = "") -> Figure:
    error = r.std(ddof=1) / math.sqrt(len(r)) if len(r) > 1 else 0.0
    tail = f"{len(r)} runs, standard error {error:.2g}" + (f"; {note}" if note else "")
    return Figure(name, float(r.mean()), "sd", float(r.min()), float(r.max()), against, tail)


def branch(p: Problem, r: int, epsilon: float, delta: float) -> str:
    n, d = p.rows.shape
    made = PublishedProjection(n, d, epsilon=epsilon, delta=delta, dimensions=r, insist=ATTACK, noise=Simulation(0))
    next(made.blocks(p.rows))
    return "raised" if made.raised else "as they are"


def run(repeats: int) -> list[Figure]:
    runs = RUNS * repeats
    figures = []
    for side in (5 * LENGTH, SIDE, 8 * LENGTH):
        r = regrets(lambda seed, side=side: synthetic(seed, side), as_it_is, 50, runs)  # type: ignore[misc]
        said = "paper: about 0.003" if side == SIDE else ""
        figures.append(figure(f"synthetic, side {side:g} ({side / LENGTH:g} length-scales): not private", r, said))
    figures.append(figure("synthetic: random rows", regrets(synthetic, None, 50, runs)))
    for exponent, published in TABLES.items():
        epsilon = math.exp(exponent)
        r = regrets(synthetic, noisy(epsilon, 1e-5), 50, runs)
        figures.append(figure(f"synthetic, epsilon e^{exponent}: noisy projection", r, "unconditional"))
        for dimensions, said in published.items():
            r = regrets(synthetic, projected(epsilon, dimensions, 1e-5), 50, runs)
            how = f"singular values {branch(synthetic(0), dimensions, epsilon, 1e-5)}"
            name = f"synthetic, epsilon e^{exponent}: published projection, r = {dimensions}"
            figures.append(figure(name, r, f"paper: {said:g}; no guarantee", how))
    few = max(2, runs // 2)
    paper_loans = {2.9: "0.003 more than not private", 2.0: "0.019 more", 1.0: "0.05 more"}
    figures += _real("loans", loans(), 50, 1e-5, paper_loans, few)
    paper_condos = {2.8: "0.051 more than not private", 1.0: "0.017 more", 0.5: "0.082 more"}
    return figures + _real("condominiums", condominiums(), 100, 1e-4, paper_condos, few)


def _real(name: str, p: Problem, trials: int, delta: float, paper: dict[float, str], runs: int) -> list[Figure]:
    n, d = p.rows.shape
    base = regrets(lambda _: p, as_it_is, trials, runs)
    best = p.rows[np.argmax(p.values)]
    edge = np.abs(2 * (best - p.rows.min(axis=0)) / np.ptp(p.rows, axis=0) - 1).max()
    where = f"one table, runs not independent; the best row lies at {edge:.2f} of the way to the table's edge"
    about = f"{where}; n = {n}, d = {d}, length-scale {p.prior.lengthscale:.3g}, share of noise {_share(p.prior):.2f}"
    figures = [figure(f"{name}, T = {trials}: not private", base, note=about)]
    figures.append(figure(f"{name}: random rows", regrets(lambda _: p, None, trials, runs)))
    for control, said in ((_swapped, "best answer moved to a random row"), (_shuffled, "answers shuffled")):
        r = regrets(lambda seed, control=control: control(p, seed), as_it_is, trials, runs)  # type: ignore[misc]
        figures.append(figure(f"{name}, control, not private: {said}", r))
    for exponent, said in paper.items():
        epsilon = math.exp(exponent)
        r = regrets(lambda _: p, projected(epsilon, 15, delta), trials, runs)
        how = f"singular values {branch(p, 15, epsilon, delta)}; {r.mean() - base.mean():+.3f} against not private"
        figures.append(figure(f"{name}, epsilon e^{exponent}: published projection, r = 15", r, f"paper: {said}", how))
        r = regrets(lambda _: p, noisy(epsilon, delta), trials, runs)
        more = f"{r.mean() - base.mean():+.3f} against not private"
        figures.append(figure(f"{name}, epsilon e^{exponent}: noisy projection", r, "unconditional", more))
    return figures


def _swapped(p: Problem, seed: int) -> Problem:
    values, best = p.values.copy(), int(np.argmax(p.values))
    other = int(np.random.default_rng(500 + seed).integers(len(values)))
    values[[best, other]] = values[[other, best]]
    return replace(p, values=values)


def _shuffled(p: Problem, seed: int) -> Problem:
    return replace(p, values=np.random.default_rng(500 + seed).permutation(p.values))


def _share(prior: Prior) -> float:
    return prior.noise / (prior.noise + prior.variance)
