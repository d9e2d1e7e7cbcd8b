"""Any torch network by DP-SGD through Opacus, for release. Needs the extra ``torch``.

    m   records in a lot          L       clip
    T   steps                     sigma   the noise on a sum of clipped gradients has deviation 2 L sigma

Opacus gives each record's gradient, clips it and adds the lot up, in floating point. The sum is rounded to a lattice of
2^-30 L, and the noise on it is exact, from a cryptographic generator.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import noise_below, sampled_profile
from tacit.errors import BadInput, choice, extra
from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import Source
from tacit.privacy.profiles import Profile
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Float, Int, Params
from tacit.training.dense import DenseScores, TorchScores
from tacit.training.descent import LOUDEST, add_noise
from tacit.training.linear_losses import score_count
from tacit.training.secret_lots import draw_lot, draw_poisson_lot, public_generator
from tacit.training.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts
from tacit.training.worst_pairs import FAR, replace_row

PURPOSE = "training a torch network"
STEP = 2.0**-30  # of the lattice, in clips
LARGEST_INPUT = 64.0
FLOATS = "torch and Opacus clip and add up gradients in floating point, whose roundings are taken to hide nothing"
OWN_NETWORK = "the network treats every record by itself (Opacus refuses layers that it knows do not)"


@dataclass(frozen=True)
class TorchSettings:
    """The settings of one training: what ``TorchTrainer.calibrate`` gives."""

    records: int
    steps: int
    lot: int
    hidden: int
    rate: float
    clip: float
    multiplier: float  # sigma
    sampling: str

    @property
    def scale(self) -> float:
        """Standard deviation of the noise on a sum, in steps of the lattice, without the room for rounding to it."""
        return 2 * self.multiplier / STEP * ABOVE


@dataclass(frozen=True)
class TorchTrainer:
    """A torch network trained for release. ``make(features, scores)`` gives a fresh module, of the user's own if given.

    Without ``make``: one hidden layer of tanh units, whose number is searched. The module takes features (m, features)
    to scores (m, scores): one score for two classes or a number, else one for each class.

    Guarantee. Each training costs at most the base profile that it was calibrated for, one training record replaced.
    Assumption, on the certificate: torch and Opacus clip and sum in floating point. The noise is exact, from
    a cryptographic generator; lots are secret, and accounted tightly.
    Follows. Abadi et al. (2016), by Opacus's gradients of single records; docs/proofs/subsampled-gaussian.md.
    Differs. Lots without replacement for one record replaced, not Poisson lots for one added or removed (``lots`` may
    be "poisson", accounted for one record replaced too). The noise is not torch's. The released weights are the mean
    over the later steps.
    Edges. MissingExtra without torch and Opacus. A row without a target adds nothing to a sum.
    """

    assumptions: ClassVar[tuple[str, ...]] = (FLOATS,)
    needs: ClassVar[tuple[str, ...]] = ("torch", "opacus")

    make: Callable[[int, int], Any] | None = None
    task: str = CLASSES
    lots: str = "without_replacement"

    def __post_init__(self) -> None:
        choice("task", self.task, (CLASSES, NUMBERS))
        choice("lots", self.lots, ("without_replacement", "poisson"))

    @property
    def name(self) -> str:
        return "torch network" if self.task == CLASSES else "torch network, numbers"

    @property
    def premises(self) -> tuple[str, ...]:
        return () if self.make is None else (OWN_NETWORK,)

    def space(self, facts: Facts) -> Mapping[str, Any]:
        """Epochs, lot, rate and clip, and the hidden units of the usual network."""
        least = min(facts.records, 128)
        shared = {
            "epochs": Int(2, 40, log=True),
            "lot": Int(least, max(least, facts.records // 4), log=True),
            "rate": Float(0.05, 2.0, log=True),
            "clip": Float(0.3, 3.0, log=True),
        }
        return shared if self.make is not None else {**shared, "hidden": Int(8, 64, log=True)}

    def calibrate(self, params: Params, facts: Facts, base: Base) -> TorchSettings:
        """The least noise with which a training stays below ``base``."""
        for library in self.needs:
            extra(library, "torch", PURPOSE)
        n, lot = facts.records, min(int(params["lot"]), facts.records)
        steps = max(1, round(int(params["epochs"]) * n / lot))
        multiplier = float(noise_below(base.table, records=n, lot=lot, steps=steps, sampling=self.lots))
        rate, clip, hidden = float(params["rate"]), float(params["clip"]), int(params.get("hidden", 0))
        s = TorchSettings(n, steps, lot, hidden, rate, clip, multiplier, self.lots)
        if not s.scale <= LOUDEST:
            raise BadInput(f"noise of {multiplier:.3g} times the clip is out of range; give a larger budget")
        return s

    def profile(self, settings: TorchSettings) -> Profile:
        s = settings
        return sampled_profile(noise=s.multiplier, records=s.records, lot=s.lot, steps=s.steps, sampling=s.sampling)

    def train(self, rows: EncodedRows, settings: TorchSettings, facts: Facts, noise: Source) -> Any:
        torch, s = extra("torch", "torch", PURPOSE), settings
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Opacus's hooks; and a warning might tell of a row
            torch.manual_seed(
                int(public_generator(noise).integers(2**63))
            )  # of first weights and of dropout, which no record touches
            module = self._module(facts, s)
            blank = copy.deepcopy(module)  # has seen no record
            known = rows.target >= 0 if self.task == CLASSES else np.isfinite(rows.target)
            X = torch.as_tensor(whole_features(rows.X), dtype=torch.float32)
            target = torch.as_tensor(np.where(known, rows.target, 0.0))
            self._descend(module, X, target, torch.as_tensor(known.astype(np.float32)), s, noise)
            take_parameters(blank, module)
        return DenseScores.of(blank, self.task) or TorchScores(blank.eval(), self.task)

    def _module(self, facts: Facts, s: TorchSettings) -> Any:
        torch, k = extra("torch", "torch", PURPOSE), score_count(facts.outputs)
        if self.make is None:
            linear = torch.nn.Linear
            return torch.nn.Sequential(linear(facts.features, s.hidden), torch.nn.Tanh(), linear(s.hidden, k))
        module = self.make(facts.features, k)
        wrong = extra("opacus", "torch", PURPOSE).validators.ModuleValidator.validate(module, strict=False)
        if wrong:
            raise BadInput(
                f"Opacus cannot train this network record by record: {type(wrong[0]).__name__}. Replace layers that "
                "mix records, such as BatchNorm, for example by GroupNorm. Nothing was spent"
            )
        return module

    def _descend(self, module: Any, X: Any, target: Any, known: Any, s: TorchSettings, noise: Source) -> None:
        """T noisy steps; leaves the mean over the later ones in the module."""
        torch, opacus = extra("torch", "torch", PURPOSE), extra("opacus", "torch", PURPOSE)
        wrapped = opacus.GradSampleModule(module.train())
        inner = torch.optim.SGD(module.parameters(), lr=s.rate, momentum=0.9)
        optimiser = exact_optimiser()(
            inner, noise_multiplier=2 * s.multiplier, max_grad_norm=s.clip, expected_batch_size=s.lot
        )
        optimiser.source, optimiser.settings = noise, s
        mean = [torch.zeros_like(p, dtype=torch.float64) for p in module.parameters()]
        for step in range(s.steps):
            lot = torch.as_tensor(_draw(s, noise))
            optimiser.zero_grad()
            if len(lot):
                (self._losses(wrapped(X[lot]), target[lot]) * known[lot]).mean().backward()
            else:
                optimiser.forget_records()
            optimiser.step()
            if step >= s.steps // 2:
                for total, p in zip(mean, module.parameters(), strict=True):
                    total += p.detach()
        with torch.no_grad():
            for total, p in zip(mean, module.parameters(), strict=True):
                p.copy_(total / (s.steps - s.steps // 2))
        wrapped.remove_hooks()

    def _losses(self, scores: Any, target: Any) -> Any:
        """One for each record: log-loss, or half the squared error."""
        functional = extra("torch.nn.functional", "torch", PURPOSE)
        if self.task == NUMBERS:
            return (scores[:, 0] - target.float()) ** 2 / 2
        if scores.shape[1] == 1:
            return functional.binary_cross_entropy_with_logits(scores[:, 0], target.float(), reduction="none")
        return functional.cross_entropy(scores, target.long(), reduction="none")

    def worst_pairs(self, base: Base) -> tuple[WorstPair, ...]:
        """A row whose long gradient turns round with its target."""
        params = {"epochs": 5, "lot": 1024, "hidden": 8, "rate": 0.05, "clip": 0.3}
        outputs, other = (2, 0.0) if self.task == CLASSES else (1, -1.0)
        about, rows = "the target of a row with a clipped gradient is turned", (((FAR, FAR), 1.0), ((FAR, FAR), other))
        return (replace_row(self, base, params, rows, about=about, outputs=outputs, share=0.917),)


@cache
def exact_optimiser() -> Any:
    """Opacus's optimiser with noise of ours."""
    torch, optimizers = extra("torch", "torch", PURPOSE), extra("opacus.optimizers", "torch", PURPOSE)

    class ExactOptimiser(optimizers.DPOptimizer):  # type: ignore[misc, name-defined]
        source: Source
        settings: TorchSettings

        def forget_records(self) -> None:
            """For an empty lot: no gradients, so a step of noise alone."""
            for p in self.params:
                p.grad_sample = torch.zeros((0, *p.shape), dtype=p.dtype)

        def clip_and_accumulate(self) -> None:
            """Gradients that are no numbers count as 0, record by record."""
            for p in self.params:
                good = torch.isfinite(p.grad_sample.reshape(len(p.grad_sample), p.numel())).all(dim=1)
                p.grad_sample = torch.where(
                    good.reshape(-1, *[1] * (p.grad_sample.dim() - 1)), p.grad_sample, torch.zeros_like(p.grad_sample)
                )
            super().clip_and_accumulate()

        def add_noise(self) -> None:
            """Round to the lattice and add whole noise. Rounding n coordinates moves a sum by at most sqrt(n) / 2."""
            s, unit = self.settings, STEP * self.max_grad_norm
            room = 1 + math.sqrt(sum(p.numel() for p in self.params)) * STEP
            for p in self.params:
                whole = np.rint(p.summed_grad.detach().double().numpy().ravel() / unit)
                noisy = add_noise(whole[None, :], s.scale * room, self.source)[0] * unit
                p.grad = torch.as_tensor(noisy, dtype=p.dtype).view_as(p)
                p.summed_grad._processed = True

    return ExactOptimiser


def take_parameters(blank: Any, trained: Any) -> None:
    """Copy the parameters, which are all that the noise covers, into a module that no record has touched.

    The trained one keeps each record's gradient of its last lot beside its parameters (Opacus), and whatever else its
    layers remember of what passed through them: all that would be in a pickle of it.
    """
    torch = extra("torch", "torch", PURPOSE)
    with torch.no_grad():
        for empty, full in zip(blank.parameters(), trained.parameters(), strict=True):
            empty.copy_(full)


def whole_features(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Features cut to [-64, 64]; missing ones are 0."""
    return np.asarray(np.clip(np.nan_to_num(np.asarray(X, float), nan=0.0), -LARGEST_INPUT, LARGEST_INPUT))


def _draw(s: TorchSettings, noise: Source) -> NDArray[np.intp]:
    if s.sampling == "poisson":
        return draw_poisson_lot(s.records, s.lot / s.records, noise)
    return draw_lot(s.records, s.lot, noise)


TORCH, TORCH_NUMBERS = TorchTrainer(), TorchTrainer(task=NUMBERS)
