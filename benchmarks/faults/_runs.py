"""tacit.tune and tacit.train, killed at random moments and started again until they are done."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from benchmarks.faults import _work as work
from benchmarks.faults._children import Child, members
from benchmarks.faults._disks import LACK, Disk, small_disk
from benchmarks.faults._report import Report, modes_of
from tacit.errors import TacitError
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger

RELEASED = ("certificate.json", "trials.csv", "model.json", "model.npz", "model.pkl", "model.joblib")
KINDS: dict[str, tuple[Callable[..., None], Budget]] = {
    "tune": (work.tune_once, Budget.gdp(0.5)),
    "train": (work.train_once, Budget.approximate(2.0, 1e-5)),
}


class Job:
    """One run that is begun again until it has ended, paid from a ledger that covers it once."""

    def __init__(self, report: Report, kind: str, place: Path, most: int) -> None:
        self.report, self.kind, self.most = report, kind, most
        self.work, budget = KINDS[kind]
        self.folder = place / f"{kind}-{uuid.uuid4().hex[:8]}"
        self.ledger, self.name = str(place / "ledger.db"), self.folder.name
        self.out = str(place.parent / f"said-{self.name}")
        self.values: dict[int, float] = {}
        composition = "basic" if budget.delta else None
        Ledger.open(self.ledger, self.name, budget, composition=composition).close()

    def start(self, folder: Path | None = None) -> Child:
        return Child(self.work, str(folder or self.folder), self.ledger, self.name, self.out)

    @property
    def ended(self) -> list[str]:
        return work.lines(f"{self.out}.ended")

    def check(self) -> None:
        hold, where = self.report.hold, f"run {self.name}"
        drawn = len(work.lines(self.out))
        try:
            with Ledger.open(self.ledger, self.name) as ledger:
                ledger.verify()
                charges = [e for e in ledger.entries() if e.kind == "charge"]
        except TacitError as error:
            hold("Tampered" not in type(error).__name__, f"{where}: {error}")
            return
        hold(len(charges) <= 1, f"{where}: paid {len(charges)} times")
        hold(not drawn or bool(charges), f"{where}: drawn before it was paid for")
        hold(drawn <= self.most or not self.most, f"{where}: {drawn} draws where {self.most} are paid for")
        hold(len(set(self.ended)) <= 1, f"{where}: one payment, {len(set(self.ended))} different releases")
        said = work.lines(f"{self.out}.untyped")
        hold(not said, f"{where}: untyped: {said[:1]}")
        now = self.read_values()
        if now is not None:
            changed = [n for n, value in self.values.items() if now.get(n) != value]
            hold(not changed, f"{where}: observations that were told changed or are gone")
            self.values = now
        loose = modes_of(self.folder, RELEASED) if self.folder.exists() else []
        hold(not loose, f"{where}: modes {loose[:3]}")

    def read_values(self) -> dict[int, float] | None:
        """What the study has told so far, read past Optuna; None while it cannot be read."""
        try:
            with sqlite3.connect(f"file:{self.folder / 'study.db'}?mode=ro", uri=True, timeout=1) as connection:
                return dict(connection.execute("SELECT trial_id, value FROM trial_values").fetchall())
        except (sqlite3.Error, UnicodeDecodeError):  # the latter where a damaged name is quoted in the former
            return None


def count_draws(report: Report, place: Path) -> int:
    """How many draws an undisturbed search makes."""
    job = Job(report, "tune", place, 0)
    job.start().process.join()
    report.hold(len(job.ended) == 1, f"an undisturbed search did not end: {work.lines(job.out + '.refused')}")
    return len(work.lines(job.out))


def seconds_of(report: Report, kind: str, place: Path) -> float:
    job, begun = Job(report, kind, place, 0), time.monotonic()
    job.start().process.join()
    report.hold(len(job.ended) == 1, f"an undisturbed run did not end: {work.lines(job.out + '.refused')}")
    return time.monotonic() - begun


def kill_again_and_again(report: Report, kind: str, place: Path, times: int) -> None:
    """Kills at moments spread over what a run takes; between them a second process and a copied folder."""
    most = count_draws(report, place) if kind == "tune" else 0
    takes = seconds_of(report, kind, place)
    job, killed, since = Job(report, kind, place, most), 0, 0
    while killed < times and time.monotonic() < report.end:
        child = job.start()
        dice = report.random.random()
        report.pause(0.0, takes * (1.0 if dice < 0.8 else 1.5))
        if dice < 0.1 and child.alive:
            other = job.start()  # the folder is held: it is refused, or goes on when the first one is dead
            report.pause(0.0, 0.2)
            other.kill()
            report.fault(f"{kind}: a second process in the folder, kill -9")
            killed += 1
        elif dice < 0.2 and job.folder.exists():
            child.kill()
            copy = job.folder.with_name(f"{job.folder.name}-copy")
            shutil.copytree(job.folder, copy)
            job.start(copy).process.join()  # refused, or the one release that was paid for
            report.fault(f"{kind}: folder copied, both gone on with")
            job.check()
            shutil.rmtree(copy)
        child.send(signal.SIGKILL)
        child.process.join()
        report.hold(not child.leftovers(), f"a killed {kind} left processes behind")
        report.fault(f"{kind}: kill -9")
        job.check()
        killed, since = killed + 1, since + 1
        if job.ended or since >= 6:
            if not job.ended:
                _finish(report, job)
            report.done[f"{kind} finished"] += 1
            job, since = Job(report, kind, place, most), 0
    _finish(report, job)


def _finish(report: Report, job: Job) -> None:
    """Undisturbed, it ends: with a release, unless one was written by whoever was killed before saying so."""
    job.start().process.join()
    said = work.lines(f"{job.out}.refused")
    released = bool(job.ended) or (job.folder / "certificate.json").exists()
    report.hold(released, f"run {job.name} cannot be finished: {said[-1:]}")
    job.check()
    if job.kind == "train":
        report.hold(not (job.folder / "private").exists() or len(said) > 0, f"run {job.name} left its private state")


def killed_runs(report: Report, folder: Path, kind: str, times: int) -> None:
    place = folder / kind
    place.mkdir(mode=0o700)
    kill_again_and_again(report, kind, place, times)


def on_small_disk(report: Report, folder: Path, kind: str, times: int) -> None:
    """The disk is full at some moment of a run, which is started again when there is room."""
    outside = folder / f"disk-{kind}"
    outside.mkdir(mode=0o700)
    with small_disk(outside) as disk:
        if disk is None:
            return report.lack(LACK)
        takes = seconds_of(report, kind, disk.path)
        for _ in report.rounds(range(times)):
            _fill_once(report, disk, Job(report, kind, disk.path, 0), takes)


def _fill_once(report: Report, disk: Disk, job: Job, takes: float) -> None:
    child = job.start()
    report.pause(0.0, takes)
    disk.fill()
    child.process.join(20)
    child.kill()
    disk.free()
    report.fault(f"{job.kind}: disk full")
    job.check()
    if not job.ended:
        _finish(report, job)
    shutil.rmtree(job.folder, ignore_errors=True)


COMMAND = "import numpy as np, time\ndef losses(params):\n    time.sleep(0.05)\n    return np.full(3000, params['x'])\n"


def killed_commands(report: Report, folder: Path, times: int) -> None:
    """`tacit tune --workers 2` killed: its workers go with it, and the same line goes on."""
    place = folder / "command"
    place.mkdir(mode=0o700)
    (place / "chaos_model.py").write_text(COMMAND)
    (place / "space.toml").write_text("x = {low = 0.0, high = 1.0}\n")
    name = "icu"
    ledger = Ledger.open(place / "ledger.db", name, Budget.gdp(0.5))
    words = ["tune", "chaos_model:losses", "--space", "space.toml", "--records", "3000", "--bounds", "0", "1", "--mu"]
    words += ["0.5", "--trials", "40", "--method", "random", "--ledger", "ledger.db", "--ledger-name", name]
    command = [sys.executable, "-c", "from tacit.cli import main; main()", *words, "--out", "run", "--workers", "2"]
    path = os.pathsep.join([str(place), *(p for p in sys.path if p)])
    for _ in report.rounds(range(times)):
        process = subprocess.Popen(
            command, cwd=place, env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        report.pause(1.0, 4.0)
        process.kill()
        process.wait()
        end = time.monotonic() + 60
        while (left := members(process.pid)) and time.monotonic() < end:
            time.sleep(0.05)
        report.fault("tune --workers 2: kill -9")
        report.hold(not left, f"a killed command left {len(left)} workers behind")
        ledger.verify()
        charges = [e for e in ledger.entries() if e.kind == "charge"]
        report.hold(len(charges) <= 1, f"a command paid {len(charges)} times")
    ledger.close()
