"""Seven small tables of two classes, from the folder that TACIT_DATA names: at most 4,000 rows to train, 2,000 to test.

Small, so that one training takes milliseconds and searches can be repeated. Numbers have mean 0 and deviation 1 on the
training rows and are cut at 4; the rarer class of patients, loans and mines is made half.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Missing

TRAIN, TEST = 4_000, 2_000
Pair = tuple[np.ndarray, np.ndarray]


def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y, X_test, y_test of a table."""
    X, y = TABLES[name]()
    order = np.random.default_rng(5).permutation(len(X))[: TRAIN + TEST]
    X, y = np.nan_to_num(np.asarray(X[order], float)), y[order].astype(int)
    cut = len(X) * 2 // 3
    deviation = X[:cut].std(axis=0)
    X = np.clip((X - X[:cut].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), -4, 4)
    return X[:cut], y[:cut], X[cut:], y[cut:]


def adult() -> Pair:
    z = np.load(file("adult_libsvm.npz"))
    return z["a9a_X_train"], z["a9a_y_train"]


def patients() -> Pair:
    """The first stay of each patient: readmitted at all?"""
    import pandas as pd

    stays = pd.read_parquet(file("diabetes130.parquet")).sort_values("encounter_id").drop_duplicates("patient_nbr")
    numbers = stays.select_dtypes("number").drop(columns=["encounter_id", "patient_nbr"])
    words = pd.get_dummies(stays[["race", "gender", "age", "insulin", "change", "diabetesMed", "A1Cresult"]])
    return halve(np.hstack([numbers.to_numpy(float), words.to_numpy(float)]), (stays.readmitted != "NO").to_numpy())


def loans() -> Pair:
    """Charged off? From what is known when a loan is made."""
    import pandas as pd

    table = pd.read_parquet(file("lending_club_2007_2011.parquet"))
    names = ["loan_amnt", "term_months", "int_rate", "installment", "annual_inc", "dti", "delinq_2yrs",
             "inq_last_6mths", "open_acc", "pub_rec", "revol_bal", "revol_util", "total_acc"]  # fmt: skip
    X = np.hstack([table[names].to_numpy(float), pd.get_dummies(table[["home_ownership", "purpose"]]).to_numpy(float)])
    return halve(X, table.charged_off.to_numpy())


def mines() -> Pair:
    z = np.load(file("landmine.npz"))
    return halve(z["X"], z["y"])


def houses() -> Pair:
    """King County: price above the median?"""
    z = np.load(file("king_county_house_sales.npz"))
    table = dict(zip(z["columns"].tolist(), z["data"].T, strict=True))
    price = table["price"]
    return np.stack([v for k, v in table.items() if k not in ("id", "price", "date")], axis=1), price > np.median(price)


def blocks() -> Pair:
    """California: median value of a block above the median?"""
    z = np.load(file("california_housing.npz"))
    table = dict(zip(z["columns"].tolist(), z["data"].T, strict=True))
    value = table.pop("median_house_value")
    return np.stack(list(table.values()), axis=1), value > np.median(value)


def digits() -> Pair:
    """MNIST in 7 x 7 means: odd?"""
    z = np.load(file("mnist.npz"))
    X = z["x_train"][: 2 * (TRAIN + TEST)].reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)
    return X, z["y_train"][: len(X)] % 2 == 1


TABLES: dict[str, Callable[[], Pair]] = {
    "houses": houses, "patients": patients,
    "adult": adult, "loans": loans, "mines": mines, "blocks": blocks, "digits": digits,
}  # fmt: skip


def halve(X: Any, y: Any) -> Pair:
    """As many of one class as of the other."""
    y = np.asarray(y).astype(int)
    rng, few = np.random.default_rng(4), min(np.bincount(y))
    at = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:few] for c in (0, 1)])
    return np.asarray(X)[at], y[at]


def file(name: str) -> Path:
    path = Path(os.environ.get("TACIT_DATA", "data")) / name
    if not path.exists():
        raise Missing(f"{name}: set TACIT_DATA to the folder that holds it")
    return path
