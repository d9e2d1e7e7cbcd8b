"""Chaos in its short form; `make chaos` is the long one. Whoever draws first or forgets the limit is caught by it."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres_server import Server, memory


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return importlib.import_module


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tacit-", dir=memory()) as place:
        yield Path(place)


@pytest.fixture
def report(load: Any) -> Any:
    return load("benchmarks.faults._report").Report(seed=1)


def test_killed_stopped_and_damaged_ledgers_hold(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._ledgers").on_files(report, folder, 3)
    load("benchmarks.faults._damage").ledgers(report, folder, 20, 5)
    assert report.violations == []
    assert report.faults.total() == 31
    assert report.done["draws"] > 0


def test_a_killed_and_stopped_curator_holds(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._curators").on_files(report, folder, 2)
    load("benchmarks.faults._damage").states(report, folder, 5, 2)
    assert report.violations == []
    assert report.faults.total() == 11
    assert report.done["answers told"] > 0


def test_a_killed_search_holds(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._runs").killed_runs(report, folder, "tune", 1)
    assert report.violations == []
    assert report.faults.total() >= 1


def test_who_draws_before_the_debit_is_caught(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._ledgers").on_files(report, folder, 3, careless=True)
    assert any("draws without a debit" in words for words in report.violations)


def test_a_ledger_that_was_used_up_since_the_last_look_goes_on_with_a_new_one(
    load: Any, folder: Path, report: Any
) -> None:
    account = load("benchmarks.faults._ledgers").Account(report, str(folder / "ledger.db"), folder)
    account.wait()
    account.check()
    for worker in account.workers:
        worker.process.join(60)
    assert account.goes_on(20)
    account.close()
    assert report.violations == []


SEEN = "tacit.privacy.ledger.witness.read"
MENDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "names at the ledger": ({"tacit.privacy.ledger.draws.Draws.name": lambda *given: None}, "curators", "told twice"),
    "one name of a file": (  # on two machines, neither of which has seen what the other did
        {"tacit.privacy.ledger.store.check_place": lambda *given: True, SEEN: lambda path: None},
        "files",
        "names",
    ),
    "a witness by identifier": ({SEEN: lambda path: None}, "files", "copies"),
    "pages in the log of writes": ({"tacit.privacy.ledger.file._pages_in_log": lambda path: set()}, "logs", "damaged"),
}
TIMES = {"curators": 2, "files": 3, "logs": 25}


@pytest.mark.parametrize("part", TIMES)
def test_copies_hold(load: Any, folder: Path, report: Any, part: str) -> None:
    getattr(load("benchmarks.faults._copies"), part)(report, folder, TIMES[part])
    assert report.violations == []
    assert report.faults.total() >= TIMES[part]


@pytest.mark.slow
@pytest.mark.parametrize("mend", MENDS)
def test_with_a_mend_taken_out_copies_do_not_hold(
    load: Any, folder: Path, report: Any, mend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    patches, part, words = MENDS[mend]
    for place, without in patches.items():
        monkeypatch.setattr(place, without)
    getattr(load("benchmarks.faults._copies"), part)(report, folder, 8 * TIMES[part])
    assert any(words in violation for violation in report.violations)


@pytest.mark.slow
def test_a_kill_that_depends_on_the_setting_holds(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._copies").settings(report, folder, 3)
    assert report.violations == []


def find_by_search_path(connection: Any, table: str, given: Any, shown: str) -> Any:
    """As before tables were named in full."""
    found = connection.exec_driver_sql("SELECT to_regclass(%(table)s)", {"table": table}).scalar()
    return connection.exec_driver_sql("SELECT current_schema()").scalar() if found else None


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("mend", ["", "a witness by identifier", "tables named in full"])
def test_dumps_and_schemas_hold(
    load: Any, folder: Path, report: Any, mend: str, monkeypatch: pytest.MonkeyPatch, postgres: Server
) -> None:
    if mend == "tables named in full":
        monkeypatch.setattr("tacit.privacy.ledger.server.find_schema", find_by_search_path)
        monkeypatch.setattr("tacit.privacy.ledger.witness.Witness._agree_on_name", lambda *given: None)
    elif mend:
        monkeypatch.setattr("tacit.privacy.ledger.witness.read", lambda path: None)
    elsewhere = Server()
    try:
        load("benchmarks.faults._copies").servers(report, folder, postgres, elsewhere, 2)
    finally:
        elsewhere.remove()
    assert bool(report.violations) == bool(mend)


@pytest.mark.slow
def test_a_curator_answers_again_after_every_full_disk(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._curators").on_small_disk(report, folder, 20)
    if report.missing:
        pytest.skip(report.missing[0])
    assert report.violations == []
    assert report.faults.total() >= 30


@pytest.mark.slow
def test_who_forgets_the_limit_is_caught(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._curators").on_files(report, folder, 40, careless=True)
    assert any("under a limit of" in words for words in report.violations)


@pytest.mark.slow
@pytest.mark.postgres
def test_every_part_of_chaos_holds(load: Any) -> None:
    whole = load("benchmarks.faults.chaos").break_all(seconds=60)
    assert whole.violations == []
    assert whole.missing == []
    assert whole.faults.total() > 200
