"""A front that may be published: utilities on a private test set, each released with noise.

    n    test records                     T    trials, fixed in advance
    R    runs of each trial               mu   of the whole front

A run has one utility in [0, 1] for each test record; their mean moves by at most 1/n when one record is replaced. T R
such means with Gaussian noise of standard deviation sqrt(T R) / (n mu) are together mu-GDP. The mean of a trial's R
runs then carries sqrt(T) / (n mu), as if it alone had been released. The front, the model, the database and the plots
are post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.errors import BadInput, ObjectiveError, count, type_and_shape
from tacit.objective import call_without_message
from tacit.privacy.accounting import split
from tacit.privacy.claims import Claims, Promise
from tacit.privacy.guarantee import STEADY, Budget, Guarantee
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.units import TEST as UNIT
from tacit.run.shards import Shards
from tacit.run.study_store import StudyStore
from tacit.space import Params

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial

    from tacit.pareto.algorithm import Oracles
    from tacit.privacy.ledger_like import LedgerLike

PREMISES = (
    "each utility is computed from its own test record and public things alone: no other test record, and nothing "
    "trained or scaled on one, had a part in it",
    STEADY,
)
SOURCE = "private observations: T x R Gaussian mechanisms composed (Dong et al. 2022, Corollary 2)"


@dataclass(frozen=True)
class PrivateTest:
    """What a private front may cost the test set, and the ledger that pays. The algorithm needs ``each_utility``.

    Guarantee. mu-GDP for one test record replaced, unconditional; training records are not protected by it.
    Follows. Private observations. Proof: docs/proofs/private-front.md.
    """

    budget: Budget
    ledger: LedgerLike = None
    noise: Source = EXACT

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            raise BadInput("budget must be a tacit.Budget, such as Budget.approximate(1.0, 1e-6)")
        object.__setattr__(self, "ledger", as_ledger(self.ledger))  # refused before anything is trained


class ObservedTest(Claims):
    """The paid right to observe T trials of R runs, kept in the study itself. See Claims.

    Guarantee. mu-GDP for one test record replaced, unconditional. Records that training used are not protected.
    Edges. A run that raises stops the study, as the fact may depend on a record; a utility that is NaN counts as 0.
    """

    def __init__(self, study: Study, oracles: Oracles, asked: PrivateTest, trials: int, repeats: int) -> None:
        algorithm = oracles.algorithm
        parts = isinstance(getattr(algorithm, "records", None), Shards)
        needed = ("train", "score") if parts else ("each_utility",)
        if not hasattr(algorithm, "records") or not all(callable(getattr(algorithm, n, None)) for n in needed):
            raise BadInput(
                "a private front needs an algorithm with records and each_utility(params, seed) -> (records,); or with "
                "records as tacit.Shards, train(params, seed) -> model and score(model, frame) -> utilities"
            )
        examples = getattr(algorithm, "examples", None)
        known = getattr(examples, "stated", True) or getattr(examples, "apart", False)
        if getattr(algorithm, "measuring_only", False) or not known:
            raise BadInput(
                "this algorithm read facts off its data, such as classes, means or spreads, and test records may be "
                "among them: a private front needs them stated, for instance classes=(0, 1). Nothing was spent"
            )
        self.repeats, records = repeats, count("records", algorithm.records.records if parts else algorithm.records)
        self.higher, mu = bool(getattr(algorithm, "higher", True)), asked.budget.mu()
        share, better = split(Budget.gdp(mu), trials * repeats), self.higher
        self.mechanism = BoundedMean(
            records, (0.0, 1.0), budget=share, higher_is_better=better, unit=UNIT, noise=asked.noise
        )
        whole = Guarantee(Budget.gdp(mu), UNIT, (), SOURCE, premises=PREMISES)
        whole = whole.at(asked.budget.delta) if asked.budget.notion == "approximate" else whole
        guarantee = self.mechanism.guarantee if asked.noise.simulated else whole
        terms = {"records": records, "trials": trials, "repeats": repeats, "budget": asked.budget.to_json()}
        terms["simulated"] = asked.noise.simulated
        promise = Promise(guarantee, trials, f"front {{run}}: {trials} x {repeats} observations", terms)
        super().__init__(StudyStore(study, "test"), promise, ledger=as_ledger(asked.ledger))

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on a trial's mean utility."""
        return float(self.mechanism.scale / np.sqrt(self.repeats))

    def observe(self, trial: Trial, totals: Sequence[int]) -> list[float]:
        """Pay, claim, then draw: the noisy utilities of a trial's runs."""
        if len(totals) != self.repeats:
            raise BadInput(f"{self.repeats} runs of each trial were paid for, got {len(totals)}. Nothing was released")
        values = self.draw(trial, lambda: totals, lambda sums: [self.mechanism.draw(total) for total in sums])
        return values if self.higher else [1.0 - v for v in values]


def totals_of(oracles: Oracles, mechanism: BoundedMean, params: Params, seeds: Sequence[int]) -> list[int]:
    """The exact clipped sums of each run. Runs where the data is; only whole numbers travel. Private."""
    if isinstance(shards := oracles.algorithm.records, Shards):
        fit = oracles.algorithm.train
        models = [call_without_message(lambda s: fit(dict(params), s), seed, "train function") for seed in seeds]
        return shards.with_score(oracles.algorithm.score, None).add_up(models, mechanism, mechanism.records, None)
    totals = []
    for seed in seeds:
        array = call_without_message(lambda s: np.asarray(oracles.algorithm.each_utility(dict(params), s)), seed)
        if array.shape != (mechanism.records,) or array.dtype.kind not in "fiub":
            raise ObjectiveError(
                f"each_utility must return one number per test record, shape ({mechanism.records},), "
                f"got {type_and_shape(array)}"
            )
        totals.append(mechanism.total(array))
    return totals
