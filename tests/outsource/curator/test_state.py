"""A state that cannot be opened is let go of: whoever tries again, once the reason is gone, is let in."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.faults._disks import LACK, small_disk

from tacit.outsource.curator.state import STATE, State, StateError


def test_a_state_that_could_not_be_made_is_made_at_the_next_try(tmp_path: Path) -> None:
    """The lock came first, then the file failed: a process that tries again must not find itself in its own way."""
    (tmp_path / STATE).mkdir()  # in the file's place
    for _ in range(2):
        with pytest.raises(StateError, match="cannot be written"):
            State(tmp_path, "study")
    (tmp_path / STATE).rmdir()
    State(tmp_path, "study").close()


def test_a_state_that_is_no_database_is_opened_once_it_is_put_right(tmp_path: Path) -> None:
    (tmp_path / STATE).write_bytes(b"no database" * 1000)
    with pytest.raises(StateError):
        State(tmp_path, "study")
    (tmp_path / STATE).unlink()
    State(tmp_path, "study").close()


def test_a_state_on_a_full_disk_is_opened_once_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path) as disk:
        if disk is None:
            pytest.skip(LACK)
        folder = disk.path / "state"
        State(folder, "study").close()
        disk.fill()
        with pytest.raises(StateError):
            State(folder, "study")
        disk.free()
        State(folder, "study").close()
