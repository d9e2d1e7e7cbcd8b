"""Where a ledger is kept: connections, transactions and errors, the same on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import LedgerError, LedgerTampered, extra, name_type
from tacit.privacy.ledger import file, server
from tacit.privacy.ledger.chain import Header
from tacit.privacy.ledger.file import (
    HEARING,
    PATIENCE,
    FileConnection,
    check_pages,
    create_file,
    damage,
    identity_of,
    is_damage,
    note_ledger,
    refuse_lost,
)
from tacit.privacy.ledger.tables import Ends, Turn, header_of, ledgers, meta, tables
from tacit.privacy.ledger.witness import path_of
from tacit.privacy.ledger.witness import refuse_lost as refuse_forgotten

SCHEMA = 1
CREATION = 7_236_142_001  # any fixed number: the PostgreSQL lock under which tables and ledgers are made

_secrets: dict[str, str] = {}  # addresses without a password, and with it: in this process alone


def without_password(address: str) -> str:
    """An address that may be pickled."""
    bare = sa.make_url(address).difference_update_query(["password"])._replace(password=None)
    return bare.render_as_string(hide_password=False)


def with_password(address: str) -> str:
    """The address to connect with: as this process knows it, or as TACIT_LEDGER has it; or as it is, for .pgpass."""
    stated = os.environ.get("TACIT_LEDGER", "")
    if address in _secrets or not stated.startswith("postgresql"):
        return _secrets.get(address, address)
    named = _parse_url(stated).render_as_string(hide_password=False)
    return named if without_password(named) == address else address


class Database:
    """A database of ledgers. Works across threads, forks and processes: nothing open is shared between processes.

    A file whose connections are not kept is whole, without a log of writes beside it, whenever nobody uses it.
    """

    def __init__(self, url: str | Path, *, keep: bool = True) -> None:
        self.path: Path | None = None
        self._kept = keep
        self.url = _parse_url(url)
        if self.url.drivername == "sqlite":
            self.path = Path(self.url.database or "")
            self.shown = self.address = str(self.path)
        else:
            extra("psycopg", "postgres", "a ledger in PostgreSQL")
            self.address = self.url.render_as_string(hide_password=False)  # to connect with, never to print or pickle
            _secrets[without_password(self.address)] = self.address
            self.shown = self.url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
        self._engine, self._pid = self._make(), os.getpid()
        driver = self._engine.dialect.loaded_dbapi.Error
        self._errors = (SQLAlchemyError, sqlite3.Error, OSError, UnicodeError, driver)
        self._cluster: str | None = None

    def _make(self) -> Engine:
        if self.path is not None:
            kept: dict[str, Any] = {"poolclass": sa.QueuePool, "pool_size": 2, "pool_timeout": PATIENCE}
            kept = kept if self._kept else {"poolclass": sa.NullPool}
            engine = sa.create_engine("sqlite://", creator=self._sqlite, **kept)
            sa.event.listen(engine, "checkout", self._same_file)
        else:
            wait: dict[str, Any] = {} if "connect_timeout" in self.url.query else {"connect_timeout": 10}
            engine = sa.create_engine(
                self.url,
                connect_args={**wait, **server.MANNERS},
                pool_timeout=PATIENCE,
                pool_reset_on_return=None,  # nothing is left open but by an interrupt, see server
            )
            server.attend(engine)
        sa.event.listen(engine, "begin", self._begin)
        return engine

    def _sqlite(self, mode: str = "rw") -> sqlite3.Connection:
        assert self.path is not None
        # mode=rw: never make a file by looking for one. A file that may only be read is opened for reading.
        where, before = f"{self.path.as_uri()}?mode={mode}", identity_of(self.path)
        connection = sqlite3.connect(
            where, uri=True, timeout=HEARING, isolation_level=None, check_same_thread=False, factory=FileConnection
        )
        connection.file = before if identity_of(self.path) == before else None
        # EXTRA: a commit has reached the disk, directory entry of the journal included, before COMMIT returns.
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous = EXTRA")
        cursor.execute("PRAGMA fullfsync = ON")  # macOS: past the drive's cache as well
        return connection

    def _same_file(self, connection: Any, record: Any, proxy: Any) -> None:
        """Leave a connection whose file is gone, or has another in its place: what it wrote would be lost."""
        if not self._is_same(connection):
            raise sa.exc.DisconnectionError

    def _is_same(self, connection: Any) -> bool:
        return self.path is not None and connection.file is not None and connection.file == identity_of(self.path)

    def _begin(self, connection: Connection) -> None:
        if not connection.get_execution_options().get("write"):  # see turn
            connection.exec_driver_sql("BEGIN" if self.path is not None else server.READ)

    @property
    def engine(self) -> Engine:
        if self._pid != os.getpid():  # forked: leave the parent's connections to the parent
            self._engine.dispose(close=False)
            self._engine, self._pid = self._make(), os.getpid()
        return self._engine

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the database."""
        options: dict[str, Any] = {} if self.path else {"isolation_level": "REPEATABLE READ"}
        with (
            self.translate_errors("read", ""),
            self.engine.execution_options(**options).connect() as connection,
            _leaving_what_fails(connection),
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on disk when the block has ended, or has not happened if it raised."""
        with self.turn() as turn:
            yield turn.connection

    @contextmanager
    def look(self, ledger: str, seen: int) -> Iterator[Turn]:
        """A moment of one ledger: its ends, beside the entry that was seen; see tables.end."""
        said = file.SAID if self.path is not None else server.SAID
        with self.reading() as connection:
            row = connection.exec_driver_sql(said.row, {"ledger": ledger}).one_or_none()
            ends = connection.exec_driver_sql(said.ends, {"ledger": ledger, "seen": seen}).all()
            yield Turn(lambda: connection, Ends.of(row, ends))

    @contextmanager
    def turn(self, ledger: str = "", seen: int = 0, said: Callable[[], None] | None = None) -> Iterator[Turn]:
        """A transaction that writes, as ``writing``. A ledger that is named is locked, and its ends are looked at.

        ``said`` is called when all is said that a server needs to let go of the ledger.
        """
        try:
            engine = self.engine
            proxy = engine.raw_connection()
            driver, info = cast(Any, proxy.driver_connection), proxy.info
            turn = Turn(lambda: Connection(engine.execution_options(write=True), proxy))
            try:
                if self.path is not None:
                    turn.ends = file.begin_writing(driver, ledger, seen)
                    yield turn
                    file.keep(driver, turn.row)
                else:
                    turn.ends = server.begin_writing(driver, info, ledger, seen)
                    yield turn
                    server.keep(driver, info, turn.row, self.shown, said)
                self._refuse_lost_write(driver, info)
            except BaseException:  # what a connection on which anything failed has set, planned or opened is half done
                if self.path is None:
                    server.roll_back(driver)
                if proxy.is_valid:
                    proxy.invalidate()
                raise
            proxy.close()
        except self._errors as error:
            raise self._translate(error, "written", " Nothing was released.") from None

    def _refuse_lost_write(self, driver: Any, info: Mapping[str, Any]) -> None:
        if self.path is not None and not self._is_same(driver):
            raise LedgerError(
                f"the ledger at {self.shown} was replaced while it was written, and what was written is lost with "
                "it. Nothing was released."
            )
        if info.get("warned"):
            raise LedgerError(
                f"what was written to the ledger at {self.shown} is not on its standby: the server was told not to "
                "wait for it, and a failover would lose it. It stays written here. See to the standby, then try "
                "again. Nothing was released."
            )

    @property
    def cluster(self) -> str:
        """Names the data of a server and the database in it: the same on a standby as on its primary."""
        if self._cluster is None:
            with self.reading() as connection:
                database = connection.scalar(sa.text("SELECT current_database()"))
                may = connection.scalar(sa.text("SELECT has_function_privilege('pg_control_system()', 'execute')"))
                said = sa.text("SELECT system_identifier FROM pg_control_system()")
                server = connection.scalar(said) if may else f"{self.url.host} {self.url.query.get('host')}"
            self._cluster = f"{server} {database}"
        return self._cluster

    @contextmanager
    def translate_errors(self, act: str, consequence: str) -> Iterator[None]:
        """Turn a driver's error into ours, without the password that its traceback may hold."""
        try:
            yield
        except self._errors as error:
            raise self._translate(error, act, consequence) from None

    def _translate(self, error: BaseException, act: str, consequence: str) -> LedgerError:
        plain = getattr(error, "strerror", None)  # without the name of a file that is in the making
        said = str(getattr(error, "orig", None) or plain or error).strip().splitlines() or [type(error).__name__]
        reason = said[0].rstrip(".")
        if self.path is not None and is_damage(error, reason):
            return damage(self.path, reason.split(" with text")[0])
        for secret in (self.url.password, self.url.query.get("password")):
            reason = reason.replace(str(secret), "***") if secret else reason
        return LedgerError(f"the ledger at {self.shown} cannot be {act}: {reason}{_remedy(reason)}.{consequence}")

    def names(self) -> list[str]:
        """The ledgers in this database, by name."""
        with self.reading() as connection:
            if not self._has_tables(connection):
                return []
            return sorted(header_of(row).name for row in connection.execute(sa.select(ledgers)))

    def find(self, name: str) -> Header | None:
        """The ledger of this name, once the database was looked through for damage."""
        with self.reading() as connection:
            if self.path is not None:
                check_pages(connection, self.path)
            found = self._find(connection, name) if self._has_tables(connection) else None
        if self.path is not None and found is not None:
            note_ledger(self.path, name, found.id)
        return found

    def _find(self, connection: Connection, name: str) -> Header | None:
        # every row, not the one that an index finds: an index with one bit changed would hide a ledger, and its budget
        headers = (header_of(row) for row in connection.execute(sa.select(ledgers)).all())
        return next((header for header in headers if header.name == name), None)

    def check_pages(self, connection: Connection) -> None:
        """LedgerTampered if the file is damaged anywhere, however large. A server checks its own pages."""
        if self.path is not None:
            check_pages(connection, self.path, whole=True)

    def refuse_lost(self, name: str) -> None:
        """LedgerTampered if there was a ledger of this name and it is gone."""
        if self.path is not None:
            refuse_lost(self.path, name)
        else:
            refuse_forgotten(path_of(self.cluster, name), name, self.shown)

    def exists(self) -> bool:
        """False only for an SQLite file that is not there."""
        with self.translate_errors("read", ""):
            return self.path is None or self.path.exists()

    def create(self, header: Header) -> Header:
        """Write a new ledger, or return the one of that name that another process made first."""
        if self.path is not None and not self.exists():
            self.refuse_lost(header.name)
            with self.translate_errors("created", ""):
                create_file(self.path, _create_tables)
        with self.writing() as connection:
            if self.path is None:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION)))
            if not self._has_tables(connection):
                self._create_tables(connection)
            there = self._find(connection, header.name)
            if there is None:
                self.refuse_lost(header.name)
                b = header.budget
                terms = {"notion": b.notion, "amount": b.amount, "delta": b.delta, "composition": header.composition}
                about = {"id": header.id, "name": header.name, "description": header.description}
                rest = {"reserve": header.reserve, "unit": header.unit, "created": header.created}
                connection.execute(ledgers.insert().values(**about, **terms, **rest, length=0, head=header.genesis))
        made = there or header
        if self.path is not None:
            note_ledger(self.path, made.name, made.id)
        return made

    def _create_tables(self, connection: Connection) -> None:
        tables.create_all(connection)
        connection.execute(meta.insert().values(key="schema", value=str(SCHEMA)))

    def _has_tables(self, connection: Connection) -> bool:
        """Whether there are tables; raises if a later tacit made them."""
        there = set(sa.inspect(connection).get_table_names())
        if meta.name not in there:
            if self.path is not None and not there:
                raise damage(self.path, "it is empty")
            if ledgers.name in there:
                raise LedgerTampered(f"the ledger at {self.shown} is damaged: table {meta.name} is missing")
            return False
        found = connection.scalar(sa.select(meta.c.value).where(meta.c.key == "schema"))
        if found != str(SCHEMA):
            raise LedgerError(
                f"the ledger at {self.shown} has schema version {found}, this tacit reads version {SCHEMA}. "
                "Upgrade it: pip install --upgrade tacit. Nothing was changed"
            )
        return True


@contextmanager
def _leaving_what_fails(connection: Connection) -> Iterator[None]:
    """Do not keep a connection on which anything failed: what it has set, planned or opened may be half done."""
    try:
        yield
    except BaseException:
        connection.invalidate()
        raise


def _create_tables(path: Path) -> None:
    store = Database(path)
    with store.writing() as connection:
        store._create_tables(connection)
    store.close()


def _parse_url(url: str | Path) -> URL:
    """A path or URL as the URL of a database that outlives the process."""
    text = os.fspath(url) if isinstance(url, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise LedgerError(f"a ledger needs a path or a URL, got {name_type(url)}")
    if "://" not in text:
        parsed = URL.create("sqlite", database=text)
    else:
        try:
            parsed = make_url(text)
        except (SQLAlchemyError, ValueError):
            raise LedgerError("not a URL; write sqlite:///file.db or postgresql://user@host/database") from None
    dialect, _, driver = parsed.drivername.partition("+")
    if dialect in ("postgresql", "postgres") and driver in ("", "psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    if dialect != "sqlite" or driver not in ("", "pysqlite"):
        raise LedgerError(
            f"a ledger is kept in SQLite or PostgreSQL, got {parsed.drivername}://; write a path, sqlite:///file.db or "
            "postgresql://user@host/database"
        )
    if not parsed.database or ":memory:" in parsed.database or parsed.query:
        raise LedgerError(
            "a ledger must outlive the process, so it is kept in a file: write a path or sqlite:///file.db, "
            "without options; it is not kept in memory"
        )
    return URL.create("sqlite", database=str(Path(parsed.database).expanduser().absolute()))


def _remedy(reason: str) -> str:
    """What to do about a common failure."""
    for sign, remedy in (
        ("readonly", "open it as a user who may write the file and its directory"),
        ("read-only", "connect to a server and as a role that may write"),
        ("connection to server", "check that the server runs and that the URL is right"),
        ("unable to open", "check that the directory exists and may be written"),
        ("No such file or directory", "check that the directory exists and may be written"),
        ("Permission denied", "check that the directory exists and may be written"),
        ("Read-only file system", "check that the directory exists and may be written"),
        ("full", "make room on the disk"),
        ("No space left", "make room on the server's disk"),
        ("locked", "another process holds it; try again"),
        ("lock timeout", "another process holds it; try again"),
        ("permission denied", "ask for the right to use the tacit_ tables"),
        ("onnection", "check that the server runs and that the URL is right"),
    ):
        if sign in reason:
            return f" ({remedy})"
    return ""
