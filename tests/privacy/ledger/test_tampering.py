"""What verify and certificates find, what they do not, and that two ledgers never mix."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import LedgerError, LedgerTampered
from tacit.privacy.filters import NOTHING, Cost
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Entry, Ledger
from tacit.privacy.ledger.chain import Header, check, sha256, statement_of
from tacit.privacy.ledger.store import Database
from tacit.privacy.ledger.tables import entries
from tacit.privacy.release import Payment, Release, digest

PIECE = Guarantee(Budget.pure(0.1))


def run(url: str, *statements: str | sa.Executable) -> None:
    store = Database(url)
    with store.writing() as connection:
        for statement in statements:
            connection.execute(sa.text(statement) if isinstance(statement, str) else statement)
    store.close()


@pytest.fixture
def ledger(ledger_url: str) -> Ledger:
    """Six entries: charge, drawn, charge, charge, drawn, charge."""
    ledger = Ledger.open(ledger_url, "icu", Budget.pure(1.0), description="ICU stays")
    for settled in (True, False, True, False):
        payment = ledger.charge(PIECE, "a mean")
        if settled:
            ledger.settle(payment, digest(payment.entry))
    ledger.verify()
    return ledger


EDITS = {
    "kind": "'refusal'",
    "time": "'2020-01-01T00:00:00.000000+00:00'",
    "purpose": "'nothing'",
    "guarantee": "replace(guarantee, '0.1', '0.01')",
    "settles": "3",
    "digest": "'00'",
    "cost_amount": "0.01",
    "cost_delta": "1e-9",
    "spent_amount": "0.1",
    "spent_delta": "1e-9",
    "previous": "hash",
    "hash": "previous",
}


@pytest.mark.parametrize("column", sorted(EDITS))
def test_an_edited_entry_is_named(ledger: Ledger, ledger_url: str, column: str) -> None:
    assert set(EDITS) == {c.name for c in entries.columns} - {"ledger", "number"}, "every column is tried"
    run(ledger_url, f"UPDATE tacit_entries SET {column} = {EDITS[column]} WHERE number = 4")
    with pytest.raises(LedgerTampered, match="ledger 'icu' is not what was written: entry 4 was edited"):
        ledger.verify()


def test_an_entry_edited_beyond_reading_is_named(ledger: Ledger, ledger_url: str) -> None:
    run(ledger_url, "UPDATE tacit_entries SET guarantee = '{' WHERE number = 4")
    with pytest.raises(LedgerTampered, match="entry 4 was edited"):
        ledger.verify()
    assert ledger.export()["entries"][3]["guarantee"] == "{"


def test_a_number_edited_into_words_is_named(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "icu", Budget.pure(1.0))  # only SQLite lets a column hold anything
    ledger.charge(PIECE)
    run(str(tmp_path / "l.db"), "UPDATE tacit_entries SET spent_amount = 'none'")
    for look in (ledger.verify, ledger.entries, ledger.remaining, lambda: ledger.charge(PIECE)):
        with pytest.raises(LedgerTampered, match="entry 1 was edited"):
            look()
    run(str(tmp_path / "l.db"), "UPDATE tacit_ledgers SET amount = 'plenty'")
    with pytest.raises(LedgerTampered, match="header was edited"):
        ledger.verify()


@pytest.mark.parametrize("number", [1, 3, 6])
def test_a_deleted_entry_is_named(ledger: Ledger, ledger_url: str, number: int) -> None:
    run(ledger_url, f"DELETE FROM tacit_entries WHERE number = {number}")
    with pytest.raises(LedgerTampered, match=f"entry {number} is missing"):
        ledger.verify()


def test_deleting_every_entry_is_found(ledger: Ledger, ledger_url: str) -> None:
    run(ledger_url, "DELETE FROM tacit_entries", "UPDATE tacit_ledgers SET length = 0")
    with pytest.raises(LedgerTampered, match="header was edited"):
        ledger.verify()


def test_renumbered_entries_are_found(ledger: Ledger, ledger_url: str) -> None:
    swap = [f"UPDATE tacit_entries SET number = {b} WHERE number = {a}" for a, b in [(3, 99), (4, 3), (99, 4)]]
    run(ledger_url, *swap)
    with pytest.raises(LedgerTampered, match="entry 3 was edited"):
        ledger.verify()


def test_swapped_contents_are_found(ledger: Ledger) -> None:
    third, fourth = ledger.entries()[2:4]
    rewrite(ledger, [replace(fourth, number=3), replace(third, number=4)], chain=False)
    with pytest.raises(LedgerTampered, match="entry 3 does not follow from entry 2"):
        ledger.verify()


def test_an_entry_past_the_end_is_found(ledger: Ledger, ledger_url: str) -> None:
    columns = ", ".join(c.name for c in entries.columns if c.name not in ("number", "settles"))
    run(
        ledger_url,
        f"INSERT INTO tacit_entries (number, {columns}) SELECT 7, {columns} FROM tacit_entries WHERE number = 6",
    )
    with pytest.raises(LedgerTampered, match="entry 7 was edited"):
        ledger.verify()


@pytest.mark.parametrize(
    "edit",
    [
        "amount = 100.0",
        "name = 'er'",
        "description = 'ER stays'",
        "notion = 'zcdp', composition = 'zcdp'",
        "unit = 'one patient replaced'",
        "created = '2020'",
        "notion = 'approximate', delta = 1e-6, composition = 'basic'",
        "notion = 'approximate', delta = 1e-6, composition = 'gdp', reserve = 1e-7",
        "notion = 'nonsense'",
        "head = 'nonsense'",
        "length = 5",
        "length = 7",
    ],
)
def test_an_edited_header_is_found_and_stops_charges(ledger: Ledger, ledger_url: str, edit: str) -> None:
    run(ledger_url, f"UPDATE tacit_ledgers SET {edit}")
    with pytest.raises(LedgerTampered):
        ledger.verify()
    with pytest.raises(LedgerTampered):
        ledger.charge(PIECE)
    with pytest.raises(LedgerTampered):
        Ledger.open(ledger_url, "er" if "name" in edit else "icu")


def test_a_ledger_without_entries_has_its_header_checked(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url, "icu", Budget.pure(1.0))
    ledger.verify()
    run(ledger_url, "UPDATE tacit_ledgers SET amount = 100.0")
    with pytest.raises(LedgerTampered, match="header was edited"):
        Ledger.open(ledger_url, "icu")


def test_an_edited_end_stops_charges(ledger: Ledger, ledger_url: str) -> None:
    run(ledger_url, "UPDATE tacit_entries SET spent_amount = 0.0 WHERE number = 6")
    with pytest.raises(LedgerTampered, match="entry 6 was edited"):
        ledger.charge(PIECE)


def rewrite(ledger: Ledger, changes: list[Entry], *, chain: bool = True) -> None:
    """What a careful forger does: change entries and recompute their hashes, and with ``chain`` all later ones."""
    new = {e.number: e for e in changes}
    previous = ledger._header.genesis
    with ledger._store.writing() as connection:
        for entry in ledger.entries():
            entry = new.get(entry.number, entry)
            if chain:
                entry = replace(entry, previous=previous)
            if chain or entry.number in new:
                entry = replace(entry, hash=entry.compute_hash())
            previous = entry.hash
            row = {c: getattr(entry, c) for c in ("purpose", "kind", "settles", "digest", "time", "previous", "hash")}
            row |= {"cost_amount": entry.cost.amount, "spent_amount": entry.spent.amount, "guarantee": entry.statement}
            connection.execute(sa.update(entries).where(entries.c.number == entry.number).values(settles=None))
            connection.execute(sa.update(entries).where(entries.c.number == entry.number).values(**row))
        connection.execute(sa.text("UPDATE tacit_ledgers SET head = :head"), {"head": previous})


@pytest.mark.parametrize(
    ("number", "change", "words"),
    [
        (4, lambda e: replace(e, spent=Cost(0.1)), "the total of entry 4 is not the sum"),
        (4, lambda e: replace(e, cost=Cost(0.01)), "entry 4 charges less than its guarantee costs"),
        (4, lambda e: replace(e, cost=Cost(9.0)), "the total of entry 4 is not the sum"),
        (4, lambda e: replace(e, kind="refusal"), "entry 4 is a refusal that costs something"),
        (4, lambda e: replace(e, kind="gift"), "entry 4 is of the unknown kind 'gift'"),
        (4, lambda e: replace(e, statement=None), "entry 4 charges for no guarantee"),
        (4, lambda e: replace(e, statement=e.statement.replace("record", "patient")), "entry 4 .* another unit"),
        (5, lambda e: replace(e, settles=2), "entry 5 draws without a charge"),
        (5, lambda e: replace(e, settles=6), "entry 5 draws without a charge"),
        (6, lambda e: replace(e, cost=Cost(9.0), spent=Cost(9.3)), "entry 6 exceeds the budget"),
    ],
)
def test_a_rewritten_chain_must_still_add_up(
    tmp_path: Path, number: int, change: Callable[[Entry], Entry], words: str
) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "icu", Budget.pure(1.0))
    for settled in (True, False, True, False):
        payment = ledger.charge(PIECE)
        if settled:
            ledger.settle(payment, digest(payment.entry))
    rewrite(ledger, [change(ledger.entries()[number - 1])])
    with pytest.raises(LedgerTampered, match=words):
        ledger.verify()


def test_a_consistent_rewriting_is_caught_only_from_outside(
    ledger: Ledger, ledger_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fourth = ledger.payment(4)
    certificate = Release(4, PIECE, fourth).certificate()
    head = ledger.export()["head"]
    assert ledger.verify_certificate(certificate).paid
    rewrite(ledger, [replace(ledger.entries()[2], purpose="something harmless")])
    with pytest.raises(LedgerTampered, match="went another way"):
        ledger.verify()  # this machine has seen it before
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    ledger = Ledger.open(ledger_url, "icu")
    ledger.verify()  # sound in itself: this is the limit of a chain, as the documentation says
    with pytest.raises(LedgerTampered, match="is not in it, so it was rewritten"):
        ledger.verify(head=head)
    assert not ledger.verify_certificate(certificate).paid
    with pytest.raises(LedgerError, match="has no charge 4"):
        ledger.pays(fourth)


def test_a_head_from_any_earlier_export_is_known(ledger: Ledger) -> None:
    head = ledger.export()["head"]
    ledger.charge(PIECE)
    ledger.verify(head=head)


def failed(ledger: Ledger, document: Any) -> set[str]:
    verdict = ledger.verify_certificate(document)
    assert verdict.paid == all(ok for _, ok, _ in verdict.checks)
    return {name for name, ok, _ in verdict.checks if not ok}


def changed(document: dict[str, Any], *path: str, to: Any) -> dict[str, Any]:
    document = copy.deepcopy(document)
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return document


def test_a_certificate_is_refused_for_the_right_reason(ledger: Ledger, ledger_url: str) -> None:
    good = json.loads(json.dumps(Release(1, PIECE, ledger.payment(1)).certificate()))
    assert failed(ledger, good) == set()
    assert failed(ledger, changed(good, "value", to=2)) == {"value", "drawn"}
    assert failed(ledger, Release(2, PIECE, ledger.payment(1)).certificate()) == {"drawn"}
    assert failed(ledger, Release(3, PIECE, ledger.payment(3)).certificate()) == {"drawn"}
    assert failed(ledger, Release(1, Guarantee(Budget.pure(0.01)), ledger.payment(1)).certificate()) == {"guarantee"}
    assert failed(ledger, changed(good, "guarantee", "epsilon", to=0.001)) == {"guarantee"}
    assert failed(ledger, changed(good, "guarantee", "unit", to="one word replaced")) == {"guarantee"}
    assert failed(ledger, changed(good, "guarantee", to=None)) == {"guarantee"}
    assert failed(ledger, changed(good, "payment", "entry", to=3)) == {"entry"}
    assert failed(ledger, changed(good, "payment", "entry", to=99)) == {"entry"}
    assert failed(ledger, changed(good, "payment", "hash", to="0" * 64)) == {"entry"}
    assert failed(ledger, changed(good, "payment", "ledger", to="another")) == {"ledger", "entry"}
    assert failed(ledger, changed(good, "payment", "name", to="another")) == {"ledger", "entry"}
    assert failed(ledger, changed(good, "payment", to=None)) == {"payment"}
    assert failed(ledger, changed(good, "format", to="tacit.certificate/9")) == {"format"}
    for nonsense in (None, [], "paid", 7, {}):
        assert failed(ledger, nonsense) == {"format", "value", "payment"}
    run(ledger_url, "UPDATE tacit_entries SET purpose = 'x' WHERE number = 4")
    assert failed(ledger, good) == {"chain"}


def test_two_ledgers_never_mix(ledger_url: str, tmp_path: Path) -> None:
    places = [(ledger_url, "icu"), (ledger_url, "er"), (str(tmp_path / "other.db"), "icu")]
    ledgers = [Ledger.open(url, name, Budget.pure(1.0)) for url, name in places]
    certificates = []
    for ledger in ledgers:
        payment = ledger.charge(PIECE)
        ledger.settle(payment, digest("same"))
        certificates.append(Release("same", PIECE, payment).certificate())
    ledgers[1].charge(PIECE)
    assert [len(ledger.entries()) for ledger in ledgers] == [2, 3, 2]
    assert [round(ledger.remaining().amount, 9) for ledger in ledgers] == [0.9, 0.8, 0.9]
    for i, ledger in enumerate(ledgers):
        ledger.verify()
        for j, certificate in enumerate(certificates):
            assert ledger.verify_certificate(certificate).paid == (i == j)
            payment = Payment.from_json(certificate["payment"])
            if i != j:
                with pytest.raises(LedgerError, match="that payment is of ledger"):
                    ledger.pays(payment)
                with pytest.raises(LedgerError, match="that payment is of ledger"):
                    ledger.settle(payment, digest("same"))
                renamed = replace(payment, ledger=ledger.id)  # a forged payment still has the other chain's hash
                with pytest.raises(LedgerError, match="has no charge 1"):
                    ledger.pays(renamed)


finite = st.floats(allow_nan=False, allow_infinity=False)
pairs = st.lists(st.tuples(finite, finite), max_size=2).map(tuple)


@given(
    st.builds(
        Entry,
        st.integers(1, 10**9),
        st.sampled_from(["charge", "drawn", "refusal"]),
        st.text(),
        st.text(),
        st.one_of(st.none(), st.text(), st.builds(json.dumps, st.dictionaries(st.text(), st.floats()))),
        st.one_of(st.none(), st.integers(1)),
        st.one_of(st.none(), st.text()),
        st.builds(Cost, finite, st.floats(0, 1), pairs),
        st.builds(Cost, finite, st.integers(0, 3), pairs),
        st.text(),
    )
)
def test_the_hash_is_that_of_the_canonical_text(entry: Entry) -> None:
    document = entry.to_json()
    del document["hash"]
    assert entry.compute_hash() == sha256(document)


def chained(header: Header, charges: list[tuple[Guarantee, Cost]]) -> list[Entry]:
    """A chain whose hashes and sums are right, whatever it charges."""
    made, spent, previous = list[Entry](), NOTHING, header.genesis
    for number, (guarantee, cost) in enumerate(charges, 1):
        spent = spent.plus(cost)
        said = (number, "charge", "2026-01-01T00:00:00.000+00:00", "", statement_of(guarantee), None, None)
        entry = Entry(*said, cost, spent, previous)
        made.append(replace(entry, hash=entry.compute_hash()))
        previous = made[-1].hash
    return made


def test_a_ledger_of_several_filters_that_was_rewritten_is_held_to_them() -> None:
    """All hashes recomputed: what is left to find are costs that are too low and a budget that no filter holds."""
    header = Header("id", "icu", "", Budget.approximate(3.0, 1e-6), "any:20", 0.0, None, "now")
    terms, whole = header.filter, Guarantee(Budget.approximate(3.0, 1e-6))
    tune, pool = Guarantee(Budget.gdp(0.2)), Guarantee(Budget.pure(1.0))

    def verify(*charges: tuple[Guarantee, Cost]) -> None:
        made = chained(header, list(charges))
        check(header, len(made), made[-1].hash, made)

    verify((whole, terms.cost(whole)))
    verify(*[(pool, terms.cost(pool))] * 3)
    with pytest.raises(LedgerTampered, match="entry 2 exceeds the budget"):
        verify((tune, terms.cost(tune)), (whole, terms.cost(whole)))
    with pytest.raises(LedgerTampered, match="entry 2 exceeds the budget"):
        verify((whole, terms.cost(whole)), (tune, terms.cost(tune)))
    with pytest.raises(LedgerTampered, match="entry 4 exceeds the budget"):
        verify(*[(pool, terms.cost(pool))] * 4)
    due = terms.cost(pool)
    for k, (amount, delta) in enumerate(due.parts):
        less = [*due.parts[:k], (0.9 * amount, delta), *due.parts[k + 1 :]]
        with pytest.raises(LedgerTampered, match="entry 1 charges less than its guarantee costs"):
            verify((pool, Cost.of(less)))
    with pytest.raises(LedgerTampered, match="entry 1 charges less"):
        verify((pool, Cost(due.amount, due.delta)))
    with pytest.raises(LedgerTampered, match="entry 1 charges for no guarantee"):
        verify((Guarantee.none("nothing is promised"), due))


def test_costs_in_every_filter_are_under_the_hash(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l.db", "icu", Budget.approximate(3.0, 1e-6)) as ledger:
        ledger.charge(PIECE, "a mean")
    line = "substr(guarantee, instr(guarantee, char(10)))"  # the costs in the other filters
    lowered = f"replace(guarantee, {line}, replace({line}, '[0.1,', '[0.01,'))"
    for k, edit in enumerate((lowered, "substr(guarantee, 1, instr(guarantee, char(10)) - 1)", "guarantee || '1'")):
        shutil.copy(tmp_path / "l.db", tmp_path / f"{k}.db")
        run(f"sqlite:///{tmp_path}/{k}.db", f"UPDATE tacit_entries SET guarantee = {edit}")
        with pytest.raises(LedgerTampered, match="edited"):
            Ledger.open(tmp_path / f"{k}.db", "icu").verify()
