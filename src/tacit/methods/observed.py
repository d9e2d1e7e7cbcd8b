"""Private observations: every evaluation gets its noise at once, and everything after is post-processing.

    n      records                          T      trials, fixed in advance
    w      width of the bounds              mu     of the whole study

The mean over n records moves by at most w/n when one record is replaced. T of them with Gaussian noise of standard
deviation w sqrt(T) / (n mu) are together mu-GDP. The trajectory, the best point, its score, the database and the plots
cost nothing more.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import BadInput, BudgetRefused, LedgerError, ObjectiveError, TacitError, count, differences
from tacit.objective import Objective
from tacit.privacy.accounting import split
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import EXACT, Source, prepared
from tacit.privacy.release import Payment
from tacit.run.shards import Shards, loss_total, losses_future

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial

    from tacit.privacy.ledger import Ledger

UNIT = "one validation record replaced"
SOURCE = "private observations: T Gaussian mechanisms composed (Dong et al. 2022, Corollary 2)"
TERMS, RUN, PAID, CLAIM = "tacit:terms", "tacit:run", "tacit:payment", "tacit:drawn"
_paying = threading.Lock()  # one thread pays; shared, so that what holds an Observations can be pickled
CHOSEN, CONFIRMS, ANSWER = "tacit:chosen", "tacit:confirms", "tacit:answer"


@dataclass(frozen=True)
class Terms:
    """What a study of private observations promises; fixed before the first evaluation."""

    records: int
    bounds: tuple[float, float]
    budget: Budget
    trials: int
    direction: str = "minimize"

    def __post_init__(self) -> None:
        count("trials", self.trials)
        if not isinstance(self.budget, Budget):
            raise BadInput("budget must be a tacit.Budget, such as Budget.approximate(1.0, 1e-6)")

    def mechanism(self, noise: Source = EXACT) -> BoundedMean:
        """The mechanism of one evaluation."""
        share = split(Budget.gdp(self.budget.mu()), self.trials)
        higher = self.direction == "maximize"
        return BoundedMean(self.records, self.bounds, budget=share, higher_is_better=higher, unit=UNIT, noise=noise)

    def guarantee(self, noise: Source = EXACT) -> Guarantee:
        """The guarantee of the whole study.

        >>> terms = Terms(1000, (0.0, 1.0), Budget.approximate(1.0, 1e-6), 50)
        >>> round(terms.guarantee().epsilon(1e-6), 6)
        1.0
        """
        one = self.mechanism(noise).guarantee
        if one.budget is None:
            return one
        whole = Guarantee(Budget.gdp(self.budget.mu()), UNIT, (), SOURCE)
        return whole.at(self.budget.delta) if self.budget.notion == "approximate" else whole

    def to_json(self) -> dict[str, Any]:
        about = {"records": self.records, "bounds": list(self.bounds), "trials": self.trials}
        return {**about, "direction": self.direction, "budget": self.budget.to_json()}


class Observations:
    """The paid right to observe a study at most ``terms.trials`` times, kept in the study itself.

    Guarantee. At most T draws, whatever crashes, resumes, threads or processes share the study: a draw is claimed in
    the study's storage first, and made only if the claims, its own included, do not exceed T. A draw that is lost in a
    crash stays claimed. The whole study is charged once, before its first draw: its run number is stored before, and
    looked up again after a crash. An objective that fails before the first draw has cost nothing.
    Edges. Two processes that start the same new study in the same instant may both pay. An older copy of a study, put
    back, is noticed if the ledger has recorded its answer, and not before.
    """

    def __init__(self, study: Study, terms: Terms, *, ledger: Ledger | None = None, noise: Source = EXACT) -> None:
        if ledger is not None and noise.simulated:
            raise BadInput(
                "simulated noise has no guarantee, so it is not charged to a ledger; leave out one of the two"
            )
        if study.directions[0].name.lower() != terms.direction or len(study.directions) != 1:
            raise BadInput(f"the study must have the one direction {terms.direction!r}, got {study.directions}")
        self.study, self.terms, self.simulated = study, terms, noise.simulated
        self.mechanism, self.guarantee = terms.mechanism(noise), terms.guarantee(noise)
        self._agree(noise)
        self._ledger = ledger
        self.payment = self._paid_before()
        if ledger is not None and self.payment is None and (self.claimed() or not ledger.can_afford(self.guarantee)):
            self.pay()  # for what was observed without this ledger; or refuses now, before anything is evaluated
        self._whole()

    def _agree(self, noise: Source) -> None:
        # Results are looked for before terms: another process stores its terms before it observes.
        results = [t for t in self.study.get_trials(deepcopy=False) if t.state.name == "COMPLETE"]
        stored = self.study.user_attrs.get(TERMS)
        if any(CLAIM not in t.user_attrs for t in results) or (results and stored is None):
            raise BadInput("this study already has results that were not privately observed; start a new study")
        simulated = {"simulated": True} if noise.simulated else {}
        mine = json.dumps({**self.terms.to_json(), **simulated}, sort_keys=True)
        if stored is None:
            self.study.set_user_attr(TERMS, mine)
        elif stored != mine:
            raise BadInput(f"this study was begun under other terms: {differences(stored, mine)}. Start a new study")

    def _paid_before(self) -> Payment | None:
        """The payment that an earlier run of this study made, or was making when it died."""
        attrs, ledger = self.study.user_attrs, self._ledger
        if PAID in attrs:
            payment = Payment.from_json(attrs[PAID])
            if ledger is not None:
                ledger.pays(payment)  # refuses another ledger before anything is drawn, not after
            return payment
        if ledger is None or RUN not in attrs:
            return None
        made = [e for e in ledger.entries() if e.kind == "charge" and e.purpose == self._purpose]
        return Payment(ledger.id, ledger.name, made[0].number, made[0].hash) if made else None

    def _whole(self) -> None:
        """Refuse a study whose answer the ledger knows and the study does not: an answer is stored here first."""
        if self._recorded() is not None and self.answer() is None:
            raise LedgerError(
                "the ledger has recorded what this study released, and the study does not hold it: an older copy was "
                "put back. Start a new study, which is paid for anew. Nothing was drawn"
            )

    def _recorded(self) -> str | None:
        return self._ledger.recorded(self.payment) if self._ledger is not None and self.payment is not None else None

    def answer(self) -> Any:
        """The answer that this study has given, or None; of several, the one that the ledger recorded."""
        attrs = self.study.user_attrs
        return attrs.get(f"{ANSWER}:{self._recorded() or attrs.get(ANSWER)}")

    def give(self, answer: Any, digest: str) -> None:
        """Store an answer, then have the ledger record it. LedgerError if it recorded another one."""
        self.study.set_user_attr(f"{ANSWER}:{digest}", answer)
        self.study.set_user_attr(ANSWER, digest)
        if self._ledger is not None and self.payment is not None:
            self._ledger.settle(self.payment, digest)

    @property
    def _purpose(self) -> str:
        return f"tune {self.study.user_attrs[RUN]}: {self.terms.trials} observations"

    def pay(self) -> None:
        """Debit and commit the whole study, once; nothing without a ledger."""
        with _paying:
            self.payment = self.payment or self._paid_before()  # a process beside this one may have paid
            if self._ledger is None:
                return
            if self.payment is None:
                if RUN not in self.study.user_attrs:
                    self.study.set_user_attr(RUN, uuid.uuid4().hex)
                self.payment = self._ledger.charge(self.guarantee, self._purpose)
            if PAID not in self.study.user_attrs:
                self.study.set_user_attr(PAID, self.payment.to_json())

    def claimed(self) -> int:
        """Draws made or lost so far."""
        return sum(CLAIM in t.user_attrs for t in self.study.get_trials(deepcopy=False))

    def left(self) -> int:
        """Draws still to be made."""
        return max(0, self.terms.trials - self.claimed())

    def observe(self, trial: Trial, total: int) -> float:
        """Pay, claim, then draw: the noisy mean of a trial whose clipped losses sum to ``total`` whole steps."""
        if CLAIM in trial.user_attrs:
            raise BudgetRefused(f"trial {trial.number} was observed already; a second look is not paid for")
        if not self.simulated:
            prepared()
        self.pay()
        mine = f"{CLAIM}:{uuid.uuid4().hex}"  # a trial object knows what the storage held when it was made, not now
        for key in (mine, CLAIM):
            trial.set_user_attr(key, True)
        trials = self.study.get_trials(deepcopy=False)
        stored = next(t for t in trials if t.number == trial.number)
        if any(key.startswith(f"{CLAIM}:") and key != mine for key in stored.user_attrs):
            raise BudgetRefused(f"trial {trial.number} was observed elsewhere; a second look is not paid for")
        if sum(CLAIM in t.user_attrs for t in trials) > self.terms.trials:
            raise self.used_up()
        return self.mechanism.draw(total)

    def used_up(self) -> BudgetRefused:
        """What to raise when no draw is left."""
        return BudgetRefused(
            f"{self.terms.trials} observations were paid for and all are used. Nothing was released. "
            "Open a new study with its own budget to observe more"
        )


def evaluate(objective: Objective, mechanism: BoundedMean, params: dict[str, Any]) -> int:
    """The exact clipped sum at params. Runs where the data is; only a whole number travels. Private."""
    return loss_total(objective, mechanism, params)


def run(
    observations: Observations,
    objective: Objective,
    distributions: dict[str, Any],
    *,
    executor: Executor | None = None,
    at_once: int = 1,
    keep: int = 0,
    done: Callable[[Trial, float], None] = lambda trial, value: None,
) -> None:
    """Ask, evaluate, observe, tell, until all but ``keep`` of the paid observations are used.

    Edges. An objective that fails stops the run; everything observed so far is kept and the failed trial's observation
    is not used up. The same holds for Ctrl-C and for a worker that dies.
    """
    from optuna.trial import TrialState

    study, running = observations.study, dict[Future[int], "Trial"]()
    try:
        while observations.left() > keep or running:
            while len(running) < min(at_once, observations.left() - keep):
                trial = study.ask(fixed_distributions=distributions)
                try:
                    future = _submit(executor, objective, observations.mechanism, dict(trial.params))
                except BaseException:
                    study.tell(trial, state=TrialState.FAIL)
                    raise
                running[future] = trial
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                trial, total = running[future], _result(future)
                observations.pay()
                try:
                    value = observations.observe(trial, total)
                except BudgetRefused:  # another process on the same study took the last draw
                    study.tell(trial, state=TrialState.FAIL)
                    del running[future]
                    continue
                study.tell(trial, value)
                del running[future]
                done(trial, value)
    finally:
        for future, trial in running.items():
            future.cancel()
            study.tell(trial, state=TrialState.FAIL, skip_if_finished=True)


def confirm(
    observations: Observations,
    objective: Objective,
    distributions: dict[str, Any],
    params: dict[str, Any],
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

    study = observations.study
    study.set_user_attr(CHOSEN, params)
    if not observations.left():
        return
    total = _result(_submit(executor, objective, observations.mechanism, params))
    searching, study.sampler = study.sampler, FixedSampler(distributions, params)
    try:
        while observations.left():
            trial = study.ask(fixed_distributions=distributions)
            try:
                trial.set_user_attr(CONFIRMS, True)
                value = observations.observe(trial, total)
                study.tell(trial, value)
            except BaseException as error:
                study.tell(trial, state=TrialState.FAIL, skip_if_finished=True)
                if isinstance(error, BudgetRefused):  # another process on the same study took the last draw
                    return
                raise
            done(trial, value)
    finally:
        study.sampler = searching


def confirmations(trials: int) -> int:
    """How many of the trials confirm the choice: a fifth, at least one, none of a single one."""
    return max(1, trials // 5) if trials > 1 else 0


def _submit(executor: Executor | None, objective: Objective, mechanism: BoundedMean, params: dict[str, Any]) -> Any:
    """A future of the clipped sum: from the executor, or evaluated here and now."""
    if executor is not None:
        try:
            if isinstance(objective.function, Shards):
                return losses_future(executor, objective, mechanism, params)
            return executor.submit(evaluate, objective, mechanism, params)
        except Exception as error:
            kind = error
        raise _died(kind)
    future: Future[int] = Future()
    future.set_result(evaluate(objective, mechanism, params))
    return future


def _result(future: Future[int]) -> int:
    """The clipped sum. What an executor adds to the objective's own failures is said in our words."""
    try:
        return future.result()
    except TacitError:
        raise
    except Exception as error:
        kind = error
    raise _died(kind)


def _died(error: Exception) -> ObjectiveError:
    """By type alone: an executor's message may quote what was sent."""
    if isinstance(error, BrokenExecutor):
        why = "a worker died: it was killed, ran out of memory, or the objective ended it"
    else:
        why = (
            f"the executor could not run the objective ({type(error).__name__}): for processes it must be a function "
            "that workers can import, with data that can be pickled"
        )
    return ObjectiveError(f"{why}. What was observed is kept in the study; run again with the same out or storage")
