"""A plan as a drawing (SVG): expected loss of quality against the number of records, once for each landscape."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from tacit.pareto.drawing import COLOURS, DASHES
from tacit.planning.measured import LANDSCAPES
from tacit.planning.methods import expected

if TYPE_CHECKING:
    from tacit.planning.plan import Plan

WIDTH, HEIGHT, LEFT, GAP, TOP, BELOW = 860, 400, 64, 36, 34, 108
PANEL = (WIDTH - LEFT - GAP - 16) / 2
AROUND, POINTS = 100.0, 33  # a hundred times fewer records, and more
SHOWN = ("observed", "random", "gibo", "gibo_few", "kusner1", "middle")


def drawn(plan: Plan) -> str:
    """An SVG with a title and a description for readers who cannot see it."""
    c = plan.case
    low, high = max(1.0, c.records / AROUND), min(1e9, c.records * AROUND)
    records = [round(low * (high / low) ** (i / (POINTS - 1))) for i in range(POINTS)]
    shown = [m for m in SHOWN if not plan[m].unavailable]
    curves = {(l, m): _curve(plan, m, l, records) for l in LANDSCAPES for m in shown}
    top = max(c.spread * 1.05, *(v for curve in curves.values() for v in curve))
    best = plan.recommendation.method
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="system-ui, '
        'sans-serif" font-size="13" fill="currentColor">',
        f"<title>Expected loss of quality with {escape(str(c.budget))}</title>",
        f"<desc>Against the number of records, for {', '.join(shown)}; the line marks {c.records:,} records. "
        f"Recommended: {escape(best)}.</desc>",
    ]
    for i, landscape in enumerate(LANDSCAPES):
        left = LEFT + i * (PANEL + GAP)
        axes = _Axes(left, math.log(low), math.log(high), top)
        parts += axes.frame(landscape, c.records, plan.want, c.spread, first=not i)
        for j, method in enumerate(shown):
            dots = [(axes.x(n), axes.y(v)) for n, v in zip(records, curves[landscape, method], strict=True)]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in dots)
            thick = 3.5 if method == best else 1.8
            look = f'stroke="{COLOURS[j]}" stroke-width="{thick}" stroke-dasharray="{DASHES[j]}"'
            parts.append(f'<path d="{path}" fill="none" {look}/>')
    return "\n".join([*parts, *_legend(shown, best), "</svg>"])


def _curve(plan: Plan, method: str, landscape: str, records: list[int]) -> list[float]:
    return [expected(method, plan.case.with_records(n), landscape).mean for n in records]


class _Axes:
    """Where a value stands on one panel: records on a logarithmic scale, losses from 0."""

    def __init__(self, left: float, low: float, high: float, top: float) -> None:
        self.left, self.low, self.high, self.top = left, low, high, top

    def x(self, records: float) -> float:
        return self.left + PANEL * (math.log(records) - self.low) / max(1e-9, self.high - self.low)

    def y(self, loss: float) -> float:
        return TOP + (HEIGHT - TOP - BELOW) * (1 - min(max(loss / self.top, 0.0), 1.0))

    def frame(self, landscape: str, records: int, want: float | None, spread: float, *, first: bool) -> list[str]:
        floor, right = HEIGHT - BELOW, self.left + PANEL
        parts = [
            f'<text x="{self.left:.1f}" y="{TOP - 14}" font-weight="600">{landscape}</text>',
            f'<path d="M{self.left:.1f} {TOP}V{floor}H{right:.1f}" fill="none" stroke="currentColor" opacity=".6"/>',
            f'<path d="M{self.x(records):.1f} {TOP}V{floor}" stroke="currentColor" opacity=".5"/>',
            self._level(spread, "a typical setting"),
        ]
        if want is not None and want < self.top:
            parts.append(self._level(want, "wanted"))
        for k in range(math.ceil(self.low / math.log(10)), math.floor(self.high / math.log(10)) + 1):
            shown = f"{10 ** (k % 3)}{('', 'k', 'M', 'G')[k // 3]}"
            parts.append(f'<text x="{self.x(10**k):.1f}" y="{floor + 18}" text-anchor="middle">{shown}</text>')
        parts.append(f'<text x="{self.left + PANEL / 2:.1f}" y="{floor + 36}" text-anchor="middle">records</text>')
        if first:
            for k in range(5):
                at = self.top * k / 4
                parts.append(f'<text x="{LEFT - 6}" y="{self.y(at) + 4:.1f}" text-anchor="end">{at:.2g}</text>')
            middle = (TOP + floor) / 2
            turned = f'transform="translate(14 {middle:.1f}) rotate(-90)" text-anchor="middle"'
            parts.append(f"<text {turned}>expected loss of quality</text>")
        return parts

    def _level(self, value: float, name: str) -> str:
        y, right = self.y(value), self.left + PANEL
        line = f'<path d="M{self.left:.1f} {y:.1f}H{right:.1f}" stroke="currentColor" stroke-dasharray="2 4"/>'
        return f'{line}<text x="{right:.1f}" y="{y - 4:.1f}" text-anchor="end" font-size="11">{name}</text>'


def _legend(shown: list[str], best: str) -> list[str]:
    parts, x, y = [], float(LEFT), HEIGHT - BELOW + 62
    for j, method in enumerate(shown):
        text = f"{method} (recommended)" if method == best else method
        length = 52 + 7.5 * len(text)
        if x + length > WIDTH:
            x, y = float(LEFT), y + 20
        look = f'stroke="{COLOURS[j]}" stroke-width="2.5" stroke-dasharray="{DASHES[j]}"'
        parts.append(f'<path d="M{x:.0f} {y - 4}h26" fill="none" {look}/>')
        parts.append(f'<text x="{x + 32:.0f}" y="{y}">{escape(text)}</text>')
        x += length
    return parts
