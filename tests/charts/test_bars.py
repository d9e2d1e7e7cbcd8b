"""Bars are as long as their values; one without an end is dashed."""

from __future__ import annotations

import re

from tacit.charts.bars import Bar, bars


def test_bars_are_as_long_as_their_values() -> None:
    drawn = bars([Bar("a", 2.0, "2"), Bar("b", 1.0, "1")], title="t")
    long, short = (float(w) for w in re.findall(r'<rect[^>]* width="([\d.]+)"', drawn))
    assert long == 2 * short
    assert "dasharray" not in drawn


def test_a_bar_without_an_end_is_dashed_and_as_long_as_the_longest() -> None:
    drawn = bars([Bar("claimed", None, "nothing"), Bar("measured", 0.0, "0")], title="t")
    assert re.findall(r'width="([\d.]+)" height="32"', drawn) == ["380", "0"]
    assert drawn.count("dasharray") == 1
