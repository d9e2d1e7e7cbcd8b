"""A bar on standard error for methods that count steps; shows nothing but how many are done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def steps_bar(steps: int, wanted: bool) -> Iterator[Callable[[], None]]:
    """A function to call after each step; draws only where a person is looking.

    >>> with steps_bar(3, wanted=False) as tell:
    ...     tell()
    """
    if not (wanted and sys.stderr.isatty()):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("steps"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("steps", total=steps)
        yield lambda: bar.update(task, advance=1)
