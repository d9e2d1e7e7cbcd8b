"""What privacy costs when AUC is tuned on an unbalanced table, and whether the released AUC is what it says.

Hospital stays, one of each patient; to predict: readmitted within 30 days, about 9% of them. A repeat is a new random
split: 3,000 rows to train on, 5,000 private validation records, 20,000 others as the truth. Each candidate is fitted
once; random search without privacy takes the one with the best exact AUC of the validation records, `method="pool"`
draws among the same ones with epsilon 1, its score included. What is lost is the mean over the coins of the draw, which
is exact; what one real release of each split lost is in the note, and varies more. TACIT_MODELS=linear,boosting adds
boosting, which takes twenty times as long and has four parameters: its first four splits lost 0.4 to 1.0 points.
"""

from __future__ import annotations

import math
import os
import statistics
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import tacit
from benchmarks import Figure, Missing
from benchmarks.harness.parts import keep_piece
from tacit.integrations.predictions import predict_for
from tacit.integrations.table import TableObjective, table_objective

TITLE = "AUC tuned on an unbalanced table: 5,000 validation records, 9% positive, epsilon = 1, 40 candidates"
LONG = True
REPEATS = 10

WORKERS = int(os.environ.get("TACIT_WORKERS", "2"))
MODELS = tuple(os.environ.get("TACIT_MODELS", "linear").split(","))
ROWS, TRUTH, CANDIDATES, TARGET = 8000, 20_000, 40, "readmitted"
LEFT_OUT = ["encounter_id", "patient_nbr", "weight", "payer_code", "medical_specialty", "diag_1", "diag_2", "diag_3"]


@cache
def stays() -> Any:
    """One stay of each patient."""
    import pandas as pd

    path = Path(os.environ.get("TACIT_DATA", "data")) / "diabetes130.parquet"
    if not path.exists():
        raise Missing("the table of hospital stays: set TACIT_DATA to the folder that holds diabetes130.parquet")
    table = pd.read_parquet(path).drop_duplicates("patient_nbr").drop(columns=LEFT_OUT)
    return table.assign(**{TARGET: np.where(table[TARGET] == "<30", "yes", "no")})


class Fitted:
    """The losses of each candidate, and its AUC among the rows that are the truth; each is fitted once."""

    def __init__(self, objective: TableObjective, others: Any) -> None:
        self.objective, self.facts = objective, objective.facts
        self.X, self.y = objective.matrix.encode(others), (others[TARGET] == "yes").to_numpy()
        self.held: dict[str, tuple[Any, float, float]] = {}

    def at(self, params: dict[str, Any]) -> tuple[Any, float, float]:
        """Losses of the validation records, their exact AUC, and the AUC of others."""
        from sklearn.metrics import roc_auc_score

        if (key := repr(sorted(params.items()))) not in self.held:
            o = self.objective
            model = o.estimator(params).fit(*o.train)
            here, there = (predict_for(o.metric, model, rows, o.target) for rows in (o.validation[0], self.X))
            exact = roc_auc_score(o.validation[1] == "yes", here)
            losses = o.metric.measure(here, (o.validation[1] == "yes").astype(int))
            self.held[key] = losses, float(exact), float(roc_auc_score(self.y, there))
        return self.held[key]

    def __call__(self, params: dict[str, Any]) -> Any:
        return self.at(params)[0]


def once(model: str, seed: int) -> dict[str, float]:
    """One split, with one thread; kept."""
    with threadpool_limits(1):
        key = {"model": model, "seed": seed, "rows": ROWS, "truth": TRUTH, "candidates": CANDIDATES}
        kept: dict[str, float] = keep_piece("auc_tuning", key, lambda: _once(stays(), model, seed))
    return kept


def _once(table: Any, model: str, seed: int) -> dict[str, float]:
    order = np.random.default_rng(seed).permutation(len(table))
    objective = table_objective(table.iloc[order[:ROWS]], TARGET, model, metric="auc", validation=5 / 8, seed=seed)
    fitted = Fitted(objective, table.iloc[order[ROWS : ROWS + TRUTH]])
    listed = objective.space.sobol(CANDIDATES, seed)
    public = max(listed, key=lambda p: fitted.at(p)[1])
    release = tacit.tune(
        fitted,
        objective.space,
        candidates=listed,
        trials=CANDIDATES,
        method="pool",
        budget=tacit.Budget.pure(1.0),
        progress=False,
        accept_noise=True,
        seed=seed,
    ).value
    lost = 100 * (fitted.at(public)[2] - np.array([fitted.at(p)[2] for p in listed]))
    means = np.array([fitted.at(p)[0].mean() for p in listed])
    weights = np.exp(-(means - means.min()) / release.details["choice_noise"])
    exact, reach = fitted.at(release.params)[1], release.intervals()[0][1]
    return {
        "lost": float(weights @ lost / weights.sum()),
        "drawn": 100 * (fitted.at(public)[2] - fitted.at(release.params)[2]),
        "typical": float(np.median(lost)),
        "off": abs(float(release.score or 0.0) - exact),
        "covered": float(abs(float(release.score or 0.0) - exact) <= reach),
        "reach": reach,
        "auc": fitted.at(public)[2],
    }


def run(repeats: int) -> list[Figure]:
    stays()  # Missing is raised here
    figures, splits = [], dict.fromkeys(MODELS, max(2, repeats))
    with ProcessPoolExecutor(WORKERS) as workers:
        runs = {(model, seed): workers.submit(once, model, seed) for model, n in splits.items() for seed in range(n)}
        results: dict[str, list[dict[str, float]]] = {model: [] for model in splits}
        for (model, seed), future in runs.items():
            results[model].append(future.result())
            print(f"  {model}, split {seed}: {results[model][-1]['lost']:.3f} points", flush=True)
    for model, found in results.items():
        lost = [f["lost"] for f in found]
        mean, half = statistics.fmean(lost), 1.96 * statistics.stdev(lost) / math.sqrt(len(lost))
        best, typical = statistics.fmean(f["auc"] for f in found), statistics.fmean(f["typical"] for f in found)
        note = (
            f"{len(found)} splits; random search has AUC {best:.4f} on other rows, a typical candidate "
            f"{typical:.2f} points less; lost by one release of each split: "
            + ", ".join(f"{f['drawn']:.2f}" for f in found)
        )
        goal = "at most 0.5 points"
        name = f"{model}: AUC lost to random search without privacy"
        figures.append(Figure(name, mean, "points", mean - half, mean + half, goal, note, goal=0.5, better="less"))
        covered, reach = sum(f["covered"] for f in found), statistics.fmean(f["reach"] for f in found)
        off = 100 * statistics.fmean(f["off"] for f in found)
        said = f"its interval, ± {100 * reach:.1f} points, held in {covered:.0f} of {len(found)}"
        figures.append(Figure(f"{model}: released AUC is off by", off, "points", note=said))
    return figures
