"""What the columns of a table hold: as declared, or learnt from the training rows with noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.data.cells import spell
from tacit.data.containers import read_column
from tacit.data.metrics import Metric
from tacit.data.schema import Column, Schema
from tacit.data.table import Table
from tacit.errors import BadInput
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Source
from tacit.training.column_counts import ColumnCounts
from tacit.training.preparation import Preparation, Rates
from tacit.training.scoring import Scoring
from tacit.training.search_cost import SearchCost
from tacit.training.trainer import CLASSES

TARGET = 3.5  # deviations that the range of a number that is predicted reaches: beyond it a target counts as its end
UNSEEN = "(no label seen)"  # the one class where no label is frequent enough for the noise
SEEN = 0.8  # share of the numbers of a target of unknown kind that are labels which are seen, if it is one of classes


def learn_preparation(
    X: Any, y: Any, task: str | None, cost: SearchCost, noise: Source, known: Schema | None = None
) -> Preparation:
    """Kinds, ranges, cuts, words and labels from training rows, with noise: ``cost.columns``-GDP for one row replaced.

    ``known`` is what is publicly known: columns and a target that it settles are not learnt, and cost nothing; of
    those that it names the others are left out. Without a ``task`` the target shows whether it is classes or numbers.
    Edges. Labels that too few rows have for the noise are left out; such rows train nothing and count as wrong. Where
    no label is left there is one class, ``UNSEEN``. Where a number is wanted, words count as missing.
    """
    table, known = Table.of(X), known or Schema((), None, declared=True)
    columns = known.columns or tuple(Column(name) for name in table.names)
    counts = ColumnCounts(count_learnt(known, len(table.names), task), cost.columns, cost.missed)
    described = [
        (column, ()) if column.is_settled else _describe(column, cells, counts, noise, free=not known.columns)
        for column, cells in zip(columns, table.match(columns), strict=True)
    ]
    aim, rates = known.target if known.target is not None and known.target.is_settled else None, None
    if aim is None and task is None:
        aim, rates = learn_labels_or_range(y, counts, noise)
    elif aim is None and task == CLASSES:
        aim, rates = learn_labels(y, counts, noise)
    elif aim is None:
        aim = counts.describe("target", y, noise, kind="number", stretch=TARGET)[0]
    schema = Schema(tuple(column for column, _ in described), aim, form=table.form)
    return Preparation(schema, {column.name: cuts for column, cuts in described if cuts}, rates)


def count_learnt(known: Schema | None, columns: int, task: str | None) -> int:
    """How many columns are learnt with noise, the target among them, of so many besides it; at least 1.

    A target of which not even the ``task`` is known counts as two: its labels are counted, and perhaps its range too.
    """
    target = 2 if task is None else 1
    if known is None:
        return columns + target
    open_ = sum(not c.is_settled for c in known.columns) if known.columns else columns
    return max(1, open_ + target * (known.target is None or not known.target.is_settled))


def _describe(
    column: Column, cells: Any, counts: ColumnCounts, noise: Source, *, free: bool
) -> tuple[Column, tuple[float, ...]]:
    """What a column holds; of the kind that was declared, where it was."""
    return counts.describe(column.name, cells, noise, kind=None if free else column.kind)


def rows_of_a_label(columns: int, budget: Budget, runs: float, task: str | None = CLASSES) -> int:
    """About how many training rows a label needs to be seen through the noise, if no schema declares it.

    >>> rows_of_a_label(14, Budget.approximate(1.0, 1e-6), 40)
    493
    """
    cost = SearchCost.of(budget, runs)
    return ColumnCounts(count_learnt(None, columns, task), cost.columns, cost.missed).threshold


def check_schema(schema: Schema, table: Table) -> None:
    """Refuse a schema that cannot serve a training, before anything is spent."""
    if not schema.declared:
        raise BadInput(
            "a schema to train with must be declared as public (Schema.declare or Schema.read): one that was read off "
            "rows tells of them. Without a schema, columns are learnt with noise. Nothing was spent"
        )
    for column in schema.columns:
        if column.kind not in ("number", "category", "time"):
            raise BadInput(f"column {column.name!r} must be numbers, categories or times, got kind={column.kind!r}")
    table.match(schema.columns or table.names)


def declared_preparation(X: Any, schema: Schema) -> Preparation:
    """The same from a declared schema: nothing is read off the data."""
    check_schema(schema, Table.of(X))
    table = Table.of(X)
    table.match(schema.columns)
    return Preparation(Schema(schema.columns, schema.target, True, table.form), {})


def learn_labels(y: Any, counts: ColumnCounts, noise: Source) -> tuple[Column, Rates]:
    """Labels that are seen through the noise, with their rates."""
    return _name_labels(counts.count_values(*read_column(y).distinct(), noise), counts)


def learn_labels_or_range(y: Any, counts: ColumnCounts, noise: Source) -> tuple[Column, Rates | None]:
    """Labels; or the range of a number, where most cells are numbers and many of them are no label that is seen.

    Guarantee. Labels cost what a column does, and kinds with a range what another does, whichever of them is taken.
    """
    held = read_column(y)
    kinds = counts.count_kinds(held, noise)
    found = counts.count_values(*held.distinct(), noise)
    if kinds["number"] == max(kinds.values()) and sum(found.values()) < SEEN * kinds["number"]:
        return counts.describe("target", held, noise, kind="number", stretch=TARGET, seen=kinds)[0], None
    return _name_labels(found, counts)


def _name_labels(found: Mapping[Any, float], counts: ColumnCounts) -> tuple[Column, Rates]:
    """Labels by their values, however they are spelled: all numbers, or all words."""
    if not found:
        return Column("target", "category", (UNSEEN,)), Rates((1.0,), 0.0)
    if all(isinstance(v, (int, float)) for v in found):
        named: dict[Any, float] = {int(v) if v == int(v) else v: c for v, c in found.items()}
    else:
        named = {spell(v): c for v, c in found.items()}
    labels = sorted(named)
    return Column("target", "category", tuple(labels)), estimate_rates([named[c] for c in labels], counts.scale)


def estimate_rates(noisy: list[float], scale: float) -> Rates:
    """Shares of noisy counts. Their variance is that of so many rows, and of the noise. Post-processing."""
    total = sum(noisy)
    shares = [max(c / total, 1e-6) for c in noisy]
    least = min(shares)
    rows = least * (1 - least) / (least * (1 - least) / total + (scale / total) ** 2)
    return Rates(tuple(share / sum(shares) for share in shares), rows)


def remarks_on_labels(scoring: Scoring, metric: Metric, rows: int) -> list[str]:
    """What labels that were learnt make of a training with ``metric``; one needs ``rows``. Post-processing."""
    labels, remarks = scoring.preparation.target.categories, []
    if labels == (UNSEEN,):
        remarks.append(
            f"no label is frequent enough to be seen through the noise (one needs about {rows} training rows), so the "
            "model has one answer. Declare the labels (labels=[...], --labels), or use a larger table or budget; for "
            "numbers use auto-numbers, ridge, ebm-numbers or mlp-numbers (PrivateRegressor)"
        )
    if scoring.metric.name != metric.name:
        shown = ", ".join(repr(str(label)) for label in labels[:5])
        remarks.append(
            f"scored by {scoring.metric.name}: {metric.name} does not suit the labels that were learnt, {shown}"
        )
    return remarks
