"""A private model of Adult, the search included in the price, against rivals on the same rows.

A repeat is a new random split of the 48,842 people: 34,000 make the private table, 14,842 others are the truth. Every
private way has the same total (1, 1e-5), for one record of the table replaced, and sees the raw columns; what it learns
of them is paid for.

    ours            tacit.train: about 40 settings, chosen by validation rows, charged by tacit.privacy.selection
    defaults        the same trainer with the middle of its space, no search, the whole budget in one training
    composition     ten settings, each paid for by composition, chosen in the same way
    diffprivlib     its logistic regression at epsilon = 1 (pure), on the same features with public bounds
    not private     scikit-learn's logistic regression, C by five-fold cross-validation, on one-hot columns
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure, Missing
from benchmarks.papers._adult import read_adult_table

TITLE = "Adult: a model for release, total epsilon = 1, delta = 1e-5, its search included"
LONG = True
REPEATS = 10

ROWS = 34_000
TOTAL = tacit.Budget.approximate(1.0, 1e-5)


def accuracy(model: Any, others: Any) -> float:
    return 100 * float((model.predict(others.drop(columns="income")) == others["income"].to_numpy()).mean())


def ours(table: Any, trainer: str, runs: float) -> Any:
    return tacit.train(trainer, table, target="income", budget=TOTAL, runs=runs, progress=False).value.model


def single(table: Any) -> Any:
    """One training with the whole budget: columns as ours, then the middle of the space; no validation rows."""
    from tacit.privacy.noise import EXACT
    from tacit.privacy.profiles import GaussianProfile, tabulate
    from tacit.privacy.run_laws import Fixed
    from tacit.space import Space
    from tacit.trainers.descent import LOGISTIC
    from tacit.trainers.learn import learn_preparation
    from tacit.trainers.search_cost import COLUMNS, SearchCost
    from tacit.trainers.trained import PublishedModel
    from tacit.trainers.trainer import Base

    rows, labels = table.drop(columns="income"), table["income"]
    cost = SearchCost(TOTAL, Fixed(1), COLUMNS * TOTAL.mu())
    mu = math.sqrt(TOTAL.mu() ** 2 - cost.columns**2)
    preparation = learn_preparation(rows, labels, "classes", cost, EXACT)
    facts = preparation.facts(len(rows))
    space = Space(LOGISTIC.space(facts))
    settings = LOGISTIC.calibrate(
        space.params([[0.5] * space.dimensions])[0], facts, Base(mu, tabulate(GaussianProfile(mu), floor=1e-12))
    )
    model = LOGISTIC.train(preparation.rows(rows, labels), settings, facts, EXACT)
    return PublishedModel(preparation, model, LOGISTIC.name)


def composed(table: Any, runs: int = 10) -> Any:
    """Ten settings, each with a tenth of mu squared: what a search costs if every run is paid for."""
    from tacit.privacy.profiles import GaussianProfile, tabulate
    from tacit.privacy.run_laws import Fixed
    from tacit.trainers import train as module
    from tacit.trainers.trainer import Base

    class Composed(module.SearchCost):
        @property
        def base(self) -> Base:  # type: ignore[override]
            mu = math.sqrt((TOTAL.mu() ** 2 - self.columns**2) / runs)
            return Base(mu, tabulate(GaussianProfile(mu), floor=self.floor))

    usual, law = module.SearchCost, module.make_law
    try:
        module.SearchCost, module.make_law = Composed, lambda n: Fixed(runs)  # type: ignore[misc, assignment]
        return ours(table, "logistic", runs)
    finally:
        module.SearchCost, module.make_law = usual, law  # type: ignore[misc]


def open_regression(table: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rows = table.drop(columns="income")
    numbers = [c for c in rows.columns if rows[c].dtype.kind in "fi"]
    others = [c for c in rows.columns if c not in numbers]
    encode = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), others))
    return make_pipeline(encode, LogisticRegressionCV(Cs=8, max_iter=2000, scoring="accuracy")).fit(
        rows, table["income"]
    )


def diffprivlib_regression(table: Any, others: Any) -> float:
    try:
        from diffprivlib.models import LogisticRegression
    except Exception as error:
        raise Missing(f"diffprivlib cannot be imported beside this scikit-learn ({type(error).__name__})") from None
    from tacit.schema import Schema
    from tacit.trainers.preparation import Preparation

    rows = table.drop(columns="income")
    bounds = {c: (float(rows[c].min()), float(rows[c].max())) for c in rows.columns if rows[c].dtype.kind in "fi"}
    words = {c: sorted(rows[c].dropna().unique()) for c in rows.columns if c not in bounds}
    schema = Schema.declare({**bounds, **words}, target="income", labels=sorted(table["income"].unique()))
    preparation = Preparation(schema, {})
    X = preparation.features(rows)
    model = LogisticRegression(epsilon=1.0, data_norm=math.sqrt(rows.shape[1] + 1), max_iter=1000)
    model.fit(X, table["income"].to_numpy())
    return 100 * float((model.predict(preparation.features(others.drop(columns="income"))) == others["income"]).mean())


def once(seed: int) -> dict[str, float]:
    data = read_adult_table()
    order = np.random.default_rng(seed).permutation(len(data))
    table, others = data.iloc[order[:ROWS]].reset_index(drop=True), data.iloc[order[ROWS:]]
    found = {
        "ours, logistic": accuracy(ours(table, "logistic", 40), others),
        "defaults": accuracy(single(table), others),
        "composition": accuracy(composed(table), others),
        "not private": accuracy(open_regression(table), others),
        "majority": 100 * float((others["income"] == "<=50K").mean()),
    }
    with contextlib.suppress(Missing):
        found["diffprivlib"] = diffprivlib_regression(table, others)
    return found


def run(repeats: int) -> list[Figure]:
    splits = [once(seed) for seed in range(repeats)]
    figures = []
    for name in splits[0]:
        values = [s[name] for s in splits]
        figures.append(figure(f"accuracy, {name}", values, "points"))
    for rival, goal in (("not private", -1.0), ("defaults", None), ("composition", None), ("diffprivlib", None)):
        if rival in splits[0]:
            gaps = [s["ours, logistic"] - s[rival] for s in splits]
            figures.append(figure(f"ours, logistic, over {rival}", gaps, "points", goal=goal, better="more"))
    return figures


def figure(name: str, values: list[float], unit: str, **more: Any) -> Figure:
    """A mean with its 95% interval by Student's t."""
    from scipy.special import stdtrit

    mean, n = float(np.mean(values)), len(values)
    half = float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    ends = (mean - half, mean + half) if n > 1 else (None, None)
    return Figure(name, mean, unit, *ends, note=f"{n} splits", **more)
