"""Make runs_v1/: interrupted runs of the first release and the ledger that paid. Kept as made: they must go on.

python tests/golden/make_runs_v1.py
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.outsource.curator import PrivateAnswers
from tacit.pareto import PrivateTest, discover

FOLDER = Path(__file__).with_name("runs_v1")
RECORDS, BUDGET = 500, tacit.Budget.gdp(0.5)
ROWS = np.random.default_rng(0).uniform(-15, 15, (12, 2))


class Stops:
    """A bowl that stands for losses, until it is interrupted."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, params: dict[str, Any]) -> np.ndarray:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return np.full(RECORDS, 0.2 + (params["x"] - 0.3) ** 2)


class Interrupted(tacit.Ledger):
    """Stops between the charge and what is written of it."""

    def charge(self, *given: Any, **named: Any) -> Any:
        super().charge(*given, **named)
        raise KeyboardInterrupt


class Algorithm:
    """An algorithm with a front, until it is interrupted."""

    label, name, records = "no sampling, one record replaced", "golden", RECORDS

    def __init__(self, after: int) -> None:
        self.left, self.space = after, {"noise": tacit.Float(0.1, 100.0, log=True)}

    def epsilons(self, params: Any, delta: float) -> np.ndarray:
        return np.array([1 / p["noise"] for p in params])

    def utility(self, params: dict[str, Any], seed: int) -> float:
        return float(0.9 / (1 + params["noise"]))

    def each_utility(self, params: dict[str, Any], seed: int) -> np.ndarray:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return np.full(self.records, self.utility(params, seed))


def ledger(name: str, kind: type[tacit.Ledger] = tacit.Ledger, at: Path = FOLDER) -> tacit.Ledger:
    return kind.open(at / "ledger.db", name, tacit.Budget.gdp(2.0))


def tune(after: int, *, at: Path = FOLDER, kind: type[tacit.Ledger] = tacit.Ledger, **other: Any) -> Any:
    asked: dict[str, Any] = {"records": RECORDS, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": 6}
    asked |= {"accept_noise": True, "progress": False, "ledger": ledger("records", kind, at), **other}
    if asked.get("method") != "gibo":
        asked |= {"storage": f"sqlite:///{at}/study.db", "method": "random"}
    return tacit.tune(Stops(after), {"x": tacit.Float(0.0, 1.0)}, **asked)


def front(after: int, *, at: Path = FOLDER) -> Any:
    private = PrivateTest(BUDGET, ledger("tests", at=at))
    storage = f"sqlite:///{at}/study.db"
    return discover(
        Algorithm(after), delta=0.0, trials=4, startup=4, private=private, storage=storage, take_over=True
    ).value


def curator(charged: str, *, at: Path = FOLDER) -> tacit.Curator:
    answers = PrivateAnswers((-1.0, 1.0), tacit.Budget.gdp(0.2), charged)
    paying = ledger("rows", at=at)
    state = at / f"state_{charged}"
    return tacit.Curator(ROWS, ROWS[:, 0] / 15, epsilon=0.5, delta=1e-3, answers=answers, state=state, ledger=paying)


def main() -> None:
    if FOLDER.exists():
        raise SystemExit(f"{FOLDER.name} exists; it is kept as it was made")
    FOLDER.mkdir()
    os.chdir(FOLDER)
    with contextlib.suppress(KeyboardInterrupt):
        tune(3)
    with contextlib.suppress(KeyboardInterrupt):
        tune(3, kind=Interrupted, study_name="interrupted")
    with contextlib.suppress(KeyboardInterrupt):
        tune(9, method="gibo", out=FOLDER / "descent", scan=0)
    with contextlib.suppress(KeyboardInterrupt):
        front(2)
    tune(6, study_name="finished")
    for charged in ("each", "once"):
        with curator(charged) as made:
            made.ask([3, 4])
    for path in FOLDER.rglob("*lock"):
        path.unlink()


if __name__ == "__main__":
    main()
