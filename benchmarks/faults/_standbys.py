"""Failovers between two servers: whatever was drawn is paid for on the one that takes over, or it is refused."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

from tests.postgres_server import Server

from benchmarks.faults import _work as work
from benchmarks.faults._ledgers import BUDGET, Account
from benchmarks.faults._report import Report
from tacit.errors import LedgerTampered
from tacit.privacy.ledger import Ledger


def fail_over(report: Report, folder: Path, times: int) -> None:
    """The primary is lost while two processes charge it; its synchronous standby is promoted and has every debit."""
    place = folder / "standby"
    place.mkdir(mode=0o700)
    name = f"standby{uuid.uuid4().hex[:8]}"
    primary = Server()
    try:
        primary.database(name)
        for _ in report.rounds(range(times)):
            standby = Server(of=primary)
            try:
                primary.run("ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()")
                account = Account(report, primary.url(name), place)
                while len(work.lines(account.out)) < 5:
                    time.sleep(0.01)
                report.pause(0.0, 0.3)
                primary.kill()
                standby.promote()
                standby.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
            finally:
                primary.remove()
                primary = standby  # what took over is the next to be lost
            account.url = primary.url(name)
            account.close()
            report.hold(len(account.seen) >= 5, "after a failover nothing could be read")
            report.fault("standby: failover to one that is synchronous")
    finally:
        primary.remove()


def fall_behind(report: Report, folder: Path, times: int) -> None:
    """Nobody waits for the standby, which is behind when it is promoted: refused on the machine that saw more."""
    for _ in report.rounds(range(times)):
        primary = Server()
        standby = None
        try:
            primary.database("behind")
            standby = Server(of=primary)
            ledger = Ledger.open(primary.url("behind"), "icu", BUDGET)
            ledger.charge(work.PIECE, "first")
            _wait(standby)
            standby.stop()
            ledger.charge(work.PIECE, "second")
            primary.kill()
            standby.start()
            standby.promote()
            try:
                Ledger.open(standby.url("behind"), "icu", BUDGET).charge(work.PIECE, "third")
            except LedgerTampered:
                report.hold(True, "")
            else:
                report.hold(False, "a standby that was behind was charged")
            report.fault("standby: failover to one that is behind")
        finally:
            primary.remove()
            if standby is not None:
                standby.remove()


def _wait(standby: Server) -> None:
    """Until the standby has the first charge."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if "icu" in Ledger.names(standby.url("behind")):
            break
        time.sleep(0.05)
    time.sleep(0.3)
