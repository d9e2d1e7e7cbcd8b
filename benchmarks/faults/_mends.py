"""The mends on which the promises rest, each with what takes it out and the part of chaos that then finds a violation.

The mends of the protocol itself are also taken out of its model, exhaustively: tests/laws/test_protocol.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.faults import _commits as commits
from benchmarks.faults import _copies as copies
from benchmarks.faults import _curators as curators
from benchmarks.faults import _ledgers as ledgers
from benchmarks.faults import _work as work
from benchmarks.faults._report import Report
from tacit.privacy.ledger import file

SEEN = "tacit.privacy.ledger.witness.read"
Part = Callable[[Report, Path], None]


@dataclass(frozen=True)
class Mend:
    """What keeps a promise. ``without`` replaces what is named; ``part`` then finds a violation with these words."""

    promise: str
    part: Part
    words: str
    without: dict[str, Any] = field(default_factory=dict)
    server: bool = False


def _keep_without_looking(connection: Any, row: Any) -> None:
    with suppress(Exception):
        _keep(connection, row)


_keep = file.keep


def find_by_search_path(connection: Any, table: str, given: Any, shown: str) -> Any:
    """As before tables were named in full."""
    found = connection.exec_driver_sql("SELECT to_regclass(%(table)s)", {"table": table}).scalar()
    return connection.exec_driver_sql("SELECT current_schema()").scalar() if found else None


MENDS = {
    "debit before draw": Mend(
        "nothing is drawn that is not paid for",
        lambda r, f: ledgers.on_files(r, f, 3, careless=True),
        "without a debit",
    ),
    "limit in the state": Mend(
        "a study answers no more than its limit",
        lambda r, f: curators.on_files(r, f, 40, careless=True),
        "under a limit",
    ),
    "names at the ledger": Mend(
        "a row is told once, or alike, by all copies of a state",
        lambda r, f: copies.curators(r, f, 16),
        "told twice",
        {"tacit.privacy.ledger.draws.Draws.name": lambda *given: None},
    ),
    "one name of a file": Mend(  # on two machines, neither of which has seen what the other did
        "a file under two names is one budget",
        lambda r, f: copies.files(r, f, 24),
        "names",
        {"tacit.privacy.ledger.store.check_place": lambda *given: True, SEEN: lambda path: None},
    ),
    "a witness by identifier": Mend(
        "an older copy is refused", lambda r, f: copies.files(r, f, 24), "copies", {SEEN: lambda path: None}
    ),
    "pages in the log of writes": Mend(
        "a sound state is not called damaged",
        lambda r, f: copies.logs(r, f, 200),
        "damaged",
        {"tacit.privacy.ledger.file._pages_in_log": lambda path: set()},
    ),
    "settings before runs": Mend(
        "a run that goes on keeps its setting",
        lambda r, f: copies.settings(r, f, 6, work.select_anew),
        "plans of one training",
    ),
    "one digest for a payment": Mend(
        "of copies of a live run one is released",
        lambda r, f: commits.live_runs(r, f, 4),
        "releases for one payment",
        {"tacit.privacy.ledger.Ledger.settle": lambda *given: None},
    ),
    "a commit that fails is an error": Mend(
        "an acknowledged debit is there",
        lambda r, f: commits.commits(r, f, 60),
        "acknowledged",
        {"tacit.privacy.ledger.file.keep": _keep_without_looking},
    ),
    "tables named in full": Mend(
        "a role with a schema of its own has no second budget",
        lambda r, f: None,
        "schema",
        {
            "tacit.privacy.ledger.server.find_schema": find_by_search_path,
            "tacit.privacy.ledger.witness.Witness._agree_on_name": lambda *given: None,
        },
        server=True,
    ),
    "a witness of servers": Mend(
        "an older dump on another server is refused", lambda r, f: None, "dump", {SEEN: lambda path: None}, server=True
    ),
}


@contextmanager
def taken_out(mend: Mend) -> Iterator[None]:
    """Replace what the mend consists of, and put it back."""
    before = []
    for place, without in mend.without.items():
        owner, name = _find(place)
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, without)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _find(place: str) -> tuple[Any, str]:
    """What holds a name, and the name: a module, or a class in one."""
    where, _, name = place.rpartition(".")
    try:
        return import_module(where), name
    except ModuleNotFoundError:
        module, _, kind = where.rpartition(".")
        return getattr(import_module(module), kind), name


def find_violations(mend: Mend, report: Report, folder: Path, servers: tuple[Any, Any] | None = None) -> list[str]:
    """What the part of chaos finds without a mend, in the mend's words."""
    with taken_out(mend):
        if servers is not None:
            copies.servers(report, folder, *servers, 2)
        else:
            mend.part(report, folder)
    return [words for words in report.violations if mend.words in words]
