"""What method="auto" and ``tacit plan`` choose by: the regret of each method of ours at equal budget.

Surfaces are BBOB functions as losses of records, raw and log-scaled (see _bbob.py and _arms.py): twelve functions, of
which none is among the eight that check the choice (tune_rivals). Each figure is a mean over surfaces, with one
standard error to either side. The budget is the same for all; the number of evaluations is not.

    python -m benchmarks plan_choice --repeats 12              measures: one surface a repeat and cell
    python -m benchmarks.papers.plan_choice           writes the table that is shipped from what was measured
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import Figure
from benchmarks.papers._arms import DIMENSIONS, GUMBEL, NOISE, OURS, measure
from benchmarks.papers.plan_table import rising
from tacit.methods.auto import ALIKE, expected_regret

TITLE = "Regret of each method at equal budget on BBOB surfaces: what method='auto' chooses by"
LONG = True
REPEATS = 12
ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "plan_choice.json"
SHIPPED = ROOT / "src" / "tacit" / "methods" / "choice.json"


def regrets(kind: str, d: int, name: str, evaluations: int, noise: float, repeats: int) -> np.ndarray:
    """Of each surface, (repeats,)."""
    return np.array([measure(kind, d, seed, name, evaluations, noise)["regret"] for seed in range(repeats)])


def choose(d: int, noise: float) -> tuple[str, int]:
    """What the shipped table chooses where 2,000 evaluations are allowed."""
    offers = {
        (name, size): expected_regret(name, size, d, GUMBEL * noise if name == "pool" else noise)
        for name, size in OURS
        if name != "middle"
    }
    best = min(offers.values())
    return min((arm for arm in offers if offers[arm] <= best + ALIKE), key=lambda arm: arm[1])


def figure(name: str, values: np.ndarray) -> Figure:
    mean, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    return Figure(name, mean, "regret", mean - error, mean + error, "", f"{len(values)} surfaces")


def run(repeats: int) -> list[Figure]:
    with threadpool_limits(1):
        return [
            figure(_name(d, noise, *arm), regrets("choosing", d, *arm, noise, repeats))
            for d in DIMENSIONS
            for noise in NOISE
            for arm in OURS
        ]


def _name(d: int, noise: float, method: str, evaluations: int) -> str:
    return f"d = {d}, noise {noise:g}: {method}, {evaluations} evaluations"


def shipped(document: dict[str, Any]) -> dict[str, Any]:
    """The table of method="auto", from the result of this benchmark."""
    values = {f["name"]: f["value"] for f in document["figures"]}
    cells = []
    for name, size in OURS:
        for d in DIMENSIONS:
            means = [values[_name(d, noise, name, size)] for noise in NOISE]
            levels = [float(f"{(GUMBEL if name == 'pool' else 1.0) * noise:.3g}") for noise in NOISE]
            kept = [float(f"{max(v, 0.0):.4g}") for v in rising(means)]
            cells.append({"method": name, "evaluations": size, "dimensions": d, "noise": levels, "regret": kept})
    return {"format": "tacit.choice/1", "command": document["command"], "commit": document["commit"], "cells": cells}


if __name__ == "__main__":
    table = shipped(json.loads(RESULT.read_text()))
    lines = ",\n".join(json.dumps(cell) for cell in table.pop("cells"))
    SHIPPED.write_text(f'{json.dumps(table, indent=1)[:-2]},\n "cells": [\n{lines}\n]}}\n')
    print(f"wrote {SHIPPED.relative_to(ROOT)}")
