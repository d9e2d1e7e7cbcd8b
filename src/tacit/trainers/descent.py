"""Linear models by noisy gradient descent, for release: exact sums, exact noise, on all records or on lots.

    n       records                     T       steps
    m       records in a lot            L       clip
    sigma   noise multiplier: the noise on a sum of clipped gradients has standard deviation 2 L sigma

With all records in every step the T sums are together mu-GDP with mu = sqrt(T) / sigma, exactly. With lots drawn
afresh, the accountant of subsampled Gaussians says what they cost.
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
from tacit.gp.threads import one_thread
from tacit.privacy.bulk_noise import gaussian_integers
from tacit.privacy.mechanisms import LATTICE
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.profiles import GaussianProfile, Profile
from tacit.space import Float, Int, Params
from tacit.trainers.linear_losses import LOSSES, link, score_count
from tacit.trainers.secret_lots import draw_lot, draw_poisson_lot
from tacit.trainers.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts
from tacit.trainers.whole_gradients import Floats, WholeGradients, WholeRows

MOMENTUM, BETA1, BETA2, KAPPA = 0.9, 0.9, 0.999, 1e-8
QUIETEST, LOUDEST = 2.0**12, 2.0**56  # of the noise in whole numbers: a fine lattice, and draws that fit 64 bits
OPTIMISERS = ("momentum", "adam")
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

    @property
    def counted(self) -> WholeGradients:
        return WholeGradients(self.clip, self.records if self.sampling == "poisson" else self.lot)

    @property
    def scale(self) -> float:
        """Standard deviation of the noise on a sum, in whole numbers."""
        return 2 * self.counted.reach * self.multiplier * (1 + 4 * LATTICE)


@dataclass(frozen=True)
class LinearScores:
    """A linear model of encoded features: weights (k, D), the constant's last. The mean of the later steps' weights."""

    __released__ = True

    weights: Floats
    task: str

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k), or predicted targets (n, 1)."""
        return link(np.asarray(X, float) @ self.weights[:, :-1].T + self.weights[:, -1], self.task)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "linear", "task": self.task, "weights": self.weights.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> LinearScores:
        return cls(np.array(stored["weights"], float), str(stored["task"]))


@dataclass(frozen=True)
class DescentTrainer:
    """A linear model trained for release; ``loss`` is logistic, hinge or squared.

    Guarantee. Each training costs at most the base profile that it was calibrated for, one training record replaced.
    Clipped gradients are summed in whole numbers, exactly, and the noise is discrete Gaussian: nothing is assumed of
    floating point. Momentum, Adam and the averaging of weights work on noisy sums and cost nothing.
    Follows. Abadi et al. (2016) for noisy gradient descent; docs/proofs/private-training.md for the rest.
    Differs. By default every step takes all records, which costs exactly what one Gaussian mechanism of
    sqrt(steps) / sigma costs. A linear model then needs a hundred steps, not thousands.
    Edges. A row without a target adds nothing to a sum. Features are cut to [-64, 64].
    """

    assumptions: ClassVar[tuple[str, ...]] = ()
    premises: ClassVar[tuple[str, ...]] = ()
    loss: str = "logistic"
    optimiser: str = "momentum"
    lots: str = "all"

    def __post_init__(self) -> None:
        choice("loss", self.loss, tuple(LOSSES))
        choice("optimiser", self.optimiser, OPTIMISERS)
        choice("lots", self.lots, LOTS)

    @property
    def name(self) -> str:
        kind = {"logistic": "logistic regression", "hinge": "linear SVM", "squared": "ridge regression"}[self.loss]
        lots = {"all": "", "poisson": ", Poisson lots", "without_replacement": ", lots without replacement"}
        return kind + (", Adam" if self.optimiser == "adam" else "") + lots[self.lots]

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
            multiplier = math.sqrt(steps) / base.mu
        else:
            multiplier = float(noise_below(base.table, records=n, lot=lot, steps=steps, sampling=self.lots))
        s = replace(s, multiplier=multiplier)
        if not QUIETEST <= s.scale <= LOUDEST:
            raise BadInput(
                f"noise of {multiplier:.3g} times the clip is out of range; give a larger budget or fewer steps"
            )
        return s

    def profile(self, settings: Descent) -> Profile:
        if settings.sampling == "all":
            return GaussianProfile(math.sqrt(settings.steps) / settings.multiplier)
        s = settings
        return sampled_profile(noise=s.multiplier, records=s.records, lot=s.lot, steps=s.steps, sampling=s.sampling)

    def draws(self, settings: Descent, facts: Facts) -> int:
        """How many numbers one training draws."""
        return settings.steps * score_count(facts.outputs) * (facts.features + 1)

    def train(self, rows: EncodedRows, settings: Descent, facts: Facts, noise: Source) -> LinearScores:
        s, residual_of = settings, LOSSES[self.loss]
        known = rows.target >= 0 if self.task == CLASSES else np.isfinite(rows.target)
        whole, target = WholeRows.of(rows.X), np.where(known, rows.target, 0.0)
        weights = np.zeros((score_count(facts.outputs), facts.features + 1))
        update, mean, averaged = _Update(self.optimiser, s.rate, weights.shape), np.zeros_like(weights), 0
        with one_thread(), np.errstate(over="ignore"):
            for step, lot in enumerate(_lots(s)):
                residual = residual_of(whole.scores(weights, lot), target[lot])
                residual[~known[lot]] = 0.0
                total = s.counted.total(whole, residual, lot)
                weights -= update(add_noise(total, s.scale, noise) * (s.counted.unit / s.lot))
                if step >= s.steps // 2:
                    mean += weights
                    averaged += 1
        return LinearScores(mean / averaged, self.task)


class _Update:
    """The step to take along noisy gradients: momentum, or Adam."""

    def __init__(self, optimiser: str, rate: float, shape: tuple[int, int]) -> None:
        self.rate, self.adam, self.i = rate, optimiser == "adam", 0
        self.mean, self.square = np.zeros(shape), np.zeros(shape)

    def __call__(self, g: Floats) -> Floats:
        if not self.adam:
            self.mean = MOMENTUM * self.mean + g
            return self.rate * self.mean
        self.i += 1
        self.mean = BETA1 * self.mean + (1 - BETA1) * g
        self.square = BETA2 * self.square + (1 - BETA2) * g * g
        root = np.sqrt(self.square / (1 - BETA2**self.i)) + KAPPA
        return self.rate / (1 - BETA1**self.i) * self.mean / root


def add_noise(total: Floats, scale: float, noise: Source) -> Floats:
    """Whole numbers plus discrete Gaussian noise, (k, D): in bulk from the exact source, else as it draws them."""
    whole = total.astype(np.int64)
    if noise is EXACT:
        whole += gaussian_integers(scale, whole.shape)
    else:
        whole = noise.gaussian_whole_array(whole, scale)
    return whole.astype(float)


def _lots(s: Descent) -> Iterator[NDArray[np.intp] | slice]:
    """The records of each step, from the operating system's secure generator: which ones must stay secret."""
    for _ in range(s.steps):
        if s.sampling == "all":
            yield slice(None)
        elif s.sampling == "without_replacement":
            yield draw_lot(s.records, s.lot)
        else:
            yield draw_poisson_lot(s.records, s.lot / s.records)


LOGISTIC, SVM, RIDGE = DescentTrainer("logistic"), DescentTrainer("hinge"), DescentTrainer("squared")
LOGISTIC_LOTS = DescentTrainer("logistic", lots="without_replacement")
LOGISTIC_POISSON = DescentTrainer("logistic", optimiser="adam", lots="poisson")
