"""A ledger on two real servers: a failover loses no debit, and a standby that is behind is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ledger_workers import draws, release_for_ever
from ledger_workers import forks as context
from postgres_server import Server, binaries

from tacit.errors import LedgerError, LedgerTampered
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.witness import SeenEntry, note, path_of, read, refuse_lost

BUDGET, PIECE = Budget.gdp(1.0), Guarantee(Budget.gdp(0.1))
pytestmark = pytest.mark.postgres


@contextmanager
def two_servers(names: str) -> Iterator[tuple[Server, Server]]:
    """A primary and its standby; ``names`` is what the primary waits for: 'standby', or nothing."""
    if binaries() is None:
        pytest.skip("needs the PostgreSQL server binaries (Debian: apt install postgresql)")
    primary = Server()
    made = [primary]
    try:
        primary.database("privacy")
        made.append(Server(of=primary))
        primary.run(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'", "SELECT pg_reload_conf()")
        yield primary, made[1]
    finally:
        for server in made:
            server.remove()


def wait_for_standby(primary: Server) -> None:
    """Until the standby streams again."""
    import psycopg

    with psycopg.connect(primary.url("postgres"), autocommit=True) as connection:
        while connection.execute("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'").fetchone() is None:
            time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("commit", ["on", "remote_apply", "local", "off"])
def test_a_failover_loses_no_debit(tmp_path: Path, commit: str) -> None:
    out = tmp_path / "draws"
    with two_servers("standby") as (primary, standby):
        primary.run(f"ALTER DATABASE privacy SET synchronous_commit = '{commit}'")  # a weak setting is not obeyed
        Ledger.open(primary.url("privacy"), "icu", BUDGET).close()
        opened, begun = context.Event(), context.Event()
        work = (primary.url("privacy"), "icu", str(out), opened, begun)
        child = context.Process(target=release_for_ever, args=work)
        child.start()
        assert begun.wait(60)
        while len(draws(out)) < 10:
            time.sleep(0.02)
        primary.kill()
        child.join(60)
        standby.promote()
        with Ledger.open(standby.url("privacy"), "icu") as ledger:
            ledger.verify()
            released = draws(out)
            assert len(released) >= 10
            assert set(released) <= {f"{e.number} {e.hash}" for e in ledger.entries()}
            ledger.charge(PIECE)


@pytest.mark.slow
@pytest.mark.parametrize("heard", ["notice", "error"])  # a role may have turned warnings off
def test_a_server_that_gave_up_waiting_for_its_standby_pays_for_nothing(heard: str) -> None:
    with two_servers("standby") as (primary, standby):
        primary.run(f"ALTER ROLE tacit SET client_min_messages = '{heard}'")
        ledger = Ledger.open(primary.url("privacy"), "icu", BUDGET)
        ledger.charge(PIECE, "first")
        standby.stop()
        cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        done = threading.Event()

        def give_up() -> None:
            import psycopg

            with psycopg.connect(primary.url("postgres"), autocommit=True) as connection:
                while not done.wait(0.1):
                    connection.execute(cancel.encode())

        thread = threading.Thread(target=give_up)
        thread.start()
        try:
            for _ in range(2):  # nor the second time, when the key finds the charge that was written
                with pytest.raises(LedgerError, match=r"is not on its standby.*Nothing was released"):
                    ledger.charge(PIECE, "second", key="run 2")
        finally:
            done.set()
            thread.join()
        standby.start()
        wait_for_standby(primary)
        assert ledger.charge(PIECE, "second", key="run 2").entry == 2  # now the standby has it: one charge in all
        primary.kill()
        standby.promote()
        with Ledger.open(standby.url("privacy"), "icu") as after:
            assert [e.purpose for e in after.entries()] == ["first", "second"]


@pytest.mark.slow
def test_a_standby_that_is_behind_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with two_servers("") as (primary, standby):  # nobody waits for this standby
        ledger = Ledger.open(primary.url("privacy"), "icu", BUDGET)
        ledger.charge(PIECE, "first")
        while Ledger.names(standby.url("privacy")) != ["icu"]:
            time.sleep(0.05)
        time.sleep(0.5)
        standby.stop()
        payment = ledger.charge(PIECE, "second")
        Ledger.open(primary.url("privacy"), "ward", BUDGET)
        primary.kill()
        standby.start()
        standby.promote()
        url = standby.url("privacy")
        with pytest.raises(LedgerTampered, match="is behind: this machine has seen 2 entries, and the server has 1"):
            Ledger.open(url, "icu")
        with pytest.raises(LedgerTampered, match=r"does not have it.*Nothing was made"):
            Ledger.open(url, "ward", BUDGET)  # it was made after the standby fell behind: no new budget either
        # a machine that has seen nothing cannot know; who has a payment does
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
        with Ledger.open(url, "icu") as elsewhere:
            assert len(elsewhere.entries()) == 1
            with pytest.raises(LedgerError, match="has no charge 2"):
                elsewhere.pays(payment)
            with pytest.raises(LedgerTampered):
                elsewhere.verify(head=payment.hash)
            elsewhere.charge(PIECE, "another second")
        monkeypatch.undo()
        with pytest.raises(LedgerTampered, match="went another way: entry 2 is not the one seen here"):
            Ledger.open(url, "icu")


def test_an_older_copy_under_an_open_ledger_is_refused(postgres: Server, postgres_url: str) -> None:
    ledger = Ledger.open(postgres_url, "icu", BUDGET)
    ledger.charge(PIECE)
    name = postgres_url.split("@/")[1].split("?")[0]
    postgres.run("CREATE TABLE kept AS SELECT * FROM tacit_entries; CREATE TABLE head AS SELECT * FROM tacit_ledgers",
                 database=name)  # fmt: skip
    ledger.charge(PIECE)
    back = "DELETE FROM tacit_entries; INSERT INTO tacit_entries SELECT * FROM kept; "
    back += "UPDATE tacit_ledgers SET length = head.length, head = head.head FROM head"
    postgres.run(back, database=name)
    for look in (ledger.charge, ledger.can_afford):
        with pytest.raises(LedgerTampered, match=r"is behind.*Nothing was released"):
            look(PIECE)
    with pytest.raises(LedgerTampered, match="is behind"):
        ledger.verify()
    assert "remaining unknown" in repr(ledger)


def test_a_ledger_that_is_gone_from_its_server_is_not_made_anew(postgres: Server, postgres_url: str) -> None:
    Ledger.open(postgres_url, "icu", BUDGET).close()
    name = postgres_url.split("@/")[1].split("?")[0]
    postgres.run("DELETE FROM tacit_ledgers", database=name)
    for budget in (BUDGET, None):
        with pytest.raises(LedgerTampered, match=r"has seen ledger 'icu'.*remove .*Nothing was made"):
            Ledger.open(postgres_url, "icu", budget)


def test_a_role_without_rights_and_a_home_that_may_not_be_written_do_without(
    postgres: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    name = postgres_url.split("@/")[1].split("?")[0]
    role = f"r{name}"
    postgres.run("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC", database=name)
    postgres.run(f"CREATE ROLE {role} LOGIN", f"GRANT ALL ON SCHEMA public TO {role}", database=name)
    ledger = Ledger.open(postgres_url.replace("tacit@", f"{role}@"), "icu", BUDGET)
    assert ledger.charge(PIECE).entry == 1
    assert ledger.charge(PIECE).entry == 2


def test_what_was_seen_only_grows_and_what_cannot_be_read_says_nothing() -> None:
    path = path_of("an identifier").with_name("a test")
    assert read(path) is None
    refuse_lost(path, "icu", "here")
    for number in (3, 2):
        note(path, SeenEntry("l", number, "ab" * 32))
    assert read(path) == SeenEntry("l", 3, "ab" * 32)
    with pytest.raises(LedgerTampered, match="up to entry 3"):
        refuse_lost(path, "icu", "here")
    whole = path.read_bytes()
    for damaged in (b"", whole[:50], whole.replace(b"3", b"4", 1), b"\xff" + whole):
        path.write_bytes(damaged)
        assert read(path) is None
    note(path, SeenEntry("l", 5, "cd" * 32))
    path.unlink()
