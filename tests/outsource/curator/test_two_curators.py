"""Two curators on one state, because a lock was lost: limits, stops, answers and the table are common to both."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from outsource_parts import hill, some_rows

from tacit.errors import ObjectiveError, StateError
from tacit.outsource.curator import Curator
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.outsource.curator.state import State
from tacit.outsource.protocol.terms import Refused
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.store import Database

ROWS = some_rows(200)
LOCKS = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 7236143"
Make = Callable[..., Curator]


@pytest.fixture(params=["folder", pytest.param("postgres", marks=pytest.mark.postgres)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Makes curators on one state, each taking away the lock of the one before it as a server's restart does."""
    url = None if request.param == "folder" else request.getfixturevalue("postgres_url")
    made: list[Curator] = []

    def curator(evaluate: Any = None, **settings: Any) -> Curator:
        if made and url is None:
            made[-1]._state._lock.release()  # a file system that forgets its locks
        elif made:
            with Database(url).writing() as connection:
                connection.execute(sa.text(LOCKS))
        how = hill(ROWS) if evaluate is None else evaluate
        made.append(Curator(ROWS, how, epsilon=2.0, delta=1e-5, state=url or tmp_path / "state", **settings))
        return made[-1]

    yield curator
    for one in made:
        one.close()


def ask_until_refused(curator: Curator, rows: range, modeler: str) -> list[int]:
    told = []
    for row in rows:
        with suppress(Refused):
            told += [a.row for a in curator.ask([row], modeler=modeler)]
    return told


def test_two_curators_answer_no_more_than_the_limit(make: Make) -> None:
    first = make(queries=20)
    first.ask([199])
    second = make(queries=20)
    with ThreadPoolExecutor(2) as pool:
        told = [
            pool.submit(ask_until_refused, curator, rows, "alice")
            for curator, rows in ((first, range(40)), (second, range(100, 140)))
        ]
        rows = [row for one in told for row in one.result()]
    assert len(rows) == 19
    for curator in (first, second):
        assert sorted(e.row for e in curator.exchanges()) == sorted([*rows, 199])
        assert sorted(e.number for e in curator.exchanges()) == list(range(1, 21))
        assert curator.status()["left"] == 0
        with pytest.raises(Refused, match="answers 20 queries: no room for 1 more"):
            curator.ask([150])


def test_a_modeler_asks_no_more_of_two_curators_than_it_may(make: Make) -> None:
    first = make(queries=20, per_modeler=5)
    second = make(queries=20, per_modeler=5)
    told = ask_until_refused(first, range(3), "alice") + ask_until_refused(second, range(100, 110), "alice")
    assert told == [0, 1, 2, 100, 101]
    assert second.ask([7], modeler="bob")[0].row == 7


def test_a_stop_of_one_stops_the_other(make: Make) -> None:
    first, second = make(), make()
    second.stop()
    with pytest.raises(Refused, match="stopped"):
        first.ask([1])
    first.stop(False)
    assert second.ask([1])[0].row == 1


def test_a_row_that_one_answered_the_other_tells_alike(make: Make) -> None:
    calls: list[int] = []

    def noisy(row: np.ndarray) -> float:
        calls.append(1)
        return float(len(calls))

    first, second = make(noisy), make(noisy)
    told = first.ask([5], request="request-5", modeler="alice")
    assert second.ask([5], modeler="bob") == told
    assert second.ask([5], request="request-5", modeler="alice") == told
    assert second.answers(modeler="alice") == first.answers(modeler="alice") == told
    assert len(calls) == 1


def test_two_evaluations_of_a_row_at_once_are_told_as_one(make: Make) -> None:
    both = threading.Barrier(2)
    values = iter([1.0, 2.0])

    def slow(row: np.ndarray) -> float:
        both.wait(120)
        return next(values)

    first, second = make(slow), make(slow)
    with ThreadPoolExecutor(2) as pool:
        one, other = (pool.submit(c.ask, [5], modeler=m) for c, m in ((first, "alice"), (second, "bob")))
        assert one.result() == other.result()
    assert first.answers(modeler="alice") == second.answers(modeler="bob")


def test_a_query_that_another_curator_took_over_is_not_told(make: Make) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(row: np.ndarray) -> float:
        begun.set()
        assert go.wait(120)
        return 1.0

    first = make(slow, queries=1)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(first.ask, [1], request="request-1")
        assert begun.wait(120)
        second = make(queries=1)  # gives back what it takes for a dead curator's claim
        assert second.ask([2])[0].row == 2
        go.set()
        with pytest.raises(StateError, match="Nothing was told"):
            asked.result()
    assert [e.row for e in first.exchanges()] == [2]
    with pytest.raises(Refused, match="no room"):
        first.ask([1], request="request-1")


def test_a_query_that_could_not_be_evaluated_gives_its_number_back(make: Make) -> None:
    def broken(row: np.ndarray) -> float:
        if row[0] == ROWS[3, 0]:
            raise RuntimeError
        return 1.0

    curator = make(broken, queries=3)
    for rows in ([3], [1, 3], [1], [2], [3], [4]):
        with suppress(ObjectiveError):
            curator.ask(rows)
    assert [(e.number, e.row) for e in curator.exchanges()] == [(1, 1), (2, 2), (3, 4)]


def test_of_two_tables_drawn_at_once_one_is_published(make: Make, tmp_path: Path) -> None:
    make().close()  # makes the tables; the study below is another
    place = make()._state._store.address
    place = str(tmp_path / "state") if "://" not in place else place
    states = [State(place, "drawn twice", hold=False) for _ in range(2)]
    states[0].begin("s", "f")
    for number, state in enumerate(states):
        state.clear_parts() if number == 0 else None
        state.put_part(0, 1, f"table {number}".encode())
    assert [s.publish({"table": i}, 1) for i, s in enumerate(states)] == [{"table": 0}, {"table": 0}]
    assert all(b"table 0" in b"".join(s.frames()) for s in states)
    late = State(place, "drawn again", hold=False)
    late.begin("s", "f")
    late.put_part(0, 1, b"mine")
    other = State(place, "drawn again", hold=False)
    other.clear_parts()  # begins anew, and so drops what was drawn and not published
    with pytest.raises(StateError, match="Nothing was published"):
        late.publish({"table": 2}, 1)
    for state in (*states, late, other):
        state.close()


@pytest.mark.postgres
def test_a_curator_goes_on_after_its_server_was_started_again(postgres: Any, postgres_url: str) -> None:
    with Curator(ROWS, hill(ROWS), epsilon=2.0, delta=1e-5, state=postgres_url, queries=3) as curator:
        curator.ask([1])
        postgres.stop()
        with pytest.raises(StateError):
            curator.ask([2], request="request-2")
        postgres.start()
        curator.ask([2], request="request-2")
        with Curator(ROWS, hill(ROWS), epsilon=2.0, delta=1e-5, state=postgres_url, queries=3) as second:
            assert second.ask([3])[0].row == 3
        with pytest.raises(Refused, match="no room"):
            curator.ask([4])
        assert [e.row for e in curator.exchanges()] == [1, 2, 3]


@pytest.mark.parametrize("charged", ["each", "once"])
def test_two_curators_pay_for_a_row_once(make: Make, tmp_path: Path, charged: str) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(20.0))
    answers = PrivateAnswers((-1.0, 1.0), Budget.gdp(0.5), charged)
    begun, go = threading.Event(), threading.Event()

    def slow(row: np.ndarray) -> float:
        begun.set()
        assert go.wait(120)
        return 0.0

    first = make(slow, answers=answers, ledger=ledger)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(first.ask, [5], modeler="alice", request="request-5")
        assert begun.wait(120)
        second = make(lambda row: 0.0, answers=answers, ledger=ledger)
        told = second.ask([5], modeler="bob")  # evaluated, paid, recorded and settled while the first evaluates it too
        go.set()
        with pytest.raises(StateError, match="ask again"):  # the second gave its claim back
            late.result()
    assert first.ask([5], modeler="alice", request="request-5") == told
    for curator, row in ((first, 6), (second, 7), (first, 8), (second, 6), (first, 7)):
        assert curator.ask([row])[0].row == row
    paid = [e.purpose.split(" of study ")[0] for e in ledger.entries() if e.kind == "charge"]
    each = [f"answer for row {row}" for row in (5, 6, 7, 8)]
    assert sorted(paid) == sorted(["table", *(each if charged == "each" else ["answers"])])
    assert all(e.status == "drawn" for e in ledger.entries() if e.kind == "charge")
    ledger.verify()


STOPPED = """
import os, signal, sys
import numpy as np
from tacit.outsource.curator import Curator

def evaluate(row):
    print("begun", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)  # as a machine that hangs, and comes back later
    return 1.0

with Curator(np.load(sys.argv[2]), evaluate, epsilon=2.0, delta=1e-5, state=sys.argv[1], queries=3) as curator:
    try:
        print(curator.ask([1], request="request-1", modeler="alice"))
    except Exception as error:
        print(type(error).__name__, error)
    print(sorted(e.row for e in curator.exchanges()))
"""


@pytest.mark.slow
@pytest.mark.postgres
def test_a_curator_that_hung_while_another_took_over_tells_nothing(postgres_url: str, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", ROWS)
    words = [sys.executable, "-c", STOPPED, postgres_url, str(tmp_path / "rows.npy")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as hung:
        assert hung.stdout is not None
        assert hung.stdout.readline() == "begun\n"
        with Database(postgres_url).writing() as connection:
            connection.execute(sa.text(LOCKS))
        with Curator(ROWS, lambda row: 2.0, epsilon=2.0, delta=1e-5, state=postgres_url, queries=3) as second:
            assert [second.ask([row])[0].row for row in (5, 6, 7)] == [5, 6, 7]
            hung.send_signal(signal.SIGCONT)
            said, rows = hung.stdout.read().splitlines()
            assert said.startswith("StateError")
            assert "Nothing was told" in said
            assert rows == "[5, 6, 7]"
            assert [e.row for e in second.exchanges()] == [5, 6, 7]
