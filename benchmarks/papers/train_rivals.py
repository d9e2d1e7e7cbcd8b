"""Private training on 21 tables at equal total epsilon, without a schema, beside private peers and ceilings.

Every private way has the same total (epsilon, 1e-5) on four fifths of the rows, one record replaced (of "persons" one
person); scores are exact, on the others.

    tacit            tacit.train("auto") as it is, columns, model and score paid
    tacit, declared  the same with a schema of the columns' true ranges and words, at epsilon 1
    DP-EBM           InterpretML's with its defaults; ranges and words for nothing
    diffprivlib      its logistic or linear regression; pure epsilon; ranges, words and norms for nothing
    Opacus           a linear model and a perceptron by DP-SGD; ranges and words for nothing
    open linear      logistic or ridge regression without privacy      open boosting   scikit-learn's, without privacy
    constant         the commonest class, or the mean

Peers know nothing of persons: they have one row of each. Defaults were chosen on the first twelve tables, and on those
of an earlier study; on them ours is measured alone. The nine others were chosen by their sizes and kinds, and none of
ours had been tried on them when the defaults were settled.
AUC decides where a class is rare, accuracy for other classes, the root mean square error for numbers (as a share of
that of the constant). A cell is won if ours is best of the private ways, or within the 95% interval of the paired
difference.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import numpy as np

from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.papers import _rival_opacus
from benchmarks.papers._rival_peers import ask_peer
from benchmarks.papers._rival_tables import CHOOSING, CONFIRMING, RivalTable

TITLE = "Private training on 21 tables: ours without a schema, DP-EBM, diffprivlib, Opacus, and what no privacy gives"
LONG = True
REPEATS = 10
SEEDS, FEWER = (5, 6, 7, 0, 8, 1, 9, 2, 3, 4), 3  # of the splits, in their order; how many of a choosing table
EPSILONS = [float(e) for e in os.environ.get("TACIT_RIVAL_EPSILONS", "0.5,1,3").split(",")]
DELTA = 1e-5
OURS, DECLARED, PEERS = "tacit", "tacit, declared", ("DP-EBM", "diffprivlib", "Opacus linear", "Opacus MLP")
TIMES = 1.96


def measure(scores: Any, y: np.ndarray, metric: str) -> float:
    """Larger is better: accuracy, AUC, or minus the error as a share of the constant's."""
    from sklearn.metrics import roc_auc_score

    scores = np.asarray(scores, float)
    if metric == "rmse":
        return -float(np.sqrt(np.mean((scores - y) ** 2)) / y.std())
    return float(roc_auc_score(y, scores)) if metric == "auc" else float(((scores > 0.5) == y).mean())


def play_ours(table: RivalTable, seed: int, epsilon: float, *, declared: bool) -> tuple[float, float]:
    import tacit

    part, numbers = table.split(seed), table.metric == "rmse"
    X, y = part.X, part.y
    about: dict[str, Any] = {} if numbers else {"labels": [0, 1]}
    if declared:
        aim = {"range": (float(y.min()), float(y.max()))} if numbers else {"labels": [0, 1]}
        about = {"schema": tacit.Schema.declare({c: _column(X[c]) for c in X}, target="y", **aim)}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            budget = tacit.Budget.approximate(epsilon, DELTA)
            release = tacit.train(
                "auto-numbers" if numbers else "auto", X, y, budget=budget, groups=part.owners, progress=False, **about
            )
        except tacit.errors.BadInput:  # refused before anything was spent: nothing better than the constant is known
            return constant(y, part.answers, table.metric), 0.0
    model = release.value.model
    scores = model.predict(part.new) if numbers else model.predict_proba(part.new)[:, 1]
    return measure(scores, part.answers, table.metric), time.perf_counter() - start


def _column(cells: Any) -> Any:
    if cells.dtype.kind not in "fiub":
        return sorted(set(cells.dropna().astype(str)))[:100]
    low, high = (float(q) for q in cells.quantile([0.01, 0.99]))
    return (low, high) if low < high else (low - 1, low + 1)


def constant(y: np.ndarray, answers: np.ndarray, metric: str) -> float:
    return measure(np.full(len(answers), float(y.mean())), answers, metric)


def play_open(table: RivalTable, seed: int, *, boosting: bool) -> tuple[float, float]:
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    part = table.split(seed)
    X, y, new, answers = part.X, part.y, part.new, part.answers
    both = pd.get_dummies(pd.concat([X, new]), dummy_na=True).astype(float)
    both = both if boosting else both.fillna(both.median())
    A, B, numbers = both.to_numpy()[: len(X)], both.to_numpy()[len(X) :], table.metric == "rmse"
    if boosting:
        model: Any = HistGradientBoostingRegressor() if numbers else HistGradientBoostingClassifier()
    else:
        model = make_pipeline(StandardScaler(), Ridge() if numbers else LogisticRegression(max_iter=300))
    start = time.perf_counter()
    model.fit(A, y)
    scores = model.predict(B) if numbers else model.predict_proba(B)[:, 1]
    return measure(scores, answers, table.metric), time.perf_counter() - start


def play_peers(table: RivalTable, seed: int) -> dict[str, tuple[float, float]]:
    from tacit import Budget

    part = table.split(seed).one_each()
    cells = [{c: rows[c].to_numpy() for c in rows} for rows in (part.X, part.new)]
    added = {e: Budget.gdp(Budget.approximate(e, DELTA).mu() / 2).epsilon(DELTA) for e in EPSILONS}
    known: dict[str, Any] = {"metric": table.metric, "delta": DELTA}
    found = ask_peer("predict", X=cells[0], y=part.y, X_new=cells[1], epsilons=added, **known)
    found |= _rival_opacus.predict(part.X, part.y, part.new, epsilons=EPSILONS, **known)
    return {name: (measure(scores, part.answers, table.metric), seconds) for name, (scores, seconds) in found.items()}


def play(name: str, seed: int) -> dict[str, tuple[float, float]]:
    """Every way on one split of a table: value and seconds, by name and epsilon."""
    table = {**CHOOSING, **CONFIRMING}[name]()
    key: dict[str, Any] = {"table": name, "seed": seed, "epsilons": EPSILONS}
    kept = {}
    if name in CONFIRMING:
        kept = keep_piece("train_rivals", {**key, "way": "peers"}, lambda: play_peers(table, seed))
    for way, boosting in (("open linear", False), ("open boosting", True)):
        work = lambda boosting=boosting: play_open(table, seed, boosting=boosting)  # noqa: E731
        kept[way] = keep_piece("train_rivals", {"table": name, "seed": seed, "way": way}, work)
    for epsilon in EPSILONS:
        for way in (OURS, DECLARED)[: 2 if epsilon == 1 else 1]:
            work = lambda e=epsilon, w=way: play_ours(table, seed, e, declared=w == DECLARED)  # noqa: E731
            asked = {"table": name, "seed": seed, "way": way, "epsilon": epsilon}
            kept[f"{way} {epsilon:g}"] = keep_piece("train_rivals", asked, work)
    part = table.split(seed)
    kept["constant"] = (constant(part.y, part.answers, table.metric), 0.0)
    return kept


def is_level(ours: np.ndarray, other: np.ndarray) -> bool:
    """Better, or within the 95% interval of the paired difference."""
    apart = ours - other
    return bool(apart.mean() >= -TIMES * apart.std(ddof=1) / np.sqrt(len(apart)))


def run(repeats: int) -> list[Figure]:
    figures, near = [], 0
    won, above, cells = ({"small": 0, "usual": 0} for _ in range(3))
    for name in (*CHOOSING, *CONFIRMING):
        seeds = SEEDS[: repeats if name in CONFIRMING else min(repeats, FEWER)]
        made = [play(name, seed) for seed in seeds]
        values = {way: np.array([m[way][0] for m in made]) for way in made[0]}
        seconds = {way: float(np.median([m[way][1] for m in made])) for way in made[0]}
        metric = {**CHOOSING, **CONFIRMING}[name]().metric
        for way, each in values.items():
            error = float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0
            mean = float(abs(each.mean()))
            note = f"{metric}; {seconds[way]:.2g} s"
            figures.append(Figure(f"{name}: {way}", mean, "", mean - error, mean + error, note=note))
        if name in CONFIRMING:
            for epsilon in EPSILONS:
                size, ours = "small" if epsilon < 1 else "usual", values[f"{OURS} {epsilon:g}"]
                cells[size] += 1
                won[size] += all(is_level(ours, values[f"{peer} {epsilon:g}"]) for peer in PEERS)
                above[size] += is_level(ours, values["constant"])
            near += 1.0 not in EPSILONS or bool(values[f"{OURS} 1"].mean() >= values[f"{DECLARED} 1"].mean() - 0.015)
    of, less = f"of {cells['usual']}", f"of {cells['small']}"
    best, tables = "cells in which ours is the best private way, or level", len(CONFIRMING)
    return [
        Figure(f"{best}, epsilon 1 and 3", won["usual"], of, goal=float(cells["usual"]) * 12 / 14, better="more"),
        Figure(f"{best}, epsilon 0.5", won["small"], less),
        Figure(
            "cells in which ours is not below the constant",
            sum(above.values()),
            f"of {sum(cells.values())}",
            goal=float(sum(cells.values())),
            better="more",
        ),
        Figure(
            "tables within 1.5 points of a declared schema", near, f"of {tables}", goal=float(tables), better="more"
        ),
        *figures,
    ]
