"""The pieces of charts: scales, escaped words, round ticks."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.charts.svg import Ruler, element, legend, mark, paper, round_powers, round_values, words


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.booleans())
def test_a_scale_keeps_the_order_and_the_ends(a: float, b: float, log: bool) -> None:
    scale = Ruler(1e-3, 1e3, 10.0, 110.0, log=log)
    assert 10.0 <= scale(min(a, b)) <= scale(max(a, b)) <= 110.0
    assert (scale(0.0), scale(1e9)) == (10.0, 110.0)


def test_an_axis_may_point_down_and_a_scale_may_be_one_point() -> None:
    assert Ruler(0.0, 1.0, 100.0, 0.0)(0.25) == 75.0
    assert Ruler(2.0, 2.0, 5.0, 9.0)(2.0) == 5.0


def test_names_cannot_leave_their_element() -> None:
    hostile = '</text><script>alert("1")</script>'
    drawn = paper([words(0, 0, hostile), element("g", name=hostile)], (1, 1), title=hostile, about=hostile)
    root = ElementTree.fromstring(drawn)
    assert "script" not in {e.tag.split("}")[1] for e in root.iter()}
    assert [e.text for e in root][:3] == [hostile] * 3


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_within(low: float, span: float) -> None:
    ticks = round_values(low, low + span)
    assert len(ticks) <= 8
    assert all(low - 1e-6 * span <= t <= low + span * (1 + 1e-6) for t in ticks)


@pytest.mark.parametrize(("low", "high"), [(0.01, 20.0), (1e-4, 1e4), (0.5, 5.0)])
def test_ticks_of_a_logarithmic_axis_lie_within(low: float, high: float) -> None:
    assert all(low <= t <= high for t in round_powers(low, high))
    assert len(round_powers(low, high)) >= 3


def test_three_lines_have_three_marks_and_a_long_legend_breaks() -> None:
    assert len({mark(0.0, 0.0, i).split()[0] for i in range(3)}) == 3
    drawn = "".join(legend(["a" * 30] * 3, (0, 300, 50), lambda i, x, y: ""))
    assert [f'y="{y}"' in drawn for y in (50, 67, 84)] == [True] * 3
