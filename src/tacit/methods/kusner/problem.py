"""What Kusner et al.'s algorithms share: the problem, its public prior, private scores, and paying before drawing."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import BadInput, choice, count, described, positive, real
from tacit.gp.exact import GaussianProcess
from tacit.gp.kernels import RBF, Kernel, Matern52
from tacit.methods.kusner import constants as k
from tacit.methods.observed import UNIT
from tacit.methods.tuned import Tuned
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import SIMULATED, Exponential, Laplace
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import Payment, Release, digest
from tacit.space import Array, Params, Space

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

KERNELS: dict[str, type[Kernel]] = {"matern52": Matern52, "rbf": RBF}
NEARLY = 0.75  # a choice expected to keep this share of a uniform choice's regret is refused unless accepted
LOUD = 0.1  # so is a score of Algorithm 3 whose noise exceeds this share of the bounds' width
AVERAGE = (
    "the probability is over such functions and their observation noise, for one fixed pair of neighbours: "
    "average-case, not over the mechanism's coins alone"
)


class NearlyUniform(UserWarning):
    """The release will say little: the noise needed is as large as what it hides."""


@dataclass(frozen=True, repr=False)
class Problem:
    """What is tuned, over which candidates, and who pays."""

    method: str
    objective: Objective
    space: Space
    listed: Sequence[Params]
    trials: int
    budget: Budget
    ledger: Ledger | None = None
    noise: Source = EXACT
    accepted: bool = False
    points: Array = field(init=False)

    def __post_init__(self) -> None:
        count("trials", self.trials)
        if not isinstance(self.budget, Budget):
            raise BadInput(f"method {self.method!r} needs a budget, such as tacit.Budget.approximate(1.0, 1e-6)")
        if self.ledger is not None and self.noise.simulated:
            raise BadInput("simulated noise has no guarantee, so it is not charged to a ledger; leave out one of them")
        object.__setattr__(self, "points", self.space.features(self.listed))


@dataclass(frozen=True)
class Prior:
    """Public facts of the model: f is ``mean`` + ``scale`` times a Gaussian process of unit variance."""

    kernel: Kernel
    mean: float
    scale: float
    name: str

    @classmethod
    def of(cls, p: Problem, kernel: str, lengthscale: Any, mean: float | None, scale: float | None) -> Prior:
        low, high = p.objective.bounds
        d = p.points.shape[1]
        lengths = np.asarray(0.3 * math.sqrt(d) if lengthscale is None else lengthscale)
        if lengths.dtype.kind not in "fiu" or lengths.shape not in ((), (d,)):
            raise BadInput(f"lengthscale must be a number or {d} of them, one per feature, got {described(lengths)}")
        scales = tuple(np.broadcast_to(lengths, (d,)).tolist())
        made = KERNELS[choice("kernel", kernel, tuple(KERNELS))](scales)
        centre = (low + high) / 2 if mean is None else real("prior_mean", mean)
        if not low <= centre <= high:  # far away, rounding alone would move scores by more than a record can
            raise BadInput(
                f"prior_mean must lie within the bounds, got prior_mean={centre:g}, bounds=({low:g}, {high:g})"
            )
        return cls(made, centre, (high - low) / 4 if scale is None else positive("prior_scale", scale), kernel)

    def process(self, p: Problem, variance: float = 0.0) -> GaussianProcess:
        return GaussianProcess(self.kernel, noise=variance, candidates=p.points, capacity=p.trials)

    def __str__(self) -> str:
        lengths = ", ".join(f"{l:.4g}" for l in sorted(set(self.kernel.lengthscales)))
        return f"prior mean {self.mean:.6g}, prior sd {self.scale:.6g}, {self.name} kernel of length-scale {lengths}"


class Scores:
    """The mean score of a candidate, in prior sd above the prior mean, larger is better. Private; never printed."""

    def __init__(self, p: Problem, prior: Prior) -> None:
        o, width = p.objective, p.objective.bounds[1] - p.objective.bounds[0]
        self._mean = BoundedMean(o.records, o.bounds, scale=1e-3 * width, higher_is_better=o.higher_is_better)
        self._p, self._prior, self._known = p, prior, dict[int, float]()
        self._sign = 1.0 if o.higher_is_better else -1.0

    def __call__(self, i: int) -> float:
        if i not in self._known:
            losses = self._p.objective.losses(dict(self._p.listed[i]))
            above = self._mean.above_low(self._mean.total(losses))  # bounds far from 0 would round a mean itself
            offset = self._p.objective.bounds[0] - self._prior.mean
            self._known[i] = self._sign * (above + offset) / self._prior.scale
        return self._known[i]


def halves(p: Problem) -> tuple[float, float]:
    """(epsilon, delta) of each of the two releases."""
    if p.budget.notion != "approximate" or not p.budget.delta:
        raise BadInput(
            f"method {p.method!r} needs tacit.Budget.approximate(epsilon, delta), got {p.budget}: its guarantee "
            "fails with a probability, which is taken from delta"
        )
    return p.budget.amount / 2, p.budget.delta / 2


def correlation(p: Problem, prior: Prior, k1: float | None) -> float:
    """k1: as given, or from how far one record can move a mean of bounded losses."""
    low, high = p.objective.bounds
    return k.data_kernel(p.objective.records, high - low, prior.scale) if k1 is None else real("k1", k1)


def conditional(p: Problem, c: k.Constants, prior: Prior, source: str, algorithm: int, *more: str) -> Guarantee:
    """The guarantee of both releases of Algorithm 1 or 2, with everything it rests on."""
    model = (
        "the validation function is a draw from a known Gaussian process over data sets and hyper-parameters: "
        f"{prior}, correlation k1 = {c.k1:.9g} between neighbouring data sets"
    )
    spent = c.failures(algorithm)
    short = (
        f"the constants as published ({c.version}) are large enough; they do not add up: the events they must rule out "
        f"are bounded by {min(1.0, spent['sum']):.3g} in all, where delta allows {spent['allowed']:.3g}"
    )
    doubt = (short,) if spent["sum"] > spent["allowed"] * (1 + 1e-9) else ()
    return stated(p, (model, AVERAGE, *more, *doubt), f"Kusner et al. 2015, {source}, composed; constants: {c.version}")


def stated(p: Problem, assumptions: tuple[str, ...], source: str) -> Guarantee:
    return Guarantee.none(SIMULATED, UNIT) if p.noise.simulated else Guarantee(p.budget, UNIT, assumptions, source)


def outlook(
    p: Problem, c: k.Constants, prior: Prior, pick: Exponential, blur: Laplace, algorithm: int
) -> dict[str, Any]:
    """What the release can be worth, from public numbers alone; refuses a nearly uniform choice unless accepted."""
    regret, uniform = k.prior_regret(prior.kernel, p.points, pick.scale)
    deviation = math.sqrt(2) * blur.scale
    sentence = (
        f"the choice among {len(p.listed)} candidates hides a change of {pick.sensitivity:.3g} prior sd: at best its "
        f"expected regret is about {regret:.2g} prior sd, where choosing blindly has {uniform:.2g}; the score carries "
        f"Laplace noise of sd {deviation:.3g} prior sd"
    )
    warned(p, regret > NEARLY * uniform, sentence)
    expected = {"expected_regret": regret, "uniform_regret": uniform, "score_noise": deviation, "sentence": sentence}
    about = {"beta": c.beta(p.trials + 1), "c": c.c, "k1": c.k1, "prior": str(prior)}
    about |= {"q": c.q, "observation_noise": c.sigma**2} if algorithm == 1 else {}
    scales = {"choice_sensitivity": pick.sensitivity, "score_sensitivity": blur.sensitivity}
    return {"constants": c.version, **about, **scales, "failure": c.failures(algorithm), "outlook": expected}


def warned(p: Problem, bad: bool, sentence: str) -> None:
    """Refuse what is nearly noise, or warn about it once it is accepted. Nothing private was touched yet."""
    if bad and not p.accepted:
        raise BadInput(
            f"this would say next to nothing: {sentence}. Use a larger epsilon, method 'observed', or accept it with "
            "accept_noise=True (--yes). Nothing was spent"
        )
    if bad:
        warnings.warn(sentence, NearlyUniform, stacklevel=4)


def affordable(p: Problem, guarantee: Guarantee) -> Payment | None:
    """Refuse now what the ledger would refuse later, before anything is evaluated."""
    if p.ledger is None or p.ledger.can_afford(guarantee):
        return None
    return p.ledger.charge(guarantee, f"{p.method}: {p.trials} trials")  # raises, unless someone just gave room


def published(
    p: Problem,
    guarantee: Guarantee,
    payment: Payment | None,
    prior: Prior,
    details: dict[str, Any],
    score: tuple[Laplace, float],
    choice: tuple[Exponential, Array] | None,
) -> Release[Tuned]:
    """Debit and commit, then draw the parameters and the score, then record what was drawn."""
    blur, value = score[0], score[0].checked(score[1])
    means = choice[0].checked(choice[1]) if choice else None
    if p.ledger is not None and payment is None:
        payment = p.ledger.charge(guarantee, f"{p.method}: {p.trials} trials")
    params = dict(p.listed[choice[0].draw(means)]) if choice else {}
    sign = 1.0 if p.objective.higher_is_better else -1.0
    shown = prior.mean + sign * prior.scale * float(blur.draw(value))
    deviation = math.sqrt(2) * blur.scale * prior.scale
    tuned = Tuned(params, shown, p.method, p.objective.direction, deviation=deviation, details=details)
    if p.ledger is not None and payment is not None:
        p.ledger.settle(payment, digest(tuned))
    return Release(tuned, guarantee, payment)
