"""Kills and fleets: whatever dies, and however many begin at once, a study pays once and draws no more than was paid.

Kills: a study on a Dask cluster of two sites; a worker, the scheduler or the client is killed (SIGKILL) at a random
moment, what died is started again, and the study goes on, until it is released. Every draw is noted before it is made.
A study that is not released three minutes after its last kill is counted as one that does not end.
Fleets: eight processes begin one study on one storage in the same instant.
Processes are forked from one that has loaded what they need: sources that change meanwhile meet none of them.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.postgres_server import Server, binaries

import tacit
from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.scale._cluster import SITES, Processes, connect, dask_cluster
from tacit.errors import TacitError
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import Exact
from tacit.run.shards import Shards

TITLE = "Scale: kills and fleets against one charge"
LONG = True
REPEATS = 1

KILLS, A_STUDY = 50, 10
FLEETS, SIZE = 20, 8
TRIALS, ROWS, PARTS = 24, 20_000, 6
PATIENCE = 180.0  # seconds after the last kill in which a study must end
LOADED = ["benchmarks.scale.scale_faults", "tacit.methods.search", "tacit.methods.sampler", "tacit.run.sampler",
          "tacit.run.dask_engine", "tacit.run.study", "optuna"]  # fmt: skip
context = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Killed:
    """What became of one study under kills: how many of each victim, and errors of the client that are none of ours."""

    kills: dict[str, int]
    midway: int
    draws: int
    charges: int
    ended: bool
    typed: int
    odd: list[str]


class Noting(Exact):
    """Exact noise that notes every draw in a file before it makes it."""

    def __init__(self, file: str) -> None:
        self.file = file

    def gaussian_whole(self, value: int, scale: float) -> int:
        note(self.file, "draw")
        return super().gaussian_whole(value, scale)


def note(file: str, word: str) -> None:
    where = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(where, f"{word}\n".encode())
    os.close(where)


def read(file: str) -> list[str]:
    return Path(file).read_text().split() if Path(file).exists() else []


def train(params: dict[str, Any]) -> float:
    return float(params["x"])


def score(model: float, frame: Any) -> Any:
    time.sleep(0.05)
    return np.full(len(frame), 0.2 + (model - 0.3) ** 2)


def tune(storage: str, ledger: str, draws: str, records: Any, cluster: Any) -> None:
    release = tacit.tune(
        score, {"x": tacit.Float(0.0, 1.0)}, train=train, records=records, cluster=cluster, bounds=(0.0, 1.0),
        budget=Budget.gdp(0.5), trials=TRIALS, storage=storage, ledger=Ledger.open(ledger, "icu"), progress=False,
        noise=Noting(draws), at_once=1,
    )  # fmt: skip
    note(draws + ".ended", str(release.value.params["x"]))


def work_on_cluster(folder: str, port: int) -> None:
    """The client: goes on until the study is released."""
    while not read(f"{folder}/draws.ended"):
        client = connect(Processes(folder, port), 60)
        try:
            parts = [np.zeros((ROWS // PARTS, 1)) + i for i in range(PARTS)]
            homes = [SITES[i % 2] for i in range(PARTS)]
            counts = [len(part) for part in parts]
            shards = Shards(parts, counts=counts, homes=homes, cluster=client)
            tune(f"sqlite:///{folder}/study.db", f"sqlite:///{folder}/ledger.db", f"{folder}/draws", shards, client)
        except Exception as error:
            note(f"{folder}/errors", f"{'typed' if isinstance(error, TacitError) else type(error).__name__}")


def kill_at_random(port: int, seed: int) -> Killed:
    """A study under at most ten kills, each some draws after the last, until it is released or seems never to be."""
    chance, kills, midway = random.Random(seed), Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder, dask_cluster(folder, port) as processes:
        Ledger.open(f"sqlite:///{folder}/ledger.db", "icu", budget=Budget.gdp(2.0)).close()
        client = context.Process(target=work_on_cluster, args=(folder, port))
        client.start()
        last = time.monotonic()
        while not read(f"{folder}/draws.ended") and time.monotonic() < last + PATIENCE:
            if kills.total() >= A_STUDY:
                time.sleep(0.5)
                continue
            wanted, late = len(read(f"{folder}/draws")) + chance.randint(0, 3), time.monotonic() + 20
            while len(read(f"{folder}/draws")) < wanted and time.monotonic() < late:
                time.sleep(0.02)
            time.sleep(chance.uniform(0.0, 1.0))
            if read(f"{folder}/draws.ended"):
                break
            midway += 0 < len(read(f"{folder}/draws")) < TRIALS
            victim = chance.choice(["client", "scheduler", *SITES])
            kills["worker" if victim in SITES else victim] += 1
            last = time.monotonic()
            if victim == "client":
                client.kill()
                client.join()
                client = context.Process(target=work_on_cluster, args=(folder, port))
                client.start()
            else:
                processes.kill(victim)
                processes.start(victim)
                if victim == "scheduler":
                    for site in SITES:
                        processes.kill(site)
                        processes.start(site)
        client.join(10)
        client.kill()
        with Ledger.open(f"sqlite:///{folder}/ledger.db", "icu") as ledger:
            charges = sum(e.kind == "charge" for e in ledger.entries())
        errors = read(f"{folder}/errors")
        ended, draws = bool(read(f"{folder}/draws.ended")), len(read(f"{folder}/draws"))
        odd = [word for word in errors if word != "typed"]
        return Killed(dict(kills), midway, draws, charges, ended, len(errors) - len(odd), odd)


def join_fleet(folder: str, storage: str, ledger: str, start: float) -> None:
    time.sleep(max(0.0, start - time.time()))
    try:
        tune(storage, ledger, f"{folder}/draws", Shards([np.zeros((2000, 1))], counts=[2000]), None)
    except Exception as error:
        note(f"{folder}/errors", type(error).__name__)


def begin_together(storage: str, ledger: str) -> tuple[int, int, int, list[str]]:
    """Eight processes begin one study: charges, draws, different answers, errors."""
    with tempfile.TemporaryDirectory() as folder:
        storage, ledger = storage.format(folder=folder), ledger.format(folder=folder)
        Ledger.open(ledger, "icu", budget=Budget.gdp(20.0)).close()
        start = time.time() + 1.5
        fleet = [context.Process(target=join_fleet, args=(folder, storage, ledger, start)) for _ in range(SIZE)]
        for process in fleet:
            process.start()
        for process in fleet:
            process.join()
        with Ledger.open(ledger, "icu") as opened:
            charges = sum(e.kind == "charge" for e in opened.entries())
        answers = len(set(read(f"{folder}/draws.ended")))
        return charges, len(read(f"{folder}/draws")), answers, read(f"{folder}/errors")


def run(repeats: int) -> list[Figure]:
    context.set_forkserver_preload(LOADED)
    figures = run_fleets()
    studies = list[Killed]()
    while len(studies) < KILLS and sum(sum(s.kills.values()) for s in studies) < KILLS:
        i = len(studies)
        work = {"seed": i, "trials": TRIALS, "parts": PARTS, "kills": "by draws"}
        studies.append(Killed(**keep_piece("scale_faults", work, lambda i=i: asdict(kill_at_random(18900 + i, i)))))
    kills = sum((Counter(s.kills) for s in studies), Counter[str]())
    ended, odd = sum(s.ended for s in studies), [word for s in studies for word in s.odd]
    return [
        *figures,
        Figure("kills of workers, scheduler and client", float(kills.total()), "kills", goal=float(KILLS),
               better="more", note=", ".join(f"{n} of a {who}" for who, n in sorted(kills.items()))
               + f"; {sum(s.midway for s in studies)} between a study's first and last draw"),
        Figure("kills: studies that ended in their release", float(ended), f"of {len(studies)}",
               goal=float(len(studies)), better="more"),
        Figure("kills: most draws of a study", float(max(s.draws for s in studies)), "draws",
               against=f"{TRIALS} paid", goal=float(TRIALS), better="less"),
        Figure("kills: most charges of a study", float(max(s.charges for s in studies)), "charges", goal=1.0,
               better="less"),
        Figure("kills: errors of the client that are none of tacit's", float(len(odd)), "errors", goal=0.0,
               better="less", note=", ".join(sorted(set(odd)))
               or f"and {sum(s.typed for s in studies)} of tacit's own: run again with the same storage"),
        Figure("load of the machine meanwhile", os.getloadavg()[1], "processes", note="of the last five minutes"),
    ]  # fmt: skip


def run_fleets() -> list[Figure]:
    server = Server(fsync=True) if binaries() is not None else None
    once, most, errors, several = 0, 0, list[str](), 0
    try:
        for i in range(FLEETS):
            storage, ledger = "sqlite:///{folder}/study.db", "sqlite:///{folder}/ledger.db"
            if server is not None and i % 2:
                storage = server.database(f"study{i}")
                ledger = server.database(f"ledger{i}")
            kind = "PostgreSQL" if "{folder}" not in storage else "SQLite"
            work = {"fleet": i, "on": kind, "trials": TRIALS, "size": SIZE}
            made = keep_piece("scale_faults", work, lambda s=storage, g=ledger: begin_together(s, g))
            charges, draws, answers, wrong = made
            once += charges == 1
            several += answers > 1
            most, errors = max(most, draws), [*errors, *wrong]
    finally:
        if server is not None:
            server.remove()
    where = "SQLite and PostgreSQL in turn" if server is not None else "SQLite; no PostgreSQL is here"
    return [
        Figure(f"fleets of {SIZE} that paid once", float(once), f"of {FLEETS}", goal=float(FLEETS), better="more",
               note=where),
        Figure("fleets: most draws of a study", float(most), "draws", against=f"{TRIALS} paid", goal=float(TRIALS),
               better="less"),
        Figure("fleets with two answers", float(several), f"of {FLEETS}", goal=0.0, better="less"),
        Figure("fleets: processes that ended with an error", float(len(errors)), f"of {FLEETS * SIZE}",
               note=", ".join(sorted(set(errors)))),
    ]  # fmt: skip
