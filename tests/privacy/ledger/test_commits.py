"""A commit that fails: what was acknowledged is there, and what was not is not drawn, though it may be there."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import LedgerError, TacitError
from tacit.outsource.curator import Curator
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger, file, server
from tacit.privacy.noise import Exact

PIECE = Guarantee(Budget.pure(0.1))
WHEN = pytest.mark.parametrize("when", ["before", "after"])


@contextmanager
def failing_commit(monkeypatch: pytest.MonkeyPatch, moment: int, when: str) -> Iterator[list[int]]:
    """The commit of this number, of those that write, fails: before it happened, or after, and its answer is lost."""
    usual, numbers, failed = file.FileConnection.commit, itertools.count(), list[int]()
    written: dict[Any, int] = {}

    def commit(self: Any) -> None:
        before, written[self] = written.get(self, 0), self.total_changes
        number = next(numbers) if self.total_changes > before else -1
        if when == "after" or number != moment:
            usual(self)
        if number == moment:
            failed.append(number)
            raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(file.FileConnection, "commit", commit)
        yield failed


class Counted(Exact):
    """Exact noise that counts what it draws."""

    def __init__(self) -> None:
        self.draws = 0

    def gaussian_whole(self, value: int, scale: float) -> int:
        self.draws += 1
        return super().gaussian_whole(value, scale)

    def gaussian(self, values: Any, scale: float) -> Any:
        self.draws += 1
        return super().gaussian(values, scale)


def try_every_commit(
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    folder: Path,
    budget: Budget,
    work: Callable[[Path, Ledger], Callable[[], None]],
) -> int:
    """How many commits a piece of work makes, each of which failed once: in a new folder, with a new ledger.

    ``work`` gives what must hold then.
    """
    for moment in itertools.count():
        place = folder / f"{moment}"
        place.mkdir()
        with Ledger.open(place / "l.db", "l", budget) as ledger:
            with failing_commit(monkeypatch, moment, when) as failed:
                check = work(place, ledger)
            check()
            ledger.verify()
        if not failed:
            return moment
    raise AssertionError


@WHEN
def test_a_charge_that_was_acknowledged_is_there_and_no_other_is_drawn_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def work(place: Path, ledger: Ledger) -> Callable[[], None]:
        drawn = list[int]()
        for key in ("", "run", "run"):  # the last one finds what the one before paid
            with suppress(LedgerError):
                payment = ledger.charge(PIECE, key=key or ())
                drawn.append(payment.entry)
                ledger.settle(payment, "0" * 64)

        def check() -> None:
            charges = [e.number for e in ledger.entries() if e.kind == "charge"]
            assert set(drawn) <= set(charges)
            assert len(charges) <= 2
            assert len(drawn) >= 2  # of three; what was lost is paid again, or found by its key

        return check

    assert try_every_commit(monkeypatch, when, tmp_path, Budget.pure(100.0), work) == 4


@pytest.mark.parametrize("method", [pytest.param("observed", marks=pytest.mark.slow), "pool"])
@WHEN
def test_a_search_draws_no_more_than_was_counted_whichever_commit_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, method: str
) -> None:
    trials, bounds = 3, (0.0, 1.0)

    def work(place: Path, ledger: Ledger) -> Callable[[], None]:
        noise, released = Counted(), list[Any]()
        options: dict[str, Any] = {"records": 500, "bounds": bounds, "budget": Budget.approximate(1.0, 1e-6)}
        options |= {"trials": trials, "method": method, "out": place / "out", "ledger": ledger, "accept_noise": True}

        def losses(params: dict[str, Any]) -> Any:
            return np.full(500, params["x"])

        for _ in range(2):  # the second goes on where the first one failed, or says that the one draw was lost
            with suppress(LedgerError if method == "observed" else TacitError):
                released.append(tacit.tune(losses, {"x": tacit.Float(0, 1)}, **options, progress=False, noise=noise))
                break

        def check() -> None:
            assert sum(e.kind == "charge" for e in ledger.entries()) <= 1
            assert noise.draws <= (trials if method == "observed" else 1)
            assert noise.draws == 0 or ledger.entries()
            assert all(ledger.verify_certificate(release.certificate()).paid for release in released)
            assert len(released) == 1 or noise.draws == 0

        return check

    assert try_every_commit(monkeypatch, when, tmp_path, Budget.approximate(3.0, 1e-5), work) > 3


def test_an_answer_that_the_ledger_could_not_record_is_not_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise LedgerError("the disk is full")

    ledger = Ledger.open(tmp_path / "l.db", "l", Budget.gdp(1.0))
    options: dict[str, Any] = {"records": 500, "bounds": (0.0, 1.0), "budget": Budget.gdp(0.5), "trials": 3}
    options |= {
        "method": "observed",
        "out": tmp_path / "out",
        "ledger": ledger,
        "progress": False,
        "accept_noise": True,
    }

    def losses(params: dict[str, Any]) -> Any:
        return np.full(500, params["x"])

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "settle", fail)
        with pytest.raises(LedgerError, match="the disk is full"):
            tacit.tune(losses, {"x": tacit.Float(0, 1)}, **options)
    assert not (tmp_path / "out" / "certificate.json").exists()
    release = tacit.tune(losses, {"x": tacit.Float(0, 1)}, **options)
    assert ledger.verify_certificate(release.certificate()).paid


@pytest.mark.slow
@pytest.mark.parametrize("charged", ["once", "each"])
@WHEN
def test_a_curator_tells_a_row_alike_whichever_commit_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, charged: str
) -> None:
    rows = np.linspace(-1, 1, 20).reshape(10, 2)
    answers = PrivateAnswers((-1.0, 1.0), Budget.gdp(0.5), charged)
    options: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-5, "scale": (1, 1), "answers": answers}

    def work(place: Path, ledger: Ledger) -> Callable[[], None]:
        seen = set[float | None]()
        for _ in range(2):
            with (
                suppress(TacitError),
                Curator(rows, rows[:, 0], **options, state=place / "state", ledger=ledger) as curator,
            ):
                for _ in range(2):
                    with suppress(TacitError):
                        seen.update(a.value for a in curator.ask([3]))

        def check() -> None:
            assert len(seen) == 1

        return check

    assert try_every_commit(monkeypatch, when, tmp_path, Budget.gdp(20.0), work) > 5


def test_a_commit_that_waits_for_a_reader_in_vain_pays_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SQLite itself: who reads keeps others from committing."""
    path = tmp_path / "l.db"
    with Ledger.open(path, "l", Budget.pure(1.0)) as ledger:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM tacit_ledgers").fetchall()
        monkeypatch.setattr(file, "PATIENCE", 0.5)
        with pytest.raises(LedgerError, match=r"locked.*Nothing was released"):
            ledger.charge(PIECE)
        reader.close()
        assert ledger.entries() == []
        assert ledger.charge(PIECE).entry == 1


@WHEN
def test_a_ledger_that_could_not_be_made_is_called_by_its_own_name_and_made_at_the_next_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    path = tmp_path / "l.db"
    with (
        failing_commit(monkeypatch, 0, when),
        pytest.raises(LedgerError, match=f"^the database at {path} cannot be written: disk I/O error"),
    ):
        Ledger.open(path, "l", Budget.pure(1.0))
    assert not list(tmp_path.iterdir())
    assert Ledger.open(path, "l", Budget.pure(1.0)).charge(PIECE).entry == 1


REFUSE = (
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no commit'; END $$; "
    "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
    "EXECUTE FUNCTION refuse()"
)


@pytest.mark.postgres
@pytest.mark.parametrize("table", ["tacit_entries", "tacit_keys"])
def test_a_commit_that_a_server_refuses_pays_for_nothing(postgres_url: str, table: str) -> None:
    """By PostgreSQL itself: a constraint that is looked at when the transaction ends."""
    import psycopg

    with Ledger.open(postgres_url, "l", Budget.pure(1.0)) as ledger:
        first = ledger.charge(PIECE, key="run 1")
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(REFUSE.format(table=table))
            with pytest.raises(LedgerError, match=r"no commit.*Nothing was released"):
                ledger.charge(PIECE, key="run 2")
            assert [e.number for e in ledger.entries()] == [first.entry]
            connection.execute(f"DROP TRIGGER refuse ON {table}")
        assert ledger.charge(PIECE, key="run 2").entry == 2
        ledger.verify()


@pytest.mark.postgres
def test_a_charge_whose_answer_is_lost_with_the_connection_is_found_by_its_key(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    usual = server._send

    def send(driver: Any, message: str, said: Any = None) -> Any:
        results = usual(driver, message, said)
        if "COMMIT;" in message:
            driver.pgconn.finish()  # committed, and nobody hears of it
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return results

    with Ledger.open(postgres_url, "l", Budget.pure(0.15)) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(server, "_send", send)
            with pytest.raises(LedgerError, match="Nothing was released"):
                ledger.charge(PIECE, key="run")
        assert [e.status for e in ledger.entries()] == ["debited, not drawn"]
        assert ledger.charge(PIECE, key="run").entry == 1
