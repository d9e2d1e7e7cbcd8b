"""Private observations: every evaluation gets its noise at once, and everything after is post-processing.

    n      records                          T      trials, fixed in advance
    w      width of the bounds              mu     of the whole study

The mean over n records moves by at most w/n when one record is replaced. T of them with Gaussian noise of standard
deviation w sqrt(T) / (n mu) are together mu-GDP. The trajectory, the best point, its score, the database and the plots
cost nothing more. Proof: docs/proofs/private-observations.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.identity import DataIdentity
from tacit.errors import BadInput, BudgetRefused, count
from tacit.files import Json
from tacit.methods.constraint import ConstrainedMean, Constraint
from tacit.methods.privacy_unit import premises_of, unit_of
from tacit.objective import Objective
from tacit.privacy.accounting import split
from tacit.privacy.claims import Claims, Promise
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import EXACT, Source
from tacit.run.evaluate import result, submit_losses
from tacit.run.study_store import CONFIRMS, CONSTRAINED, StudyStore
from tacit.space import Params

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial

    from tacit.privacy.ledger import Ledger

SOURCE = "private observations: T Gaussian mechanisms composed (Dong et al. 2022, Corollary 2)"
CHOSEN = "tacit:chosen"
CONTRADICTED = 5.0  # known deviations of a difference
AT_ONCE = "its interval holds for all observations at once, since they chose it"


@dataclass(frozen=True)
class ObservationTerms:
    """What a study of private observations promises; fixed before the first evaluation."""

    records: int
    bounds: tuple[float, float]
    budget: Budget
    trials: int
    direction: str = "minimize"
    basis: str = "record"
    constraint: Constraint | None = None

    def __post_init__(self) -> None:
        count("trials", self.trials)
        if not isinstance(self.budget, Budget):
            raise BadInput("budget must be a tacit.Budget, such as Budget.approximate(1.0, 1e-6)")

    @property
    def hidden(self) -> int:
        """Settings that are evaluated besides the trials."""
        return 0

    def mechanism(self, noise: Source = EXACT) -> BoundedMean | ConstrainedMean:
        """The mechanism of one evaluation."""
        asked: dict[str, Any] = {"budget": split(Budget.gdp(self.budget.mu()), self.trials), "noise": noise}
        asked |= {"higher_is_better": self.direction == "maximize", "unit": unit_of(self.basis)}
        if self.constraint is not None:
            return ConstrainedMean(self.records, self.bounds, self.constraint, **asked)
        return BoundedMean(self.records, self.bounds, **asked)

    def guarantee(self, noise: Source = EXACT) -> Guarantee:
        """The guarantee of the whole study.

        >>> terms = ObservationTerms(1000, (0.0, 1.0), Budget.approximate(1.0, 1e-6), 50)
        >>> round(terms.guarantee().epsilon(1e-6), 6)
        1.0
        """
        one = self.mechanism(noise).guarantee
        if one.budget is None:
            return one
        whole = Guarantee(
            Budget.gdp(self.budget.mu()), unit_of(self.basis), (), SOURCE, premises=premises_of(self.basis)
        )
        return whole.at(self.budget.delta) if self.budget.notion == "approximate" else whole

    @property
    def draws(self) -> int:
        """How many draws are paid for."""
        return self.trials

    @property
    def purpose(self) -> str:
        """For the ledger."""
        return f"tune {{run}}: {self.trials} observations"

    def to_json(self) -> Json:
        about: Json = {"records": self.records, "bounds": list(self.bounds), "trials": self.trials}
        about |= {"basis": self.basis} if self.basis != "record" else {}  # as the first release wrote it
        about |= {"constraint": self.constraint.to_json()} if self.constraint is not None else {}
        return {**about, "direction": self.direction, "budget": self.budget.to_json()}


class Observations(Claims):
    """The paid right to observe a study at most ``terms.trials`` times, kept in the study itself. See Claims."""

    def __init__(
        self,
        study: Study,
        terms: ObservationTerms,
        *,
        ledger: Ledger | None = None,
        noise: Source = EXACT,
        data: DataIdentity | None = None,
    ) -> None:
        if [direction.name.lower() for direction in study.directions] != [terms.direction]:
            raise BadInput(f"the study must have the one direction {terms.direction!r}, got {study.directions}")
        self.study, self.terms = study, terms
        self.mechanism = terms.mechanism(noise)
        agreed = {**terms.to_json(), **({"simulated": True} if noise.simulated else {})}
        promise = Promise(terms.guarantee(noise), terms.draws, terms.purpose, agreed, data)
        super().__init__(StudyStore(study), promise, ledger=ledger)

    def expect_left(self) -> int:
        """``left``, as far as this thread has read the study since its last trial: before the work, which a claim
        follows."""
        assert isinstance(self.store, StudyStore)
        return 0 if self._exhausted else max(self.in_hand(), self.terms.draws - self.store.expect_claims())

    def await_others(self) -> None:
        """Wait for what processes beside this one are about to tell, so that all answer from the same observations."""
        assert isinstance(self.store, StudyStore)
        if self.answer() is None:
            self.store.await_others()

    def observe(self, trial: Trial, total: Any) -> float:
        """Pay, claim, then draw: the noisy mean of a trial whose clipped losses sum to ``total`` whole steps.

        With a constraint ``total`` has the metric's sum too, and its noisy mean is kept with the trial.
        """
        drawn: Any = self.draw(trial, lambda: total, self.mechanism.draw)
        if self.terms.constraint is None:
            return float(drawn)
        trial.set_user_attr(CONSTRAINED, drawn[1])
        return float(drawn[0])


@dataclass(frozen=True)
class ObservedTrials:
    """What the loop of a study asks for: evaluate, observe, tell, until all but ``keep`` paid observations are used.

    Edges. An objective that fails stops the run; everything observed so far is kept and the failed trial's observation
    is not used up. The same holds for Ctrl-C and for a worker that dies.
    """

    observations: Observations
    objective: Objective
    executor: Executor | None = None
    at_once: int = 1
    keep: int = 0
    done: Callable[[Trial, float], None] = lambda trial, value: None

    def more(self, running: int) -> bool:
        return running < self.at_once and running < self.observations.expect_left() - self.keep

    def begin(self, trial: Trial) -> Future[Any]:
        return submit_losses(self.executor, self.objective, self.observations.mechanism, dict(trial.params))

    def finish(self, trial: Trial, future: Future[Any]) -> None:
        from optuna.trial import TrialState

        from tacit.run.study_trials import tell_trial

        study, total = self.observations.study, result(future)
        self.observations.begin()
        try:
            value = self.observations.observe(trial, total)
        except BudgetRefused:  # another process on the same study took the last draw
            study.tell(trial, state=TrialState.FAIL)
            return
        tell_trial(study, trial, value)
        self.done(trial, value)


def confirm(
    observations: Observations,
    objective: Objective,
    distributions: dict[str, Any],
    params: Params,
    *,
    executor: Executor | None = None,
    done: Callable[[Trial, float], None] = lambda trial, value: None,
) -> None:
    """Observe the chosen parameters with every draw that is left, from one evaluation.

    The mean of these observations is free of the luck by which the parameters were chosen: it is the score of that
    evaluation plus Gaussian noise of known size, whatever the model of the search believed.
    """
    from optuna.trial import TrialState

    from tacit.methods.sampler import FixedSampler
    from tacit.run.study_trials import ask_trial, tell_trial

    study = observations.study
    study.set_user_attr(CHOSEN, params)
    if not observations.expect_left():
        return
    total = result(submit_losses(executor, objective, observations.mechanism, params))
    searching, study.sampler = study.sampler, FixedSampler(distributions, params, {CONFIRMS: True})
    try:
        while observations.expect_left():
            trial = ask_trial(study, distributions)
            try:
                value = observations.observe(trial, total)
                tell_trial(study, trial, value)
            except BaseException as error:
                study.tell(trial, state=TrialState.FAIL, skip_if_finished=True)
                if isinstance(error, BudgetRefused):  # another process on the same study took the last draw
                    return
                raise
            done(trial, value)
    finally:
        study.sampler = searching


def simultaneous_deviation(score: float, params: Params, trials: Sequence[Json], scale: float) -> float:
    """The deviation to state for a score at parameters that were chosen by the observations themselves.

    The luckiest of many observations flatters. With probability 95% none of T is off by more than q = Phi^-1(1 -
    0.025/T) standard deviations, whatever chose them (a union bound), so the chosen one is not either: 1.96 times this
    deviation reaches from the score to every mean that is then possible.

    >>> trials = [{"params": {"x": i}, "value": 0.5} for i in range(50)]
    >>> round(1.96 * simultaneous_deviation(0.5, {"x": 3}, trials, 1.0), 2)
    3.29
    """
    from scipy.special import ndtri

    own = [t["value"] for t in trials if t["params"] == params]
    off = abs(sum(own) / len(own) - score) if own else 0.0
    wide = -ndtri(0.025 / len(trials)) if len(trials) > 1 else 1.96
    return float(off + scale * wide) / 1.96


def is_contradicted(params: Params, trials: Sequence[Json], variance: float, higher: bool) -> bool:
    """Whether another setting was observed to be better by more than ``CONTRADICTED`` known deviations.

    Noise alone does that to the better of two settings with probability 3e-7; an objective that has chance of its own
    may look good once. Then the choice is made anew by all observations, and its score has an interval for all at once.
    """
    from tacit.methods.optimiser import find_refuted

    values = dict[str, list[float]]()
    for trial in trials:
        values.setdefault(_key(trial["params"]), []).append(trial["value"] if higher else -trial["value"])
    means = np.array([sum(v) / len(v) for v in values.values()])
    noise = variance / np.array([len(v) for v in values.values()])
    return bool(find_refuted(means, noise, CONTRADICTED)[list(values).index(_key(params))])


def list_rivals(params: Params, trials: Sequence[Json], limit: Constraint | None) -> list[Json]:
    """The observations that may contradict an answer: its own, and those at which a constraint was seen to be kept."""
    return [t for t in trials if limit is None or t["params"] == params or limit.margin(t["constraint"]) >= 0]


def describe_constraint(
    params: Params,
    trials: Sequence[Json],
    fresh: list[tuple[float, float | None]],
    observations: Observations,
) -> dict[str, Any]:
    """What is known of a constraint at the answer: by observations made after the choice, else by all of it."""
    limit, mechanism = observations.terms.constraint, observations.mechanism
    if limit is None or not isinstance(mechanism, ConstrainedMean):
        return {}
    scale, later = mechanism.metric.scale, [v for _, v in fresh if v is not None]
    if later:
        return {"constraint": limit.describe(later, scale / math.sqrt(len(later)))}
    seen = [{"params": t["params"], "value": t["constraint"]} for t in trials]
    own = [t["value"] for t in seen if t["params"] == params]
    wide = simultaneous_deviation(sum(own) / len(own), params, seen, scale)
    return {"constraint": limit.describe(own, wide)}


def _key(params: Params) -> str:
    return repr(sorted(params.items()))


def confirmations(trials: int) -> int:
    """How many of the trials confirm the choice: a tenth, at least one, none of a single one."""
    return max(1, trials // 10) if trials > 1 else 0
