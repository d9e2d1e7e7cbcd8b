"""One outlook for each method: its guarantee, its noise in the user's units, what theory and experience expect.

    n   records      T   trials (of gibo: steps)      s   sd of the noise of one observation
    d   parameters   B   clipping norm                w   width of the bounds

Theory says, and for whom:
  observed, random, grid    the setting with the lowest of T' noisy scores is not much worse than the best one tried:
      s sqrt(2 log T') in expectation where settings do not depend on earlier noise (the largest of T' Gaussians),
      2 s sqrt(2 log 2T') where they do. T' leaves out the trials that confirm the choice.
  gibo    projected stochastic gradient descent of T steps, best step length, convex losses whose gradients are shorter
      than B: D sqrt(B^2 + d sigma^2) / sqrt(T) above the least, D = sqrt(d), or half of it from the middle of the cube.
  kusner1, kusner2    Theorem 2 of Kusner et al. (2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.errors import BadInput, GuaranteeError
from tacit.methods import gibo
from tacit.methods.gibo.design import Designs, Settings, shares
from tacit.methods.observed import UNIT, confirmations
from tacit.methods.tune import bearable
from tacit.planning import kusner, measured
from tacit.planning.case import Case
from tacit.planning.measured import LANDSCAPES, Measured
from tacit.planning.settings import FEW, few_steps, gibo_defaults
from tacit.privacy.guarantee import Budget, Guarantee


@dataclass(frozen=True)
class Outlook:
    """What one method would give. Losses of quality and noise are in the units of the losses."""

    method: str
    guarantee: Guarantee
    evaluations: int
    arguments: Mapping[str, Any] = field(default_factory=dict)  # of tacit.tune, beside the case's own
    noise: float | None = None  # standard deviation
    noise_of: str = ""
    bound: float | None = None  # what theory says is lost at most
    statement: str = ""  # which theory
    measured: Mapping[str, Measured] = field(default_factory=dict)  # by landscape
    unavailable: str = ""  # why this budget cannot run it
    refused: bool = False  # tacit.tune refuses so much noise, unless it is accepted
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """Expected loss of quality where nobody knows whether there is one valley or more: half of each."""
        return sum(self.measured[l].mean for l in LANDSCAPES) / len(LANDSCAPES) if self.measured else math.inf

    def to_json(self) -> dict[str, Any]:
        known = {l: m.to_json() for l, m in self.measured.items()}
        theory = {"bound": self.bound, "statement": self.statement} if self.bound is not None else None
        about: dict[str, Any] = {
            "method": self.method,
            "kind": self.guarantee.kind,
            "guarantee": self.guarantee.to_json(),
        }
        about |= {"unavailable": self.unavailable or None, "refused": self.refused, "arguments": dict(self.arguments)}
        numbers = {"evaluations": self.evaluations, "noise": self.noise, "noise_of": self.noise_of or None}
        return {**about, **numbers, "theory": theory, "measured": known or None, "notes": list(self.notes)}


def expected(method: str, case: Case, landscape: str) -> Measured:
    """The loss of quality that experience expects, in the units of the losses; raises if the budget cannot run it."""
    name = {"nonprivate": "observed", "kusner2": "kusner1"}.get(method, method)
    silent = method in ("nonprivate", "middle")
    noise = 0.0 if silent else kusner.choice_scale(case) if name == "kusner1" else case.look
    found = measured.regret(name, landscape, dimensions=case.dimensions, trials=case.trials, noise=noise)
    return found.scaled(case.spread)


def _experience(method: str, case: Case) -> dict[str, Measured]:
    return {landscape: expected(method, case, landscape) for landscape in LANDSCAPES}


def _noisy_scores(method: str, case: Case) -> Outlook:
    """observed, random and grid: T noisy means."""
    terms = case.terms()
    scale, tried = terms.mechanism().scale, case.trials - confirmations(case.trials)
    notes = [f"one trial in {case.trials // confirmations(case.trials)} confirms the choice"] if case.trials > 1 else []
    known = {} if method == "grid" else _experience(method, case)
    if method == "grid":
        each = _per_axis(tried, case.dimensions)
        tried = each**case.dimensions
        notes.append(f"a grid of {each} per parameter, {tried} in all; its loss is not measured")
    if method == "observed":
        bound = 2 * scale * math.sqrt(2 * math.log(2 * tried))
        statement = "lowest of adaptively chosen noisy scores against the best setting tried (Gaussian maximum)"
    else:
        bound = scale * math.sqrt(2 * math.log(tried))
        statement = "lowest noisy score against the best setting tried (Gaussian maximum)"
    return Outlook(
        method,
        terms.guarantee(),
        case.trials,
        {"method": method},
        scale,
        "one observation",
        bound,
        statement,
        known,
        refused=_refused(lambda: bearable(terms, False)),
        notes=tuple(notes),
    )


def _descent(method: str, case: Case) -> Outlook:
    """gibo with its defaults, or held to as few evaluations."""
    few = method == "gibo_few"
    steps, options = (few_steps(case.trials, case.dimensions), dict(FEW)) if few else (case.trials, {})
    space, d = case.space(), case.dimensions
    settings = Settings.of(options, case.bounds, space)

    def problem(accepted: bool) -> gibo.Problem:
        return gibo.Problem(case.objective(), space, steps, case.budget, settings, accepted=accepted)

    p = problem(True)
    sigma, clip, one = p.mechanism.scale, settings.clip, min(shares(settings, steps))
    each = Designs(settings, space).at(np.full(d, 0.5), 0).new
    more = (len(p.places) if p.scanning is not None else 0) + (settings.starts if p.scoring is not None else 0)
    evaluations = steps * each + more
    far = math.sqrt(d) / (1 if settings.scan is None else 2)  # from wherever a scan may begin, or from the middle
    off = far * math.sqrt(clip**2 + d * sigma**2) / math.sqrt(one)
    taken = f"{steps} step{'' if steps == 1 else 's'} of {each} evaluations"
    notes = [f"{taken}{f', {more} more to choose where' if more else ''}; finds one valley, not the best"]
    if measured.document()["gibo_defaults"] != gibo_defaults():
        notes.append("its loss was measured with earlier defaults, not with those of this version")
    return Outlook(
        method,
        p.guarantee(),
        evaluations,
        {"method": "gibo", "trials": steps, **options},
        sigma,
        f"one coordinate of a gradient (loss per unit of the cube, clipped to norm {clip:g})",
        off,
        "convex losses, gradients below the clip, best step length (projected stochastic gradient descent)",
        _experience(method, case),
        refused=_refused(lambda: problem(False)),
        notes=tuple(notes),
    )


def _conditional(method: str, case: Case) -> Outlook:
    """Kusner's Algorithms 1 and 2."""
    made = kusner.choice(case, algorithm=int(method[-1]))
    amount = f"epsilon = {case.budget.amount:g}"
    truth = (
        f"at {amount} its choice among {case.candidates} candidates is a uniform one to within "
        f"{100 * made.off_uniform:.2g}% of probability: half of epsilon must hide a change of {made.sensitivity:.3g} "
        f"prior sd. At best it loses {100 * made.regret:.3g}% of what choosing blindly loses; more records hardly help"
    )
    score = made.score_noise
    if method == "kusner2":
        score, truth = None, "chooses as Algorithm 1 does; its score needs the constants A and tau of a function class"
    return Outlook(
        method,
        made.guarantee,
        case.trials,
        {"method": method, "candidates": case.candidates},
        score,
        "the released score" if score is not None else "",
        made.bound,
        f"Kusner et al. (2015), Theorem 2, with probability {made.sure:.3g}",
        _experience(method, case),
        refused=made.refused,
        notes=(truth,),
    )


def _lipschitz(method: str, case: Case) -> Outlook:
    """Kusner's Algorithm 3: what can be said without its Lipschitz constant."""
    epsilon = case.budget.pure_epsilon()
    source = "Kusner et al. 2015, Corollary 4, for a tacit.RegularisedClassifier"
    guarantee = Guarantee(Budget.pure(epsilon), UNIT, (), source)
    most = math.sqrt(2) * case.width / epsilon
    notes = (
        f"tunes one regularisation strength and releases its best score under pure epsilon = {epsilon:.3g}. Its noise "
        f"needs a Lipschitz constant L: sd between sqrt(2) L (1/least - 1/most strength) / epsilon, which no number of "
        f"records lowers, and {most:.3g}. With losses of your own it holds only if L and convexity are true",
    )
    why = "" if case.dimensions == 1 else f"tunes one parameter, a regularisation strength, not {case.dimensions}"
    return Outlook(method, guarantee, case.trials, {"method": method}, notes=notes, unavailable=why)


def _baseline(method: str, case: Case) -> Outlook:
    """The same search without noise; and no search at all."""
    if method == "nonprivate":
        guarantee = Guarantee.none("the search saw exact scores of the validation records", UNIT)
        note = "private observations without their noise: what privacy costs is the difference"
        known = _experience(method, case)
        return Outlook(method, guarantee, case.trials, {"method": method}, 0.0, measured=known, notes=(note,))
    guarantee = Guarantee.none("no record is looked at, so none needs protection", UNIT)
    note = "the middle of the space, without a look at any record: costs nothing, and is what others must beat"
    return Outlook(method, guarantee, 0, measured=_experience(method, case), notes=(note,))


METHODS: dict[str, Callable[[str, Case], Outlook]] = {
    "observed": _noisy_scores,
    "random": _noisy_scores,
    "grid": _noisy_scores,
    "gibo": _descent,
    "gibo_few": _descent,
    "kusner1": _conditional,
    "kusner2": _conditional,
    "kusner3": _lipschitz,
    "nonprivate": _baseline,
    "middle": _baseline,
}


def outlook(method: str, case: Case) -> Outlook:
    """What a method would give; one that this budget cannot run says why."""
    try:
        return METHODS[method](method, case)
    except (BadInput, GuaranteeError) as refusal:
        why = str(refusal)
    return Outlook(method, Guarantee.none(why, UNIT), 0, {"method": method}, unavailable=why)


def _refused(run: Callable[[], Any]) -> bool:
    try:
        run()
    except BadInput:
        return True
    return False


def _per_axis(points: int, dimensions: int) -> int:
    """The largest grid of at most so many points has this many along each axis."""
    each = 1
    while (each + 1) ** dimensions <= points:
        each += 1
    return each
