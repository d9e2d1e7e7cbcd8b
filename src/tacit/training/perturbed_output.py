"""Logistic regression trained without noise and published with it: the last weights of plain gradient descent.

    n   records                        gamma   weight of the penalty (gamma / 2) |w|^2
    x   features and a 1, |x| = 1      beta    smoothness, a + gamma
    T   steps                          eta     step, 1 / beta
    L   largest gradient of one record's loss by the scores: 1 for two classes, sqrt(2) for more
    a   largest curvature of that loss: 1/4 for two classes, 1/2 for more

A step w - eta (mean gradient + gamma w) brings any two points closer by 1 - eta gamma. Replacing one record moves a
step by at most eta 2 L / n. So T steps from 0 end at most 2 L / (n gamma) (1 - (1 - eta gamma)^T) apart.

Or, as published, T passes over single records in one random order, with steps of at most 1 / (gamma t): they end at
most 4 L / (n gamma) apart (docs/proofs/output-perturbation.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput
from tacit.files import Json
from tacit.gp.threads import one_thread
from tacit.privacy.guarantee import Budget
from tacit.privacy.mechanisms import Gaussian
from tacit.privacy.noise import Source
from tacit.privacy.profiles import GaussianProfile, Profile
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Float, Int, Params
from tacit.training.linear_losses import LOSSES, link, score_count
from tacit.training.output_perturbation import descend_passes
from tacit.training.secret_lots import draw_order
from tacit.training.trainer import CLASSES, Base, EncodedRows, Facts
from tacit.training.worst_pairs import FAR, ROWS, play_training

Floats = NDArray[np.float64]
EPS = 2.0**-52
SHARES, PASSES_SHARES = ((2, 0.818), (3, 0.826)), ((2, 0.346), (3, 0.371))  # that the worst row spends, by classes


@dataclass(frozen=True)
class PlainDescent:
    """The settings of one training: what ``OutputTrainer.calibrate`` gives."""

    records: int
    inputs: int  # features and the constant
    scores: int  # k
    gamma: float
    steps: int  # or passes
    mu: float
    passes: bool = False  # over single records

    @property
    def largest_gradient(self) -> float:
        return 1.0 if self.scores == 1 else math.sqrt(2)

    @property
    def step(self) -> float:
        return 1 / ((0.25 if self.scores == 1 else 0.5) + self.gamma)

    @property
    def sensitivity(self) -> float:
        """How far the weights can move when one record is replaced, in exact arithmetic."""
        if self.passes:
            return 4 * self.largest_gradient / (self.records * self.gamma)
        shrunk = -math.expm1(self.steps * math.log1p(-self.step * self.gamma)) if self.step * self.gamma < 1 else 1.0
        return 2 * self.largest_gradient / (self.records * self.gamma) * shrunk

    @property
    def room(self) -> float:
        """Share to add to the sensitivity for rounding in double precision, on both data sets.

        The mean gradient is a sum of n products in any order, and its scores sums of D; weights are at most L / gamma.
        All of it is in units of a step's own move, 2 L / n; four times what the bounds of rounding add up to. Of passes
        each step rounds the weights, at most L / gamma, by eps L / gamma, and its residual by D k eps L / 4 gamma; what
        step t does shrinks by t / T until the end, and its step is 1 / (gamma t).
        """
        if self.passes:
            n, d = self.records, self.inputs * self.scores
            return float(1e-9 + 4 * EPS * (self.steps * n * n / 8 + d * n / (16 * self.gamma)))
        sums = (self.records + self.inputs + 50) * math.sqrt(self.inputs * self.scores)
        weights = (self.inputs + 50) * (1 + 1 / self.step) / self.gamma
        return 1e-9 + 4 * EPS * self.records * (sums + weights)


@dataclass(frozen=True)
class UnitLinearScores:
    """A linear model of encoded features that are first brought, with a constant 1, to length 1: weights (k, D)."""

    weights: Floats
    task: str

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k)."""
        return link(unit_rows(X) @ self.weights.T, self.task)

    def to_json(self) -> Json:
        return {"kind": "linear of unit rows", "task": self.task, "weights": self.weights.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> UnitLinearScores:
        return cls(np.array(stored["weights"], float), str(stored["task"]))


@dataclass(frozen=True)
class OutputTrainer:
    """Logistic or softmax regression with an L2 penalty; noise on the weights at the end, and nowhere else.

    Guarantee. mu-GDP at the mu of the base, one training record replaced; unconditional. Rounding is in the
    sensitivity, the noise is exact.
    Follows. Hardt, Recht and Singer (2016) for how far two descents end apart, Wu et al. (2017) for adding noise to
    where they end, and for ``passes`` (Algorithm 2); docs/proofs/private-training.md.
    Differs. Without ``passes`` all records in every step, which halves the sensitivity of passes over single records,
    and holds for any number of steps: no convergence is assumed. Every row is brought to length 1 by itself.
    Edges. A row without a target adds nothing but to the number of rows.
    """

    name: str = "logistic regression, output perturbation"
    passes: bool = False  # over single records, as Wu et al. do
    task: str = CLASSES
    assumptions: ClassVar[tuple[str, ...]] = ()
    premises: ClassVar[tuple[str, ...]] = ()

    def space(self, facts: Facts) -> Mapping[str, Any]:
        """The penalty and the number of steps, or passes."""
        if self.passes:
            return {"gamma": Float(1e-3, 1.0, log=True), "epochs": Int(1, 20, log=True)}
        return {"gamma": Float(1e-4, 0.1, log=True), "steps": Int(5, 200, log=True)}

    def calibrate(self, params: Params, facts: Facts, base: Base) -> PlainDescent:
        """The least noise with which a training stays below ``base``."""
        k = score_count(facts.outputs)
        gamma, steps = float(params["gamma"]), int(params["epochs" if self.passes else "steps"])
        s = PlainDescent(facts.records, facts.features + 1, k, gamma, steps, base.mu, self.passes)
        if not s.room < 1:
            raise BadInput(f"{facts.records} records are too many for output perturbation in double precision")
        return s

    def profile(self, settings: PlainDescent) -> Profile:
        return GaussianProfile(settings.mu)

    def train(self, rows: EncodedRows, settings: PlainDescent, facts: Facts, noise: Source) -> UnitLinearScores:
        weights = pass_over(rows, settings, noise) if self.passes else descend(rows, settings)
        sensitivity = settings.sensitivity * (1 + settings.room)
        mechanism = Gaussian(sensitivity, budget=Budget.gdp(settings.mu), size=weights.size, noise=noise)
        drawn = np.asarray(mechanism.release(weights.ravel()).value).reshape(weights.shape)
        return UnitLinearScores(drawn, self.task)

    def worst_pairs(self, base: Base) -> tuple[WorstPair, ...]:
        """A row that the others class wrong, whose part across their weights turns round.

        Its residual is then nearly as long as L, and what it pulls across is all but its cosine with the weights.
        """
        params, cosine = ({"gamma": 0.02, "epochs": 1} if self.passes else {"gamma": 1e-4, "steps": 200}), 0.4
        shares = PASSES_SHARES if self.passes else SHARES
        label = np.r_[0.0, np.arange(ROWS - 1) % 2]
        sides = []
        for turn in (1.0, -1.0):
            X = FAR * np.column_stack([1 - 2 * label, np.zeros(ROWS)])
            X[0] = FAR * np.array([-cosine, turn * math.sqrt(1 - cosine**2)])
            sides.append(EncodedRows(X, label))
        about, both = "a row that the others class wrong turns its second coordinate", (sides[0], sides[1])
        return tuple(
            play_training(self, base, params, both, about=about, outputs=outputs, share=share)
            for outputs, share in shares
        )


def descend(rows: EncodedRows, s: PlainDescent) -> Floats:
    """Weights (k, D) after all steps, without noise. Private."""
    known = rows.target >= 0
    x, target = unit_rows(rows.X), np.where(known, rows.target, 0.0)
    w, residual_of = np.zeros((s.scores, s.inputs)), LOSSES["logistic"]
    with one_thread():
        for _ in range(s.steps):
            residual = residual_of(x @ w.T, target)
            residual[~known] = 0.0
            w = w - s.step * (residual.T @ x / s.records + s.gamma * w)
    return w


def pass_over(rows: EncodedRows, s: PlainDescent, noise: Source) -> Floats:
    """Weights (k, D) after all passes over single records, in one secret random order, without noise. Private.

    Follows. Wu et al. 2017 Algorithm 2, batches of 1, step min(1 / beta, 1 / (gamma t)).
    """
    x, w, residual_of, t = unit_rows(rows.X), np.zeros((s.scores, s.inputs)), LOSSES["logistic"], 0
    order = draw_order(s.records, noise)
    known, beta = rows.target >= 0, s.largest_gradient + s.gamma
    with one_thread():
        if s.scores == 1:
            signed = x * np.where(known, 2.0 * rows.target - 1, 0.0)[:, None]
            return descend_passes(s.gamma, list(signed[order]), s.steps)[None, :]
        for _ in range(s.steps):
            for i in order:
                t += 1
                step = min(1 / beta, 1 / (s.gamma * t))
                gradient = s.gamma * w
                if known[i]:
                    gradient += residual_of((w @ x[i])[None, :], rows.target[i : i + 1]).T * x[i]
                w -= step * gradient
    return w


def unit_rows(X: NDArray[np.float64]) -> Floats:
    """Features cut to [-64, 64] and a constant 1, each row divided by its length, (n, D); missing ones are 0."""
    rows = np.ones((len(X), np.shape(X)[1] + 1))
    rows[:, :-1] = np.clip(np.nan_to_num(np.asarray(X, float), nan=0.0), -64.0, 64.0)
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / (size * (1 + (rows.shape[1] + 8) * EPS))[:, None])


OUTPUT = OutputTrainer()
OUTPUT_SGD = OutputTrainer("logistic regression, output perturbation, SGD", passes=True)
