"""Bars in pairs, a hollow one for what was claimed and a filled one for what was measured; and one bar in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.charts.svg import COLOURS, element, legend, paper, words

WIDE, BAR = 140, 15  # room for the words on the right; height of a bar
BROAD, NARROW = 720, 350


@dataclass(frozen=True)
class Pair:
    """Two values of one name with words beside them. ``claimed`` None has no end: dashed, as long as the longest."""

    name: str
    claimed: float | None
    measured: float
    beside: tuple[str, str]
    wrong: bool = False


def pairs_of_bars(rows: Sequence[Pair], width: int = BROAD, *, title: str, alone: bool = False) -> str:
    """Two bars for each row on one scale; names stand above the bars where there is no room beside them.

    >>> pairs_of_bars([Pair("laplace", 1.0, 0.5, ("claimed 1", "measured 0.5"))], title="audit").count("<rect")
    2
    """
    left, line, above = (190, 46, 0) if width == BROAD else (0, 62, 16)
    most = max(1e-9, *(r.measured for r in rows), *(r.claimed for r in rows if r.claimed is not None))
    parts = []
    for i, row in enumerate(rows):
        y = 8.0 + line * i + above
        claimed = most if row.claimed is None else row.claimed
        hollow, filled = ((width - left - WIDE) * value / most for value in (claimed, row.measured))
        place = {"text_anchor": "end"} if left else {}
        parts.append(words(left - 8 if left else 0, y + 19 if left else y - 4, row.name, font_weight=600, **place))
        dashes = "6 4" if row.claimed is None else ""
        look: dict[str, Any] = {"stroke": "currentColor", "stroke_width": "1.5", "stroke_dasharray": dashes}
        parts.append(element("rect", x=left, y=y, width=hollow, height=BAR, fill="none", **look))
        parts.append(words(left + hollow + 6, y + 12, row.beside[0]))
        ink = COLOURS[1 if row.wrong else 0]
        parts.append(element("rect", x=left, y=y + BAR + 2, width=filled, height=BAR, fill=ink))
        parts.append(words(left + filled + 6, y + BAR + 14, row.beside[1]))
    about = "; ".join(f"{r.name}: {r.beside[0]}, {r.beside[1]}" for r in rows)
    size = "broad" if width == BROAD else "narrow"
    return paper(parts, (width, line * len(rows) + 8), title=title, about=about, alone=alone, class_=size)


def bar_of_parts(parts: Sequence[tuple[str, float]], rest: str, *, title: str) -> str:
    """One bar whose whole is 1: named shares in order, and what is left, hollow; names stand below.

    >>> bar_of_parts([("tune", 0.25), ("train", 0.5)], "left", title="a ledger").count("<rect")
    12
    """
    drawn, whole = "", {"fill": "none", "stroke": "currentColor", "stroke_width": "1.5"}

    def sample(i: int, a: float, b: float) -> str:
        ink = {"fill": COLOURS[i % len(COLOURS)]} if i < len(parts) else whole
        return element("rect", x=a, y=b - 6, width=11, height=11, **ink)

    for size, width in (("broad", BROAD), ("narrow", NARROW)):
        inside, x = [], 1.0
        for i, (_, share) in enumerate(parts):
            long = max(0.0, min(share, 1.0)) * (width - 2)
            look = {"fill": COLOURS[i % len(COLOURS)], "stroke": "var(--page, #fff)"}
            inside.append(element("rect", x=x, y=2.0, width=long, height=26, **look))
            x += long
        inside.append(element("rect", x=1.0, y=2.0, width=width - 2.0, height=26, **whole))
        names = [*(f"{name} {100 * share:.3g}%" for name, share in parts), rest]
        lines = legend(names, (0, width, 48), sample, wide=12)
        rows = 48 + 17 * (2 + sum(len(n) for n in names) * 8 // width)
        about = "; ".join(names)
        drawn += paper([*inside, *lines], (width, rows), title=title, about=about, alone=False, class_=size)
    return drawn
