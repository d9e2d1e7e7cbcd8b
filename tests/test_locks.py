"""A lock is its process's own: a forked child that outlives it does not keep it."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from lock_workers import hold_and_fork

from tacit.locks import Taken, in_turns, lock, release


def test_a_lock_is_held_once_and_says_by_whom(tmp_path: Path) -> None:
    held = lock(tmp_path / "lock")
    with pytest.raises(Taken, match=f"^process {os.getpid()} on "):
        lock(tmp_path / "lock")
    release(held)
    release(held)  # again does nothing, though the number may be another file's by now
    release(lock(tmp_path / "lock"))
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_children_of_a_dead_process_do_not_keep_its_lock(tmp_path: Path) -> None:
    here, there = get_context("spawn").Pipe(duplex=False)
    holder = get_context("spawn").Process(target=hold_and_fork, args=(str(tmp_path / "lock"), there))
    holder.start()
    there.close()
    children = here.recv()
    with pytest.raises(Taken, match=f"process {holder.pid}"):
        lock(tmp_path / "lock")
    holder.kill()
    holder.join()
    try:
        until = time.monotonic() + 20  # a child that was forked a moment ago may not have run yet
        while True:
            try:
                release(lock(tmp_path / "lock"))
                break
            except Taken:
                assert time.monotonic() < until, "a child kept the lock"
                time.sleep(0.05)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)


def test_few_go_through_at_once_and_whoever_left_makes_room(tmp_path: Path) -> None:
    paths = [tmp_path / "0", tmp_path / "1"]
    with in_turns(paths), in_turns(paths) as leave:
        began = time.monotonic()
        with in_turns(paths, patience=0.3):  # nobody lets it through, so it goes
            assert time.monotonic() - began > 0.3
        leave()
        began = time.monotonic()
        with in_turns(paths, patience=60):
            assert time.monotonic() - began < 30
    assert sorted(path.stat().st_mode & 0o777 for path in paths) == [0o600] * 2


def test_where_no_file_can_be_made_everybody_goes_through(tmp_path: Path) -> None:
    began = time.monotonic()
    with in_turns([], patience=60), in_turns([tmp_path / "no folder" / "0"], patience=60) as leave:
        leave()
    assert time.monotonic() - began < 30


def test_where_no_file_can_be_locked_everybody_goes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")  # as on a cluster's shared file system

    monkeypatch.setattr(fcntl, "flock", refuse)
    before = os.listdir("/dev/fd")
    with in_turns([tmp_path / "0", tmp_path / "1"], patience=60) as leave:
        leave()
    assert os.listdir("/dev/fd") == before


def test_whoever_is_interrupted_on_the_way_in_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, path = fcntl.flock, tmp_path / "0"

    def interrupt(descriptor: int, how: int) -> None:
        real(descriptor, how)
        if how & fcntl.LOCK_EX:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", interrupt)
        with pytest.raises(KeyboardInterrupt), in_turns([path]):
            pass
    release(lock(path))
