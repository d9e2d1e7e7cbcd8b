"""A table, a target column and a named model become an objective: one loss per private validation row or person.

The rows are split at random. Training rows train the model and are NOT protected; validation rows are read only through
their losses, and are what a release protects. Everything that is shared by all losses comes from the training rows
alone, or from a declared schema: encoders, the task, class rates, remarks, and whether a column holds numbers or words.
A validation cell that does not fit counts as missing, so that it can move no other row's loss and cannot make the run
fail. Of all rows together only two things are used: how many there are, and, with a column that names persons, which
rows are one person's. Persons are counted in the order in which they first appear.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.cells import ODD, TIME, WORD, Mask
from tacit.data.containers import read_column
from tacit.data.identity import DataIdentity
from tacit.data.matrix import Matrix
from tacit.data.metrics import Metric, Reading, find
from tacit.data.metrics.constant import read_against_constant
from tacit.data.schema import TASKS, Column, Schema
from tacit.data.split import Rows, hold_out
from tacit.data.table import Table
from tacit.data.units import Persons
from tacit.errors import BadInput, choice, count, refuse_short_memory
from tacit.integrations.predictions import check_estimator, predict_for, settle_metric
from tacit.integrations.table_facts import Identifier, TargetLeak, find_identifiers, find_target_leaks, judge_task
from tacit.integrations.table_models import MODELS, make_estimator
from tacit.objective import LossFacts
from tacit.space import Params, Space

PROTECTED = "protected: the validation rows. NOT protected: the training rows, which the published model may reveal"
FEW = 200  # training rows on which a space is tried
PERSONS = (
    "protected: the persons of the validation rows, each with all their rows. NOT protected: the persons of the "
    "training rows, whom the published model may reveal"
)
LEAST_TRAINING = 10
PLURALS = {"number": "numbers", "category": "categories", "time": "times"}
DEFAULTS = {"classification": "error", "regression": "squared"}


@dataclass(frozen=True, repr=False)
class TableObjective:
    """Fits a model on the training rows; answers with one loss per validation row, person or pair.

    ``known`` says which validation rows have a target that the schema knows; the others have no loss. ``owners`` says
    whose the validation rows are, and ``train_owners`` whose the training rows are, where a column names persons.
    """

    model: str
    task: str
    metric: Metric
    matrix: Matrix
    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    known: Mask
    owners: Rows | None = None
    train_owners: Rows | None = None
    identifiers: tuple[Identifier, ...] = ()
    target_leaks: tuple[TargetLeak, ...] = ()
    left_out: tuple[str, ...] = ()
    data: DataIdentity | None = None

    @property
    def target(self) -> Column:
        assert self.matrix.schema.target is not None
        return self.matrix.schema.target

    @property
    def units(self) -> int:
        """Validation rows, or persons: what is protected."""
        return len(self.known) if self.owners is None else int(self.owners.max()) + 1

    @property
    def records(self) -> int:
        """Losses: as many as units, or pairs of them."""
        return self.metric.units(self.units)

    @property
    def facts(self) -> LossFacts:
        return replace(self.metric.facts(self.units, persons=self.owners is not None), reading=self._reading)

    @property
    def space(self) -> Space:
        return Space(MODELS[self.model].space(len(self.train[1])))

    def __call__(self, params: Params) -> Any:
        fitted = self.estimator(params).fit(*self.train)
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # from here on a warning would tell of private rows
            warnings.simplefilter("ignore")
            predicted = predict_for(self.metric, fitted, self.validation[0], self.target)
            return self.metric.measure(
                predicted, self._answers(self.validation[1], self.known), self.owners, self.units
            )

    def refuse_space(self, space: Space) -> None:
        """Refuse a space that the model cannot take; tried on training rows, which are not protected."""
        known, middle = self.estimator({}).get_params(), space.params(np.full((1, space.dimensions), 0.5))[0]
        unknown = sorted(set(middle) - set(known))
        if unknown:
            raise BadInput(
                f"the model {self.model!r} has no parameter {', '.join(unknown)}; it has {', '.join(sorted(known))}. "
                "Nothing was spent"
            )
        every: Any = np.unique(self.train[1], return_index=True)[1] if self.task == "classification" else []
        few = np.union1d(np.arange(min(FEW, len(self.train[1]))), every).astype(int)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.estimator(middle).fit(self.train[0][few], self.train[1][few])
        except Exception as error:  # in full: it comes from training rows alone
            raise BadInput(
                f"the model {self.model!r} cannot be fitted with {middle}: {error}. Nothing was spent"
            ) from None

    def _answers(self, labels: Any, known: Any) -> Any:
        """Answers as the metric takes them."""
        if self.task != "classification":
            return np.where(known, labels, np.nan)
        codes = np.where(known, self.target.encode(labels), -1)
        return self.metric.code_answers(codes, self.target.labels.tolist())

    def describe(self) -> list[str]:
        """Task, rows, columns and metric in words; of private rows only their number, or that of the persons."""
        persons, (aim, columns) = self.owners is not None, self.describe_columns()
        trained = f"{len(self.train[1]):,} rows"
        if self.train_owners is not None:
            trained += f" of {int(self.train_owners.max()) + 1:,} persons"
        return [
            f"task: {aim}; model: {self.model}; {trained} to train on, {self.units:,} private "
            f"{'persons' if persons else 'rows'} to validate on",
            columns,
            self.metric.describe(self.units, "person" if persons else "record"),
        ]

    def describe_columns(self) -> tuple[str, str]:
        """The task, and what the columns hold."""
        kinds = [c.kind for c in self.matrix.schema.columns]
        held = ", ".join(f"{kinds.count(k)} of {many}" for k, many in PLURALS.items() if k in kinds)
        out = f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        classes = len(self.target.categories)
        aim = f"classification, {classes} classes" if self.task == "classification" else "regression"
        return aim, f"columns: {held}, as {self.train[0].shape[1]} numbers{out}"

    def baseline(self) -> str:
        """What a constant prediction scores, by the targets of the training rows alone; see read_against_constant."""
        shown = self._reading
        return f"to beat: {article(shown.name)} {shown.name} of {shown.baseline:.4g}, {shown.baseline_of}"

    @cached_property
    def _reading(self) -> Reading:
        answers = self._answers(self.train[1], np.ones(len(self.train[1]), bool))
        classes, reading = len(self.target.categories), self.metric.reading(self.units)
        return read_against_constant(reading, self.metric, answers, classes, self.train_owners)

    def fit(self, params: Params) -> Any:
        """The model with these parameters, fitted on the training rows, for rows as the table has them."""
        from tacit.integrations.table_code import TablePipeline

        return TablePipeline(self.matrix, self.estimator(params).fit(*self.train), self.target)

    def estimator(self, params: Params) -> Any:
        """An unfitted model with these parameters, for rows that ``matrix`` has encoded."""
        return make_estimator(self.model, self.task, params)


def article(name: str) -> str:
    """
    >>> article("error"), article("Brier score")
    ('an', 'a')
    """
    return "an" if name[0] in "aeiouA" else "a"


@refuse_short_memory()
def table_objective(
    table: Any,
    target: str,
    model: str,
    *,
    task: str | None = None,
    metric: Metric | str | None = None,
    bounds: tuple[float, float] | None = None,
    person: str | None = None,
    drop: Sequence[str] = (),
    validation: float = 0.5,
    seed: int = 0,
    schema: Schema | None = None,
    name: str | None = None,
    rows: tuple[Rows, Rows] | None = None,
) -> TableObjective:
    """Split a table into training and private validation rows, or persons, and make its objective.

    ``rows`` are those to train on and those to validate on, where somebody has divided them.
    """
    choice("model", model, tuple(MODELS))
    wanted = find(metric, bounds=bounds) if isinstance(metric, str) else metric
    table = Table.of(table)
    for asked in [target, *([person] if person is not None else []), *drop]:
        _find_column(table, asked)
    if target in (person, *drop):
        raise BadInput(f"the target {target!r} can neither name persons nor be left out")
    persons = None if person is None else Persons.of(table[person], len(table))
    owners = None if persons is None else persons.owners
    features = table.drop([target, *([person] if person is not None else []), *drop])
    if features.shape[1] < 1:
        raise BadInput(f"the table must have a column besides the target, got {features.shape[1] + 1} in all")
    if rows is None:
        random = np.random.default_rng(count("seed", seed, least=0))
        parts = hold_out(len(table), validation, random, persons, least=LEAST_TRAINING)
        rows = parts[0].rows, parts[1].rows
    seen, hidden = rows
    answers = table[target]
    known = table_schema(
        features.take(seen), answers.take(seen), target, task or (wanted.task if wanted else None), schema
    )
    assert known.target is not None
    kind = "classification" if known.target.kind == "category" else "regression"
    matrix, train = Matrix.fit(known, features.take(seen), gaps=MODELS[model].trees)
    here, there = known.encode_target(answers.take(seen)), known.encode_target(answers.take(hidden))
    if not here[1].all():
        raise BadInput(f"the target {target!r} is none of the declared labels in some training rows; leave them out")
    if kind == "classification" and len(np.unique(here[0])) < 2:
        raise BadInput("the training rows hold one class only; use a smaller validation share or another seed")
    whose = None if owners is None else owners[seen]
    measured = settle_metric(wanted or find(DEFAULTS[kind], bounds=bounds), known.target, here[0], whose)
    check_estimator(measured, make_estimator(model, kind, {}))
    private = matrix.encode(features.take(hidden))
    use = f"model {model}, metric {measured.name}, validation {validation:g}, seed {seed}"
    use += f", persons by {person!r}" if person is not None else ""
    use += f", without {', '.join(drop)}" if drop else ""
    cells = features.take(seen).match(known.columns)
    held = None if owners is None else np.unique(owners[hidden], return_inverse=True)[1]
    return TableObjective(
        model,
        kind,
        measured,
        matrix,
        (train, here[0]),
        (private, there[0]),
        there[1],
        held,
        _renumber(whose),
        find_identifiers(known.columns, cells),
        find_target_leaks(known.columns, cells, here[0]) if kind == "classification" else (),
        tuple(drop),
        data=None
        if name is None
        else DataIdentity.of_table(
            table,
            name=name,
            target=target,
            declared=schema.to_json() if schema is not None else None,
            persons=person is not None,
            use=use,
        ),
    )


def _renumber(owners: Rows | None) -> Rows | None:
    return None if owners is None else np.unique(owners, return_inverse=True)[1]


def _find_column(table: Any, name: str) -> None:
    if name not in table.columns:
        near = difflib.get_close_matches(name, [str(c) for c in table.columns], n=1)
        meant = f", did you mean {near[0]!r}?" if near else "; the first line of the file must name them"
        raise BadInput(f"the table has no column {name!r} among its {table.shape[1]} columns{meant}")


def table_schema(features: Any, answers: Any, target: str, task: str | None, declared: Schema | None) -> Schema:
    """What the columns hold, as declared or as training rows show; a task that nobody named is judged by them too."""
    if task is not None:
        choice("task", task, TASKS)
    if declared is not None and declared.target is not None:
        if declared.target.name != target:
            raise BadInput(f"the schema has the target {declared.target.name!r}, got the target {target!r}")
        if task is not None and (declared.target.kind == "category") != (task == "classification"):
            raise BadInput(f"the schema declares its target for another task than {task}")
        return declared
    cells = read_column(answers)
    if cells.absent.any() and not np.isin(cells.kinds, (WORD, TIME, ODD)).any():
        raise BadInput(f"the target {target!r} is missing in some training rows; leave such rows out of the table")
    try:
        seen = Schema.of_rows(features, answers, task=task or judge_task(target, answers), words="category")
    except BadInput as wrong:
        raise type(wrong)(f"the target {target!r}: {wrong}") from None
    return seen if declared is None else replace(declared, target=seen.target)
