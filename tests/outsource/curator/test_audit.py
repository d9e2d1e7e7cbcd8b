"""The audit log: in the state, bounded, and quiet about those who knock without a token."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from outsource_parts import hill, some_rows

from tacit.errors import StateError
from tacit.outsource.curator import Curator
from tacit.outsource.curator import state as states
from tacit.outsource.curator.audit import MOST, AuditLog

PATHS = ("/v1/study", "/v1/queries")


@pytest.fixture(params=["folder", pytest.param("postgres", marks=pytest.mark.postgres)])
def curator(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    place = tmp_path / "state" if request.param == "folder" else request.getfixturevalue("postgres_url")
    rows = some_rows(20)
    with Curator(rows, hill(rows), epsilon=2.0, delta=1e-3, state=place) as made:
        yield made


def test_refusals_are_counted_by_the_minute(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.outsource.curator.audit.now", lambda: "2026-05-01T10:00:30.000+00:00")
    audit = AuditLog(curator.append_audit, PATHS)
    for number in range(5000):
        audit.note(None, "GET", f"/wp-admin/{number}", 401)
        audit.note(None, "GET", "/v1/study", 401)
    audit.note("alice", "POST", "/v1/queries", 200, request="request-1", rows=[1])
    audit.note("alice", "POST", "/v1/queries", 200, request="request-2", rows=[2])
    audit.close()
    lines = curator._state.audit()
    assert [line["rows"] for line in lines if "rows" in line] == [[1], [2]]
    assert {(line["path"], line["who"], line["times"]) for line in lines if "times" in line} == {
        ("other", None, 5000),
        ("/v1/study", None, 5000),
    }


def test_the_log_keeps_its_latest_lines(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "AUDIT_LINES", 50)
    for turn in range(10):
        curator.append_audit([{"time": "t", "number": 20 * turn + k} for k in range(20)])
    assert [line["number"] for line in curator._state.audit()] == list(range(150, 200))
    assert [line["number"] for line in curator._state.audit(3)] == [197, 198, 199]


def test_whoever_knocks_displaces_no_query_from_the_log(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by words of their own in place of a method, nor by knocking for weeks."""
    monkeypatch.setattr(states, "AUDIT_LINES", 50)
    audit = AuditLog(curator.append_audit, PATHS)
    audit.note("alice", "POST", "/v1/queries", 200, request="request-1", rows=[1])
    for number in range(500):
        audit.note(None, f"M{number}", "/v1/study", 405)
    audit.flush()
    assert len(curator._state.audit()) <= 3  # the query, and one count: two if the minute ended in between
    for minute in range(200):
        monkeypatch.setattr(
            "tacit.outsource.curator.audit.now", lambda minute=minute: f"2026-05-01T{minute:05d}:00.000+00:00"
        )
        audit.note(None, "GET", "/v1/study", 401)
        audit.note("alice", "BREW", "/v1/study", 405)
        audit.flush()
    audit.close()
    lines = curator._state.audit()
    assert [line["rows"] for line in lines if "rows" in line] == [[1]]
    assert len(lines) == 51
    assert not any("BREW" in str(line) for line in lines)


def test_studies_in_one_database_displace_nothing_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "AUDIT_LINES", 50)
    first, second = states.State(tmp_path, "first", hold=False, make=True), states.State(tmp_path, "second", hold=False)
    first.append_audit([{"time": "t", "number": 0}])
    second.append_audit([{"time": "t", "number": k} for k in range(100)])
    first.append_audit([{"time": "t", "number": 1}])
    assert [line["number"] for line in first.audit()] == [0, 1]
    assert [line["number"] for line in second.audit()] == list(range(50, 100))


def test_the_log_goes_on_after_any_error() -> None:
    written: list[dict[str, Any]] = []
    trouble: list[Exception] = [RuntimeError("once")]

    def write(lines: list[dict[str, Any]]) -> None:
        if trouble:
            raise trouble.pop()
        written.extend(lines)

    audit = AuditLog(write, PATHS)
    audit.note(None, "GET", "/v1/study", 401)
    audit.flush()
    audit.flush()
    audit.close()
    assert [line["times"] for line in written] == [1]


def test_a_state_that_cannot_be_written_is_waited_for_within_bounds() -> None:
    written: list[dict[str, Any]] = []
    down = True

    def write(lines: list[dict[str, Any]]) -> None:
        if down:
            raise StateError("the disk is full")
        written.extend(lines)

    audit = AuditLog(write, PATHS)
    for number in range(MOST + 500):
        audit.note("alice", "POST", "/v1/queries", 200, request=f"request-{number}")
        audit.note(None, "GET", "/v1/study", 401)
        if number % 500 == 0:
            audit.flush()
    down = False
    audit.close()
    assert sum("request" in line for line in written) == MOST
    assert sum(line["times"] for line in written if line["status"] == 401) == MOST + 500


def test_a_flood_without_a_token_adds_next_to_nothing_to_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.outsource.curator.audit.EVERY", 3600.0)  # one write, however slow the machine is
    rows = some_rows(20)
    with Curator(rows, hill(rows), epsilon=2.0, delta=1e-3, state=tmp_path / "state") as curator:
        before = sum(f.stat().st_size for f in (tmp_path / "state").iterdir())
        audit = AuditLog(curator.append_audit, PATHS)
        for number in range(20_000):
            audit.note(None, "GET", f"/{os.urandom(4).hex()}/{number}", 401 if number % 2 else 429)
        audit.close()
        assert len(curator._state.audit()) <= 4  # a minute may end in between
        assert sum(f.stat().st_size for f in (tmp_path / "state").iterdir()) - before < 100_000
