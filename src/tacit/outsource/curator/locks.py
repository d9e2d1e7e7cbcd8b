"""What tells a person that a curator runs already. No promise rests on it: see tables."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit import locks
from tacit.errors import StateError
from tacit.privacy.ledger.store import Database


class NoLock:
    def release(self) -> None: ...


class FileLock(NoLock):
    """Held until the process ends, however it ends."""

    def __init__(self, path: Path, shown: str) -> None:
        try:
            self._file = locks.lock(path)
        except locks.Taken as holder:
            raise StateError(
                f"another curator holds the state at {shown}: {holder}. End it first, or take another folder"
            ) from None

    def release(self) -> None:
        locks.release(self._file)


class ServerLock(NoLock):
    """PostgreSQL's advisory lock of a transaction that stays open: gone when its connection is, which nobody is told.

    A session's lock would stay with a pooler's connection to the server, where the next one holds it as well.
    """

    def __init__(self, store: Database, name: str) -> None:
        self._connection: Connection | None = store.engine.connect()
        try:
            lock = sa.func.pg_try_advisory_xact_lock(7_236_143, crc32(name.encode()) >> 1)
            self._connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            held = self._connection.scalar(sa.select(lock))
        except BaseException:
            self.release()
            raise
        if not held:
            self.release()
            raise StateError(f"another curator holds study {name!r} at {store.shown}. Nothing was published")

    def release(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None
