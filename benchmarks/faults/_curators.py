"""A curator's service and modelers that ask it, while it, its state, its ledger or its server fail."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.postgres_server import Server

from benchmarks.faults import _work as work
from benchmarks.faults._children import Child
from benchmarks.faults._clocks import clock_process
from benchmarks.faults._disks import LACK, Disk, small_disk
from benchmarks.faults._report import Report, modes_of
from tacit.errors import TacitError
from tacit.outsource.curator.state import State
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger

BUDGET = Budget.gdp(10.0)
LOCKS = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 7236143"
AGAIN = (401, 429, 502, 503)  # 401: the gate could not read who is revoked


class Study:
    """A study, the curator that serves it, modelers that ask without end, and what they were told."""

    def __init__(self, report: Report, place: str, ledger: str, folder: Path, *, careless: bool = False) -> None:
        self.report, self.place, self.ledger, self.folder, self.careless = report, place, ledger, folder, careless
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.children: list[Child] = []
        self.end = threading.Event()
        self.lock = threading.Lock()
        self.served = threading.Event()
        self.modelers: list[threading.Thread] = []
        self.renew()

    def renew(self) -> None:
        """A new study: the last one has answered all that it may."""
        self.name = uuid.uuid4().hex[:12]
        self.out = str(self.folder / f"study-{self.name}")
        self.told: dict[int, float] = {}
        self.known: dict[int, float | None] = {}
        self.asked = self.counted = 0
        self.full = threading.Event()
        Ledger.open(self.ledger, self.name, BUDGET).close()

    def start(self, port: int | None = None) -> Child:
        """A curator; it says when it is ready, and modelers find out by asking."""
        work_of = (self.place, self.name, self.ledger, port or self.port, self.out, self.careless)
        self.children.append(Child(work.curate, *work_of))
        return self.children[-1]

    def begin(self) -> None:
        self.start()
        self.modelers = [threading.Thread(target=self.model, args=(i,)) for i in range(work.MODELERS)]
        for thread in self.modelers:
            thread.start()

    def model(self, number: int) -> None:
        """Ask for one row after the other; a request that got no answer is made again, by the same name."""
        connection: http.client.HTTPConnection | None = None
        headers = {"Authorization": f"Bearer token-of-modeler-number-{number}", "Content-Type": "application/json"}
        while not self.end.is_set():
            with self.lock:
                name, row = self.name, self.asked % work.ROWS
                self.asked += 1
            body = json.dumps({"request": f"request-{uuid.uuid4().hex}", "rows": [row]})
            while not self.end.is_set() and name == self.name:
                try:
                    connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                    connection.request("POST", "/v1/queries", body, headers)
                    answer = connection.getresponse()
                    content = answer.read()
                except (OSError, http.client.HTTPException):
                    connection = None
                    time.sleep(0.02)
                    continue
                self.note(name, row, answer.status, content)
                if answer.status in (*AGAIN, 202):
                    time.sleep(0.02)
                    continue
                break

    def note(self, name: str, row: int, status: int, content: bytes) -> None:
        """What a modeler heard. An answer that was told once is told alike for ever."""
        hold = self.report.hold
        with self.lock:
            if name != self.name:
                return
            if status == 200:
                value = json.loads(content)["answers"][0]["value"]
                hold(self.told.setdefault(row, value) == value, f"study {name}: row {row} was told twice, differently")
                self.report.done["answers told"] += 1
                self.served.set()
            elif status == 403:
                self.full.set()
                time.sleep(0.01)
            else:
                hold(status in (*AGAIN, 202, 409), f"study {name}: status {status}: {content[:100]!r}")
                self.report.refusals[f"HTTP {status}"] += 1

    def wait(self, seconds: float = 600.0) -> bool:
        """Until somebody was answered, or the study is full, after this moment: it goes on."""
        self.served.clear()
        end = time.monotonic() + seconds
        while not (self.served.wait(0.02) or self.full.is_set()):
            if time.monotonic() > end:
                return False
        return True

    @property
    def last_refusal(self) -> str:
        """Why the curator could not be started, when that failed last; for the words of a violation."""
        return "".join(f": {said}" for said in work.lines(f"{self.out}.refused")[-1:])

    def check(self) -> None:
        """What holds at every moment, whatever failed."""
        hold, where = self.report.hold, f"study {self.name}"
        with self.lock:
            told = dict(self.told)
        try:
            state = State(self.place, self.name, hold=False)
            exchanges, known = state.load()
            published = state.terms() is not None
            state.close()
            with Ledger.open(self.ledger, self.name) as ledger:  # after the state: what is recorded is charged before
                ledger.verify()
                charges = Counter(
                    int(e.purpose.split()[3]) for e in ledger.entries() if e.purpose.startswith("answer for")
                )
        except TacitError as error:  # down at this moment
            hold("Tampered" not in type(error).__name__, f"{where}: {error}")
            return
        lost = [row for row, value in told.items() if known.get(row, value + 1) != value]
        changed = [row for row, value in self.known.items() if row not in known or known[row] != value]
        hold(not lost, f"{where}: {len(lost)} answers that were told are not as recorded")
        hold(not changed, f"{where}: {len(changed)} recorded answers changed")
        hold(len(exchanges) <= work.LIMIT, f"{where}: {len(exchanges)} answers under a limit of {work.LIMIT}")
        hold(len({e.number for e in exchanges}) == len(exchanges), f"{where}: a query number was used twice")
        hold(set(known) <= set(charges), f"{where}: {len(set(known) - set(charges))} answers were not paid for")
        hold(max(charges.values(), default=0) <= 1, f"{where}: a row was charged more than once")
        hold(published or not known, f"{where}: answers without a table")
        said = work.lines(f"{self.out}.untyped")
        hold(not said, f"{where}: untyped: {said[:1]}")
        self.known = known

    def next(self) -> None:
        """Go on with another study when this one is full."""
        if not self.full.is_set():
            return
        self.check()
        self.report.done["studies finished"] += 1
        for child in self.children:
            child.send(signal.SIGCONT)
            child.kill()
        self.children = []
        with self.lock:
            self.renew()
        self.start()

    def close(self) -> None:
        self.end.set()
        for thread in self.modelers:
            thread.join()
        for child in self.children:
            child.send(signal.SIGCONT)
            child.kill()
            self.report.hold(not child.leftovers(), "a killed curator left processes behind")
        self.check()
        refused = sum(len(work.lines(path)) for path in self.folder.glob("study-*.refused"))
        self.report.refusals["curator started again"] += refused


Fault = Callable[[Study], str]


def kill(study: Study) -> str:
    study.children.pop().kill()
    study.check()
    study.start()
    return "kill -9"


def stop(study: Study) -> str:
    study.children[-1].send(signal.SIGSTOP)
    study.report.pause(0.0, 0.05)
    study.children[-1].send(signal.SIGCONT)
    return "SIGSTOP, SIGCONT"


def second_curator(server: Server, database: str) -> Fault:
    """The lock is lost and a second curator starts on the same state: modelers of both share one limit."""

    def fault(study: Study) -> str:
        server.run(LOCKS, database=database)
        first = study.children[-1]
        study.port, before = _free_port(), study.port
        study.start()
        study.wait(20.0)
        study.check()
        first.kill() if study.report.random.random() < 0.5 else study.children[-1].kill()
        if not study.children[-1].alive:
            study.port = before
        study.children = [c for c in study.children if c.alive]
        return "lock lost, two curators"

    return fault


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def end_backends(server: Server, database: str) -> Fault:
    def fault(study: Study) -> str:
        server.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}' "
            "AND pid <> pg_backend_pid()"
        )
        return "backends ended"

    return fault


def restart(server: Server) -> Fault:
    def fault(study: Study) -> str:
        server.stop()
        server.start()
        return "PostgreSQL stopped at once, started"

    return fault


def fill(disk: Disk) -> Fault:
    def fault(study: Study) -> str:
        disk.fill()
        study.report.pause(0.05, 0.15)
        disk.free()
        return "disk full"

    return fault


def freeze(disk: Disk) -> Fault:
    """A disk cannot be made read-only while the service writes: it is stopped, and started on what it may only read."""

    def fault(study: Study) -> str:
        study.children.pop().kill()
        if not disk.freeze(2.0):
            study.start()
            return ""
        study.start()
        study.report.pause(0.1, 0.3)
        study.children[-1].kill()
        disk.thaw()
        study.children.pop()
        study.start()
        return "disk read-only"

    return fault


def run(report: Report, study: Study, faults: dict[Fault, int]) -> None:
    order = [fault for fault, times in faults.items() for _ in range(times)]
    report.random.shuffle(order)
    study.begin()
    try:
        report.hold(study.wait(), "the curator never answered")
        for fault in report.rounds(order):
            report.pause(0.0, 0.1)
            study.next()
            if kind := fault(study):
                report.fault(f"curator: {kind}")
            study.check()
            if report.random.random() < 0.3:  # mostly the next fault comes before it is back
                report.hold(
                    study.wait(), f"after {kind} the curator answered nobody for ten minutes{study.last_refusal}"
                )
        study.next()
        report.hold(study.wait(), f"after all faults the curator answered nobody for ten minutes{study.last_refusal}")
    finally:
        study.close()


def on_files(report: Report, folder: Path, times: int, *, careless: bool = False) -> None:
    place = folder / "curator"
    place.mkdir(mode=0o700)
    study = Study(report, str(place / "state"), str(place / "ledger.db"), place, careless=careless)
    run(report, study, {kill: times, stop: times})
    report.hold(not modes_of(place), f"modes: {modes_of(place)[:3]}")


def on_small_disk(report: Report, folder: Path, times: int) -> None:
    outside = folder / "disk-curator"
    outside.mkdir(mode=0o700)
    with small_disk(outside) as disk:
        if disk is None:
            return report.lack(LACK)
        study = Study(report, str(disk.path / "state"), str(disk.path / "ledger.db"), outside)
        run(report, study, {fill(disk): times, freeze(disk): times // 2, kill: times // 4})


def on_server(report: Report, folder: Path, server: Server, times: int, restarts: int) -> None:
    name = f"curators{uuid.uuid4().hex[:8]}"
    url = server.database(name)
    place = folder / "server-curator"
    place.mkdir(mode=0o700)
    faults = {kill: times, stop: times, end_backends(server, name): times, restart(server): restarts}
    faults[second_curator(server, name)] = max(1, times // 4)
    run(report, Study(report, url, url, place), faults)


def on_a_clock(report: Report, folder: Path, times: int) -> None:
    """The service's clocks jump, that of the day and the one that only runs forwards; it goes on answering."""
    place = folder / "clock-curator"
    place.mkdir(mode=0o700)
    study = Study(report, str(place / "state"), str(place / "ledger.db"), place)
    work_of = (study.place, study.name, study.ledger, str(study.port), study.out)
    with clock_process(place, "curate", *work_of) as clock:
        if clock is None:
            return report.lack("no libfaketime here (Debian: apt install faketime): clock jumps are left out")
        study.modelers = [threading.Thread(target=study.model, args=(0,))]
        study.modelers[0].start()
        try:
            report.hold(study.wait(), "the curator never answered")
            for _ in report.rounds(range(times)):
                clock.jump(report.random)
                report.fault("curator: clock jumps")
                report.pause(0.02, 0.08)
                study.check()
            clock.set(0)
            report.hold(study.wait(), "after the clock jumped the curator answered nobody for ten minutes")
        finally:
            study.close()
