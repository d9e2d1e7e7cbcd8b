"""What a curator must not forget: the terms, the published table, every answer and every exchange.

Kept in an SQLite file in a folder, or in PostgreSQL by URL. All of it is inside the curator's trust boundary.

    claim      a query takes a number of its own in the database, or is refused; before anything is evaluated
    record     an answer is written, once for each row; a query that is answered keeps its number
    withdraw   a query that could not be evaluated gives its number back

Whoever claims, claims in one transaction with the limit, the stop and the numbers that are taken. So the promises hold
with any number of curators, though one at a time is meant to run: a lock says so to people, and may be lost.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit.errors import LedgerError, StateError, TacitError
from tacit.files import create_private, create_private_folder
from tacit.outsource.curator.locks import FileLock, NoLock, ServerLock
from tacit.outsource.curator.queries import Asked, Given, Known, Queries, damage, now, read_answers, read_exchanges
from tacit.outsource.curator.tables import (
    CHECKED,
    READABLE,
    SCHEMA,
    answers,
    audit,
    exchanges,
    parts,
    prepare,
    seal,
    studies,
)
from tacit.outsource.protocol.frames import frame
from tacit.outsource.protocol.terms import Answer, Refused
from tacit.privacy.claim_store import FILE, SERVER
from tacit.privacy.ledger.file import check_pages, note_ledger, read_mark
from tacit.privacy.ledger.place import check_place, note_place
from tacit.privacy.ledger.store import Database

__all__ = ["Exchange", "State", "StateError", "now"]

STATE = "curator.db"
AUDIT_LINES = 10_000  # kept of the audit log: so many that tell of a query, and so many that count requests


@dataclass(frozen=True)
class Exchange:
    """Who asked for which row, when. Holds no answer."""

    number: int
    modeler: str
    request: str
    row: int
    time: str


class State:
    """The durable state of one study. ``place`` is a folder or a PostgreSQL URL.

    ``hold=False`` only looks, beside the curator that holds it; with ``make`` there need not be one yet.
    """

    def __init__(self, place: str | Path, name: str, *, hold: bool = True, make: bool = False) -> None:
        self.name, self.owner = name, uuid.uuid4().hex
        self._lock = NoLock()
        try:
            self._open(str(place), hold, make)
            with self.writing() as c:
                self._store.choose_schema(c)
                if self._store.path is not None:
                    check_pages(c, self._store.path, tables=CHECKED)
                prepare(c)
                if self._store.path is not None and not check_place(c, self._store.path):
                    note_place(c, self._store.path)
        except BaseException:
            self._lock.release()  # whatever failed, whoever tries again in this process may
            raise

    def _open(self, place: str, hold: bool, make: bool) -> None:
        """The database, and the lock if it is to be held."""
        if "://" in place:
            self._store = Database(place, anchor=studies)
            if self._store.path is not None:
                raise StateError("state is kept in a folder, or in PostgreSQL by URL; give the folder of the file")
            self.shown, url = self._store.shown, self._store.url
            self.place = SERVER, f"{url.host}:{url.port or ''}/{url.database}"
            if hold:
                with self._translate_errors(), self._store.translate_errors("read", ""):
                    self._lock = ServerLock(self._store, self.name)
            return
        folder = Path(place).expanduser().absolute()
        if not hold and not make and not (folder / STATE).exists():
            raise StateError(f"there is no curator's state in {folder}")
        self.shown, self.place = str(folder), (FILE, str((folder / STATE).resolve()))
        try:
            if hold or make:
                create_private_folder(folder)
            if hold:
                self._lock = FileLock(folder / "lock", str(folder))
            if hold or make:
                _create_file(folder / STATE)
        except (OSError, UnicodeError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise StateError(f"the curator's state in {folder} cannot be written: {why}. Nothing was told") from None
        self._store = Database(folder / STATE, keep=False)  # else all of it stays in the log until the curator ends

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except LedgerError as error:
            raise StateError(error.message, remedy=error.remedy) from None
        except TacitError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError):  # a number that is none, a text that is no JSON
            raise damage() from None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self._translate_errors(), self._store.writing() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._translate_errors(), self._store.reading() as connection:
            yield connection

    def _study(self, c: Connection) -> sa.Row[Any]:
        """The study's row, locked until the transaction ends: whoever claims or records waits for its turn here."""
        found = c.execute(sa.select(studies).where(studies.c.name == self.name).with_for_update()).one_or_none()
        if found is None:
            raise StateError(f"study {self.name!r} is no longer in the state at {self.shown}. Nothing was told")
        return found

    def begin(self, study: str, fingerprint: str) -> tuple[str, dict[str, Any] | None]:
        """The study's identifier and terms: as they were if it exists, else the given identifier and no terms.

        Queries that an earlier curator claimed and did not answer are free again.
        """
        with self.writing() as c:
            found = c.execute(sa.select(studies).where(studies.c.name == self.name)).one_or_none()
            if found is None:
                self._refuse_lost()
                about = {"schema": SCHEMA, "study": study, "fingerprint": fingerprint, "created": now()}
                c.execute(studies.insert().values(name=self.name, **about))
                return study, None
            if found.schema not in READABLE:
                raise StateError(f"the state at {self.shown} has version {found.schema}, this tacit reads {SCHEMA}")
            if found.fingerprint != fingerprint:
                raise StateError(
                    f"the state at {self.shown} belongs to a study of other rows or other terms. Give the same rows "
                    "and arguments to go on, or another folder for another study. Nothing was published"
                )
            c.execute(studies.update().where(studies.c.name == self.name).values(schema=SCHEMA))
            c.execute(exchanges.delete().where(exchanges.c.name == self.name, exchanges.c.owner.is_not(None)))
        terms = _terms(found)
        if terms is not None:
            self._mark(found.study)
        return found.study, terms

    def _mark(self, study: str) -> None:
        """Beside the file, that a study was published: so one that is gone differs from one that never was."""
        if self._store.path is not None:
            note_ledger(self._store.path, self.name, study)

    def _refuse_lost(self) -> None:
        try:
            made = read_mark(self._store.path) if self._store.path is not None else {}
        except OSError as error:
            raise StateError(f"{STATE}.made in {self.shown} cannot be read: {error.strerror}") from None
        if self.name in made or "" in made:
            raise StateError(
                f"study {self.name!r} was published from {self.shown}, says {STATE}.made there, and the state does not "
                "have it: what was told is forgotten. Put the latest copy back. Nothing was published"
            )

    def terms(self) -> dict[str, Any] | None:
        """The terms, if anything was published."""
        with self.reading() as c:
            found = c.execute(sa.select(studies).where(studies.c.name == self.name)).one_or_none()
        return None if found is None else _terms(found)

    @property
    def _draft(self) -> str:
        return f"{self.name}:{self.owner}"

    def clear_parts(self) -> None:
        """Drop tables that were drawn and not published: nobody saw them."""
        with self.writing() as c:
            drafts = parts.c.name.startswith(f"{self.name}:", autoescape=True)
            if self._study(c).terms is None:
                c.execute(parts.delete().where(drafts | (parts.c.name == self.name)))

    def put_part(self, number: int, rows: int, body: bytes) -> None:
        with self.writing() as c:
            c.execute(parts.insert().values(name=self._draft, number=number, rows=rows, body=body))

    def publish(self, terms: dict[str, Any], parts_drawn: int) -> dict[str, Any]:
        """Publish the parts that were put, unless another curator has published: then its terms stand."""
        with self.writing() as c:
            there = _terms(self._study(c))
            if there is not None:
                c.execute(parts.delete().where(parts.c.name == self._draft))
                return there
            if c.scalar(sa.select(sa.func.count()).where(parts.c.name == self._draft)) != parts_drawn:
                raise StateError("another curator began this study anew. Nothing was published; start again")
            new = {"terms": json.dumps(terms), "seal": seal(json.dumps(terms)), "draft": self._draft}
            c.execute(studies.update().where(studies.c.name == self.name).values(**new))
            study = self._study(c).study
        self._mark(study)
        return terms

    def change_terms(self, terms: dict[str, Any]) -> None:
        new = {"terms": json.dumps(terms), "seal": seal(json.dumps(terms))}
        with self.writing() as c:
            c.execute(studies.update().where(studies.c.name == self.name).values(**new))

    def frames(self, start: int = 0) -> Iterator[bytes]:
        """The published table's frames from chunk ``start`` on, one in memory at a time."""
        with self.reading() as c:
            kept = c.scalar(sa.select(studies.c.draft).where(studies.c.name == self.name)) or self.name
        for number in count(start):
            with self.reading() as c:
                where = (parts.c.name == kept) & (parts.c.number == number)
                found = c.execute(sa.select(parts.c.rows, parts.c.body).where(where)).one_or_none()
            if found is None:
                return
            yield frame(found.body, found.rows)

    def claim(self, asked: Sequence[Asked], *, queries: int, per_modeler: int) -> tuple[list[Refused | None], Known]:
        """Take a number for every row that is asked for; for each request None or why not, and the answers so far.

        A request that was made before, for the same rows, keeps the numbers that it has.
        """
        with self.writing() as c:
            stopped = self._study(c).stopped is not None
            return Queries(c, self.name, self.owner).take(
                asked, queries=queries, per_modeler=per_modeler, stopped=stopped
            )

    def record(self, given: Given, done: Sequence[Asked]) -> tuple[Known, set[int]]:
        """Write answers, and that the requests ``done`` are answered, all or none.

        Returns what is recorded for these rows, which is another curator's answer where that was quicker, and the
        places in ``done`` of requests whose claim was lost meanwhile: those may not be told.
        """
        with self.writing() as c:
            self._study(c)
            return Queries(c, self.name, self.owner).settle(given, done)

    def withdraw(self, modeler: str, request: str) -> None:
        """Give back the numbers of a request that could not be answered."""
        with self.writing() as c:
            Queries(c, self.name, self.owner).withdraw(modeler, request)

    def load(self) -> tuple[list[Exchange], Known]:
        """Every answered exchange, oldest first, and every answer by row."""
        with self.reading() as c:
            return self._exchanges(c), read_answers(c, answers.c.name == self.name)

    def count_answers(self) -> int:
        """How many rows were answered."""
        with self.reading() as c:
            return c.scalar(sa.select(sa.func.count()).where(answers.c.name == self.name)) or 0

    def find_answers(self, rows: Sequence[int]) -> Known:
        """The answers that are recorded for these rows."""
        with self.reading() as c:
            return Queries(c, self.name, self.owner).find_answers(rows)

    def exchanges(self, latest: int | None = None) -> list[Exchange]:
        """The answered exchanges, oldest first; all, or the latest so many."""
        with self.reading() as c:
            return self._exchanges(c, latest)

    def _exchanges(self, c: Connection, latest: int | None = None) -> list[Exchange]:
        e = exchanges.c
        lines = read_exchanges(c, (e.name == self.name) & e.owner.is_(None), e.number.desc(), latest)
        return [Exchange(x.number, x.modeler, x.request, x.row, x.time) for x in reversed(lines)]

    def answers_to(self, modeler: str) -> list[Answer]:
        """All that a modeler was told, oldest first."""
        e = exchanges.c
        mine = (e.name == self.name) & (e.modeler == modeler) & e.owner.is_(None)
        with self.reading() as c:
            asked = [line.row for line in read_exchanges(c, mine, e.number)]
            known = Queries(c, self.name, self.owner).find_answers(asked)
        return [Answer(row, known[row]) for row in asked]

    def count_queries(self) -> dict[str, int]:
        """How many queries of each modeler were answered."""
        e = exchanges.c
        count_of = sa.select(e.modeler, sa.func.count()).where(e.name == self.name, e.owner.is_(None))
        with self.reading() as c:
            return {line[0]: line[1] for line in c.execute(count_of.group_by(e.modeler).order_by(e.modeler))}

    def append_audit(self, lines: Sequence[dict[str, Any]]) -> None:
        """Add lines to the audit log, of which the latest are kept; counts and queries do not displace each other."""
        a = audit.c
        with self.writing() as c:
            kinds = ["count" if "times" in line else None for line in lines]
            told = zip(lines, kinds, strict=True)
            rows = [{"name": self.name, "time": x["time"], "line": json.dumps(x), "kind": kind} for x, kind in told]
            c.execute(audit.insert(), rows)
            for kind in set(kinds):
                alike = (a.name == self.name) & a.kind.is_not_distinct_from(kind)
                first = sa.select(a.id).where(alike).order_by(a.id.desc()).offset(AUDIT_LINES).limit(1)
                if (too_old := c.scalar(first)) is not None:
                    c.execute(audit.delete().where(alike, a.id <= too_old))

    def audit(self, latest: int | None = None) -> list[dict[str, Any]]:
        """The audit log, oldest first; all that is kept, or the latest so many lines."""
        lines = sa.select(audit.c.line).where(audit.c.name == self.name).order_by(audit.c.id.desc()).limit(latest)
        with self.reading() as c:
            return [json.loads(line) for line in reversed(c.scalars(lines).all())]

    def lock_tokens(self, c: Connection) -> None:
        """Have whoever grants or revokes at the same time wait until this transaction ends. SQLite does so anyway."""
        if self._store.path is None:
            c.execute(sa.select(sa.func.pg_advisory_xact_lock(7_236_144, crc32(self.name.encode()) >> 1)))

    def stop_time(self) -> str | None:
        with self.reading() as c:
            return c.scalar(sa.select(studies.c.stopped).where(studies.c.name == self.name))

    def find_objection(self, modeler: str) -> Refused | None:
        """Why nothing more is evaluated for this modeler, whose request was let in: a stop, a token revoked since."""
        with self.reading() as c:
            if c.scalar(sa.select(studies.c.stopped).where(studies.c.name == self.name)):
                return Refused("stopped", "the curator has stopped this study. The rest was not evaluated")
            if Queries(c, self.name, self.owner).revoked_holders({modeler}):
                return Refused("token", "this modeler's token was revoked. The rest was not evaluated")
        return None

    def stop(self, stopped: bool = True) -> None:
        with self.writing() as c:
            c.execute(studies.update().where(studies.c.name == self.name).values(stopped=now() if stopped else None))

    def close(self) -> None:
        self._store.close()
        self._lock.release()


def _terms(study: sa.Row[Any]) -> dict[str, Any] | None:
    """The terms as they were published; None if nothing was."""
    if study.terms is None:
        return None
    try:
        terms = dict(json.loads(study.terms))
    except (ValueError, TypeError):
        raise damage() from None
    if study.seal not in (None, seal(study.terms)):
        raise damage()
    return terms


def _create_file(path: Path) -> None:
    """The file of a state, for its owner alone; what SQLite puts beside it is as private."""
    create_private(path)
    with closing(sqlite3.connect(path, timeout=60)) as made:
        made.execute("PRAGMA journal_mode = WAL")  # one flush a commit instead of three
