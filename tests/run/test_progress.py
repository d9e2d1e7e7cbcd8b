"""The progress bar draws only where a person is looking, and can be told steps or how many are done."""

from __future__ import annotations

import re
from contextlib import redirect_stderr
from typing import Any

import pytest

from tacit.run.progress import clock_bar, progress_bar


class Terminal:
    """A standard error at which a person looks."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True


def seen(**more: Any) -> str:
    """What a person sees of a bar that advances from 2 by 1, to 6, and by 1."""
    shown = Terminal()
    with redirect_stderr(shown), progress_bar("tuning", 8, done=2, **more) as advance:  # type: ignore[type-var]
        advance(last="last noisy score 0.5")
        advance(done=6, last="last noisy score 0.4")
        advance(1, last="last noisy score 0.3")
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown.text)


def test_a_person_sees_how_many_are_done_and_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    assert "7/8" in seen()
    assert "last noisy score 0.3" in seen()


def test_nothing_is_drawn_that_nobody_wants() -> None:
    assert seen(wanted=False) == ""


def test_a_bar_of_the_time_says_the_most_that_it_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    shown = Terminal()
    with redirect_stderr(shown), clock_bar("training", lambda: 130.0):  # type: ignore[type-var]
        pass
    assert "training, at most about 3 min" in shown.text
    assert "130" not in shown.text  # no count of anything


def test_how_long_it_may_take_is_not_asked_where_nobody_looks() -> None:
    with clock_bar("training", lambda: 1 / 0):
        pass
    with redirect_stderr(Terminal()), clock_bar("training", lambda: 1 / 0, wanted=False):  # type: ignore[type-var]
        pass
