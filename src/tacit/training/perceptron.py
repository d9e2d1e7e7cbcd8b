"""Perceptrons by DP-SGD: exact sums, exact noise, lots without replacement; in single precision to be measured.

    a   features of a record, or what the layer before puts out, and a 1     L   clip
    e   derivatives of the record's loss by the outputs of a layer           m   records in a lot
    W   weights of a layer (in + 1, out), the constants' last                sigma   the noise on a sum is 2 L sigma

One record's gradient in a layer is the outer product a e, so its squared norm is the sum of |a|^2 |e|^2 over layers: no
gradient of a single record is formed ("ghost clipping"). All a are whole multiples of 2^-8; all e are shortened
together and cut towards 0 to whole multiples of 2^-b. The products that sum over a lot then add whole numbers below
2^52: exactly. With the seeded noise of a simulation, which is never released, all of it is in single precision.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
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
from tacit.privacy.profiles import Profile
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Float, Int, Params
from tacit.training.descent import LOUDEST, QUIETEST, add_noise
from tacit.training.linear_losses import LOSSES, link, score_count
from tacit.training.lots import LotSettings
from tacit.training.secret_lots import draw_lot, public_generator
from tacit.training.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts
from tacit.training.worst_pairs import replace_row

Floats = NDArray[Any]
INPUT_BITS, SUM_BITS = 8, 52
LARGEST_INPUT, LARGEST_HIDDEN = 64.0, 32.0  # of a coordinate
MOMENTUM = 0.9
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class PerceptronSettings:
    """The settings of one training: what ``PerceptronTrainer.calibrate`` gives."""

    records: int
    steps: int
    lot: int
    hidden: tuple[int, ...]
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
    """Weights of each layer (in + 1, out), the constants' last."""

    layers: tuple[Floats, ...]
    task: str

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k), or predicted targets (n, 1)."""
        *_, top = put_out(whole_inputs(X, self.layers[0].dtype), self.layers)
        return link(np.asarray(top @ self.layers[-1] * 2.0**-INPUT_BITS, float), self.task)

    def to_json(self) -> Json:
        return {"kind": "perceptron", "task": self.task, "layers": [weights.tolist() for weights in self.layers]}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> PerceptronScores:
        """Of this release, or of earlier ones, which had one hidden layer."""
        layers = stored["layers"] if "layers" in stored else (stored["first"], stored["second"])
        return cls(tuple(np.array(weights, float) for weights in layers), str(stored["task"]))


@dataclass(frozen=True)
class PerceptronTrainer:
    """Layers of ReLU units; ``task`` is classes or numbers. Without ``hidden`` there is one, whose size is searched.

    Guarantee. Each training costs at most the base profile that it was calibrated for, one training record replaced.
    Sums are exact and the noise is exact: nothing is assumed of floating point.
    Follows. Abadi et al. (2016); Goodfellow (2015) for norms of gradients that are never formed;
    docs/proofs/private-training.md for exactness, docs/proofs/subsampled-gaussian.md for the cost of lots.
    Differs. What a hidden layer puts out is cut at 32 and rounded to multiples of 2^-8. The released weights are the
    mean over the later steps, and the gradients have momentum, unless ``published``. Weights start from random numbers
    that no record touches.
    Edges. A row without a target adds nothing to a sum.
    """

    assumptions: ClassVar[tuple[str, ...]] = ()
    premises: ClassVar[tuple[str, ...]] = ()
    task: str = CLASSES
    hidden: tuple[int, ...] = ()
    published: bool = False

    def __post_init__(self) -> None:
        choice("task", self.task, (CLASSES, NUMBERS))

    @property
    def name(self) -> str:
        layers = " of " + " and ".join(map(str, self.hidden)) if self.hidden else ""
        return f"perceptron{layers}" if self.task == CLASSES else f"perceptron{layers}, numbers"

    def space(self, facts: Facts) -> Mapping[str, Any]:
        """Epochs, lot, hidden units, rate and clip."""
        least = min(facts.records, 128)
        return {
            "epochs": Int(2, 40, log=True),
            "lot": Int(least, max(least, facts.records // 4), log=True),
            **({} if self.hidden else {"hidden": Int(8, 64, log=True)}),
            "rate": Float(0.02, 1.0, log=True),
            "clip": Float(0.3, 3.0, log=True),
        }

    def calibrate(self, params: Params, facts: Facts, base: Base) -> PerceptronSettings:
        """The least noise with which a training stays below ``base``."""
        n, lot = facts.records, min(int(params["lot"]), facts.records)
        steps = max(1, round(int(params["epochs"]) * n / lot))
        rate, clip = float(params["rate"]), float(params["clip"])
        multiplier = float(noise_below(base.table, records=n, lot=lot, steps=steps))
        hidden = self.hidden or (int(params["hidden"]),)
        s = PerceptronSettings(n, steps, lot, hidden, rate, clip, math.inf)
        s = replace(s, multiplier=multiplier)
        if s.error_bits < 8 or not QUIETEST <= s.scale <= LOUDEST:
            raise BadInput(
                f"noise of {multiplier:.3g} times the clip is out of range; give a larger budget or fewer epochs"
            )
        return s

    def settle(self, params: Params, records: int) -> PerceptronSettings:
        """The settings at a point of a front, whose noise is a hyperparameter."""
        s = LotSettings.of(params, records)
        return PerceptronSettings(records, s.steps, s.lot, self.hidden, s.rate, s.clip, s.multiplier)

    def profile(self, settings: PerceptronSettings) -> Profile:
        s = settings
        return sampled_profile(noise=s.multiplier, records=s.records, lot=s.lot, steps=s.steps)

    def train(self, rows: EncodedRows, settings: PerceptronSettings, facts: Facts, noise: Source) -> PerceptronScores:
        s, k = settings, score_count(facts.outputs)
        residual_of = LOSSES["logistic" if self.task == CLASSES else "squared"]
        known = rows.target >= 0 if self.task == CLASSES else np.isfinite(rows.target)
        dtype = np.dtype(np.float32 if isinstance(noise, Simulation) else np.float64)
        x, target = whole_inputs(rows.X, dtype), np.where(known, rows.target, 0.0)
        theta, layers = first_weights((x.shape[1] - 1, *s.hidden, k), noise, dtype, top=self.published)
        mean, speed = np.zeros_like(theta), np.zeros_like(theta)
        averaged = 1 if self.published else s.steps - s.steps // 2
        with one_thread(), np.errstate(over="ignore", invalid="ignore"):
            for step in range(s.steps):
                lot = draw_lot(s.records, s.lot, noise)
                outputs = put_out(x[lot], layers)
                residual = residual_of(outputs[-1] @ layers[-1] * dtype.type(2.0**-INPUT_BITS), target[lot])
                residual[~known[lot]] = 0.0
                total = whole_sums(outputs, layers, residual.astype(dtype, copy=False), s)
                noisy = add_noise(total[None, :], s.scale, noise)[0] * (s.unit / s.lot)
                speed = noisy if self.published else MOMENTUM * speed + noisy
                theta -= s.rate * speed
                if step >= s.steps - averaged:
                    mean += theta
        mean /= averaged
        return PerceptronScores(tuple(w.copy() for w in as_layers(mean, [w.shape for w in layers])), self.task)

    def worst_pairs(self, base: Base) -> tuple[WorstPair, ...]:
        """A row whose long gradient, of both layers, turns round with its target."""
        params = {"epochs": 5, "lot": 1024, "hidden": 8, "rate": 30.0, "clip": 0.3}  # noise makes both layers matter
        several = () if self.published else (3,)  # with a random top layer a label turns no gradient of three classes
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
            for outputs in ((2, *several) if self.task == CLASSES else (1,))
        )


def whole_inputs(X: NDArray[Any], dtype: np.dtype[Any] = DOUBLE) -> Floats:
    """Features cut to [-64, 64] and a constant 1, as whole multiples of 2^-8, (n, D); missing ones are 0."""
    whole = np.ones((len(X), np.shape(X)[1] + 1), dtype)
    whole[:, :-1] = np.nan_to_num(np.asarray(X, dtype), nan=0.0)
    np.clip(whole, -LARGEST_INPUT, LARGEST_INPUT, out=whole)
    whole *= 2.0**INPUT_BITS
    return np.rint(whole, out=whole)


def put_out(x: Floats, layers: Sequence[Floats]) -> list[Floats]:
    """The inputs, then what each hidden layer puts out and a constant 1, as whole multiples of 2^-8, (m, out + 1)."""
    outputs = [x]
    for weights in layers[:-1]:
        h = np.full((len(x), weights.shape[1] + 1), 2.0**INPUT_BITS, x.dtype)
        inner = np.nan_to_num(outputs[-1] @ weights, copy=False, nan=0.0)  # already in units of 2^-8
        np.rint(np.clip(inner, 0.0, LARGEST_HIDDEN * 2.0**INPUT_BITS, out=inner), out=h[:, :-1])
        outputs.append(h)
    return outputs


def whole_sums(outputs: Sequence[Floats], layers: Sequence[Floats], residual: Floats, s: PerceptronSettings) -> Floats:
    """The sum over a lot of clipped gradients, whole numbers of ``unit``, laid out layer by layer, flat.

    Guarantee. One record adds a vector of whole numbers whose L2 norm is at most clip / unit: the norm is that of
    whole a, ``shy`` covers the roundings of its terms, and errors are cut towards 0 after they were shortened.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        errors = [residual]
        for weights, h in zip(layers[:0:-1], outputs[:0:-1], strict=True):
            errors.insert(0, (errors[0] @ weights[:-1].T) * (h[:, :-1] > 0))
        square = sum(_squares(e) * _squares(a) for e, a in zip(errors, outputs, strict=True))
        widths = sum(a.shape[1] for a in outputs) + residual.shape[1]
        shy = 1 - (widths + 64) * 2.0**-52
        norm = np.sqrt(square) * 2.0**-INPUT_BITS
        share = np.minimum(1.0, shy * s.clip / np.maximum(norm, np.finfo(norm.dtype).tiny))[:, None] * 2.0**s.error_bits
        cut = [np.trunc(np.nan_to_num(e * share, copy=False, nan=0.0, posinf=0.0, neginf=0.0)) for e in errors]
    return np.concatenate([(a.T @ e).ravel() for a, e in zip(outputs, cut, strict=True)])


def first_weights(
    sizes: Sequence[int], noise: Source, dtype: np.dtype[Any] = DOUBLE, *, top: bool = False
) -> tuple[Floats, list[Floats]]:
    """Random weights (He et al. 2015), flat and as layers of them, constants 0. No record has a part in them.

    Those of the scores are 0 unless ``top``.
    """
    shapes = [(i + 1, o) for i, o in itertools.pairwise(sizes)]
    theta = np.zeros(sum(i * o for i, o in shapes), dtype)
    layers, public = as_layers(theta, shapes), public_generator(noise)
    for weights in layers if top else layers[:-1]:
        weights[:-1] = public.normal(0.0, math.sqrt(2 / (len(weights) - 1)), (len(weights) - 1, weights.shape[1]))
    return theta, layers


def as_layers(theta: Floats, shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    """Views of a flat vector."""
    ends = np.cumsum([i * o for i, o in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(theta, ends[:-1]), shapes, strict=True)]


def _squares(rows: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


MLP, MLP_NUMBERS = PerceptronTrainer(CLASSES), PerceptronTrainer(NUMBERS)
MLP_1000 = PerceptronTrainer(hidden=(1000,), published=True)
MLP_128_64 = PerceptronTrainer(hidden=(128, 64), published=True)
