"""A perceptron with one hidden layer by DP-SGD, for release: exact sums, exact noise, lots without replacement.

    x   features of a record and a constant 1          e   derivatives of its loss by the outputs of a layer
    h   what the hidden layer puts out, and a 1        L   clip
    m   records in a lot                               sigma   the noise on a sum has deviation 2 L sigma

One record's gradient is the outer products x e1 and h e2, so its squared norm is |x|^2 |e1|^2 + |h|^2 |e2|^2: no
gradient of a single record is formed ("ghost clipping"). x and h are whole multiples of 2^-8; e1 and e2 are shortened
together and cut towards 0 to whole multiples of 2^-b. The products that sum over a lot then add whole numbers below
2^52: exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import noise_below, sampled_profile
from tacit.errors import BadInput, choice
from tacit.gp.threads import one_thread
from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import Source
from tacit.privacy.profiles import Profile
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Float, Int, Params
from tacit.training.descent import LOUDEST, QUIETEST, add_noise
from tacit.training.linear_losses import LOSSES, link, score_count
from tacit.training.secret_lots import draw_lot, public_generator
from tacit.training.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts
from tacit.training.worst_pairs import replace_row

Floats = NDArray[np.float64]
INPUT_BITS, SUM_BITS = 8, 52
LARGEST_INPUT, LARGEST_HIDDEN = 64.0, 32.0  # of a coordinate
MOMENTUM = 0.9


@dataclass(frozen=True)
class PerceptronSettings:
    """The settings of one training: what ``PerceptronTrainer.calibrate`` gives."""

    records: int
    steps: int
    lot: int
    hidden: int
    rate: float
    clip: float
    multiplier: float  # sigma

    @property
    def error_bits(self) -> int:
        """b: as many as keep lot * L * 2^(8 + b) below 2^52, and at most 30."""
        return min(30, SUM_BITS - INPUT_BITS - math.ceil(math.log2(self.lot)) - math.ceil(math.log2(self.clip)))

    @property
    def unit(self) -> float:
        return 2.0 ** -(INPUT_BITS + self.error_bits)

    @property
    def scale(self) -> float:
        """Standard deviation of the noise on a sum, in whole numbers."""
        return 2 * self.clip * self.multiplier / self.unit * ABOVE


@dataclass(frozen=True)
class PerceptronScores:
    """Weights of the hidden layer (D, hidden) and of the scores (hidden + 1, k), the constants' last."""

    first: Floats
    second: Floats
    task: str

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k), or predicted targets (n, 1)."""
        h = activate(whole_inputs(X), self.first)
        return link(h @ self.second * 2.0**-INPUT_BITS, self.task)

    def to_json(self) -> dict[str, Any]:
        weights = {"first": self.first.tolist(), "second": self.second.tolist()}
        return {"kind": "perceptron", "task": self.task, **weights}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> PerceptronScores:
        return cls(np.array(stored["first"], float), np.array(stored["second"], float), str(stored["task"]))


@dataclass(frozen=True)
class PerceptronTrainer:
    """One hidden layer of ReLU units trained for release; ``task`` is classes or numbers.

    Guarantee. Each training costs at most the base profile that it was calibrated for, one training record replaced.
    Sums are exact and the noise is exact: nothing is assumed of floating point.
    Follows. Abadi et al. (2016); Goodfellow (2015) for norms of gradients that are never formed;
    docs/proofs/private-training.md for exactness, docs/proofs/subsampled-gaussian.md for the cost of lots.
    Differs. What the hidden layer puts out is cut at 32 and rounded to multiples of 2^-8. The released weights are the
    mean over the later steps. Weights start from random numbers that no record touches.
    Edges. A row without a target adds nothing to a sum.
    """

    assumptions: ClassVar[tuple[str, ...]] = ()
    premises: ClassVar[tuple[str, ...]] = ()
    task: str = CLASSES

    def __post_init__(self) -> None:
        choice("task", self.task, (CLASSES, NUMBERS))

    @property
    def name(self) -> str:
        return "perceptron" if self.task == CLASSES else "perceptron, numbers"

    def space(self, facts: Facts) -> Mapping[str, Any]:
        """Epochs, lot, hidden units, rate and clip."""
        least = min(facts.records, 128)
        return {
            "epochs": Int(2, 40, log=True),
            "lot": Int(least, max(least, facts.records // 4), log=True),
            "hidden": Int(8, 64, log=True),
            "rate": Float(0.02, 1.0, log=True),
            "clip": Float(0.3, 3.0, log=True),
        }

    def calibrate(self, params: Params, facts: Facts, base: Base) -> PerceptronSettings:
        """The least noise with which a training stays below ``base``."""
        n, lot = facts.records, min(int(params["lot"]), facts.records)
        steps = max(1, round(int(params["epochs"]) * n / lot))
        rate, clip = float(params["rate"]), float(params["clip"])
        multiplier = float(noise_below(base.table, records=n, lot=lot, steps=steps))
        s = PerceptronSettings(n, steps, lot, int(params["hidden"]), rate, clip, math.inf)
        s = replace(s, multiplier=multiplier)
        if s.error_bits < 8 or not QUIETEST <= s.scale <= LOUDEST:
            raise BadInput(
                f"noise of {multiplier:.3g} times the clip is out of range; give a larger budget or fewer epochs"
            )
        return s

    def profile(self, settings: PerceptronSettings) -> Profile:
        s = settings
        return sampled_profile(noise=s.multiplier, records=s.records, lot=s.lot, steps=s.steps)

    def train(self, rows: EncodedRows, settings: PerceptronSettings, facts: Facts, noise: Source) -> PerceptronScores:
        s, k = settings, score_count(facts.outputs)
        residual_of = LOSSES["logistic" if self.task == CLASSES else "squared"]
        known = rows.target >= 0 if self.task == CLASSES else np.isfinite(rows.target)
        x, target = whole_inputs(rows.X), np.where(known, rows.target, 0.0)
        D, H = x.shape[1], s.hidden
        theta = np.concatenate([first_weights(D, H, noise).ravel(), np.zeros((H + 1) * k)])
        mean, speed = np.zeros_like(theta), np.zeros_like(theta)
        with one_thread(), np.errstate(over="ignore", invalid="ignore"):
            for step in range(s.steps):
                lot = draw_lot(s.records, s.lot, noise)
                first, second = theta[: D * H].reshape(D, H), theta[D * H :].reshape(H + 1, k)
                a = x[lot]
                h = activate(a, first)
                residual = residual_of(h @ second * 2.0**-INPUT_BITS, target[lot])
                residual[~known[lot]] = 0.0
                total = whole_sums(a, h, second, residual, s)
                noisy = add_noise(total[None, :], s.scale, noise)[0] * (s.unit / s.lot)
                speed = MOMENTUM * speed + noisy
                theta = theta - s.rate * speed
                if step >= s.steps // 2:
                    mean += theta
        mean /= s.steps - s.steps // 2
        return PerceptronScores(mean[: D * H].reshape(D, H), mean[D * H :].reshape(H + 1, k), self.task)

    def worst_pairs(self, base: Base) -> tuple[WorstPair, ...]:
        """A row whose long gradient, of both layers, turns round with its target."""
        params = {"epochs": 5, "lot": 1024, "hidden": 8, "rate": 30.0, "clip": 0.3}  # noise makes both layers matter
        return tuple(
            replace_row(
                self,
                base,
                params,
                (((1.0, 1.0), 1.0), ((1.0, 1.0), 0.0 if self.task == CLASSES else -1.0)),
                about="the target of a row with a clipped gradient is turned",
                outputs=outputs,
                share=0.917,
            )
            for outputs in ((2, 3) if self.task == CLASSES else (1,))
        )


def whole_inputs(X: NDArray[np.float64]) -> Floats:
    """Features cut to [-64, 64] and a constant 1, as whole multiples of 2^-8, (n, D); missing ones are 0."""
    whole = np.ones((len(X), np.shape(X)[1] + 1))
    whole[:, :-1] = np.nan_to_num(np.asarray(X, float), nan=0.0)
    np.clip(whole, -LARGEST_INPUT, LARGEST_INPUT, out=whole)
    return np.rint(whole * 2.0**INPUT_BITS)


def activate(x: Floats, first: Floats) -> Floats:
    """What the hidden layer puts out and a constant 1, as whole multiples of 2^-8, (m, hidden + 1)."""
    h = np.full((len(x), first.shape[1] + 1), 2.0**INPUT_BITS)
    inner = np.nan_to_num(x @ first, nan=0.0)  # already in units of 2^-8
    h[:, :-1] = np.rint(np.clip(inner, 0.0, LARGEST_HIDDEN * 2.0**INPUT_BITS))
    return h


def whole_sums(x: Floats, h: Floats, second: Floats, residual: Floats, s: PerceptronSettings) -> Floats:
    """The sum over a lot of clipped gradients, whole numbers of ``unit``, laid out as first and second layer, flat.

    Guarantee. One record adds a vector of whole numbers whose L2 norm is at most clip / unit: the norm is that of
    whole x and h, ``shy`` covers the roundings of its terms, and errors are cut towards 0 after they were shortened.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        e1 = (residual @ second[:-1].T) * (h[:, :-1] > 0)
        square = _squares(e1) * _squares(x) + _squares(residual) * _squares(h)
        shy = 1 - (x.shape[1] + h.shape[1] + residual.shape[1] + 64) * 2.0**-52
        norm = np.sqrt(square) * 2.0**-INPUT_BITS
        kept = np.minimum(1.0, shy * s.clip / np.maximum(norm, 1e-300))[:, None] * 2.0**s.error_bits
        cut = [np.trunc(np.nan_to_num(e * kept, nan=0.0, posinf=0.0, neginf=0.0)) for e in (e1, residual)]
    return np.concatenate([(x.T @ cut[0]).ravel(), (h.T @ cut[1]).ravel()])


def first_weights(inputs: int, hidden: int, noise: Source) -> Floats:
    """Random weights for the hidden layer, the constant's 0: He et al. (2015). No record has a part in them."""
    weights = public_generator(noise).normal(0.0, math.sqrt(2 / inputs), (inputs, hidden))
    weights[-1] = 0.0
    return weights


def _squares(rows: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


MLP, MLP_NUMBERS = PerceptronTrainer(CLASSES), PerceptronTrainer(NUMBERS)
