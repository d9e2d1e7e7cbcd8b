"""tacit.train: from a private table to a released model, the search for its hyper-parameters included in the price.

    1  divide the rows, by position, into training, validation and test rows
    2  debit and commit the whole budget
    3  learn what the columns hold, with noise, from the training rows; or take the schema that was declared
    4  draw a secret number K; K times draw a setting, train with noise, score with noise on the validation rows
    5  release the best run, with a fresh score from the test rows, and beside it that of a constant prediction

A record is in one part only, so what it costs is the largest of what the parts cost, not their sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import BadInput, TacitError, choice
from tacit.identity import DataIdentity
from tacit.methods.intervals import sampling_deviation
from tacit.metrics import Metric
from tacit.privacy.guarantee import Budget, warn_of_weakness
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import Release
from tacit.run.private_state import PrivateState
from tacit.schema import Schema
from tacit.schema.rows import is_frame
from tacit.space import Space
from tacit.trainers.baseline import Baseline, divide_mu, draw_baseline
from tacit.trainers.column_counts import ColumnCounts
from tacit.trainers.learn import declared_preparation, learn_preparation
from tacit.trainers.model_files import load_joblib, write_model
from tacit.trainers.parts import Part, divide_rows
from tacit.trainers.preparation import Preparation
from tacit.trainers.runs import Run, Search
from tacit.trainers.scoring import Scoring, load_metric, refuse_unknown_rates
from tacit.trainers.search_cost import COLUMNS, SearchCost, make_law
from tacit.trainers.secret_search import SecretSearch, release_in_folder
from tacit.trainers.trained import PublishedModel, Trained
from tacit.trainers.trainer import CLASSES, EncodedRows, Facts, Trainer

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger_like import LedgerLike

STATED = "the trainer costs no more than it says, one training record replaced"
TIME = "how long a training takes does not depend on one record"
NAMED = "all rows of a person bear that person's name"
RECORD, PERSON = "one record of the table replaced", "one person of the table replaced, with all their rows"
SHARES = (0.8, 0.1, 0.1)
RUNS = 40  # of a trainer that names no number of its own
LOUD = 0.1  # noise on a validation score, in units of the loss
MANY_COLUMNS = 10


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
    groups: Any = None,
    metric: str | Metric | None = None,
    parts: tuple[float, float, float] = SHARES,
    hide_runs: bool = False,
    ledger: LedgerLike = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    seed: int = 0,
    noise: Source = EXACT,
    data: str | DataIdentity | None = None,
) -> Release[Trained]:
    """Train many models with differential privacy on a table, release the best one, and charge once for everything.

    ``trainer`` is a name (see ``tacit.trainers.TRAINERS``) or an object. ``X`` is a DataFrame, an array or a list of
    rows and ``y`` what is predicted, or ``target`` names the column of X that is. About ``runs`` models are trained, 40
    or what the trainer names (10 for boosting, whose defaults are good).
    ``schema`` says what the columns hold, as public facts; without one it is learnt from the training rows with noise,
    paid from the budget. ``groups`` says whose row each row is, where persons have several. ``metric`` is what chooses
    the model and what its score is: any of ``tacit.metrics``, the error or the absolute error if left out. ``data`` is
    what to call the table; its identity is kept, so that a folder begun with another one is refused.

    Guarantee. (epsilon, delta) for one record of the table replaced (with ``groups``: one person with all their rows),
    whatever it was used for: training, choosing hyper-parameters, scoring. It covers the model, its hyper-parameters
    and its score. Assumption: the number of runs and the time they took stay secret; with ``hide_runs`` all runs that
    could happen are done, so that their number is public, and only the time must stay secret.
    Follows. Liu and Talwar (2019), Papernot and Steinke (2022); the bound is docs/proofs/selection.md.
    Edges. The number of records (or persons) and the names of the columns are public. Of a person with several rows one
    row trains. A label that does not fit counts as wrong. ``out`` is a folder for the model, the certificate and, until
    the release, a private state from which a killed training goes on; it is wiped then.

    >>> import numpy as np, tacit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (6000, 3))
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> release = tacit.train("logistic", X, y, budget=tacit.Budget.approximate(2.0, 1e-6), runs=4, progress=False)
    >>> release.value.score < 0.3, release.guarantee.epsilon(1e-6) <= 2.0
    (True, True)
    """
    chosen = load_trainer(trainer)
    table, labels = separate_target(X, y, target)
    training, validation, test = divide_rows(len(labels), groups, parts, seed)
    job = Training(
        chosen,
        DividedTable(table, labels, training.one_each(), validation, test),
        SearchCost(
            budget,
            make_law(usual_runs(chosen) if runs is None else runs),
            0.0 if schema is not None else COLUMNS * budget.mu(),
        ),
        None if schema is None else declared_preparation(table, schema),
        None if space is None else Space(space),
        load_metric(metric, chosen.task),
        hide_runs,
        RECORD if groups is None else PERSON,
        noise,
        identify_table(X, y, target, groups, schema, data, f"parts {parts}, seed {seed}"),
    )
    job.rehearse()
    if not noise.simulated:
        warn_of_weakness(budget, training.units + validation.units + test.units)
    if out is not None:
        load_joblib()
    paying = as_ledger(ledger)
    return release_in_folder(out, lambda state: job.release(state, paying, executor, progress=progress), write_model)


@dataclass(frozen=True, repr=False)
class DividedTable:
    """Rows, labels, and the three parts. Private."""

    rows: Any
    labels: Any
    training: Part
    validation: Part
    test: Part

    def cells(self, part: Part) -> tuple[Any, Any]:
        """Rows and labels of a part."""
        return _take(self.rows, part.rows), _take(self.labels, part.rows)

    def encode(self, part: Part, preparation: Preparation) -> EncodedRows:
        return preparation.rows(*self.cells(part), part.owners)

    def __repr__(self) -> str:
        return "<a table, private>"


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

    def __repr__(self) -> str:
        return f"<a training with {self.trainer.name}>"

    @property
    def secret(self) -> SecretSearch:
        trainer = self.trainer
        own = () if type(trainer).__module__.startswith("tacit.trainers.") else (STATED, TIME)
        whose = (NAMED,) if self.unit == PERSON else ()
        premises, name = (*own, *trainer.premises, *whose), f"train {trainer.name}"
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
        self._refuse_loud_noise()
        nothing = EncodedRows(np.empty((0, 0)), np.empty(0))
        self._search(facts, None, nothing, nothing).rehearse()

    def _refuse_loud_noise(self) -> None:
        base, validation = self.cost.base.mu, self.metric.units(self.table.validation.units)
        if 1 / (validation * base) > LOUD:
            raise BadInput(
                f"each of about {self.cost.law.mean:.0f} models would be scored with noise of standard deviation "
                f"{1 / (validation * base):.2g} on {validation} validation losses: no better than a random choice. Use "
                f"{math.ceil(1 / (LOUD * validation * base))} times the rows or the epsilon, or fewer runs. Nothing "
                "was spent"
            )
        counts = ColumnCounts(MANY_COLUMNS, self.cost.columns, self.cost.missed) if self.declared is None else None
        if counts is not None and counts.threshold > self.table.training.units / 2:
            raise BadInput(
                f"learning what the columns hold would need about {2 * counts.threshold} training rows at this budget, "
                f"got {self.table.training.units}: declare them (Schema.declare, --schema), or use a larger epsilon. "
                "Nothing was spent"
            )

    def release(
        self, state: PrivateState, ledger: Ledger | None, executor: Executor | None, *, progress: bool = False
    ) -> Release[Trained]:
        """Steps 2 to 5 of the head of this file; each is stored before the next begins."""
        secret = self.secret
        state.agree(self.terms(), self.data)
        payment = secret.pay(state, ledger)
        scoring, search = self.begin(state)
        winner = secret.find_best(search, state, executor, progress=progress)
        for_score, for_counts = divide_mu(self.cost.budget.mu())
        loss, baseline = state.load("loss"), state.load("baseline")
        if loss is None or baseline is None:
            test = self.table.encode(self.table.test, scoring.preparation)
            if loss is None:
                loss = state.store("loss", search.score(winner.model, test, for_score))
            if baseline is None:
                baseline = state.store("baseline", draw_baseline(test, scoring, for_counts, self.noise))
        return secret.seal(self._describe_winner(winner, scoring, loss, baseline), payment, ledger, state.load("data"))

    def begin(self, state: PrivateState) -> tuple[Scoring, Search]:
        """How models are scored, and all that a run needs: step 3 of the head of this file."""
        preparation = state.load("preparation") or state.store("preparation", self._prepare())
        if isinstance(preparation, str):
            raise TacitError(preparation)
        facts = preparation.facts(self.table.training.units)
        encoded = [self.table.encode(part, preparation) for part in (self.table.training, self.table.validation)]
        scoring = self._settle(preparation)
        return scoring, self._search(facts, scoring, *encoded)

    def terms(self) -> dict[str, Any]:
        """What a state is about; a training begun under other terms is not gone on with."""
        t = self.table
        sizes = [part.units for part in (t.training, t.validation, t.test)]
        about: dict[str, Any] = {
            "trainer": self.trainer.name,
            "sizes": sizes,
            "budget": self.cost.budget.to_json(),
            "unit": self.unit,
        }
        about |= {"law": repr(self.cost.law), "columns": self.cost.columns, "metric": self.metric.name}
        about |= {"bounds": self.metric.bounds, "rates": self.metric.declared}
        schema = self.declared.to_json() if self.declared else None
        return {**about, "schema": schema, "space": repr(self.space and self.space.distributions)}

    def _settle(self, preparation: Preparation) -> Scoring:
        try:
            return Scoring.of(self.metric, preparation)
        except BadInput as error:  # only now are the labels known
            told = str(error).removesuffix(" Nothing was spent")
            raise TacitError(f"{told} These are the labels that the noise shows. The budget stays spent") from None

    def _search(self, facts: Facts, scoring: Scoring | None, training: EncodedRows, validation: EncodedRows) -> Search:
        space, own = self.space or Space(self.trainer.space(facts)), self.space is None
        parts = (training, validation)
        return Search(self.trainer, space, facts, self.cost.base, scoring, *parts, self.noise, centred=own)

    def _prepare(self) -> Preparation | str:
        """What the columns hold; or why that cannot be trained on, which was drawn too, and is said again if asked."""
        if self.declared is not None:
            return self.declared
        rows, labels = self.table.cells(self.table.training)
        try:
            return learn_preparation(rows, labels, self.trainer.task, self.cost, self.noise)
        except TacitError as error:
            return str(error)

    def _describe_winner(self, winner: Run, scoring: Scoring, loss: float, baseline: Baseline) -> Trained:
        assert winner.model is not None
        mean, persons = min(max(loss, 0.0), 1.0), self.table.test.units
        units = scoring.metric.units(persons)
        reading, told = scoring.reading(persons), scoring.mean_in_units(mean)
        noise = scoring.width / (units * divide_mu(self.cost.budget.mu())[0])
        sampling = scoring.width * sampling_deviation(mean, 1.96 * noise / scoring.width, (0.0, 1.0), units)
        without, alone = scoring.mean_in_units(baseline.loss), replace(reading, spread=0.0)
        return Trained(
            PublishedModel(scoring.preparation, winner.model, self.trainer.name),
            winner.params,
            reading.read(told),
            scoring.metric.name,
            alone.reach(told, 1.96 * noise) / 1.96,
            reading.reach(told, 1.96 * sampling) / 1.96,
            {
                "of": "persons" if self.unit == PERSON else "rows",
                "records": self.table.training.units,
                "test": persons,
                "baseline": reading.read(without),
                "baseline_deviation": alone.reach(without, 1.96 * baseline.deviation * scoring.width) / 1.96,
                "baseline_of": baseline.prediction,
                **({"metric": reading.about} if reading.about else {}),
                **self.cost.to_json(),
            },
        )


def identify_table(
    X: Any, y: Any, target: str | None, groups: Any, schema: Schema | None, data: str | DataIdentity | None, use: str
) -> DataIdentity:
    """Which table it is, and what decides the part that a row has in the training."""
    if isinstance(data, DataIdentity):
        return replace(data, use=use)
    others = [np.asarray(part) for part in (y, groups) if part is not None]
    declared = None if schema is None else schema.to_json()
    persons = groups is not None
    if is_frame(X):
        made = DataIdentity.of_table(X, name="table", target=target, declared=declared, persons=persons, others=others)
    else:
        made = DataIdentity.of_arrays([np.asarray(X), *others], name="arrays")
    return replace(made, rows=None if persons else made.rows, use=use).rename(data)


def load_trainer(trainer: str | Trainer) -> Trainer:
    from tacit.trainers import TRAINERS, load

    if not isinstance(trainer, str):
        return trainer
    found: Trainer = load(choice("trainer", trainer, tuple(TRAINERS)))
    return found


def usual_runs(trainer: Trainer) -> float:
    """About how many models of a trainer are trained if nobody says."""
    return float(getattr(trainer, "runs", RUNS))


def separate_target(X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
    """Rows without the target, and the target."""
    if (y is None) == (target is None):
        raise BadInput("give y, or the name of the column that holds it as target; one of the two")
    if target is not None:
        if not is_frame(X) or target not in X.columns:
            raise BadInput(f"target={target!r} must name a column of a DataFrame")
        X, y = X.drop(columns=[target]), X[target]
    if len(X) != len(y):
        raise BadInput(f"X has {len(X)} rows and y has {len(y)}; they must agree")
    return X, y


def _take(rows: Any, at: Any) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[at]
    return rows[at] if isinstance(rows, np.ndarray) else [rows[i] for i in at]
