"""What this machine has seen of a ledger, so that a server that forgot, or an older copy, is found out.

A standby that had not received everything and was promoted, or a backup that was put back, looks like a sound ledger
with more budget left. Whoever has seen a later entry knows better. So each machine notes the last entry that it saw of
each ledger, by the ledger's identifier, wherever it is kept: a ledger without that entry is refused, be it on the same
server or on another one, in the same file or in a copy. The note is not private: it has the ledger's identifier, the
entry's number and its hash.

A second note says which ledger had a name on a server. A file has its mark beside it for that (see file).

A machine that has seen nothing cannot know. A standby must receive a debit before it counts (see docs/ledger.md); the
witness finds out where that was not so.
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


def path_of(ledger: str) -> Path:
    """The note about one ledger, by its identifier."""
    return folder() / hashlib.sha256(f"ledger\n{ledger}".encode()).hexdigest()[:32]


def path_of_name(cluster: str, name: str) -> Path:
    """The note about a name; ``cluster`` names a server's data, which a standby shares with its primary.

    An earlier release noted all that it saw here.
    """
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
        try:
            descriptor = open_private(path, os.O_RDWR)
        except FileNotFoundError:
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
        self._store, self._header, self._path = store, header, path_of(header.id)
        self._server = store.path is None
        self._places = [self._path.with_name(f"{self._path.name}.{k}") for k in range(2)] if self._server else []
        self._last: SeenEntry | None = None  # where no file can be written, this process at least remembers
        if self._server:
            self._agree_on_name(path_of_name(store.cluster, header.name))

    def _agree_on_name(self, path: Path) -> None:
        """LedgerTampered if this machine has seen another ledger of this name on this server."""
        named = read(path)
        if named is None:
            note(path, SeenEntry(self._header.id, 0, self._header.genesis))
        elif named.ledger != self._header.id:
            raise self._refusal("was made anew: this machine has seen another one of its name", path)
        elif named.number:
            note(self._path, named)

    @contextmanager
    def reading(self) -> Iterator[Turn]:
        """A transaction that sees one moment of the ledger."""
        known = self._recall()  # before the moment that is seen: another process may be ahead by now
        with self._store.look(self._header.id, known.number if known else 0) as turn:
            end = self._look(turn, known)
            yield turn
            news = end is not None and self._is_news(end)
            # What is read from a file may be so new that its name is not on disk yet; who wrote it notes it.
            if not self._server or (news and not turn.connection.exec_driver_sql(IS_KEPT).scalar()):
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
        kept, last = read(self._path), self._last
        if kept is None or (last is not None and kept.ledger == last.ledger and kept.number < last.number):
            return last
        return kept

    def _is_news(self, seen: SeenEntry) -> bool:
        return self._last is None or seen.number > self._last.number

    def _note(self, seen: SeenEntry | None) -> None:
        if seen is not None and self._is_news(seen):
            self._last = seen
            note(self._path, seen)

    def _look(self, turn: Turn, known: SeenEntry | None) -> SeenEntry | None:
        """The last entry by now; LedgerTampered if what is known is not there."""
        row = turn.ends.row
        if known is not None and known.ledger == self._header.id:
            if row is None or row.length < known.number:
                has = "none" if row is None else f"{row.length} of them"
                raise self._refusal(f"is behind: this machine has seen {known.number} entries, and it has {has}")
            if any(e.hash != known.hash for e in turn.ends.rows if e.number == known.number):  # a missing one: see end
                raise self._refusal(f"went another way: entry {known.number} is not the one seen here")
        return None if row is None else SeenEntry(self._header.id, int(row.length), str(row.head))

    def _refusal(self, what: str, path: Path | None = None) -> LedgerTampered:
        return LedgerTampered(
            f"ledger {self._header.name!r} at {self._store.shown} {what}. {_remedy(path or self._path)}. Nothing was "
            "released"
        )


def _remedy(path: Path) -> str:
    return (
        "A standby that lacked what was written last was promoted, an older copy was put back, or two copies are in "
        "use, and what was spent since is forgotten: bring back the one that has it. Only if nothing was released "
        f"since, remove {path}"
    )
