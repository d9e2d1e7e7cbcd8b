"""tacit.train: from a private table to a released model, a search for its hyperparameters included in the price.

    1  divide the rows, by position, into training, validation and test rows
    2  debit and commit the whole budget
    3  learn what the columns hold, with noise, from the training rows; or take the schema that was declared
    4  train with noise, by the trainer's defaults; or, in a search, draw a secret number K and K settings, and store
       them; with each train with noise, score with noise on the validation rows
    5  release the best run, with a fresh score from the test rows, and beside it that of a constant prediction

A record is in one part only, so what it costs is the largest of what the parts cost, not their sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.identity import DataIdentity
from tacit.data.metrics import Metric
from tacit.data.schema import Schema
from tacit.data.split import divide_rows
from tacit.errors import BadInput, TacitError, refuse_short_memory
from tacit.files import Json
from tacit.methods.intervals import sampling_deviation
from tacit.privacy.guarantee import Budget, warn_of_weakness
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import Release
from tacit.privacy.units import TABLE, TABLE_PERSON
from tacit.run.private_state import PrivateState
from tacit.space import Space
from tacit.training.baseline import Baseline, draw_baseline
from tacit.training.column_counts import ColumnCounts
from tacit.training.learn import check_schema, count_learnt, declared_preparation, learn_preparation, remarks_on_labels
from tacit.training.model_files import load_joblib, write_model
from tacit.training.preparation import Preparation
from tacit.training.private_table import DividedTable, identify_table, separate_target, settle_schema
from tacit.training.quantiles import FEW
from tacit.training.registry import load_trainer
from tacit.training.runs import Run, Search, default_params
from tacit.training.scoring import Scoring, load_metric, refuse_unknown_rates
from tacit.training.search_cost import SearchCost
from tacit.training.secret_search import SecretSearch, release_in_folder
from tacit.training.task import AUTO, settle_task
from tacit.training.trained import PublishedModel, Trained
from tacit.training.trainer import CLASSES, NUMBERS, EncodedRows, Facts, Trainer

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger_like import LedgerLike

STATED = "the trainer costs no more than it says, one training record replaced"
TIME = "how long a training takes, and whether it fails, lacks memory or is killed, does not depend on one record"
NAMED = (
    "all rows of a person bear that person's name, and whoever a person is replaced by has a name that falls in the "
    "same part of the table, by a hash: numbers of persons in the parts are public"
)
UNTOUCHED = "nothing that was fitted or chosen on the rows, such as a scaler, came before: they are given as they are"
SHARES, ONE_RUN = (0.8, 0.1, 0.1), (0.9, 0.0, 0.1)  # parts of a search, and of one run, which chooses nothing
RUNS = 40  # of a search in a space of one's own
ROUGHEST = 0.4  # deviation of the noise on a share of rows with which a range is still found
LOUD, LOUDEST = 0.1, 0.25  # noise on a validation score and on the released one, in units of the loss
FEWEST = 2.0  # rows of the rarest class, where rates are declared, in deviations of the noise on a count


@refuse_short_memory()
def train(
    trainer: str | Trainer,
    X: Any,
    y: Any = None,
    space: Mapping[str, Any] | Space | None = None,
    *,
    budget: Budget,
    runs: float | None = None,
    schema: Schema | None = None,
    target: str | None = None,
    labels: Sequence[Any] | None = None,
    groups: Any = None,
    metric: str | Metric | None = None,
    parts: tuple[float, float, float] | None = None,
    hide_runs: bool = False,
    ledger: LedgerLike = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    seed: int = 0,
    noise: Source = EXACT,
    data: str | DataIdentity | None = None,
) -> Release[Trained]:
    """Train a model with differential privacy on a table, release it with an honest score, and charge once.

    ``trainer`` is a name (see ``tacit.training.registry``) or an object; with "auto", whether classes or a number is
    predicted follows from the labels, the schema or the metric, and without any is learnt with noise. ``X`` is a
    DataFrame, an array or a list of rows and ``y`` what is predicted, or ``target`` names the column of X that is. One
    model is trained, with the trainer's defaults for so many rows and columns and such a budget. With ``runs`` above 1
    about that many models are trained, each with a setting drawn from ``space`` (by default the trainer's own), and the
    best one is released: that leaves each of 40 runs half the mu that one run has, and seldom gains. With a ``space``
    alone ``runs`` is 40. ``parts`` are the shares of rows that train, validate and test: 0.9, 0, 0.1 for one run and
    0.8, 0.1, 0.1 for more. ``schema`` says what the columns hold, as public facts; what it leaves open is learnt from
    the training rows with noise, paid from the budget. ``labels`` are those of the target, as public facts; class rates
    of a metric name them too. ``groups`` says whose row each row is, where persons have several. ``metric`` is what
    chooses the model and what its score is: any of ``tacit.metrics``, the error or the absolute error if left out.
    ``data`` is what to call the table; its identity is kept, so that a folder begun with another one is refused.

    Guarantee. (epsilon, delta) for one record of the table replaced (with ``groups``: one person with all their rows),
    whatever it was used for: training, choosing hyperparameters, scoring. It covers the model, its hyperparameters
    and its score. One run assumes nothing. Assumption of more: their number and the time they took stay secret; with
    ``hide_runs`` all runs that could happen are done, so that their number is public, and only the time must stay
    secret.
    Follows. Liu and Talwar (2019), Papernot and Steinke (2022); the bound is docs/proofs/selection.md.
    Edges. The number of records (or persons) and the names of the columns are public. Of a person with several
    rows all count together as one, in the trainers that take them (linear and additive ones), else the first trains. A
    label that does not fit counts as wrong. ``out`` is a folder for the model, the certificate and, until
    the release, a private state from which a killed training goes on, each run with the setting that was drawn for it;
    it is wiped then. A run that is killed three times counts, with the worst score.

    >>> import numpy as np, tacit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (6000, 3))
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> release = tacit.train("logistic", X, y, budget=tacit.Budget.approximate(2.0, 1e-6), progress=False)
    >>> release.value.score < 0.3, release.guarantee.epsilon(1e-6) <= 2.0
    (True, True)
    """
    task = settle_task(trainer, labels, schema, metric)
    chosen = load_trainer(AUTO[task] if trainer == AUTO[None] else trainer)
    table, answers = separate_target(X, y, target)
    measured = load_metric(metric, chosen.task)
    known = settle_schema(schema, labels, measured, target)
    if known is not None:
        check_schema(known, table)
    settled = known is not None and known.is_settled
    runs = count_runs(runs, space)
    shares = parts or (ONE_RUN if runs == 1 else SHARES)
    if (runs == 1) != (shares[1] == 0):
        raise BadInput(
            f"one run has no validation rows, such as parts={ONE_RUN}, and a search some, such as parts={SHARES}; got "
            f"runs={runs:g} and parts={shares!r}. Nothing was spent"
        )
    training, validation, test = divide_rows(len(answers), groups, shares, seed)
    job = Training(
        chosen,
        DividedTable(
            table, answers, training if getattr(chosen, "persons", False) else training.one_each(), validation, test
        ),
        SearchCost.of(budget, runs, learns=not settled),
        declared_preparation(table, known) if known is not None and settled else None,
        None if space is None else Space(space),
        measured,
        hide_runs,
        TABLE if groups is None else TABLE_PERSON,
        noise,
        identify_table(X, y, target, groups, known, data, f"parts {shares}, seed {seed}"),
        known,
    )
    if task is None:
        numbers = replace(job, trainer=load_trainer(AUTO[NUMBERS]), metric=load_metric(None, NUMBERS))
        job = replace(job, numbers=numbers)
    job.rehearse()
    if not noise.simulated:
        warn_of_weakness(budget, training.units + validation.units + test.units)
    if out is not None:
        load_joblib()
    paying = as_ledger(ledger)
    return release_in_folder(out, lambda state: job.release(state, paying, executor, progress=progress), write_model)


@dataclass(frozen=True, repr=False)
class Training:
    """A training that was checked: nothing has been spent, drawn or read of the rows yet."""

    trainer: Trainer
    table: DividedTable
    cost: SearchCost
    declared: Preparation | None
    space: Space | None
    metric: Metric
    hide_runs: bool
    unit: str
    noise: Source
    data: DataIdentity
    known: Schema | None = None  # what is declared, where the rest is learnt
    numbers: Training | None = None  # what is done if the target turns out to be numbers, where that is learnt

    def __repr__(self) -> str:
        return f"<a training with {self.trainer.name}>"

    @property
    def task(self) -> str | None:
        """What is predicted, where that is public."""
        return self.trainer.task if self.numbers is None else None

    @property
    def secret(self) -> SecretSearch:
        trainer = self.trainer
        own = () if type(trainer).__module__.startswith("tacit.training.") else (STATED, TIME)
        whose = (NAMED,) if self.unit == TABLE_PERSON else ()
        premises, name = (*own, *trainer.premises, *whose, UNTOUCHED), f"train {trainer.name}"
        return SecretSearch(name, self.cost, self.unit, self.noise, self.hide_runs, trainer.assumptions, premises)

    def rehearse(self) -> None:
        """Refuse what cannot work, on made-up rows, before anything is spent."""
        outputs = 2 if self.trainer.task == CLASSES else 1
        facts = Facts(self.table.training.units, 5, self.trainer.task, outputs)
        if self.declared is not None:
            facts = self.declared.facts(self.table.training.units)
            if facts.task != self.trainer.task:
                raise BadInput(
                    f"{self.trainer.name} predicts {self.trainer.task}, and the schema's target is {facts.task}"
                )
            refuse_unknown_rates(self.metric)
            Scoring.of(self.metric, self.declared)
        elif self.known is not None and self.known.target is not None:
            if (self.known.target.kind == "category") != (self.trainer.task == CLASSES):
                raise BadInput(
                    f"{self.trainer.name} predicts {self.trainer.task}, and the target was declared otherwise: declare "
                    "its labels or its range. Nothing was spent"
                )
            refuse_unknown_rates(self.metric)
        self._refuse_loud_noise()
        nothing = EncodedRows(np.empty((0, 0)), np.empty(0))
        self._search(facts, None, nothing, nothing).rehearse()
        if self.numbers is not None:
            self.numbers.rehearse()

    def _refuse_loud_noise(self) -> None:
        base, table, per = self.cost.base.mu, self.table, self.metric.units
        if self.cost.searches and (noise := self.cost.choice_noise(per(table.validation.units))) > LOUD:
            raise BadInput(
                f"each of about {self.cost.law.mean:.0f} models would be scored with noise of standard deviation "
                f"{noise:.2g} on {per(table.validation.units)} validation losses: no better than a random choice. Use "
                f"{math.ceil(noise / LOUD)} times the rows or the epsilon, or fewer runs. Nothing was spent"
            )
        if (noise := self.cost.score_noise(per(table.test.units))) > LOUDEST:
            raise BadInput(
                f"the score would have noise of standard deviation {noise:.2g} on {per(table.test.units)} test losses, "
                f"and the model as much: nothing can be learnt. Use {math.ceil(noise / LOUDEST)} times the rows or the "
                "epsilon. Nothing was spent"
            )
        rarest = min((share for _, share in self.metric.declared), default=1.0) * table.training.units
        if rarest * base < FEWEST:
            raise BadInput(
                f"the rarest class has about {rarest:.0f} of {table.training.units} training rows, and at this budget "
                f"noise hides about {1 / base:.0f}: nothing can be learnt of it. Use "
                f"{math.ceil(FEWEST / (rarest * base))} times the rows or the epsilon. Nothing was spent"
            )
        if self.declared is not None:
            return
        learnt = count_learnt(self.known, len(self.table.rows.names), self.task)
        counts = ColumnCounts(learnt, self.cost.columns, self.cost.missed)
        aim = None if self.known is None else self.known.target
        labels = aim is None and self.trainer.task == CLASSES
        least = 2 * counts.threshold if labels else math.ceil(counts.row_scale(FEW) / ROUGHEST)
        if least > self.table.training.units:
            why = f"a label {counts.threshold}, " if labels else ""
            amounts = "" if self.task else f", for amounts use {AUTO[NUMBERS]}"
            raise BadInput(
                f"learning what the columns hold, {learnt} with the target, would need about {least} training rows at "
                f"this budget, {why}got {self.table.training.units}: declare the labels (labels=[...], --labels) or "
                f"the columns (Schema.declare, --schema){amounts}, or use a larger epsilon. Nothing was spent"
            )

    def release(
        self, state: PrivateState, ledger: Ledger | None, executor: Executor | None, *, progress: bool = False
    ) -> Release[Trained]:
        """Steps 2 to 5 of the head of this file; each is stored before the next begins."""
        secret = self.secret
        state.agree(self.terms(), self.data)
        payment = secret.pay(state, ledger)
        scoring, search = self.begin(state)
        winner = secret.find_best(search, state, executor, progress=progress, longest=search.longest)
        for_score, for_counts = self.cost.test_mu
        loss, known = state.load("loss"), state.load("baseline")
        baseline = None if known is None else Baseline(**known)
        if loss is None or baseline is None:
            test = self.table.encode(self.table.test, scoring.preparation)
            if loss is None:
                loss = state.store("loss", search.score(winner.model, test, for_score))
            if baseline is None:
                baseline = draw_baseline(test, scoring, for_counts, self.noise)
                state.store("baseline", asdict(baseline))
        assert winner.model is not None
        model = PublishedModel(scoring.preparation, winner.model, search.trainer.name)
        trained = self._describe_winner(winner, model, scoring, loss, baseline)
        return secret.seal(trained, payment, ledger, state.load("data"))

    def begin(self, state: PrivateState) -> tuple[Scoring, Search]:
        """How models are scored, and all that a run needs: step 3 of the head of this file."""
        stored = state.load("preparation") or state.store("preparation", self._prepare())
        if "refusal" in stored:  # of releases that gave up where no label was seen
            raise TacitError(stored["refusal"])
        preparation = Preparation.from_json(stored["preparation"], stored["rates"])
        facts = preparation.facts(self.table.training.units)
        encoded = [self.table.encode(part, preparation) for part in (self.table.training, self.table.validation)]
        job = self.numbers if self.numbers is not None and preparation.task == NUMBERS else self
        scoring = Scoring.settle(job.metric, preparation)
        return scoring, job._search(facts, scoring, *encoded)

    def terms(self) -> dict[str, Any]:
        """What a state is about; a training begun under other terms is not gone on with."""
        t = self.table
        sizes = [part.units for part in (t.training, t.validation, t.test)]
        about: Json = {
            "trainer": self.trainer.name,
            "sizes": sizes,
            "budget": self.cost.budget.to_json(),
            "unit": self.unit,
        }
        about |= {"law": repr(self.cost.law), "columns": self.cost.columns, "metric": self.metric.name}
        about |= {"bounds": self.metric.bounds, "rates": self.metric.declared}
        about |= {} if self.numbers is None else {"task": "learnt"}
        schema = self.declared.to_json() if self.declared else self.known.to_json() if self.known else None
        return {**about, "schema": schema, "space": repr(self.space and self.space.distributions)}

    def _remarks(self, scoring: Scoring) -> list[str]:
        if self.declared is not None:
            return []
        learnt = count_learnt(self.known, len(self.table.rows.names), self.task)
        least = ColumnCounts(learnt, self.cost.columns, self.cost.missed).threshold
        own = scoring.preparation.task == self.trainer.task
        return remarks_on_labels(scoring, self.metric if own else scoring.metric, least)

    def _search(self, facts: Facts, scoring: Scoring | None, training: EncodedRows, validation: EncodedRows) -> Search:
        space, own = self.space or Space(self.trainer.space(facts)), self.space is None
        base = self.cost.base
        fixed = None if self.cost.searches else default_params(self.trainer, space, facts, base, own=own)
        parts = (training, validation)
        return Search(self.trainer, space, facts, base, scoring, *parts, self.noise, centred=own, fixed=fixed)

    def _prepare(self) -> dict[str, Any]:
        """What the columns hold, as declared or learnt."""
        preparation = self.declared
        if preparation is None:
            rows, labels = self.table.cells(self.table.training.one_each())
            preparation = learn_preparation(rows, labels, self.task, self.cost, self.noise, self.known)
        rates = preparation.rates
        return {"preparation": preparation.to_json(), "rates": asdict(rates) if rates else None}

    def _describe_winner(
        self, winner: Run, model: PublishedModel, scoring: Scoring, loss: float, baseline: Baseline
    ) -> Trained:
        mean, persons = min(max(loss, 0.0), 1.0), self.table.test.units
        units = scoring.metric.units(persons)
        reading, told = scoring.reading(persons), scoring.mean_in_units(mean)
        noise = scoring.width * self.cost.score_noise(units)
        sampling = scoring.width * sampling_deviation(mean, 1.96 * noise / scoring.width, (0.0, 1.0), units)
        without, alone = scoring.mean_in_units(baseline.loss), replace(reading, spread=0.0)
        return Trained(
            model,
            winner.params,
            reading.read(told),
            told,
            scoring.metric.name,
            alone.reach(told, 1.96 * noise) / 1.96,
            reading.reach(told, 1.96 * sampling) / 1.96,
            reading.possible,
            {
                "of": "persons" if self.unit == TABLE_PERSON else "rows",
                "records": self.table.training.units,
                "test": persons,
                "baseline": reading.read(without),
                "baseline_deviation": alone.reach(without, 1.96 * baseline.deviation * scoring.width) / 1.96,
                "baseline_of": baseline.prediction,
                "higher": reading.higher,
                "unit": reading.unit,
                **({"metric": reading.about} if reading.about else {}),
                **({"remarks": remarks} if (remarks := self._remarks(scoring)) else {}),
                **self.cost.to_json(),
            },
        )


def count_runs(runs: float | None, space: Any = None) -> float:
    """About how many models are trained: one if nobody asks for more, by a number or a space."""
    return float(runs) if runs is not None else 1.0 if space is None else RUNS
