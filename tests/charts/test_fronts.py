"""Charts of fronts: stairs that only fall or rise with epsilon, kinds in the legend, and who may see them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from tacit.charts.fronts import BROAD, NARROW, FrontChart, FrontLine

LINE = FrontLine("sgd", ((0.1, 0.9, 0.92, 0.88), (1.0, 0.4, 0.5, 0.3)), ((0.5, 0.95), (1e9, 0.1)), "sgd [delta = 0]")


def chart(*fronts: FrontLine) -> FrontChart:
    return FrontChart(fronts, "title", "about", ("epsilon (delta = 0)", "error"), "NOT PRIVATE: only for some.")


def test_a_front_is_level_until_the_next_point_and_to_the_end() -> None:
    drawn = re.findall(r'd="M([^"Z]+)" stroke="#0072B2"', chart(LINE).svg)[0]
    a, b, c, d = (tuple(map(float, p.split())) for p in drawn.split("L"))
    assert a[1] == b[1] < c[1] == d[1]
    assert a[0] < b[0] == c[0] < d[0] == BROAD - 20


def test_dots_right_of_the_front_are_drawn_and_those_beyond_are_hollow_at_the_border() -> None:
    svg = chart(replace(LINE, dots=((0.5, 0.8), (40.0, 0.35), (1e9, 0.1), (math.inf, 0.5)))).svg
    dots = re.findall(r'<circle cx="([0-9.]+)"[^>]*r="2"[^>]*>', svg)
    assert len(dots) == 3
    assert float(dots[0]) < float(dots[1]) < BROAD - 20 == float(dots[2])
    assert svg.count('fill="none" stroke="currentColor"/>') >= 1


def test_a_legend_of_many_lines_stays_above_who_may_see_it() -> None:
    many = chart(*(replace(LINE, name="n" * 40, longer_name="n" * 70) for _ in range(3)))
    for width in (BROAD, NARROW):
        places = [float(t.get("y", "0")) for t in _texts(many.draw(width)) if t.get("font-weight") != "600"]
        who = next(float(t.get("y", "0")) for t in _texts(many.draw(width)) if t.get("font-weight") == "600")
        assert who - max(places) >= 14


def test_lines_across_are_named_and_do_not_flatten_the_front() -> None:
    levels = replace(chart(LINE), levels=(("not private", 0.25), ("majority", -5.0)))
    words = [t.text or "" for t in _texts(levels.svg)]
    assert "not private 0.25" in words
    assert "majority -5 ↓" in words
    assert levels.ends[2] >= 0.0


def test_a_narrow_chart_leaves_long_words_to_the_page() -> None:
    for width, said in ((BROAD, True), (NARROW, False)):
        words = "".join(t.text or "" for t in _texts(chart(LINE).draw(width)))
        assert "NOT PRIVATE" in words
        assert all((w in words) == said for w in ("only for some", "[delta = 0]", "epsilon (delta"))


def _texts(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))


def test_geometry_places_a_point_where_the_chart_does() -> None:
    g = chart(LINE).geometry
    x = [float(v) for v in re.findall(r'<circle cx="([\d.]+)"[^>]*r="4"', chart(LINE).svg)]
    assert g["low"] < 0.1 < 1.0 < g["high"]
    assert g["left"] < x[0] < x[1] < BROAD - g["right"]


def test_a_chart_without_points_can_be_drawn_and_saved(tmp_path: Path) -> None:
    empty = chart(FrontLine("none", ()))
    ElementTree.parse(empty.save(tmp_path / "f.svg"))
    assert empty.ends == (0.1, 10.0, 0.0, 1.0)
