"""Pictures of kept figures as small SVG files: bars with their spread, and curves. The same figures, the same bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDE = 760
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222")  # of Okabe and Ito
DASHES = ("", "7 4", "2 3", "9 3 2 3", "4 2", "1 2", "14 3")
PAPER = '<rect width="100%" height="100%" fill="#fff"/>'  # readable on a dark page too


def _svg(high: float, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high:.0f}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#222">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", PAPER, *parts, "</svg>"]) + "\n"


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>'


def _line(x: float, y: float, to: tuple[float, float], more: str) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to[0]:.1f}" y2="{to[1]:.1f}" {more}/>'


def _decades(low: float, high: float) -> list[int]:
    return list(range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1))


Bar = tuple[str, float, float | None, float | None, float | None]  # label, value, low, high, goal


def bars(title: str, rows: Sequence[Bar], unit: str) -> str:
    """Values above 0 on a logarithmic axis, with spread and, as a tick, the goal."""
    left, right, top, step = 330.0, 70.0, 34.0, 24.0
    known = [v for r in rows for v in r[1:] if v is not None and v > 0]
    powers = _decades(min([1.0, *known]), max([10.0, *known]))
    span = max(1, powers[-1] - powers[0])

    def at(v: float) -> float:
        share = (math.log10(max(v, 10.0 ** powers[0])) - powers[0]) / span
        return left + (WIDE - left - right) * share

    bottom = top + step * len(rows)
    parts = [_text(8, 18, title, ' font-weight="600"')]
    for p in powers:
        x = at(10.0**p)
        parts.append(_line(x, top, (x, bottom), 'stroke="#222" opacity=".15"'))
        parts.append(_text(x, bottom + 16, f"{10.0**p:g}", ' text-anchor="middle" opacity=".7"'))
    parts.append(_text(left, bottom + 34, unit, ' opacity=".7"'))
    for i, (label, value, low, high, goal) in enumerate(rows):
        y = top + step * (i + 0.5)
        one, x = at(1.0), at(value)
        parts.append(_text(left - 8, y + 4, label, ' text-anchor="end"'))
        parts.append(
            f'<rect x="{min(one, x):.1f}" y="{y - 7:.1f}" width="{max(1.0, abs(x - one)):.1f}" height="14" '
            f'fill="{COLOURS[0 if value >= 1 else 1]}" opacity=".75"/>'
        )
        if low is not None and high is not None and low > 0:
            parts.append(_line(at(low), y, (at(high), y), 'stroke="#222" stroke-width="1.5"'))
        if goal is not None and goal > 0:
            parts.append(_line(at(goal), y - 10, (at(goal), y + 10), 'stroke="#222" stroke-dasharray="3 2"'))
        parts.append(_text(max(x, at(high or 0.0), one) + 6, y + 4, f"{value:.3g}"))
    return _svg(bottom + 44, title, parts)


def curves(title: str, lines: Mapping[str, Sequence[tuple[float, float]]], *, x: str, y: str) -> str:
    """One line for each name through its points, both axes logarithmic."""
    left, right, top, deep = 64.0, 20.0, 48.0, 300.0
    points = [p for line in lines.values() for p in line]
    across, up = _decades(*_ends([p[0] for p in points])), _decades(*_ends([p[1] for p in points]))

    def place(a: float, b: float) -> tuple[float, float]:
        h = (math.log10(a) - across[0]) / max(1, across[-1] - across[0])
        v = (math.log10(b) - up[0]) / max(1, up[-1] - up[0])
        return left + (WIDE - left - right) * h, top + deep * (1 - v)

    parts = [_text(8, 18, title, ' font-weight="600"')]
    for p in across:
        at = place(10.0**p, 10.0 ** up[0])
        parts.append(_line(at[0], top, at, 'stroke="#222" opacity=".12"'))
        parts.append(_text(at[0], at[1] + 16, f"{10.0**p:g}", ' text-anchor="middle" opacity=".7"'))
    for p in up:
        at = place(10.0 ** across[0], 10.0**p)
        parts.append(_line(at[0], at[1], (WIDE - right, at[1]), 'stroke="#222" opacity=".12"'))
        parts.append(_text(at[0] - 6, at[1] + 4, f"{10.0**p:g}", ' text-anchor="end" opacity=".7"'))
    parts.append(_text(WIDE - right, top + deep + 32, x, ' text-anchor="end"'))
    parts.append(_text(left, top - 10, y, ' opacity=".8"'))
    for i, (name, line) in enumerate(lines.items()):
        ink = f'stroke="{COLOURS[i % len(COLOURS)]}" stroke-dasharray="{DASHES[i % len(DASHES)]}"'
        told = " ".join(f"{h:.1f},{v:.1f}" for h, v in (place(*p) for p in line))
        parts.append(f'<polyline points="{told}" fill="none" stroke-width="2" {ink}/>')
        low = top + deep + 50 + 18 * i
        parts.append(_line(left, low - 4, (left + 34, low - 4), f'stroke-width="2" {ink}'))
        parts.append(_text(left + 42, low, name))
    return _svg(top + deep + 56 + 18 * len(lines), title, parts)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low, max(high, 10 * low)
