"""What may be said of a table before anything is spent: by its training rows, its names and its size alone."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.cells import ODD, TIME, WORD
from tacit.data.containers import read_column
from tacit.data.header import names_identifier
from tacit.data.schema import Column
from tacit.errors import TaskUnclear, extra
from tacit.privacy.guarantee import Budget

FEW, MANY = 10, 30  # distinct whole numbers: as many are classes, more are amounts; between them it is not clear
UNIQUE, OFTEN = 0.95, 0.4  # distinct values per row of a column that names rows; of one that may name persons
ROWS_EACH, LEAST_NAMES = 100, 20  # a column named like an identifier is one if its values have so few rows and are many
ROWS_LOOKED_AT, DEEP, CLEAR = 5_000, 3, 0.99  # training rows, depth of a tree, share that is nearly all


def judge_task(target: str, answers: Any) -> str:
    """classification or regression, by how many distinct values the target has in training rows and of which kind.

    Words are classes, unless there are as many as rows. Whole numbers are classes up to 10, amounts from 31. Numbers
    with fractions are amounts, unless there are few.

    >>> judge_task("price", [float(i) for i in range(100)]), judge_task("sick", ["no", "yes"] * 50)
    ('regression', 'classification')
    """
    cells = read_column(answers)
    if np.isin(cells.kinds, (WORD, TIME, ODD)).any():
        many = len(cells.distinct()[0])
        if many > max(MANY, len(cells) // 5):
            raise TaskUnclear(_ask(target, f"{many} distinct words in {len(cells)} training rows"))
        return "classification"
    values = np.unique(cells.numbers)
    whole, many = bool((values % 1 == 0).all()), len(values)
    if whole and many <= FEW:
        return "classification"
    if many > MANY:
        return "regression"
    raise TaskUnclear(_ask(target, f"{many} distinct {'whole ' * whole}numbers in {len(cells)} training rows"))


def _ask(target: str, seen: str) -> str:
    return (
        f"{target!r} has {seen}: are these classes or amounts? Give task='classification' or 'regression' (--task). "
        "Nothing was spent"
    )


@dataclass(frozen=True)
class Identifier:
    """A column of training rows that names rows or persons rather than describes them.

    What is said of it comes from training rows alone, which are not protected: whether a private row would make a
    column look otherwise is not looked at.
    """

    name: str
    distinct: int
    rows: int
    most: int  # rows of one value

    @property
    def unique(self) -> bool:
        return self.distinct >= UNIQUE * self.rows

    def remark(self, budget: Budget | None, *, pure: bool = False, ask_person: bool = True) -> str:
        """For people, before anything is spent; ``pure`` if epsilons of rows add up."""
        as_word = shlex.quote(self.name)
        named = f"{self.name!r} has {self.distinct:,} values in {self.rows:,} training rows"
        if self.unique:
            return f"{named}: it names rows rather than describes them. To leave it out: --drop {as_word}"
        text = f"{self.name!r} repeats, up to {self.most} training rows each, and looks like an identifier"
        if not ask_person:
            return f"{text}. To leave it out: --drop {as_word}"
        worth = "" if budget is None else f". {worth_of_rows(budget, self.most, pure=pure)}"
        return f"{text}: if it names persons, --person {as_word} protects them; else --drop {as_word}{worth}"


def worth_of_rows(budget: Budget, rows: int, *, pure: bool = False) -> str:
    """What the rows of one person are worth together, by group privacy.

    >>> worth_of_rows(Budget.approximate(1.0, 1e-6), 20)
    'At epsilon = 1, delta = 1e-06 for each row, 20 rows of one person are worth epsilon 33'
    """
    if budget.notion == "pure" or pure:
        together = rows * budget.amount
    else:
        delta = budget.delta or 1e-6
        together = Budget.gdp(rows * budget.mu()).epsilon(delta)
    return f"At {budget} for each row, {rows} rows of one person are worth epsilon {together:.3g}"


def find_identifiers(columns: Sequence[Column], cells: Sequence[Any]) -> tuple[Identifier, ...]:
    """Columns of training rows that look like names: nearly unique, or repeating and many, or called so."""
    identifiers = []
    for column, held in zip(columns, cells, strict=True):
        if column.kind not in ("number", "category", "text"):
            continue
        values = column.encode(held)
        if column.kind == "number":
            values = values[np.isfinite(values)]
            if (values % 1 != 0).any():
                continue
        elif column.kind == "category":
            values = values[values >= 0]
        else:
            values = np.array([v for v in values.tolist() if isinstance(v, str)], np.str_)
        if len(values) < LEAST_NAMES:
            continue
        each, counts = np.unique(values, return_counts=True)
        identifier = Identifier(column.name, len(counts), len(values), int(counts.max()))
        called = names_identifier(column.name)
        if column.kind == "number" and not called and each[counts.argmax()] == 0 and identifier.most > 1:
            continue  # many have none of it: an amount
        many = called and identifier.distinct > LEAST_NAMES and identifier.rows <= ROWS_EACH * identifier.distinct
        if identifier.unique or identifier.distinct >= OFTEN * identifier.rows or many:
            identifiers.append(identifier)
    return tuple(identifiers)


@dataclass(frozen=True)
class TargetLeak:
    """A column that alone tells the target of nearly all training rows: often known only after it."""

    name: str
    share: float

    def remark(self, target: str) -> str:
        return (
            f"{self.name!r} alone tells {target!r} of {100 * self.share:.3g}% of the training rows. If it is known "
            f"only afterwards, the score means nothing: --drop {shlex.quote(self.name)}"
        )


def find_target_leaks(columns: Sequence[Column], cells: Sequence[Any], labels: Any) -> tuple[TargetLeak, ...]:
    """Columns by which a small tree tells the classes of nearly all training rows, where no class has them all."""
    few = np.random.default_rng(0).permutation(len(labels))[:ROWS_LOOKED_AT]
    classes, counts = np.unique(labels[few], return_counts=True)
    if len(classes) < 2 or len(few) < 5 * LEAST_NAMES or counts.max() > CLEAR * len(few):
        return ()
    Tree = extra("sklearn.tree", "sklearn", "tuning on a table").DecisionTreeClassifier
    leaks = []
    for column, held in zip(columns, cells, strict=True):
        if column.kind not in ("number", "category"):
            continue
        values = column.encode(held)[few][:, None].astype(np.float32)
        values[~np.isfinite(values)] = np.nan
        share = float(Tree(max_depth=DEEP, random_state=0).fit(values, labels[few]).score(values, labels[few]))
        if share > CLEAR:
            leaks.append(TargetLeak(column.name, share))
    return tuple(leaks)
