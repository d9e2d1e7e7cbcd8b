"""Claims in a file: every draw has a name, and one process at a time holds the file.

One JSON document per line, each on disk before the next thing happens:

    {"terms": ..., "run": "..."}      what was promised, and a number for the ledger to know the run by
    {"home": "..."}                   where the file is, so that a copy is known
    {"paid": ...}                     the ledger's entry
    {"claim": "step 3"}               about to draw
    {"keep": "step 3", "value": ...}  drawn, with its noise

Nothing in it is private: a value is written only after its noise was added.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.errors import BadInput, BudgetRefused
from tacit.files import Json, flush_folder, open_private
from tacit.privacy.claim_store import FILE, MEMORY, Home, exhaustion, process_name

LINES = {"payment": "paid", "home": "home"}  # what a document of the run is called in the file


class Journal:
    """A run of draws with names, in a file or, without one, in memory.

    Edges. A line cut short by a crash never happened. A file that was edited is refused.

    >>> from tacit.privacy.claims import Claims, Promise
    >>> from tacit.privacy.guarantee import Guarantee
    >>> claims = Claims(Journal(None), Promise(Guarantee.none("an example"), None, "run {run}", {"steps": 2}))
    >>> claims.draw("step 0", lambda: 5, lambda total: total + 0.25), claims.draw("step 0", lambda: 5, float)
    (5.25, 5.25)
    """

    shared, hidden = False, False

    def __init__(self, file: Path | None) -> None:
        self.file, self.run, self._object = file, uuid.uuid4().hex, uuid.uuid4().hex
        self._size = 0  # bytes of the file that were read or written here
        self._documents: Json = {}
        self._claimed: set[str] = set()
        self._kept: Json = {}
        if file is not None and file.exists():
            with self._open(file) as descriptor:
                self._catch_up(descriptor)

    def home(self) -> Home:
        kind, place = (
            (MEMORY, f"{process_name()} {self._object}") if self.file is None else (FILE, str(self.file.resolve()))
        )
        return Home(kind, place, f"run {self.run}")

    def read(self, name: str) -> Any:
        return self._documents.get(LINES.get(name, name))

    def write(self, name: str, value: Any) -> None:
        self._append({"terms": value, "run": self.run} if name == "terms" else {LINES.get(name, name): value})

    def runs(self) -> list[str]:
        return [self.run]

    def count_claims(self) -> int:
        return len(self._claimed)

    def names(self) -> dict[str, str]:
        return dict.fromkeys(self._claimed, "")

    def find(self, name: str) -> tuple[Any] | None:
        return (self._kept.get(name),) if name in self._claimed else None

    def claim(self, name: str, most: int | None) -> None:
        if most is not None and len(self._claimed) >= most:
            raise exhaustion(most)
        self._append({"claim": name})

    def keep(self, name: str, value: Any) -> None:
        self._append({"keep": name, "value": value})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_object": uuid.uuid4().hex}  # a copy in memory is another run

    def _take(self, line: Json) -> None:
        match line:
            case {"terms": dict(terms), "run": str(run)} if not self._documents:
                self._documents["terms"], self.run = terms, run
            case {"paid": dict()} | {"home": str()} if self._documents:
                self._documents |= line
            case {"claim": str(name)} if self._documents and name not in self._claimed:
                self._claimed.add(name)
            case {"keep": str(name), "value": value} if name in self._claimed:
                self._kept[name] = value
            case _:
                raise self._unreadable()

    def _append(self, line: Json) -> None:
        if self.file is not None:
            new = not self.file.exists()
            with self._open(self.file) as descriptor:
                self._catch_up(descriptor)  # another process may have written meanwhile
                self._refuse_again(line)
                text = json.dumps(line).encode() + b"\n"
                if os.write(descriptor, text) != len(text):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.file))
                os.fsync(descriptor)
                self._size += len(text)
            if new:
                flush_folder(self.file.parent)
        self._refuse_again(line)
        self._take(line)

    def _refuse_again(self, line: Json) -> None:
        if "terms" in line and self._documents:
            raise BadInput(f"another process has begun {self.file}; wait for it, or use another folder")
        if line.get("claim") in self._claimed:
            raise BudgetRefused(f"{line['claim']} was drawn elsewhere; a second look is not paid for")

    def _catch_up(self, descriptor: int) -> None:
        """Read what the file has beyond what is known of it."""
        raw = os.pread(descriptor, max(0, os.fstat(descriptor).st_size - self._size), self._size)
        whole = raw[: raw.rfind(b"\n") + 1]
        if os.fstat(descriptor).st_size < self._size:
            raise self._unreadable()
        if whole != raw:  # cut short while it was written: what it announced did not happen yet
            os.ftruncate(descriptor, self._size + len(whole))
            os.fsync(descriptor)
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
        except ValueError:
            raise self._unreadable() from None
        for line in lines:
            self._take(line)
        self._size += len(whole)

    @contextmanager
    def _open(self, file: Path) -> Iterator[int]:
        """The file, held against other processes while it is open."""
        import fcntl

        descriptor = open_private(file, os.O_RDWR | os.O_APPEND)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _unreadable(self) -> BadInput:
        return BadInput(f"{self.file} is not what was written there; use another folder. Nothing was released")
