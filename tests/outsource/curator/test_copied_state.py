"""A curator's state that is copied or put back while curators are at work: what the ledger knows decides."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from outsource_parts import hill, some_rows

from tacit.errors import LedgerError
from tacit.outsource.curator import Curator
from tacit.outsource.curator.payments import Recorded
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.outsource.curator.state import STATE
from tacit.privacy.claim_store import FILE, Home
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger

ROWS = some_rows(40)


def curator_of(state: Path, ledger: Ledger, charged: str = "once") -> Curator:
    answers = PrivateAnswers((-1.0, 1.0), Budget.gdp(0.5), charged)
    return Curator(ROWS, hill(ROWS), epsilon=2.0, delta=1e-5, state=state, answers=answers, ledger=ledger)


def copy(one: Path, other: Path) -> None:
    """The content of a state, as a backup has it, also while it is open; and into one that is open."""
    other.mkdir(exist_ok=True)
    source, target = sqlite3.connect(one / STATE), sqlite3.connect(other / STATE)
    source.backup(target)
    source.close()
    target.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(20.0))


def values_of(curator: Curator, row: int) -> set[Any]:
    """All that a modeler gets to see of a row, whichever way it asks."""
    seen: set[Any] = set()
    for ask in (lambda: curator.ask([row]), curator.answers):
        with suppress(LedgerError):
            seen |= {a.value for a in ask() if a.row == row}
    return seen


def test_a_state_put_back_under_a_live_curator_does_not_answer_a_row_twice(tmp_path: Path, ledger: Ledger) -> None:
    with curator_of(tmp_path / "state", ledger) as curator:
        curator.ask([1])
        copy(tmp_path / "state", tmp_path / "older")
        told = set()
        for _ in range(4):
            told |= values_of(curator, 4)
            copy(tmp_path / "older", tmp_path / "state")
        assert len(told) == 1
        with pytest.raises(LedgerError, match="has paid for row 4 already"):
            curator.ask([4])
        copy(tmp_path / "older", tmp_path / "state")
        with pytest.raises(LedgerError, match="an older copy was put back"):  # its limit was put back with it
            curator.ask([7])
    ledger.verify()
    with pytest.raises(LedgerError, match="an older copy was put back"):
        curator_of(tmp_path / "state", ledger)


@pytest.mark.parametrize("told_before", [[], [1]])
def test_of_two_clones_of_a_state_at_one_place_one_answers(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, told_before: list[int]
) -> None:
    """As in two containers, or on two machines: each finds its state at the same path."""
    monkeypatch.setattr(Recorded, "home", lambda self: Home(FILE, "/data/curator.db", f"study {self._study}"))
    with curator_of(tmp_path / "first", ledger) as curator:
        for row in told_before:
            curator.ask([row])
        copy(tmp_path / "first", tmp_path / "second")
    with curator_of(tmp_path / "first", ledger) as first, curator_of(tmp_path / "second", ledger) as second:
        for row in range(10, 20):
            seen = values_of(first, row) | values_of(second, row)
            assert len(seen) <= 1
            assert seen or row > 10  # somebody goes on
        refused = [curator for curator in (first, second) if not values_of(curator, 30)]
        assert len(refused) == 1
        with pytest.raises(LedgerError, match="an older copy was put back"):
            refused[0].ask([31])
    ledger.verify()


def test_an_answer_that_the_ledger_has_not_confirmed_is_not_told_by_another_curator(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first records and dies before the ledger knows; whoever tells it has the ledger know first."""
    with curator_of(tmp_path / "state", ledger) as first:
        first.ask([1])
        first._confirm = lambda *given: (_ for _ in ()).throw(LedgerError("unreachable"))  # type: ignore[method-assign]
        with pytest.raises(LedgerError, match="unreachable"):
            first.ask([4], request="request-4")
        first._state._lock.release()
        with curator_of(tmp_path / "state", ledger) as second:
            with sqlite3.connect(tmp_path / "ledger.db") as database:
                names = {name for (name,) in database.execute("SELECT name FROM tacit_named_draws")}
            assert names == {"row 1", "row 4"}
            assert second.ask([4])[0].value == first._state.find_answers([4])[4]
