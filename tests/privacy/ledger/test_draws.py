"""Keys that find a charge again, and counts of draws beside the chain."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from ledger_workers import charge_one_key, forks

from tacit.errors import BadInput, BudgetRefused, LedgerError, LedgerTampered
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger, witness

GOLDEN = Path(__file__).parents[2] / "golden" / "runs_v1" / "ledger.db"
PIECE = Guarantee(Budget.gdp(0.8))


def test_eight_processes_that_charge_one_key_on_a_fresh_database_pay_once(ledger_url: str) -> None:
    start, answers = forks.Barrier(8), forks.Queue()
    children = [forks.Process(target=charge_one_key, args=(ledger_url, start, answers)) for _ in range(8)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 8
    said = [answers.get(timeout=60) for _ in children]
    assert said == [1] * 8
    with Ledger.open(ledger_url, "l") as ledger:
        assert len(ledger.entries()) == 1
        ledger.verify()


def test_a_key_finds_its_charge_again_whatever_is_left(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url, "l", Budget.gdp(1.0))
    paid = ledger.charge(PIECE, key="a")
    assert ledger.charge(PIECE, "in other words", key="a") == paid
    with pytest.raises(BudgetRefused):
        ledger.charge(PIECE, key="b")
    with pytest.raises(BudgetRefused):
        ledger.charge(PIECE)
    with pytest.raises(LedgerError, match="this key paid for less"):
        ledger.charge(Guarantee(Budget.gdp(0.81)), key="a")
    assert ledger.charge(Guarantee(Budget.gdp(0.1), source="in other words"), key="a") == paid
    assert [e.kind for e in ledger.entries()] == ["charge"]


def test_several_keys_are_names_of_one_charge(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url, "l", Budget.gdp(1.0))
    paid = ledger.charge(PIECE, key=["a", "b"])
    assert [ledger.charge(PIECE, key=key) for key in ("a", "b", ["b", "c"])] == [paid] * 3
    with pytest.raises(BudgetRefused):  # a key is given with the charge, not later: another charge
        ledger.charge(PIECE, key="c")
    ledger.verify()


def test_a_key_is_of_one_ledger(ledger_url: str) -> None:
    first, second = (Ledger.open(ledger_url, name, Budget.gdp(1.0)) for name in ("first", "second"))
    assert first.charge(PIECE, key="a").ledger != second.charge(PIECE, key="a").ledger


@pytest.mark.parametrize("key", ["", " ", "nul\0", 5])
def test_a_key_is_text(key: Any, tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "l", Budget.gdp(1.0))
    with pytest.raises(BadInput, match="key must be text"):
        ledger.charge(PIECE, key=[key])
    assert ledger.entries() == []


def test_a_key_whose_charge_was_edited_is_refused(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "l", Budget.gdp(1.0))
    ledger.settle(ledger.charge(PIECE, key="a"), "0" * 64)
    with sqlite3.connect(tmp_path / "l.db") as database:
        database.execute("UPDATE tacit_keys SET charge = 2")
    with pytest.raises(LedgerTampered, match="not the charge that its keys name"):
        ledger.charge(PIECE, key="a")


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE tacit_keys SET charge = 2 WHERE key = 'a'",  # moved to another charge
        "UPDATE tacit_keys SET key = 'c' WHERE key = 'b'",
        "INSERT INTO tacit_keys SELECT ledger, 'c', charge FROM tacit_keys WHERE key = 'b'",  # forged
        "INSERT INTO tacit_keys SELECT ledger, 'c', 3 FROM tacit_keys WHERE key = 'b'",  # for a charge without keys
        "INSERT INTO tacit_keys SELECT ledger, 'c', 9 FROM tacit_keys WHERE key = 'b'",  # for none
        "DELETE FROM tacit_keys WHERE key = 'b'",
        "DROP TABLE tacit_keys",
    ],
)
def test_a_key_that_was_moved_forged_or_removed_is_found(edit: str, ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url, "l", Budget.gdp(9.0))
    for keys in ("a", "b", ()):
        ledger.charge(PIECE, "a mean", key=keys)
    ledger.verify()
    engine = sa.create_engine(ledger_url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.exec_driver_sql(edit)
    engine.dispose()
    with pytest.raises(LedgerTampered, match="not the charge that its keys name"):
        ledger.verify()


def test_an_edited_key_pays_for_nothing(tmp_path: Path) -> None:
    """Whoever charges by it looks too, not only whoever verifies."""
    ledger = Ledger.open(tmp_path / "ledger.db", "l", Budget.gdp(9.0))
    paid = [ledger.charge(PIECE, "a mean", key=key) for key in ("a", "b")]
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.execute(f"INSERT INTO tacit_keys SELECT ledger, 'mine', {paid[0].entry} FROM tacit_keys LIMIT 1")
    with pytest.raises(LedgerTampered, match="not the charge that its keys name"):
        ledger.charge(PIECE, "mine", key="mine")


def test_numbers_are_taken_once_and_none_past_the_last(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url, "l", Budget.gdp(1.0))
    draws, homes = ledger.draws(ledger.charge(PIECE)), list[str]()
    draws.begin("here", 2, homes.append)
    beside = ledger.draws(ledger.payment(1))
    beside.begin("there", 0, homes.append)
    assert [draws.take(3, most=8), beside.take(1, most=8), draws.take(3, most=8)] == [
        range(2, 5),
        range(5, 6),
        range(6, 8),
    ]
    assert list(beside.take(3, most=8)) == []
    draws.begin("there", 0, homes.append)
    assert homes == ["here"]  # asked whenever they are kept elsewhere
    ledger.verify()


A, B, C = ("a" * 64, "b" * 64, "c" * 64)


def open_draws(ledger: Ledger, held: dict[str, str]) -> Any:
    draws = ledger.draws(ledger.payment(1))
    draws.open("here", held)
    return draws


def test_a_named_draw_is_noted_once_with_its_value(ledger_url: str) -> None:
    ledger, held = Ledger.open(ledger_url, "l", Budget.gdp(1.0)), dict[str, str]()
    ledger.charge(PIECE)
    draws = open_draws(ledger, held)
    for _ in range(2):  # a crash may lie between the note and what follows
        draws.name({"row 1": A, "row 2": B}, 2, lambda: held)
    for other in ({"row 1": B}, {"row 3": C, "row 2": A}, {"row 1": ""}):
        with pytest.raises(LedgerError, match=r"has paid for row \d already"):
            draws.name(other, 3, lambda: held)
    with pytest.raises(LedgerError, match="an older copy was put back"):  # under a live process
        draws.name({"row 3": C}, 1, lambda: held)
    with pytest.raises(LedgerError, match="an older copy was put back"):
        open_draws(ledger, {"row 1": A})
    again = open_draws(ledger, {"row 1": A, "row 2": B, "row 9": C})  # recorded, and not noted before it died
    with pytest.raises(LedgerError, match="has paid for row 9 already"):
        again.name({"row 9": A}, 3, dict)
    ledger.verify()


def test_of_two_that_opened_the_same_the_one_that_lacks_a_draw_is_refused(ledger_url: str) -> None:
    """Clones side by side, at one place: whoever comes with an older epoch shows all that is noted, or has ended."""
    ledger = Ledger.open(ledger_url, "l", Budget.gdp(1.0))
    ledger.charge(PIECE)
    first, second = open_draws(ledger, {}), open_draws(ledger, {})
    first.name({"row 1": A}, 1, dict)  # nobody has drawn since: it takes the next epoch
    with pytest.raises(LedgerError, match="an older copy was put back"):
        second.name({"row 2": B}, 2, dict)
    second.name({"row 2": B}, 2, lambda: {"row 1": A, "row 2": B})  # it is no clone: both have the same store
    with pytest.raises(LedgerError, match="an older copy was put back"):
        first.name({"row 3": C}, 3, lambda: {"row 1": A})
    with pytest.raises(LedgerError, match="an older copy was put back"):
        first.name({"row 3": C}, 3, lambda: {"row 1": A, "row 2": C})
    ledger.verify()


def test_a_count_that_went_back_is_tampering(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db", "l", Budget.gdp(1.0))
    ledger.charge(PIECE)
    open_draws(ledger, {}).name({"row 1": A, "row 2": B}, 2, dict)
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.execute("UPDATE tacit_draws SET drawn = 1")
    with pytest.raises(LedgerTampered, match="2 draws that are named, and counts fewer"):
        ledger.verify()


def test_draws_that_an_earlier_release_counted_without_names_are_not_made_again(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url, "l", Budget.gdp(1.0))
    ledger.charge(PIECE)
    ledger.draws(ledger.payment(1)).begin("here", 3)  # all that it wrote
    with pytest.raises(LedgerError, match="an older copy was put back"):
        open_draws(ledger, {"row 1": A, "row 2": B})
    open_draws(ledger, {"row 1": A, "row 2": B, "row 3": C})
    with pytest.raises(LedgerError, match="an older copy was put back"):
        open_draws(ledger, {"row 1": A, "row 2": B, "row 4": C})


def test_a_ledger_of_the_first_release_finds_its_charges_by_their_purposes(tmp_path: Path) -> None:
    shutil.copy(GOLDEN, tmp_path / "l.db")
    ledger = Ledger.open(tmp_path / "l.db", "records")
    before = ledger.entries()
    charges = [e for e in before if e.kind == "charge"]
    assert len(charges) == 4
    for e in charges:
        assert e.guarantee is not None
        assert ledger.charge(e.guarantee, "found again", key=e.purpose) == ledger.payment(e.number)
    ledger.draws(ledger.payment(1)).begin("here", 3)
    assert ledger.entries() == before
    ledger.verify()
    assert ledger.charge(charges[0].guarantee, "new", key="new").entry == len(before) + 1  # type: ignore[arg-type]


def test_draws_that_a_ledger_forgot_are_known_to_a_machine_that_saw_them(tmp_path: Path) -> None:
    """Put back together with what is kept of the draws, the chain alone is the same."""
    ledger = Ledger.open(tmp_path / "ledger.db", "l", Budget.gdp(1.0))
    ledger.charge(PIECE)
    for draw in (lambda draws: draws.name({"row 1": A}, 1, dict), lambda draws: draws.take(1, most=9)):
        draws = open_draws(ledger, {})
        saved = (tmp_path / "ledger.db").read_bytes()
        draw(draws)
        (tmp_path / "ledger.db").write_bytes(saved)
        for again in (lambda: open_draws(ledger, {}), lambda: draw(draws)):  # noqa: B023
            with pytest.raises(LedgerTampered, match="has seen more draws of entry 1"):
                again()
        shutil.rmtree(witness.folder())
