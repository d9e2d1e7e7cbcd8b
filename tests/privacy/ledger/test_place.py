"""A ledger is its identifier and its chain: not a path, not a server, and not what a search path finds."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres_server import Server

from tacit.errors import BudgetRefused, LedgerError, LedgerTampered, StateError, TacitError
from tacit.outsource.curator.state import State
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger, place
from tacit.privacy.release import Release, digest

PIECE = Guarantee(Budget.pure(0.7))


def make(path: Any, name: str = "icu", amount: float = 1.0) -> Ledger:
    return Ledger.open(path, name, Budget.pure(amount))


def test_a_second_name_of_a_file_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with make(tmp_path / "a.db") as ledger:
        os.link(tmp_path / "a.db", tmp_path / "b.db")
        with pytest.raises(LedgerError, match=r"second name .*its own name is .*a\.db.*Remedy: use that one"):
            make(tmp_path / "b.db")
        ledger.charge(PIECE)
    with make(tmp_path / "a.db") as ledger, pytest.raises(BudgetRefused):
        ledger.charge(PIECE)


HOT = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA cache_size = 1")
database.execute("BEGIN IMMEDIATE")
database.execute("UPDATE tacit_ledgers SET length = length, head = head")
database.execute("CREATE TABLE spill AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) "
                 "SELECT i, randomblob(100) AS b FROM n")
os._exit(0)
"""


def test_what_a_killed_process_left_under_one_name_takes_no_debit_away_under_another(tmp_path: Path) -> None:
    """A hot journal beside a.db, and a charge under b.db: without the refusal the budget would be spent twice."""
    make(tmp_path / "a.db").close()
    os.link(tmp_path / "a.db", tmp_path / "b.db")
    subprocess.run([sys.executable, "-c", HOT, str(tmp_path / "a.db")], check=True)
    assert (tmp_path / "a.db-journal").exists()
    spent = 0.0
    for name in ("b.db", "a.db", "b.db", "a.db"):
        try:
            with Ledger.open(tmp_path / name, "icu") as ledger:
                ledger.charge(PIECE)
                spent += 0.7
        except TacitError:
            continue
    assert spent == 0.7


def test_a_file_that_was_moved_copied_or_restored_takes_its_new_name(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    make(tmp_path / "a.db").close()
    for move in (os.rename, shutil.copy, shutil.move):
        source, target = tmp_path / "a.db", tmp_path / "there" / "b.db"
        move(source, target)
        make(target).close()
        move(target, source)
        make(source).close()
        with sqlite3.connect(source) as database:
            (noted,) = database.execute("SELECT value FROM tacit_meta WHERE key = 'place'").fetchone()
        assert str(source.resolve()) in noted


def test_a_file_that_left_its_journal_behind_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "a.db").close()
    subprocess.run([sys.executable, "-c", HOT, str(tmp_path / "a.db")], check=True)
    os.rename(tmp_path / "a.db", tmp_path / "b.db")
    with pytest.raises(LedgerError, match=r"(a\.db-journal is still there.*move that with it|damaged)"):
        make(tmp_path / "b.db")


def test_a_file_that_is_mounted_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /proc says it, blanks and all."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    make(folder / "l.db").close()
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "mountinfo")
    mounted = str((folder / "l.db").resolve()).replace(" ", r"\040")
    (tmp_path / "mountinfo").write_text(f"36 35 98:0 /l.db {mounted} rw - ext4 /dev/sda rw\n")
    with pytest.raises(LedgerError, match=r"mounted alone.*mount the folder"):
        make(folder / "l.db")
    (tmp_path / "mountinfo").write_text(f"36 35 98:0 /l.db {mounted}x rw - ext4 /dev/sda rw\n")
    make(folder / "l.db").close()


def test_a_second_name_of_a_curators_state_is_refused(tmp_path: Path) -> None:
    State(tmp_path / "a", "s").close()
    (tmp_path / "b").mkdir()
    os.link(tmp_path / "a" / "curator.db", tmp_path / "b" / "curator.db")
    with pytest.raises(StateError, match="second name"):
        State(tmp_path / "b", "s")
    State(tmp_path / "a", "s").close()


def test_an_older_copy_is_refused_by_a_machine_that_saw_more(tmp_path: Path) -> None:
    """The witness is by the ledger's identifier: in its place, in another one, or side by side."""
    with make(tmp_path / "a.db", amount=2.0) as ledger:
        ledger.charge(Guarantee(Budget.pure(0.1)))
        shutil.copy(tmp_path / "a.db", tmp_path / "older.db")
        ledger.charge(PIECE)
    with pytest.raises(LedgerTampered, match="is behind: this machine has seen 2 entries, and it has 1 of them"):
        Ledger.open(tmp_path / "older.db", "icu")
    shutil.copy(tmp_path / "a.db", tmp_path / "clone.db")
    with Ledger.open(tmp_path / "a.db", "icu") as ledger, Ledger.open(tmp_path / "clone.db", "icu") as clone:
        clone.charge(PIECE)
        with pytest.raises(LedgerTampered, match="is behind"):
            ledger.charge(PIECE)
    shutil.copy(tmp_path / "older.db", tmp_path / "a.db")
    with pytest.raises(LedgerTampered, match="is behind"):
        Ledger.open(tmp_path / "a.db", "icu")


@pytest.fixture
def other_server(postgres: Server) -> Iterator[Server]:
    server = Server()
    yield server
    server.remove()


@pytest.mark.postgres
def test_an_older_dump_on_a_new_server_is_refused(postgres: Server, postgres_url: str, other_server: Server) -> None:
    with make(postgres_url, amount=1.0) as ledger:
        dumped = ledger.export()
        dump = subprocess.run([postgres.bin / "pg_dump", "-d", postgres_url], capture_output=True, check=True).stdout
        ledger.charge(PIECE)
    url = other_server.database("restored")
    subprocess.run([postgres.bin / "psql", "-q", "-d", url], input=dump, check=True, stdout=subprocess.DEVNULL)
    with pytest.raises(LedgerTampered, match="is behind: this machine has seen 1 entries, and it has 0 of them"):
        Ledger.open(url, "icu")
    assert dumped["entries"] == []


@pytest.mark.postgres
def test_a_role_with_a_schema_of_its_own_finds_the_ledger_that_is_there(postgres_url: str) -> None:
    import psycopg

    with make(postgres_url) as ledger:
        ledger.charge(PIECE)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE SCHEMA mine")
    own = f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-csearch_path%3Dmine"
    with make(own) as ledger:
        with pytest.raises(BudgetRefused):
            ledger.charge(PIECE)
        ledger.verify()
    for table in ("tacit_ledgers", "tacit_entries", "tacit_meta"):  # those of a session shadow every search path
        with psycopg.connect(postgres_url) as connection:
            connection.execute(f"CREATE TABLE mine.{table} AS SELECT * FROM public.{table}")  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match=r"several schemas, mine, public.*\?schema=mine"):
        make(own)
    named = f"{postgres_url}{'&' if '?' in postgres_url else '?'}schema=public"
    with make(named) as ledger, pytest.raises(BudgetRefused):
        ledger.charge(PIECE)


@pytest.mark.postgres
def test_a_ledger_may_live_in_a_schema_of_its_own(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute('CREATE SCHEMA "Odd ""name"')
    named = f"{postgres_url}{'&' if '?' in postgres_url else '?'}schema=Odd%20%22name"
    with make(named) as ledger:
        ledger.charge(PIECE, key="a key")
        ledger.draws(ledger.payment(1)).begin("here", 0)
        ledger.verify()
    with make(postgres_url) as ledger:  # the only one there is
        assert len(ledger.entries()) == 1
    State(named, "s", hold=False, make=True).close()


@pytest.mark.postgres
def test_a_server_that_forgets_in_a_power_cut_is_refused(postgres: Server) -> None:
    server = Server(forgets=True)
    try:
        with pytest.raises(LedgerError, match=r"fsync = off.*Set fsync = on"):
            make(server.database("ledgers"))
    finally:
        server.remove()


@pytest.mark.parametrize("name", ["ICU", "icu ", "i\u200bcu", "\uff29cu", "ic\u00ad\u0075", "icu\x1b[2J", "i\tcu"])
def test_a_name_that_looks_like_another_makes_no_second_budget(tmp_path: Path, name: str) -> None:
    make(tmp_path / "l.db").close()
    with pytest.raises(LedgerError, match=r"(looks like it|has no blanks around it)"):
        make(tmp_path / "l.db", name)
    assert Ledger.names(tmp_path / "l.db") == ["icu"]


def test_forms_of_one_letter_make_one_name(tmp_path: Path) -> None:
    make(tmp_path / "l.db", "caf\u00e9 \u212a").close()
    for name in ("cafe\u0301 k", "CAF\u00c9  K"):
        with pytest.raises(LedgerError, match="looks like it"):
            make(tmp_path / "l.db", name)
    make(tmp_path / "l.db", "caf\u00e9 l").close()


def test_a_certificate_of_numbers_and_depths_that_tacit_never_writes_is_refused(tmp_path: Path) -> None:
    with make(tmp_path / "l.db") as ledger:
        release = Release(0.5, PIECE, ledger.charge(PIECE), {"unit": "record: one row of the data"})
        ledger.settle(release.payment, digest(0.5))
        good = release.certificate()
        assert ledger.verify_certificate(good).paid
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        huge = {**good["guarantee"], "epsilon": 10**400}
        for bad in ({"value": deep}, {"guarantee": huge}, {"about": {"unit": "person: one human being"}}):
            assert not ledger.verify_certificate({**good, **bad}).paid
