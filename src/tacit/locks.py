"""Locks on files, held by one process and gone with it: no child inherits them, and each says who holds it."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tacit.files import open_private

_held: set[int] = set()


class Taken(Exception):
    """Somebody else holds the lock; the words say who."""


def lock(path: Path) -> int:
    """Hold a lock file, made if it is not there; the descriptor to release. ``Taken`` if another process has it."""
    import fcntl

    descriptor = open_private(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
        os.close(descriptor)
        raise Taken(holder if holder.isprintable() and holder else "another process") from None
    _held.add(descriptor)
    said = f"process {os.getpid()} on {socket.gethostname()}\n".encode()
    with contextlib.suppress(OSError):  # a full disk: the lock holds all the same
        os.pwrite(descriptor, said, 0)
        os.ftruncate(descriptor, len(said))
    return descriptor


def release(descriptor: int) -> None:
    """Let go of a lock; again does nothing."""
    if descriptor in _held:
        _held.discard(descriptor)
        os.close(descriptor)


@contextmanager
def lock_briefly(descriptor: int, patience: float = 1.0) -> Iterator[bool]:
    """Hold an open file for a moment; False if its holder, stopped perhaps, keeps it for a second."""
    import fcntl

    end, held = time.monotonic() + patience, False
    while not held and time.monotonic() < end:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except OSError:
            time.sleep(0.01)
    try:
        yield held
    finally:
        if held:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def in_turns(paths: Sequence[Path], patience: float = 0.1) -> Iterator[Callable[[], None]]:
    """Let no more processes of this machine through at once than there are lock files, where many want the same.

    For speed alone: they would all wait at a lock further on, be woken one by one, and find their caches cold. Nothing
    may depend on it: a process that has waited for ``patience`` goes on, and so does everybody where no file can
    be made. What is yielded leaves before the end.
    """
    import fcntl

    end, pause, place = time.monotonic() + patience, 0.001, -1

    def leave() -> None:
        nonlocal place
        if place >= 0:
            with contextlib.suppress(OSError):
                fcntl.flock(place, fcntl.LOCK_UN)  # a child that was forked meanwhile has the descriptor as well
            held, place = place, -1
            os.close(held)

    try:
        with contextlib.suppress(OSError):  # no file can be made here, or none can be locked
            while paths and place < 0:
                for path in paths:
                    place = open_private(path)
                    try:
                        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        leave()
                else:
                    if time.monotonic() > end:
                        break
                    time.sleep(pause * random.uniform(0.5, 1.5))
                    pause = min(2 * pause, 0.016)
        yield leave
    finally:
        leave()


def _forget() -> None:
    """In a forked child: the lock is the parent's. Closing a copy of its descriptor leaves it locked."""
    for descriptor in _held:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
