"""Kharkovskii et al. (2020): tables 1 to 3 and the real data of figures 2b and 2c, with the noisy projection beside.

Simple regret in standard deviations of the objective. Every run draws its own function (synthetic) or first row (real
data, by the seed), and its own projection or noise. Length-scales are taken as known, as in the paper; rows are scaled
to a largest norm of 25, as in the paper, which reads the rows and is uncharged: it is a public input here. Noise is
simulated, so that runs repeat. The real data differ from the paper's: see ``_outsourced_real`` and the notes.

The paper states no spread. A note says whether its figure is one that as many runs as here could give.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks import Figure
from benchmarks.papers._outsourced import Problem, as_it_is, branch, figure, noisy, projected, regrets
from benchmarks.papers._outsourced_real import compared, condominiums, loans
from tacit.outsource.modeler import Prior

TITLE = "Outsourced optimisation: the published projection, the noisy one, none, and random rows"
LONG = True
REPEATS = 5

SIDE, LENGTH, GRID = 7.5, 1.25, 100  # the domain's side in its own units: six length-scales
RUNS = 10  # runs for each repeat: 50 by default, as in the paper
DISTANCES = (2.0, 5.0, 10.0)  # besides 1: what a guarantee for larger moves costs
TABLES = {  # exponent of epsilon: {r: published regret}
    1.1: {3: 0.073, 6: 0.038, 8: 0.018, 10: 0.014, 15: 0.118, 20: 0.137},
    1.3: {3: 0.091, 9: 0.009, 12: 0.019, 15: 0.008, 20: 0.127, 30: 0.134},
    1.5: {5: 0.05, 10: 0.021, 15: 0.003, 20: 0.002, 30: 0.094, 50: 0.142},
}


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


def run(repeats: int) -> list[Figure]:
    """Three pieces that have nothing to do with each other, each in a process of its own."""
    pieces = (_synthetic, _loans, _condominiums)
    with ProcessPoolExecutor(len(pieces)) as pool:
        doing = [pool.submit(piece, RUNS * repeats) for piece in pieces]
        return [figure for piece in doing for figure in piece.result()]


def _loans(runs: int) -> list[Figure]:
    return compared("loans", loans(), 50, 1e-5, {2.9: 0.003, 2.0: 0.019, 1.0: 0.05}, runs)


def _condominiums(runs: int) -> list[Figure]:
    return compared("condominiums", condominiums(), 100, 1e-4, {2.8: 0.051, 1.0: 0.017, 0.5: 0.082}, runs)


def _synthetic(runs: int) -> list[Figure]:
    figures = []
    for side in (5 * LENGTH, SIDE, 8 * LENGTH):
        r = regrets(lambda seed, side=side: synthetic(seed, side), as_it_is, 50, runs)  # type: ignore[misc]
        name = f"synthetic, side {side:g} ({side / LENGTH:g} length-scales): not private"
        figures.append(figure(name, r, "paper: about 0.003", paper=0.003) if side == SIDE else figure(name, r))
    figures.append(figure("synthetic: random rows", regrets(synthetic, None, 50, runs)))
    for distance in DISTANCES:
        r = regrets(synthetic, noisy(math.exp(1.1), 1e-5, distance), 50, runs)
        name = f"synthetic, epsilon e^1.1: noisy projection, rows that move by {distance:g} of norm 25"
        figures.append(figure(name, r, "unconditional"))
    for exponent, published in TABLES.items():
        epsilon = math.exp(exponent)
        r = regrets(synthetic, noisy(epsilon, 1e-5), 50, runs)
        moved = "rows that move by 1 of norm 25"
        figures.append(figure(f"synthetic, epsilon e^{exponent}: noisy projection, {moved}", r, "unconditional"))
        for dimensions, said in published.items():
            r = regrets(synthetic, projected(epsilon, dimensions, 1e-5), 50, runs)
            how = f"singular values {branch(synthetic(0), dimensions, epsilon, 1e-5)}"
            name = f"synthetic, epsilon e^{exponent}: published projection, r = {dimensions}"
            figures.append(figure(name, r, f"paper: {said:g}; no guarantee", how, paper=said))
    return figures
