"""Many processes at once, and processes that are killed: never more than the budget, never a draw without a debit."""

from __future__ import annotations

import random
import threading
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from ledger_workers import (
    PIECE,
    charge_all,
    charge_given,
    draws,
    fork,
    forks,
    open_new,
    release_and_die,
    release_for_ever,
    running,
    spawn,
)

from tacit.errors import BudgetRefused, LedgerError, LedgerTampered
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.store import Database


def all_at_once(work: Any, url: str, name: str, processes: int) -> list[Any]:
    """What each of many processes answers that start together."""
    start = forks.Barrier(processes)
    pipes = [forks.Pipe(duplex=False) for _ in range(processes)]
    children = [forks.Process(target=work, args=(url, name, start, there)) for _, there in pipes]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [c.exitcode for c in children] == [0] * processes
    return [here.recv() for here, _ in pipes]


def test_sixteen_processes_never_overspend_and_leave_nothing_affordable(ledger_url: str) -> None:
    admitted = all_at_once(charge_all, ledger_url, "shared", 16)
    ledger = Ledger.open(ledger_url, "shared")
    assert sum(admitted) == 100 == len(ledger.entries())
    assert not ledger.can_afford(PIECE)
    ledger.verify()


def test_processes_that_open_at_once_get_one_ledger(ledger_url: str) -> None:
    assert len(set(all_at_once(open_new, ledger_url, "new", 8))) == 1
    assert Ledger.names(ledger_url) == ["new"]


@pytest.mark.parametrize(("look", "turn"), [("exists", 1), ("exists", 2), ("find", 1)])
@pytest.mark.parametrize("budget", [Budget.gdp(1.0), None])
def test_a_ledger_that_another_process_makes_meanwhile_is_not_called_lost(
    ledger_url: str, monkeypatch: pytest.MonkeyPatch, look: str, turn: int, budget: Budget | None
) -> None:
    """It is made right after a look that did not see it, so its note is there when the note is read."""
    usual, looks = getattr(Database, look), 0

    def make_meanwhile(store: Database, *about: str) -> Any:
        nonlocal looks
        seen, looks = usual(store, *about), looks + 1
        if looks == turn:
            monkeypatch.setattr(Database, look, usual)
            Ledger.open(ledger_url, "new", Budget.gdp(1.0)).close()
        return seen

    monkeypatch.setattr(Database, look, make_meanwhile)
    refusal: LedgerError | None = None
    try:
        Ledger.open(ledger_url, "new", budget).close()
    except LedgerError as error:
        refusal = error
    assert refusal is None or (budget is None and not isinstance(refusal, LedgerTampered))
    Ledger.open(ledger_url, "new", Budget.gdp(1.0)).close()
    assert Ledger.names(ledger_url) == ["new"]


@pytest.mark.parametrize("context", [spawn, fork], ids=["spawned", "forked"])
def test_a_child_may_use_its_parents_ledger(ledger_url: str, context: Any) -> None:
    ledger = Ledger.open(ledger_url, "family", Budget.gdp(1.0))
    ledger.charge(PIECE)  # the parent has talked to the database before the child is made
    with running(charge_given, ledger, context=context) as pipe:
        for _ in range(20):
            ledger.charge(PIECE)
        payments = pipe.recv()
    assert {ledger.pays(payment).purpose for payment in payments} == {"from a child"}
    assert len(ledger.entries()) == 41
    ledger.verify()


def test_kill_at_random_moments_never_leaves_a_draw_without_a_debit(ledger_url: str, tmp_path: Path) -> None:
    out = tmp_path / "draws"
    ledger = Ledger.open(ledger_url, "mortal", Budget.gdp(100.0))
    for turn in range(16):
        before = len(draws(out))
        opened, begun = forks.Event(), forks.Event()
        child = forks.Process(target=release_for_ever, args=(ledger_url, "mortal", str(out), opened, begun))
        child.start()
        assert (begun if turn % 2 else opened).wait(
            60
        )  # every other child gets as far as a draw, however slow the machine
        time.sleep(random.uniform(0.0, 0.06))
        child.kill()
        child.join()
        charged = {f"{e.number} {e.hash}" for e in ledger.entries() if e.kind == "charge"}
        drawn = draws(out)
        assert set(drawn) <= charged
        assert len(set(drawn)) == len(drawn) >= before + turn % 2
    ledger.verify()
    ledger.charge(PIECE)  # no dead process holds the lock


@pytest.mark.parametrize(
    ("point", "status", "drawn"),
    [
        ("after the insert", None, False),
        ("before the commit", None, False),
        ("after the commit", "debited, not drawn", False),
        ("after the draw", "debited, not drawn", True),
        ("after the settling", "drawn", True),
    ],
)
def test_killed_at_a_given_point(ledger_url: str, tmp_path: Path, point: str, status: str | None, drawn: bool) -> None:
    out = tmp_path / "draws"
    ledger = Ledger.open(ledger_url, "mortal", Budget.gdp(0.1))
    child = forks.Process(target=release_and_die, args=(ledger_url, "mortal", str(out), point))
    child.start()
    child.join()
    assert child.exitcode == -9
    charges = [e for e in ledger.entries() if e.kind == "charge"]
    assert [e.status for e in charges] == ([status] if status else [])
    assert bool(draws(out)) == drawn
    ledger.verify()
    if status:  # spent for good, drawn or not
        assert ledger.remaining().amount == 0
        with pytest.raises(BudgetRefused):
            ledger.charge(PIECE)
    else:
        ledger.charge(PIECE)


def test_a_child_forked_while_threads_charge_is_served(tmp_path: Path) -> None:
    """SQLite would tell it for a minute that a lock is held, by a thread that the child does not have."""
    ledger, end = Ledger.open(tmp_path / "ledger.db", "l", Budget.gdp(1e3)), threading.Event()
    piece = Guarantee(Budget.gdp(0.01))

    def work() -> None:
        while not end.is_set():
            ledger.charge(piece)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(6):
            child = get_context("fork").Process(target=ledger.charge, args=(piece,))
            child.start()
            child.join()
            assert child.exitcode == 0
    finally:
        end.set()
        for thread in threads:
            thread.join()
    ledger.verify()
