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

from benchmarks._plots import COLOURS, DASHES, _line, _svg, _text

RESULTS = Path(__file__).parent / "results"
CELL, LEFT, TOP, DEEP = 380.0, 54.0, 44.0, 200.0
RAMP = (  # ten steps from dark to light, told apart without colour too
    "#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
)  # fmt: skip
FINE = (92, 80)  # cells of a drawn surface, across and up
Pairs = Sequence[Sequence[float]]


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
    parts, y = [_text(8, 18, document["title"], ' font-weight="600"')], 30.0
    panels = document["panels"]
    for row in range(0, len(panels), 2):
        high = 0.0
        for column, panel in enumerate(panels[row : row + 2]):
            drawn, needed = (_surface if "z" in panel else _graph)(panel, CELL * column, y)
            parts += drawn
            high = max(high, needed)
        y += high
    return _svg(y + 4, document["title"], parts)


@dataclass(frozen=True)
class Axis:
    label: str
    low: float
    high: float
    log: bool = False

    def share(self, v: float) -> float:
        """Where a value lies between the ends, 0 to 1; beyond them at the end."""
        low, high, v = self.low, self.high, min(max(v, self.low), self.high)
        if self.log:
            low, high, v = math.log10(low), math.log10(high), math.log10(v)
        return round((v - low) / (high - low), 9)

    def ticks(self) -> list[float]:
        if self.log:
            powers = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
            if len(powers) > 1:
                return [10.0**p for p in powers]
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 2))
        step *= next(m for m in (0.5, 1, 2, 5) if (self.high - self.low) / (step * m) <= 6)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(k * step, 9) for k in range(first, last + 1)]


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
        return cls(x0 + LEFT, y0 + TOP, wide, Axis(**panel["x"]), Axis(**panel["y"]))

    def place(self, point: Sequence[float]) -> tuple[float, float]:
        across, up = self.x.share(point[0]), self.y.share(point[1])
        return self.left + self.wide * across, self.top + DEEP * (1 - up)

    def around(self, title: str) -> list[str]:
        """Title, border, ticks and names of the axes."""
        foot, faint = self.top + DEEP, ' font-size="11" opacity=".75"'
        parts = [
            _text(self.left - LEFT + 8, self.top - 24, title, ' font-weight="600"'),
            _text(self.left - LEFT + 8, self.top - 8, self.y.label, faint),
            _text(self.left + self.wide, foot + 31, self.x.label, f' text-anchor="end"{faint}'),
            f'<rect x="{self.left:.1f}" y="{self.top:.1f}" width="{self.wide:.1f}" height="{DEEP:.1f}" '
            'fill="none" stroke="#222" opacity=".5"/>',
        ]
        for v in self.x.ticks():
            x, _ = self.place((v, self.y.low))
            parts += [_line(x, foot, (x, foot + 4), 'stroke="#222"'), _text(x, foot + 16, f"{v:g}", MIDDLE)]
        for v in self.y.ticks():
            _, y = self.place((self.x.low, v))
            parts += [_line(self.left - 4, y, (self.left, y), 'stroke="#222"')]
            parts += [_text(self.left - 7, y + 4, f"{v:g}", ' text-anchor="end" font-size="11"')]
        return parts


MIDDLE = ' text-anchor="middle" font-size="11"'


def _surface(panel: Mapping[str, Any], x0: float, y0: float) -> tuple[list[str], float]:
    frame, colour = Frame.of(panel, x0, y0, 236.0), Axis(panel["unit"], panel["low"], panel["high"], panel["log"])
    parts = _bands(frame, panel["z"], colour) + frame.around(panel["title"])
    for point in panel.get("points", []):
        x, y = frame.place(point)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.7" fill="#fff" stroke="#000" stroke-width=".6"/>')
    if "star" in panel:
        x, y = frame.place(panel["star"])
        turns = [(math.pi * k / 5, 8.0 if k % 2 == 0 else 3.4) for k in range(10)]
        corners = " ".join(f"{x + r * math.sin(a):.1f},{y - r * math.cos(a):.1f}" for a, r in turns)
        parts.append(f'<polygon points="{corners}" fill="#D55E00" stroke="#fff" stroke-width="1.2"/>')
    return parts + _key(frame, colour), TOP + DEEP + 44


def _bands(frame: Frame, z: Pairs, colour: Axis) -> list[str]:
    """The surface in ten bands of colour: a path for each, of level runs of cells."""
    shares = np.array([[colour.share(v) for v in row] for row in z])
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
    place = f'transform="translate({frame.left:g} {frame.top + DEEP:g}) scale({size}) translate(0 .5)"'
    paths = [f'<path stroke="{RAMP[k]}" d="{"".join(d)}"/>' for k, d in enumerate(runs) if d]
    return [f'<g {place} shape-rendering="crispEdges">', *paths, "</g>"]


def _key(frame: Frame, colour: Axis) -> list[str]:
    """What the colours mean, at the right."""
    x, step = frame.left + frame.wide + 10, DEEP / len(RAMP)
    parts = [_text(x - 4, frame.top - 8, colour.label, ' font-size="11" opacity=".75"')]
    for k, ink in enumerate(RAMP):
        y = frame.top + DEEP - step * (k + 1)
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="{step:.1f}" fill="{ink}"/>')
    for v in colour.ticks():
        y = frame.top + DEEP * (1 - colour.share(v))
        parts += [_line(x + 12, y, (x + 15, y), 'stroke="#222"'), _text(x + 18, y + 4, f"{v:g}", ' font-size="11"')]
    return parts


def _graph(panel: Mapping[str, Any], x0: float, y0: float) -> tuple[list[str], float]:
    frame = Frame.of(panel, x0, y0, CELL - LEFT - 14)
    parts, low = frame.around(panel["title"]), frame.top + DEEP + 48
    for i, series in enumerate(panel["series"]):
        k = series.get("ink", i)
        ink, dash = COLOURS[k % len(COLOURS)], DASHES[series.get("dash", k) % len(DASHES)]
        at, style = low + 16 * i, series["style"]
        parts.append(_drawn(frame, series, ink, dash))
        line = [(frame.left, at - 4), (frame.left + 30, at - 4)]
        if style == "dots":
            parts.append(_dots([(frame.left + 15, at - 4)], ink, 5))
        elif style.endswith("band"):
            parts.append(
                f'<rect x="{frame.left:.1f}" y="{at - 9:.1f}" width="30" height="9" fill="{ink}" opacity=".22"/>'
            )
        else:
            parts.append(_polyline(line, ink, dash))
        parts.append(_text(frame.left + 38, at, series["name"], ' font-size="11"'))
    return parts, TOP + DEEP + 48 + 16 * len(panel["series"])


def _drawn(frame: Frame, series: Mapping[str, Any], ink: str, dash: str) -> str:
    style = series["style"]
    edge = _stairs if style.startswith("step") else lambda frame, points: [frame.place(p) for p in points]
    points = edge(frame, series["points"])
    if style == "dots":
        return _dots(points, ink, series.get("size", 3.5))
    if not style.endswith("band"):
        return _polyline(points, ink, dash)
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points + edge(frame, series["upper"])[::-1])
    return f'<polygon points="{told}" fill="{ink}" opacity=".22"/>'


def _stairs(frame: Frame, points: Pairs) -> list[tuple[float, float]]:
    """Corners of a front, up to the axis' end."""
    placed = [frame.place(p) for p in points]
    ends = [x for x, _ in placed[1:]] + [frame.left + frame.wide]
    return [corner for (x, y), end in zip(placed, ends, strict=True) for corner in ((x, y), (end, y))]


def _polyline(points: Sequence[tuple[float, float]], ink: str, dash: str) -> str:
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{told}" fill="none" stroke-width="1.8" stroke="{ink}" stroke-dasharray="{dash}"/>'


def _dots(points: Sequence[tuple[float, float]], ink: str, size: float) -> str:
    told = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    return f'<path d="{told}" stroke="{ink}" stroke-width="{size:g}" stroke-linecap="round" fill="none"/>'
