"""Beside the chain of entries: keys by which a charge is found again, and how many draws each charge has paid for.

These two tables are added to a ledger when a key is first used. They are no part of the chain, so ledgers of the first
release open as they are; who can edit them can also rewrite the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit.errors import LedgerError
from tacit.privacy.accounting import SLACK, Cost
from tacit.privacy.ledger.chain import CHARGE, Header, tampering
from tacit.privacy.ledger.tables import entries, entries_of, row_of
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
    """The payment that one of these keys names, and from now on all of them do. It must cover this cost."""
    mine = sa.select(sa.func.min(keys.c.charge)).where(keys.c.ledger == header.id, keys.c.key.in_(wanted))
    number = connection.scalar(mine)
    if number is None:
        return None
    found = entries_of(connection, header, entries.c.number == number)
    if not (found and found[0].kind == CHARGE and found[0].hash == found[0].compute_hash()):
        raise tampering(header.name, f"entry {number} is not the charge that its key names")
    paid = found[0].cost
    if not (cost.amount <= paid.amount * (1 + SLACK) and cost.delta <= paid.delta * (1 + SLACK)):
        raise LedgerError(
            f"this key paid for less, by entry {number} of ledger {header.name!r}; take another key. Nothing was "
            "released."
        )
    name_charge(connection, header, wanted, number)
    return Payment(header.id, header.name, number, found[0].hash)


def name_charge(connection: Connection, header: Header, wanted: Collection[str], charge: int) -> None:
    """Let these keys name a charge; those that name one already are left alone."""
    there = keys.c.ledger == header.id, keys.c.key.in_(wanted)
    known = set(connection.scalars(sa.select(keys.c.key).where(*there)))
    new = [{"ledger": header.id, "key": key, "charge": charge} for key in wanted if key not in known]
    if new:
        connection.execute(keys.insert(), new)


class Draws:
    """How many draws one charge has paid for so far, and where they are kept. Every count is on disk on return."""

    def __init__(
        self, header: Header, payment: Payment, writing: Callable[[], AbstractContextManager[Connection]]
    ) -> None:
        self._header, self._payment, self._writing = header, payment, writing
        self._mine = sa.and_(counts.c.ledger == header.id, counts.c.charge == payment.entry)

    def begin(self, home: str, drawn: int) -> tuple[str, int]:
        """Where the draws are kept and how many there were: as noted, or else as given, which is noted."""
        with self._writing() as connection:
            add_tables(connection)
            row_of(connection, self._header.id)  # locked: two processes may begin at once
            found = connection.execute(sa.select(counts).where(self._mine)).one_or_none()
            if found is not None:
                return found.home, found.drawn
            about = {"ledger": self._header.id, "charge": self._payment.entry}
            connection.execute(counts.insert().values(**about, home=home, drawn=drawn))
            return home, drawn

    def move(self, home: str) -> None:
        """Note that the draws are kept elsewhere from now on."""
        with self._writing() as connection:
            connection.execute(counts.update().where(self._mine).values(home=home))

    def take(self, wanted: int, *, most: int) -> range:
        """The numbers of the next draws: as many as wanted, none twice, none from ``most`` on."""
        with self._writing() as connection:
            drawn = self._count(connection)
            taken = range(drawn, max(drawn, min(drawn + wanted, most)))
            connection.execute(counts.update().where(self._mine).values(drawn=taken.stop))
        return taken

    def advance(self, before: int, after: int) -> None:
        """Count draws that are known one by one; LedgerError if others than ``before`` were counted until now."""
        with self._writing() as connection:
            drawn = self._count(connection)
            if drawn != before:
                raise LedgerError(
                    f"entry {self._payment.entry} of ledger {self._header.name!r} has paid for {drawn} draws, and here "
                    f"are {before}: a copy was put back, or is used elsewhere. Go on with the other one, or start a "
                    "new run, which is paid for anew. Nothing was released"
                )
            connection.execute(counts.update().where(self._mine).values(drawn=after))

    def _count(self, connection: Connection) -> int:
        query = sa.select(counts.c.drawn).where(self._mine).with_for_update()
        return int(connection.execute(query).scalar_one())
