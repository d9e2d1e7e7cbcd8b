"""Beside the chain of entries: keys by which a charge is found again, and the draws that each charge has paid for.

    keys        name a charge
    draws       how many a charge has paid for, and where they are kept; the number only grows
    openings    the epoch of a charge: one more whenever what is kept of its draws is opened, or opened again
    names       of draws that are made one by one, with the digest of what was drawn; each once

Whoever opens what is kept must hold every draw that is noted, with its value, and whoever comes with an older epoch
must show it again. A draw whose name is there is refused, unless it is the value that is noted. So of copies that are
used side by side, put back, or taken for the original, one draws: the ledger knows more than the others, and says so.

These tables are added to a ledger when they are first needed; ledgers of earlier releases open as they are. The keys of
a charge are bound to the chain: its entry has their digest, so that a key that was moved, added or removed is found. A
charge of the first release has one key at most, its purpose. Draws are outside the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit.errors import LedgerError, LedgerTampered
from tacit.privacy.claim_store import older_copy
from tacit.privacy.filters import Cost
from tacit.privacy.ledger.chain import CHARGE, Entry, Header, sha256, tampering
from tacit.privacy.ledger.tables import Turn, entries, entries_of, has_table
from tacit.privacy.ledger.witness import SeenEntry, note, path_of, read
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
openings = sa.Table(
    "tacit_openings",
    tables,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("charge", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("epoch", sa.Integer, nullable=False),
)
names = sa.Table(
    "tacit_named_draws",
    tables,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("charge", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),  # of the value; empty if it is named before it is drawn
)
# The first release found its charges by these purposes, each with a random number in it.
FOUND_BY = ("tune %: % observations", "front %: % observations", "gibo: % steps, run %", "% of study %")
CREATION = 7_236_142_002  # any fixed number: the PostgreSQL lock under which the tables are made
MANY = 500  # names in one statement


def add_tables(connection: Connection) -> None:
    """Make the tables that are not there; purposes of the first release become keys."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION)))
    if has_table(connection, names):
        return
    has_keys = has_table(connection, keys)
    tables.create_all(connection)
    if has_keys:
        return
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
    keyed = read_keys(connection, header, keys.c.charge == number)[number]
    if not (found and found[0].hash == found[0].compute_hash() and _is_named(found[0], keyed)):
        raise _moved_key(header, number)
    if not found[0].cost.covers(cost):
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
    found: dict[int, set[str]] = {}
    if has_table(connection, keys):
        for row in connection.execute(sa.select(keys).where(keys.c.ledger == header.id, *which)):
            found.setdefault(row.charge, set()).add(row.key)
    return found


def check_beside(connection: Connection, header: Header, chain: Sequence[Entry]) -> None:
    """LedgerTampered at the first charge whose keys are not those that it was made with, or whose count went back."""
    keyed, by_number = read_keys(connection, header), {entry.number: entry for entry in chain}
    for number in sorted({*keyed, *(e.number for e in chain if e.kind == CHARGE and e.digest)}):
        if number not in by_number or not _is_named(by_number[number], keyed.get(number, set())):
            raise _moved_key(header, number)
    if not has_table(connection, names):
        return
    counted = sa.select(counts.c.charge, counts.c.drawn).where(counts.c.ledger == header.id)
    drawn = {row.charge: row.drawn for row in connection.execute(counted)}
    named = sa.select(names.c.charge, sa.func.count()).where(names.c.ledger == header.id).group_by(names.c.charge)
    for charge, number in connection.execute(named):
        if number > drawn.get(charge, 0):
            raise tampering(header.name, f"entry {charge} has paid for {number} draws that are named, and counts fewer")


def _is_named(entry: Entry, keyed: set[str]) -> bool:
    """Whether a charge has these keys; one of the first release is named by its purpose."""
    known = keyed == {entry.purpose} if entry.digest is None else entry.digest == keys_digest(keyed)
    return entry.kind == CHARGE and known


def _moved_key(header: Header, number: int) -> LedgerTampered:
    return tampering(header.name, f"entry {number} is not the charge that its keys name")


class Draws:
    """The draws that one charge has paid for so far, and where they are kept. All is on disk on return."""

    def __init__(self, header: Header, payment: Payment, writing: Callable[[], AbstractContextManager[Turn]]) -> None:
        self._header, self._payment, self._writing = header, payment, writing
        self._about = {"ledger": header.id, "charge": payment.entry}
        self._mine, self._opening, self._names = (
            sa.and_(table.c.ledger == header.id, table.c.charge == payment.entry) for table in (counts, openings, names)
        )
        self._epoch: int | None = None  # of the last opening here

    def begin(self, home: str, drawn: int, agree: Callable[[str], None] | None = None) -> None:
        """Before draws that are numbered: note where they are kept, and so many of them if none was noted yet.

        ``agree`` is told where they were kept until now, and raises if they cannot go on here.
        """
        with self._drawing() as c:  # the ledger is locked: two processes may begin at once
            self._begin(c, home, drawn, agree)

    def open(self, home: str, held: Mapping[str, str], agree: Callable[[str], None] | None = None) -> None:
        """Before draws that are named: take the next epoch, with which all earlier ones end.

        ``held`` are the names that are kept at home, with digests; those that are not noted yet are noted. LedgerError
        if others were noted, or of another value: then home is an older copy, and nothing changes here.
        """
        with self._drawing() as c:
            drawn = self._begin(c, home, len(held), agree)
            noted = self._refuse_older_copy(c, drawn, held)
            self._note(c, {name: digest for name, digest in held.items() if name not in noted}, len(held))
            epoch = self._next_epoch(c)
        self._epoch = epoch

    def take(self, wanted: int, *, most: int) -> range:
        """The numbers of the next draws: as many as wanted, none twice, none from ``most`` on."""
        with self._drawing() as c:
            drawn = self._count(c)
            taken = range(drawn, max(drawn, min(drawn + wanted, most)))
            c.execute(counts.update().where(self._mine).values(drawn=taken.stop))
        return taken

    def name(self, drawn: Mapping[str, str], kept: int, held: Callable[[], Mapping[str, str]]) -> None:
        """Note draws by their names, with the digests of their values; all of them or none.

        A value that is noted already, with this digest, is noted once. LedgerError if one of them was made before; if
        fewer are ``kept`` at home, these included, than are noted; or if what is kept was opened elsewhere since, and
        ``held`` here lacks what was drawn there.
        """
        with self._drawing() as c:
            count, epoch = self._count(c), self._epoch
            if self._read_epoch(c) != epoch:
                self._refuse_older_copy(c, count, held())
                epoch = self._next_epoch(c)
            noted = self._find(c, drawn)
            for name, digest in drawn.items():
                if name in noted and not (digest and noted[name] == digest):
                    raise LedgerError(
                        f"entry {self._payment.entry} of ledger {self._header.name!r} has paid for {name} already, and "
                        "what was drawn for it is not what is here: an older copy was put back, or two are in use. A "
                        "second draw is not paid for: put the latest copy back, or start anew, which is paid for "
                        "anew. Nothing was released"
                    )
            new = {name: digest for name, digest in drawn.items() if name not in noted}
            if count + len(new) > kept:
                raise older_copy()
            self._note(c, new, count + len(new))
        self._epoch = epoch

    def _refuse_older_copy(self, c: Connection, drawn: int, held: Mapping[str, str]) -> dict[str, str]:
        """What is noted, all of which must be held; an earlier release has counted draws without naming them."""
        noted = self._find(c)
        if drawn > len(held) or any(held.get(name) != digest for name, digest in noted.items()):
            raise older_copy()
        return noted

    def _read_epoch(self, c: Connection) -> int | None:
        return c.scalar(sa.select(openings.c.epoch).where(self._opening))

    def _next_epoch(self, c: Connection) -> int:
        before = self._read_epoch(c)
        if before is None:
            c.execute(openings.insert().values(**self._about, epoch=1))
            return 1
        c.execute(openings.update().where(self._opening).values(epoch=before + 1))
        return before + 1

    @contextmanager
    def _drawing(self) -> Iterator[Connection]:
        """A transaction that sees all draws that this machine has seen; draws and epochs only grow."""
        path = path_of(f"{self._header.id} {self._payment.entry}")
        with self._writing() as turn:
            c = turn.connection
            add_tables(c)
            seen, there = read(path), self._reach(c)
            if seen is not None and there < seen.number:
                raise tampering(self._header.name, f"this machine has seen more draws of entry {self._payment.entry}")
            yield c
            now = self._reach(c)
        note(path, SeenEntry(self._header.id, now, self._payment.hash))

    def _reach(self, c: Connection) -> int:
        return (c.scalar(sa.select(counts.c.drawn).where(self._mine)) or 0) + (self._read_epoch(c) or 0)

    def _begin(self, c: Connection, home: str, drawn: int, agree: Callable[[str], None] | None) -> int:
        found = c.execute(sa.select(counts).where(self._mine)).one_or_none()
        if found is None:
            c.execute(counts.insert().values(**self._about, home=home, drawn=drawn))
            return drawn
        if found.home != home:
            if agree is not None:
                agree(found.home)
            c.execute(counts.update().where(self._mine).values(home=home))
        return int(found.drawn)

    def _find(self, c: Connection, wanted: Collection[str] | None = None) -> dict[str, str]:
        """The digests of draws that are noted, by name: all, or those that are wanted."""
        every, listed = sa.select(names).where(self._names), list(wanted or ())
        parts = [names.c.name.in_(listed[i : i + MANY]) for i in range(0, len(listed), MANY)]
        queries = [every] if wanted is None else [every.where(part) for part in parts]
        return {row.name: row.digest for query in queries for row in c.execute(query)}

    def _note(self, c: Connection, drawn: Mapping[str, str], count: int) -> None:
        if drawn:
            c.execute(names.insert(), [{**self._about, "name": name, "digest": d} for name, d in drawn.items()])
        c.execute(counts.update().where(self._mine, counts.c.drawn < count).values(drawn=count))

    def _count(self, connection: Connection) -> int:
        query = sa.select(counts.c.drawn).where(self._mine).with_for_update()
        return int(connection.execute(query).scalar_one())
