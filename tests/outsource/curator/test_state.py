"""A state that cannot be opened is let go of: whoever tries again, once the reason is gone, is let in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tacit.errors import StateError
from tacit.outsource.curator.state import STATE, State


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


def test_the_file_of_a_state_is_whole_while_its_curator_is_idle(tmp_path: Path) -> None:
    """Whoever copies it, or puts another in its place, is not misled by a log that a kept connection holds open."""
    state = State(tmp_path / "state", "study")
    state.begin("id", "fingerprint")
    assert {path.name for path in (tmp_path / "state").iterdir()} == {STATE, "lock"}
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / STATE).write_bytes((tmp_path / "state" / STATE).read_bytes())
    assert State(tmp_path / "copy", "study").begin("another", "fingerprint") == ("id", None)
    state.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 1 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", disk], capture_output=True)
    if done.returncode:
        pytest.skip("may not mount a file system here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_state_on_a_full_disk_is_opened_once_there_is_room(small_disk: Path) -> None:
    State(small_disk / "state", "study").close()
    with (small_disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4096))
    for _ in range(2):
        with pytest.raises(StateError, match="full"):
            State(small_disk / "state", "study")
    (small_disk / "filler").unlink()
    State(small_disk / "state", "study").close()
