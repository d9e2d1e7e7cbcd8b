"""Make ledger_v2.db, a ledger of several filters. Kept as made: a later tacit must still open it.

python tests/golden/make_ledger_v2.py
"""

from __future__ import annotations

from pathlib import Path

from tacit.privacy.divergences import Divergences
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.profiles import GaussianProfile
from tacit.privacy.release import digest
from tacit.privacy.units import TABLE, VALIDATION

PATH = Path(__file__).with_name("ledger_v2.db")


def main() -> None:
    if PATH.exists():
        raise SystemExit(f"{PATH.name} exists; it is kept as it was made")
    with Ledger.open(PATH, "icu", Budget.approximate(3.0, 1e-6), unit="record", description="ICU stays") as icu:
        icu.settle(icu.charge(Guarantee(Budget.gdp(0.2), VALIDATION), "tune", key="tune 1"), digest({"rate": 0.5}))
        icu.charge(Guarantee(Budget.pure(0.5), VALIDATION), "pool")
        finer = Divergences.of(GaussianProfile(0.15), 1e-8)
        icu.charge(Guarantee(Budget.approximate(0.6, 1e-6), TABLE, divergences=finer), "train")
    Ledger.open(PATH, "tuned alone", Budget.approximate(1.0, 1e-6), composition="gdp").close()


if __name__ == "__main__":
    main()
