"""The progress bar: on standard error, where a person is looking. Shows how many are done, and released values only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Advance(Protocol):
    """Called after some steps, or with the number ``done``; ``last`` says something of the latest."""

    def __call__(self, steps: int = 1, *, done: int | None = None, last: str = "") -> None: ...


@contextmanager
def progress_bar(what: str, total: int, *, done: int = 0, wanted: bool = True) -> Iterator[Advance]:
    """A function to call after each step; draws nothing where nobody is looking.

    >>> with progress_bar("steps", 3, wanted=False) as advance:
    ...     advance()
    """
    if not (wanted and sys.stderr.isatty()):
        yield lambda steps=1, *, done=None, last="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns: list[Any] = [TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, TextColumn("{task.fields[last]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, completed=done, last="")

        def advance(steps: int = 1, *, done: int | None = None, last: str = "") -> None:
            bar.update(task, advance=steps if done is None else None, completed=done, last=last)

        yield advance
