"""What a curator must not forget: the terms, the published table, every answer and every exchange.

Kept in an SQLite file in a folder, or in PostgreSQL by URL; one curator at a time holds it. All of it is inside the
curator's trust boundary.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import LedgerError, TacitError
from tacit.outsource.protocol.frames import framed
from tacit.privacy.ledger.store import Store

FILE = "curator.db"
SCHEMA = "1"

tables = sa.MetaData()
studies = sa.Table(
    "tacit_outsource_study",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("schema", sa.Text, nullable=False),
    sa.Column("study", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("terms", sa.Text),  # None until the table is published
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("stopped", sa.Text),
)
parts = sa.Table(
    "tacit_outsource_part",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
answers = sa.Table(
    "tacit_outsource_answer",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("row", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Double),
    sa.Column("charge", sa.Integer),
    sa.Column("time", sa.Text, nullable=False),
)
exchanges = sa.Table(
    "tacit_outsource_exchange",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("modeler", sa.Text, primary_key=True),
    sa.Column("request", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("row", sa.BigInteger, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
)


class StateError(TacitError):
    """A curator's state cannot be read, written or held."""


@dataclass(frozen=True)
class Exchange:
    """Who asked for which row, when. Holds no answer."""

    number: int
    modeler: str
    request: str
    row: int
    time: str


class State:
    """The durable state of one study, held by one curator. ``place`` is a folder or a PostgreSQL URL.

    ``hold=False`` only looks, beside the curator that holds it.
    """

    def __init__(self, place: str | Path, name: str, *, hold: bool = True) -> None:
        self.name = name
        self._lock: _NoLock = _NoLock()
        text = str(place)
        if "://" in text:
            self._store = Store(text)
            if self._store.path is not None:
                raise StateError("state is kept in a folder, or in PostgreSQL by URL; give the folder of the file")
            self.shown = self._store.shown
            self._lock = _ServerLock(self._store, name) if hold else self._lock
        else:
            folder = Path(place).expanduser().absolute()
            if not hold and not (folder / FILE).exists():
                raise StateError(f"there is no curator's state in {folder}")
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.shown = str(folder)
            self._lock = _FileLock(folder / "lock", self.shown) if hold else self._lock
            with sqlite3.connect(folder / FILE) as made:
                made.execute("PRAGMA journal_mode = WAL")  # one flush a commit instead of three
            made.close()
            self._store = Store(folder / FILE)
        try:
            with self.writing() as c:
                tables.create_all(c)
        except BaseException:
            self._lock.release()
            raise

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        try:
            with self._store.writing() as connection:
                yield connection
        except LedgerError as error:
            raise StateError(str(error).replace("the ledger at", "the curator's state at")) from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        try:
            with self._store.reading() as connection:
                yield connection
        except LedgerError as error:
            raise StateError(str(error).replace("the ledger at", "the curator's state at")) from None

    def begin(self, study: str, fingerprint: str) -> tuple[str, dict[str, Any] | None]:
        """The study's identifier and terms: as they were if it exists, else the given identifier and no terms."""
        with self.writing() as c:
            found = c.execute(sa.select(studies).where(studies.c.name == self.name)).one_or_none()
            if found is None:
                about = {"schema": SCHEMA, "study": study, "fingerprint": fingerprint, "created": now()}
                c.execute(studies.insert().values(name=self.name, **about))
                return study, None
        if found.schema != SCHEMA:
            raise StateError(f"the state at {self.shown} has version {found.schema}, this tacit reads {SCHEMA}")
        if found.fingerprint != fingerprint:
            raise StateError(
                f"the state at {self.shown} belongs to a study of other rows or other terms. Give the same rows and "
                "arguments to go on, or another folder for another study. Nothing was published"
            )
        return found.study, json.loads(found.terms) if found.terms else None

    def terms(self) -> dict[str, Any] | None:
        """The terms, if anything was published."""
        with self.reading() as c:
            found = c.scalar(sa.select(studies.c.terms).where(studies.c.name == self.name))
        return json.loads(found) if found else None

    def clear_parts(self) -> None:
        with self.writing() as c:
            c.execute(parts.delete().where(parts.c.name == self.name))

    def put_part(self, number: int, rows: int, body: bytes) -> None:
        with self.writing() as c:
            c.execute(parts.insert().values(name=self.name, number=number, rows=rows, body=body))

    def publish(self, terms: dict[str, Any]) -> None:
        with self.writing() as c:
            c.execute(studies.update().where(studies.c.name == self.name).values(terms=json.dumps(terms)))

    def frames(self, start: int = 0) -> Iterator[bytes]:
        """The published table's frames from chunk ``start`` on, one in memory at a time."""
        number = start
        while True:
            with self.reading() as c:
                where = (parts.c.name == self.name) & (parts.c.number == number)
                found = c.execute(sa.select(parts.c.rows, parts.c.body).where(where)).one_or_none()
            if found is None:
                return
            yield framed(found.body, found.rows)
            number += 1

    def record(self, given: dict[int, tuple[float | None, int | None]], asked: list[Exchange]) -> None:
        """New answers, row -> (value, charge), and the exchanges that tell them, all or none."""
        self._lock.check()
        mine = {"name": self.name}
        positions: dict[tuple[str, str], int] = {}
        lines = []
        for e in asked:
            at = positions[e.modeler, e.request] = positions.get((e.modeler, e.request), -1) + 1
            lines.append({**mine, **e.__dict__, "position": at})
        with self.writing() as c:
            if given:
                times = {"time": now()}
                rows = [{**mine, **times, "row": r, "value": v, "charge": p} for r, (v, p) in given.items()]
                c.execute(answers.insert(), rows)
            c.execute(exchanges.insert(), lines)

    def load(self) -> tuple[list[Exchange], dict[int, float | None]]:
        """Every exchange, oldest first, and every answer by row."""
        e, a = exchanges.c, answers.c
        with self.reading() as c:
            asked = c.execute(sa.select(exchanges).where(e.name == self.name).order_by(e.number))
            log = [Exchange(r.number, r.modeler, r.request, r.row, r.time) for r in asked]
            known = c.execute(sa.select(a.row, a.value).where(a.name == self.name))
            return log, {r.row: r.value for r in known}

    def stopped(self) -> str | None:
        with self.reading() as c:
            return c.scalar(sa.select(studies.c.stopped).where(studies.c.name == self.name))

    def stop(self, stopped: bool = True) -> None:
        with self.writing() as c:
            c.execute(studies.update().where(studies.c.name == self.name).values(stopped=now() if stopped else None))

    def close(self) -> None:
        self._store.close()
        self._lock.release()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class _NoLock:
    def check(self) -> None:
        """StateError if the lock was lost."""

    def release(self) -> None: ...


class _FileLock(_NoLock):
    """Held until the process ends, however it ends."""

    def __init__(self, path: Path, shown: str) -> None:
        import fcntl

        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise StateError(
                f"another curator holds the state at {shown}. End it first, or take another folder"
            ) from None

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class _ServerLock(_NoLock):
    """PostgreSQL's advisory lock of a session: gone when the connection is."""

    def __init__(self, store: Store, name: str) -> None:
        self._connection: Connection | None = store.engine.connect()
        held = self._connection.scalar(sa.select(sa.func.pg_try_advisory_lock(7_236_143, crc32(name.encode()) >> 1)))
        self._connection.commit()
        if not held:
            self.release()
            raise StateError(f"another curator holds study {name!r} at {store.shown}. Nothing was published")

    def check(self) -> None:
        try:
            if self._connection is not None:
                self._connection.scalar(sa.select(1))
                self._connection.commit()
        except SQLAlchemyError:
            raise StateError(
                "the connection that held the study was lost, and another curator may hold it now. Nothing was told; "
                "start again"
            ) from None

    def release(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None
