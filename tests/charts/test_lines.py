"""Lines: every value is on the paper, larger is higher, and readers who cannot see are told."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from tacit.charts.lines import falling_line, panels, spark, trace


def test_every_observation_is_a_dot_within_the_drawing() -> None:
    drawing = trace([0.5, -2.0, 7.0, 7.0], 0.3, 1.0)
    broad, narrow = drawing.split("</svg>")[:2]
    for one, width in ((broad, 720), (narrow, 350)):
        dots = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([^"]*)" cy="([^"]*)"', one)]
        assert len(dots) == 4
        assert all(0 < x < width and 0 < y < 260 for x, y in dots)
        assert [x for x, _ in dots] == sorted(x for x, _ in dots)
        assert dots[1][1] > dots[0][1] > dots[2][1] == dots[3][1]  # larger is higher
        assert "<title>" in one
        assert "<desc>" in one


def test_values_that_have_no_logarithm_leave_a_gap() -> None:
    assert falling_line([1.0, 0.0, 0.1], "t", "step").count("<circle") == 2 * 2
    assert "<circle" not in falling_line([0.0, -1.0], "t", "step")


def test_a_constant_line_is_drawn() -> None:
    for drawn in (spark([2.0, 2.0]), falling_line([2.0, 2.0], "t", "step"), trace([2.0, 2.0], 0.0, None)):
        assert "nan" not in drawn


def test_panels_hold_every_curve_and_mark_levels_by_name() -> None:
    curves = {"one": {"a": [0.5, 0.1], "b": [0.4, 0.2]}, "two": {"a": [0.3, 0.3], "b": [0.0, 0.0]}}
    look = {"said": ("title", "about"), "labels": ("x", "y"), "here": 100.0, "strong": "b"}
    drawn = panels([10.0, 1000.0], curves, levels={"wanted": 0.2}, **look)
    said = [t.text for t in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert {"one", "two", "a", "b (recommended)", "wanted", "10", "100", "1k"} <= set(said)
    assert drawn.count('stroke-width="3.5"') == 2
