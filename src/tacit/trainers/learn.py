"""What the columns of a table hold: as declared, or learnt from the training rows with noise."""

from __future__ import annotations

from typing import Any

from tacit.errors import BadInput, TacitError
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Source
from tacit.schema import Column, Schema
from tacit.schema.cells import read_cells, read_number, read_words
from tacit.schema.rows import divide, form_of
from tacit.trainers.column_counts import ColumnCounts
from tacit.trainers.preparation import Preparation, Rates
from tacit.trainers.search_cost import COLUMNS, SearchCost, make_law
from tacit.trainers.trainer import CLASSES


def learn_preparation(X: Any, y: Any, task: str, cost: SearchCost, noise: Source) -> Preparation:
    """Kinds, ranges, cuts, words and labels from training rows, with noise: ``cost.columns``-GDP for one row replaced.

    Edges. Labels that too few rows have for the noise are left out; such rows train nothing and count as wrong.
    """
    form, names = form_of(X)
    counts = ColumnCounts(len(names) + 1, cost.columns, cost.missed)
    described = [counts.describe(n, c, noise) for n, c in zip(names, divide(X, form, names), strict=True)]
    aim, rates = _labels(y, counts, noise) if task == CLASSES else (counts.describe("target", y, noise)[0], None)
    if aim.kind != ("category" if task == CLASSES else "number"):
        raise TacitError("the target holds words: for classes use logistic, svm, ebm or mlp. The budget stays spent")
    schema = Schema(tuple(column for column, _ in described), aim, form=form)
    return Preparation(schema, {column.name: cuts for column, cuts in described if cuts}, rates)


def rows_of_a_label(columns: int, budget: Budget, runs: float) -> int:
    """About how many training rows a label needs to be seen through the noise, if no schema declares it.

    >>> rows_of_a_label(14, Budget.approximate(1.0, 1e-6), 40)
    739
    """
    cost = SearchCost(budget, make_law(runs), COLUMNS * budget.mu())
    return ColumnCounts(columns + 1, cost.columns, cost.missed).threshold


def declared_preparation(X: Any, schema: Schema) -> Preparation:
    """The same from a declared schema: nothing is read off the data."""
    if not schema.declared:
        raise BadInput(
            "a schema to train with must be declared as public (Schema.declare or Schema.read): one that was read off "
            "rows tells of them. Without a schema, columns are learnt with noise. Nothing was spent"
        )
    form, names = form_of(X)
    if form != "frame" and len(names) != len(schema.columns):
        raise BadInput(f"the schema names {len(schema.columns)} columns, and the rows have {len(names)}")
    return Preparation(Schema(schema.columns, schema.target, True, form), {})


def _labels(y: Any, counts: ColumnCounts, noise: Source) -> tuple[Column, Rates]:
    words, odd = read_words(read_cells(y))
    found = counts.count_words(words[~odd & (words == words)], noise)
    if len(found) < 2:
        raise TacitError(
            f"fewer than two labels are frequent enough to be seen through the noise: a label needs about "
            f"{counts.threshold} training rows. Declare the labels in a schema, or use a larger table or budget; for a "
            "number use ridge, ebm-numbers or mlp-numbers. The budget stays spent"
        )
    numbers = [read_number(word) for word in found]
    if all(v is not None and float(v).is_integer() for v in numbers):
        named: dict[Any, float] = {int(v): found[w] for v, w in zip(numbers, found, strict=True) if v is not None}
    else:
        named = dict(found)
    labels = sorted(named)
    return Column("target", "category", tuple(labels)), estimate_rates([named[c] for c in labels], counts.scale)


def estimate_rates(noisy: list[float], scale: float) -> Rates:
    """Shares of noisy counts. Their variance is that of so many rows, and of the noise. Post-processing."""
    total = sum(noisy)
    shares = [max(c / total, 1e-6) for c in noisy]
    least = min(shares)
    rows = least * (1 - least) / (least * (1 - least) / total + (scale / total) ** 2)
    return Rates(tuple(share / sum(shares) for share in shares), rows)
