"""Other ways to descend, tried against DP-GIBO's defaults at the same total guarantee. Noise is simulated.

    mu     of everything: the squares of what is spent on places, steps, searches, choices and the score add up to mu^2
    sigma  standard deviation of the noise on one coordinate of a step's gradient
    T      steps

Where an attempt spends on something else, the steps have less. Everything that is decided on the way depends on
released values only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.papers._gibo_moves import MOVES, Move
from benchmarks.papers._gibo_problems import Problem
from tacit.gp.design import Design
from tacit.methods.gibo import GradientSearch
from tacit.methods.gibo.design import DescentSettings, Designs, clipping_of, path_share
from tacit.methods.pool import Choice
from tacit.methods.task import Task
from tacit.objective import Objective
from tacit.privacy.accounting import split
from tacit.privacy.gradient_mean import GradientMean
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import Simulation

LENGTHS = np.array([0.0, 0.5, 1.0, 2.0])  # of a line search, in steps
FARTHER = np.array([0.0, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0])  # of a last draw: on the way from the start to the mean


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One way to descend; what is not named is as in the defaults."""

    options: dict[str, Any] = field(default_factory=dict)  # of the method
    move: str = "adagrad"
    early: float = 1.0  # the first step's squared mu over the last one's, linear in between
    decay: bool = False  # of the rate, linearly to a tenth
    walls: str = "stop"  # or "reflect", or "logit": coordinates without walls
    subset: float = 1.0  # of the coordinates that a step has the gradient of
    longer: int = 1  # times as many steps
    search: str = ""  # along each step: "draw", "means", "trust"; every fifth step: "stride"
    last: str = ""  # one draw at the end: among lengths and means of the path ("draw")
    share: float = 0.0  # of the squared budget, for search and last
    rounds: int = 0  # of so many descents from drawn places, after a fifth of the steps, one is drawn to go on
    weights: str = ""  # of the mean of the path: "linear", late points more


class Trial:
    """One attempt on one problem: its mechanisms, and its state."""

    def __init__(self, p: Problem, mu: float, steps: int, seed: int, how: Attempt) -> None:
        self.p, self.mu, self.how, self.noise = p, mu, how, Simulation(seed)
        self.asked = Objective(p.function, p.records, (0.0, 1.0))
        self.steps, self.coins = steps * how.longer, np.random.default_rng((seed, 96))
        settings = DescentSettings.of({**how.options, "starts": how.rounds or 1}, (0.0, 1.0), p.space)
        task = Task(self.asked, p.space, Budget.gdp(mu), self.steps, noise=self.noise, accept_noise=True, seed=seed)
        self.search = GradientSearch(task, settings)
        self.s = replace(self.search.settings, starts=1)
        self.path = mu * math.sqrt(path_share(self.s) ** 2 - how.share)  # mu of all gradients
        self.adding = BoundedMean(p.records, (0.0, 1.0), budget=Budget.gdp(1.0))

    def gradients(self, t: int, size: int) -> GradientMean:
        """The mechanism of step t."""
        weights = np.linspace(self.how.early, 1.0, self.steps)
        each = Budget.gdp(self.path * math.sqrt(weights[t] / weights.sum()))
        return GradientMean(self.p.records, clip=self.s.clip, size=size, budget=each, noise=self.noise)

    def draw(self, points: np.ndarray, share: float) -> int:
        """Which of these points (k, d) one draw of the exponential mechanism names."""
        choice = Choice(self.asked, Budget.gdp(self.mu * math.sqrt(share)), self.noise)
        return choice.draw([self.adding.total(self.p.losses(u)) for u in points])

    def means(self, points: np.ndarray, share: float) -> list[float]:
        """Noisy mean losses of these points (k, d), for this share of the squared budget together."""
        each = split(Budget.gdp(self.mu * math.sqrt(share)), len(points))
        mean = BoundedMean(self.p.records, (0.0, 1.0), budget=each, noise=self.noise)
        return [mean.draw(mean.total(self.p.losses(u))) for u in points]

    def begin(self) -> list[np.ndarray]:
        places, choice = self.search.places, self.search.choice
        if choice is None:
            return [places[0]] * (self.how.rounds or 1)
        totals, left, drawn = [self.adding.total(self.p.losses(u)) for u in places], list(range(len(places))), []
        for _ in range(self.how.rounds or 1):
            drawn.append(left.pop(choice.draw([totals[i] for i in left])))
        return [places[i] for i in drawn]

    def gradient(self, designs: Designs, theta: np.ndarray, t: int) -> tuple[np.ndarray, float]:
        """A noisy gradient (d,) and its sigma; nought where a subset leaves a coordinate out."""
        made, d = designs.at(theta, t), self.p.d
        used = np.arange(d)
        if self.how.subset < 1:
            used = np.sort(self.coins.permutation(d)[: max(1, round(d * self.how.subset))])
            places = np.flatnonzero(made.weights[used].any(axis=0))  # of a cross: those that move these coordinates
            made = Design(made.points[places], made.weights[np.ix_(used, places)], made.trace, len(places))
        mechanism = self.gradients(t, len(used))
        total = clipping_of(made, self.s, False).total([self.p.losses(u) for u in made.points])
        full = np.zeros(d)
        full[used] = mechanism.draw(total)
        return full, mechanism.scale

    def descend(self, theta: np.ndarray, steps: range) -> list[np.ndarray]:
        how = self.how
        designs = Designs(self.s, self.p.space, self.steps)
        move: Move = MOVES[how.move](float(self.s.rate or 0.1), self.steps)
        points, radius, score = [theta], 1.0, None
        for t in steps:
            g, sigma = self.gradient(designs, theta, t)
            rate = (1 - 0.9 * t / self.steps) if how.decay else 1.0
            step = rate * move(theta, g, sigma, t)
            each = how.share / self.steps
            if how.search == "draw":
                along = np.array([walled(theta, length * step, "stop") for length in LENGTHS])
                theta = along[self.draw(along, each)]
            elif how.search == "means":
                along = np.array([walled(theta, length * step, "stop") for length in LENGTHS])
                theta = along[int(np.argmin(self.means(along, each)))]
            elif how.search == "trust":
                new = walled(theta, radius * step, "stop")
                found = self.means(np.array([new]), each)[0]
                better = score is None or found <= score
                radius = min(2.0, 1.3 * radius) if better else max(0.2, 0.6 * radius)
                theta, score = (new, found) if better else (theta, score)
            else:
                theta = walled(theta, step, how.walls)
            if how.search == "stride" and (t + 1) % 5 == 0:
                back = points[-5] if len(points) >= 5 else points[0]
                along = np.array([np.clip(back + length * (theta - back), 0, 1) for length in (0.5, 1, 1.5, 2, 3)])
                theta = along[self.draw(along, how.share / (self.steps // 5))]
            points.append(theta)
        return points

    def final(self, points: list[np.ndarray]) -> np.ndarray:
        tail = max(1, round(self.s.average * (len(points) - 1)))
        weights = np.arange(1, tail + 1) if self.how.weights == "linear" else np.ones(tail)
        mean = np.average(points[-tail:], axis=0, weights=weights)
        if self.how.last != "draw":
            return np.asarray(mean)
        ends = [mean, points[-1], np.mean(points[-max(1, tail // 3) :], axis=0), np.mean(points, axis=0)]
        along = [np.clip(points[0] + k * (end - points[0]), 0, 1) for end in ends for k in FARTHER]
        return np.asarray(along[self.draw(np.array(along), self.how.share)])

    def run(self) -> float:
        """The mean loss of the answer."""
        begins, first = self.begin(), 0
        if self.how.rounds:  # each has its own gradients: they share the first third of the steps
            first = self.steps // 3 // self.how.rounds
            ends = [self.descend(theta, range(i * first, (i + 1) * first))[-1] for i, theta in enumerate(begins)]
            begins, first = [ends[self.draw(np.array(ends), self.how.share)]], first * self.how.rounds
        return float(self.p.losses(self.final(self.descend(begins[0], range(first, self.steps)))).mean())


def walled(theta: np.ndarray, step: np.ndarray, walls: str) -> np.ndarray:
    """theta - step, kept inside the cube."""
    if walls == "logit":  # the step is that of the logits, four times as long: the same in the middle
        inside = np.clip(theta, 1e-3, 1 - 1e-3)
        return np.asarray(1 / (1 + np.exp(-np.log(inside / (1 - inside)) + 4 * step)))
    new = theta - step
    if walls == "reflect":
        new = np.abs(np.mod(new + 1, 2) - 1)
    return np.asarray(np.clip(new, 0.0, 1.0))
