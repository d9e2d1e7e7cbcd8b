"""What Kusner et al.'s algorithms share: the problem, its public prior, private scores, and paying before drawing."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.errors import BadInput, ExcessiveNoise, choice, positive, real, type_and_shape
from tacit.files import Json
from tacit.gp.exact import GaussianProcess
from tacit.gp.kernels import RBF, Kernel, Matern52
from tacit.methods.kusner import constants as k
from tacit.methods.privacy_unit import premises_of, unit_of
from tacit.methods.task import Task
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import SIMULATED, Exponential, Laplace
from tacit.privacy.origin import PAID, describe_origin
from tacit.privacy.release import Payment, Release, digest
from tacit.space import Array, Params

KERNELS: dict[str, type[Kernel]] = {"matern52": Matern52, "rbf": RBF}
NEARLY = 0.75  # a choice expected to keep this share of a uniform choice's regret is refused unless accepted
LOUD = 0.1  # so is a score of Algorithm 3 whose noise exceeds this share of the bounds' width
BEST_TRIED = "the best score among those tried, with Laplace noise; not that of these parameters"
AVERAGE = (
    "the probability is over such functions and their observation noise, for one fixed pair of neighbours: "
    "average-case, not over the mechanism's coins alone"
)


class NearlyUniform(UserWarning):
    """The release will say little: the noise needed is as large as what it hides."""


@dataclass(frozen=True, repr=False)
class FiniteSearch:
    """A task for one of the algorithms, over listed candidates, with their features ``points`` (candidates, d)."""

    method: str
    task: Task
    candidates: Sequence[Params]
    points: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", self.task.space.features(self.candidates))


@dataclass(frozen=True)
class FunctionPrior:
    """Public facts of the model: f is ``mean`` + ``scale`` times a Gaussian process of unit variance."""

    kernel: Kernel
    mean: float
    scale: float
    name: str

    @classmethod
    def of(
        cls, p: FiniteSearch, kernel: str, lengthscale: Any, mean: float | None, scale: float | None
    ) -> FunctionPrior:
        low, high = p.task.objective.bounds
        d = p.points.shape[1]
        lengths = np.asarray(0.3 * math.sqrt(d) if lengthscale is None else lengthscale)
        if lengths.dtype.kind not in "fiu" or lengths.shape not in ((), (d,)):
            raise BadInput(
                f"lengthscale must be a number or {d} of them, one per feature, got {type_and_shape(lengths)}"
            )
        scales = tuple(np.broadcast_to(lengths, (d,)).tolist())
        result = KERNELS[choice("kernel", kernel, tuple(KERNELS))](scales)
        centre = (low + high) / 2 if mean is None else real("prior_mean", mean)
        if not low <= centre <= high:  # far away, rounding alone would move scores by more than a record can
            raise BadInput(
                f"prior_mean must lie within the bounds, got prior_mean={centre:g}, bounds=({low:g}, {high:g})"
            )
        return cls(result, centre, (high - low) / 4 if scale is None else positive("prior_scale", scale), kernel)

    def process(self, p: FiniteSearch, variance: float = 0.0) -> GaussianProcess:
        return GaussianProcess(self.kernel, noise=variance, candidates=p.points, capacity=p.task.trials)

    def __str__(self) -> str:
        lengths = ", ".join(f"{l:.4g}" for l in sorted(set(self.kernel.lengthscales)))
        return f"prior mean {self.mean:.6g}, prior sd {self.scale:.6g}, {self.name} kernel of length-scale {lengths}"


class Scores:
    """The mean score of a candidate, in prior sd above the prior mean, larger is better. Private; never printed."""

    def __init__(self, p: FiniteSearch, prior: FunctionPrior) -> None:
        o, width = p.task.objective, p.task.objective.bounds[1] - p.task.objective.bounds[0]
        self._mean = BoundedMean(o.records, o.bounds, scale=1e-3 * width, higher_is_better=o.higher_is_better)
        self._p, self._prior, self._known = p, prior, dict[int, float]()
        self._sign = 1.0 if o.higher_is_better else -1.0

    def __call__(self, i: int) -> float:
        if i not in self._known:
            losses = self._p.task.objective.losses(dict(self._p.candidates[i]))
            above = self._mean.above_low(self._mean.total(losses))  # bounds far from 0 would round a mean itself
            offset = self._p.task.objective.bounds[0] - self._prior.mean
            self._known[i] = self._sign * (above + offset) / self._prior.scale
        return self._known[i]


def halve_budget(p: FiniteSearch) -> tuple[float, float]:
    """(epsilon, delta) of each of the two releases."""
    return p.task.price.amount / 2, p.task.price.delta / 2


def correlation(p: FiniteSearch, prior: FunctionPrior, k1: float | None) -> float:
    """k1: as given, or from how far one record can move a mean of bounded losses."""
    low, high = p.task.objective.bounds
    return k.data_kernel(p.task.objective.records, high - low, prior.scale) if k1 is None else real("k1", k1)


def state_conditional(
    p: FiniteSearch, c: k.Constants, prior: FunctionPrior, source: str, algorithm: int, *more: str
) -> Guarantee:
    """The guarantee of both releases of Algorithm 1 or 2, with everything it rests on."""
    model = (
        "the validation function is a draw from a known Gaussian process over data sets and hyperparameters: "
        f"{prior}, correlation k1 = {c.k1:.9g} between neighbouring data sets"
    )
    spent = c.failures(algorithm)
    short = (
        f"the constants as published ({c.version}) are large enough; they do not add up: the events they must rule out "
        f"are bounded by {min(1.0, spent['sum']):.3g} in all, where delta allows {spent['allowed']:.3g}"
    )
    doubt = (short,) if spent["sum"] > spent["allowed"] * (1 + 1e-9) else ()
    source = f"Kusner et al. 2015, {source}, composed; constants: {c.version}"
    return state_guarantee(p, (model, AVERAGE, *more, *doubt), source)


def state_guarantee(p: FiniteSearch, assumptions: tuple[str, ...], source: str) -> Guarantee:
    """What a search guarantees; nothing if its noise is simulated."""
    basis = p.task.objective.basis
    if p.task.noise.simulated:
        return Guarantee.none(SIMULATED, unit_of(basis))
    return Guarantee(p.task.price, unit_of(basis), assumptions, source, premises=premises_of(basis))


def assess(
    p: FiniteSearch, c: k.Constants, prior: FunctionPrior, pick: Exponential, blur: Laplace, algorithm: int
) -> Json:
    """What the release can be worth, from public numbers alone; refuses a nearly uniform choice unless accepted."""
    regret, uniform = k.prior_regret(prior.kernel, p.points, pick.scale)
    deviation = math.sqrt(2) * blur.scale
    sentence = (
        f"the choice among {len(p.candidates)} candidates hides a change of {pick.sensitivity:.3g} prior sd: at best "
        f"its expected regret is about {regret:.2g} prior sd, where choosing blindly has {uniform:.2g}; the score "
        f"carries Laplace noise of sd {deviation:.3g} prior sd"
    )
    refuse_or_warn(p, regret > NEARLY * uniform, sentence)
    expected = {"expected_regret": regret, "uniform_regret": uniform, "score_noise": deviation, "sentence": sentence}
    about = {"beta": c.beta(p.task.trials + 1), "c": c.c, "k1": c.k1, "prior": str(prior)}
    about |= {"q": c.q, "observation_noise": c.sigma**2} if algorithm == 1 else {}
    scales = {"choice_sensitivity": pick.sensitivity, "score_sensitivity": blur.sensitivity}
    return {"constants": c.version, **about, **scales, "failure": c.failures(algorithm), "outlook": expected}


def refuse_or_warn(p: FiniteSearch, bad: bool, sentence: str) -> None:
    """Refuse what is nearly noise, or warn about it once it is accepted. Nothing private was touched yet."""
    if bad and not p.task.accept_noise:
        raise ExcessiveNoise(
            f"this would say next to nothing: {sentence}. Use a larger epsilon, method 'observed', or accept it with "
            "accept_noise=True (--yes). Nothing was spent"
        )
    if bad:
        warnings.warn(sentence, NearlyUniform, stacklevel=4)


def pay_if_refused(p: FiniteSearch, guarantee: Guarantee) -> Payment | None:
    """Refuse now what the ledger would refuse later, before anything is evaluated."""
    if p.task.ledger is None or p.task.ledger.can_afford(guarantee):
        return None
    return p.task.ledger.charge(
        guarantee, f"{p.method}: {p.task.trials} trials"
    )  # raises, unless someone just gave room


def release(
    p: FiniteSearch,
    guarantee: Guarantee,
    payment: Payment | None,
    prior: FunctionPrior,
    details: Json,
    score: tuple[Laplace, float],
    choice: tuple[Exponential, Array] | None,
) -> Release[Tuned]:
    """Debit and commit, then draw the parameters and the score, then record what was drawn."""
    blur, value = score[0], score[0].prepare(score[1])
    means = choice[0].prepare(choice[1]) if choice else None
    if p.task.ledger is not None and payment is None:
        payment = p.task.ledger.charge(guarantee, f"{p.method}: {p.task.trials} trials")
    params = dict(p.candidates[choice[0].draw(means)]) if choice else {}
    sign = 1.0 if p.task.objective.higher_is_better else -1.0
    shown = prior.mean + sign * prior.scale * float(blur.draw(value))
    deviation = math.sqrt(2) * blur.scale * prior.scale
    tuned = Tuned(
        params,
        shown,
        p.method,
        p.task.objective.direction,
        deviation=deviation,
        details={"score": BEST_TRIED, **details},
        reading=p.task.objective.reading,
    )
    if p.task.ledger is not None and payment is not None:
        p.task.ledger.settle(payment, digest(tuned))
    data = p.task.data.seal() if p.task.data is not None else None
    about = describe_origin(guarantee, chosen=PAID, data=data, ledger=p.task.ledger)
    return Release(tuned, guarantee, payment, about)
