"""For Optuna users: wrap the objective, keep the study, the sampler, the storage and the dashboard.

    study.optimize(tacit.private(objective, records=5000, bounds=(0, 1), budget=budget, trials=50), n_trials=50)

Every value that reaches the study carries its noise already, so the study and all that is made of it are a release.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.trial import TrialState

from tacit.errors import BadInput, BudgetRefused, ObjectiveError, type_and_shape
from tacit.integrations.samplers import KnownNoiseSampler
from tacit.methods.branching import answer_by_branch
from tacit.methods.intervals import sampling_deviation
from tacit.methods.observed import AT_ONCE, Observations, ObservationTerms, simultaneous_deviation
from tacit.methods.privacy_unit import make_objective
from tacit.methods.search import refuse_loud_noise
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget, Guarantee, warn_of_weakness
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import Payment, Release, digest
from tacit.run.evaluate import evaluate
from tacit.run.shards import Shards
from tacit.run.study import observed_trials
from tacit.run.study_store import is_claimed, read_trials

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger_like import LedgerLike

SAFE = ("suggest_float", "suggest_int", "suggest_categorical", "params", "number", "distributions", "relative_params")
PRUNING = "an intermediate value is a look at the private records that was not paid for. Leave out the pruner and train"
FAILED = "tacit:failed"
_binding = threading.Lock()  # one thread begins a study; shared, so that a wrapped objective can be pickled


def private(
    objective: Callable[..., Any],
    *,
    bounds: tuple[float, float],
    budget: Budget,
    trials: int,
    records: Any = None,
    train: Callable[[Any], Any] | None = None,
    cluster: Any = None,
    groups: Any = None,
    direction: str | None = None,
    ledger: LedgerLike = None,
    accept_noise: bool = False,
    noise: Source = EXACT,
) -> PrivateObjective:
    """An objective for ``study.optimize`` whose values are noisy means over private records.

    Args:
        objective: ``objective(trial)`` suggests parameters as usual and returns one loss per record, shape (records,),
            instead of their mean. With ``train``, ``objective(model, frame)`` scores records where they are.
        bounds: Public bounds of one loss.
        budget: Of the whole study.
        trials: Evaluations to pay for.
        records: The public number of records; with ``train`` where they are, see ``tacit.tune``.
        train: ``train(trial)`` suggests parameters here and makes a model.
        cluster: Where the parts of the records are asked.
        groups: Whose each row is, where persons have several: each then has one loss, the mean of theirs, the unit is
            one person with all their rows, and ``records`` counts rows or is left out.
        direction: That of the study, if it is to be checked.
        ledger: The ledger that pays, or its path or URL.
        accept_noise: Whether noise above a tenth of the bounds' width is accepted.
        noise: Exact, or a ``tacit.Simulation``, which has no guarantee.

    Returns:
        A function for ``study.optimize``, which releases the answer too.

    Guarantee. mu-GDP for one record replaced, unconditional, for everything in the study and all that is made of it:
    any sampler, the dashboard, the best trial. At most ``trials`` values are drawn per study, whatever threads,
    processes, crashes and resumed runs share it; with a ledger the study is charged once, before its first draw.
    Follows. Private observations. Proof: docs/proofs/private-observations.md.
    Edges. The trial after the last that was paid for raises BudgetRefused, which ends ``study.optimize``; give it
    ``n_trials=trials``. Pruning, user attributes and the study are out of the objective's reach, since they would carry
    private values out without noise. For the same reason, names and ranges of parameters must not depend on the
    records. That an objective raised is seen by all who see the study, at most ``trials`` times; what it said is not
    shown. A copy of a study that was begun draws nothing: not a pickle of one in memory, not one by
    ``optuna.copy_study``.

    >>> import numpy as np, optuna, tacit
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def losses(trial):
    ...     return np.full(5000, (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2)
    >>> budget = tacit.Budget.approximate(1.0, 1e-6)
    >>> objective = tacit.private(losses, records=5000, bounds=(0.0, 1.0), budget=budget, trials=20)
    >>> study = optuna.create_study()
    >>> study.optimize(objective, n_trials=20)
    >>> release = objective.release(study)
    >>> release.value.score < 0.1, release.guarantee.unconditional, round(release.guarantee.epsilon(1e-6), 6)
    (True, True, 1.0)
    """
    chosen = direction or "minimize"
    facts = make_objective(objective, records, bounds, chosen, groups, train=train, cluster=cluster)  # refuses first
    if isinstance(facts.function, Shards):
        if facts.function.train is None and not all(map(callable, facts.function.parts)):
            raise BadInput(
                "parts that live elsewhere cannot ask a trial for parameters: give train=function, which suggests them "
                "and returns what the parts are given. Nothing was spent"
            )
        objective = facts.function
    terms = ObservationTerms(facts.records, facts.bounds, budget, trials, facts.direction, facts.basis)
    refuse_loud_noise(terms, accept_noise)
    if not noise.simulated:
        warn_of_weakness(budget, terms.records)
    return PrivateObjective(objective, terms, direction, ledger=as_ledger(ledger), noise=noise, groups=groups)


class PrivateObjective:
    """What ``tacit.private`` returns: call it with a trial of one study. See there for what it guarantees."""

    def __init__(
        self,
        objective: Callable[[Any], Any],
        terms: ObservationTerms,
        direction: str | None = None,
        *,
        ledger: Ledger | None = None,
        noise: Source = EXACT,
        groups: Any = None,
    ) -> None:
        self.objective, self.terms, self.direction, self.groups = objective, terms, direction, groups
        self.ledger, self.noise = ledger, noise
        self.guarantee: Guarantee = terms.guarantee(noise)
        self._bound: Observations | None = None
        self._of: tuple[str, Any] | None = None

    @property
    def payment(self) -> Payment | None:
        """The ledger entry that paid; None before the first trial, or without a ledger."""
        return self._bound.payment if self._bound else None

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on each value: what a sampler that knows its noise needs."""
        return self.terms.mechanism(self.noise).scale

    def sampler(self, *, seed: int | None = None) -> KnownNoiseSampler:
        """The sampler that ``tacit.tune`` searches with, for this objective: ``create_study(sampler=...)``."""
        startup = max(4, min(10, self.terms.trials // 4))
        return KnownNoiseSampler(self.noise_scale, startup=startup, seed=seed)

    def __call__(self, trial: optuna.Trial) -> float:
        """The noisy mean of the losses at this trial's parameters. Counts as one of the paid evaluations."""
        observations = self._observations(trial)
        if not observations.expect_left():  # before the work; what is drawn is decided by the claim
            raise observations.exhaustion()
        if sum(FAILED in t.user_attrs for t in read_trials(trial.study)) >= self.terms.trials:
            raise BudgetRefused(
                f"{self.terms.trials} evaluations of this study failed, as many as were paid for. Each failure may "
                "tell something of the records, so there will be no more. Nothing was released"
            )
        terms = observations.terms
        rows = terms.records if self.groups is None else None
        shards = self.objective if isinstance(self.objective, Shards) else None
        asked = make_objective(shards or self._losses_at, rows, terms.bounds, terms.direction, self.groups)
        refused = ""
        try:
            total = evaluate(asked, observations.mechanism, GuardedTrial(trial))  # type: ignore[arg-type]
        except ObjectiveError as error:
            refused = str(error)
        if refused:  # raised anew: what it was raised from may quote a record, and Optuna logs it
            trial.set_user_attr(FAILED, True)
            raise ObjectiveError(refused)
        return observations.observe(trial, total)

    def release(self, study: optuna.Study) -> Release[Tuned]:
        """The final answer, from a model that knows the noise, over the trials of the study so far.

        Guarantee. That of the study: it is post-processing.
        Edges. Trials with the same parameters are modelled together; fewer than four of them answer by their own
        observations. The interval of the score counts that all observations competed. A ledger records one release per
        payment: with a ledger, release at the end. Calling again without new trials returns the same release.
        """
        done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if "tacit:terms" not in study.user_attrs or not done:
            raise BadInput("this study has no private observations to release; run study.optimize first")
        if not all(map(is_claimed, done)):
            raise BadInput(
                "this study has results that were not privately observed, so nothing can be promised of it. "
                "Nothing was released"
            )
        with _binding:
            observations = self._bind(study)
        given = observations.answer()
        same = given is not None and len(given["trials"]) == len(done)
        value = Tuned.from_json(given) if same else _answer(study, observations)
        observations.give(value.to_json(), digest(value))
        return Release(value, observations.guarantee, observations.payment, observations.describe_origin())

    def _losses_at(self, trial: Any) -> Any:
        try:
            return np.asarray(self.objective(trial))  # here, so that a list of lists fails like any other answer
        except optuna.TrialPruned:
            pass
        raise ObjectiveError(f"the objective raised TrialPruned: {PRUNING} to the end. Nothing was released")

    def _observations(self, trial: Any) -> Observations:
        if not isinstance(trial, optuna.Trial):
            raise BadInput(
                f"a private objective needs a trial of a study, where its draws are counted, got "
                f"{type_and_shape(trial)}: "
                "call study.optimize, or study.ask and study.tell"
            )
        with _binding:
            return self._bind(trial.study)

    def _bind(self, study: optuna.Study) -> Observations:
        """The paid right to observe this study, and no other."""
        if self._bound is None or self._bound.study is not study:  # the storage may be the same all the same
            of = (study.study_name, study.get_trials(deepcopy=False)[0].datetime_start)
            if self._of not in (None, of):
                raise BadInput(
                    f"this objective was bound to study {self._of[0] if self._of else ''!r}; one study is one release. "
                    f"Wrap the objective again for study {of[0]!r}"
                )
            direction = self.direction or study.directions[0].name.lower()
            terms = replace(self.terms, direction=direction)
            self._bound, self._of = Observations(study, terms, ledger=self.ledger, noise=self.noise), of
        return self._bound


class GuardedTrial:
    """A trial that suggests parameters and lets nothing else in or out."""

    __slots__ = ("_trial",)

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial = trial

    def __getattr__(self, name: str) -> Any:
        if name in SAFE:
            return getattr(self._trial, name)
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("report", "should_prune"):
            raise ObjectiveError(f"the objective used trial.{name}: {PRUNING} to the end. Nothing was released")
        raise ObjectiveError(
            f"the objective used trial.{name}: the study is released, and what reaches it other than through the "
            f"returned losses has no noise. A private objective may use {', '.join(SAFE)}. Nothing was released"
        )

    def __dir__(self) -> list[str]:
        return list(SAFE)


def _answer(study: optuna.Study, observations: Observations) -> Tuned:
    scale, (low, high) = observations.mechanism.scale, observations.terms.bounds
    params, answer = answer_by_branch(study, scale**2)
    observed = observed_trials(study)
    deviation = simultaneous_deviation(answer.value, params, observed, scale)
    score = min(max(answer.value, low), high)
    return Tuned(
        params,
        score,
        "observed",
        observations.terms.direction,
        deviation=deviation,
        noise=scale,
        trials=observed,
        details={"score": f"the model of all observations; {AT_ONCE}"},
        sampling=sampling_deviation(score, 1.96 * deviation, (low, high), observations.terms.records),
        settings=len(observed),
    )
