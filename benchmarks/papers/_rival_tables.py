"""Twelve tables for private training: five on which defaults were chosen, seven that were not looked at before.

From the folder that TACIT_DATA names, from statsmodels in the interpreter of the peers, and made up with known truth.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Missing
from benchmarks.papers._rival_peers import ask_peer

MOST = 15_000  # rows of a table, train and held out together, but for Adult


@dataclass(frozen=True)
class RivalTable:
    """A DataFrame, what is predicted, and the metric that decides: accuracy, auc or rmse."""

    X: Any
    y: np.ndarray
    metric: str

    def split(self, seed: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """Four fifths to train on, and the others."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        cut = int(0.8 * len(order))
        train, test = order[:cut], order[cut:]
        X = self.X
        return X.iloc[train].reset_index(drop=True), self.y[train], X.iloc[test].reset_index(drop=True), self.y[test]


def _file(name: str) -> Path:
    folder = os.environ.get("TACIT_DATA")
    if not folder or not (Path(folder) / name).exists():
        raise Missing(f"{name} is not in the folder that TACIT_DATA names")
    return Path(folder) / name


def _some(X: Any, y: Any, metric: str, most: int = MOST) -> RivalTable:
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    return RivalTable(X.iloc[rows].reset_index(drop=True), np.asarray(y)[rows], metric)


def _frame(X: Any, names: Any = None) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{j}" for j in range(np.shape(X)[1])] if names is None else list(names))


def twenty() -> RivalTable:
    from sklearn.datasets import make_classification

    X, y = make_classification(5000, 20, n_informative=8, n_redundant=4, flip_y=0.1, random_state=7)
    return _some(_frame(X), y, "accuracy")


def landmine() -> RivalTable:
    held = np.load(_file("landmine.npz"))
    return _some(_frame(held["X"]), held["y"].astype(int), "auc")


def lending() -> RivalTable:
    import pandas as pd

    table = pd.read_parquet(_file("lending_club_2007_2011.parquet"))
    table = table[table["meets_policy"].astype(bool)]
    wanted = "loan_amnt term_months int_rate grade emp_length home_ownership annual_inc purpose dti delinq_2yrs"
    wanted += " inq_last_6mths open_acc pub_rec revol_bal revol_util total_acc"
    names = [name for name in wanted.split() if name in table]
    return _some(table[names], table["charged_off"].astype(int).to_numpy(), "auc")


def king() -> RivalTable:
    held = np.load(_file("king_county_house_sales.npz"))
    table = _frame(held["data"], held["columns"])
    return _some(table.drop(columns=["id", "date", "price"]), table["price"].to_numpy(), "rmse")


def fair() -> RivalTable:
    import pandas as pd

    table = pd.DataFrame(ask_peer("export", name="fair"))
    return _some(table.drop(columns="affairs"), (table["affairs"] > 0).astype(int).to_numpy(), "accuracy")


def adult() -> RivalTable:
    from benchmarks.papers._adult import read_adult_table

    table = read_adult_table()
    return _some(table.drop(columns="income"), (table["income"] == ">50K").astype(int).to_numpy(), "accuracy", 40_000)


def diabetes() -> RivalTable:
    import pandas as pd

    table = pd.read_parquet(_file("diabetes130.parquet")).drop_duplicates("patient_nbr").replace("?", None)
    wanted = "race gender age time_in_hospital medical_specialty num_lab_procedures num_procedures num_medications"
    wanted += (
        " number_outpatient number_emergency number_inpatient number_diagnoses A1Cresult insulin change diabetesMed"
    )
    wanted += " discharge_disposition_id admission_type_id"
    return _some(table[wanted.split()], (table["readmitted"] != "NO").astype(int).to_numpy(), "auc")


def randhie() -> RivalTable:
    import pandas as pd

    table = pd.DataFrame(ask_peer("export", name="randhie"))
    return _some(table.drop(columns="mdvis"), (table["mdvis"] > 0).astype(int).to_numpy(), "accuracy")


def blog() -> RivalTable:
    """Thirty of its 280 columns: counts of comments and links, and the first of its words."""
    held = np.load(_file("blogfeedback.npz"))
    return _some(_frame(held["X_train"][:, 50:80]), (held["y_train"] > 0).astype(int), "accuracy")


def california() -> RivalTable:
    held = np.load(_file("california_housing.npz"))
    names = ["longitude", "latitude", "age", "rooms", "bedrooms", "population", "households", "income", "value"]
    table = _frame(held["data"], names)
    return _some(table.drop(columns="value"), table["value"].to_numpy(), "rmse")


def rare() -> RivalTable:
    """One positive in a hundred, by two of ten columns; a third of one column is missing, which tells as well."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(MOST, 10)) * 10.0 ** rng.integers(-1, 4, 10) + rng.integers(0, 60, 10)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    gone = rng.random(MOST) < 0.3
    odds = -5.8 + 1.2 * z[:, 0] - 0.9 * z[:, 1] + 1.2 * gone
    X[gone, 4] = np.nan
    return _some(_frame(X), (rng.random(MOST) < 1 / (1 + np.exp(-odds))).astype(int), "auc")


def small() -> RivalTable:
    """1,900 rows, nine numbers and three columns of words."""
    rng = np.random.default_rng(12)
    X = _frame(np.round(rng.lognormal(3, 0.6, (1900, 9)), 1))
    words = {f"w{j}": rng.choice(["a", "b", "c"], 1900, p=[0.6, 0.3, 0.1]) for j in range(3)}
    odds = (np.log(X["x0"]) - 3) * 2 - (np.log(X["x1"]) - 3) + 1.2 * (words["w0"] == "b") - 0.5
    return _some(X.assign(**words), (rng.random(1900) < 1 / (1 + np.exp(-odds))).astype(int), "accuracy")


CHOOSING: dict[str, Callable[[], RivalTable]] = {
    "twenty": twenty,
    "landmine": landmine,
    "lending": lending,
    "king county": king,
    "fair": fair,
}
CONFIRMING: dict[str, Callable[[], RivalTable]] = {
    "adult": adult,
    "diabetes": diabetes,
    "randhie": randhie,
    "blog": blog,
    "california": california,
    "rare": rare,
    "small": small,
}
