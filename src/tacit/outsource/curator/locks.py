"""What tells a person that a curator runs already. No promise rests on it: see tables."""

from __future__ import annotations

import os
from pathlib import Path
from zlib import crc32

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit.errors import TacitError
from tacit.privacy.ledger.store import Store


class StateError(TacitError):
    """A curator's state cannot be read, written or held."""


class NoLock:
    def release(self) -> None: ...


class FileLock(NoLock):
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


class ServerLock(NoLock):
    """PostgreSQL's advisory lock of a session: gone when the connection is, which nobody is told."""

    def __init__(self, store: Store, name: str) -> None:
        self._connection: Connection | None = store.engine.connect()
        held = self._connection.scalar(sa.select(sa.func.pg_try_advisory_lock(7_236_143, crc32(name.encode()) >> 1)))
        self._connection.commit()
        if not held:
            self.release()
            raise StateError(f"another curator holds study {name!r} at {store.shown}. Nothing was published")

    def release(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None
