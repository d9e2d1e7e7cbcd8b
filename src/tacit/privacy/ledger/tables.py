"""The rows of a ledger: the tables of schema version 1, what they say, and how the chain grows by one entry."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit.errors import BadInput, LedgerError
from tacit.privacy.any_filter import filter_over
from tacit.privacy.filters import NOTHING, Cost
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger.chain import CHARGE, Entry, Header, tampering
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
LedgerRow, EntryRow = (cast(Any, namedtuple)(t.name, [c.name for c in t.c]) for t in (ledgers, entries))


def qualify(table: str, schema: str | None) -> str:
    """The full name of a table."""
    return f'"{schema.replace(chr(34), 2 * chr(34))}".{table}' if schema else table


def schema_of(connection: Connection) -> str | None:
    """The schema that this connection's tables are in; None where there are none."""
    found: str | None = connection.get_execution_options().get("schema_translate_map", {}).get(None)
    return found


def has_table(connection: Connection, table: sa.Table) -> bool:
    return sa.inspect(connection).has_table(table.name, schema=schema_of(connection))


def row_of(connection: Connection, ledger: str) -> sa.Row[Any]:
    """The row of a ledger."""
    row = connection.execute(sa.select(ledgers).where(ledgers.c.id == ledger)).one_or_none()
    if row is None:
        raise LedgerError("the ledger is no longer in its database. Nothing was released.")
    return row


def header_of(row: Any) -> Header:
    texts = (row.id, row.name, row.description, row.notion, row.composition, row.created, row.head, row.unit or "")
    try:
        _check_texts(texts)
        budget = Budget(row.notion, float(row.amount), float(row.delta))
        terms = filter_over(budget, row.composition, float(row.reserve))
    except (BadInput, TypeError, ValueError):
        raise tampering(str(row.name), "its header was edited") from None
    return Header(row.id, row.name, row.description, budget, terms.code, terms.reserve, row.unit, row.created)


_header_of = lru_cache(64)(header_of)  # every charge looks at its ledger's terms once more


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


def _entry_of(name: str, row: Any) -> Entry:
    texts = (row.kind, row.time, row.purpose, row.guarantee or "", row.digest or "", row.previous, row.hash)
    try:
        _check_texts(texts)
        statement, others = _split_lines(row.guarantee)
        cost = Cost(float(row.cost_amount), float(row.cost_delta), others[0])
        spent = Cost(float(row.spent_amount), float(row.spent_delta), others[1])
        settles = None if row.settles is None else int(row.settles)
        number = int(row.number)
    except (TypeError, ValueError):
        raise tampering(name, f"entry {row.number} was edited") from None
    said = (number, row.kind, row.time, row.purpose, statement, settles, row.digest)
    return Entry(*said, cost, spent, row.previous, row.hash)


def _join_lines(statement: str | None, cost: Cost, spent: Cost) -> str | None:
    """What the column of guarantees holds; in a ledger of several filters the costs in the others are a second line."""
    if not spent.others:
        return statement
    return f"{statement or ''}\n[{_write_pairs(cost.others)},{_write_pairs(spent.others)}]"


def _write_pairs(pairs: tuple[tuple[float, float], ...]) -> str:
    """As json.dumps, in a third of its time: others wait for the ledger."""
    return f"[{','.join(f'[{amount!r},{delta!r}]' for amount, delta in pairs)}]"


def _split_lines(text: str | None) -> tuple[str | None, list[tuple[tuple[float, float], ...]]]:
    statement, line, others = (text or "").partition("\n")
    pairs = json.loads(others) if line else [[], []]
    cost, spent = [tuple((float(amount), float(delta)) for amount, delta in part) for part in pairs]
    return statement or None, [cost, spent]


def _check_texts(values: tuple[Any, ...]) -> None:
    """SQLite lets a column hold anything: bytes, where one bit of a row's head was changed."""
    if not all(isinstance(value, str) for value in values):
        raise TypeError


class Statements:
    """What every charge asks and says, in the words of one driver; ``mark`` makes a placeholder of a name.

    They are written out, since a charge would be many times dearer than what the database does for it. ``schema`` is
    where the tables are: a search path would find others for another role.
    """

    def __init__(self, mark: Callable[[str], str], schema: str = "") -> None:
        mine, names = mark("ledger"), [c.name for c in entries.c]
        about, columns = ", ".join(c.name for c in ledgers.c), ", ".join(names)
        its, their = (qualify(table.name, schema) for table in (ledgers, entries))
        length = f"(SELECT length FROM {its} WHERE id = {mine})"
        self.row = f"SELECT {about} FROM {its} WHERE id = {mine}"
        # The first entry, the last one, and one that was seen before. Asked for in order, each is found by the primary
        # key, and not by another index that a plan made when the table was small would read from end to end.
        from_ = f"SELECT {columns} FROM {their} WHERE ledger = {mine} AND number >= "
        ends = (f"SELECT * FROM ({from_}{at} ORDER BY number LIMIT 1) e" for at in ("1", length, mark("seen")))
        self.ends = " UNION ALL ".join(ends)
        self.append = f"INSERT INTO {their} ({columns}) VALUES ({', '.join(map(mark, names))})"
        end = f"length = {mark('number')}, head = {mark('hash')}"
        self.move = f"UPDATE {its} SET {end} WHERE id = {mine}"


@dataclass(frozen=True, slots=True)
class Ends:
    """A ledger as a transaction found it: its row, and the rows of its first entry, its last, and one seen before."""

    row: Any = None  # a LedgerRow; None if there is no such ledger
    rows: Sequence[Any] = ()  # EntryRows

    @classmethod
    def of(cls, row: Any, rows: Sequence[Any]) -> Ends:
        return cls(None if row is None else LedgerRow(*row), [EntryRow(*each) for each in rows])


@dataclass
class Turn:
    """A transaction as a ledger has it in hand: where its ends were found, and the entry that is to follow.

    What a charge needs goes by the driver, since others wait for the ledger meanwhile; all else by ``connection``.
    """

    connect: Callable[[], Connection] = field(repr=False)
    ends: Ends = Ends()
    made: Entry | None = None
    row: Any = None  # of what was made, an EntryRow

    @cached_property
    def connection(self) -> Connection:
        return self.connect()


def end(turn: Turn, header: Header) -> Entry:
    """The last entry as it was when the transaction began; both ends of the chain must be in place."""
    row, genesis = turn.ends.row, header.genesis
    if row is None:
        raise LedgerError("the ledger is no longer in its database. Nothing was released.")
    length = int(row.length)
    if _header_of(row._replace(length=0, head="")) != header or (length == 0 and row.head != genesis):
        raise tampering(header.name, "its header was edited")
    if length == 0:
        return Entry(0, "genesis", header.created, "", None, None, None, NOTHING, NOTHING, "", genesis)
    made = {row.number: row for row in turn.ends.rows}
    first, last = made.get(1), made.get(length)
    if last is None:
        raise tampering(header.name, f"entry {length} is missing")
    if first is None or first.previous != genesis:
        raise tampering(header.name, "entry 1 does not follow from the ledger's header, which was edited")
    if first.hash != _recall(header.name, first)[1]:
        raise tampering(header.name, "entry 1 was edited")
    found, hash = _recall(header.name, last)
    if not row.head == found.hash == hash:
        raise tampering(header.name, f"entry {length} was edited")
    return found


_known: dict[Any, tuple[Entry, str]] = {}  # by row: every charge looks at the first and the last once more


def _recall(name: str, row: Any) -> tuple[Entry, str]:
    """An entry and the hash that it should have."""
    found = _known.get(row)
    if found is None:
        entry = _entry_of(name, row)
        found = _remember(row, entry, entry.compute_hash())
    return found


def _remember(row: Any, entry: Entry, hash: str) -> tuple[Entry, str]:
    if len(_known) > 64:
        _known.clear()
    _known[row] = found = entry, hash
    return found


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
    turn: Turn,
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
    """The entry after ``last``, which is written, and the ledger's end moved to it, when the turn ends."""
    said = (last.number + 1, kind, now(), purpose, statement, settles, digest)
    sums = (cost, last.spent.plus(cost), last.hash)
    hash = Entry(*said, *sums).compute_hash()
    turn.made = Entry(*said, *sums, hash)
    turn.row = _row_of(header.id, turn.made)
    _remember(turn.row, turn.made, hash)
    return turn.made


def _row_of(ledger: str, e: Entry) -> Any:
    text = _join_lines(e.statement, e.cost, e.spent)
    about = (ledger, e.number, e.kind, e.time, e.purpose, text, e.settles, e.digest)
    return EntryRow(*about, e.cost.amount, e.cost.delta, e.spent.amount, e.spent.delta, e.previous, e.hash)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")  # microseconds would tell of the size of noise
