"""A row or a person of a messy table replaced: nothing that leaves differs, but for paid noise."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.faults._neighbours import ENTRIES, find_leaks, table_of, through_the_command

from tacit.training.column_counts import ColumnCounts

pytest.importorskip("pyarrow")


def test_neighbouring_tables_cannot_be_told_apart(tmp_path: Path) -> None:
    tally = find_leaks(32, 0, tmp_path)
    assert tally.found == []
    assert sum(tally.answered.values()) > 20  # two equal refusals show nothing


def test_a_leak_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ColumnCounts, "scale", 0.01)
    monkeypatch.setitem(ENTRIES, "prepare", lambda held, pair: table_of(held).cells[0].numbers.tolist())
    found = " ".join(find_leaks(40, 0, tmp_path).found)
    assert "prepare of" in found
    assert "spent mu" in found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_five_thousand_neighbouring_tables_cannot_be_told_apart(seed: int, tmp_path: Path) -> None:
    assert find_leaks(500, seed, tmp_path).found == []


@pytest.mark.slow
def test_nor_through_the_command(tmp_path: Path) -> None:
    tally = through_the_command(200, 0, tmp_path)
    assert tally.found == []
    assert sum(tally.answered.values()) > 100
