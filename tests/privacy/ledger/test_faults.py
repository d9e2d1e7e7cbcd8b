"""Disks that are full or may not be written, servers that are down: an error in words, and no draw."""

from __future__ import annotations

import fcntl
import gc
import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from ledger_workers import draws, release_until_it_fails, running
from postgres_server import Server

from tacit.errors import LedgerError
from tacit.locks import in_turns
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger, server
from tacit.privacy.ledger.file import mark_of, read_mark

PIECE = Guarantee(Budget.gdp(0.001))


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory that other users can reach, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="tacit-"))
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


@pytest.fixture
def small_disk(open_dir: Path) -> Iterator[Path]:
    """A real file system of 24 MB."""
    disk = open_dir / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=777", "tmpfs", disk], capture_output=True)
    if done.returncode:
        pytest.skip("may not mount a file system here; the limit on file size is tested instead")
    yield disk
    subprocess.run(["umount", disk], check=True)


def failing(url: str, out: Path, *, purpose: str = "", limit: int = 0, lowly: bool = False) -> tuple[str, int, str]:
    """Release in a child process until an error: what was left before, entries after, and the error's words."""
    with running(release_until_it_fails, url, "icu", str(out), purpose, limit, lowly) as pipe:
        answer: tuple[str, int, str] = pipe.recv()
    return answer


def all_draws_are_paid(ledger: Ledger, out: Path) -> bool:
    return set(draws(out)) <= {f"{e.number} {e.hash}" for e in ledger.entries()}


@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_may_only_be_read_is_read_and_draws_nothing(open_dir: Path, tmp_path: Path, what: str) -> None:
    path, out = open_dir / "l.db", tmp_path / "draws"
    tmp_path.chmod(0o777)
    Ledger.open(path, "icu", Budget.gdp(1.0)).charge(PIECE)
    path.chmod(0o444 if what == "file" else 0o666)
    open_dir.chmod(0o777 if what == "file" else 0o555)
    left, entries, error = failing(str(path), out, lowly=True)
    assert left.startswith("mu = 0.9999")
    assert entries == 1
    assert "cannot be written" in error
    assert error.endswith("Nothing was released.")
    assert draws(out) == []


def test_a_ledger_is_not_made_where_nothing_may_be_written(open_dir: Path) -> None:
    with pytest.raises(LedgerError, match=r"cannot be created: No such file.*check that the directory exists"):
        Ledger.open(open_dir / "absent" / "l.db", "icu", Budget.gdp(1.0))


def test_a_file_that_may_not_grow_gives_an_error_and_no_draw(tmp_path: Path) -> None:
    path, out = tmp_path / "l.db", tmp_path / "draws"
    ledger = Ledger.open(path, "icu", Budget.gdp(1.0))
    _, entries, error = failing(str(path), out, purpose="long " * 2000, limit=200_000)
    assert "cannot be written" in error
    assert error.endswith("Nothing was released.")
    assert len(draws(out)) == entries == len(ledger.entries()) > 0
    assert all_draws_are_paid(ledger, out)
    ledger.charge(PIECE)  # without the limit there is room again
    ledger.verify()


NOTE_WITH_LITTLE_ROOM = """
import resource, sys
from pathlib import Path
from tacit.privacy.ledger.file import mark_of, note_ledger
path = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (mark_of(path).stat().st_size + 20,) * 2)
note_ledger(path, "ward", "5" * 32)
"""


def test_a_mark_that_finds_no_room_in_the_middle_of_a_line_stands_in_nobodys_way(tmp_path: Path) -> None:
    """Half a line would be a ledger that nobody knows the name of, and no other could be made beside it."""
    path = tmp_path / "l.db"
    Ledger.open(path, "icu", Budget.gdp(1.0)).close()
    before = mark_of(path).read_bytes()
    subprocess.run([sys.executable, "-c", NOTE_WITH_LITTLE_ROOM, path], check=True)
    assert mark_of(path).read_bytes() == before
    Ledger.open(path, "ward", Budget.gdp(1.0)).close()
    assert set(read_mark(path)) == {"icu", "ward"}


def test_a_mark_is_written_though_a_stopped_process_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with mark_of(path).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        Ledger.open(path, "icu", Budget.gdp(1.0)).close()
    assert set(read_mark(path)) == {"icu"}


def test_a_full_disk_gives_an_error_and_no_draw(small_disk: Path, tmp_path: Path) -> None:
    path, out = small_disk / "l.db", tmp_path / "draws"
    ledger = Ledger.open(path, "icu", Budget.gdp(1.0))
    _, entries, error = failing(str(path), out, purpose="long " * 100_000)
    assert "disk is full (make room on the disk). Nothing was released." in error
    assert len(draws(out)) == entries > 0
    assert all_draws_are_paid(ledger, out)
    subprocess.run(["mount", "-o", "remount,size=48m", small_disk], check=True)
    ledger.charge(PIECE)
    ledger.verify()
    ledger.close()


@pytest.mark.postgres
def test_a_full_server_gives_an_error_and_no_draw(small_disk: Path, postgres: Server, tmp_path: Path) -> None:
    out, space = tmp_path / "draws", small_disk / "space"
    space.mkdir()
    os.chown(space, postgres.user.pw_uid if postgres.user else -1, -1)
    postgres.run(f"CREATE TABLESPACE small LOCATION '{space}'", "CREATE DATABASE small TABLESPACE small")
    try:
        ledger = Ledger.open(postgres.url("small"), "icu", Budget.gdp(1.0))
        _, entries, error = failing(postgres.url("small"), out, purpose=secrets.token_hex(500_000))
        assert "No space left on device" in error
        assert error.endswith("Nothing was released.")
        assert len(draws(out)) == entries > 0
        assert all_draws_are_paid(ledger, out)
        subprocess.run(["mount", "-o", "remount,size=48m", small_disk], check=True)
        ledger.charge(PIECE)
        ledger.verify()
        ledger.close()
    finally:
        postgres.run("DROP DATABASE IF EXISTS small WITH (FORCE)", "DROP TABLESPACE small")


@pytest.mark.postgres
def test_a_read_only_server_is_read_and_draws_nothing(postgres: Server, postgres_url: str, tmp_path: Path) -> None:
    name = postgres_url.split("@/")[1].split("?")[0]
    Ledger.open(postgres_url, "icu", Budget.gdp(1.0)).charge(PIECE)
    postgres.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    left, entries, error = failing(postgres_url, tmp_path / "draws")
    assert left.startswith("mu = 0.9999")
    assert entries == 1
    assert "read-only transaction (connect to a server and as a role that may write). Nothing was released." in error
    assert draws(tmp_path / "draws") == []


@pytest.mark.postgres
def test_a_role_without_rights_is_told_so(postgres: Server, postgres_url: str) -> None:
    name = postgres_url.split("@/")[1].split("?")[0]
    Ledger.open(postgres_url, "icu", Budget.gdp(1.0)).charge(PIECE)
    role = f"r{name}"
    postgres.run(f"CREATE ROLE {role} LOGIN", f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", database=name)
    reader = Ledger.open(postgres_url.replace("tacit@", f"{role}@"), "icu")
    assert len(reader.entries()) == 1
    with pytest.raises(LedgerError, match=r"permission denied.*ask for the right.*Nothing was released"):
        reader.charge(PIECE)


@pytest.mark.postgres
def test_a_dead_server_gives_an_error_and_no_draw(postgres: Server, postgres_url: str) -> None:
    ledger = Ledger.open(postgres_url, "icu", Budget.gdp(1.0))
    ledger.charge(PIECE)
    postgres.stop()
    try:
        with pytest.raises(LedgerError, match=r"cannot be written.*check that the server runs.*Nothing was released"):
            ledger.charge(PIECE)
        with pytest.raises(LedgerError, match="cannot be read"):
            ledger.remaining()
    finally:
        postgres.start()
    ledger.charge(PIECE)
    assert len(ledger.entries()) == 2
    ledger.verify()


@pytest.mark.postgres
def test_a_server_that_dies_under_an_open_charge_debits_nothing(postgres: Server, postgres_url: str) -> None:
    ledger = Ledger.open(postgres_url, "icu", Budget.gdp(1.0))

    def interrupted() -> None:
        with ledger._writing() as turn:
            turn.connection.exec_driver_sql("SELECT 1")
            postgres.stop()
            turn.connection.exec_driver_sql("SELECT 1")

    try:
        with pytest.raises(LedgerError, match="Nothing was released"):
            interrupted()
    finally:
        postgres.start()
    assert ledger.entries() == []


@pytest.mark.postgres
def test_an_interrupt_while_a_write_is_left_does_not_keep_the_ledger(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(postgres_url, "icu", Budget.gdp(1.0), unit="stay")

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(server, "roll_back", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(PIECE)  # refused: of another unit
    gc.collect()
    other = sa.create_engine(ledger._store.url)
    with other.connect() as connection:
        open_ = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"
        )
        assert connection.exec_driver_sql(open_).scalar() == 0
    other.dispose()
    ledger.charge(Guarantee(Budget.gdp(0.001), unit="stay"))
    assert len(ledger.entries()) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("encoding", ["LATIN1", "EUC_JP", "SQL_ASCII"])
def test_text_is_kept_as_it_was_written_whatever_the_encoding_of_a_database(postgres: Server, encoding: str) -> None:
    name = f"t{secrets.token_hex(8)}"
    postgres.run(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
    try:
        with Ledger.open(postgres.url(name), "icu", Budget.gdp(1.0)) as ledger:
            for purpose in ("déjà vu", "again"):
                ledger.charge(PIECE, purpose)
            ledger.verify()
            assert [e.purpose for e in ledger.entries()] == ["déjà vu", "again"]
    finally:
        postgres.drop(name)


@pytest.mark.postgres
def test_a_connection_that_lost_what_it_had_planned_is_not_kept(postgres_url: str) -> None:
    Ledger.open(postgres_url, "icu", Budget.gdp(1.0)).close()
    ledger = Ledger.open(postgres_url, "icu")  # by one connection
    ledger.charge(PIECE)
    with ledger._store.writing() as connection:
        connection.exec_driver_sql("DEALLOCATE tacit_row")
    with pytest.raises(LedgerError, match=r"does not exist.*Nothing was released"):
        ledger.charge(PIECE)
    ledger.charge(PIECE)
    assert len(ledger.entries()) == 2


@pytest.mark.postgres
def test_what_is_planned_half_or_must_wait_is_planned_again(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is held gives the error of any lock; the statements planned before it must not be in the way."""
    monkeypatch.setattr(server, "SETTINGS", server.SETTINGS.replace("60s", "200ms"))
    ledger = Ledger.open(postgres_url + "&options=-cstatement_timeout%3D10s", "icu", Budget.gdp(1.0))
    holder = sa.create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    with holder.begin() as held:
        held.exec_driver_sql("LOCK TABLE tacit_entries IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(LedgerError, match=r"lock timeout.*another process holds it.*Nothing was released"):
            ledger.charge(PIECE)
    ledger.charge(PIECE)
    assert len(ledger.entries()) == 1


@pytest.mark.postgres
def test_a_process_that_stands_in_front_of_a_ledger_holds_nobody_up_for_long(postgres_url: str) -> None:
    ledger = Ledger.open(postgres_url, "icu", Budget.gdp(1.0))
    ledger.charge(PIECE)
    places = ledger._witness._places
    with in_turns(places), in_turns(places):
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in places)
        ledger.charge(PIECE)
    assert len(ledger.entries()) == 2


def test_a_connection_on_which_a_write_failed_is_not_kept(tmp_path: Path) -> None:
    """It may have been opened when the file could only be read, and would never find out that it can be written."""
    ledger = Ledger.open(tmp_path / "l.db", "icu", Budget.gdp(1.0))

    def write_what_may_only_be_read() -> None:
        with ledger._writing() as turn:
            turn.connection.exec_driver_sql("PRAGMA query_only = ON")
            turn.connection.exec_driver_sql("DELETE FROM tacit_meta")

    with pytest.raises(LedgerError, match="cannot be written"):
        write_what_may_only_be_read()
    ledger.charge(PIECE)


def test_a_file_that_is_replaced_while_it_is_written_pays_for_nothing(tmp_path: Path) -> None:
    path, copy = tmp_path / "l.db", tmp_path / "copy.db"
    ledger = Ledger.open(path, "icu", Budget.gdp(1.0))
    copy.write_bytes(path.read_bytes())

    def write_and_replace() -> None:
        with ledger._writing() as turn:
            turn.connection.exec_driver_sql("UPDATE tacit_meta SET value = value")
            copy.replace(path)

    with pytest.raises(LedgerError, match=r"was replaced while it was written.*Nothing was released"):
        write_and_replace()
    assert ledger.charge(PIECE).entry == 1


@pytest.mark.parametrize("held", ["BEGIN EXCLUSIVE", "BEGIN; SELECT * FROM tacit_meta"])
def test_an_interrupt_is_heard_while_a_file_is_waited_for(tmp_path: Path, held: str) -> None:
    path = tmp_path / "l.db"
    ledger = Ledger.open(path, "icu", Budget.gdp(1.0))
    holder = sqlite3.connect(path, isolation_level=None)
    for statement in held.split("; "):
        holder.execute(statement)  # a reader, whose row is not fetched, holds up a commit
    began = time.monotonic()
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(PIECE)
    finally:
        signal.signal(signal.SIGINT, usual)
    assert time.monotonic() - began < 10
    holder.close()
    assert ledger.charge(PIECE).entry == 1


def test_an_interrupt_that_somebody_keeps_does_not_keep_the_file(tmp_path: Path) -> None:
    """As a notebook keeps the last error, and by it the frames that it went through, and their cursors."""
    path = tmp_path / "l.db"
    ledger = Ledger.open(path, "icu", Budget.gdp(1.0))

    def read_half() -> None:
        with ledger._reading() as turn:
            rows = turn.connection.exec_driver_sql("SELECT 1 FROM tacit_meta UNION ALL SELECT 2")
            rows.fetchone()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept:
        read_half()
    other = sqlite3.connect(path, timeout=0)
    other.execute("BEGIN EXCLUSIVE")
    other.close()
    assert kept.tb is not None
