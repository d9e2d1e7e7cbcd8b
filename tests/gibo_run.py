"""A small DP-GIBO run with a real ledger, in a folder, that may be killed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.methods.gibo import FILE, GradientSearch, release
from tacit.methods.gibo.design import DescentSettings
from tacit.methods.task import Task
from tacit.objective import Objective

STEPS, RECORDS = 8, 500
DATA = 0.3 + 0.1 * np.random.default_rng(0).normal(size=RECORDS)


def run(folder: Path, seconds: float = 0.0, fails: bool = False) -> Any:
    def losses(params: dict) -> np.ndarray:
        if fails:
            raise RuntimeError
        time.sleep(seconds / 4)
        out: np.ndarray = (params["x"] - DATA) ** 2 + params["y"] ** 2
        return out

    space = tacit.Space({"x": tacit.Float(0.0, 1.0), "y": tacit.Float(0.0, 1.0)})
    budget = tacit.Budget.gdp(1.0)
    with tacit.Ledger.open(folder / "ledger.db", "l", tacit.Budget.gdp(2.0)) as ledger:
        settings = DescentSettings.of({"scan": 4}, (0.0, 1.0), space)
        asked = Objective(losses, RECORDS, (0.0, 1.0))
        return release(GradientSearch(Task(asked, space, budget, STEPS, ledger=ledger), settings, folder / FILE))
