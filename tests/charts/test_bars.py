"""Bars are as long as their values; one without an end is dashed."""

from __future__ import annotations

import re

import pytest

from tacit.charts.bars import BROAD, NARROW, Pair, pairs_of_bars


def widths(drawn: str) -> list[float]:
    return [float(w) for w in re.findall(r'<rect[^>]* width="([\d.]+)"', drawn)]


@pytest.mark.parametrize("width", [BROAD, NARROW])
def test_bars_are_as_long_as_their_values(width: int) -> None:
    claimed, measured = widths(pairs_of_bars([Pair("a", 2.0, 1.0, ("2", "1"))], width, title="t"))
    assert claimed == 2 * measured


def test_a_bar_without_an_end_is_dashed_and_as_long_as_the_longest() -> None:
    drawn = pairs_of_bars([Pair("a", None, 0.0, ("nothing", "0")), Pair("b", 1.0, 0.5, ("1", "0.5"))], title="t")
    assert widths(drawn) == [390.0, 0.0, 390.0, 195.0]
    assert drawn.count("dasharray") == 1


def test_what_is_wrong_is_said_by_words_and_by_colour() -> None:
    sound, wrong = (pairs_of_bars([Pair("a", 1.0, 2.0, ("", "BROKEN"), w)], title="t") for w in (False, True))
    assert sound != wrong
    assert "BROKEN" in wrong
