"""A ledger's file with bits changed or cut short, and what it then does."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

from tacit.errors import BudgetRefused, LedgerError, LedgerTampered
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger, witness
from tacit.privacy.ledger.file import FileConnection
from tacit.privacy.ledger.store import Database
from tacit.privacy.release import digest

BUDGET = Budget.pure(1.0)
SPENT = 0.75
PAGE = 4096


def make_original(path: Path) -> Path:
    """Three ledgers in a file; "icu" has spent 0.75 of 1 in thirty charges, some of them with keys and draws."""
    for name in ("er", "icu", "ward"):
        Ledger.open(path, name, BUDGET, description=f"stays of {name}").charge(Guarantee(Budget.pure(0.125)), "first")
    ledger = Ledger.open(path, "icu")
    for number in range(25):
        payment = ledger.charge(Guarantee(Budget.pure(0.025)), f"a mean, number {number}", key=f"run {number}")
        if number % 2:
            ledger.settle(payment, digest(number))
    ledger.verify()
    return path


def copy(original: Path, folder: Path, content: bytes) -> Path:
    """A damaged copy without its mark, on a machine that has not seen it, as one from elsewhere: the harder case."""
    path = folder / "l.db"
    with closing(sqlite3.connect(original)) as database:
        for (ledger,) in database.execute("SELECT id FROM tacit_ledgers"):
            witness.path_of(ledger).unlink(missing_ok=True)
    for old in folder.glob("l.db*"):
        old.unlink()
    path.write_bytes(content)
    return path


def outcome(path: Path) -> str:
    """What a damaged ledger does when it is opened, asked, charged to the end and verified."""
    try:
        with Ledger.open(path, "icu", BUDGET) as ledger:
            left = ledger.remaining().amount
            assert left <= 1 - SPENT + 1e-9, "a larger budget"
            try:
                for _ in range(3):
                    ledger.charge(Guarantee(Budget.pure(0.125)), "more")
            except BudgetRefused:
                assert ledger.spent().budget is not None
                assert ledger.spent().budget.amount <= 1.0 + 1e-9
            else:
                raise AssertionError("a larger budget")
            try:
                ledger.verify()
            except LedgerTampered:
                return "verify"
            return "harmless"
    except LedgerTampered:
        return "tampered"
    except LedgerError:
        return "refused"


def aimed_bits(content: bytes, seed: int) -> Iterator[tuple[int, int]]:
    """Bits worth changing, without end: of names, of page heads and cell pointers, of anything that is not zero."""
    random = Random(seed)
    names = [
        at + k for word in (b"icu", b"tacit_", b"CREATE") for at in _places(content, word) for k in range(len(word))
    ]
    heads = [page + k for page in range(0, len(content), PAGE) for k in range(40)]
    used = [at for at, byte in enumerate(content) if byte]
    for at in _places(content, b"icu"):  # every bit of the ledger's name, wherever it stands
        yield from ((at + k, 1 << bit) for k in range(3) for bit in range(8))
    while True:
        for places in (names, heads, used):
            yield random.choice(places), 1 << random.randrange(8)


def _places(content: bytes, word: bytes) -> list[int]:
    return [at for at in range(len(content)) if content.startswith(word, at)]


def flip_many(original: Path, folder: Path, many: int, seed: int) -> Counter[str]:
    content = original.read_bytes()
    found: Counter[str] = Counter()
    for _, (at, bit) in zip(range(many), aimed_bits(content, seed), strict=False):
        damaged = bytearray(content)
        damaged[at] ^= bit
        try:
            found[outcome(copy(original, folder, bytes(damaged)))] += 1
        except Exception as error:
            raise AssertionError(f"bit {bit} of byte {at}: {type(error).__name__}: {error}") from error
    return found


def lengths(size: int, step: int) -> list[int]:
    edges = {page + k for page in range(0, size, PAGE) for k in (-1, 0, 1) if 0 <= page + k < size}
    return sorted({*range(0, 110, 10), 1, 2, 99, 100, 101, 511, 512, 513, size - 1, *edges, *range(0, size, step)})


def leave_hot_journal(path: Path) -> None:
    """Charge "icu" in a process that dies before it commits: pages are written, the journal has the old ones."""
    child = os.fork()
    if child == 0:
        usual = Database._sqlite

        def spill(self: Database, mode: str = "rw") -> sqlite3.Connection:
            connection = usual(self, mode)
            for setting in ("cache_size", "cache_spill"):  # so that pages go to the file before the commit
                connection.execute(f"PRAGMA {setting} = 1")
            return connection

        Database._sqlite = spill  # type: ignore[method-assign]
        ledger = Ledger.open(path, "icu")
        FileConnection.commit = lambda _: os._exit(9)  # type: ignore[method-assign]
        ledger.charge(Guarantee(Budget.pure(0.025)), "long " * 600, key="run 99")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
