"""Pictures of several panels, two in a row, as small SVG files: surfaces over two axes, and graphs of fronts.

A picture is kept as JSON, ``{"title": ..., "panels": [...]}``, and drawn from it: the same numbers, the same bytes.

    axis     label, low, high, log (false)
    surface  title, x, y, z (rows from the lowest y), low, high, log and unit of its colours; points and star, if any
    graph    title, x, y, series: each a name, a style (line, steps, dots, band or step band) and points; for bands
             these are the lower edge, and ``upper`` the other

Steps are fronts: from each point level to the next epsilon, then down; the last one is level to the axis' end.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.charts import BOLD, look, ticks, white_paper
from tacit.charts.svg import Ruler, element, path, words

RESULTS = Path(__file__).parents[1] / "results"
CELL, LEFT, TOP, DEEP = 380.0, 54.0, 44.0, 200.0
RAMP = (  # ten steps from dark to light, told apart without colour too
    "#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
)  # fmt: skip
FINE = (92, 80)  # cells of a drawn surface, across and up
Pairs = Sequence[Sequence[float]]
SMALL: dict[str, Any] = {"font_size": 11}
FAINT: dict[str, Any] = {**SMALL, "opacity": ".75"}


def save(name: str, picture: str, title: str, panels: Iterable[Mapping[str, Any]]) -> None:
    """Keep a picture of a benchmark, for the pages to draw."""
    path = RESULTS / name / f"{picture}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(_short(panel), separators=(",", ":")) for panel in panels)
    path.write_text(f'{{"title": {json.dumps(title)}, "panels": [\n{lines}\n]}}\n')


def _short(value: Any, digits: int = 4) -> Any:
    """As many digits as a picture shows; a surface is drawn in ten colours."""
    if isinstance(value, Mapping):
        return {k: _short(v, 3 if k == "z" else 4) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_short(v, digits) for v in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float | np.floating) else value


def picture(document: Mapping[str, Any]) -> str:
    """All panels, in rows of two, each row as high as it needs."""
    parts, y = [words(8, 18, document["title"], **BOLD)], 30.0
    panels = document["panels"]
    for row in range(0, len(panels), 2):
        high = 0.0
        for column, panel in enumerate(panels[row : row + 2]):
            drawn, needed = (_surface if "z" in panel else _graph)(panel, CELL * column, y)
            parts += drawn
            high = max(high, needed)
        y += high
    return white_paper(y + 4, document["title"], parts)


@dataclass(frozen=True)
class Axis:
    """Its name, its ends, and where on the paper these are."""

    label: str
    scale: Ruler

    @classmethod
    def of(cls, said: Mapping[str, Any], start: float, end: float) -> Axis:
        return cls(said["label"], Ruler(said["low"], said["high"], start, end, log=said.get("log", False)))

    def ticks(self) -> list[tuple[float, str]]:
        """Places and words."""
        return [(self.scale(v), f"{v:g}") for v in ticks(self.scale.low, self.scale.high, log=self.scale.log)]


@dataclass(frozen=True)
class Frame:
    """A panel's plot: its corner and width, and its axes."""

    left: float
    top: float
    wide: float
    x: Axis
    y: Axis

    @classmethod
    def of(cls, panel: Mapping[str, Any], x0: float, y0: float, wide: float) -> Frame:
        left, top = x0 + LEFT, y0 + TOP
        return cls(left, top, wide, Axis.of(panel["x"], left, left + wide), Axis.of(panel["y"], top + DEEP, top))

    def place(self, point: Sequence[float]) -> tuple[float, float]:
        return self.x.scale(point[0]), self.y.scale(point[1])

    def around(self, title: str) -> list[str]:
        """Title, border, ticks and names of the axes."""
        foot, name = self.top + DEEP, self.left - LEFT + 8
        parts = [
            words(name, self.top - 24, title, **BOLD),
            words(name, self.top - 8, self.y.label, **FAINT),
            words(self.left + self.wide, foot + 31, self.x.label, text_anchor="end", **FAINT),
            element(
                "rect", x=self.left, y=self.top, width=self.wide, height=DEEP, fill="none", stroke="#222", opacity=".5"
            ),
        ]
        for x, word in self.x.ticks():
            parts += [path([(x, foot), (x, foot + 4)]), words(x, foot + 16, word, text_anchor="middle", **SMALL)]
        for y, word in self.y.ticks():
            parts += [path([(self.left - 4, y), (self.left, y)])]
            parts += [words(self.left - 7, y + 4, word, text_anchor="end", **SMALL)]
        return parts


def _surface(panel: Mapping[str, Any], x0: float, y0: float) -> tuple[list[str], float]:
    frame = Frame.of(panel, x0, y0, 236.0)
    colour = Axis.of({**panel, "label": panel["unit"]}, frame.top + DEEP, frame.top)
    parts = _bands(frame, panel["z"], colour) + frame.around(panel["title"])
    for point in panel.get("points", []):
        x, y = frame.place(point)
        parts.append(element("circle", cx=x, cy=y, r="1.7", fill="#fff", stroke="#000", stroke_width=".6"))
    if "star" in panel:
        x, y = frame.place(panel["star"])
        turns = [(math.pi * k / 5, 8.0 if k % 2 == 0 else 3.4) for k in range(10)]
        corners = [(x + r * math.sin(a), y - r * math.cos(a)) for a, r in turns]
        parts.append(path(corners, close=True, fill="#D55E00", stroke="#fff", stroke_width="1.2"))
    return parts + _key(frame, colour), TOP + DEEP + 44


def _bands(frame: Frame, z: Pairs, colour: Axis) -> list[str]:
    """The surface in ten bands of colour: a path for each, of level runs of cells."""
    shares = np.array([[(colour.scale.start - colour.scale(v)) / DEEP for v in row] for row in z])
    up, across = (np.linspace(0, n - 1, k) for n, k in zip(shares.shape, FINE[::-1], strict=True))
    rows = np.array([np.interp(up, np.arange(len(c)), c) for c in shares.T]).T
    fine = np.array([np.interp(across, np.arange(len(r)), r) for r in rows]).round(9)
    level = np.minimum((fine * len(RAMP)).astype(int), len(RAMP) - 1)
    runs: list[list[str]] = [[] for _ in RAMP]
    for j, row in enumerate(level):
        starts = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), FINE[0]]
        for a, b in itertools.pairwise(starts):
            runs[row[a]].append(f"M{a} {j}h{b - a}")
    size = f"{frame.wide / FINE[0]:.5g} {-DEEP / FINE[1]:.5g}"  # a unit is a cell, a line one cell wide
    place = f"translate({frame.left:g} {frame.top + DEEP:g}) scale({size}) translate(0 .5)"
    paths = [element("path", stroke=RAMP[k], d="".join(d)) for k, d in enumerate(runs) if d]
    return [element("g", "\n".join(paths), transform=place, shape_rendering="crispEdges")]


def _key(frame: Frame, colour: Axis) -> list[str]:
    """What the colours mean, at the right."""
    x, step = frame.left + frame.wide + 10, DEEP / len(RAMP)
    parts = [words(x - 4, frame.top - 8, colour.label, **FAINT)]
    for k, ink in enumerate(RAMP):
        parts.append(element("rect", x=x, y=frame.top + DEEP - step * (k + 1), width=12, height=step, fill=ink))
    for y, word in colour.ticks():
        parts += [path([(x + 12, y), (x + 15, y)]), words(x + 18, y + 4, word, **SMALL)]
    return parts


def _graph(panel: Mapping[str, Any], x0: float, y0: float) -> tuple[list[str], float]:
    frame = Frame.of(panel, x0, y0, CELL - LEFT - 14)
    parts, low = frame.around(panel["title"]), frame.top + DEEP + 48
    for i, series in enumerate(panel["series"]):
        k, at = series.get("ink", i), low + 16 * i
        ink = {**look(k, series.get("dash")), "stroke_width": "1.8"}
        sample = [(frame.left, at - 4), (frame.left + 30, at - 4)]
        parts.append(_series(frame, series, ink))
        if series["style"] == "dots":
            parts.append(_dots([(frame.left + 15, at - 4)], ink["stroke"], 5))
        elif series["style"].endswith("band"):
            parts.append(_band([(x, at - 9) for x, _ in sample], [(x, at) for x, _ in sample], ink["stroke"]))
        else:
            parts.append(path(sample, **ink))
        parts.append(words(frame.left + 38, at, series["name"], **SMALL))
    return parts, TOP + DEEP + 48 + 16 * len(panel["series"])


def _series(frame: Frame, series: Mapping[str, Any], ink: Mapping[str, Any]) -> str:
    style = series["style"]
    edge = _stairs if style.startswith("step") else lambda frame, points: [frame.place(p) for p in points]
    points = edge(frame, series["points"])
    if style == "dots":
        return _dots(points, ink["stroke"], series.get("size", 3.5))
    return _band(points, edge(frame, series["upper"]), ink["stroke"]) if style.endswith("band") else path(points, **ink)


def _stairs(frame: Frame, points: Pairs) -> list[tuple[float, float]]:
    """Corners of a front, up to the axis' end."""
    placed = [frame.place(p) for p in points]
    ends = [x for x, _ in placed[1:]] + [frame.left + frame.wide]
    return [corner for (x, y), end in zip(placed, ends, strict=True) for corner in ((x, y), (end, y))]


def _band(lower: Sequence[tuple[float, float]], upper: Sequence[tuple[float, float]], ink: str) -> str:
    return path([*lower, *reversed(upper)], close=True, fill=ink, opacity=".22")


def _dots(points: Sequence[tuple[float, float]], ink: str, size: float) -> str:
    places = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    return element("path", d=places, stroke=ink, stroke_width=f"{size:g}", stroke_linecap="round", fill="none")
