"""Tables for private training: twelve that were looked at when defaults were chosen, and nine that never were.

From the folder that TACIT_DATA names, from packages in the interpreter of the peers, and made up with known truth.
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
class Split:
    """Rows to train on, others with their answers, and whose rows those to train on are."""

    X: Any
    y: np.ndarray
    new: Any
    answers: np.ndarray
    owners: np.ndarray | None = None

    def one_each(self) -> Split:
        """One row of each person."""
        if self.owners is None:
            return self
        first = np.unique(self.owners, return_index=True)[1]
        return Split(self.X.iloc[first].reset_index(drop=True), self.y[first], self.new, self.answers)


@dataclass(frozen=True)
class RivalTable:
    """A DataFrame, what is predicted, the metric that decides (accuracy, auc or rmse), and whose row each row is."""

    X: Any
    y: np.ndarray
    metric: str
    owners: np.ndarray | None = None

    def split(self, seed: int) -> Split:
        """Four fifths of the rows, or persons, to train on, and the others."""
        unit = np.arange(len(self.y)) if self.owners is None else self.owners
        rng, units = np.random.default_rng(seed), np.unique(unit)
        chosen = np.isin(unit, rng.permutation(units)[: int(0.8 * len(units))])
        train, test = (rng.permutation(np.flatnonzero(part)) for part in (chosen, ~chosen))
        X, owners = self.X, None if self.owners is None else self.owners[train]
        parts = (X.iloc[rows].reset_index(drop=True) for rows in (train, test))
        return Split(next(parts), self.y[train], next(parts), self.y[test], owners)


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


def _export(name: str) -> Any:
    """A table of a package in the interpreter of the peers."""
    import pandas as pd

    held = ask_peer("export", name=name)
    return pd.DataFrame({column: pd.Series(values) for column, values in held.items()})


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
    table = _export("statsmodels/fair")
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
    table = _export("statsmodels/randhie")
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


def caravan() -> RivalTable:
    """Wide, and one buyer in seventeen."""
    table = _export("ISLP/Caravan")
    return _some(table.drop(columns="Purchase"), (table["Purchase"] == "Yes").to_numpy().astype(int), "auc")


def juice() -> RivalTable:
    """A thousand rows."""
    table = _export("ISLP/OJ")
    return _some(table.drop(columns="Purchase"), (table["Purchase"] == "MM").to_numpy().astype(int), "accuracy")


def default() -> RivalTable:
    """Three defaults in a hundred."""
    table = _export("ISLP/Default")
    return _some(table.drop(columns="default"), (table["default"] == "Yes").to_numpy().astype(int), "auc")


def bikes() -> RivalTable:
    table = _export("ISLP/Bikeshare")
    return _some(table.drop(columns=["bikers", "casual", "registered"]), table["bikers"].to_numpy(float), "rmse")


def answers() -> RivalTable:
    """2,800 people by 25 answers, some missing."""
    table = _export("psych/bfi")
    return _some(table.drop(columns="gender"), (table["gender"] == 2).to_numpy().astype(int), "accuracy")


def chains() -> RivalTable:
    table = _export("survival/flchain")
    return _some(table.drop(columns=["death", "futime", "chapter"]), table["death"].to_numpy(), "auc")


def movies() -> RivalTable:
    """Ratings; budgets are missing for most."""
    table = _export("ggplot2/movies")
    kept = [c for c in table if c not in ("title", "rating") and not (c[0] == "r" and c[1:].isdigit())]
    return _some(table[kept], table["rating"].to_numpy(), "rmse")


def curved() -> RivalTable:
    """Ten columns, no one of which tells alone by a line: whether the sum of their squares is above its median."""
    from sklearn.datasets import make_hastie_10_2

    X, y = make_hastie_10_2(10_000, random_state=5)
    return _some(_frame(X), (y > 0).astype(int), "accuracy")


def persons() -> RivalTable:
    """2,500 persons with 1 to 12 rows; what is predicted hangs on the person and on the row."""
    rng = np.random.default_rng(21)
    owners = np.repeat(np.arange(2500), rng.integers(1, 13, 2500))
    own, row = rng.normal(size=(2500, 4))[owners], rng.normal(size=(len(owners), 4))
    odds = own[:, 0] - 0.7 * own[:, 1] + row[:, 0] + 0.8 * row[:, 1] ** 2 - 0.8
    y = (rng.random(len(owners)) < 1 / (1 + np.exp(-odds))).astype(int)
    return RivalTable(_frame(np.round(np.hstack([own * 10 + 50, np.exp(row)]), 2)), y, "accuracy", owners)


CHOOSING: dict[str, Callable[[], RivalTable]] = {
    "twenty": twenty,
    "landmine": landmine,
    "lending": lending,
    "king county": king,
    "fair": fair,
    "diabetes": diabetes,
    "randhie": randhie,
    "blog": blog,
    "california": california,
    "rare": rare,
    "small": small,
    "adult": adult,
}
CONFIRMING: dict[str, Callable[[], RivalTable]] = {
    "caravan": caravan,
    "juice": juice,
    "default": default,
    "bikes": bikes,
    "answers": answers,
    "chains": chains,
    "movies": movies,
    "curved": curved,
    "persons": persons,
}
