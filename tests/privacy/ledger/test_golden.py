from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.release import Release, digest
from tacit.privacy.units import SAME_RECORDS, VALIDATION

GOLDEN = Path(__file__).parents[2] / "golden" / "ledger_v1.db"
HEAD = "42c4767cfb9a6c1e8566b0caadab55eff27220e42c99424483623e4f1970bd3d"  # of "stays", as it was made


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copy(GOLDEN, tmp_path / "ledger.db")
    (tmp_path / "ledger.db").chmod(0o644)
    return tmp_path / "ledger.db"


def test_a_ledger_of_schema_1_opens_verifies_and_is_charged(copied: Path) -> None:
    assert Ledger.names(copied) == ["empty", "stays"]
    ledger = Ledger.open(copied, "stays", Budget.approximate(2.0, 1e-5), composition="zcdp", reserve=1e-6)
    ledger.verify(head=HEAD)
    assert ledger.description == "Länge der Aufenthalte"
    assert [e.status for e in ledger.entries()] == [
        "drawn",
        "drawn",
        "debited, not drawn",
        "debited, not drawn",
        "refused",
    ]
    spent = ledger.entries()[-1].spent
    assert spent.amount == pytest.approx(0.2**2 / 2 + 0.1**2 / 2 + 1 / 300, rel=1e-9)
    assert spent.delta == 5e-7
    payment = ledger.charge(Guarantee(Budget.gdp(0.1)), "later")
    ledger.settle(payment, digest(7))
    ledger.verify(head=HEAD)
    assert ledger.verify_certificate(Release(7, Guarantee(Budget.gdp(0.1)), payment).certificate()).paid
    first = ledger.entries()[0].guarantee
    assert first is not None
    assert ledger.verify_certificate(Release({"mean": 3.25}, first, ledger.payment(1)).certificate()).paid


def test_an_empty_ledger_of_schema_1_keeps_its_unit(copied: Path) -> None:
    ledger = Ledger.open(copied, "empty")
    assert (ledger.budget, ledger.unit, ledger.entries()) == (Budget.gdp(1.0), "one patient replaced", [])
    ledger.verify()


def test_a_ledger_of_several_filters_opens_verifies_and_is_charged(tmp_path: Path) -> None:
    shutil.copy(GOLDEN.with_name("ledger_v2.db"), tmp_path / "ledger.db")
    assert Ledger.names(tmp_path / "ledger.db") == ["icu", "tuned alone"]
    with Ledger.open(tmp_path / "ledger.db", "icu", Budget.approximate(3.0, 1e-6), composition="any") as ledger:
        ledger.verify(head="4f7720cfce66e59ebf730b11b1438991805eed573cc672bc7e434c3bd92107a3")
        assert (ledger.filter.code, ledger.unit) == ("any:20", SAME_RECORDS)
        spent = ledger.entries()[-1].spent
        assert spent.parts[0] == pytest.approx((0.45219153959735103, 1e-8), rel=1e-12)
        assert spent.parts[1] == pytest.approx((1.0995571003346492, 1e-8), rel=1e-12)
        assert spent.parts[2] == pytest.approx((2.259210749439827, 3e-8), rel=1e-12)
        ledger.charge(Guarantee(Budget.gdp(0.1), VALIDATION), "later")
        ledger.verify()
