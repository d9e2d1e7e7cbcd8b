"""Make certificates_v1/: certificates of the first release and the ledger that paid. Kept as made: they must verify.

python tests/golden/make_certificates_v1.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.pareto import PrivateTest, discover

FOLDER = Path(__file__).with_name("certificates_v1")
SPACE = {"x": tacit.Float(0.0, 1.0)}


def losses(params: dict[str, Any]) -> np.ndarray:
    return np.full(500, 0.2 + (params["x"] - 0.3) ** 2)


class Algorithm:
    label, name, records = "no sampling, one record replaced", "golden", 500
    space = {"noise": tacit.Float(0.1, 100.0, log=True)}  # noqa: RUF012

    def epsilons(self, params: Any, delta: float) -> np.ndarray:
        return np.array([1 / p["noise"] for p in params])

    def utility(self, params: dict[str, Any], seed: int) -> float:
        return float(0.9 / (1 + params["noise"]))

    def each_utility(self, params: dict[str, Any], seed: int) -> np.ndarray:
        return np.full(self.records, self.utility(params, seed))


def main() -> None:
    if FOLDER.exists():
        raise SystemExit(f"{FOLDER.name} exists; it is kept as it was made")
    FOLDER.mkdir()
    paying = {unit: tacit.Ledger.open(FOLDER / "ledger.db", unit, tacit.Budget.gdp(3.0)) for unit in ("rows", "tests")}
    budget = tacit.Budget.approximate(1.0, 1e-6)
    asked: dict[str, Any] = {"records": 500, "bounds": (0.0, 1.0), "budget": budget, "accept_noise": True}
    asked |= {"progress": False, "ledger": paying["rows"]}
    front = discover(Algorithm(), delta=0.0, trials=4, startup=4, private=PrivateTest(budget, paying["tests"]))
    paying["mean"] = tacit.Ledger.open(FOLDER / "ledger.db", "mean", tacit.Budget.pure(3.0))
    made = {
        "observed": tacit.tune(losses, SPACE, trials=6, **asked),
        "gibo": tacit.tune(losses, SPACE, trials=3, method="gibo", scan=0, **asked),
        "front": front.value.release(),
        "laplace": tacit.mechanisms.Laplace(1.0, budget=tacit.Budget.pure(1.0)).release(3.0, ledger=paying["mean"]),
    }
    for name, release in made.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(release.certificate(), indent=1) + "\n")


if __name__ == "__main__":
    main()
