"""Where a ledger is kept: connections, transactions and errors, the same on SQLite and on PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import LedgerError, LedgerTampered, extra
from tacit.privacy.any_filter import AnyFilter
from tacit.privacy.ledger import file, server
from tacit.privacy.ledger.address import parse_url, refuse_alike, remedy_for, remember_password
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
from tacit.privacy.ledger.place import check_place, note_place
from tacit.privacy.ledger.tables import Ends, Turn, header_of, ledgers, meta, schema_of, tables
from tacit.privacy.ledger.witness import path_of_name
from tacit.privacy.ledger.witness import refuse_lost as refuse_forgotten

SCHEMA, SEVERAL = "1", "2"  # 2: a ledger of several filters is among them, which an earlier tacit cannot read
CREATION = 7_236_142_001  # any fixed number: the PostgreSQL lock under which tables and ledgers are made


class Database:
    """A database of ledgers. Works across threads, forks and processes: nothing open is shared between processes.

    A file whose connections are not kept is whole, without a log of writes beside it, whenever nobody uses it.
    """

    def __init__(self, url: str | Path, *, keep: bool = True, anchor: sa.Table = ledgers) -> None:
        """``anchor`` is the table by which the schema of all is known, on a server."""
        self.path: Path | None = None
        self._kept, self._anchor, self._schema = keep, anchor.name, ""
        self.url = parse_url(url)
        if self.url.drivername == "sqlite":
            self.path = Path(self.url.database or "")
            self.shown = self.address = str(self.path)
        else:
            extra("psycopg", "postgres", "a ledger in PostgreSQL")
            self.address = self.url.render_as_string(hide_password=False)  # to connect with, never to print or pickle
            remember_password(self.address)
            self.shown = self.url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
            said = self.url.query.get("schema")
            self._given = said if isinstance(said, str) else None
            self.url = self.url.difference_update_query(["schema"])
        self._engine, self._pid, self._left = self._make(), os.getpid(), list[Engine]()
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
        if self._pid != os.getpid():  # forked: leave the parent's connections, and locks of its threads, to the parent
            self._left.append(self._engine)
            self._engine, self._pid = self._make(), os.getpid()
        return self._engine

    def close(self) -> None:
        self.engine.dispose()

    @property
    def schema(self) -> str:
        """The schema that the tables are in, once there are any; empty until then, and for a file."""
        if not self._schema and self.path is None:
            with self.translate_errors("read", ""), self.engine.connect() as connection, connection.begin():
                self._schema = server.find_schema(connection, self._anchor, self._given, self.shown) or ""
        return self._schema

    def _options(self) -> dict[str, Any]:
        """By which every table is named in full."""
        return {"schema_translate_map": {None: self.schema}} if self.schema else {}

    def choose_schema(self, connection: Connection) -> None:
        """Before tables are made: the schema in which some are, or the one to make them in; others wait until then."""
        if self.path is None:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION)))
            found = server.find_schema(connection, self._anchor, self._given, self.shown)
            own = connection.scalar(sa.text("SELECT current_schema()"))
            self._schema = found or self._given or str(own or "public")
            connection.execution_options(**self._options())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the database."""
        options: dict[str, Any] = {} if self.path else {"isolation_level": "REPEATABLE READ", **self._options()}
        with (
            self._alone(),
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
        said = file.SAID if self.path is not None else server.statements(self.schema)
        with self.reading() as connection:
            row = connection.exec_driver_sql(said.row, {"ledger": ledger}).one_or_none()
            ends = connection.exec_driver_sql(said.ends, {"ledger": ledger, "seen": seen}).all()
            yield Turn(lambda: connection, Ends.of(row, ends))

    @contextmanager
    def turn(self, ledger: str = "", seen: int = 0, said: Callable[[], None] | None = None) -> Iterator[Turn]:
        """A transaction that writes, as ``writing``. A ledger that is named is locked, and its ends are looked at.

        ``said`` is called when all is said that a server needs to let go of the ledger.
        """
        options = self._options()  # before the connection: it may have to look for the schema
        with self._alone():
            yield from self._turn(options, ledger, seen, said)

    def _alone(self) -> AbstractContextManager[Any]:
        """No fork happens inside, where a fork would take a file's locks with it."""
        return file.between_forks if self.path is not None else contextlib.nullcontext()

    def _turn(self, options: dict[str, Any], ledger: str, seen: int, said: Callable[[], None] | None) -> Iterator[Turn]:
        try:
            engine = self.engine
            proxy = engine.raw_connection()
            driver, info = cast(Any, proxy.driver_connection), proxy.info
            turn = Turn(lambda: Connection(engine.execution_options(write=True, **options), proxy))
            try:
                if self.path is not None:
                    turn.ends = file.begin_writing(driver, ledger, seen)
                    yield turn
                    file.keep(driver, turn.row)
                else:
                    turn.ends = server.begin_writing(driver, info, ledger, seen, self._schema)
                    yield turn
                    server.keep(driver, info, turn.row, self.shown, said, self._schema)
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
                f"the database at {self.shown} was replaced while it was written, and what was written is lost with "
                "it. Nothing was released."
            )
        if info.get("warned"):
            raise LedgerError(
                f"what was written to the database at {self.shown} is not on its standby: the server was told not to "
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
        return LedgerError(f"the database at {self.shown} cannot be {act}: {reason}{remedy_for(reason)}.{consequence}")

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
            known = self.path is None or found is None or check_place(connection, self.path)
        if self.path is not None and found is not None:
            if not known:
                self._note_place(self.path)
            note_ledger(self.path, name, found.id)
        return found

    def _note_place(self, path: Path) -> None:
        """Note the name of the file in it, where it may be written."""
        with contextlib.suppress(LedgerError), self.writing() as connection:
            if not check_place(connection, path):
                note_place(connection, path)

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
        try:
            if self.path is not None:
                refuse_lost(self.path, name)
            else:
                refuse_forgotten(path_of_name(self.cluster, name), name, self.shown)
        except LedgerTampered:
            # A ledger is noted once it is made: one that another process has made since the last look is found now.
            if not (self.exists() and self.find(name)):
                raise

    def exists(self) -> bool:
        """False only for an SQLite file that is not there."""
        with self.translate_errors("read", ""):
            return self.path is None or self.path.exists()

    def create(self, header: Header) -> Header:
        """Write a new ledger, or return the one of that name that another process made first."""
        if self.path is not None and not self.exists():
            self.refuse_lost(header.name)
            with self.translate_errors("created", ""):
                create_file(self.path, self._fill)
        with self.writing() as connection:
            self.choose_schema(connection)
            if not self._has_tables(connection):
                self._create_tables(connection)
            if self.path is not None and not check_place(connection, self.path):
                note_place(connection, self.path)
            there = self._find(connection, header.name)
            if there is None:
                self.refuse_lost(header.name)
                names = [header_of(row).name for row in connection.execute(sa.select(ledgers)).all()]
                refuse_alike(header.name, names)
                terms = header.to_json() | header.to_json()["budget"]
                columns = {c.name: terms[c.name] for c in ledgers.c if c.name in terms}
                connection.execute(ledgers.insert().values(**columns, length=0, head=header.genesis))
                if isinstance(header.filter, AnyFilter):
                    connection.execute(meta.update().where(meta.c.key == "schema").values(value=SEVERAL))
        made = there or header
        if self.path is not None:
            note_ledger(self.path, made.name, made.id)
        return made

    def _fill(self, part: Path) -> None:
        """The tables of a file in the making, which errors call by the name that it will have."""
        store = Database(part)
        store.shown = self.shown
        with store.writing() as connection:
            store._create_tables(connection)
        store.close()

    def _create_tables(self, connection: Connection) -> None:
        tables.create_all(connection)
        connection.execute(meta.insert().values(key="schema", value=SCHEMA))

    def _has_tables(self, connection: Connection) -> bool:
        """Whether there are tables; raises if a later tacit made them."""
        there = set(sa.inspect(connection).get_table_names(schema_of(connection)) if self.path or self._schema else ())
        if meta.name not in there:
            if self.path is not None and not there:
                raise damage(self.path, "it is empty")
            if ledgers.name in there:
                raise LedgerTampered(f"the database at {self.shown} is damaged: table {meta.name} is missing")
            return False
        found = connection.scalar(sa.select(meta.c.value).where(meta.c.key == "schema"))
        if found is None and ledgers.name not in there:  # a curator's state notes its place in a table of this name
            return False
        if found not in (SCHEMA, SEVERAL):
            raise LedgerError(
                f"the database at {self.shown} has schema version {found}, this tacit reads version {SEVERAL}. "
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
