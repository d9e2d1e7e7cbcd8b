"""Line charts as small SVG files, without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

INK = ("#0b5cad", "#c2410c", "#15803d", "#7c3aed", "#525252", "#be185d", "#a16207")
WIDE, HIGH, LEFT, TOP, FOOT = 640, 300, 60, 30, 40


def chart(path: Path, title: str, lines: Mapping[str, Sequence[float]], *, x: str, y: str, log: bool = False) -> None:
    """One line for each name, over 1, 2, 3, ..."""
    floor = min((v for line in lines.values() for v in line if v > 0), default=1e-9)
    shown = {k: [math.log10(max(v, floor)) if log else v for v in line] for k, line in lines.items()}
    low, high = min(map(min, shown.values())), max(map(max, shown.values()))
    high = high if high > low else low + 1
    most = max(len(line) for line in shown.values())

    def place(i: int, v: float) -> str:
        across = LEFT + (WIDE - LEFT - 10) * i / max(most - 1, 1)
        return f"{across:.1f},{TOP + (HIGH - TOP - FOOT) * (high - v) / (high - low):.1f}"

    label = '<text x="{}" y="{}" font-size="12" fill="{}" {}>{}</text>'
    parts = [label.format(LEFT, 18, "#222", 'font-weight="bold"', escape(title))]
    for name, value in ((f"{10**high if log else high:.3g}", high), (f"{10**low if log else low:.3g}", low)):
        at = place(0, value).split(",")[1]
        parts.append(label.format(LEFT - 6, at, "#444", 'text-anchor="end"', name))
    parts.append(label.format(WIDE / 2, HIGH - 6, "#444", "", escape(f"{x} (1 to {most})")))
    side = f'text-anchor="middle" transform="rotate(-90 14 {HIGH / 2:g})"'
    parts.append(label.format(14, f"{HIGH / 2:g}", "#444", side, escape(y)))
    for k, (name, line) in enumerate(shown.items()):
        ink = INK[k % len(INK)]
        points = " ".join(place(i, v) for i, v in enumerate(line))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="1.6"/>')
        parts.append(label.format(WIDE - 220, TOP + 14 * (k + 1), ink, "", escape(name)))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" font-family="sans-serif">'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}\n" + "\n".join(parts) + "\n</svg>\n")
