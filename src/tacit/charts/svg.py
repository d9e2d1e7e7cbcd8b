"""The pieces of a chart: paper, scales, axes, marks, a legend.

Colours are those of Okabe and Ito, distinguishable by every kind of colour vision; lines differ by dash and mark too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("", "7 4", "2 3", "9 3 2 3", "4 2", "1 2")
FONT = "system-ui, sans-serif"
Ticks = Iterable[tuple[float, str]]
Places = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Ruler:
    """From values between ``low`` and ``high`` to places between ``start`` and ``end``; others stand at an end.

    >>> Ruler(1.0, 100.0, 0.0, 50.0, log=True)(10.0)
    25.0
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, v = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, v = math.log(low), math.log(high), math.log(v)
        return self.start + (self.end - self.start) * round((v - low) / ((high - low) or 1.0), 9)


def element(tag: str, inside: str = "", **attributes: Any) -> str:
    """One element. Attributes are escaped, ``inside`` is not; an underscore in a name is a hyphen, "" leaves one out.

    >>> element("text", "a", x=1.234, text_anchor="end")
    '<text x="1.23" text-anchor="end">a</text>'
    """
    shown = "".join(f' {name.rstrip("_").replace("_", "-")}="{_word(v)}"' for name, v in attributes.items() if v != "")
    return f"<{tag}{shown}>{inside}</{tag}>" if inside else f"<{tag}{shown}/>"


def _word(value: Any) -> str:
    return f"{round(value, 2):.10g}" if isinstance(value, float) else escape(str(value))


def paper(
    parts: Iterable[str], size: tuple[float, float], *, title: str, about: str = "", alone: bool = True, **more: Any
) -> str:
    """A whole picture with a title and a description for readers who cannot see it.

    One that is not ``alone`` stands in a page, where it needs no name space.
    """
    head = [element("title", escape(title))] + ([element("desc", escape(about))] if about else [])
    name = {"xmlns": "http://www.w3.org/2000/svg"} if alone else {}
    look = {"font_family": FONT, "font_size": 13, "fill": "currentColor", **more}
    box = f"0 0 {size[0]:g} {size[1]:g}"
    return element("svg", "\n".join([*head, *parts]), **name, viewBox=box, role="img", **look)


ROW = 17  # between the lines of a legend


def words(x: float, y: float, shown: str, **more: Any) -> str:
    """Text at a place."""
    return element("text", escape(shown), x=float(x), y=float(y), **more)


def path(places: Places, *, close: bool = False, **more: Any) -> str:
    """A line through places, or the area that it encloses."""
    way = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    look = {"stroke": "currentColor", "fill": "none"} if not close else {}
    return element("path", d=f"M{way}{'Z' * close}", **{**look, **more})


def mark(x: float, y: float, i: int, **more: Any) -> str:
    """A dot, a square or a triangle: the i-th line's own."""
    ink = {"fill": COLOURS[i % len(COLOURS)], **more}
    if i % 3 == 0:
        return element("circle", cx=x, cy=y, r=4, **ink)
    if i % 3 == 1:
        return element("rect", x=x - 3.5, y=y - 3.5, width=7, height=7, **ink)
    return path([(x, y - 5), (x + 4.5, y + 3), (x - 4.5, y + 3)], close=True, **ink)


def frame(
    box: tuple[float, float, float, float],
    scales: tuple[Ruler, Ruler],
    ticks: tuple[Ticks, Ticks],
    labels: tuple[str, str],
    *,
    grid: bool = False,
) -> list[str]:
    """Two axes around a box (left, top, right, floor), with ticks (value, word) and labels for across and up."""
    left, top, right, floor = box
    parts = [path([(left, top), (left, floor), (right, floor)], opacity=".6")]
    for value, word in ticks[0]:
        x = scales[0](value)
        parts += [path([(x, top), (x, floor)], opacity=".12")] * grid
        parts.append(words(x, floor + 18, word, text_anchor="middle"))
    for value, word in ticks[1]:
        y = scales[1](value)
        parts += [path([(left, y), (right, y)], opacity=".12")] * grid
        parts.append(words(left - 6, y + 4, word, text_anchor="end"))
    parts.append(words((left + right) / 2, floor + 36, labels[0], text_anchor="middle"))
    if labels[1]:
        turn = f"translate({left - 50:g} {(top + floor) / 2:g}) rotate(-90)"
        parts.append(element("text", escape(labels[1]), transform=turn, text_anchor="middle"))
    return parts


def legend_places(names: Sequence[str], left: float, right: float, wide: float = 10) -> list[tuple[float, int]]:
    """Where each name of a legend begins: x, and the number of its row."""
    places, x, row = [], left, 0
    for name in names:
        length = 24 + wide + 7.2 * len(name)
        if x + length > right and x > left:
            x, row = left, row + 1
        places.append((x, row))
        x += length
    return places


def legend(
    names: Sequence[str], box: tuple[float, float, float], sample: Callable[[int, float, float], str], wide: float = 10
) -> list[str]:
    """A sample and a name for each line, in rows within (left, right), the first at y = ``box[2]``."""
    left, right, top = box
    parts = []
    for i, (name, (x, row)) in enumerate(zip(names, legend_places(names, left, right, wide), strict=True)):
        y = top + ROW * row
        parts += [sample(i, x, y - 4), words(x + wide + 6, y, name)]
    return parts


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


def round_powers(low: float, high: float) -> list[float]:
    """Round numbers between two positive ones, for a logarithmic scale: 1, 2, 5 of few decades, 1 of many.

    >>> round_powers(0.3, 20.0)
    [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 4 else (1,)
    return [v for k in decades for s in steps if low <= (v := s * 10.0**k) <= high]


def plain_ticks(values: Iterable[float]) -> Ticks:
    """Values with themselves as words; from 10,000 on in thousands or millions, for which an axis has room.

    >>> [word for _, word in plain_ticks([0.5, 2000.0, 180000.0, 2.5e6, 3e9])]
    ['0.5', '2000', '180k', '2.5M', '3e+09']
    """
    return [(v, _short(v)) for v in values]


def _short(value: float) -> str:
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if max(unit, 1e4) <= abs(value) < 1e9:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"
