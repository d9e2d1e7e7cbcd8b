"""Commits that fail, before they happened or after; and copies of runs that are made while they run."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from benchmarks.faults._report import Report
from tacit.errors import LedgerError, TacitError
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.file import FileConnection
from tacit.privacy.release import digest

PIECE = Guarantee(Budget.pure(1e-3))
_here = threading.local()  # other parts run in other threads, and their commits do not fail
_commit = FileConnection.commit


def _fail(connection: FileConnection) -> None:
    when, _here.when = getattr(_here, "when", ""), ""
    if when != "before":
        _commit(connection)
    if when:
        _here.failed = True
        raise sqlite3.OperationalError("disk I/O error")


FileConnection.commit = _fail  # type: ignore[method-assign]


def commits(report: Report, folder: Path, times: int) -> None:
    """Charges whose commit fails: what was acknowledged is there, and what was not is found by its key or paid anew."""
    place = folder / f"commits-{report.seed}"
    place.mkdir(mode=0o700)
    acknowledged: dict[str, int] = {}
    with Ledger.open(place / "l.db", "set", Budget.pure(100.0)) as ledger:
        for turn in report.rounds(range(times)):
            _here.when, _here.failed = report.random.choice(("before", "after")), False
            with suppress(LedgerError):
                acknowledged[f"run {turn}"] = ledger.charge(PIECE, key=f"run {turn}").entry
            report.hold(
                not (_here.failed and f"run {turn}" in acknowledged), f"commit {turn}: acknowledged all the same"
            )
            _here.when = ""
            if report.random.random() < 0.5:
                with suppress(TacitError):
                    acknowledged[f"run {turn}"] = ledger.charge(PIECE, key=f"run {turn}").entry
            report.fault("ledger: a commit that failed")
            if turn % 50 == 0:
                report.done["charges, though commits fail"] = len(acknowledged)
        try:
            ledger.verify()
            charges = {e.number for e in ledger.entries() if e.kind == "charge"}
        except TacitError:  # this machine has seen more than is there
            charges = set()
        report.hold(set(acknowledged.values()) <= charges, "commits: an acknowledged debit is not there")
        report.hold(len(charges) <= turn + 1, "commits: a key paid twice")
    shutil.rmtree(place)


def live_runs(report: Report, folder: Path, times: int) -> None:
    """A selection's folder is copied at a random run, and the copy ends first: the two release one value."""
    for turn in report.rounds(range(times)):
        place = folder / f"live-{report.seed}-{turn}"
        place.mkdir(mode=0o700)
        with Ledger.open(place / "l.db", "set", Budget.approximate(3.0, 1e-3), composition="basic") as ledger:
            released = _select_with_a_clone(report, place, ledger)
            values = {digest(release.value) for release in released}
            report.hold(len(values) == 1, f"live {turn}: {len(values)} releases for one payment")
            paid = all(ledger.verify_certificate(release.certificate()).paid for release in released)
            report.hold(paid, f"live {turn}: a release that its ledger did not pay for")
        shutil.rmtree(place)


def _select_with_a_clone(report: Report, place: Path, ledger: Ledger) -> list[Any]:
    """What a selection releases, and its clone."""
    released, moment, calls = list[Any](), report.random.randint(1, 2), [0]

    def select(out: Path, *, clone: bool) -> None:
        def objective(params: dict[str, Any], base: Any) -> tuple[float, np.ndarray]:
            calls[0] += clone
            if clone and calls[0] == moment:
                shutil.copytree(place / "one", place / "two")
                report.fault("train: a copy of a live run")
                select(place / "two", clone=False)
            return params["x"], np.full(3000, params["x"])

        budget, space = Budget.approximate(2.0, 1e-5), {"x": tacit.Float(0, 1)}
        about: dict[str, Any] = {"records": 3000, "budget": budget, "runs": 3, "progress": False}
        with suppress(TacitError):
            released.append(tacit.select(objective, space, **about, out=out, ledger=ledger))

    select(place / "one", clone=True)
    return released
