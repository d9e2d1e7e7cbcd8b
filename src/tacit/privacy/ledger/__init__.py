"""The budget of a data set: debit, commit, only then draw.

A ledger is a promise about one data set: all releases that it paid for, together, stay within its budget. It is kept in
an SQLite file or in PostgreSQL, one or many to a database, and holds nothing private: amounts, purposes, times, and
digests of what was released. Never put a private value into a purpose or a description.

    charge      the release is paid for; from here on it counts, whatever happens next
    drawn       the noise was drawn and the value of this digest released; costs nothing
    refusal     somebody asked for more than was left; costs nothing, written only if wanted

A process that dies between charge and drawn leaves a charge that is "debited, not drawn". It stays spent: nobody can
tell from outside whether a value got out.

The entries are chained by hashes (see ledger_chain). ``verify`` finds an entry that was edited, dropped, added or
moved, a header that was edited, sums that do not add up and a budget that was exceeded. It cannot find a rewriting of
the whole ledger, or of its end, with all hashes recomputed, nor an old copy of the file put in place of the new one.
Certificates find these, and so does ``verify(head=...)`` with the last hash of an export that was kept elsewhere.
A file that is damaged, cut short, or gone though its mark says that it was there (see file) is refused at ``open``.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from tacit.errors import BadInput, BudgetRefused, LedgerError, LedgerTampered, NoLedger, name_type
from tacit.notebook import DrawnInNotebooks
from tacit.privacy.any_filter import AnyFilter, describe_terms, filter_over, same_terms
from tacit.privacy.filters import NOTHING, Cost, Filter
from tacit.privacy.guarantee import RECORD, Budget, Guarantee
from tacit.privacy.ledger import tables as rows
from tacit.privacy.ledger.address import with_password, without_password
from tacit.privacy.ledger.chain import (
    CHARGE,
    DRAWN,
    REFUSAL,
    Entry,
    Header,
    Verdict,
    check,
    judge,
    statement_of,
    tampering,
)
from tacit.privacy.ledger.draws import Draws, add_tables, check_beside, find_payment, keys_digest, name_charge
from tacit.privacy.ledger.store import Database
from tacit.privacy.ledger.witness import Witness
from tacit.privacy.release import Payment
from tacit.privacy.room import Room, fits, foresee, measure_room, refuse
from tacit.privacy.units import NAMES, counts_unit, refuse_unit

__all__ = ["Entry", "Ledger", "Verdict"]


class Ledger(DrawnInNotebooks):
    """The account of one data set's privacy budget, shared by all processes that release from it.

    Guarantee. Releases that were each charged here before they were drawn satisfy the budget together, however many
    processes charge at once and however each release depends on earlier ones (see Filter). When ``charge`` returns,
    the debit is on disk; when it raises, nothing may be drawn.
    Follows. Rogers et al. (2016), Feldman and Zrnic (2021), Smith and Thakurta (2022). Proof:
    docs/proofs/ledger-filters.md.
    Edges. A charge that was not drawn stays spent. SQLite relies on file locks, which many network file systems do not
    keep: use PostgreSQL across machines. A ledger in memory is refused, since it would forget.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(Path(folder) / "icu.db", "icu", Budget.pure(1.0), description="ICU stays, 2019")
    ...     paid = ledger.charge(Guarantee(Budget.pure(0.25)), "mean length of stay")
    ...     print(ledger.remaining(), "|", ledger.entries()[0].status, "|", ledger.can_afford(ledger.spent()))
    epsilon = 0.75 | debited, not drawn | True
    """

    def __init__(self, store: Database, header: Header, unit: str | None, record_refusals: bool) -> None:
        self._store, self._header, self._asked, self._record = store, header, unit, record_refusals
        self._witness, self._unit_known, self._filter = Witness(store, header), header.unit, header.filter
        self._closed = self._has_keys = False

    @classmethod
    def open(
        cls,
        url: str | Path,
        name: str,
        budget: Budget | None = None,
        *,
        composition: str | None = None,
        reserve: float = 0.0,
        description: str = "",
        unit: str | None = None,
        record_refusals: bool = False,
    ) -> Ledger:
        """The ledger of this name; with a budget, made first if there is none.

        ``url`` is a path, sqlite:///file.db or postgresql://user@host/database. ``composition`` and ``reserve`` are
        those of Filter and AnyFilter. ``unit`` is the unit of privacy that is counted; without it, the first charge
        sets it. "record" and "person" declare that the records, or persons, of all releases are the same.
        ``description`` is kept when the ledger is made and ignored later. Raises LedgerError if the ledger exists with
        another budget, or does not exist and no budget is given; then no file is made either.
        """
        for what, said in (("name", name), ("description", description), ("unit", unit or "-")):
            _text(what, said, empty=what == "description")
        if budget is None and (composition or reserve):
            raise BadInput("composition and reserve belong to a budget; give the budget as well, or neither")
        unit = NAMES.get(unit or "", unit)
        asked = None if budget is None else filter_over(budget, composition, reserve)
        store = Database(url)
        there = store.exists()
        header = store.find(name) if there else None
        if header is None:
            if asked is None:
                store.refuse_lost(name)
                names = ", ".join(map(repr, store.names())) if there else ""
                found = f"it has {names}" if names else "it has none" if there else "there is no such file"
                raise NoLedger(f"no ledger {name!r} at {store.shown}: {found}.", name=name, place=store.shown)
            terms = (asked.budget, asked.code, asked.reserve)
            header = store.create(Header(str(uuid.uuid4()), name, description, *terms, unit, rows.now()))
        if asked is not None and not same_terms(header.filter, asked, plain=composition is None and not reserve):
            raise LedgerError(
                f"ledger {name!r} exists with {describe_terms(header.filter)}; asked for {describe_terms(asked)}. "
                "Open it without a budget, or take another name"
            )
        ledger = cls(store, header, unit, record_refusals)
        with ledger._reading() as turn:
            rows.end(turn, header)
            ledger._agree(turn, unit)
        return ledger

    @staticmethod
    def names(url: str | Path) -> list[str]:
        """The names of the ledgers in a database. LedgerError if there is no such file."""
        return Database(url).names()

    @property
    def name(self) -> str:
        return self._header.name

    @property
    def id(self) -> str:
        """A random identifier: two ledgers of one name in two databases are two ledgers."""
        return self._header.id

    @property
    def budget(self) -> Budget:
        return self._header.budget

    @property
    def filter(self) -> Filter | AnyFilter:
        return self._filter

    @property
    def description(self) -> str:
        return self._header.description

    @property
    def unit(self) -> str | None:
        """The unit of privacy that the budget is about; None until the first charge if none was given."""
        with self._reading() as turn:
            return self._unit(turn)

    def charge(self, guarantee: Guarantee, purpose: str = "", *, key: str | Collection[str] = ()) -> Payment:
        """Pay for a release, before its noise is drawn. On return the debit is on disk.

        ``key`` names the release: whoever charges again with it, in any process, finds the payment that was made.
        Several keys are names of one release. Without a key every call is a new charge.

        Raises BudgetRefused if the budget does not cover it, GuaranteeError if it cannot be counted in this ledger's
        currency, LedgerError if the debit cannot be written. After any of these nothing may be drawn.
        """
        _text("purpose", purpose, empty=True)
        wanted = sorted({key} if isinstance(key, str) else key)
        for name in wanted:
            _text("key", name, empty=False)
        cost = self.filter.cost(guarantee)
        statement, refused = statement_of(guarantee), ""
        with self._writing() as turn:
            if wanted and not self._has_keys:
                add_tables(turn.connection)
            last = rows.end(turn, self._header)
            self._agree(turn, guarantee.unit)
            if wanted and (made := find_payment(turn.connection, self._header, wanted, cost)) is not None:
                return made
            if self.filter.admits(last.spent, cost, guarantee):
                said: dict[str, Any] = {"statement": statement, "digest": keys_digest(wanted), "cost": cost}
                entry = rows.append(turn, self._header, last, CHARGE, purpose=purpose, **said)
                if wanted:
                    name_charge(turn.connection, self._header, wanted, entry.number)
            else:
                refused = refuse(self.name, self.filter, last.spent, cost, guarantee)
                if self._record:
                    rows.append(turn, self._header, last, REFUSAL, purpose=purpose, statement=statement)
        if refused:
            raise BudgetRefused(refused)
        self._has_keys = self._has_keys or bool(wanted)
        return Payment(self.id, self.name, entry.number, entry.hash)

    def draws(self, payment: Payment) -> Draws:
        """The count of draws that a payment has paid for, for whoever makes several; see tacit.privacy.claims."""
        self.pays(payment)
        return Draws(self._header, payment, self._writing)

    def settle(self, payment: Payment, digest: str) -> None:
        """Record that what a payment paid for was drawn: the SHA-256 of the released value, in hex.

        Once only: again with the same digest does nothing, with another raises LedgerError.
        """
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise BadInput("digest must be the SHA-256 of the released value as 64 hex digits: release.digest(value)")
        with self._writing() as turn:
            last = rows.end(turn, self._header)
            charge = rows.find_charge(turn.connection, self._header, payment)
            draw = rows.find_draw(turn.connection, self._header, charge.number)
            if draw is None:
                rows.append(turn, self._header, last, DRAWN, settles=charge.number, digest=digest)
            elif draw.digest != digest:
                raise LedgerError(
                    f"entry {charge.number} of ledger {self.name!r} paid for one release, recorded by entry "
                    f"{draw.number}; it does not pay for a second one. Charge again"
                )

    def payment(self, number: int) -> Payment:
        """The payment of a charge by its number, for a process that resumes what an earlier one paid for."""
        for entry in self.entries():
            if entry.number == number and entry.kind == CHARGE:
                return Payment(self.id, self.name, number, entry.hash)
        raise LedgerError(f"entry {number} of ledger {self.name!r} is not a charge, so it pays for nothing")

    def pays(self, payment: Payment) -> Entry:
        """The charge that a payment names; LedgerError if this ledger has no such entry."""
        with self._reading() as turn:
            return rows.find_charge(turn.connection, self._header, payment)

    def restate(self, payment: Payment, guarantee: Guarantee) -> Guarantee:
        """The charged guarantee, if this one differs from it in its words alone.

        A run that was charged by an earlier release states what was charged, whatever words are used by now.
        """
        charged = self.pays(payment).guarantee
        return charged if charged is not None and charged.same_amounts(guarantee) else guarantee

    def recorded(self, payment: Payment) -> str | None:
        """The digest of the value that was released for a payment; None if none is recorded."""
        with self._reading() as turn:
            charge = rows.find_charge(turn.connection, self._header, payment)
            draw = rows.find_draw(turn.connection, self._header, charge.number)
        return draw.digest if draw else None

    def spent(self) -> Guarantee:
        """What everything charged so far guarantees together, under the assumptions of all of it."""
        charges = [e for e in self.entries() if e.kind == CHARGE]
        guarantees = [e.guarantee for e in charges if e.guarantee]
        unit = self._header.unit or (guarantees[0].unit if guarantees else RECORD)
        assumptions = tuple(dict.fromkeys(a for g in guarantees for a in g.assumptions))
        total = self.filter.to_budget(charges[-1].spent if charges else NOTHING)
        if len(guarantees) == 1 and isinstance(self.filter, AnyFilter):  # one release is what it says of itself
            total = replace(total, amount=min(total.amount, guarantees[0].epsilon(total.delta)))
        premises = tuple(dict.fromkeys(p for g in guarantees for p in g.premises))
        source = f"ledger {self.name!r}, {len(charges)} charges"
        return Guarantee(total, unit, assumptions, source, premises=premises)

    def remaining(self) -> Budget:
        """What is left, as a budget of the ledger's own notion."""
        return self.filter.remaining(self._total_cost())

    def room(self) -> Room:
        """What is left, as what each kind of release could still cost."""
        return measure_room(self.filter, self.entries())

    def takes(self, guarantee: Guarantee) -> bool:
        """Whether the budget that is left covers a release of any unit; False also where it cannot be counted."""
        return fits(self.filter, self._total_cost(), guarantee)

    def foresee(self, guarantee: Guarantee) -> str:
        """What a charge would do here, in words: refused, or taken and what would be left."""
        return foresee(self.name, self.filter, self._total_cost(), guarantee)

    def can_afford(self, guarantee: Guarantee) -> bool:
        """Whether a charge would be admitted now; another process may be quicker. Raises where charge would."""
        cost = self.filter.cost(guarantee)
        with self._reading() as turn:
            last = rows.end(turn, self._header)
            self._agree(turn, guarantee.unit)
            return self.filter.admits(last.spent, cost, guarantee)

    def entries(self) -> list[Entry]:
        """Everything written, oldest first; each charge knows its draw."""
        with self._reading() as turn:
            found = rows.entries_of(turn.connection, self._header)
        draws = {e.settles: e.number for e in found if e.kind == DRAWN}
        return [replace(e, drawn=draws.get(e.number)) if e.kind == CHARGE else e for e in found]

    def verify(self, *, head: str | None = None) -> None:
        """Recompute every hash and sum; LedgerTampered names the first entry that is not what was written, or its keys.

        ``head`` is the head of an earlier export: its absence means that the ledger was rewritten or put back.
        """
        self._usable()
        self._store.close()  # and open it again: a connection remembers pages that it has read
        with self._store.reading() as connection:
            self._store.check_pages(connection)
            row = rows.row_of(connection, self.id)
            if rows.header_of(row) != self._header:
                raise tampering(self.name, "its header was edited")
            found = rows.scan_entries(connection, self._header)
            check(self._header, int(row.length), row.head, found, head)
            check_beside(connection, self._header, found)
        _ = self.remaining()  # the chain is whole: is it the one that was seen here?

    def verify_certificate(self, document: Any) -> Verdict:
        """Whether this ledger paid for the release that a certificate describes, check by check."""
        tampered, found = "", list[Entry]()
        try:
            found = self.entries()
            self.verify()
        except LedgerTampered as error:
            tampered = str(error)
        try:
            return judge(document, self._header, found, tampered)
        except (ArithmeticError, RecursionError):  # numbers or depths that tacit never writes
            return Verdict(False, (("format", False, "it holds what tacit never writes"),))

    def export(self) -> dict[str, Any]:
        """Everything in JSON. Keep its ``head`` out of reach of those who can write the ledger; see verify."""
        found = self.entries()
        spent = found[-1].spent if found else NOTHING
        return {
            **self._header.to_json(),
            "genesis": self._header.genesis,
            "head": found[-1].hash if found else self._header.genesis,
            "spent": self.filter.to_budget(spent).to_json(),
            "remaining": self.filter.remaining(spent).to_json(),
            "room": measure_room(self.filter, found).to_json(),
            "entries": [{**e.to_json(), "status": e.status} for e in found],
        }

    def close(self) -> None:
        """Let go of the database; the ledger stays as it is."""
        self._store.close()
        self._closed = True

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Opened again where it is unpickled. The password does not travel; see with_password."""
        there = self._store.address if self._store.path is not None else without_password(self._store.address)
        return _reopen, (there, self.name, self._asked, self._record)

    def __repr__(self) -> str:
        try:
            left = str(self.remaining())
        except LedgerError:
            left = "unknown"
        return f"<Ledger {self.name!r}: budget {self.budget}; remaining {left}>"

    def _total_cost(self) -> Cost:
        with self._reading() as turn:
            return rows.end(turn, self._header).spent

    def _reading(self) -> AbstractContextManager[rows.Turn]:
        self._usable()
        return self._witness.reading()

    def _writing(self) -> AbstractContextManager[rows.Turn]:
        self._usable()
        return self._witness.writing()

    def _usable(self) -> None:
        if self._closed:
            raise LedgerError(f"ledger {self.name!r} was closed; open it again. Nothing was released.")

    def _unit(self, turn: rows.Turn) -> str | None:
        self._unit_known = self._unit_known or rows.first_unit(turn.connection, self._header)
        return self._unit_known

    def _agree(self, turn: rows.Turn, unit: str | None) -> None:
        have = self._unit(turn) or self._asked
        if unit and have and not counts_unit(have, unit):
            raise LedgerError(refuse_unit(self.name, have, unit))


def _reopen(url: str, name: str, unit: str | None, record_refusals: bool) -> Ledger:
    address = with_password(url) if "://" in url else url
    return Ledger.open(address, name, unit=unit, record_refusals=record_refusals)


def _text(what: str, said: str, *, empty: bool) -> None:
    if not isinstance(said, str) or not (said.strip() or empty):
        raise BadInput(f"{what} must be text{'' if empty else ', and not empty'}, got {name_type(said)}")
    if "\0" in said or (not said.isascii() and said.encode(errors="ignore").decode() != said):
        raise BadInput(f"{what} must be text that a database can keep, without NUL or half surrogates")
