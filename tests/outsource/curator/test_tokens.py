"""Tokens: hashes in the state's database; granted and revoked at once by many, none is lost; they end."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from outsource_parts import hill, some_rows

from tacit.cli.options import parse_duration
from tacit.errors import BadInput
from tacit.outsource.curator import Curator
from tacit.outsource.curator.state import STATE, State
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.protocol.terms import Refused


@pytest.fixture(params=["folder", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "state")
    url: str = request.getfixturevalue("postgres_url")
    return url


def test_tokens_are_kept_as_hashes_and_may_come_from_the_environment(place: str, tmp_path: Path) -> None:
    tokens = Tokens(place, environment="carol=0123456789abcdefghij, dave=9876543210abcdefghij")
    token = tokens.grant("alice")
    assert [g.hash for g in tokens.grants() if g.name == "alice"] == [hashlib.sha256(token.encode()).hexdigest()]
    assert not any(token.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert tokens.who("0123456789abcdefghij") == "carol"
    assert tokens.revoke("carol")
    assert tokens.who("0123456789abcdefghij") is None
    assert not tokens.revoke("nobody")
    again = tokens.grant("alice")
    assert (tokens.who(token), tokens.who(again)) == (None, "alice")
    with pytest.raises(BadInput, match="letters, digits"):
        tokens.grant("a b")
    tokens.close()


def test_tokens_of_the_environment_alone_cannot_be_changed() -> None:
    with pytest.raises(BadInput, match="20 characters or more"):
        Tokens(None, environment="eve=short")
    with pytest.raises(BadInput, match="environment alone"):
        Tokens(None, environment="").grant("alice")


def test_a_token_ends_when_its_time_is_over(place: str) -> None:
    with Tokens(place, environment="") as tokens:
        gone, good = tokens.grant("alice", lasts=timedelta(seconds=-1)), tokens.grant("bob", lasts=timedelta(days=1))
        assert (tokens.who(gone), tokens.who(good)) == (None, "bob")
        said = {g.name: g.standing for g in tokens.grants()}
        assert said["alice"].startswith("expired 20")
        assert said["bob"].startswith("may ask until 20")
        assert tokens.who(tokens.grant("alice")) == "alice"


def test_spans_of_time_are_read() -> None:
    spans = {"30d": timedelta(days=30), "12h": timedelta(hours=12), "90m": timedelta(minutes=90)}
    assert {text: parse_duration(text) for text in spans} == spans
    for wrong in ("", "30", "d", "-1d", "0d", "3w", "1d1h", "9999999d"):
        with pytest.raises(BadInput, match="such as 30d"):
            parse_duration(wrong)


def test_of_many_who_grant_and_revoke_at_once_nobody_is_forgotten(place: str) -> None:
    names = [f"modeler-{i}" for i in range(8)]
    with Tokens(place, environment="") as tokens:
        for name in names:
            tokens.grant(name)

    def change(number: int) -> None:
        with Tokens(place, environment="") as mine:
            if number % 2:
                mine.revoke(names[number])
            else:
                mine.grant(names[number])
            mine.grant(f"new-{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(8)))
    with Tokens(place, environment="") as tokens:
        revoked = {g.name for g in tokens.grants() if g.revoked}
        assert revoked == {name for i, name in enumerate(names) if i % 2}
        assert {g.name for g in tokens.grants()} == {*names, *(f"new-{i}" for i in range(8))}


def test_tokens_are_granted_while_the_state_is_written_and_read(tmp_path: Path) -> None:
    """Pages are then in the log of writes beside the file: the state is sound, and is called so."""
    place, end = tmp_path / "state", threading.Event()
    state = State(place, "study")
    reader = sqlite3.connect(place / STATE)  # while somebody reads, pages stay in the log
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()

    def write() -> None:
        while not end.is_set():
            state.append_audit([{"time": str(i), "text": "x" * 500} for i in range(100)])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        granted = {}
        for k in range(12):
            with Tokens(place) as tokens:
                granted[f"m{k}"] = tokens.grant(f"m{k}")
            log = place / f"{STATE}-wal"
            assert log.stat().st_size > 0
    finally:
        end.set()
        writer.join()
        reader.close()
        state.close()
    with Tokens(place) as tokens:
        assert {name: tokens.who(token) for name, token in granted.items()} == {name: name for name in granted}


def test_who_is_revoked_gets_no_answer_from_that_moment(place: str) -> None:
    """Whatever the service believes of its tokens: the query is refused where it is claimed."""
    rows = some_rows(20)
    with Tokens(place, environment="") as tokens, Curator(rows, hill(rows), epsilon=2.0, delta=1e-3, state=place) as c:
        tokens.grant("alice")
        assert c.ask([1], modeler="alice")[0].row == 1
        tokens.revoke("alice")
        with pytest.raises(Refused) as refusal:
            c.ask([2], modeler="alice")
        assert refusal.value.code == "token"
        assert [e.row for e in c.exchanges()] == [1]


def test_who_is_revoked_in_the_middle_of_a_long_request_is_evaluated_no_further(place: str) -> None:
    rows, evaluated = some_rows(20), []
    tokens = Tokens(place, environment="")
    tokens.grant("alice")

    def evaluate(row: Any) -> float:
        evaluated.append(1)
        if len(evaluated) == 2:
            tokens.revoke("alice")
        return 1.0

    with Curator(rows, evaluate, epsilon=2.0, delta=1e-3, state=place) as curator:
        with pytest.raises(Refused, match=r"was revoked\. The rest was not evaluated") as refused:
            curator.ask([0, 1, 2, 3], modeler="alice")
        assert (refused.value.code, len(evaluated)) == ("token", 2)
        assert curator.exchanges() == []
    tokens.close()


def test_tokens_of_the_first_release_move_into_the_state(tmp_path: Path) -> None:
    hashes = {name: hashlib.sha256(f"token of {name}".encode()).hexdigest() for name in ("alice", "bob")}
    listed = [{"name": n, "hash": h, "revoked": "2026-01-01" if n == "bob" else None} for n, h in hashes.items()]
    (tmp_path / "tokens.json").write_text(json.dumps({"format": "tacit.tokens/1", "tokens": listed}))
    for _ in range(2):
        with Tokens(tmp_path, environment="") as tokens:
            assert (tokens.who("token of alice"), tokens.who("token of bob")) == ("alice", None)
    assert not (tmp_path / "tokens.json").exists()
    (tmp_path / "tokens.json").write_text("[]")
    with pytest.raises(BadInput, match="no file of tokens"):
        Tokens(tmp_path, environment="")
