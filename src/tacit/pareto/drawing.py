"""Fronts as one drawing (SVG): a staircase, a band from worst to best run, the tested points. It says who may see it.

Colours are those of Okabe and Ito, told apart by every kind of colour vision, and each front has its own mark and dash.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import BadInput, choice

if TYPE_CHECKING:
    from tacit.pareto.front import Front, Point

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BELOW = 760, 420, 64, 20, 18, 96
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("", "7 4", "2 3", "9 3 2 3", "4 2", "1 2")
SMALLEST = 1e-4  # epsilons below, and 0, are drawn here: a logarithm has no zero


@dataclass(frozen=True)
class Drawing:
    """An SVG that stands alone. In a notebook it shows itself."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the drawing; the name must end in .svg."""
        target = Path(path)
        if target.suffix != ".svg":
            raise BadInput(f"a drawing is saved as .svg, got {target.name}")
        try:
            target.write_text(self.svg + "\n", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{target} cannot be written: {error.strerror}") from None
        return target


@dataclass(frozen=True)
class Axes:
    """Where a value stands on the paper."""

    low: float
    high: float
    bottom: float
    top: float

    def x(self, epsilon: float) -> float:
        share = math.log(max(epsilon, SMALLEST) / self.low) / math.log(self.high / self.low)
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(share, 0.0), 1.0)

    def y(self, value: float) -> float:
        share = (value - self.bottom) / (self.top - self.bottom)
        return TOP + (HEIGHT - TOP - BELOW) * (1 - min(max(share, 0.0), 1.0))


def draw(fronts: Sequence[Front], *, show: str = "error") -> Drawing:
    """One drawing of fronts that belong on one axis. ``show`` is "error", as in the paper, or "utility"."""
    choice("show", show, ("error", "utility"))
    axes = axes_of(fronts, show)
    told = escape(_who(fronts))
    names = ", ".join(f.name for f in fronts)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="system-ui, '
        'sans-serif" font-size="13" fill="currentColor">',
        f"<title>Privacy-utility front of {escape(names)}</title>",
        f"<desc>{escape(show)} against epsilon on a logarithmic scale; bands from worst to best run. {told}</desc>",
        *_grid(axes, show, fronts),
    ]
    for i, front in enumerate(fronts):
        parts += _front(front, axes, show, i)
    parts += _legend(fronts)
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 8}" font-size="11" font-weight="600">{told}</text></svg>')
    return Drawing("\n".join(parts))


def axes_of(fronts: Sequence[Front], show: str) -> Axes:
    """Room for every front, its bands and a little air; a tenfold range of epsilon at least."""
    points = [p for f in fronts for p in f.points]
    if not points:
        return Axes(0.1, 10.0, 0.0, 1.0)
    epsilons = [max(p.epsilon, SMALLEST) for p in points]
    low, high = min(epsilons) / 1.15, max(epsilons) * 1.15
    wide = math.sqrt(max(1.0, 10.0 / (high / low)))
    values = [_value(v, show) for p in points for v in (p.utility, p.best, p.worst)]
    air = 0.06 * (max(values) - min(values)) + 0.01
    return Axes(low / wide, high * wide, max(0.0, min(values) - air), min(1.0, max(values) + air))


def _value(utility: float, show: str) -> float:
    return min(max(utility if show == "utility" else 1.0 - utility, 0.0), 1.0)


def _front(front: Front, axes: Axes, show: str, i: int) -> list[str]:
    colour, dash = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
    parts = [
        f'<circle cx="{axes.x(p.epsilon):.1f}" cy="{axes.y(_value(p.utility, show)):.1f}" r="2" opacity=".3"/>'
        for p in front.tested
        if axes.low <= max(p.epsilon, SMALLEST) <= axes.high and axes.bottom <= _value(p.utility, show) <= axes.top
    ]
    if not front.points:
        return parts
    upper = _stairs(front.points, axes, lambda p: _value(p.best, show))
    lower = _stairs(front.points, axes, lambda p: _value(p.worst, show))
    line = _stairs(front.points, axes, lambda p: _value(p.utility, show))
    band = [*upper, *reversed(lower)]
    parts.append(f'<path d="{_path(band)}Z" fill="{colour}" opacity=".18"/>')
    parts.append(f'<path d="{_path(line)}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
    return parts + [_mark(axes.x(p.epsilon), axes.y(_value(p.utility, show)), i, colour) for p in front.points]


def _stairs(points: Sequence[Point], axes: Axes, height: Callable[[Point], float]) -> list[tuple[float, float]]:
    """A step to the right from each point to the next: what was reached at a smaller epsilon is reached here too."""
    corners: list[tuple[float, float]] = []
    for p, after in zip(points, [*points[1:], None], strict=True):
        y = axes.y(height(p))
        corners += [(axes.x(p.epsilon), y), (axes.x(after.epsilon if after else axes.high), y)]
    return corners


def _path(corners: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)


def _mark(x: float, y: float, i: int, colour: str) -> str:
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>',
        f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{colour}"/>',
        f'<path d="M{x:.1f} {y - 5:.1f}l4.5 8h-9Z" fill="{colour}"/>',
    )
    return shapes[i % len(shapes)]


def _grid(axes: Axes, show: str, fronts: Sequence[Front]) -> list[str]:
    floor = HEIGHT - BELOW
    parts = [f'<path d="M{LEFT} {TOP}V{floor}H{WIDTH - RIGHT}" fill="none" stroke="currentColor" opacity=".6"/>']
    for value in _round_epsilons(axes):
        x = axes.x(value)
        parts.append(f'<path d="M{x:.1f} {TOP}V{floor}" stroke="currentColor" opacity=".12"/>')
        parts.append(f'<text x="{x:.1f}" y="{floor + 18}" text-anchor="middle">{value:g}</text>')
    for k in range(5):
        value = axes.bottom + (axes.top - axes.bottom) * k / 4
        parts.append(f'<text x="{LEFT - 6}" y="{axes.y(value) + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    labels = list(dict.fromkeys(f"delta = {f.delta:g}, {f.label}" for f in fronts))
    unit = labels[0] if len(labels) == 1 else "DIFFERENT KINDS of epsilon, see the legend"
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{floor + 36}" text-anchor="middle">epsilon ({escape(unit)})</text>')
    word = "utility" if show == "utility" else "error (1 - utility)"
    parts.append(f'<text transform="translate(14 {(TOP + floor) / 2}) rotate(-90)" text-anchor="middle">{word}</text>')
    return parts


def _round_epsilons(axes: Axes) -> list[float]:
    decades = range(math.floor(math.log10(axes.low)), math.ceil(math.log10(axes.high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 4 else (1,)
    return [v for k in decades for s in steps if axes.low <= (v := s * 10.0**k) <= axes.high]


def _legend(fronts: Sequence[Front]) -> list[str]:
    mixed = len({(f.delta, f.label) for f in fronts}) > 1
    parts, x, y = [], float(LEFT), HEIGHT - BELOW + 58
    for i, front in enumerate(fronts):
        text = f"{front.name} [delta = {front.delta:g}, {front.label}]" if mixed else front.name
        length = 30 + 7 * len(text)
        if x + length > WIDTH and x > LEFT:
            x, y = float(LEFT), y + 14
        parts.append(_mark(x + 6, y - 4, i, COLOURS[i % len(COLOURS)]))
        parts.append(f'<text x="{x + 16:.0f}" y="{y}">{escape(text)}</text>')
        x += length
    return parts


def _who(fronts: Sequence[Front]) -> str:
    if all(f.private for f in fronts):
        return f"PRIVATE: {min(fronts, key=lambda f: f.name).guarantee.budget} for the test records; training ones not."
    return "NOT PRIVATE: only for people who may see the data. Guarantee: none."
