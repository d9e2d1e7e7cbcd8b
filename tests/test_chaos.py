"""Chaos in its short form; `make chaos` is the long one. Without any one mend it finds a violation."""

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


TIMES = {"curators": 2, "files": 3, "logs": 25}


@pytest.mark.parametrize("part", TIMES)
def test_copies_hold(load: Any, folder: Path, report: Any, part: str) -> None:
    getattr(load("benchmarks.faults._copies"), part)(report, folder, TIMES[part])
    assert report.violations == []
    assert report.faults.total() >= TIMES[part]


def test_commits_that_fail_and_copies_of_live_runs_hold(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._commits").commits(report, folder, 40)
    load("benchmarks.faults._commits").live_runs(report, folder, 2)
    assert report.violations == []
    assert report.faults["ledger: a commit that failed"] == 40


@pytest.mark.slow
def test_with_any_mend_taken_out_chaos_finds_a_violation(load: Any, folder: Path, postgres: Server) -> None:
    mends, elsewhere = load("benchmarks.faults._mends"), Server()
    try:
        for name, mend in mends.MENDS.items():
            report, place = load("benchmarks.faults._report").Report(seed=1), folder / name
            place.mkdir()
            assert mends.find_violations(mend, report, place, (postgres, elsewhere) if mend.server else None), name
    finally:
        elsewhere.remove()


@pytest.mark.slow
def test_a_kill_that_depends_on_the_setting_holds(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._copies").settings(report, folder, 3)
    assert report.violations == []


@pytest.mark.slow
@pytest.mark.postgres
def test_dumps_and_schemas_hold(load: Any, folder: Path, report: Any, postgres: Server) -> None:
    elsewhere = Server()
    try:
        load("benchmarks.faults._copies").servers(report, folder, postgres, elsewhere, 2)
    finally:
        elsewhere.remove()
    assert report.violations == []


@pytest.mark.slow
def test_a_curator_answers_again_after_every_full_disk(load: Any, folder: Path, report: Any) -> None:
    load("benchmarks.faults._curators").on_small_disk(report, folder, 20)
    if report.missing:
        pytest.skip(report.missing[0])
    assert report.violations == []
    assert report.faults.total() >= 30


@pytest.mark.slow
@pytest.mark.postgres
def test_every_part_of_chaos_holds(load: Any) -> None:
    whole = load("benchmarks.faults.chaos").break_all(seconds=60)
    assert whole.violations == []
    assert whole.missing == []
    assert whole.faults.total() > 200
