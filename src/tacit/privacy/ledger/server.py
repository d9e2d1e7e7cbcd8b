"""How a ledger is written in PostgreSQL: in two messages, since others wait for it between them.

The first begins, locks the ledger and reads its ends. The second appends, commits, and waits for the disk and the
standby, by which time the ledger is free for the next.
"""

from __future__ import annotations

import select
import time
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import LedgerError
from tacit.privacy.ledger.file import PATIENCE
from tacit.privacy.ledger.tables import Ends, Statements, entries, ledgers

MOMENT = 0.1  # seconds after its last use in which a connection is taken to be alive

# Text travels as UTF-8, whatever a database, a role or an environment prefers; and a rollback of psycopg's would else
# deallocate what is planned here.
MANNERS = {"client_encoding": "utf8", "prepare_threshold": None}

# Doubles travel as text: 3 extra digits make them exact whatever the server's default.
SETTINGS = f"SELECT set_config('extra_float_digits', '3', true), set_config('lock_timeout', '{PATIENCE}s', true)"

# A write is read committed, so that after waiting for the lock a process sees what its last holder wrote; and committed
# without waiting for the disk, so that the next one can have the ledger. Plans outlive the day when a table was small,
# so they are made by index.
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED; EXECUTE tacit_writes"
WRITES = f"{SETTINGS}, set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true)"

# A debit must outlive a power cut, or a draw could follow one that is lost. The log of a server is one sequence, which
# goes to disk, and to standbys, in its order: when this commit has waited, all that was committed before it is there.
# Many processes wait for one write together. A stricter setting than 'on' is left alone. Whether it waited to the end,
# the server says by a warning, which a role may have turned off.
WAIT = (
    "SELECT CASE WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') "
    "THEN set_config('synchronous_commit', 'on', true) END, set_config('client_min_messages', 'warning', true), "
    "pg_logical_emit_message(true, 'tacit', '')"
)
KEEP = "COMMIT; BEGIN; EXECUTE tacit_wait; COMMIT"

SAID = Statements("%({})s".format)
# What a charge says is planned once for each connection: planning would take longer than the work.
_PLACES = {c.name: f"${k}" for k, c in enumerate(entries.c, 1)} | {"seen": "$2"}
_PLANNED = Statements(_PLACES.__getitem__)
_TYPES = ", ".join({"DOUBLE": "double precision"}.get(str(c.type), str(c.type)) for c in entries.c)
PREPARE_SETTINGS = f"PREPARE tacit_writes AS {WRITES}; PREPARE tacit_wait AS {WAIT}"
PREPARE = (
    f"PREPARE tacit_row (text) AS {_PLANNED.row} FOR UPDATE; PREPARE tacit_ends (text, integer) AS {_PLANNED.ends}; "
    f"PREPARE tacit_append ({_TYPES}) AS WITH new AS ({_PLANNED.append}) {_PLANNED.move}"
)
LOOK = "EXECUTE tacit_row(%(ledger)s); EXECUTE tacit_ends(%(ledger)s, %(seen)s)"
APPEND = f"EXECUTE tacit_append({', '.join(f'%({c.name})s' for c in entries.c)})"


def begin_writing(connection: Connection, ledger: str, seen: int) -> None:
    """Begin, and if a ledger is named, lock it and look at its ends; see tables.end.

    The ends are read by a statement of their own: it sees what was written while the one before waited for the lock.
    """
    connection.info.pop("append", None)
    if not ledger:
        _send(connection, BEGIN)
        return
    first = BEGIN if connection.info.get("prepared") else f"{BEGIN}; {PREPARE}"
    row, ends = _send(connection, f"{first}; {LOOK}", {"ledger": ledger, "seen": seen})[-2:]
    connection.info["prepared"] = True
    found = _rows(row, LedgerRow, _LEDGER)
    connection.info["ends"] = Ends(found[0] if found else None, _rows(ends, EntryRow, _ENTRY))


def keep(connection: Connection, shown: str) -> None:
    """Append what is to be appended, commit, and wait for it.

    What failed before would be rolled back by a COMMIT without a word. A message ends where a statement of it fails.
    """
    driver: Any = connection.connection.driver_connection
    if driver.info.transaction_status.name != "INTRANS":
        raise LedgerError(f"the ledger at {shown} cannot be written: a statement failed. Nothing was released.")
    connection.info["warned"] = False
    entry = connection.info.pop("append", None)
    _send(connection, KEEP if entry is None else f"{APPEND}; {KEEP}", entry)


def roll_back(connection: Connection) -> None:
    """Leave a write. A connection that is lost, or in the middle of a message, cannot say so: it is closed."""
    try:
        connection.exec_driver_sql("ROLLBACK")
    except SQLAlchemyError:
        connection.invalidate()


def attend(engine: Engine) -> None:
    """Hear what the server warns of, and find out connections that were lost."""
    sa.event.listen(engine, "connect", _listen)
    sa.event.listen(engine, "checkout", partial(_ping, engine.dialect))
    sa.event.listen(engine, "checkin", _note_use)


def _send(connection: Connection, message: str, said: Mapping[str, Any] | None = None) -> list[Any]:
    """The results of the statements of one message, once the server has done them all.

    By libpq itself: a cursor of psycopg takes four times as long, while others wait for the ledger. A signal is heard
    while it waits.
    """
    import psycopg

    driver: Any = connection.connection.driver_connection
    text = message if said is None else psycopg.ClientCursor(driver).mogrify(message, said)
    pg, results, failed = driver.pgconn, [], None
    pg.send_query(text.encode())
    ready = select.poll()
    ready.register(pg.socket, select.POLLIN)
    while pg.flush():
        ready.poll(1)
    while True:
        while pg.is_busy():
            ready.poll()
            pg.consume_input()
        result = pg.get_result()
        if result is None:
            break
        results.append(result)
        if result.status == psycopg.pq.ExecStatus.FATAL_ERROR:
            failed = failed or psycopg.errors.error_from_result(result)
    if failed is not None:
        raise failed
    return results


LedgerRow = namedtuple("LedgerRow", [c.name for c in ledgers.c])  # type: ignore[misc]
EntryRow = namedtuple("EntryRow", [c.name for c in entries.c])  # type: ignore[misc]
_READ: dict[str, Callable[[bytes], Any]] = {"INTEGER": int, "DOUBLE": float, "TEXT": bytes.decode}
_LEDGER, _ENTRY = ([_READ[str(c.type)] for c in table.c] for table in (ledgers, entries))


def _rows(result: Any, kind: Any, readers: Sequence[Callable[[bytes], Any]]) -> list[Any]:
    """The rows of a result, whose values come as text."""
    cells = ([result.get_value(i, j) for j in range(len(readers))] for i in range(result.ntuples))
    return [kind(*(None if v is None else read(v) for read, v in zip(readers, row, strict=True))) for row in cells]


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


def _listen(connection: Any, record: Any) -> None:
    """Plan settings; hear what PostgreSQL warns of: while it commits, that it no longer waits for a standby.

    The commit then succeeds all the same, on this server alone.
    """

    def hear(said: Any) -> None:
        if said.severity_nonlocalized == "WARNING":
            record.info["warned"] = True

    connection.add_notice_handler(hear)
    connection.execute(PREPARE_SETTINGS)
    connection.commit()
