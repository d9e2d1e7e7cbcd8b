"""What method="auto" and ``tacit plan`` choose by: the regret of each method of ours at equal budget.

Surfaces are BBOB functions as losses of records, raw and log-scaled (see _bbob.py and _arms.py): twelve functions, of
which none is among the eight that check the choice (tune_rivals). Each figure is a mean over surfaces, with one
standard error to either side; "typical" is their geometric mean, of regrets of 0.001 and more. The budget is the same
for all; the number of evaluations is not.

    python -m benchmarks plan_choice --repeats 12              measures: one surface a repeat and cell
    python -m benchmarks.papers.plan_choice           writes the table that is shipped from what was measured
"""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import Figure
from benchmarks.papers._arms import DIMENSIONS, GUMBEL, NOISE, OURS, measure
from benchmarks.papers.plan_table import rising
from tacit.methods.auto import AutoChoice, expected_regret, find_best

TITLE = "Regret of each method at equal budget on BBOB surfaces: what method='auto' chooses by"
LONG = True
REPEATS = 12
SOLVED = 0.001  # regret that counts as none in a geometric mean
ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "plan_choice.json"
SHIPPED = ROOT / "src" / "tacit" / "methods" / "choice.json"


def regrets(
    kind: str, d: int, name: str, evaluations: int, noise: float, repeats: int, answer: str = "regret"
) -> np.ndarray:
    """Of each surface, (repeats,); of a rival by its best noisy value, or with ``answer="model"`` by our model."""
    return np.array([measure(kind, d, seed, name, evaluations, noise)[answer] for seed in range(repeats)])


def choose(d: int, noise: float) -> tuple[str, int]:
    """What the shipped table chooses where 2,000 evaluations are allowed."""

    offers = []
    for name, size in OURS:
        level = GUMBEL * noise if name == "pool" else noise
        expected = [expected_regret(name, size, d, level, kind) for kind in ("regret", "typical")]
        offers.append(AutoChoice(name, size, {}, size, *expected))
    best = find_best([o for o in offers if o.method != "middle"])
    return best.method, best.evaluations


def figure(name: str, values: np.ndarray) -> Figure:
    mean, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    return Figure(name, mean, "regret", mean - error, mean + error, "", f"{len(values)} surfaces")


def run(repeats: int) -> list[Figure]:
    figures = []
    with threadpool_limits(1):
        for d, noise, arm in itertools.product(DIMENSIONS, NOISE, OURS):
            values = regrets("choosing", d, *arm, noise, repeats)
            typical = float(np.exp(np.log(np.maximum(values, SOLVED)).mean()))
            figures += [
                figure(_name(d, noise, *arm), values),
                Figure(_name(d, noise, *arm, "typical"), typical, "regret"),
            ]
    return figures


def _name(d: int, noise: float, method: str, evaluations: int, kind: str = "regret") -> str:
    typical = "typical, " * (kind == "typical")
    return f"{typical}d = {d}, noise {noise:g}: {method}, {evaluations} evaluations"


def shipped(document: dict[str, Any]) -> dict[str, Any]:
    """The table of method="auto", from the result of this benchmark."""
    values = {f["name"]: f["value"] for f in document["figures"]}
    cells = []
    for name, size in OURS:
        for d in DIMENSIONS:
            levels = [float(f"{(GUMBEL if name == 'pool' else 1.0) * noise:.3g}") for noise in NOISE]
            cell: dict[str, Any] = {"method": name, "evaluations": size, "dimensions": d, "noise": levels}
            for kind in ("regret", "typical"):
                means = [values[_name(d, noise, name, size, kind)] for noise in NOISE]
                cell[kind] = [float(f"{max(v, 0.0):.4g}") for v in rising(means)]
            cells.append(cell)
    return {"format": "tacit.choice/2", "command": document["command"], "commit": document["commit"], "cells": cells}


if __name__ == "__main__":
    table = shipped(json.loads(RESULT.read_text()))
    lines = ",\n".join(json.dumps(cell) for cell in table.pop("cells"))
    SHIPPED.write_text(f'{json.dumps(table, indent=1)[:-2]},\n "cells": [\n{lines}\n]}}\n')
    print(f"wrote {SHIPPED.relative_to(ROOT)}")
