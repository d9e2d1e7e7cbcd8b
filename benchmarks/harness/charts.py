"""Pictures of kept figures as small SVG files: bars with their spread, and curves. The same figures, the same bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tacit.charts import svg
from tacit.charts.svg import Ruler, element, path, round_values, words

WIDE = 760
COLOURS = (*svg.COLOURS, "#222222")
DASHES = (*svg.DASHES, "14 3")
FAINT: dict[str, Any] = {"opacity": ".7"}
BOLD: dict[str, Any] = {"font_weight": 600}
Bar = tuple[str, float, float | None, float | None, float | None]  # label, value, low, high, goal
Points = Sequence[Sequence[float]]


def white_paper(high: float, title: str, parts: Iterable[str]) -> str:
    """A picture that is readable on a dark page too."""
    ground = element("rect", width="100%", height="100%", fill="#fff")
    return svg.paper([ground, *parts], (WIDE, round(high)), title=title, font_size=12, fill="#222") + "\n"


def look(i: int, dash: int | None = None) -> dict[str, Any]:
    """Colour and dash of the i-th line."""
    return {
        "stroke": COLOURS[i % len(COLOURS)],
        "stroke_dasharray": DASHES[(i if dash is None else dash) % len(DASHES)],
    }


def ticks(low: float, high: float, *, log: bool) -> list[float]:
    """Powers of ten between the ends of a logarithmic axis that has two of them; round numbers otherwise."""
    if log:
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        if len(powers) > 1:
            return [10.0**p for p in powers]
    return round_values(low, high, 6)


def bars(title: str, rows: Sequence[Bar], unit: str) -> str:
    """Values above 0 on a logarithmic axis, with spread and, as a tick, the goal."""
    left, top, step = 330.0, 34.0, 24.0
    low, high = _decades([1.0, 10.0, *(v for r in rows for v in r[1:] if v is not None and v > 0)])
    at, bottom = Ruler(low, high, left, WIDE - 70, log=True), top + step * len(rows)
    parts = [words(8, 18, title, **BOLD)]
    for v in ticks(low, high, log=True):
        parts.append(path([(at(v), top), (at(v), bottom)], opacity=".15"))
        parts.append(words(at(v), bottom + 16, f"{v:g}", text_anchor="middle", **FAINT))
    parts.append(words(left, bottom + 34, unit, **FAINT))
    for i, (label, value, least, most, goal) in enumerate(rows):
        y, one, x = top + step * (i + 0.5), at(1.0), at(value)
        ink, wide = COLOURS[0 if value >= 1 else 1], max(1.0, abs(x - one))
        parts.append(words(left - 8, y + 4, label, text_anchor="end"))
        parts.append(element("rect", x=min(one, x), y=y - 7, width=wide, height=14, fill=ink, opacity=".75"))
        if least is not None and most is not None and least > 0:
            parts.append(path([(at(least), y), (at(most), y)], stroke_width="1.5"))
        if goal is not None and goal > 0:
            parts.append(path([(at(goal), y - 10), (at(goal), y + 10)], stroke_dasharray="3 2"))
        parts.append(words(max(x, at(most or 0.0), one) + 6, y + 4, f"{value:.3g}"))
    return white_paper(bottom + 44, title, parts)


def curves(title: str, lines: Mapping[str, Points], *, x: str, y: str, log: tuple[bool, bool] = (True, True)) -> str:
    """One line for each name through its points (across, up); each axis logarithmic or not."""
    left, right, top, floor = 64.0, WIDE - 20.0, 48.0, 348.0
    points = [p for line in lines.values() for p in line if not log[1] or p[1] > 0]
    ends = [_decades([p[k] for p in points]) if log[k] else _ends([p[k] for p in points]) for k in (0, 1)]
    across, up = Ruler(*ends[0], left, right, log=log[0]), Ruler(*ends[1], floor, top, log=log[1])
    parts = [words(8, 18, title, **BOLD)]
    for v in ticks(*ends[0], log=log[0]):
        parts.append(path([(across(v), top), (across(v), floor)], opacity=".12"))
        parts.append(words(across(v), floor + 16, f"{v:g}", text_anchor="middle", **FAINT))
    for v in ticks(*ends[1], log=log[1]):
        parts.append(path([(left, up(v)), (right, up(v))], opacity=".12"))
        parts.append(words(left - 6, up(v) + 4, f"{v:g}", text_anchor="end", **FAINT))
    parts += [words(right, floor + 32, x, text_anchor="end"), words(left, top - 10, y, opacity=".8")]
    for i, (name, line) in enumerate(lines.items()):
        low = floor + 50 + 18 * i
        parts.append(path([(across(a), up(b)) for a, b in line], stroke_width=2, **look(i)))
        parts.append(path([(left, low - 4), (left + 34, low - 4)], stroke_width=2, **look(i)))
        parts.append(words(left + 42, low, name))
    return white_paper(floor + 56 + 18 * len(lines), title, parts)


def steps(title: str, lines: Mapping[str, Sequence[float]], *, x: str, y: str, log: bool = False) -> str:
    """One line for each name, over 1, 2, 3, ..."""
    counted = {name: list(enumerate(line, 1)) for name, line in lines.items()}
    return curves(title, counted, x=x, y=y, log=(False, log))


def _decades(values: Sequence[float]) -> tuple[float, float]:
    low = math.floor(math.log10(min(values)))
    return 10.0**low, 10.0 ** max(low + 1, math.ceil(math.log10(max(values))))


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low, high if high > low else low + 1
