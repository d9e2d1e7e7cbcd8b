"""Values along an axis: noisy scores in order, a falling line, a spark for a table, curves in panels.

What stands in a page is drawn twice, broad and narrow: letters keep their size on a phone, and the style shows one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.charts.svg import (
    COLOURS,
    DASHES,
    Places,
    Ruler,
    Ticks,
    element,
    frame,
    legend,
    paper,
    path,
    plain_ticks,
    round_values,
    words,
)

HEIGHT, LEFT, BELOW, PAD = 260, 64, 40, 12
SIZES = (("broad", 720), ("narrow", 350))
INK = "var(--mark, #0072b2)"  # the page's own, which is lighter in the dark
Inside = Callable[[Ruler, Ruler], list[str]]


def trace(
    values: Sequence[float],
    noise: float,
    score: float | None,
    *,
    chosen: Sequence[bool] = (),
    half_width: float | None = None,
    what: tuple[str, str] = ("Noisy scores", "observation"),
    baseline: float | None = None,
    label: str = "",
    total: int = 0,
) -> str:
    """Noisy scores with bars of one standard deviation.

    ``chosen`` marks observations of the released parameters; ``half_width`` is that of the score's 95% interval.
    ``baseline`` is what is reached without a model; ``total`` how many observations there will be.

    >>> trace([0.5, 0.4], 0.1, 0.45).count("<circle")
    4
    """
    marked = [*chosen, *[False] * (len(values) - len(chosen))]
    around = half_width or 0.0
    level = [] if score is None else [score - around, score + around]
    every = [*level, *values, *([] if baseline is None else [baseline])]
    low, high = min(every) - 2 * noise, max(every) + 2 * noise

    def inside(x: Ruler, y: Ruler) -> list[str]:
        parts = []
        if score is not None:
            left, right = LEFT, x.end + PAD
            band = [(left, y(level[1])), (right, y(level[1])), (right, y(level[0])), (left, y(level[0]))]
            parts.append(path(band, close=True, fill=INK, opacity=".18"))
            parts.append(
                path([(left, y(score)), (right, y(score))], stroke=INK, stroke_width=2, stroke_dasharray="6 4")
            )
        if baseline is not None:
            parts.append(path([(LEFT, y(baseline)), (x.end + PAD, y(baseline))], stroke_dasharray="2 4", opacity=".8"))
            parts.append(words(x.end + PAD, y(baseline) - 5, "without a model", text_anchor="end", font_size=11))
        for i, v in enumerate(values):
            a, b = x(i + 0.5), y(v)
            parts.append(path([(a, y(v - noise)), (a, y(v + noise))], opacity=".4"))
            diamond = [(a, b - 6), (a + 6, b), (a, b + 6), (a - 6, b)]
            parts.append(path(diamond, close=True, fill=INK) if marked[i] else element("circle", cx=a, cy=b, r=4))
        return parts

    bars = "; bars show one standard deviation of noise" if noise else ""
    about = f"Between {min(values):.4g} and {max(values):.4g}{bars}."
    ticks = plain_ticks(round_values(low, low + ((high - low) or 1.0), 5))
    title = f"{what[0]} of {len(values)} {what[1]}s"
    many = max(total, len(values))
    return _twice((title, about), many, (low, high), ticks, (f"{what[1]}, in order", label), inside)


def falling_line(values: Sequence[float], title: str, label: str) -> str:
    """A line of positive numbers on a logarithmic scale; others leave a gap.

    >>> falling_line([1.0, 0.1], "a line", "step").count("<svg")
    2
    """
    logs = [math.log10(v) if v > 0 and math.isfinite(v) else None for v in values]
    known = [v for v in logs if v is not None] or [0.0]
    low, high = min(known), max(known)

    def inside(x: Ruler, y: Ruler) -> list[str]:
        places = [(x(i + 0.5), y(v)) for i, v in enumerate(logs) if v is not None]
        dots = [element("circle", cx=a, cy=b, r=2.5) for a, b in places]
        return [path(places, stroke=INK, stroke_width=2), *dots] if places else []

    ticks = [(v, f"{10**v:.2g}") for v in round_values(low, low + ((high - low) or 1.0), 5)]
    about = f"From {values[0]:.4g} to {values[-1]:.4g}, on a logarithmic scale."
    return _twice((title, about), len(values), (low, high), ticks, (label, ""), inside)


def spark(values: Sequence[float]) -> str:
    """A line without axes, for a cell of a table.

    >>> "<path" in spark([1.0, 2.0])
    True
    """
    x, y = Ruler(0, max(1, len(values) - 1), 4, 140), Ruler(min(values), max(values), 28, 4)
    places = [(x(i), y(v)) for i, v in enumerate(values)]
    last = element("circle", cx=places[-1][0], cy=places[-1][1], r=3.5)
    look = {"class_": "spark", "viewBox": "0 0 144 32", "aria_hidden": "true", "fill": "currentColor"}
    return element("svg", path(places, stroke=INK, stroke_width=2) + last, **look)


def _twice(
    said: tuple[str, str], many: int, ends: tuple[float, float], ticks: Ticks, labels: tuple[str, str], inside: Inside
) -> str:
    """A frame around ``many`` places in order, for a broad and for a narrow page."""
    floor, drawn, ticks = HEIGHT - BELOW, "", list(ticks)
    span = (ends[1] - ends[0]) or 1.0
    for size, width in SIZES:
        x = Ruler(0, many, LEFT + PAD, width - 2 * PAD)
        y = Ruler(ends[0], ends[0] + span, floor - PAD, PAD)
        places = [(i + 0.5, str(i + 1)) for i in sorted({0, many // 2, many - 1})]
        parts = frame((LEFT, PAD, width - PAD, floor), (x, y), (places, ticks), labels)
        parts += inside(x, y)
        drawn += paper(parts, (width, HEIGHT), title=said[0], about=said[1], alone=False, class_=size)
    return drawn


def panels(
    x: Sequence[float],
    curves: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    said: tuple[str, str],
    labels: tuple[str, str],
    here: float,
    levels: Mapping[str, float],
    strong: str,
) -> str:
    """Curves of the same names in panels side by side, over a logarithmic axis; values start at 0.

    ``said`` is the title and the description, ``here`` a marked place of x, ``levels`` are marked values, and the
    curve ``strong`` is drawn thicker.
    """
    width, height, gap, top, below = 860, 400, 36, 34, 108
    room = 84  # for the names of lines, right of the last panel
    panel, floor = (width - LEFT - gap * (len(curves) - 1) - room) / len(curves), height - below
    most = max(
        [1.05 * max(levels.values()), *(v for panel in curves.values() for curve in panel.values() for v in curve)]
    )
    names = list(next(iter(curves.values())))
    powers = range(math.ceil(math.log10(x[0])), math.floor(math.log10(x[-1])) + 1)
    across = [(10.0**k, f"{10 ** (k % 3)}{('', 'k', 'M', 'G')[k // 3]}") for k in powers]
    parts = []
    for i, (name, lines) in enumerate(curves.items()):
        left = LEFT + i * (panel + gap)
        right = left + panel
        scales = Ruler(x[0], x[-1], left, right, log=True), Ruler(0, most, floor, top)
        up = [] if i else [(v, f"{v:.2g}") for v in round_values(0.0, most, 5)]
        parts += frame((left, top, right, floor), scales, (across, up), (labels[0], "" if i else labels[1]))
        parts.append(words(left, top - 14, name, font_weight=600))
        parts.append(path([(scales[0](here), top), (scales[0](here), floor)], opacity=".5"))
        for word, value in levels.items():
            y = scales[1](value)
            parts.append(path([(left, y), (right, y)], stroke_dasharray="2 4"))
            parts.append(words(right, y - 4, word, text_anchor="end", font_size=11))
        for j, line in enumerate(names):
            places: Places = [(scales[0](a), scales[1](v)) for a, v in zip(x, lines[line], strict=True)]
            parts.append(path(places, **_look(j), stroke_width=3.5 if line == strong else 1.8))
    ends = [scales[1](lines[name][-1]) for name in names]
    for j, (name, here_y, end) in enumerate(zip(names, spread_apart(ends, 13.0, top, floor), ends, strict=True)):
        parts.append(path([(right + 2, end), (right + 10, here_y)], stroke=_look(j)["stroke"], opacity=".7"))
        parts.append(words(right + 12, here_y + 4, name, font_size=11, font_weight=600 if name == strong else 400))

    def sample(j: int, a: float, b: float) -> str:
        return path([(a, b), (a + 26, b)], **_look(j), stroke_width=2.5)

    shown = [f"{n} (recommended)" if n == strong else n for n in names]
    parts += legend(shown, (LEFT, width, floor + 62), sample, wide=26)
    return paper(parts, (width, height), title=said[0], about=said[1])


def _look(j: int) -> dict[str, Any]:
    """Colour and dash of the j-th line: no two of the first 36 share both.

    >>> len({tuple(_look(j).values()) for j in range(36)})
    36
    """
    return {"stroke": COLOURS[j % len(COLOURS)], "stroke_dasharray": DASHES[(j + j // len(COLOURS)) % len(DASHES)]}


def spread_apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places moved as little as keeps them ``gap`` apart, in their order, between low and high.

    >>> spread_apart([10.0, 10.0, 40.0], 12.0, 0.0, 100.0)
    [10.0, 22.0, 40.0]
    """
    order, moved = sorted(range(len(places)), key=lambda i: places[i]), [0.0] * len(places)
    last = low - gap
    for i in order:
        last = moved[i] = max(places[i], last + gap)
    last = high + gap
    for i in reversed(order):
        last = moved[i] = min(moved[i], last - gap)
    return moved
