"""Kusner et al.'s algorithms before they are run: how much their choice can be worth, from public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from tacit.methods.forecast import Forecast, PlanInput, Preview
from tacit.methods.kusner import constants as k
from tacit.methods.kusner.problem import (
    NEARLY,
    FiniteSearch,
    FunctionPrior,
    correlation,
    halve_budget,
    state_conditional,
)
from tacit.methods.privacy_unit import premises_of
from tacit.methods.registry import METHODS
from tacit.methods.task import Task
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mechanisms import Exponential, Laplace
from tacit.privacy.units import VALIDATION as UNIT
from tacit.space import Array

OBSERVATION_NOISE = 0.01  # the default of Algorithm 1
MOST_GAIN = 20_000_000  # candidates times trials, beyond which the noise of the score is not worked out here


@dataclass(frozen=True)
class ChoicePreview:
    """How Algorithms 1 and 2 would choose: the change it hides and its Gumbel noise, in prior sd."""

    sensitivity: float
    scale: float
    regret: float  # at best, as a share of what a uniform choice loses
    off_uniform: float  # total variation between the choice and a uniform one, at best
    bound: float  # Theorem 2, in the units of the losses
    sure: float  # with which probability the bound holds
    guarantee: Guarantee
    score_noise: float | None  # sd, in the units of the losses

    @property
    def refused(self) -> bool:
        return self.regret > NEARLY


def choice_scale(case: PlanInput) -> float:
    """The scale of the Gumbel noise in prior sd."""
    return _mechanism(case)[0].scale


def preview_choice(case: PlanInput, algorithm: int = 1) -> ChoicePreview:
    """What the prior says: a draw of it is seen as well as can be, and still hidden by so much noise.

    The prior is the one `tacit.tune` has by default, but for its scale: a uniform choice loses the spread.
    """
    pick, c, prior, p = _mechanism(case)
    _, f, uniform = _model(case.dimensions, case.candidates)
    lost, _ = k.choice_regret(f, pick.scale)
    weights = np.exp((f - f.max(axis=0)) / pick.scale)
    apart = 0.5 * np.abs(weights / weights.sum(axis=0) - 1 / len(f)).sum(axis=0)
    bound = prior.scale * pick.scale * (math.log(case.candidates) + math.log(1 / k.MISS))
    guarantee = state_conditional(p, c, prior, f"Corollaries 1 and {1 + algorithm}", algorithm)
    about = (bound, 1 - (c.delta + k.MISS), guarantee, _score_noise(case, c, prior))
    return ChoicePreview(pick.sensitivity, pick.scale, lost / uniform, float(apart.mean()), *about)


def _mechanism(case: PlanInput) -> tuple[Exponential, k.Constants, FunctionPrior, FiniteSearch]:
    METHODS["kusner1"].check_budget(case.budget)
    listed, _, uniform = _model(case.dimensions, case.candidates)
    p = _search(case, listed[:1])  # one candidate will do: what follows depends on their number alone
    epsilon, delta = halve_budget(p)
    prior = FunctionPrior.of(p, "matern52", None, None, case.spread / uniform)
    k1 = correlation(p, prior, None)
    c = k.Constants("safe", len(listed), case.trials, delta, k1, math.sqrt(OBSERVATION_NOISE))
    return Exponential(c.choice_sensitivity, budget=Budget.pure(epsilon)), c, prior, p


def _search(case: PlanInput, listed: list[dict[str, float]]) -> FiniteSearch:
    return FiniteSearch("kusner1", Task(case.objective(), case.space(), case.budget, case.trials), listed)


def _score_noise(case: PlanInput, c: k.Constants, prior: FunctionPrior) -> float | None:
    if case.candidates * case.trials > MOST_GAIN:
        return None
    points = _search(case, _model(case.dimensions, case.candidates)[0]).points
    gamma = k.information_gain(prior.kernel, points, case.trials, OBSERVATION_NOISE)
    blur = Laplace(c.regret(gamma) + c.c + c.q, budget=Budget.pure(case.budget.amount / 2))
    return math.sqrt(2) * blur.scale * prior.scale


@lru_cache(maxsize=16)
def _model(dimensions: int, candidates: int) -> tuple[list[dict[str, float]], Array, float]:
    """Candidates, draws of the default prior (candidates, draws), and what a uniform choice loses, in prior sd."""
    case = PlanInput(1, 1, dimensions, Budget.gdp(1.0), 1.0)
    listed = case.space().params(np.random.default_rng(0).random((candidates, dimensions)))
    p = _search(case, listed)
    f = k.prior_draws(FunctionPrior.of(p, "matern52", None, None, None).kernel, p.points)
    return listed, f, float((f.max(axis=0) - f).mean())


def _preview(case: PlanInput, *, algorithm: int) -> Preview:
    method, choice = f"kusner{algorithm}", preview_choice(case, algorithm)
    score, note = None, "chooses as Algorithm 1 does; its score needs the constants A and tau of a function class"
    if algorithm == 1:
        score = choice.score_noise
        note = (
            f"at epsilon = {case.budget.amount:g} its choice among {case.candidates} candidates is a uniform one to "
            f"within {100 * choice.off_uniform:.2g}% of probability: half of epsilon must hide a change of "
            f"{choice.sensitivity:.3g} prior sd. At best it loses {100 * choice.regret:.3g}% of what choosing blindly "
            "loses; more records hardly help"
        )
    return Preview(
        method,
        choice.guarantee,
        case.trials,
        {"method": method, "candidates": case.candidates},
        score,
        "the released score" if score is not None else "",
        choice.bound,
        f"Kusner et al. (2015), Theorem 2, with probability {choice.sure:.3g}",
        refused=choice.refused,
        notes=(note,),
    )


def _lipschitz_preview(case: PlanInput) -> Preview:
    """Algorithm 3: what can be said without its Lipschitz constant."""
    epsilon = case.budget.pure_epsilon()
    source = "Kusner et al. 2015, Corollary 4, for a tacit.RegularisedClassifier"
    guarantee = Guarantee(Budget.pure(epsilon), UNIT, (), source, premises=premises_of("record"))
    most = math.sqrt(2) * case.width / epsilon
    notes = (
        f"tunes one regularisation strength and releases its best score under pure epsilon = {epsilon:.3g}. Its noise "
        f"needs a Lipschitz constant L: sd between sqrt(2) L (1/least - 1/most strength) / epsilon, which no number of "
        f"records lowers, and {most:.3g}. With losses of your own it holds only if L and convexity are true",
    )
    why = "" if case.dimensions == 1 else f"tunes one parameter, a regularisation strength, not {case.dimensions}"
    return Preview("kusner3", guarantee, case.trials, {"method": "kusner3"}, notes=notes, unavailable=why)


KUSNER1 = (Forecast("kusner1", partial(_preview, algorithm=1), "kusner1", choice_scale),)
KUSNER2 = (Forecast("kusner2", partial(_preview, algorithm=2), "kusner1", choice_scale),)
KUSNER3 = (Forecast("kusner3", _lipschitz_preview),)
