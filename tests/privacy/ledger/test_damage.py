"""A ledger's file with bits changed, cut short, emptied or gone: said in a type of ours, and never a larger budget."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from ledger_damage import BUDGET, PAGE, copy, flip_many, leave_hot_journal, lengths, make_original, outcome
from postgres_server import memory

from tacit.errors import LedgerTampered
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_original(tmp_path_factory.mktemp("ledger") / "l.db")


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is some: hundreds of copies, each of them flushed to disk."""
    with tempfile.TemporaryDirectory(prefix="tacit-", dir=memory()) as place:
        yield Path(place)


def test_a_changed_bit_is_tampering_or_harmless(original: Path, folder: Path) -> None:
    found = flip_many(original, folder, 200, seed=0)
    assert found["tampered"] > 80


@pytest.mark.slow
def test_ten_thousand_changed_bits_are_tampering_or_harmless(original: Path, folder: Path) -> None:
    found = flip_many(original, folder, 10_000, seed=1)
    print(dict(found))
    assert found["tampered"] > 4000


@pytest.mark.parametrize("step", [1021, pytest.param(9, marks=pytest.mark.slow)])
def test_a_file_cut_short_is_tampering(original: Path, folder: Path, step: int) -> None:
    content = original.read_bytes()
    found = {length: outcome(copy(original, folder, content[:length])) for length in lengths(len(content), step)}
    assert {length: said for length, said in found.items() if said != "tampered"} == {}


@pytest.mark.parametrize("many", [25, pytest.param(1500, marks=pytest.mark.slow)])
def test_a_damaged_journal_of_a_killed_charge_gives_no_larger_budget(original: Path, folder: Path, many: int) -> None:
    """SQLite takes an unfinished charge back by its journal; a damaged one takes back some of its pages, or none."""
    left = folder / "left.db"
    shutil.copy(original, left)
    leave_hot_journal(left)
    pages, journal = left.read_bytes(), left.with_name("left.db-journal").read_bytes()
    assert pages != original.read_bytes()
    random, found = Random(2), Counter[str]()

    def look(content: bytes | None) -> str:
        path = copy(original, folder, pages)
        if content is not None:
            path.with_name("l.db-journal").write_bytes(content)
        return outcome(path)  # which refuses a larger budget

    assert look(journal) == "harmless"
    assert look(None) == "tampered"
    for turn in range(many):
        at, bit = turn if turn < many // 2 else random.randrange(len(journal)), 1 << random.randrange(8)
        found[look(journal[:at] + bytes([journal[at] ^ bit]) + journal[at + 1 :])] += 1
        found[look(journal[: random.randrange(len(journal))])] += 1
    assert set(found) <= {"harmless", "tampered", "verify"}
    assert min(found["harmless"], found["tampered"]) > many // 5


def test_a_ledger_that_is_gone_differs_from_one_that_never_was(original: Path, tmp_path: Path) -> None:
    for name in ("l.db", "l.db.made"):
        shutil.copy(original.with_name(name), tmp_path / name)
    (tmp_path / "l.db").unlink()
    for budget in (BUDGET, None):
        with pytest.raises(LedgerTampered, match=r"was made at .* it is gone.*put the latest copy back"):
            Ledger.open(tmp_path / "l.db", "icu", budget)
    assert Ledger.open(tmp_path / "l.db", "another", BUDGET).remaining() == BUDGET  # this one never was
    with pytest.raises(LedgerTampered, match="the file has no ledger 'icu'"):
        Ledger.open(tmp_path / "l.db", "icu", BUDGET)
    (tmp_path / "l.db.made").unlink()  # as the message says
    assert Ledger.open(tmp_path / "l.db", "icu", BUDGET).remaining() == BUDGET


def test_an_older_copy_that_lacks_a_ledger_is_not_given_a_new_one(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "l.db", "er", BUDGET)
    shutil.copy(tmp_path / "l.db", tmp_path / "old.db")
    Ledger.open(tmp_path / "l.db", "icu", BUDGET).charge(Guarantee(BUDGET))
    shutil.copy(tmp_path / "old.db", tmp_path / "l.db")
    with pytest.raises(LedgerTampered, match="the file has no ledger 'icu'"):
        Ledger.open(tmp_path / "l.db", "icu", BUDGET)


def test_a_mark_that_cannot_be_read_makes_no_ledger(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "l.db", "er", BUDGET)
    (tmp_path / "l.db.made").write_bytes(b"{\xff")
    with pytest.raises(LedgerTampered, match="Nothing was made"):
        Ledger.open(tmp_path / "l.db", "icu", BUDGET)
    assert Ledger.open(tmp_path / "l.db", "er").remaining() == BUDGET


def test_an_empty_file_is_not_made_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "l.db").touch()
    with pytest.raises(LedgerTampered, match="it is empty"):
        Ledger.open(tmp_path / "l.db", "icu", BUDGET)
    assert (tmp_path / "l.db").stat().st_size == 0


def test_a_ledger_of_the_first_release_is_marked_when_it_is_opened(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parents[2] / "golden" / "ledger_v1.db", tmp_path / "l.db")
    stays = Ledger.open(tmp_path / "l.db", "stays")
    assert stays.id in (tmp_path / "l.db.made").read_text()
    (tmp_path / "l.db").unlink()
    with pytest.raises(LedgerTampered, match="it is gone"):
        Ledger.open(tmp_path / "l.db", "stays", stays.budget)


@pytest.mark.parametrize("index", ["sqlite_autoindex_tacit_entries_1", "sqlite_autoindex_tacit_ledgers_2"])
def test_verify_finds_an_index_that_was_changed_under_an_open_ledger(
    original: Path, tmp_path: Path, index: str
) -> None:
    path = copy(original, tmp_path, original.read_bytes())
    ledger = Ledger.open(path, "icu")
    with sqlite3.connect(path) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [index]).fetchone()
    connection.close()
    content = bytearray(path.read_bytes())
    content[content.index(b"icu" if "ledgers" in index else ledger.id.encode(), (root - 1) * PAGE)] ^= 1
    path.write_bytes(content)
    with pytest.raises(LedgerTampered, match="do not fit together"):
        ledger.verify()
