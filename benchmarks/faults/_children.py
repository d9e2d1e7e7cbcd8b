"""Processes to be killed: each leads a session of its own, so that whoever it leaves behind is found."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

context = get_context("forkserver")
context.set_forkserver_preload(["benchmarks.faults._work"])


class Child:
    """A process that does ``work(*arguments)``; killed with SIGKILL, stopped and continued."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self.process = context.Process(target=_lead, args=(work, *arguments))
        self.process.start()

    @property
    def pid(self) -> int:
        return int(self.process.pid or 0)

    @property
    def alive(self) -> bool:
        return self.process.is_alive()

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.process.join()

    def leftovers(self, patience: float = 60.0) -> list[int]:
        """Processes of its session that outlive it."""
        end = time.monotonic() + patience
        while (left := members(self.pid)) and time.monotonic() < end:
            time.sleep(0.02)
        return left


def _lead(work: Callable[..., None], *arguments: Any) -> None:
    os.setsid()
    work(*arguments)


def members(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, _, _, its = entry.joinpath("stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(its) == session and state != "Z":
            found.append(int(entry.name))
    return found
