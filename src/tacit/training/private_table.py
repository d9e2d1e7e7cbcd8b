"""A private table for a training: its rows and labels in three parts, which table it is, and what is declared of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.data.columns import CellColumn
from tacit.data.containers import read_column
from tacit.data.identity import DataIdentity
from tacit.data.metrics import Metric
from tacit.data.schema import Schema
from tacit.data.split import Part
from tacit.data.table import Table
from tacit.errors import BadInput
from tacit.training.preparation import Preparation
from tacit.training.trainer import EncodedRows


@dataclass(frozen=True, repr=False)
class DividedTable:
    """Rows, labels, and the three parts. Private."""

    rows: Table
    labels: CellColumn
    training: Part
    validation: Part
    test: Part

    def cells(self, part: Part) -> tuple[Any, Any]:
        """Rows and labels of a part."""
        return self.rows.take(part.rows), self.labels.take(part.rows)

    def encode(self, part: Part, preparation: Preparation) -> EncodedRows:
        return preparation.rows(*self.cells(part), part.owners)

    def __repr__(self) -> str:
        return "<a table, private>"


def identify_table(
    X: Any, y: Any, target: str | None, groups: Any, schema: Schema | None, data: str | DataIdentity | None, use: str
) -> DataIdentity:
    """Which table it is, and what decides the part that a row has in the training."""
    if isinstance(data, DataIdentity):
        return replace(data, use=use)
    others = [part for part in (y, groups) if part is not None]
    declared = None if schema is None else schema.to_json()
    table, persons = Table.of(X), groups is not None
    name = "table" if table.form == "frame" else "arrays"
    made = DataIdentity.of_table(table, name=name, target=target, declared=declared, persons=persons, others=others)
    return replace(made, use=use).rename(data)


def settle_schema(
    schema: Schema | None, labels: Sequence[Any] | None, metric: Metric, target: str | None
) -> Schema | None:
    """What is declared, with labels that were named beside it: by themselves, or by the class rates of a metric."""
    if labels is None and metric.declared and (schema is None or schema.target is None):
        labels = [name for name, _ in metric.declared]
    if labels is None:
        return schema
    return (schema or Schema((), None, declared=True)).with_labels(labels, target or "target")


def separate_target(X: Any, y: Any, target: str | None) -> tuple[Table, CellColumn]:
    """Rows without the target, and the target."""
    if (y is None) == (target is None):
        raise BadInput("give y, or the name of the column that holds it as target; one of the two")
    table = Table.of(X)
    if target is None:
        labels = read_column(y)
    else:
        if table.form != "frame" or target not in table.names:
            raise BadInput(f"target={target!r} must name a column of a DataFrame")
        table, labels = table.drop([target]), table[target]
    if len(table) != len(labels):
        raise BadInput(f"X has {len(table)} rows and y has {len(labels)}; they must agree")
    return table, labels
