"""The rows of a ledger: the tables of schema version 1, what they say, and how the chain grows by one entry."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit.errors import BadInput, LedgerError
from tacit.privacy.accounting import Cost, Filter
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger.chain import CHARGE, NOTHING, Entry, Header, tampering
from tacit.privacy.release import Payment

tables = sa.MetaData()
meta = sa.Table("tacit_meta", tables, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text))
ledgers = sa.Table(
    "tacit_ledgers",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("notion", sa.Text, nullable=False),
    sa.Column("amount", sa.Double, nullable=False),
    sa.Column("delta", sa.Double, nullable=False),
    sa.Column("composition", sa.Text, nullable=False),
    sa.Column("reserve", sa.Double, nullable=False),
    sa.Column("unit", sa.Text),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),  # with head, the only columns that change
    sa.Column("head", sa.Text, nullable=False),
)
entries = sa.Table(
    "tacit_entries",
    tables,
    sa.Column("ledger", sa.Text, sa.ForeignKey("tacit_ledgers.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("guarantee", sa.Text),
    sa.Column("settles", sa.Integer),
    sa.Column("digest", sa.Text),
    sa.Column("cost_amount", sa.Double, nullable=False),
    sa.Column("cost_delta", sa.Double, nullable=False),
    sa.Column("spent_amount", sa.Double, nullable=False),
    sa.Column("spent_delta", sa.Double, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.UniqueConstraint("ledger", "settles"),
)


def row_of(connection: Connection, ledger: str) -> sa.Row[Any]:
    """The row of a ledger, locked until the transaction ends if it writes."""
    query = sa.select(ledgers).where(ledgers.c.id == ledger)
    if connection.get_execution_options().get("write"):
        query = query.with_for_update()
    row = connection.execute(query).one_or_none()
    if row is None:
        raise LedgerError("the ledger is no longer in its database. Nothing was released.")
    return row


def header_of(row: sa.Row[Any]) -> Header:
    texts = (row.id, row.name, row.description, row.notion, row.composition, row.created, row.head, row.unit or "")
    try:
        _check_texts(texts)
        budget = Budget(row.notion, float(row.amount), float(row.delta))
        terms = Filter.over(budget, row.composition, float(row.reserve))
    except (BadInput, TypeError, ValueError):
        raise tampering(str(row.name), "its header was edited") from None
    return Header(row.id, row.name, row.description, budget, terms.composition, terms.reserve, row.unit, row.created)


def entries_of(connection: Connection, header: Header, *which: sa.ColumnElement[bool]) -> list[Entry]:
    """The entries of a ledger in their order, all or those for which the conditions hold."""
    rows = connection.execute(
        sa.select(entries).where(entries.c.ledger == header.id, *which).order_by(entries.c.number)
    ).all()
    return [_entry_of(header.name, row) for row in rows]


def scan_entries(connection: Connection, header: Header) -> list[Entry]:
    """The same, read past every index, by which an entry could be hidden or shown twice."""
    rows = connection.execute(sa.select(entries).where(entries.c.ledger + "" == header.id)).all()
    return sorted((_entry_of(header.name, row) for row in rows), key=lambda entry: entry.number)


def _entry_of(name: str, row: sa.Row[Any]) -> Entry:
    texts = (row.kind, row.time, row.purpose, row.guarantee or "", row.digest or "", row.previous, row.hash)
    try:
        _check_texts(texts)
        cost = Cost(float(row.cost_amount), float(row.cost_delta))
        spent = Cost(float(row.spent_amount), float(row.spent_delta))
        settles = None if row.settles is None else int(row.settles)
        number = int(row.number)
    except (TypeError, ValueError):
        raise tampering(name, f"entry {row.number} was edited") from None
    said = (number, row.kind, row.time, row.purpose, row.guarantee, settles, row.digest)
    return Entry(*said, cost, spent, row.previous, row.hash)


def _check_texts(values: tuple[Any, ...]) -> None:
    """SQLite lets a column hold anything: bytes, where one bit of a row's head was changed."""
    if not all(isinstance(value, str) for value in values):
        raise TypeError


def end(connection: Connection, header: Header) -> Entry:
    """The last entry, its ledger locked if this is for writing; both ends of the chain must be in place."""
    row = row_of(connection, header.id)
    genesis, length = header.genesis, int(row.length)
    if header_of(row) != header or (length == 0 and row.head != genesis):
        raise tampering(header.name, "its header was edited")
    if length == 0:
        return Entry(0, "genesis", header.created, "", None, None, None, NOTHING, NOTHING, "", genesis)
    ends = entries_of(connection, header, entries.c.number.in_([1, length]))
    if not ends or ends[-1].number != length:
        raise tampering(header.name, f"entry {length} is missing")
    if ends[0].number != 1 or ends[0].previous != genesis:
        raise tampering(header.name, "entry 1 does not follow from the ledger's header, which was edited")
    if ends[0].hash != ends[0].compute_hash():
        raise tampering(header.name, "entry 1 was edited")
    if not row.head == ends[-1].hash == ends[-1].compute_hash():
        raise tampering(header.name, f"entry {length} was edited")
    return ends[-1]


def first_unit(connection: Connection, header: Header) -> str | None:
    """The unit of privacy of the first charge."""
    first = sa.select(sa.func.min(entries.c.number)).where(entries.c.ledger == header.id, entries.c.kind == CHARGE)
    charge = entries_of(connection, header, entries.c.number == first.scalar_subquery())
    return charge[0].guarantee.unit if charge and charge[0].guarantee else None


def find_charge(connection: Connection, header: Header, payment: Payment) -> Entry:
    """The charge that a payment names, and the number of its draw."""
    if payment.ledger != header.id:
        raise LedgerError(
            f"that payment is of ledger {payment.name!r} ({payment.ledger}), this is {header.name!r} ({header.id})"
        )
    found = entries_of(connection, header, entries.c.number == payment.entry)
    if not (found and found[0].kind == CHARGE and payment.hash == found[0].hash == found[0].compute_hash()):
        raise LedgerError(f"ledger {header.name!r} has no charge {payment.entry} with the hash {payment.hash[:12]}...")
    draw = find_draw(connection, header, payment.entry)
    return replace(found[0], drawn=draw.number if draw else None)


def find_draw(connection: Connection, header: Header, charge: int) -> Entry | None:
    """The draw that a charge paid for."""
    found = entries_of(connection, header, entries.c.settles == charge)
    return found[0] if found else None


def append(
    connection: Connection,
    header: Header,
    last: Entry,
    kind: str,
    *,
    purpose: str = "",
    statement: str | None = None,
    settles: int | None = None,
    digest: str | None = None,
    cost: Cost = NOTHING,
) -> Entry:
    """Write the entry after ``last`` and move the ledger's end to it."""
    said = (last.number + 1, kind, now(), purpose, statement, settles, digest)
    entry = Entry(*said, cost, last.spent.plus(cost), last.hash)
    entry = replace(entry, hash=entry.compute_hash())
    names = ("number", "kind", "time", "purpose", "guarantee", "settles", "digest")
    sums = {"cost_amount": cost.amount, "cost_delta": cost.delta}
    sums |= {"spent_amount": entry.spent.amount, "spent_delta": entry.spent.delta}
    row = dict(zip(names, said, strict=True)) | sums | {"previous": entry.previous, "hash": entry.hash}
    moved = {"mine": header.id, "made": entry.number, "with": entry.hash}
    if connection.dialect.name == "postgresql":  # others wait meanwhile: one statement
        connection.execute(_APPEND_AND_MOVE, {"ledger": header.id, **row, **moved})
    else:
        connection.execute(_APPEND, {"ledger": header.id, **row})
        connection.execute(_MOVE, moved)
    connection.info["end"] = entry
    return entry


_APPEND = entries.insert()
_MOVE = (
    ledgers.update()
    .where(ledgers.c.id == sa.bindparam("mine"))
    .values(length=sa.bindparam("made"), head=sa.bindparam("with"))
)
_APPEND_AND_MOVE = _MOVE.add_cte(entries.insert().values({c.name: sa.bindparam(c.name) for c in entries.c}).cte("new"))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")  # microseconds would tell of the size of noise
