"""Ways to a published model of Adult, on the same splits: shared by train_adult and train_ebm.

A split is a random one of the 48,842 people: 34,000 make the private table, 14,842 others are the truth. Every private
way has the same total (1, 1e-5); what one of ours learns of the columns is paid for.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure, Missing
from benchmarks.harness.parts import keep_piece
from benchmarks.papers import _peer_regression
from benchmarks.papers._adult import read_adult_table
from tacit.privacy.noise import EXACT
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.privacy.run_laws import Fixed
from tacit.space import Space
from tacit.training import train as training
from tacit.training.learn import learn_preparation
from tacit.training.registry import load_trainer
from tacit.training.search_cost import COLUMNS, SearchCost
from tacit.training.trained import PublishedModel
from tacit.training.trainer import Base

ROWS = 34_000
TOTAL = tacit.Budget.approximate(1.0, 1e-5)
Way = Callable[[Any, Any], float]


def accuracy(model: Any, others: Any) -> float:
    return 100 * float((model.predict(others.drop(columns="income")) == others["income"].to_numpy()).mean())


def search(trainer: str, runs: float | None = None) -> Way:
    """tacit.train with its own number of settings, chosen by validation rows, charged by tacit.privacy.selection."""
    options: dict[str, Any] = {"target": "income", "budget": TOTAL, "progress": False}
    return lambda table, others: accuracy(tacit.train(trainer, table, runs=runs, **options).value.model, others)


def single(trainer: str) -> Way:
    """One training with the whole budget: columns as ours, then the middle of the space; no validation rows."""

    def way(table: Any, others: Any) -> float:
        rows, labels, chosen = table.drop(columns="income"), table["income"], load_trainer(trainer)
        cost = SearchCost(TOTAL, Fixed(1), COLUMNS * TOTAL.mu())
        preparation = learn_preparation(rows, labels, "classes", cost, EXACT)
        facts = preparation.facts(len(rows))
        space = Space(chosen.space(facts))
        mu = math.sqrt(TOTAL.mu() ** 2 - cost.columns**2)
        base = Base(mu, tabulate(GaussianProfile(mu), floor=1e-12))
        settings = chosen.calibrate(space.params([[0.5] * space.dimensions])[0], facts, base)
        model = chosen.train(preparation.rows(rows, labels), settings, facts, EXACT)
        return accuracy(PublishedModel(preparation, model, chosen.name), others)

    return way


def composed(trainer: str, runs: int = 10) -> Way:
    """Ten settings, each with a tenth of mu squared: what a search costs if every run is paid for."""

    class Composed(SearchCost):
        @property
        def base(self) -> Base:
            mu = math.sqrt((TOTAL.mu() ** 2 - self.columns**2) / runs)
            return Base(mu, tabulate(GaussianProfile(mu), floor=self.floor))

    def way(table: Any, others: Any) -> float:
        module: Any = training
        usual, law = module.SearchCost, module.make_law
        try:
            module.SearchCost, module.make_law = Composed, lambda n: Fixed(runs)
            return search(trainer, runs)(table, others)
        finally:
            module.SearchCost, module.make_law = usual, law

    return way


def peer_regression(table: Any, others: Any) -> float:
    """diffprivlib's logistic regression, pure epsilon = 1; ranges and words are given to it for nothing."""
    from tacit.data.schema import Schema
    from tacit.training.preparation import Preparation

    rows = table.drop(columns="income")
    bounds = {c: (float(rows[c].min()), float(rows[c].max())) for c in rows.columns if rows[c].dtype.kind in "fi"}
    words = {c: sorted(rows[c].dropna().unique()) for c in rows.columns if c not in bounds}
    schema = Schema.declare({**bounds, **words}, target="income", labels=["<=50K", ">50K"])
    preparation = Preparation(schema, {})
    encoded = preparation.rows(rows, table["income"])
    fresh = preparation.rows(others.drop(columns="income"), others["income"])
    norm = math.sqrt(rows.shape[1])  # each column adds at most 1 to the squared length of a row
    found = _peer_regression.predict(encoded.X, encoded.target.astype(int), fresh.X, epsilon=1.0, norm=norm)
    return 100 * float((found == fresh.target).mean())


def open_regression(table: Any, others: Any) -> float:
    """scikit-learn's logistic regression, C by five-fold cross-validation, on one-hot columns; not private."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rows = table.drop(columns="income")
    numbers = [c for c in rows.columns if rows[c].dtype.kind in "fi"]
    words = [c for c in rows.columns if c not in numbers]
    encode = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), words))
    regression = LogisticRegressionCV(Cs=8, max_iter=2000, scoring="accuracy")
    return accuracy(make_pipeline(encode, regression).fit(rows, table["income"]), others)


def peer_boosting(*, private: bool) -> Way:
    """InterpretML's EBM with its defaults; with privacy ranges and words are given to it for nothing."""

    def way(table: Any, others: Any) -> float:
        numbers = [c for c in table.columns if table[c].dtype.kind in "fi"]
        words = {c: "?" for c in table.columns if c not in numbers and c != "income"}
        rows = table.drop(columns="income").fillna(words)
        options: dict[str, Any] = {}
        if private:
            from interpret.privacy import DPExplainableBoostingClassifier as Peer

            bounds = {c: (float(rows[c].min()), float(rows[c].max())) for c in numbers}
            options = {"epsilon": TOTAL.amount, "delta": TOTAL.delta, "privacy_bounds": bounds}
        else:
            from interpret.glassbox import ExplainableBoostingClassifier as Peer
        types = ["continuous" if c in numbers else "nominal" for c in rows.columns]
        model = Peer(**options, feature_types=types, n_jobs=1).fit(rows, table["income"])
        return accuracy(model, others.fillna(words))

    return way


def majority(table: Any, others: Any) -> float:
    return 100 * float((others["income"] == "<=50K").mean())


def split(seed: int) -> tuple[Any, Any]:
    data = read_adult_table()
    order = np.random.default_rng(seed).permutation(len(data))
    return data.iloc[order[:ROWS]].reset_index(drop=True), data.iloc[order[ROWS:]]


def measure(ways: dict[str, Way], repeats: int, few: dict[str, int] | None = None) -> dict[str, list[float]]:
    """Accuracies of each way on each split, piece by piece; a way that lacks something is left out.

    ``few`` has the most splits of ways that take long; so has TACIT_SPLITS, in JSON, {"ours, logistic": 6}, where time
    is short. Every figure says how many splits it is of.
    """
    few = {**(few or {}), **json.loads(os.environ.get("TACIT_SPLITS", "{}"))}
    found: dict[str, list[float]] = {}
    for name, way in ways.items():
        try:
            found[name] = [
                keep_piece("train_adult", {"way": name, "split": seed}, lambda s=seed, w=way: w(*split(s)))
                for seed in range(min(repeats, few.get(name, repeats)))
            ]
        except (Missing, ModuleNotFoundError) as error:
            print(f"  {name} is missing: {error}", flush=True)
    return found


def compare(ours: str, found: dict[str, list[float]], goals: dict[str, float]) -> list[Figure]:
    """Each way's accuracy, and by how much ours is over it on the same splits."""
    found = {way: values for way, values in found.items() if values}
    figures = [figure(f"accuracy, {way}", values) for way, values in found.items()]
    for rival, values in found.items():
        if rival not in (ours, "majority"):
            gaps = [a - b for a, b in zip(found[ours], values, strict=False)]  # of the splits of both
            figures.append(figure(f"{ours}, over {rival}", gaps, goal=goals.get(rival), better="more"))
    return figures


def figure(name: str, values: list[float], **more: Any) -> Figure:
    """A mean with its 95% interval by Student's t."""
    from scipy.special import stdtrit

    mean, n = float(np.mean(values)), len(values)
    half = float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    ends = (mean - half, mean + half) if n > 1 else (None, None)
    return Figure(name, mean, "points", *ends, note=f"{n} splits", **more)
