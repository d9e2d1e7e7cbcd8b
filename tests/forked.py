"""Work in a forked child that may be killed: a process of its own, without the time to import all of tacit again."""

from __future__ import annotations

import signal
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

context = get_context("fork")


def start(work: Callable[..., Any], *arguments: Any) -> Any:
    """A child that has begun the work; Ctrl-C interrupts it, which a test run in the background would not hear."""
    child = context.Process(target=_work, args=(work, *arguments))
    child.start()
    return child


def exit_code(work: Callable[..., Any], *arguments: Any) -> int:
    """How a child ends that does the work."""
    child = start(work, *arguments)
    child.join()
    return int(child.exitcode)


def _work(work: Callable[..., Any], *arguments: Any) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    work(*arguments)
