"""The names that snippets of the pages leave to the reader, small enough to run in a test."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import tacit


class Model:
    """Reads the sign of the first column, better the nearer its rate is to 0.1."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.wrong = min(0.5, 0.1 + 0.2 * abs(np.log10(params.get("rate", 0.1)) + 1))

    def predict(self, X: np.ndarray) -> np.ndarray:
        right = X[:, 0] > 0
        return np.where(np.random.default_rng(0).random(len(X)) < self.wrong, ~right, right)


def names(body: str) -> dict[str, Any]:
    """What a snippet may use without having made it. ``losses`` has as many records as the snippet says."""
    import optuna
    import pandas
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    said = re.search(r"records=([\d_]+)", body)
    n = int(said[1]) if said else 3000
    X = rng.normal(size=(3000, 3))

    def losses(params: dict[str, Any]) -> np.ndarray:
        return np.full(n, sum((value - 0.3) ** 2 for value in params.values()) / len(params))

    return {
        "np": np,
        "tacit": tacit,
        "train": Model,
        "X_private": X,
        "y_private": X[:, 0] > 0,
        "X_train": X[:200],
        "y_train": X[:200, 0] > 0,
        "X": X[:1000],
        "y": X[:1000, 0] > 0,
        "losses": losses,
        "losses_of_site_a": lambda params: losses(params)[:1000],
        "losses_of_site_b": lambda params: losses(params)[1000:],
        "n_a": 1000,
        "n_b": n - 1000,
        "space": {"C": tacit.Float(0.1, 1.0)},
        "budget": tacit.Budget.approximate(1.0, 1e-6),
        "ledger": None,
        "study": optuna.create_study(),
        "objective": lambda trial: np.full(n, trial.suggest_float("x", 0.0, 1.0)),
        "estimator": LogisticRegression(),
        "rows": pandas.DataFrame(
            rng.uniform(0, (9e4, 0.4, 5e5, 1), (100, 4)), columns=["amount", "rate", "income", "roi"]
        ),
    }
