"""What this machine has seen of a ledger on a server, so that a server that forgot is found out.

A standby that had not received everything and was promoted, or a backup that was put back, looks like a sound ledger
with more budget left. Whoever has seen a later entry knows better. So each machine notes the last entry that it saw of
each ledger, in a small file of its own; a server that does not have that entry is refused. The file is not private: it
has the ledger's identifier, the entry's number and its hash.

A machine that has seen nothing cannot know. A standby must receive a debit before it counts (see docs/ledger.md); the
witness finds out where that was not so.

An SQLite file has its mark beside it instead (see file), since copies of a file may be used side by side on a machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import LedgerTampered
from tacit.files import create_private_folder, open_private
from tacit.locks import in_turns
from tacit.privacy.ledger.chain import Header
from tacit.privacy.ledger.tables import Turn

if TYPE_CHECKING:
    from tacit.privacy.ledger.store import Database

# What is read may be so new that a power cut, or a failover, would lose it before anybody drew for it; then it is not
# noted, or an honest server would be accused. A standby shows what it has.
IS_KEPT = (
    "SELECT CASE WHEN pg_is_in_recovery() THEN true WHEN current_setting('synchronous_standby_names') <> '' THEN false "
    "ELSE pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() END"
)
LINE = re.compile(r"(\S{1,64}) (\d{12}) ([0-9a-f]{64}) ([0-9a-f]{16})\n")


@dataclass(frozen=True)
class SeenEntry:
    """An entry that was seen: of which ledger, its number, its hash. Number 0 is the ledger without entries."""

    ledger: str
    number: int
    hash: str

    def to_line(self) -> str:
        said = f"{self.ledger} {self.number:012d} {self.hash}"
        return f"{said} {_sum(said)}\n"


def _sum(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def folder() -> Path:
    """Where this machine keeps what it has seen; XDG_STATE_HOME moves it."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "tacit" / "ledgers"


def path_of(cluster: str, name: str) -> Path:
    """The file about one ledger; ``cluster`` names a server's data, which a standby shares with its primary."""
    return folder() / hashlib.sha256(f"{cluster}\n{name}".encode()).hexdigest()[:32]


def read(path: Path) -> SeenEntry | None:
    """What was noted; None if nothing was, or nothing that can be read: then nothing is known."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> SeenEntry | None:
    for _ in range(3):  # another process may be writing at this moment
        try:
            found = LINE.fullmatch(os.pread(descriptor, 1024, 0).decode(errors="replace"))
        except OSError:
            return None
        if found and _sum(" ".join(found.groups()[:3])) == found[4]:
            return SeenEntry(found[1], int(found[2]), found[3])
    return None


def note(path: Path, seen: SeenEntry) -> None:
    """Note a later entry than the one that is noted. Where we may not write, nothing is noted."""
    with contextlib.suppress(OSError):
        if not path.exists():
            create_private_folder(path.parent)
        descriptor = open_private(path, os.O_RDWR)
        try:
            before = _read(descriptor)
            if before is None or before.ledger != seen.ledger or before.number < seen.number:
                os.pwrite(descriptor, seen.to_line().encode(), 0)  # lines have one length: none is left over
        finally:
            os.close(descriptor)


def refuse_lost(path: Path, name: str, shown: str) -> None:
    """LedgerTampered if this machine has seen a ledger of this name on this server, now that it is not there."""
    seen = read(path)
    if seen is not None:
        raise LedgerTampered(
            f"this machine has seen ledger {name!r} at {shown}, up to entry {seen.number}, and the server does not "
            f"have it. {_remedy(path)}. Nothing was made"
        )


class Witness:
    """The transactions of one ledger, each of which must see what was seen before it began."""

    def __init__(self, store: Database, header: Header) -> None:
        self._store, self._header = store, header
        self._path = path_of(store.cluster, header.name) if store.path is None else None
        self._places = [self._path.with_name(f"{self._path.name}.{k}") for k in range(2)] if self._path else []
        self._last: SeenEntry | None = None  # where no file can be written, this process at least remembers

    @contextmanager
    def reading(self) -> Iterator[Turn]:
        """A transaction that sees one moment of the ledger."""
        known = self._recall()  # before the moment that is seen: another process may be ahead by now
        with self._store.look(self._header.id, known.number if known else 0) as turn:
            end = self._look(turn, known)
            yield turn
            if end is not None and self._is_news(end) and not turn.connection.exec_driver_sql(IS_KEPT).scalar():
                end = None
        self._note(end)

    @contextmanager
    def writing(self) -> Iterator[Turn]:
        """A transaction that is on disk when the block has ended; its last entry was then seen."""
        known = self._recall()
        seen = known.number if known else 0
        with in_turns(self._places) as leave, self._store.turn(self._header.id, seen, leave) as turn:
            end = self._look(turn, known)
            yield turn
            if turn.made is not None:
                end = SeenEntry(self._header.id, turn.made.number, turn.made.hash)
        self._note(end)

    def _recall(self) -> SeenEntry | None:
        if self._path is None:
            return None
        kept, last = read(self._path), self._last
        if kept is None or (last is not None and kept.ledger == last.ledger and kept.number < last.number):
            return last
        return kept

    def _is_news(self, seen: SeenEntry) -> bool:
        return self._last is None or seen.number > self._last.number

    def _note(self, seen: SeenEntry | None) -> None:
        if self._path is not None and seen is not None and self._is_news(seen):
            self._last = seen
            note(self._path, seen)

    def _look(self, turn: Turn, known: SeenEntry | None) -> SeenEntry | None:
        """The last entry by now; LedgerTampered if what is known is not there."""
        if self._path is None:
            return None
        row = turn.ends.row
        if known is None:
            what = ""
        elif known.ledger != self._header.id:
            what = "was made anew: this machine has seen another one of its name"
        elif row is None or row.length < known.number:
            has = "does not have the ledger" if row is None else f"has {row.length} of them"
            what = f"is behind: this machine has seen {known.number} entries, and the server {has}"
        else:  # an entry that is missing is found by the chain
            other = any(e.hash != known.hash for e in turn.ends.rows if e.number == known.number)
            what = f"went another way: entry {known.number} is not the one seen here" if other else ""
        if what:
            raise LedgerTampered(
                f"ledger {self._header.name!r} at {self._store.shown} {what}. {_remedy(self._path)}. Nothing was "
                "released"
            )
        return None if row is None else SeenEntry(self._header.id, int(row.length), str(row.head))


def _remedy(path: Path) -> str:
    return (
        "A standby that lacked what was written last was promoted, or an older copy was put back, and what was spent "
        f"since is forgotten: bring back the server that has it. Only if nothing was released since, remove {path}"
    )
