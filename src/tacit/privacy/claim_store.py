"""What a store of claims is: where a run is kept, and how a copy of it is known."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Protocol

from tacit.errors import BudgetRefused, LedgerError

MEMORY, FILE, SERVER = "memory", "file", "server"
_process = uuid.uuid4().hex  # a name for this process


class Store(Protocol):
    """Where a run is kept. What a method writes has happened, for every process, when it returns.

    ``shared``: any process may claim and draws are alike; otherwise one process holds it and draws have names.
    ``hidden``: nobody sees what was drawn until it is settled, so what was lost before that is drawn again.
    """

    shared: bool
    hidden: bool

    def home(self) -> Home: ...
    def read(self, name: str) -> Any:
        """A document of the run: terms, home, payment, answer; None if it is not there."""

    def write(self, name: str, value: Any) -> None: ...
    def runs(self) -> list[str]:
        """Random numbers by which the run is known: one, or several if processes began it at once."""

    def count_claims(self) -> int:
        """Draws made or lost so far."""

    def names(self) -> dict[str, str]:
        """The names of these, where they have any, with digests of what was drawn if it is ``hidden``, else empty."""

    def claim(self, key: Any, most: int | None) -> None:
        """Note that a draw is about to be made; BudgetRefused if it was claimed before, or most are."""

    def find(self, key: Any) -> tuple[Any] | None:
        """What was drawn, (None,) if it was lost, and None if it was never claimed."""

    def keep(self, key: Any, value: Any) -> None: ...


@dataclass(frozen=True)
class Home:
    """Which run this is and where it is kept. A copy has another home, or came by a way that shows."""

    kind: str  # MEMORY, FILE or SERVER
    place: str  # the process and object, the path, or the address
    run: str  # its name there

    def __str__(self) -> str:
        """For the ledger, which is not published."""
        return json.dumps(astuple(self))

    @property
    def mark(self) -> str:
        """For the store, which may be: tells two homes apart and names neither."""
        return f"{self.kind}:{hashlib.sha256(str(self).encode()).hexdigest()[:32]}"

    def continues(self, before: Home, runs: list[str]) -> bool:
        """Whether a run that was kept elsewhere may go on here while a ledger counts: it was moved, not copied."""
        if before == self:
            return True
        if before.run != self.run or MEMORY in (before.kind, self.kind):
            return False
        there = Path(before.place)
        if before.kind != FILE or not there.exists() or (self.kind == FILE and there.samefile(self.place)):
            return True
        beside = there.with_name(f"{there.name}-wal")  # what SQLite has not moved into the file yet
        kept = there.read_bytes() + (beside.read_bytes() if beside.exists() else b"")
        return not any(run.encode() in kept for run in runs)  # another run is kept there by now


def process_name() -> str:
    """A name for this process that no other has, its own forks included."""
    return f"{os.getpid()} {_process}"


def exhaustion(draws: int | None) -> BudgetRefused:
    return BudgetRefused(
        f"{draws} observations were paid for and all are used. Nothing was released. Open a new study with its own "
        "budget to observe more"
    )


def older_copy() -> LedgerError:
    return LedgerError(
        "the ledger knows of draws, or of a release, that this run does not hold: an older copy was put back. Start a "
        "new study or use another folder, which is paid for anew. Nothing was drawn"
    )


def _rename_process() -> None:
    global _process
    _process = uuid.uuid4().hex


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rename_process)
