"""From a private table to a published model: every row is protected, and the search is in the price.

The rows are made up here, so that the example needs no data; in life they are a CSV of patients.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import tacit


def patients(n: int = 6000) -> pd.DataFrame:
    """Made-up stays in a hospital."""
    rng = np.random.default_rng(7)
    age, nights = rng.integers(18, 95, n), rng.geometric(0.25, n)
    ward = rng.choice(["surgery", "heart", "lung", "other"], n, p=[0.3, 0.3, 0.2, 0.2])
    risk = (age - 65) / 10 + nights / 4 + 1.2 * (ward == "heart") - 1.5
    back = np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "yes", "no")
    return pd.DataFrame({"age": age, "nights": nights, "ward": ward, "readmitted": back})


def main(folder: str = "train-out") -> None:
    out = Path(folder)
    out.mkdir(exist_ok=True)
    ledger = tacit.Ledger.open(out / "ledger.db", "stays", tacit.Budget.approximate(2.0, 1e-5))
    release = tacit.train(
        "logistic",
        patients(),
        target="readmitted",
        budget=tacit.Budget.approximate(1.5, 1e-6),
        runs=8,
        ledger=ledger,
        out=out / "release",
    )
    value = release.value
    print(f"error {value.score:.3f} ± {value.half_width:.3f} on rows that nothing else has touched")
    print(f"parameters {value.params}")
    print(release.guarantee)
    new = pd.DataFrame({"age": [34, 88], "nights": [1, 12], "ward": ["lung", "heart"]})
    print("predicted:", value.model.predict(new).tolist())


if __name__ == "__main__":
    main(*sys.argv[1:2])
