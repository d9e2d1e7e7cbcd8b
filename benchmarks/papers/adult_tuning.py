"""What privacy costs when tuning on Adult: accuracy given up, and whether the released score is what it says.

A repeat is a new random split: 2,000 people to train on, 8,000 private validation records, 20,000 others as the truth.
Per split and model, a fixed Sobol list of candidates is fitted once and its right and wrong answers are kept; every
search then looks them up, so all searches choose from the same list. Noise is exact, as in a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure
from benchmarks.papers._adult import Adult, adult
from tacit.space import Space

TITLE = "Adult: accuracy given up to privacy, epsilon = 1, delta = 1e-6, 50 trials, 8,000 validation records"
LONG = True

TRAIN, RECORDS, TRUTH, TRIALS, CANDIDATES = 2000, 8000, 20_000, 50, 128
BUDGET = tacit.Budget.approximate(1.0, 1e-6)
SEARCHES = {"observed": BUDGET, "random": BUDGET, "nonprivate": None}
SPACES = {
    "logistic regression": Space({"C": tacit.Float(1e-5, 1e2, log=True), "weight": tacit.Float(0.3, 3.0, log=True)}),
    "gradient boosting": Space(
        {
            "rate": tacit.Float(0.01, 1.0, log=True),
            "rounds": tacit.Int(10, 100, log=True),
            "leaves": tacit.Int(2, 64, log=True),
            "least": tacit.Int(1, 200, log=True),
            "l2": tacit.Float(1e-3, 1e2, log=True),
        }
    ),
}
Answers = Callable[[dict[str, Any]], np.ndarray]


def regression(data: Adult, train: np.ndarray, others: np.ndarray) -> Answers:
    """Whether a logistic regression is right about others; ``weight`` is that of the rich."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    numbers = StandardScaler().fit(data.numbers[train]).transform(data.numbers)
    X = np.concatenate([numbers, data.one_hot()], axis=1)

    def answers(p: dict[str, Any]) -> np.ndarray:
        model = LogisticRegression(C=p["C"], class_weight={False: 1.0, True: p["weight"]}, tol=1e-3, max_iter=300)
        return model.fit(X[train], data.rich[train]).predict(X[others]) == data.rich[others]

    return answers


def boosting(data: Adult, train: np.ndarray, others: np.ndarray) -> Answers:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X = np.concatenate([data.numbers, data.codes], axis=1)
    categorical = np.arange(X.shape[1]) >= data.numbers.shape[1]

    def answers(p: dict[str, Any]) -> np.ndarray:
        model = HistGradientBoostingClassifier(
            learning_rate=p["rate"],
            max_iter=p["rounds"],
            max_leaf_nodes=p["leaves"],
            min_samples_leaf=p["least"],
            l2_regularization=p["l2"],
            categorical_features=categorical,
            early_stopping=False,
            random_state=0,
        )
        return model.fit(X[train], data.rich[train]).predict(X[others]) == data.rich[others]

    return answers


MODELS = {"logistic regression": regression, "gradient boosting": boosting}


def once(seed: int) -> dict[str, dict[str, float]]:
    """One split: for each model what every search gave, all accuracies in points."""
    from threadpoolctl import threadpool_limits

    data = adult()
    order = np.random.default_rng(seed).permutation(len(data.rich))
    train, others = order[:TRAIN], order[TRAIN : TRAIN + RECORDS + TRUTH]
    found = {}
    models = {name: model(data, train, others) for name, model in MODELS.items()}  # loads what is to be limited
    with threadpool_limits(1):
        for name, answers in models.items():
            listed = SPACES[name].sobol(CANDIDATES, seed=0)
            right = [answers(p) for p in listed]
            validation, truth = [r[:RECORDS] for r in right], [float(r[RECORDS:].mean()) for r in right]
            found[name] = searched(SPACES[name], listed, validation, truth, seed)
    return found


def searched(
    space: Space, listed: list[dict[str, Any]], right: list[np.ndarray], truth: list[float], seed: int
) -> dict[str, float]:
    """The three searches over one list of candidates, whose validation answers and true accuracies are known."""
    at = {tuple(p.values()): i for i, p in enumerate(listed)}
    exact = [100 * float(r.mean()) for r in right]
    found = {"median": 100 * float(np.median(truth)), "exhaustive": 100 * truth[int(np.argmax(exact))]}
    for method, budget in SEARCHES.items():
        made = tacit.tune(
            lambda p: right[at[tuple(p[n] for n in space.names)]].astype(float),
            space,
            records=RECORDS,
            bounds=(0.0, 1.0),
            budget=budget,
            trials=TRIALS,
            direction="maximize",
            method=method,
            candidates=listed,
            seed=seed,
            progress=False,
        ).value
        i = at[tuple(made.params[n] for n in space.names)]
        found[method] = 100 * truth[i]
        found[f"{method} validation"] = exact[i]
        if budget is not None:
            found[f"{method} error"] = 100 * made.score - exact[i]
            found[f"{method} covered"] = float(abs(100 * made.score - exact[i]) <= 1.96 * 100 * made.deviation)
            found[f"{method} deviation"] = 100 * made.deviation
            found["noise"] = 100 * made.noise
    return found


def run(repeats: int) -> list[Figure]:
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        splits = list(pool.map(once, range(repeats)))
    return [figure for name in MODELS for figure in figures(name, [s[name] for s in splits])]


def figures(model: str, runs: list[dict[str, float]]) -> list[Figure]:
    def column(name: str) -> np.ndarray:
        return np.array([r[name] for r in runs])

    def mean(what: str, values: np.ndarray, against: str = "", note: str = "", unit: str = "points") -> Figure:
        middle = float(values.mean())
        if len(values) < 2:
            return Figure(f"{model}: {what}", middle, unit, against=against, note=note)
        error = float(values.std(ddof=1)) / math.sqrt(len(values))
        ends = (middle - 1.96 * error, middle + 1.96 * error)
        spread = f"mean of {len(values)} splits with its 95% interval, standard error {error:.2g}"
        return Figure(f"{model}: {what}", middle, unit, *ends, against, f"{note}; {spread}" if note else spread)

    private, exact, random = column("observed"), column("nonprivate"), column("random")
    error, held = column("observed error"), int(column("observed covered").sum())
    looked = f"{CANDIDATES} Sobol candidates fitted once per split on {TRAIN:,} people, looked up by every search"
    low, high = wilson(held, len(runs))
    return [
        mean("accuracy given up against the same search without privacy", exact - private, "goal: under 0.3",
             f"true accuracy on {TRUTH:,} held-out people; {looked}"),
        mean("the same, in accuracy on the validation records",
             column("nonprivate validation") - column("observed validation")),
        mean("accuracy gained over private random search", private - random, "same budget, same candidates"),
        mean("accuracy, private", private, f"{exact.mean():.2f} without privacy, {random.mean():.2f} private random "
             f"search, {column('exhaustive').mean():.2f} trying all {CANDIDATES} without privacy, "
             f"{column('median').mean():.2f} the median candidate", unit="%"),
        mean("released score, mean absolute error", np.abs(error),
             f"sd of one observation: {column('noise').mean():.2f}",
             "against the exact accuracy of the released parameters on the validation records"),
        mean("released score, mean error", error, "0 is unbiased", "positive: the score flatters"),
        Figure(f"{model}: released score, its error bar holds the exact accuracy", 100 * held / len(runs), "%",
               low, high, "95%", f"{held} of {len(runs)} splits, with Wilson's 95% interval; the bar is 1.96 released "
               f"deviations, which average {column('observed deviation').mean():.2f} points"),
    ]  # fmt: skip


def wilson(held: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval for a share, in percent."""
    centre, half = held + z * z / 2, z * math.sqrt(held * (of - held) / of + z * z / 4)
    return 100 * (centre - half) / (of + z * z), 100 * (centre + half) / (of + z * z)
