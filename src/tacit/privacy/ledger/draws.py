"""Beside the chain of entries: keys by which a charge is found again, and how many draws each charge has paid for.

These two tables are added to a ledger when a key is first used; ledgers of the first release open as they are. The keys
of a charge are bound to the chain: its entry has their digest, so that a key that was moved, added or removed is found.
A charge of the first release has one key at most, its purpose. Counts of draws are outside the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit.errors import LedgerError, LedgerTampered
from tacit.privacy.accounting import SLACK, Cost
from tacit.privacy.ledger.chain import CHARGE, Entry, Header, sha256, tampering
from tacit.privacy.ledger.tables import Turn, entries, entries_of
from tacit.privacy.release import Payment

tables = sa.MetaData()
keys = sa.Table(
    "tacit_keys",
    tables,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("charge", sa.Integer, nullable=False),
)
counts = sa.Table(
    "tacit_draws",
    tables,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("charge", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("drawn", sa.Integer, nullable=False),
    sa.Column("home", sa.Text, nullable=False),
)
# The first release found its charges by these purposes, each with a random number in it.
FOUND_BY = ("tune %: % observations", "front %: % observations", "gibo: % steps, run %", "% of study %")
CREATION = 7_236_142_002  # any fixed number: the PostgreSQL lock under which the two tables are made


def add_tables(connection: Connection) -> None:
    """Make the two tables if they are not there; purposes of the first release become keys."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION)))
    if sa.inspect(connection).has_table(counts.name):
        return
    tables.create_all(connection)
    e = entries.c
    named = sa.or_(*(e.purpose.like(pattern) for pattern in FOUND_BY))
    first = sa.select(e.ledger, e.purpose, sa.func.min(e.number)).where(e.kind == CHARGE, named)
    connection.execute(keys.insert().from_select(["ledger", "key", "charge"], first.group_by(e.ledger, e.purpose)))


def find_payment(connection: Connection, header: Header, wanted: Collection[str], cost: Cost) -> Payment | None:
    """The payment that one of these keys names. It must cover this cost."""
    mine = sa.select(sa.func.min(keys.c.charge)).where(keys.c.ledger == header.id, keys.c.key.in_(wanted))
    number = connection.scalar(mine)
    if number is None:
        return None
    found = entries_of(connection, header, entries.c.number == number)
    names = read_keys(connection, header, keys.c.charge == number)[number]
    if not (found and found[0].hash == found[0].compute_hash() and _is_named(found[0], names)):
        raise _moved_key(header, number)
    paid = found[0].cost
    if not (cost.amount <= paid.amount * (1 + SLACK) and cost.delta <= paid.delta * (1 + SLACK)):
        raise LedgerError(
            f"this key paid for less, by entry {number} of ledger {header.name!r}; take another key. Nothing was "
            "released."
        )
    return Payment(header.id, header.name, number, found[0].hash)


def name_charge(connection: Connection, header: Header, wanted: Collection[str], charge: int) -> None:
    """Let these keys name a charge whose entry has their digest."""
    connection.execute(keys.insert(), [{"ledger": header.id, "key": key, "charge": charge} for key in wanted])


def keys_digest(wanted: Collection[str]) -> str | None:
    """What the entry of a charge says about its keys."""
    return sha256(sorted(wanted)) if wanted else None


def read_keys(connection: Connection, header: Header, *which: sa.ColumnElement[bool]) -> dict[int, set[str]]:
    """The keys of each charge that has any: all, or those for which the conditions hold."""
    names: dict[int, set[str]] = {}
    if sa.inspect(connection).has_table(keys.name):
        for row in connection.execute(sa.select(keys).where(keys.c.ledger == header.id, *which)):
            names.setdefault(row.charge, set()).add(row.key)
    return names


def check_keys(header: Header, chain: Sequence[Entry], names: dict[int, set[str]]) -> None:
    """LedgerTampered at the first charge whose keys are not those that it was made with."""
    by_number = {entry.number: entry for entry in chain}
    for number in sorted({*names, *(e.number for e in chain if e.kind == CHARGE and e.digest)}):
        if number not in by_number or not _is_named(by_number[number], names.get(number, set())):
            raise _moved_key(header, number)


def _is_named(entry: Entry, names: set[str]) -> bool:
    """Whether a charge has these keys; one of the first release is named by its purpose."""
    known = names == {entry.purpose} if entry.digest is None else entry.digest == keys_digest(names)
    return entry.kind == CHARGE and known


def _moved_key(header: Header, number: int) -> LedgerTampered:
    return tampering(header.name, f"entry {number} is not the charge that its keys name")


class Draws:
    """How many draws one charge has paid for so far, and where they are kept. Every count is on disk on return."""

    def __init__(self, header: Header, payment: Payment, writing: Callable[[], AbstractContextManager[Turn]]) -> None:
        self._header, self._payment, self._writing = header, payment, writing
        self._mine = sa.and_(counts.c.ledger == header.id, counts.c.charge == payment.entry)

    def begin(self, home: str, drawn: int) -> tuple[str, int]:
        """Where the draws are kept and how many there were: as noted, or else as given, which is noted."""
        with self._writing() as turn:  # the ledger is locked: two processes may begin at once
            add_tables(turn.connection)
            found = turn.connection.execute(sa.select(counts).where(self._mine)).one_or_none()
            if found is not None:
                return found.home, found.drawn
            about = {"ledger": self._header.id, "charge": self._payment.entry}
            turn.connection.execute(counts.insert().values(**about, home=home, drawn=drawn))
            return home, drawn

    def move(self, home: str) -> None:
        """Note that the draws are kept elsewhere from now on."""
        with self._writing() as turn:
            turn.connection.execute(counts.update().where(self._mine).values(home=home))

    def take(self, wanted: int, *, most: int) -> range:
        """The numbers of the next draws: as many as wanted, none twice, none from ``most`` on."""
        with self._writing() as turn:
            drawn = self._count(turn.connection)
            taken = range(drawn, max(drawn, min(drawn + wanted, most)))
            turn.connection.execute(counts.update().where(self._mine).values(drawn=taken.stop))
        return taken

    def advance(self, before: int, after: int) -> None:
        """Count draws that are known one by one; LedgerError if others than ``before`` were counted until now."""
        with self._writing() as turn:
            drawn = self._count(turn.connection)
            if drawn != before:
                raise LedgerError(
                    f"entry {self._payment.entry} of ledger {self._header.name!r} has paid for {drawn} draws, and here "
                    f"are {before}: a copy was put back, or is used elsewhere. Go on with the other one, or start a "
                    "new run, which is paid for anew. Nothing was released"
                )
            turn.connection.execute(counts.update().where(self._mine).values(drawn=after))

    def _count(self, connection: Connection) -> int:
        query = sa.select(counts.c.drawn).where(self._mine).with_for_update()
        return int(connection.execute(query).scalar_one())
