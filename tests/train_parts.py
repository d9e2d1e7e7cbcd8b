"""A made-up table, and a quick training on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tacit.privacy.guarantee import Budget
from tacit.training.train import train

BUDGET = Budget.approximate(2.0, 1e-5)


def table(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, ward = rng.integers(18, 95, n), rng.choice(["north", "west", "east"], n)
    ill = rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 8 - 1.5 * (ward == "west")))
    return pd.DataFrame({"age": age.astype(str), "ward": ward, "ill": np.where(ill, "yes", "no")})


def quick(data: Any, **options: Any) -> Any:
    return train("logistic", data, target="ill", budget=BUDGET, runs=4, progress=False, **options)
