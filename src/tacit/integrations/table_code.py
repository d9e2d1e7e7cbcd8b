"""The fitted model of a table, and the script that rebuilds it from the same file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.data.matrix import Matrix
from tacit.data.schema import Column
from tacit.files import Json
from tacit.space import Params


@dataclass(frozen=True, repr=False)
class TablePipeline:
    """Rows of a table into predictions: the preprocessing that training rows showed, then the estimator.

    NOT protected: it was fitted on the training rows, and may reveal them.
    """

    matrix: Matrix
    estimator: Any
    target: Column

    def predict(self, rows: Any) -> Any:
        """Labels or numbers, one for each row of a DataFrame with the columns of the table."""
        return self.estimator.predict(self.matrix.encode(rows))

    def predict_proba(self, rows: Any) -> Any:
        """Probabilities of ``estimator.classes_``, where the model has them."""
        return self.estimator.predict_proba(self.matrix.encode(rows))


SCRIPT = '''\
"""Rebuilds the model whose parameters were released: reads the table, divides it as the search did, and fits.

It is fitted on the training rows, which are NOT protected: publish it only if they may be known.
Preprocessing, all by training rows alone: numbers (missing ones at the median) to mean 0 and deviation 1; categories as
columns of 0 and 1, the 50th and rarer ones together, none for a missing or unknown one; times as days. Boosting and
forests: a category is its place by frequency, in one column, and what is missing stays missing.
"""

from tacit.data.files import read_table
from tacit.integrations.table import table_objective
{declared}
rows = read_table({path!r}{known})
table = table_objective(
    rows,
    {target!r},
    {model!r},
{about})
model = table.fit({params!r})  # model.predict(rows), model.estimator, model.matrix
'''


def write_script(path: str, target: str, model: str, about: Json, params: Params, schema: Path | None = None) -> str:
    """A script that rebuilds a fitted model; ``about`` are other arguments of ``table_objective``, ``schema`` a file.

    >>> "table.fit({'C': 1.0})" in write_script("t.csv", "y", "linear", {"seed": 0}, {"C": 1.0})
    True
    """
    known = ", schema" if schema is not None else ""
    lines = "".join(f"    {name}={value!r},\n" for name, value in about.items() if value not in (None, []))
    lines += "    schema=schema,\n" if schema is not None else ""
    declared = f"from tacit import Schema\n\nschema = Schema.read({str(schema)!r})\n" if schema else ""
    parts = {"path": path, "known": known, "target": target, "model": model, "about": lines, "params": params}
    return SCRIPT.format(**parts, declared=declared)
