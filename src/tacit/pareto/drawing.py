"""Fronts as one drawing (SVG): a staircase, a band from worst to best run, the tested points. It says who may see it.

Colours are those of Okabe and Ito, told apart by every kind of colour vision, and each front has its own mark and dash.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import BadInput, choice

if TYPE_CHECKING:
    from tacit.pareto.front import Front, Point

HEIGHT, LEFT, RIGHT, TOP, BELOW = 420, 64, 20, 18, 96
BROAD, NARROW = 760, 360  # letters keep their size, so a phone needs a drawing of its own
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("", "7 4", "2 3", "9 3 2 3", "4 2", "1 2")
SMALLEST = 1e-4  # epsilons below, and 0, are drawn here: a logarithm has no zero


@dataclass(frozen=True)
class Drawing:
    """An SVG that stands alone. In a notebook it shows itself."""

    svg: str
    fronts: tuple[Front, ...] = field(default=(), repr=False)
    show: str = "error"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the drawing as .svg, or as .png with tacit[plot]."""
        target = Path(path)
        try:
            if target.suffix == ".svg":
                target.write_text(self.svg + "\n", encoding="utf-8")
            elif target.suffix == ".png":
                from tacit.pareto.raster import png

                target.write_bytes(png(self.fronts, show=self.show))
            else:
                raise BadInput(f"a drawing is saved as .svg or .png, got {target.name}")
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
    width: float = BROAD

    def x(self, epsilon: float) -> float:
        share = math.log(max(epsilon, SMALLEST) / self.low) / math.log(self.high / self.low)
        return LEFT + (self.width - LEFT - RIGHT) * min(max(share, 0.0), 1.0)

    def y(self, value: float) -> float:
        share = (value - self.bottom) / (self.top - self.bottom)
        return TOP + (HEIGHT - TOP - BELOW) * (1 - min(max(share, 0.0), 1.0))


def draw(fronts: Sequence[Front], *, show: str = "error", width: int = BROAD) -> Drawing:
    """One drawing of fronts that belong on one axis. ``show`` is "error", as in the paper, or "utility".

    A narrow one leaves the sentence below the axis to the page around it.
    """
    choice("show", show, ("error", "utility"))
    axes = replace(axes_of(fronts, show), width=width)
    told = escape(who(fronts))
    names = ", ".join(f.name for f in fronts)
    size = "broad" if width == BROAD else "narrow"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{size}" viewBox="0 0 {width} {HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13" fill="currentColor">',
        f"<title>Privacy-utility front of {escape(names)}</title>",
        f"<desc>{escape(show)} against epsilon on a logarithmic scale; bands from worst to best run. {told}</desc>",
        *_grid(axes, show, fronts),
    ]
    for i, front in enumerate(fronts):
        parts += _front(front, axes, show, i)
    parts += _legend(fronts, axes)
    last = told if width == BROAD else told.split(":")[0]
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 8}" font-size="11" font-weight="600">{last}</text></svg>')
    return Drawing("\n".join(parts), tuple(fronts), show)


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
    parts = [f'<path d="M{LEFT} {TOP}V{floor}H{axes.width - RIGHT}" fill="none" stroke="currentColor" opacity=".6"/>']
    for value in round_epsilons(axes):
        x = axes.x(value)
        parts.append(f'<path d="M{x:.1f} {TOP}V{floor}" stroke="currentColor" opacity=".12"/>')
        parts.append(f'<text x="{x:.1f}" y="{floor + 18}" text-anchor="middle">{value:g}</text>')
    for value in round_values(axes.bottom, axes.top):
        parts.append(
            f'<path d="M{LEFT} {axes.y(value):.1f}H{axes.width - RIGHT}" stroke="currentColor" opacity=".12"/>'
        )
        parts.append(f'<text x="{LEFT - 6}" y="{axes.y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    middle, unit = (LEFT + axes.width - RIGHT) / 2, epsilon_axis(fronts) if axes.width == BROAD else "epsilon"
    parts.append(f'<text x="{middle}" y="{floor + 36}" text-anchor="middle">{escape(unit)}</text>')
    word = value_axis(show)
    parts.append(f'<text transform="translate(14 {(TOP + floor) / 2}) rotate(-90)" text-anchor="middle">{word}</text>')
    return parts


def epsilon_axis(fronts: Sequence[Front]) -> str:
    """What the axis of epsilon says: sampling scheme, neighbour relation and delta, or that they differ."""
    labels = list(dict.fromkeys(f"delta = {f.delta:g}, {f.label}" for f in fronts))
    return f"epsilon ({labels[0] if len(labels) == 1 else 'DIFFERENT KINDS of epsilon, see the legend'})"


def value_axis(show: str) -> str:
    return "utility" if show == "utility" else "error (1 - utility)"


def round_values(low: float, high: float, most: int = 7) -> list[float]:
    """At most ``most`` round numbers between two others.

    >>> round_values(0.31, 0.94)
    [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    """
    if not (high > low and math.isfinite(high - low)):
        return [low]
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next((s * size for s in (1, 2, 5, 10) if (high - low) / (s * size) <= most), 20 * size)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def round_epsilons(axes: Axes) -> list[float]:
    decades = range(math.floor(math.log10(axes.low)), math.ceil(math.log10(axes.high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 4 else (1,)
    return [v for k in decades for s in steps if axes.low <= (v := s * 10.0**k) <= axes.high]


def _legend(fronts: Sequence[Front], axes: Axes) -> list[str]:
    parts, x, y = [], float(LEFT), HEIGHT - BELOW + 58
    for i, (front, text) in enumerate(zip(fronts, legend(fronts), strict=True)):
        shown = text if axes.width == BROAD else front.name
        length = 30 + 7 * len(shown)
        if x + length > axes.width and x > LEFT:
            x, y = float(LEFT), y + 14
        parts.append(_mark(x + 6, y - 4, i, COLOURS[i % len(COLOURS)]))
        parts.append(f'<text x="{x + 16:.0f}" y="{y}">{escape(shown)}</text>')
        x += length
    return parts


def legend(fronts: Sequence[Front]) -> list[str]:
    """Names; with the kind of epsilon where kinds differ."""
    mixed = len({(f.delta, f.label) for f in fronts}) > 1
    return [f"{f.name} [delta = {f.delta:g}, {f.label}]" if mixed else f.name for f in fronts]


def who(fronts: Sequence[Front]) -> str:
    """Who may see a drawing of these fronts."""
    if all(f.private for f in fronts):
        return f"PRIVATE: {min(fronts, key=lambda f: f.name).guarantee.budget} for the test records; training ones not."
    return "NOT PRIVATE: only for people who may see the data. Guarantee: none."
