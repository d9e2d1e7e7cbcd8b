"""A ledger's SQLite file: made whole or not at all, marked beside, looked through when it is opened.

The mark, ``ledger.db.made`` beside ``ledger.db``, names the ledgers that were made there. So a file that is gone, cut
short or replaced by an older one differs from one that never was, and nobody gets a new budget by losing the old one.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from sqlalchemy.engine import Connection

from tacit.errors import LedgerError, LedgerTampered
from tacit.files import create_private, flush_folder, open_private
from tacit.locks import lock_briefly
from tacit.privacy.ledger.tables import Ends, Statements

PASSING = (sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)  # errors that tell of no damage
WHOLE = 1 << 27  # bytes of a file that is looked through whole at every opening; larger ones by verify
TABLES = ("tacit_meta", "tacit_ledgers", "tacit_keys")
SIGNS = (
    "malformed",
    "not a database",
    "unsupported file format",
    "no such table",
    "no such column",
    "Could not decode",
    "constraint failed",
    "datatype mismatch",
    "codec can't decode",
)


PATIENCE = 60  # seconds to wait for another process to finish its charge
HEARING = 0.2  # seconds in which SQLite waits without hearing a signal


# SQLite knows in memory which locks its connections hold, and a forked child would inherit that: a fork waits until no
# thread is in the middle of a transaction.
between_forks = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=between_forks.acquire, after_in_parent=between_forks.release, after_in_child=between_forks.release
    )


def _patiently(act: Callable[..., Any], *args: Any) -> Any:
    """Wait for whoever holds the file, a little at a time: Ctrl-C is heard between."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return act(*args)
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_RECOVERY)
            if not busy or time.monotonic() > end:
                raise


class FileCursor(sqlite3.Cursor):
    def execute(self, *args: Any) -> Any:
        return _patiently(super().execute, *args)


class FileConnection(sqlite3.Connection):
    """Knows which file it opened. When it is closed, it lets go of it, though an error may still hold its cursors."""

    file: tuple[int, int] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cursors: weakref.WeakSet[sqlite3.Cursor] = weakref.WeakSet()
        self.hand = self.cursor()  # one for all charges

    def cursor(self, factory: Any = FileCursor) -> Any:
        made = super().cursor(factory)
        self._cursors.add(made)
        return made

    def commit(self) -> None:
        _patiently(super().commit)

    def close(self) -> None:
        for cursor in list(self._cursors):
            cursor.close()
        super().close()


SAID = Statements(":{}".format)


def begin_writing(file: FileConnection, ledger: str, seen: int) -> Ends:
    """Begin, and if a ledger is named, look at its ends; see tables.end."""
    file.hand.execute("BEGIN IMMEDIATE")
    if not ledger:
        return Ends()
    row = file.hand.execute(SAID.row, {"ledger": ledger}).fetchone()
    return Ends.of(row, file.hand.execute(SAID.ends, {"ledger": ledger, "seen": seen}).fetchall())


def keep(file: FileConnection, row: Any) -> None:
    """Append what is to be appended, and commit."""
    if row is not None:
        said = row._asdict()
        file.hand.execute(SAID.append, said)
        file.hand.execute(SAID.move, said)
    file.commit()


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file has this name; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def mark_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.made")


def read_mark(path: Path) -> dict[str, str]:
    """Name -> identifier of each ledger that was made in this file. A mark that says nothing sensible names ''.

    OSError if it cannot be read: then nothing is known.
    """
    try:
        lines = mark_of(path).read_text().splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        return {"": ""}
    made = {}
    for line in lines:
        try:
            said = json.loads(line)
            made[str(said["name"])] = str(said["ledger"])
        except (ValueError, KeyError, TypeError):
            made[""] = ""
    return made


def note_ledger(path: Path, name: str, ledger: str) -> None:
    """Add a ledger to the mark, if it is not there. Where we may not write, as beside a ledger to read, do nothing.

    A line is there whole or not at all: on a disk that is full in its middle, it is taken back. What cannot be read
    would stand in the way of every new ledger (see refuse_lost).
    """
    line = (json.dumps({"name": name, "ledger": ledger}) + "\n").encode()
    with contextlib.suppress(OSError):
        if read_mark(path).get(name) == ledger:
            return
        descriptor = open_private(mark_of(path), os.O_WRONLY | os.O_APPEND)
        try:
            with lock_briefly(descriptor) as alone:
                size = os.fstat(descriptor).st_size
                try:
                    whole = os.write(descriptor, line) == len(line)
                except OSError:
                    whole = False
                if alone and not whole:  # nobody else's line is taken back
                    os.ftruncate(descriptor, size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def refuse_lost(path: Path, name: str) -> None:
    """LedgerTampered if a ledger of this name was made here, now that the file does not have it."""
    mark = mark_of(path).name
    try:
        made = read_mark(path)
    except OSError as error:
        raise LedgerError(f"{mark_of(path)} cannot be read: {error.strerror}. Nothing was made") from None
    if name not in made and "" not in made:
        return
    what = "it is gone" if not path.exists() else f"the file has no ledger {name!r}"
    raise LedgerTampered(
        f"ledger {name!r} was made at {path}, says {mark} beside it, and {what}. What was spent is forgotten: put the "
        f"latest copy back. Only if nothing was ever released under it, remove {mark}. Nothing was made"
    )


def create_file(path: Path, fill: Callable[[Path], None]) -> None:
    """Make the file with all that ``fill`` writes, unless another process is quicker. Never seen half made."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    create_private(part)
    try:
        fill(part)
        try:
            os.link(part, path)  # unlike a rename, never replaces
        except FileExistsError:
            return
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                raise
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # no links here: claim the name first
            os.replace(part, path)
        flush_folder(path.parent)
    finally:
        for leftover in (part, part.with_name(f"{part.name}-journal")):
            leftover.unlink(missing_ok=True)


def check_pages(connection: Connection, path: Path, *, whole: bool = False, tables: Collection[str] = TABLES) -> None:
    """LedgerTampered if pages, tables and indexes do not fit together; of a large file these tables, or the whole.

    An index that says otherwise than its table hides entries from whoever looks through it. SQLite reads what was cut
    off the last page as zeros. A page may also be in the log of writes beside the file, until it is moved into it. A
    disk that cannot be read at the moment is no damage: that is a LedgerError.
    """
    pages, size = (connection.exec_driver_sql(f"PRAGMA {what}").scalar() or 0 for what in ("page_count", "page_size"))
    there = path.stat().st_size  # after the pages were counted: others may add to the file, and take nothing away
    if there < pages * size and not _pages_in_log(path) >= set(range(there // size + 1, pages + 1)):
        raise damage(path, "it was cut short")
    if whole or there <= WHOLE:
        said = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalars().all()
    else:
        made = set(connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars())
        checks = [connection.exec_driver_sql(f"PRAGMA integrity_check({t})") for t in tables if t in made]
        said = [line for check in checks for line in check.scalars()]
    for line in said:
        code = re.search(r"error code=(\d+)", line)
        if code and int(code[1]) & 0xFF in PASSING:
            raise LedgerError(f"{path} cannot be read: a disk or memory error (SQLite {code[1]}). Try again")
        if line != "ok":
            raise damage(path, "its pages do not fit together")


def _pages_in_log(path: Path) -> set[int]:
    """The numbers of the pages in the log of writes beside a file: 32 bytes, then each page behind a head of 24."""
    found: set[int] = set()
    try:
        with path.with_name(f"{path.name}-wal").open("rb") as log:
            size = int.from_bytes(log.read(32)[8:12], "big")
            while len(head := log.read(24)) == 24:
                found.add(int.from_bytes(head[:4], "big"))
                log.seek(size, os.SEEK_CUR)
    except FileNotFoundError:
        pass
    return found


def damage(path: Path, what: str) -> LedgerTampered:
    return LedgerTampered(
        f"the database at {path} is damaged: {what}. Release nothing from it; put the latest copy back"
        " (if it never was a ledger, give the path of one, or of a file that does not exist yet). Nothing was released"
    )


def is_damage(error: BaseException, reason: str) -> bool:
    """Whether a driver's error tells of a file that is not what was written."""
    original = getattr(error, "orig", None) or error
    if isinstance(original, UnicodeError):
        return True
    return isinstance(original, sqlite3.Error) and any(sign in reason for sign in SIGNS)
