"""Bars: one value against another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.charts.svg import element, paper, words


@dataclass(frozen=True)
class Bar:
    """``value`` None is a bar without an end: dashed, as long as the longest."""

    name: str
    value: float | None
    shown: str
    filled: bool = True


def bars(rows: Sequence[Bar], *, title: str) -> str:
    """Level bars, one below the other.

    >>> bars([Bar("claimed", 1.0, "1"), Bar("measured", 0.5, "0.5")], title="two").count("<rect")
    2
    """
    most = max([1e-9, *(r.value for r in rows if r.value is not None)])
    parts = []
    for i, row in enumerate(rows):
        y, long = 14.0 + 46 * i, 380 * (most if row.value is None else row.value) / most
        look: dict[str, Any] = {
            "fill": "currentColor" if row.filled else "none",
            "stroke": "currentColor",
            "stroke_width": 2,
        }
        dashes = "6 4" if row.value is None else ""
        parts.append(words(90, y + 21, row.name, text_anchor="end"))
        parts.append(element("rect", x=100, y=y, width=long, height=32, opacity=".75", stroke_dasharray=dashes, **look))
        parts.append(words(108 + long, y + 21, row.shown))
    return paper(parts, (640, 18 + 46 * len(rows)), title=title, font_size=14)
