"""Copies: clones side by side, states and ledgers put back, second names, other schemas, and kills by the setting."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.postgres_server import Server

from benchmarks.faults import _work as work
from benchmarks.faults._children import Child
from benchmarks.faults._report import Report
from tacit.errors import TacitError
from tacit.outsource.curator import Curator
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.outsource.curator.state import STATE, State
from tacit.privacy.claim_store import FILE, Home
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger

HALF = Guarantee(Budget.pure(0.7))  # of a budget of 1: one charge fits


def _curator(place: Path, ledger: Ledger) -> Curator:
    """One of many at the same path, as in containers: the path tells nothing."""
    rows = work.table()[:20]
    answers = PrivateAnswers((-1.0, 1.0), Budget.gdp(0.05), "once")
    made = Curator(rows, rows[:, 0] / 9, epsilon=2.0, delta=1e-4, state=place, answers=answers, ledger=ledger)
    store: Any = made._once.store if made._once is not None else None
    store.home = lambda: Home(FILE, "/data/curator.db", f"study {made.study}")
    return made


def _copy_state(one: Path, other: Path) -> None:
    other.mkdir(exist_ok=True)
    source, target = sqlite3.connect(one / STATE), sqlite3.connect(other / STATE)
    source.backup(target)
    source.close()
    target.close()


def curators(report: Report, folder: Path, times: int) -> None:
    """Clones that answer side by side, and older states put back under them: a row is told once, or alike."""
    for turn in report.rounds(range(times)):
        place = folder / f"copies-{report.seed}-{turn}"
        place.mkdir(mode=0o700)
        ledger = Ledger.open(place / "ledger.db", "rows", Budget.gdp(20.0))
        with _curator(place / "a", ledger):
            _copy_state(place / "a", place / "b")
        _copy_state(place / "a", place / "older")
        told: dict[int, set[float | None]] = {}
        answered = 0
        with _curator(place / "a", ledger) as first, _curator(place / "b", ledger) as second:
            for _ in range(8):
                curator, row = report.random.choice((first, second)), report.random.randrange(4)
                try:
                    told.setdefault(row, set()).update(a.value for a in curator.ask([row]))
                    answered += 1
                except TacitError:
                    report.refusals["a copy's answer"] += 1
                report.fault("curator: a clone answers side by side")
                if report.random.random() < 0.3:
                    _copy_state(place / "older", place / report.random.choice("ab"))
                    report.fault("curator: an older state put back under it")
                with suppress(TacitError):
                    for answer in curator.answers():
                        told.setdefault(answer.row, set()).add(answer.value)
        report.hold(all(len(values) <= 1 for values in told.values()), f"copies {turn}: a row was told twice")
        report.hold(answered > 0, f"copies {turn}: nobody was answered")
        ledger.close()
        shutil.rmtree(place)


def _spend(report: Report, places: list[Any], words: str, paid: int = 0) -> int:
    """Charge a budget that has room for one, everywhere: one charge is acknowledged, those before included."""
    for place in places:
        try:
            with Ledger.open(place, "set") as ledger:
                ledger.charge(HALF)
            paid += 1
        except TacitError:
            report.refusals["a copy's charge"] += 1
    report.hold(paid <= 1, f"{words}: {paid} charges for a budget of one")
    return paid


def files(report: Report, folder: Path, times: int) -> None:
    """A ledger's file under two names, one with the journal of a killed charge; and an older copy of it."""
    for turn in report.rounds(range(times)):
        place = folder / f"names-{report.seed}-{turn}"
        place.mkdir(mode=0o700)
        first, second = place / "a.db", place / "b.db"
        Ledger.open(first, "set", Budget.pure(1.0)).close()
        shutil.copy(first, place / "older.db")
        os.link(first, second)
        Child(work.die_in_a_charge, str(report.random.choice((first, second)))).process.join()
        names = [first, second, first, second]
        report.random.shuffle(names)
        paid = _spend(report, names, f"names {turn}")
        report.fault("ledger: a second name of its file")
        second.unlink()
        _spend(report, [first, place / "older.db"], f"copies {turn}", paid)
        report.fault("ledger: an older copy beside it")
        shutil.rmtree(place)


def servers(report: Report, folder: Path, there: Server, elsewhere: Server, times: int) -> None:
    """An older dump on another server, and roles with schemas of their own."""
    for turn in report.rounds(range(times)):
        name = f"copies{report.seed}x{turn}"
        url, other = there.database(name), elsewhere.database(name)
        Ledger.open(url, "set", Budget.pure(1.0)).close()
        dump = subprocess.run([there.bin / "pg_dump", "-d", url], capture_output=True, check=True).stdout
        subprocess.run([there.bin / "psql", "-q", "-d", other], input=dump, check=True, stdout=subprocess.DEVNULL)
        order = [url, other]
        report.random.shuffle(order)
        paid = _spend(report, order, f"dump {turn}")
        report.fault("ledger: an older dump on another server")
        there.run("CREATE SCHEMA mine", database=name)
        own = f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3Dmine"
        with suppress(TacitError):
            Ledger.open(own, "set", Budget.pure(1.0)).close()
        _spend(report, [own], f"schema {turn}", paid)
        report.fault("ledger: a role with a schema of its own")
        there.drop(name)
        elsewhere.drop(name)


def logs(report: Report, folder: Path, times: int) -> None:
    """A curator's state is opened and looked at while pages of it are in the log of writes: it is sound."""
    place = folder / f"log-{report.seed}"
    state, end = State(place, "study"), threading.Event()
    reader = sqlite3.connect(place / STATE)  # while somebody reads, pages stay in the log
    reader.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()

    def write() -> None:
        while not end.is_set():
            lines = [{"time": f"{i}", "text": "x" * 500} for i in range(200)]
            state.append_audit(lines)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for turn in report.rounds(range(times)):
            try:
                State(place, "study", hold=False).close()
                sound = True
            except TacitError as error:
                sound = "damaged" not in str(error) and "changed" not in str(error)
            report.hold(sound, f"log {turn}: a sound state is called damaged")
            report.fault("curator: its state opened while it is written")
    finally:
        end.set()
        writer.join()
        reader.close()
        state.close()


def settings(report: Report, folder: Path, times: int, run: Callable[..., None] = work.select_once) -> None:
    """A training that dies with some settings goes on with those that were drawn, and leaves such runs out at last."""
    for turn in report.rounds(range(times)):
        place = folder / f"settings-{report.seed}-{turn}"
        place.mkdir(mode=0o700)
        plans: set[bytes] = set()
        out = str(place / "said")
        for _ in range(60):
            child = Child(run, str(place / "out"), out)
            child.process.join()
            with suppress(FileNotFoundError):
                plans.add((place / "out" / "private" / "plan").read_bytes())
            if child.process.exitcode == 0:
                break
            report.fault("train: a kill that depends on the setting")
        calls = [line for line in work.lines(out) if line]
        report.hold(len(plans) <= 1, f"settings {turn}: {len(plans)} plans of one training")
        report.hold(max(map(calls.count, calls), default=0) <= 3, f"settings {turn}: a run was tried too often")
        report.hold(bool(work.lines(f"{out}.ended") or work.lines(f"{out}.refused")), f"settings {turn}: no end")
        shutil.rmtree(place)
