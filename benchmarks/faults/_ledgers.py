"""Processes that charge, draw and settle while they, their disk, their clock or their server fail."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres_server import Server

from benchmarks.faults import _work as work
from benchmarks.faults._children import Child
from benchmarks.faults._clocks import Clock, clock_process
from benchmarks.faults._disks import LACK, Disk, small_disk
from benchmarks.faults._report import Report, modes_of
from tacit.errors import TacitError
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger

BUDGET = Budget.pure(1.0)
Fault = Callable[["Account"], str]


class Account:
    """A ledger, the processes that use it, and what was seen of it."""

    def __init__(self, report: Report, url: str, folder: Path, *, workers: int = 2, careless: bool = False) -> None:
        self.report, self.url, self.folder, self.careless = report, url, folder, careless
        self.purpose = ""
        self.workers: list[Child] = []
        self.outs: list[str] = []
        self.renew()
        for _ in range(workers):
            self.start()

    def renew(self) -> None:
        """A new ledger: the last one is used up."""
        self.name = uuid.uuid4().hex[:12]
        self.out = str(self.folder / f"draws-{self.name}")
        self.outs.append(self.out)
        self.seen: list[str] = []
        self.left, self.counted = BUDGET.amount, 0
        Ledger.open(self.url, self.name, BUDGET).close()

    def start(self) -> None:
        work_of = (self.url, self.name, self.out, self.purpose, self.careless)
        self.workers.append(Child(work.charge_for_ever, *work_of))

    def wait(self, seconds: float = 60.0) -> None:
        """Until the first draw: processes that are hurt before it show nothing."""
        until = time.monotonic() + seconds
        while not work.lines(self.out) and time.monotonic() < until:
            time.sleep(0.01)

    def take(self) -> Child:
        """A worker to be hurt, chosen at random among those that live; new ones for those that are done."""
        if not any(w.alive for w in self.workers) and self.left < 1 / work.PIECES:
            self.check()
            self.report.done["ledgers used up"] += 1
            self.renew()
        many = len(self.workers)
        self.workers = [w for w in self.workers if w.alive]
        for _ in range(many - len(self.workers)):
            self.start()
        return self.report.random.choice(self.workers)

    def goes_on(self, seconds: float = 600.0) -> bool:
        """Whether somebody draws, or uses the ledger up, after this moment; the bound only ends a run that hangs."""
        out, before, end = self.out, len(work.lines(self.out)), time.monotonic() + seconds
        while self.out == out and len(work.lines(out)) == before:
            if time.monotonic() > end:
                return False
            self.check()  # what is left now
            self.take()  # new processes for those that are done, and a new ledger for one that is used up
            time.sleep(0.2)  # on a busy machine the one who looks must leave time for those who charge
        return True

    def check(self) -> None:
        """What holds at every moment, whatever failed."""
        hold, where = self.report.hold, f"ledger {self.name}"
        drawn = work.lines(self.out)  # before the ledger is read: what is drawn later may be charged later
        try:
            with Ledger.open(self.url, self.name) as ledger:
                ledger.verify()
                entries, left = ledger.entries(), ledger.remaining().amount
        except TacitError as error:  # a server or a disk that is down is looked at when it is back
            hold("Tampered" not in type(error).__name__, f"{where}: {error}")
            return
        charges = {f"{e.number} {e.hash}" for e in entries if e.kind == "charge"}
        hashes = [e.hash for e in entries]
        hold(set(drawn) <= charges, f"{where}: {len(set(drawn) - charges)} draws without a debit")
        hold(len(drawn) == len(set(drawn)), f"{where}: one debit, several draws")
        hold(len(charges) <= work.PIECES, f"{where}: {len(charges)} of {work.PIECES} charges")
        hold(left <= self.left, f"{where}: the remaining budget grew from {self.left} to {left}")
        hold(hashes[: len(self.seen)] == self.seen, f"{where}: entries that were seen are gone")
        for kind in ("tampered", "untyped"):
            said = work.lines(f"{self.out}.{kind}")
            hold(not said, f"{where}: {kind}: {said[:1]}")
        self.seen, self.left = hashes, left
        self.report.done["draws"] += len(drawn) - self.counted
        self.counted = len(drawn)

    def close(self) -> None:
        for child in self.workers:
            child.send(signal.SIGCONT)
            child.kill()
            self.report.hold(not child.leftovers(), "a killed process left others behind")
        self.check()
        self.report.refusals["LedgerError"] += sum(len(work.lines(f"{out}.refused")) for out in self.outs)


def kill(account: Account) -> str:
    account.take().kill()
    account.start()
    return "kill -9"


def stop(account: Account) -> str:
    """Stopped while it holds whatever it holds, and then goes on, or dies without ever going on."""
    child = account.take()
    child.send(signal.SIGSTOP)
    account.report.pause(0.0, 0.03)  # nobody looks meanwhile: who holds an SQLite file makes readers wait
    if account.report.random.random() < 0.5:
        child.send(signal.SIGCONT)
        return "SIGSTOP, SIGCONT"
    child.kill()
    account.start()
    return "SIGSTOP, kill -9"


def end_backends(server: Server, database: str) -> Fault:
    def fault(account: Account) -> str:
        account.take()
        server.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}' "
            "AND pid <> pg_backend_pid()"
        )
        return "backends ended"

    return fault


def restart(server: Server) -> Fault:
    def fault(account: Account) -> str:
        account.take()
        server.stop()
        server.start()
        return "PostgreSQL stopped at once, started"

    return fault


def fill(disk: Disk) -> Fault:
    def fault(account: Account) -> str:
        account.take()
        disk.fill()
        account.report.pause(0.02, 0.06)
        account.check()
        disk.free()
        return "disk full"

    return fault


def freeze(disk: Disk) -> Fault:
    def fault(account: Account) -> str:
        account.take()
        if not disk.freeze():
            return ""
        account.report.pause(0.02, 0.05)
        account.check()
        disk.thaw()
        return "disk read-only"

    return fault


def run(report: Report, account: Account, faults: dict[Fault, int]) -> None:
    """So many of each fault, in random order; after each the account is looked at."""
    order = [fault for fault, times in faults.items() for _ in range(times)]
    report.random.shuffle(order)
    try:
        for fault in report.rounds(order):
            report.pause(0.0, 0.03)
            if kind := fault(account):
                report.fault(f"ledger: {kind}")
            account.check()
        words = "after all faults nobody could charge for ten minutes"
        report.hold(account.goes_on(), f"{words}: {work.lines(f'{account.out}.refused')[-1:]}")
    finally:
        account.close()


def on_files(report: Report, folder: Path, times: int, *, careless: bool = False) -> None:
    """An SQLite ledger: processes killed and stopped."""
    place = folder / "files"
    place.mkdir(mode=0o700)
    account = Account(report, str(place / "ledger.db"), place, careless=careless)
    account.wait()
    run(report, account, {kill: times, stop: times})
    report.hold(not modes_of(place), f"modes: {modes_of(place)[:3]}")


def on_small_disk(report: Report, folder: Path, times: int) -> None:
    with small_disk(folder) as disk:
        if disk is None:
            return report.lack(LACK)
        account = Account(report, str(disk.path / "ledger.db"), folder)
        run(report, account, {fill(disk): times, freeze(disk): times, kill: times // 4})
        report.hold(not modes_of(disk.path), f"modes: {modes_of(disk.path)[:3]}")


def on_server(report: Report, folder: Path, server: Server, times: int, restarts: int) -> None:
    name = f"ledgers{uuid.uuid4().hex[:8]}"
    url = server.database(name)
    place = folder / "server"
    place.mkdir(mode=0o700)
    faults = {kill: times, stop: times, end_backends(server, name): times, restart(server): restarts}
    run(report, Account(report, url, place), faults)


@contextmanager
def one_on_a_clock(report: Report, folder: Path) -> Iterator[tuple[Account, Clock] | None]:
    place = folder / "clock"
    place.mkdir(mode=0o700)
    account = Account(report, str(place / "ledger.db"), place, workers=0)
    with clock_process(place, "charge_for_ever", account.url, account.name, account.out) as clock:
        if clock is None:
            report.lack("no libfaketime here (Debian: apt install faketime): clock jumps are left out")
            yield None
        else:
            yield account, clock


def on_a_clock(report: Report, folder: Path, times: int) -> None:
    """The clock of the one who charges jumps by seconds, days and years, forwards and back."""
    with one_on_a_clock(report, folder) as found:
        if found is None:
            return
        account, clock = found
        while not work.lines(account.out) and clock.process.poll() is None:
            report.pause(0.05, 0.1)
        for _ in report.rounds(range(times)):
            clock.jump(report.random)
            report.pause(0.01, 0.03)
            report.fault("ledger: clock jumps")
            account.check()
        report.hold(len(account.seen) > 0 or not report.faults, "nothing was charged while the clock jumped")
    account.close()
