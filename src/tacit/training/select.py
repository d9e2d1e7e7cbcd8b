"""tacit.select: the best of many private trainings of your own, all of them in one price.

    1  debit and commit the whole budget
    2  draw a secret number K and K settings, and store them; with each call the objective, which trains with noise and
       gives one loss for each validation record; draw their mean with noise
    3  release the model of the best run, its setting and its noisy score; with ``test``, a fresh score as well

A record trains, validates or tests. What it costs is the largest of the three, not their sum.
"""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.columns import read_losses
from tacit.data.identity import DataIdentity, identify
from tacit.data.metrics import Metric, find
from tacit.data.metrics.reading import Interval, Reading, clip_interval
from tacit.errors import BadInput
from tacit.files import Json
from tacit.methods.intervals import sampling_deviation
from tacit.privacy.guarantee import LOSSES, Budget
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.profiles import Profile
from tacit.privacy.release import Release, plain
from tacit.privacy.units import EVERY_PART as UNIT
from tacit.run.private_state import PrivateState
from tacit.space import Params, Space
from tacit.training.runs import Run, draw_params
from tacit.training.search_cost import SearchCost
from tacit.training.secret_search import SecretSearch, release_in_folder
from tacit.training.trainer import Base

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger_like import LedgerLike

WITHIN = "the objective trains within the base that it is given, one training record replaced"
STATED = "the profile that is stated of the training is true, one training record replaced"
TIME = "how long the objective takes does not depend on one record"
APART = "no record is used for more than one of training, validation and test"
TRY = "Try the objective on rows that were made up, with noise=tacit.Simulation(0), which shows why. "
SETTINGS = 16  # whose stated profiles are compared with the base before anything is spent

Objective = Callable[[Params, Base], tuple[Any, Any]]


@dataclass(frozen=True)
class Selected:
    """The best model, its hyperparameters, and scores.

    ``loss`` is the noisy mean loss on the validation records that made it win: it looks better than the model is.
    ``test_loss`` is fresh. Their deviations are those of the noise; ``sampling`` is that of the test records as a
    sample, at most. ``score`` and ``test_score`` are the same in the metric that was named, by ``reading``.
    """

    __released__ = True
    __trusted__ = ("model",)  # its private training is the caller's, and a premise

    model: Any = field(repr=False)
    params: Params
    loss: float
    deviation: float
    test_loss: float | None = None
    test_deviation: float | None = None
    sampling: float | None = None
    reading: Reading | None = None
    details: Json = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """What the scores are: the name of a metric, or "score"."""
        return self.reading.name if self.reading is not None else "score"

    @property
    def score(self) -> float:
        """The metric in its own units; the loss where no metric was named."""
        return self.loss if self.reading is None else self.reading.read(self.loss)

    @property
    def test_score(self) -> float | None:
        """The same on the test records."""
        return self.test_loss if self.test_loss is None or self.reading is None else self.reading.read(self.test_loss)

    @property
    def interval(self) -> Interval | None:
        """Of the test score for new records, at 95%, within what is possible; None without test records."""
        if self.test_loss is None or self.test_deviation is None or self.sampling is None or self.test_score is None:
            return None
        wide = 1.96 * math.hypot(self.test_deviation, self.sampling)
        if self.reading is None:
            return clip_interval(self.test_score, wide)
        return clip_interval(self.test_score, self.reading.reach(self.test_loss, wide), self.reading.possible)

    def to_json(self) -> Json:
        scores = ("score", "loss", "deviation", "test_score", "test_loss", "test_deviation", "sampling", "interval")
        names = ("params", "metric", *scores, "details")
        return {**{name: plain(getattr(self, name)) for name in names}, "model_digest": self.model_digest()}

    def model_digest(self) -> str | None:
        """SHA-256 of the model's pickle, if it has one."""
        try:
            return hashlib.sha256(pickle.dumps(self.model)).hexdigest()
        except Exception:  # a pickle may fail in any way
            return None


def select(
    objective: Objective,
    space: Mapping[str, Any] | Space,
    *,
    records: int,
    budget: Budget,
    bounds: tuple[float, float] | None = None,
    metric: str | Metric | None = None,
    runs: float = 40,
    profile: Callable[[Params, Base], Profile] | None = None,
    test: Callable[[Any], Any] | None = None,
    test_records: int | None = None,
    hide_runs: bool = False,
    ledger: LedgerLike = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    unit: str = UNIT,
    noise: Source = EXACT,
    data: str | DataIdentity | None = None,
) -> Release[Selected]:
    """The best of about ``runs`` private trainings of your own (Opacus, JAX, anything), for one charge.

    ``objective(params, base)`` trains with differential privacy and returns a model and one loss for each of the
    ``records`` validation records; least is best. Its training may cost what ``base`` says: mu-GDP with ``base.mu``, or
    any profile that ``base.table.covers``; ``tacit.accounting.noise_below(base.table, ...)`` has the noise of DP-SGD.
    ``profile(params, base)`` may state what it costs, which is then compared with the base before anything is spent.
    ``test(model)`` gives one loss for each of ``test_records`` other records. ``metric`` says which metric's losses
    they are, any of ``tacit.metrics``: scores are then given in it. ``bounds`` are those of a loss: the metric's, or
    (0, 1), if left out.

    Guarantee. (epsilon, delta) for one record replaced, whichever part it is in, for the model, its hyperparameters
    and all scores together. Premises, on the certificate: the training costs what is stated; it does not fail or take
    longer because of one record; each loss depends on its own record alone; no record is in two parts. And the number
    of runs stays secret, unless ``hide_runs`` does all that could happen; how long they took stays secret in any case.
    Follows. docs/proofs/selection.md.
    Edges. An objective that raises, or returns what is not one number per record, counts as a run with the worst score,
    silently: how is private. With ``noise=tacit.Simulation(0)``, on rows that were made up, it raises. ``out`` holds
    the certificate and, until the release, a private state from which a killed search goes on, each run with its own
    setting; models must then pickle. A run that is killed three times counts, with the worst score.

    >>> import numpy as np, tacit
    >>> def objective(params, base):  # a mean of 1,000 numbers within [0, 1], released with noise; not a real training
    ...     mean = tacit.mechanisms.Gaussian(1 / 1000, budget=tacit.Budget.gdp(base.mu)).release(0.5).value
    ...     return params["shift"] + mean, np.abs(np.linspace(0, 1, 500) - params["shift"] - mean)
    >>> release = tacit.select(objective, {"shift": tacit.Float(-0.5, 0.5)}, records=500, runs=10,
    ...                        budget=tacit.Budget.approximate(2.0, 1e-6))
    >>> release.value.score < 0.5, release.guarantee.epsilon(1e-6)
    (True, 2.0)
    """
    if (test is None) != (test_records is None):
        raise BadInput("give test and test_records together: a score on test records needs both")
    measured = None if metric is None else (find(metric) if isinstance(metric, str) else metric).within(bounds)
    ends = measured.known_bounds() if measured is not None else (0.0, 1.0) if bounds is None else bounds
    search = OwnSearch(
        objective, Space(space), records, ends, SearchCost.of(budget, runs, learns=False), profile, noise
    )
    search.check()
    reading = None if measured is None else measured.reading(records)
    job = Selection(search, test, test_records, hide_runs, unit, identify(data), reading)
    paying = as_ledger(ledger)
    return release_in_folder(out, lambda state: job.release(state, paying, executor, progress=progress))


@dataclass(frozen=True, repr=False)
class OwnSearch:
    """All that a run needs; the same for every run."""

    objective: Objective
    space: Space
    records: int
    bounds: tuple[float, float]
    cost: SearchCost
    profile: Callable[[Params, Base], Profile] | None
    noise: Source

    def __repr__(self) -> str:
        return "<a search with an objective, private>"

    @property
    def base(self) -> Base:
        return self.cost.base

    @cached_property
    def mean(self) -> BoundedMean:
        return BoundedMean(self.records, self.bounds, budget=Budget.gdp(self.base.mu), noise=self.noise)

    def check(self) -> None:
        """Refuse bad numbers, and a stated profile that is above the base at any of some settings: nothing is spent."""
        _ = self.mean
        ends = self.space.params([[0.0] * self.space.dimensions, [1.0] * self.space.dimensions])
        if self.profile is not None:
            for params in [*ends, *self.space.sobol(SETTINGS, seed=0)]:
                if not self.base.table.covers(self.profile(params, self.base)):
                    raise BadInput(
                        f"the stated profile is above the base of mu = {self.base.mu:.4g} at {params}: give that "
                        "setting more noise. Nothing was spent"
                    )

    def draw_params(self) -> Params:
        return draw_params(self.space)

    def run(self, params: Params) -> Run:
        """Call the objective with a setting, draw the mean. A run that fails counts, with the worst score.

        Guarantee. At most ``base`` for one record replaced: a training record meets the training alone, a validation
        record the score alone.
        """
        try:
            if self.profile is not None and not self.base.table.covers(self.profile(params, self.base)):
                raise BadInput("the stated profile is above the base")
            model, losses = self.objective(dict(params), self.base)
            return Run(params, self.mean.draw(self.mean.prepare(read_losses(np.asarray(losses)))), model)
        except Exception:
            if self.noise.simulated:
                raise
            return Run.failure(params)


@dataclass(frozen=True, repr=False)
class Selection:
    """A search that was checked: nothing has been spent or drawn yet."""

    search: OwnSearch
    test: Callable[[Any], Any] | None
    test_records: int | None
    hide_runs: bool
    unit: str
    data: DataIdentity | None = None
    reading: Reading | None = None

    def __repr__(self) -> str:
        return "<a selection among private trainings>"

    @property
    def secret(self) -> SecretSearch:
        s, training = self.search, WITHIN if self.search.profile is None else STATED
        premises = (training, APART, TIME, *LOSSES)
        return SecretSearch("select", s.cost, self.unit, s.noise, self.hide_runs, premises=premises)

    def release(
        self, state: PrivateState, ledger: Ledger | None, executor: Executor | None, *, progress: bool = False
    ) -> Release[Selected]:
        """Steps 1 to 3 of the head of this file; each is stored before the next begins."""
        search, secret = self.search, self.secret
        state.agree(self.terms(), self.data)
        payment = secret.pay(state, ledger)
        winner = secret.find_best(search, state, executor, progress=progress, remedy=TRY)
        details = {"records": search.records, **search.cost.to_json()}
        test_loss, test_deviation, sampling = self._test(winner, state)
        value = Selected(
            winner.model,
            dict(winner.params),
            winner.loss,
            search.mean.scale,
            test_loss,
            test_deviation,
            sampling,
            self.reading,
            details,
        )
        return secret.seal(value, payment, ledger, state.load("data"))

    def _test(self, winner: Run, state: PrivateState) -> tuple[float, float, float] | tuple[None, None, None]:
        """Loss on the test records, the deviation of its noise, and that of the records as a sample."""
        if self.test is None or self.test_records is None:
            return None, None, None
        mu = self.search.cost.budget.mu()
        mean = BoundedMean(self.test_records, self.search.bounds, budget=Budget.gdp(mu), noise=self.search.noise)
        drawn = state.load("loss")
        if drawn is None:
            drawn = state.store("loss", mean.draw(mean.prepare(self.test(winner.model))))
        loss: float = drawn
        return loss, mean.scale, sampling_deviation(loss, 1.96 * mean.scale, mean.bounds, self.test_records)

    def terms(self) -> dict[str, Any]:
        """What a state is about; a search begun under other terms is not gone on with."""
        s = self.search
        return {
            "records": s.records,
            "bounds": list(s.bounds),
            "budget": s.cost.budget.to_json(),
            "law": repr(s.cost.law),
            "space": repr(s.space.distributions),
            "unit": self.unit,
            "test": self.test_records,
        }
