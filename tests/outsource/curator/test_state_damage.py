"""A curator's state with bits changed or cut short: what was told stays as it was told, or nothing more is told."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from outsource_parts import hill, some_rows

from tacit.errors import StateError, TacitError
from tacit.outsource.curator import Curator
from tacit.outsource.curator.state import State
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.protocol.terms import Refused

ROWS = some_rows(40)
LIMIT, TOLD = 8, range(6)


def curator(folder: Path) -> Curator:
    return Curator(ROWS, hill(ROWS), epsilon=2.0, delta=1e-4, state=folder / "state", queries=LIMIT)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """A state of which six of eight queries are used, all of it in the one file."""
    with curator(tmp_path / "original") as made:
        for row in TOLD:
            made.ask([row], request=f"request-{row}")
    path = tmp_path / "original" / "state" / "curator.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return tmp_path / "original"


def places(content: bytes) -> Iterator[int]:
    """Bytes that matter: answers, the rows that were asked for, the terms, the words of the schema."""
    for row in TOLD:
        at = content.index(struct.pack(">d", hill(ROWS)[row]))
        yield from (at, at + 3, at + 7)
        yield content.index(f"request-{row}".encode()) + 7
    terms = content.index(b'"guarantee"')
    yield from range(terms, terms + 200, 13)
    yield from (content.index(b"CREATE TABLE tacit_outsource_answer") + k for k in (0, 8, 20))


def test_a_changed_bit_changes_no_answer_and_gives_no_more_of_them(original: Path, tmp_path: Path) -> None:
    content = (original / "state" / "curator.db").read_bytes()
    whole = {row: float(hill(ROWS)[row]) for row in range(len(ROWS))}
    refused = 0
    for at in places(content):
        folder = tmp_path / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(original, folder)
        damaged = bytearray(content)
        damaged[at] ^= 4
        (folder / "state" / "curator.db").write_bytes(damaged)
        told = set(TOLD)
        try:
            with curator(folder) as opened:
                for row in range(12):
                    try:
                        answer = opened.ask([row], request=f"request-{row}")[0]
                    except Refused:
                        continue
                    assert answer.value == whole[row], f"byte {at}"
                    told.add(row)
            assert len(told) <= LIMIT, f"byte {at}"
        except TacitError:  # in a type of ours
            refused += 1
    assert refused > 30


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tacit_outsource_exchange SET position = x''",
        "UPDATE tacit_outsource_exchange SET row = 'three'",
        "UPDATE tacit_outsource_answer SET value = x'00'",
        "UPDATE tacit_outsource_study SET terms = '{', seal = NULL",
        "UPDATE tacit_outsource_token SET hash = x'00'",
        "INSERT INTO tacit_outsource_audit (name, time, line) VALUES ('study', 't', '{')",
        "DELETE FROM tacit_outsource_part",
    ],
)
def test_values_of_another_kind_are_told_in_a_type_of_ours(original: Path, change: str) -> None:
    """A changed bit may turn a number into bytes, or JSON into none."""
    with Tokens(original / "state", environment="") as tokens:
        token = tokens.grant("alice")
    with closing(sqlite3.connect(original / "state" / "curator.db")) as connection, connection:
        assert connection.execute(change).rowcount > 0
    with pytest.raises(StateError):
        look_at_all(original, token)


def look_at_all(folder: Path, token: str) -> None:
    state = State(folder / "state", "study", hold=False)
    try:
        state.load()
        state.audit()
    finally:
        state.close()
    with Tokens(folder / "state", environment="") as tokens:
        tokens.who(token)
    with curator(folder) as opened:
        opened.table()


@pytest.mark.parametrize("length", [1, 99, 4096, 30_000])
def test_a_state_cut_short_is_refused(original: Path, length: int) -> None:
    path = original / "state" / "curator.db"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(StateError):
        curator(original)
