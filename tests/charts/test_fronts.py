"""Charts of fronts: stairs that only fall or rise with epsilon, kinds in the legend, and who may see them."""

from __future__ import annotations

import re
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


def test_dots_outside_the_axes_are_left_out() -> None:
    assert chart(LINE).svg.count('r="2"') == 1


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
