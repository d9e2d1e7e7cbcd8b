"""Linear models by noisy gradient descent, for release: exact sums, exact noise, on all records or on lots.

    n       records                     T       steps
    m       records in a lot            L       clip
    sigma   noise multiplier: the noise on a sum of clipped gradients has standard deviation 2 L sigma

With all records in every step the T sums are together mu-GDP with mu = sqrt(T) / sigma, exactly; before them means are
drawn from which the model begins (starts.py). With lots drawn afresh, the accountant of subsampled Gaussians says what
they cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import noise_below, sampled_profile
from tacit.errors import BadInput, choice
from tacit.files import Json
from tacit.gp.threads import one_thread
from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import Simulation, Source
from tacit.privacy.profiles import GaussianProfile, Profile
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Float, Int, Params, Space
from tacit.training.linear import Update
from tacit.training.linear_losses import LOSSES, link, score_count
from tacit.training.lots import LotSettings
from tacit.training.secret_lots import draw_lot, draw_poisson_lot
from tacit.training.starts import FEATURES, TARGETS, draw_start
from tacit.training.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts
from tacit.training.whole_gradients import Floats, WholeGradients, WholeRows
from tacit.training.worst_pairs import FAR, replace_row

QUIETEST, LOUDEST = 2.0**12, 2.0**56  # of the noise in whole numbers: a fine lattice, and draws that fit 64 bits
OPTIMISERS = ("momentum", "adam", "sgd")
CURVATURES = {"logistic": 0.05, "hinge": 0.1, "squared": 0.2}  # of the mean loss along a feature, about
SHARES = {"all": math.sqrt(1 - TARGETS), "without_replacement": 0.917, "poisson": 0.987}  # that the worst row spends
RATES = {"logistic": 3.0, "hinge": 1.0, "squared": 1.0}  # of a hundred steps with momentum
LOTS = ("all", "without_replacement", "poisson")


@dataclass(frozen=True)
class Descent:
    """The settings of one training: what ``DescentTrainer.calibrate`` gives."""

    records: int
    steps: int
    lot: int  # of each step; with Poisson lots the expected size
    rate: float
    clip: float
    multiplier: float  # sigma
    sampling: str = "all"
    mu: float = 0.0  # of the whole training, where every step takes all records

    @property
    def counted(self) -> WholeGradients:
        return WholeGradients(self.clip, self.records if self.sampling == "poisson" else self.lot)

    @property
    def scale(self) -> float:
        """Standard deviation of the noise on a sum, in whole numbers."""
        return 2 * self.counted.reach * self.multiplier * ABOVE


@dataclass(frozen=True)
class LinearScores:
    """A linear model of encoded features: weights (k, D), the constant's last. The mean of the later steps' weights."""

    __released__ = True

    weights: Floats
    task: str

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k), or predicted targets (n, 1)."""
        return link(np.asarray(X, float) @ self.weights[:, :-1].T + self.weights[:, -1], self.task)

    def to_json(self) -> Json:
        return {"kind": "linear", "task": self.task, "weights": self.weights.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> LinearScores:
        return cls(np.array(stored["weights"], float), str(stored["task"]))


@dataclass(frozen=True)
class DescentTrainer:
    """A linear model trained for release; ``loss`` is logistic, hinge or squared.

    Guarantee. Each training costs at most the base profile that it was calibrated for, one training record replaced.
    Clipped gradients are summed in whole numbers, exactly, and the noise is exact: nothing is assumed of floating
    point. Momentum, Adam and the averaging of weights work on noisy sums and cost nothing.
    Follows. Abadi et al. (2016) for noisy gradient descent; docs/proofs/private-training.md for the rest.
    Differs. By default every step takes all records, which costs exactly what one Gaussian mechanism of
    sqrt(steps) / sigma costs. A linear model then needs a hundred steps, not thousands.
    Edges. A row without a target adds nothing to a sum of gradients. Features are cut to [-64, 64]. Of a person with
    several rows the mean of the clipped gradients counts.
    """

    assumptions: ClassVar[tuple[str, ...]] = ()
    premises: ClassVar[tuple[str, ...]] = ()
    persons: ClassVar[bool] = True  # takes all rows of a person
    loss: str = "logistic"
    optimiser: str = "momentum"
    lots: str = "all"
    averaged: bool = True  # whether the mean of the later weights is released, or the last, as published

    def __post_init__(self) -> None:
        choice("loss", self.loss, tuple(LOSSES))
        choice("optimiser", self.optimiser, OPTIMISERS)
        choice("lots", self.lots, LOTS)

    @property
    def name(self) -> str:
        kind = {"logistic": "logistic regression", "hinge": "linear SVM", "squared": "ridge regression"}[self.loss]
        lots = {"all": "", "poisson": ", Poisson lots", "without_replacement": ", lots without replacement"}
        steps = {"momentum": "", "adam": ", Adam", "sgd": ", SGD"}[self.optimiser]
        return kind + steps + ("" if self.averaged else " as published") + lots[self.lots]

    @property
    def task(self) -> str:
        return NUMBERS if self.loss == "squared" else CLASSES

    def space(self, facts: Facts) -> Mapping[str, Any]:
        """Steps, rate and clip; with lots, epochs and the size of a lot in place of steps."""
        rate = Float(0.003, 0.3, log=True) if self.optimiser == "adam" else Float(0.1, 10.0, log=True)
        shared = {"rate": rate, "clip": Float(0.2, 3.0, log=True)}
        if self.lots == "all":
            return {"steps": Int(20, 200, log=True), **shared}
        least = min(facts.records, 64)
        return {"epochs": Int(1, 40, log=True), "lot": Int(least, max(least, facts.records // 4), log=True), **shared}

    def defaults(self, facts: Facts, base: Base) -> Params:
        """A hundred steps; with lots, the middle of the space."""
        if self.lots != "all":
            space = Space(self.space(facts))
            return space.params([[0.5] * space.dimensions])[0]
        return {"steps": 100, "rate": RATES[self.loss] / (100 if self.optimiser == "adam" else 1), "clip": 1.0}

    def calibrate(self, params: Params, facts: Facts, base: Base) -> Descent:
        """The least noise with which a training stays below ``base``."""
        n = facts.records
        if self.lots == "all":
            lot, steps = n, int(params["steps"])
        else:
            lot = min(int(params["lot"]), n)
            steps = max(1, round(int(params["epochs"]) * n / lot))
        s = Descent(n, steps, lot, float(params["rate"]), float(params["clip"]), math.inf, self.lots)
        if self.lots == "all":
            multiplier = math.sqrt(steps / (1 - FEATURES - TARGETS)) / base.mu
        else:
            multiplier = float(noise_below(base.table, records=n, lot=lot, steps=steps, sampling=self.lots))
        s = replace(s, multiplier=multiplier, mu=base.mu if self.lots == "all" else 0.0)
        if not QUIETEST <= s.scale <= LOUDEST:
            raise BadInput(
                f"noise of {multiplier:.3g} times the clip is out of range; give a larger budget or fewer steps"
            )
        return s

    def settle(self, params: Params, records: int) -> Descent:
        """The settings at a point of a front, whose noise is a hyperparameter: as it was measured, for release."""
        s = LotSettings.of(params, records)
        return Descent(records, s.steps, s.lot, s.rate, s.clip, s.multiplier, self.lots)

    def profile(self, settings: Descent) -> Profile:
        if settings.sampling == "all":
            return GaussianProfile(settings.mu)
        s = settings
        return sampled_profile(noise=s.multiplier, records=s.records, lot=s.lot, steps=s.steps, sampling=s.sampling)

    def train(self, rows: EncodedRows, settings: Descent, facts: Facts, noise: Source) -> LinearScores:
        s, residual_of = settings, LOSSES[self.loss]
        known = rows.target >= 0 if self.task == CLASSES else np.isfinite(rows.target)
        target, weights = np.where(known, rows.target, 0.0), np.zeros((score_count(facts.outputs), facts.features + 1))
        means = np.zeros(facts.features)
        if s.sampling == "all":
            start = draw_start(rows, facts, s.mu, noise, odds=self.loss == "logistic")
            means, weights[:, -1] = start.means, start.constants
        whole, counts_for = WholeRows.of(rows.X - means), rows.weights[:, None]
        update, mean, averaged = Update(self.optimiser, s.rate, weights), np.zeros_like(weights), 0
        with one_thread(), np.errstate(over="ignore"):
            for step, lot in enumerate(_lots(s, noise)):
                residual = residual_of(whole.scores(weights, lot), target[lot])
                residual[~known[lot]] = 0.0
                total = s.counted.total(whole, residual, lot, counts_for[lot])
                weights -= update(add_noise(total, s.scale, noise) * (s.counted.unit / s.lot))
                if step >= s.steps // 2 if self.averaged else step == s.steps - 1:
                    mean += weights
                    averaged += 1
        mean /= averaged
        if s.sampling == "all":
            mean[:, :-1] *= shrinkage(mean[:, :-1], 2 * s.clip / (s.mu * s.records * CURVATURES[self.loss]))
        mean[:, -1] -= mean[:, :-1] @ means
        return LinearScores(mean, self.task)

    def worst_pairs(self, base: Base) -> tuple[WorstPair, ...]:
        """A row whose long gradient, cut to the clip in every step, turns round with its features; its target stays."""
        size = {"steps": 20} if self.lots == "all" else {"epochs": 5, "lot": 1024}
        params = {**size, "rate": 1e-6, "clip": 0.2}  # so slow that no residual fades
        return tuple(
            replace_row(
                self,
                base,
                params,
                (((FAR, FAR), 1.0), ((-FAR, -FAR), 1.0)),
                about="the features of a row with a clipped gradient turn round",
                outputs=outputs,
                share=SHARES[self.lots],
            )
            for outputs in ((2, 3) if self.task == CLASSES else (1,))
        )


def shrinkage(weights: Floats, deviation: float) -> float:
    """What is left of weights whose noise has this deviation, about (James and Stein 1961). Post-processing.

    Where there is little but noise it is near 0, and a model predicts nearly the same for all.
    """
    return max(0.0, 1 - weights.size * deviation**2 / max(float((weights**2).sum()), 1e-300))


def add_noise(total: NDArray[Any], scale: float, noise: Source) -> NDArray[Any]:
    """Whole numbers with Gaussian noise, which is rounded together with them, (k, D); in single precision as it is."""
    if isinstance(noise, Simulation) and total.dtype == np.float32:
        drawn = noise.generator.standard_normal(total.shape, dtype=np.float32)
        drawn *= np.float32(scale)
        return np.asarray(np.add(total, drawn, out=drawn))
    return noise.gaussian_whole_array(total.astype(np.int64), scale).astype(float)


def _lots(s: Descent, noise: Source) -> Iterator[NDArray[np.intp] | slice]:
    """The records of each step, from the operating system's secure generator: which ones must stay secret."""
    for _ in range(s.steps):
        if s.sampling == "all":
            yield slice(None)
        elif s.sampling == "without_replacement":
            yield draw_lot(s.records, s.lot, noise)
        else:
            yield draw_poisson_lot(s.records, s.lot / s.records, noise)


LOGISTIC, SVM, RIDGE = DescentTrainer("logistic"), DescentTrainer("hinge"), DescentTrainer("squared")
LOGISTIC_LOTS = DescentTrainer("logistic", lots="without_replacement")
LOGISTIC_SGD = DescentTrainer("logistic", "sgd", "without_replacement", averaged=False)
LOGISTIC_ADAM = DescentTrainer("logistic", "adam", "without_replacement", averaged=False)
SVM_SGD = DescentTrainer("hinge", "sgd", "without_replacement", averaged=False)
LOGISTIC_POISSON = DescentTrainer("logistic", optimiser="adam", lots="poisson")
