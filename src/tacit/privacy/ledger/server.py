"""How a ledger is written in PostgreSQL: in two messages, since others wait for it between them.

The first begins, locks the ledger and reads its ends. The second appends, commits, and waits for the disk and the
standby, by which time the ledger is free for the next.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from tacit.errors import LedgerError
from tacit.privacy.ledger.file import PATIENCE
from tacit.privacy.ledger.tables import Ends, EntryRow, LedgerRow, Statements, entries, ledgers

IDLE, IN_TRANSACTION, FAILED = 0, 2, 7  # as libpq says it: of transactions, and of a statement
MOMENT = 0.1  # seconds after its last use in which a connection is taken to be alive

# Text travels as UTF-8, whatever a database, a role or an environment prefers; and a rollback of psycopg's would else
# deallocate what is planned here.
MANNERS = {"client_encoding": "utf8", "prepare_threshold": None}

# What each connection is told once. Doubles travel as text: 3 extra digits make them exact whatever the server's
# default. Plans outlive the day when a table was small, so those of a charge are made by index. Warnings are heard,
# though a role may have turned them off.
SETTINGS = (
    f"SET extra_float_digits = 3; SET lock_timeout = '{PATIENCE}s'; SET enable_seqscan = off; "
    "SET client_min_messages = warning"
)
SETTINGS_LOCAL = SETTINGS.replace("SET ", "SET LOCAL ")
# A pooler, such as PgBouncer, may hand each transaction to another process of the server, and shares it with others:
# then nothing is set or planned for longer than a transaction. It is found out since it says a process number of its
# own; which of its modes it is in, it does not say.
ASKED = (
    "SELECT current_setting('synchronous_commit') = 'remote_apply', current_setting('fsync') = 'on', pg_backend_pid()"
)

# A read may look through a table, see tables.scan_entries.
READ = f"SET LOCAL extra_float_digits = 3; SET LOCAL lock_timeout = '{PATIENCE}s'; SET LOCAL enable_seqscan = on"
# A write is read committed, so that after waiting for the lock a process sees what its last holder wrote. Its commit
# does not wait for the disk, see KEEP; set for this transaction alone, lest a pooler hand it on to others.
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off"

# A debit must outlive a power cut, or a draw could follow one that is lost. So it is committed without waiting for the
# disk, that the next one can have the ledger; and then waited for, by many processes together, in a transaction of its
# own. The log of a server is one sequence, which goes to disk, and to standbys, in its order: when the second commit
# has waited, all that was committed before it is there. Whether it waited to the end, the server says by a warning.
# The three are one message, which no pooler takes apart.
KEEP = "COMMIT; {}"
WAIT = (
    "SELECT set_config('synchronous_commit', '{}', true), set_config('client_min_messages', 'warning', true), "
    "pg_logical_emit_message(true, 'tacit', '')"
)

# What a charge says is planned once for each connection: planning would take longer than the work.
_NAMES = [c.name for c in entries.c]
_PLACES = {name: f"${k}" for k, name in enumerate(_NAMES, 1)} | {"seen": "$2"}
_TYPES = ", ".join({"DOUBLE": "double precision"}.get(str(c.type), str(c.type)) for c in entries.c)

# Where tables are, whatever the search path of a role is, and whether or not it may look into that schema.
PLACES = (
    "SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relname = %(table)s AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' ORDER BY 1"
)


@lru_cache
def statements(schema: str) -> Statements:
    return Statements("%({})s".format, schema)


@lru_cache
def _prepare(schema: str) -> str:
    said = Statements(_PLACES.__getitem__, schema)
    return (
        f"PREPARE tacit_row (text) AS {said.row} FOR UPDATE; PREPARE tacit_ends (text, integer) AS {said.ends}; "
        f"PREPARE tacit_append ({_TYPES}) AS WITH new AS ({said.append}) {said.move}"
    )


def _write_out(values: Mapping[str, str], schema: str) -> Statements:
    """Statements with their values in them, for a connection on which nothing can be planned."""
    return Statements(lambda name: values.get(name, "NULL"), schema)


def find_schema(connection: Connection, table: str, given: str | None, shown: str) -> str | None:
    """The schema in which a table is, or None if there is none; the one that is given if one is.

    LedgerError if it is in several: one budget has one place.
    """
    found = list(connection.exec_driver_sql(PLACES, {"table": table}).scalars())
    if given is not None:
        return given if given in found else None
    if len(found) > 1:
        raise LedgerError(
            f"{shown} has ledgers in several schemas, {', '.join(found)}: which one a role means would depend on its "
            f"search path. Name one in the URL, such as ?schema={found[0]}. Nothing was released"
        )
    return found[0] if found else None


def begin_writing(driver: Any, info: dict[str, Any], ledger: str, seen: int, schema: str) -> Ends:
    """Begin, and if a ledger is named, lock it and look at its ends; see tables.end.

    The ends are read by a statement of their own: it sees what was written while the one before waited for the lock.
    """
    first = f"{BEGIN}; {SETTINGS_LOCAL}" if info["pooled"] else BEGIN
    if not ledger:
        _send(driver, first)
        return Ends()
    (mine,) = _literals(driver, [ledger])
    if info["pooled"]:
        said = _write_out({"ledger": mine, "seen": str(seen)}, schema)
        asked = f"{said.row} FOR UPDATE; {said.ends}"
    else:
        first = first if info.get("prepared") else f"{first}; {_prepare(schema)}"
        asked = f"EXECUTE tacit_row({mine}); EXECUTE tacit_ends({mine}, {seen})"
    row, ends = _send(driver, f"{first}; {asked}")[-2:]
    info["prepared"] = True
    found = _rows(row, LedgerRow, _LEDGER)
    return Ends(found[0] if found else None, _rows(ends, EntryRow, _ENTRY))


def keep(driver: Any, info: dict[str, Any], row: Any, shown: str, said: Callable[[], None] | None, schema: str) -> None:
    """Append what is to be appended, commit, and wait for it.

    What failed before would be rolled back by a COMMIT without a word. A message ends where a statement of it fails.
    """
    if driver.pgconn.transaction_status != IN_TRANSACTION:
        raise LedgerError(f"the database at {shown} cannot be written: a statement failed. Nothing was released.")
    info["warned"] = False
    values = _literals(driver, row or ())
    entry = f"EXECUTE tacit_append({', '.join(values)}); "
    if row is not None and info["pooled"]:
        stated = _write_out(dict(zip(_NAMES, values, strict=True)), schema)
        entry = f"{stated.append}; {stated.move}; "
    _send(driver, ("" if row is None else entry) + KEEP.format(info["wait"]), said)


def roll_back(driver: Any) -> None:
    """Leave a write. A connection that is lost, or in the middle of a message, cannot say so; it is closed then."""
    import psycopg

    with contextlib.suppress(psycopg.Error):
        driver.rollback()


def attend(engine: Engine) -> None:
    """Hear what the server warns of, and find out connections that were lost."""
    sa.event.listen(engine, "connect", _listen)
    sa.event.listen(engine, "checkout", partial(_ping, engine.dialect))
    sa.event.listen(engine, "checkin", _note_use)
    sa.event.listen(engine, "reset", _leave_open)


def _send(driver: Any, message: str, said: Callable[[], None] | None = None) -> list[Any]:
    """The results of the statements of one message, once the server has done them all.

    By libpq itself: a cursor of psycopg takes four times as long, while others wait for the ledger. A signal is heard
    while it waits.
    """
    pg, results = driver.pgconn, []
    pg.send_query(message.encode())
    ready = select.poll()
    ready.register(pg.socket, select.POLLIN)
    while pg.flush():
        ready.poll(1)
    if said is not None:
        said()
    while True:
        while pg.is_busy():
            ready.poll()
            pg.consume_input()
        result = pg.get_result()
        if result is None:
            break
        results.append(result)
    if results[-1].status == FAILED:  # the last one: what follows it in a message is not done
        import psycopg

        raise psycopg.errors.error_from_result(results[-1])
    return results


def _literals(driver: Any, values: Sequence[float | str | None]) -> list[str]:
    """Values as PostgreSQL reads them in a message."""
    import psycopg

    escape = psycopg.pq.Escaping(driver.pgconn).escape_literal
    said = []
    for value in values:
        if isinstance(value, str):
            said.append(escape(value.encode()).decode())
        elif isinstance(value, float):
            said.append(float.__repr__(value))
        else:
            said.append("NULL" if value is None else int.__repr__(value))
    return said


_READ: dict[str, Callable[[bytes], Any]] = {"INTEGER": int, "DOUBLE": float, "TEXT": bytes.decode}
_LEDGER, _ENTRY = ([_READ[str(c.type)] for c in table.c] for table in (ledgers, entries))


def _rows(result: Any, kind: Any, readers: Sequence[Callable[[bytes], Any]]) -> list[Any]:
    """The rows of a result, whose values come as text."""
    value, rows = result.get_value, []
    for i in range(result.ntuples):
        cells = [value(i, j) for j in range(len(readers))]
        rows.append(kind._make([None if c is None else read(c) for read, c in zip(readers, cells, strict=True)]))
    return rows


def _ping(dialect: Any, connection: Any, record: Any, proxy: Any) -> None:
    """Leave a connection that was lost, as pool_pre_ping would; one that was used a moment ago is not asked."""
    if time.monotonic() - record.info.get("used", 0.0) < MOMENT:
        return
    try:
        dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error:
        raise sa.exc.DisconnectionError from None


def _note_use(connection: Any, record: Any) -> None:
    record.info["used"] = time.monotonic()


def _leave_open(connection: Any, record: Any, state: Any) -> None:
    """Roll back what is open after all, when Ctrl-C comes while a write is left: others would wait for the ledger."""
    if connection.pgconn.transaction_status != IDLE:
        connection.rollback()


def _listen(connection: Any, record: Any) -> None:
    """Settings; hear what PostgreSQL warns of: while it commits, that it no longer waits for a standby.

    The commit then succeeds all the same, on this server alone.
    """

    def hear(said: Any) -> None:
        if said.severity_nonlocalized == "WARNING":
            record.info["warned"] = True

    connection.add_notice_handler(hear)
    stricter, durable, process = connection.execute(ASKED).fetchone()  # stricter: it waits until a standby shows it
    if not durable:
        raise LedgerError(
            "the server runs with fsync = off: it would forget debits in a power cut, and the budget would come back. "
            "Set fsync = on (postgresql.conf) and reload it. Nothing was released"
        )
    wait = WAIT.format("remote_apply" if stricter else "on")
    record.info["pooled"] = process != connection.pgconn.backend_pid
    record.info["wait"] = wait if record.info["pooled"] else "EXECUTE tacit_wait"
    if not record.info["pooled"]:
        connection.execute(f"{SETTINGS}; PREPARE tacit_wait AS {wait}")
    connection.commit()
