"""Draws that the ledger numbers ahead, what is left of a run, and the answer it gave; the laws are in tests/laws."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest
from claims_stores import PIECE, StudyInMemory, StudyInSQLite

from tacit.errors import BadInput, BudgetRefused
from tacit.privacy import claims as module
from tacit.privacy.claims import Claims, Promise
from tacit.privacy.release import Payment


class Numbers:
    """Stands for the ledger: hands out numbers and remembers how many were asked for at a time."""

    def __init__(self) -> None:
        self.drawn, self.asked = 0, []

    def take(self, wanted: int, *, most: int) -> range:
        self.asked.append(wanted)
        taken = range(self.drawn, max(self.drawn, min(self.drawn + wanted, most)))
        self.drawn = taken.stop
        return taken


class Clock:
    """Stands for the module time."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr(module, "_ahead", {})
    return made


def number(numbers: Numbers, most: int) -> int | None:
    return module._number(numbers, Payment("some", "l", 1, "0" * 64), most)  # type: ignore[arg-type]


def test_quick_draws_are_numbered_ahead_and_no_more_than_one_in_twenty_of_a_run(clock: Clock) -> None:
    numbers = Numbers()
    assert [number(numbers, 100) for _ in range(102)] == [*range(100), None, None]
    assert numbers.asked[:4] == [1, 2, 4, 5]
    assert set(numbers.asked[3:]) == {5}


def test_slow_draws_and_those_of_a_short_run_are_numbered_one_by_one(clock: Clock) -> None:
    short, slow = Numbers(), Numbers()
    assert [number(short, 19) for _ in range(20)] == [*range(19), None]
    assert set(short.asked) == {1}
    module._ahead.clear()
    for i in range(20):
        clock.now += 1.0
        assert number(slow, 1000) == i
    assert set(slow.asked) == {1}
    clock.now += 0.999
    assert [number(slow, 1000), slow.asked[-1]] == [20, 2]


def test_what_was_numbered_ahead_is_left_though_others_claimed_all(clock: Clock, tmp_path: Path) -> None:
    kind = StudyInMemory(tmp_path)
    with kind.ledger() as ledger:
        claims = Claims(kind.store(), Promise(PIECE, 40, "tune {run}: laws", {"draws": 40}), ledger=ledger)
        assert (claims.in_hand(), claims.left()) == (0, 40)
        for i in range(2):
            kind.draw(claims, i)
        assert (claims.in_hand(), claims.left()) == (1, 38)
        for _ in range(60):  # of others, who are not counted yet
            claims.store.claim(kind.key(claims, 0), None)
        assert claims.left() == claims.in_hand() == 1
        kind.draw(claims, 2)
        assert claims.left() == 0


def test_a_run_without_a_ledger_has_its_promised_draws_and_no_more(tmp_path: Path) -> None:
    kind = StudyInMemory(tmp_path)
    claims = kind.open()
    assert [claims.left(), claims.in_hand()] == [4, 0]
    assert len(kind.draw_all(claims)) == 4
    assert claims.left() == 0
    with pytest.raises(BudgetRefused):
        kind.draw(claims)


@pytest.mark.parametrize("paying", [False, True])
def test_the_answer_of_a_run_is_found_again(paying: bool, tmp_path: Path) -> None:
    kind = StudyInMemory(tmp_path)
    claims = kind.open(kind.ledger() if paying else None)
    kind.draw_all(claims, 4)
    assert claims.answer() is None
    claims.give({"best": 3}, "0" * 64)
    assert claims.answer() == {"best": 3}
    assert kind.open(kind.ledger() if paying else None).answer() == {"best": 3}
    assert claims.recorded_digest() == ("0" * 64 if paying else None)


def test_a_ledger_is_charged_on_opening_only_for_what_was_drawn_without_it(tmp_path: Path) -> None:
    kind = StudyInMemory(tmp_path)
    with kind.ledger() as ledger:
        claims = kind.open(ledger)
        assert (claims.payment, ledger.entries()) == (None, [])
        other = StudyInMemory(tmp_path)
        other.draw(other.open())
        assert other.open(ledger).payment is not None
        assert len(ledger.entries()) == 1


def test_a_ledger_that_cannot_afford_a_run_refuses_it_on_opening(tmp_path: Path) -> None:
    kind = StudyInMemory(tmp_path)
    with kind.ledger(mu=0.4) as poor, pytest.raises(BudgetRefused):
        kind.open(poor)


@pytest.mark.parametrize("paying", [False, True])
def test_a_copy_of_a_run_in_memory_draws_nothing_with_or_without_a_ledger(paying: bool, tmp_path: Path) -> None:
    kind = StudyInMemory(tmp_path)
    claims = kind.open(kind.ledger() if paying else None)
    kind.draw(claims, 0)
    with pytest.raises(BadInput, match="is a copy"):
        kind.draw(pickle.loads(pickle.dumps(claims)), 1)
    assert kind.drawn == 1


def test_a_run_in_a_file_that_was_moved_draws_nothing_without_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    kind = StudyInSQLite(tmp_path / "run")
    kind.draw(kind.open(), 0)
    shutil.move(tmp_path / "run", tmp_path / "moved")
    moved = StudyInSQLite(tmp_path / "moved")
    with pytest.raises(BadInput, match="is a copy"):
        moved.draw(moved.open(), 1)
    assert moved.drawn == 1
