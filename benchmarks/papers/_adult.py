"""Public data for benchmarks: from the folder that TACIT_DATA names, or else downloaded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
CATEGORIES = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country")
COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship"),
    *("race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"),
)


@dataclass(frozen=True)
class Adult:
    """UCI Adult (census income, 1994), training and test rows together: 48,842 people."""

    numbers: np.ndarray  # (n, 6)
    codes: np.ndarray  # (n, 8), whole numbers from 0, missing as nan
    rich: np.ndarray  # (n,), True above 50K

    def one_hot(self) -> np.ndarray:
        """Categories as 0 and 1, (n, number of categories); a missing one leaves its group all zero."""
        groups = [self.codes[:, [j]] == np.arange(np.nanmax(self.codes[:, j]) + 1) for j in range(self.codes.shape[1])]
        return np.concatenate(groups, axis=1).astype(float)


def read_adult_table() -> Any:
    """Adult as a DataFrame, income as "<=50K" or ">50K"; from TACIT_DATA or from OpenML (version 2: the same rows)."""
    import pandas as pd

    folder = os.environ.get("TACIT_DATA")
    if folder and (Path(folder) / "adult.data.gz").exists() and (Path(folder) / "adult.test.gz").exists():
        settings: dict[str, Any] = {"names": list(COLUMNS), "skipinitialspace": True, "na_values": "?", "comment": "|"}
        table = pd.concat(pd.read_csv(Path(folder) / f"adult.{part}.gz", **settings) for part in ("data", "test"))
    else:
        table = _downloaded()
    table["income"] = table["income"].astype(str).str.strip().str.rstrip(".")
    return table.reset_index(drop=True)


def adult() -> Adult:
    """The same as arrays."""
    import pandas as pd

    table = read_adult_table()
    rich = table["income"].astype(str).str.strip().str.startswith(">50K").to_numpy()
    codes = np.stack([pd.factorize(table[name].astype(object), sort=True)[0] for name in CATEGORIES], axis=1)
    return Adult(table[list(NUMBERS)].to_numpy(float), np.where(codes < 0, np.nan, codes), rich)


def _downloaded() -> Any:
    from sklearn.datasets import fetch_openml

    try:
        table = fetch_openml("adult", version=2, as_frame=True, parser="auto").frame
    except Exception as error:
        raise SystemExit(
            "UCI Adult is neither in TACIT_DATA (adult.data.gz and adult.test.gz from "
            "https://archive.ics.uci.edu/dataset/2/adult, compressed with gzip) nor to be had from OpenML "
            f"({type(error).__name__}). Set TACIT_DATA to a folder that holds them, or connect."
        ) from None
    table.columns = ["income" if name == "class" else name.replace("-", "_") for name in table.columns]
    return table
