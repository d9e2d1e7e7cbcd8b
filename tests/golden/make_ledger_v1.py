"""Make ledger_v1.db, a ledger of schema version 1. Kept as made: a later tacit must still open it.

python tests/golden/make_ledger_v1.py
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from tacit.errors import BudgetRefused
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.release import digest

PATH = Path(__file__).with_name("ledger_v1.db")


def main() -> None:
    if PATH.exists():
        raise SystemExit(f"{PATH.name} exists; it is kept as it was made")
    stays = Ledger.open(
        PATH,
        "stays",
        Budget.approximate(2.0, 1e-5),
        composition="zcdp",
        reserve=1e-6,
        description="Länge der Aufenthalte",
        record_refusals=True,
    )
    drawn = stays.charge(
        Guarantee(Budget.gdp(0.2), assumptions=("bounds are public",), source="Gaussian"), "mean — 平均"
    )
    stays.settle(drawn, digest({"mean": 3.25}))
    stays.charge(Guarantee(Budget.approximate(0.1, 5e-7)), "not drawn")
    stays.charge(Guarantee(Budget.zcdp(1 / 300)), "a third of a hundredth")
    with contextlib.suppress(BudgetRefused):
        stays.charge(Guarantee(Budget.pure(5.0)), "too much")
    Ledger.open(PATH, "empty", Budget.gdp(1.0), unit="one patient replaced")


if __name__ == "__main__":
    main()
