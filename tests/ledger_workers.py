"""What child processes do in the ledger's tests. They are real processes, and they really die."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tacit.errors import BudgetRefused, LedgerError
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger, file, server
from tacit.privacy.release import digest

PIECE = Guarantee(Budget.gdp(0.1))  # a hundred of these fill a budget of mu = 1
NOBODY = 65534

spawn = get_context("spawn")
fork = get_context("fork")
forks = get_context("forkserver")  # as separate as spawn, but starts from a process that has imported everything
forks.set_forkserver_preload(["tacit.privacy.ledger"])


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def draw(path: str, text: str) -> None:
    """Stands for a release: once here, it is out in the world."""
    with open(path, "a") as out:
        out.write(text + "\n")


def draws(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def charge_all(url: str, name: str, start: Any, pipe: Connection) -> None:
    """Charge until refused, at the same time as others; report how often it was admitted."""
    with Ledger.open(url, name, Budget.gdp(1.0)) as ledger:
        start.wait(60)
        admitted = 0
        try:
            while True:
                ledger.charge(PIECE)
                admitted += 1
        except BudgetRefused:
            pipe.send(admitted)


def charge_one_key(url: str, start: Any, answers: Any) -> None:
    """Open a ledger that may not exist yet and pay for the same release as others, at the same time."""
    start.wait(60)
    with Ledger.open(url, "l", Budget.gdp(1.0)) as ledger:
        answers.put(ledger.charge(Guarantee(Budget.gdp(0.6)), "one study", key="study 1").entry)


def open_new(url: str, name: str, start: Any, pipe: Connection) -> None:
    start.wait(60)
    pipe.send(Ledger.open(url, name, Budget.gdp(1.0)).id)


def release_for_ever(url: str, name: str, path: str, opened: Any, begun: Any) -> None:
    with Ledger.open(url, name) as ledger:
        opened.set()
        while True:
            payment = ledger.charge(Guarantee(Budget.gdp(0.001)))
            draw(path, f"{payment.entry} {payment.hash}")
            begun.set()
            ledger.settle(payment, digest(payment.entry))


def release_and_die(url: str, name: str, path: str, point: str) -> None:
    """Release once, killed at a given point."""
    ledger = Ledger.open(url, name)
    if point == "before the commit":
        server.keep = file.keep = die
    elif point == "after the insert":
        server.KEEP = "SELECT 1"  # the message of both, cut off before its commit
        usual, file.FileConnection.commit = server.keep, die  # type: ignore[method-assign]
        server.keep = lambda *about: (usual(*about), die())  # type: ignore[func-returns-value]
    payment = ledger.charge(PIECE, "one release")
    if point == "after the commit":
        die()
    draw(path, f"{payment.entry} {payment.hash}")
    if point == "after the draw":
        die()
    ledger.settle(payment, digest(payment.entry))
    die()


def charge_given(ledger: Ledger, pipe: Connection) -> None:
    """Charge a ledger that came from another process, while that process charges it too."""
    pipe.send([ledger.charge(PIECE, "from a child") for _ in range(20)])


def release_until_it_fails(url: str, name: str, path: str, purpose: str, limit: int, lowly: bool, pipe: Any) -> None:
    """Release until the ledger cannot be written; report the balance read before that, and the error's words."""
    if lowly and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    ledger = Ledger.open(url, name)
    left = str(ledger.remaining())
    try:
        while True:
            payment = ledger.charge(Guarantee(Budget.gdp(0.001)), purpose)
            draw(path, f"{payment.entry} {payment.hash}")
    except LedgerError as error:
        pipe.send((left, len(ledger.entries()), str(error)))


@contextmanager
def running(work: Callable[..., None], *arguments: Any, context: Any = forks) -> Iterator[Connection]:
    """A child process that answers through a pipe."""
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=work, args=(*arguments, there))
    child.start()
    there.close()
    try:
        yield here
        child.join()
    finally:
        child.kill()
        child.join()
