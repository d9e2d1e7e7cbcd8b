"""Files with bits changed or cut short: ledgers, a curator's state, what a killed run left."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from tests.ledger_damage import aimed_bits, copy, lengths, make_original, outcome

from benchmarks.faults import _work as work
from benchmarks.faults._report import Report
from benchmarks.faults._runs import Job, count_draws, seconds_of
from tacit.errors import TacitError
from tacit.outsource.curator import Curator
from tacit.outsource.protocol.terms import Refused


def flip(content: bytes, at: int, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[at] ^= bit
    return bytes(damaged)


def look(report: Report, words: str, work: Callable[[], object]) -> None:
    """Do something with a damaged file: nothing but an error of ours may come of it."""
    try:
        work()
    except TacitError:
        report.refusals["damaged file"] += 1
    except Exception as error:
        report.hold(False, f"{words}: {type(error).__name__}: {error}")
    else:
        report.checks += 1


def ledgers(report: Report, folder: Path, flips: int, cuts: int) -> None:
    """A ledger's file: tampering or harmless, never a larger budget (``outcome`` says which)."""
    place = folder / "damage"
    place.mkdir(mode=0o700)
    content = (original := make_original(place / "original.db")).read_bytes()
    for at, bit in report.rounds(islice(aimed_bits(content, report.seed), flips)):
        path = copy(original, place, flip(content, at, bit))
        look(report, f"ledger, bit {bit} of byte {at}", lambda path=path: outcome(path))  # type: ignore[misc]
        report.fault("ledger file: a bit changed")
    for length in report.rounds(report.random.sample(lengths(len(content), 97), cuts)):
        path = copy(original, place, content[:length])
        look(report, f"ledger, cut at {length}", lambda path=path: outcome(path))  # type: ignore[misc]
        report.fault("ledger file: cut short")


LIMIT, TOLD = 8, 6


def curator(place: Path) -> Curator:
    table = work.table()[:40]
    answers = [float(a) for a in table.sum(axis=1)]
    return Curator(table, answers, epsilon=2.0, delta=1e-4, state=place / "state", queries=LIMIT)


def states(report: Report, folder: Path, flips: int, cuts: int) -> None:
    """A curator's state: what was told stays as it was told, the limit stays, or nothing more is told."""
    original, place = folder / "state-original", folder / "state-damaged"
    with curator(original) as made:
        told = {row: made.ask([row], request=f"request-{row}")[0].value for row in range(TOLD)}
    with sqlite3.connect(original / "state" / "curator.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = (original / "state" / "curator.db").read_bytes()
    used = [at for at, byte in enumerate(content) if byte]
    damages = [(f"bit 2 of byte {at}", flip(content, at, 4)) for at in report.random.choices(used, k=flips)]
    damages += [(f"cut at {n}", content[:n]) for n in report.random.sample(range(len(content)), cuts)]
    for words, damaged in report.rounds(damages):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(original, place)
        (place / "state" / "curator.db").write_bytes(damaged)
        look(report, f"curator's state, {words}", lambda words=words: _ask_all(report, place, told, words))  # type: ignore[misc]
        report.fault("curator's state: cut short" if words.startswith("cut") else "curator's state: a bit changed")


def _ask_all(report: Report, place: Path, told: dict[int, float | None], words: str) -> None:
    answered = set(told)
    with curator(place) as opened:
        for row in range(12):
            try:
                answer = opened.ask([row], request=f"request-{row}")[0]
            except Refused:
                continue
            report.hold(told.get(row, answer.value) == answer.value, f"{words}: another answer for row {row}")
            answered.add(row)
    report.hold(len(answered) <= LIMIT, f"{words}: {len(answered)} answers under a limit of {LIMIT}")


def runs(report: Report, folder: Path, kind: str, times: int) -> None:
    """A run is killed, a file that it left is changed or cut, and it is begun again: paid once, drawn once, typed."""
    place = folder / f"damage-{kind}"
    place.mkdir(mode=0o700)
    most = count_draws(report, place) if kind == "tune" else 0
    takes = seconds_of(report, kind, place)
    for _ in report.rounds(range(times)):
        job = Job(report, kind, place, most)
        child = job.start()
        report.pause(0.2 * takes, takes)
        child.kill()
        left = [p for p in job.folder.rglob("*") if p.is_file() and p.stat().st_size] if job.folder.exists() else []
        if not left:
            continue
        path = report.random.choice(left)
        content = path.read_bytes()
        at = report.random.randrange(len(content))
        cut = report.random.random() < 0.3
        path.write_bytes(content[:at] if cut else flip(content, at, 1 << report.random.randrange(8)))
        report.fault(f"{kind}: a file {'cut short' if cut else 'with a bit changed'}, begun again")
        job.start().process.join()
        job.values = {}  # what was changed by hand may be seen as such
        job.check()
        shutil.rmtree(job.folder, ignore_errors=True)
