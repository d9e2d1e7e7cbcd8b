"""A front that may be published: utilities on a private test set, each released with noise.

    n    test records                     T    trials, fixed in advance
    R    runs of each trial               mu   of the whole front

A run has one utility in [0, 1] for each test record; their mean moves by at most 1/n when one record is replaced. T R
such means with Gaussian noise of standard deviation sqrt(T R) / (n mu) are together mu-GDP. The mean of a trial's R
runs then carries sqrt(T) / (n mu), as if it alone had been released. The front, the model, the database and the plots
are post-processing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import BadInput, BudgetRefused, LedgerError, ObjectiveError, count, described, differences
from tacit.objective import called
from tacit.privacy.accounting import split
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import EXACT, Source, prepared
from tacit.privacy.release import Payment

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial

    from tacit.pareto.algorithm import Oracles
    from tacit.privacy.ledger import Ledger

UNIT = "one test record replaced"
SOURCE = "private observations: T x R Gaussian mechanisms composed (Dong et al. 2022, Corollary 2)"
TERMS, RUN, PAID, CLAIM = "tacit:test", "tacit:run", "tacit:payment", "tacit:drawn"


@dataclass(frozen=True)
class PrivateTest:
    """What a private front may cost the test set, and the ledger that pays. The algorithm needs ``each_utility``."""

    budget: Budget
    ledger: Ledger | None = None
    noise: Source = EXACT

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            raise BadInput("budget must be a tacit.Budget, such as Budget.approximate(1.0, 1e-6)")
        if self.ledger is not None and self.noise.simulated:
            raise BadInput(
                "simulated noise has no guarantee, so it is not charged to a ledger; leave out one of the two"
            )


class ObservedTest:
    """The paid right to observe T trials of R runs, kept in the study itself.

    Guarantee. mu-GDP for one test record replaced, unconditional: at most T trials are drawn, each claimed in the
    study's storage first. The charge is made once, before any draw. Records that training used are not protected.
    Edges. A run that raises stops the study, as the fact may depend on a record; a utility that is NaN counts as 0.
    """

    def __init__(self, study: Study, oracles: Oracles, asked: PrivateTest, trials: int, repeats: int) -> None:
        algorithm = oracles.algorithm
        if not callable(getattr(algorithm, "each_utility", None)) or not hasattr(algorithm, "records"):
            raise BadInput(
                "a private front needs an algorithm with records and each_utility(params, seed) -> (records,)"
            )
        examples = getattr(algorithm, "examples", None)
        known = getattr(examples, "stated", True) or getattr(examples, "apart", False)
        if getattr(algorithm, "measuring_only", False) or not known:
            raise BadInput(
                "this algorithm read facts off its data, such as classes, means or spreads, and test records may be "
                "among them: a private front needs them stated, for instance classes=(0, 1). Nothing was spent"
            )
        self.study, self.trials, self.repeats = study, trials, repeats
        self.records = count("records", algorithm.records)
        mu = asked.budget.mu()
        self.higher = bool(getattr(algorithm, "higher", True))
        share = split(Budget.gdp(mu), trials * repeats)
        self.mechanism = BoundedMean(
            self.records, (0.0, 1.0), budget=share, higher_is_better=self.higher, unit=UNIT, noise=asked.noise
        )
        whole = Guarantee(Budget.gdp(mu), UNIT, (), SOURCE)
        whole = whole.at(asked.budget.delta) if asked.budget.notion == "approximate" else whole
        self.guarantee = self.mechanism.guarantee if asked.noise.simulated else whole
        terms = {"records": self.records, "trials": trials, "repeats": repeats, "budget": asked.budget.to_json()}
        self._agree({**terms, "simulated": asked.noise.simulated})
        self.payment = self._paid(asked.ledger)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on a trial's mean utility."""
        return float(self.mechanism.scale / np.sqrt(self.repeats))

    def observe(self, trial: Trial, totals: Sequence[int]) -> list[float]:
        """Claim, then draw: the noisy utilities of a trial's runs."""
        if CLAIM in trial.user_attrs or len(totals) != self.repeats:
            raise BudgetRefused(f"trial {trial.number} was observed already; a second look is not paid for")
        if self.guarantee.budget is not None:  # exact noise
            prepared()
        trial.set_user_attr(CLAIM, True)
        if self._claimed() > self.trials:
            raise BudgetRefused(f"{self.trials} trials were paid for and all are used. Nothing was released")
        values = [self.mechanism.draw(total) for total in totals]
        return values if self.higher else [1.0 - v for v in values]

    def _claimed(self) -> int:
        return sum(CLAIM in t.user_attrs for t in self.study.get_trials(deepcopy=False))

    def _agree(self, terms: dict[str, Any]) -> None:
        done = [t for t in self.study.get_trials(deepcopy=False) if t.state.name == "COMPLETE"]
        mine, stored = json.dumps(terms, sort_keys=True), self.study.user_attrs.get(TERMS)
        if any(CLAIM not in t.user_attrs for t in done) or (done and stored is None):
            raise BadInput("this study already has results that were not privately observed; start a new study")
        if stored is None:
            self.study.set_user_attr(TERMS, mine)
        elif stored != mine:
            raise BadInput(f"this study was begun under other terms: {differences(stored, mine)}. Start a new study")

    def _paid(self, ledger: Ledger | None) -> Payment | None:
        attrs = self.study.user_attrs
        if PAID in attrs:
            paid = Payment.from_json(attrs[PAID])
            if ledger is not None and ledger.pays(paid).drawn is not None and self._claimed() < self.trials:
                raise LedgerError(
                    "the ledger has recorded the front of this study, and the study does not hold all of it: an older "
                    "copy was put back. Start a new study, which is paid for anew. Nothing was drawn"
                )
            return paid
        if ledger is None:
            return None
        if RUN not in attrs:
            self.study.set_user_attr(RUN, uuid.uuid4().hex)
        purpose = f"front {self.study.user_attrs[RUN]}: {self.trials} x {self.repeats} observations"
        earlier = [e for e in ledger.entries() if e.kind == "charge" and e.purpose == purpose]
        if earlier:
            payment = Payment(ledger.id, ledger.name, earlier[0].number, earlier[0].hash)
        else:
            payment = ledger.charge(self.guarantee, purpose)
        self.study.set_user_attr(PAID, payment.to_json())
        return payment


def totals_of(oracles: Oracles, mechanism: BoundedMean, params: dict[str, Any], seeds: Sequence[int]) -> list[int]:
    """The exact clipped sums of each run. Runs where the data is; only whole numbers travel. Private."""
    totals = []
    for seed in seeds:
        array = called(lambda s: np.asarray(oracles.algorithm.each_utility(dict(params), s)), seed)
        if array.shape != (mechanism.records,) or array.dtype.kind not in "fiub":
            raise ObjectiveError(
                f"each_utility must return one number per test record, shape ({mechanism.records},), "
                f"got {described(array)}"
            )
        totals.append(mechanism.total(array))
    return totals
