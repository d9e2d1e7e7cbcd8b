"""How often the intervals of a front hold the truth: of `predict` and of `at`, private and not, on simulated fronts.

Two families of algorithms whose mean utilities are known: trainings, where noise spoils large steps, and random smooth
surfaces. Their constants, the scatter of runs and the noise of private tests are drawn anew for every front; each is
searched by DPareto, then asked about three epsilons. An interval is about the mean of many runs at the setting that the
answer names.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

import tacit
from benchmarks import Figure
from tacit.errors import BadInput
from tacit.pareto import Front, PrivateTest, discover

TITLE = "Coverage of the intervals of fronts"
REPEATS = 1
LONG = True
FRONTS = int(os.environ.get("TACIT_FRONTS", "200"))
TRIALS, STARTUP = 28, 10
EPSILONS = (0.3, 1.0, 3.0)
CONTROL = 2.576  # two-sided 99% of the binomial's normal form, for the ends of a coverage


@dataclass
class Training:
    """Utility rises with rate x epochs and falls with rate x noise; epsilon = 5 sqrt(epochs) / noise."""

    seed: int
    label: ClassVar[str] = "simulated, one record replaced"
    name: ClassVar[str] = "simulated training"
    records: int = 4000
    space: dict[str, Any] = field(
        default_factory=lambda: {
            "noise": tacit.Float(0.5, 50.0, log=True),
            "rate": tacit.Float(1e-3, 1.0, log=True),
            "epochs": tacit.Int(1, 30),
        }
    )

    @cached_property
    def facts(self) -> dict[str, float]:
        draw = np.random.default_rng((self.seed, 7))
        low = draw.uniform(0.1, 0.6)
        return {
            "low": low,
            "high": draw.uniform(low + 0.1, 0.97),
            "gain": float(np.exp(draw.uniform(np.log(1.0), np.log(30.0)))),
            "harm": float(np.exp(draw.uniform(np.log(0.1), np.log(2.0)))),
            "scatter": float(np.exp(draw.uniform(np.log(0.002), np.log(0.03)))),
        }

    def epsilons(self, params: Sequence[dict[str, Any]], delta: float) -> Any:
        return np.array([5 * math.sqrt(p["epochs"]) / p["noise"] for p in params])

    def truth(self, params: dict[str, Any]) -> float:
        f = self.facts
        reach = 1 - math.exp(-f["gain"] * params["rate"] * params["epochs"])
        spoil = f["harm"] * params["rate"] * params["noise"] * math.sqrt(params["epochs"])
        return f["low"] + (f["high"] - f["low"]) * reach / (1 + spoil**2)

    def scatter(self, params: dict[str, Any]) -> float:
        """Runs with more noise scatter more."""
        return self.facts["scatter"] * (params["noise"] / 5) ** 0.25

    def utility(self, params: dict[str, Any], seed: int) -> float:
        drawn = np.random.default_rng((self.seed, seed)).normal(self.truth(params), self.scatter(params))
        return float(np.clip(drawn, 0.0, 1.0))

    def each_utility(self, params: dict[str, Any], seed: int) -> Any:
        right = (np.arange(self.records) + 0.5) / self.records < self.utility(params, seed)
        return right.astype(float)


@dataclass
class Surface(Training):
    """A smooth random function of three parameters, with a trend along epsilon, on the scale of log odds."""

    name: ClassVar[str] = "simulated surface"

    @cached_property
    def waves(self) -> tuple[Any, Any, Any, float]:
        draw = np.random.default_rng((self.seed, 9))
        lengths = np.exp(draw.uniform(np.log(0.25), np.log(1.5), 3))
        return (
            draw.normal(size=(200, 3)) / lengths,
            draw.uniform(0, 2 * np.pi, 200),
            draw.normal(size=200),
            float(draw.uniform(0.3, 1.2)),
        )

    def truth(self, params: dict[str, Any]) -> float:
        directions, phases, weights, size = self.waves
        x = np.array([np.log(params["noise"] / 0.5) / np.log(100), np.log(params["rate"] / 1e-3) / np.log(1e3),
                      (params["epochs"] - 1) / 29])  # fmt: skip
        wave = math.sqrt(2 / 200) * float(weights @ np.cos(directions @ x + phases))
        trend = math.log(5 * math.sqrt(params["epochs"]) / params["noise"]) / 4
        return 0.05 + 0.9 / (1 + math.exp(-(size * wave + trend)))


FAMILIES = (Training, Surface)


def make_front(number: int, private: bool, repeats: int) -> tuple[Training, Front]:
    """The front of one simulated algorithm."""
    algorithm = FAMILIES[number % 2](seed=number)
    about: dict[str, Any] = {"delta": 1e-6, "trials": TRIALS, "startup": STARTUP, "repeats": repeats, "seed": number}
    if private:
        draw = np.random.default_rng((number, 11))
        deviation = float(np.exp(draw.uniform(np.log(0.003), np.log(0.03))))  # of a trial's mean
        mu = math.sqrt(TRIALS) / (algorithm.records * deviation)
        about["private"] = PrivateTest(tacit.Budget.gdp(mu), noise=tacit.Simulation(number))
    return algorithm, discover(algorithm, **about).value


def ask(algorithm: Training, front: Front) -> dict[str, list[tuple[bool, float]]]:
    """Whether each answer's interval held the truth, and how wide it was."""
    found: dict[str, list[tuple[bool, float]]] = {"predict": [], "at": []}
    for epsilon in EPSILONS:
        for kind, question in (
            ("predict", lambda e: front.predict(algorithm, epsilon=e)),
            ("at", lambda e: front.at(epsilon=e)),
        ):
            try:
                answer = question(epsilon)
            except BadInput:
                continue
            truth = algorithm.truth(answer.params)
            found[kind].append((answer.low <= truth <= answer.high, answer.high - answer.low))
    return found


def run(repeats: int) -> list[Figure]:
    asked: dict[str, list[tuple[bool, float]]] = {}
    for number in range(FRONTS):  # families, privacy and numbers of runs take turns
        private, runs = bool(number // 2 % 2), (1, 3)[number // 4 % 2]
        for kind, answers in ask(*make_front(number, private, runs)).items():
            asked.setdefault(f"{kind}, {'private' if private else 'exact'} fronts", []).extend(answers)
    figures = []
    for what, answers in asked.items():
        n, share = len(answers), float(np.mean([held for held, _ in answers]))
        reach = CONTROL * math.sqrt(share * (1 - share) / n)
        width = float(np.median([w for _, w in answers]))
        note = f"{FRONTS} fronts of {TRIALS} points, half of them private, half of 1 and half of 3 runs a point; {n} "
        note += f"intervals, median width {width:.4f}; between the 99% limits of a share"
        ends = 100 * max(0.0, share - reach), 100 * min(1.0, share + reach)
        figures.append(Figure(what, 100 * share, "% covered", *ends, goal=93.0, better="more", note=note))
    return figures
