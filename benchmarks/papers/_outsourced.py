"""Outsourced optimisation without a service: problems, what is shown of them, and the regret of searching there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import Figure
from tacit.outsource.curator.transform import ATTACK, NoisyProjection, PublishedProjection
from tacit.outsource.modeler import Modeler, Prior
from tacit.outsource.protocol.terms import Answer, Published
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import Simulation

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


Shown = Callable[[Problem, int], tuple[np.ndarray, float]]


def projected(epsilon: float, r: int, delta: float) -> Shown:
    def show(p: Problem, seed: int) -> tuple[np.ndarray, float]:
        n, d = p.rows.shape
        noise = Simulation(seed)
        made = PublishedProjection(n, d, epsilon=epsilon, delta=delta, dimensions=r, insist=ATTACK, noise=noise)
        return next(made.blocks(p.rows)), 0.0

    return show


def noisy(epsilon: float, delta: float, distance: float = 1.0) -> Shown:
    """Rows that move by this distance are hidden; the largest norm of a row is 25."""

    def show(p: Problem, seed: int) -> tuple[np.ndarray, float]:
        noise = Simulation(seed)
        made = NoisyProjection(p.rows.shape[1], epsilon=epsilon, delta=delta, distance=distance, noise=noise)
        return np.concatenate(list(made.blocks(p.rows))), made.scale_of_noise

    return show


def as_it_is(p: Problem, seed: int) -> tuple[np.ndarray, float]:
    return p.rows, 0.0


Search = Callable[[np.ndarray, float, Problem, int, int], np.ndarray]


def ours(table: np.ndarray, noise: float, p: Problem, trials: int, seed: int, repeat_rows: bool = False) -> np.ndarray:
    """The rows that our modeler asks for, each once, after a first one at random."""
    source = Given(table, noise, p.values)
    start = [Answer(i, float(p.values[i])) for i in first(len(table), seed)]
    source.answers = lambda: list(start)  # type: ignore[method-assign]
    return np.array(
        [a.row for a in Modeler(source, prior=p.prior, seed=seed, repeat_rows=repeat_rows).run(trials).answers]
    )


def as_written(table: np.ndarray, noise: float, p: Problem, trials: int, seed: int) -> np.ndarray:
    """The rows that Algorithm 2 of the paper asks for: the same row may be asked again, and often is."""
    return ours(table, noise, p, trials, seed, repeat_rows=True)


def first(n: int, seed: int) -> list[int]:
    """A row at random: each run of the paper has its own start."""
    return [int(i) for i in np.random.default_rng(seed).integers(n, size=1)]


def regrets(
    problem: Callable[[int], Problem], shown: Shown | None, trials: int, runs: int, search: Search = ours
) -> np.ndarray:
    """Simple regret of each run; without a table, of rows at random."""
    found = []
    for seed in range(runs):
        p = problem(seed)
        if shown is None:
            asked = np.random.default_rng(seed).choice(len(p.values), trials, replace=False)
        else:
            asked = search(*shown(p, 1000 + seed), p, trials, seed)
        found.append(p.values.max() - p.values[asked].max())
    return np.array(found)


def error(r: np.ndarray) -> float:
    return float(r.std(ddof=1)) / math.sqrt(len(r)) if len(r) > 1 else 0.0


def agreement(value: float, paper: float, standard_error: float) -> str:
    """Whether the paper's figure is one that as many other runs might give: two such means differ by sqrt(2) errors."""
    far = 1.96 * math.sqrt(2) * standard_error
    word = "agrees" if abs(value - paper) <= far else "does not agree"
    return f"{word} with the paper's {paper:g}: as many other runs give {value:.3f} \u00b1 {far:.2g} (95%)"


def figure(name: str, r: np.ndarray, against: str = "", note: str = "", paper: float | None = None) -> Figure:
    tail = f"{len(r)} runs, standard error {error(r):.2g}" + (f"; {note}" if note else "")
    if paper is not None:
        tail += "; " + agreement(float(r.mean()), paper, error(r))
    return Figure(name, float(r.mean()), "sd", float(r.min()), float(r.max()), against, tail, paper)


def branch(p: Problem, r: int, epsilon: float, delta: float) -> str:
    n, d = p.rows.shape
    made = PublishedProjection(n, d, epsilon=epsilon, delta=delta, dimensions=r, insist=ATTACK, noise=Simulation(0))
    next(made.blocks(p.rows))
    return "raised" if made.raised else "as they are"
