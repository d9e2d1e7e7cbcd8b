"""Units of privacy: which a ledger counts together, and what it says of the others."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tacit.errors import LedgerError
from tacit.privacy.guarantee import RECORD, Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.units import (
    COUNTED,
    EVERY_PART,
    SAME_PERSONS,
    SAME_RECORDS,
    TABLE,
    TABLE_PERSON,
    TEST,
    TRAINING,
    VALIDATION,
    VALIDATION_PERSON,
    counts_unit,
)

CURATOR = "one row moved by at most norm 1"
SMALL = Budget.pure(0.01)


def test_parts_of_a_table_are_different_units_and_the_whole_counts_for_each():
    for one, other in itertools.permutations((VALIDATION, TEST, TRAINING), 2):
        assert not counts_unit(one, other)
    for part in (VALIDATION, TEST, TRAINING):
        assert counts_unit(part, TABLE)
        assert counts_unit(part, EVERY_PART)
        assert not counts_unit(TABLE, part)  # rows that a tuning trains on are not protected by it
    assert not counts_unit(VALIDATION, VALIDATION_PERSON)
    assert counts_unit(VALIDATION_PERSON, TABLE_PERSON)


@pytest.mark.parametrize("unit", [*COUNTED, TABLE, CURATOR])
def test_every_unit_counts_itself_and_no_curators_row_counts_elsewhere(unit):
    assert counts_unit(unit, unit)
    assert counts_unit(unit, CURATOR) == (unit == CURATOR)


def test_a_ledger_of_the_same_records_takes_every_part_and_verifies(tmp_path: Path):
    with Ledger.open(tmp_path / "l.db", "icu", Budget.approximate(3.0, 1e-6), unit="record") as ledger:
        for unit in (VALIDATION, TABLE, TEST, TRAINING, RECORD, EVERY_PART):
            ledger.charge(Guarantee(SMALL, unit))
        ledger.verify()
        assert ledger.unit == ledger.spent().unit == SAME_RECORDS
        for unit in (CURATOR, TABLE_PERSON, SAME_PERSONS):
            with pytest.raises(LedgerError, match="Nothing was released"):
                ledger.charge(Guarantee(SMALL, unit))
    assert Ledger.open(tmp_path / "l.db", "icu", unit="record").unit == SAME_RECORDS


def test_a_tuning_and_then_a_training_share_a_ledger_and_a_front_is_told_why_not(tmp_path: Path):
    with Ledger.open(tmp_path / "l.db", "icu", Budget.approximate(3.0, 1e-6)) as ledger:
        ledger.charge(Guarantee(SMALL, VALIDATION))
        ledger.charge(Guarantee(SMALL, TABLE))
        assert ledger.unit == VALIDATION
        with pytest.raises(LedgerError, match=r"different units.*tacit ledger open NAME --unit record"):
            ledger.charge(Guarantee(SMALL, TEST))
        with pytest.raises(LedgerError, match="another unit of privacy"):
            ledger.charge(Guarantee(SMALL, CURATOR))
        ledger.verify()


def test_a_training_first_makes_a_ledger_of_the_table_that_takes_no_tuning(tmp_path: Path):
    with Ledger.open(tmp_path / "l.db", "icu", Budget.approximate(3.0, 1e-6)) as ledger:
        ledger.charge(Guarantee(SMALL, TABLE))
        with pytest.raises(LedgerError, match="different units"):
            ledger.charge(Guarantee(SMALL, VALIDATION))
