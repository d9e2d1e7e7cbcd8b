"""Pictures of several panels show what is kept: every point, every name, colours in order, fronts as stairs."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
KEPT = sorted((ROOT / "benchmarks" / "results").glob("*/*.json"))
UNIT = {"label": "x", "low": 0.0, "high": 1.0}


@pytest.fixture
def panels(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.harness.panels")


def surface(**more: Any) -> dict[str, Any]:
    colours = {"low": 0.0, "high": 1.0, "log": False, "unit": "z"}
    return {"title": "s", "x": UNIT, "y": UNIT, "z": [[0.0, 1.0], [0.0, 1.0]], **colours, **more}


def test_every_kept_picture_is_drawn_whole_and_within_its_paper(panels: Any) -> None:
    for path in KEPT:
        document = json.loads(path.read_text())
        root = ElementTree.fromstring(panels.picture(document))
        high = float(root.attrib["viewBox"].split()[3])
        said = [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")]
        for panel in document["panels"]:
            assert panel["title"] in said, path
            assert {s["name"] for s in panel.get("series", [])} <= set(said), path
        for t in root.iter("{http://www.w3.org/2000/svg}text"):
            assert 0 <= float(t.attrib["x"]) <= 760, path
            assert 0 <= float(t.attrib["y"]) <= high, path
        assert path.stat().st_size < 150_000, path


def test_a_surface_rises_through_all_colours_from_left_to_right(panels: Any) -> None:
    svg = panels.picture({"title": "t", "panels": [surface()]})
    starts = [int(m[1]) for m in re.finditer(r'<path stroke="#\w+" d="M(\d+) 0h', svg)]
    assert len(starts) == 10
    assert starts == sorted(starts)


def test_points_and_star_are_drawn_where_they_are(panels: Any) -> None:
    svg = panels.picture({"title": "t", "panels": [surface(points=[[0.0, 0.0], [1.0, 1.0]], star=[0.5, 0.5])]})
    low, high = ((float(m[1]), float(m[2])) for m in re.finditer(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg))
    assert low[0] < high[0]
    assert low[1] > high[1]
    tip = re.search(r'<path d="M([\d.]+) [^"]+Z" fill="#D55E00"', svg)
    assert tip is not None
    assert float(tip[1]) == pytest.approx((low[0] + high[0]) / 2, abs=0.2)


def test_a_front_is_level_until_the_next_point_and_to_the_end(panels: Any) -> None:
    series = {"name": "f", "style": "steps", "points": [[0.0, 1.0], [0.5, 0.0]]}
    svg = panels.picture({"title": "t", "panels": [{"title": "g", "x": UNIT, "y": UNIT, "series": [series]}]})
    drawn = re.search(r'<path d="M([^"]+)" stroke="#0072B2"', svg)
    assert drawn is not None
    (a, b, c, d) = (tuple(map(float, p.split())) for p in drawn[1].split("L"))
    assert a[1] == b[1] < c[1] == d[1]
    assert a[0] < b[0] == c[0] < d[0]


def test_a_front_that_began_before_the_axis_starts_at_its_low_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    front_of = importlib.import_module("benchmarks.papers._front_panels").front_of
    values = [[0.01, 0.9], [0.05, 0.8], [0.2, 0.9], [0.5, 0.3], [20.0, 0.1]]
    assert front_of(values, {"low": 0.1, "high": 10.0}) == [[0.1, 0.8], [0.5, 0.3]]
