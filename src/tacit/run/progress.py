"""The progress bar: on standard error, where a person is looking. Shows how many are done, and released values only."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from tacit.run.study_store import is_claimed

if TYPE_CHECKING:
    from optuna import Study


class Advance(Protocol):
    """Called after some steps, or with the number ``done``; ``last`` says something of the latest."""

    def __call__(self, steps: int = 1, *, done: int | None = None, last: str = "") -> None: ...


@contextmanager
def progress_bar(what: str, total: int | None, *, done: int = 0, wanted: bool = True) -> Iterator[Advance]:
    """A function to call after each step, of a total if it is known; draws nothing where nobody is looking.

    >>> with progress_bar("steps", 3, wanted=False) as advance:
    ...     advance()
    """
    if not (wanted and is_watched()):
        yield lambda steps=1, *, done=None, last="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns: list[Any] = [TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    console = Console() if in_notebook() else Console(stderr=True)  # rich draws in a cell by itself
    with Progress(*columns, TextColumn("{task.fields[last]}"), console=console) as bar:
        task = bar.add_task(what, total=total, completed=done, last="")

        def advance(steps: int = 1, *, done: int | None = None, last: str = "") -> None:
            bar.update(task, advance=steps if done is None else None, completed=done, last=last)

        yield advance


@contextmanager
def clock_bar(what: str, longest: Callable[[], float], *, wanted: bool = True) -> Iterator[None]:
    """A bar of the time that has passed, of the most seconds that it may take: it shows nothing that a clock does not.

    ``longest`` is asked where somebody is looking alone; it must know public things only.
    """
    if not (wanted and is_watched()):
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

    class Clock(ProgressColumn):
        bar = BarColumn()

        def render(self, task: Any) -> Any:
            task.completed = min(task.elapsed or 0.0, task.total)
            return self.bar.render(task)

    seconds = longest()
    words = TextColumn(f"{what}, at most about {format_seconds(seconds)}")
    with Progress(words, Clock(), TimeElapsedColumn(), console=Console(stderr=not in_notebook())) as bar:
        bar.add_task(what, total=seconds)
        yield


def format_seconds(seconds: float) -> str:
    """Seconds in words, upwards.

    >>> format_seconds(0.2), format_seconds(61), format_seconds(8000)
    ('1 s', '2 min', '2.3 h')
    """
    if seconds <= 60:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min" if seconds <= 5400 else f"{math.ceil(seconds / 360) / 10:g} h"


def is_watched() -> bool:
    """Whether somebody looks at standard error, or a notebook."""
    return sys.stderr.isatty() or in_notebook()


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return type(running).__name__ == "ZMQInteractiveShell"


@contextmanager
def trials_bar(study: Study, trials: int, wanted: bool) -> Iterator[Callable[[Any, float], None]]:
    """A bar of observations, those of earlier runs included; a function to call with each trial and its noisy value."""
    done = sum(map(is_claimed, study.get_trials(deepcopy=False))) if wanted else 0
    with progress_bar("tuning", trials, done=done, wanted=wanted) as advance:
        yield lambda trial, value: advance(last=f"last noisy score {value:.4g}")
