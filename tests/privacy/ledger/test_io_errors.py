"""A disk that cannot be read or written at the moment is neither tampering nor damage, and nothing is drawn."""

from __future__ import annotations

import builtins
import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import DamagedState, LedgerError, LedgerTampered, TacitError
from tacit.outsource.curator.state import State
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger, file
from tacit.privacy.ledger.store import Database

PIECE = Guarantee(Budget.pure(0.1))
CODES = {
    "SQLITE_IOERR_READ": (266, "disk I/O error"),
    "SQLITE_IOERR_SHORT_READ": (522, "disk I/O error"),
    "SQLITE_IOERR_FSYNC": (1034, "disk I/O error"),
    "SQLITE_FULL": (13, "database or disk is full"),
    "SQLITE_CANTOPEN": (14, "unable to open database file"),
    "SQLITE_NOMEM": (7, "out of memory"),
}


def sqlite_error(name: str) -> sqlite3.OperationalError:
    code, words = CODES[name]
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    return error


def refuse_damage(error: BaseException, moment: int = 0) -> None:
    assert is_passing(error), (moment, error)


def is_passing(error: BaseException) -> bool:
    """A typed error that tells nobody to put a copy back."""
    damage = isinstance(error, LedgerTampered | DamagedState) or "damaged" in str(error) or "latest copy" in str(error)
    return isinstance(error, TacitError) and not damage


def fail_once_at(moment: int, make: Callable[[], Exception]) -> Callable[..., Any]:
    """As sqlite3.Cursor.execute, but for the statement of this number."""
    usual, count = file.FileCursor.execute, iter(range(10**6))

    def execute(self: Any, *given: Any) -> Any:
        if next(count) == moment:
            raise make()
        return usual(self, *given)

    return execute


@pytest.mark.parametrize("code", CODES)
def test_no_error_of_a_disk_at_any_statement_is_called_tampering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """Every statement of opening, charging, verifying and reading fails once; the next try goes on."""
    path = tmp_path / "l.db"
    Ledger.open(path, "icu", Budget.pure(100.0)).close()
    paid, failed, moment = 0, 0, 0
    while True:
        with monkeypatch.context() as patch:
            patch.setattr(file.FileCursor, "execute", fail_once_at(moment, lambda: sqlite_error(code)))
            try:
                with Ledger.open(path, "icu") as ledger:
                    ledger.charge(PIECE)
                    paid += 1
                    ledger.verify()
                ended = True
            except Exception as error:
                ended = False
                failed += 1
                refuse_damage(error, moment)
        with Ledger.open(path, "icu") as ledger:
            ledger.verify()
            assert paid <= len(ledger.entries()) <= paid + failed
        if ended:
            break
        moment += 1
    assert failed > 10


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.ESTALE])
@pytest.mark.parametrize("call", ["open", "stat", "fsync", "pread", "pwrite"])
def test_no_error_of_the_system_is_called_tampering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    path = tmp_path / "l.db"
    with Ledger.open(path, "icu", Budget.pure(100.0)) as ledger:
        ledger.charge(PIECE)
    usual = getattr(os, call)

    def fail(what: Any, *given: Any, **options: Any) -> Any:
        if call in ("open", "stat") and "l.db" not in str(what):
            return usual(what, *given, **options)
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        try:
            with Ledger.open(path, "icu") as ledger:
                ledger.charge(PIECE)
        except Exception as error:
            refuse_damage(error)
    with Ledger.open(path, "icu") as ledger:
        ledger.charge(PIECE)
        ledger.verify()


@pytest.mark.parametrize("what", ["l.db.made", "l.db-wal"])
def test_a_file_beside_that_cannot_be_read_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = tmp_path / "l.db"
    Ledger.open(path, "icu", Budget.pure(100.0)).close()
    usual = builtins.open

    def fail(self: Any, *given: Any, **options: Any) -> Any:
        if str(self).endswith(what):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return usual(self, *given, **options)

    monkeypatch.setattr(Path, "open", fail)
    monkeypatch.setattr(Path, "read_text", lambda self, *given, **options: fail(self).read())
    for name in ("icu", "ward"):
        try:
            Ledger.open(path, name, Budget.pure(100.0)).close()
        except LedgerError as error:
            refuse_damage(error)


@pytest.mark.parametrize("code", CODES)
def test_no_error_of_a_disk_is_called_damage_of_a_curators_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    State(tmp_path, "s").close()
    moment, failed = 0, 0
    while True:
        with monkeypatch.context() as patch:
            patch.setattr(file.FileCursor, "execute", fail_once_at(moment, lambda: sqlite_error(code)))
            try:
                state = State(tmp_path, "s")
            except Exception as error:
                refuse_damage(error, moment)
                failed += 1
                moment += 1
                continue
        state.close()
        break
    assert failed > 3


def test_what_is_damage_is_still_called_so(tmp_path: Path) -> None:
    """The check above can fail."""
    path = tmp_path / "l.db"
    Ledger.open(path, "icu", Budget.pure(100.0)).close()
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(LedgerTampered) as refused:
        Ledger.open(path, "icu")
    assert not is_passing(refused.value)
    assert Database(path).exists()
