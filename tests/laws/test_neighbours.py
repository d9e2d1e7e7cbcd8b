"""A row or a person of a messy table replaced: nothing that leaves differs, but for paid noise."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.faults._neighbours import find_leaks, through_the_command

pytest.importorskip("pyarrow")


def test_neighbouring_tables_cannot_be_told_apart(tmp_path: Path) -> None:
    assert find_leaks(30, 0, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_five_thousand_neighbouring_tables_cannot_be_told_apart(seed: int, tmp_path: Path) -> None:
    assert find_leaks(500, seed, tmp_path) == []


@pytest.mark.slow
def test_nor_through_the_command(tmp_path: Path) -> None:
    assert through_the_command(200, 0, tmp_path) == []
