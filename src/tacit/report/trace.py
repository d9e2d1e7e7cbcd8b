"""What a run released, as small drawings (SVG): noisy scores in order, a falling line, a spark for a table.

Each is drawn twice, broad and narrow: letters keep their size on a phone, and the style shows one of the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tacit.pareto.drawing import round_values

HEIGHT, LEFT, BELOW, PAD = 260, 64, 40, 12
SIZES = (("broad", 720), ("narrow", 350))


def trace(
    values: Sequence[float],
    noise: float,
    score: float | None,
    *,
    chosen: Sequence[bool] = (),
    half_width: float | None = None,
    what: tuple[str, str] = ("Noisy scores", "observation"),
) -> str:
    """Noisy scores with a title and a description for readers who cannot see them.

    ``chosen`` marks observations of the released parameters; ``half_width`` is that of the score's 95% interval.

    >>> trace([0.5, 0.4], 0.1, 0.45).count("<circle")
    4
    """
    marked = [*chosen, *[False] * (len(values) - len(chosen))]
    around = half_width or 0.0
    ends = [*([score - around, score + around] if score is not None else []), *values]
    low, high = min(ends) - 2 * noise, max(ends) + 2 * noise
    bars = "; bars show one standard deviation of noise" if noise else ""
    told = f"Between {min(values):.4g} and {max(values):.4g}{bars}."
    title = f"{what[0]} of {len(values)} {what[1]}s"

    def inside(x: Callable[[int], float], y: Callable[[float], float], end: float) -> list[str]:
        parts = []
        if score is not None:
            parts += [
                f'<path d="M{LEFT} {y(score + around):.1f}H{end}V{y(score - around):.1f}H{LEFT}Z" '
                'fill="var(--mark, #0072b2)" opacity=".18"/>',
                f'<path d="M{LEFT} {y(score):.1f}H{end}" stroke="var(--mark, #0072b2)" stroke-width="2" '
                'stroke-dasharray="6 4"/>',
            ]
        for i, v in enumerate(values):
            parts.append(
                f'<path d="M{x(i):.1f} {y(v - noise):.1f}V{y(v + noise):.1f}" stroke="currentColor" opacity=".4"/>'
            )
            if marked[i]:
                parts.append(f'<path d="M{x(i):.1f} {y(v) - 6:.1f}l6 6-6 6-6-6Z" fill="var(--mark, #0072b2)"/>')
            else:
                parts.append(f'<circle cx="{x(i):.1f}" cy="{y(v):.1f}" r="4"/>')
        return parts

    return _both(title, told, len(values), (low, high), f"{what[1]}, in order", inside)


def falling(values: Sequence[float], title: str, label: str) -> str:
    """A line of positive numbers on a logarithmic scale; others leave a gap.

    >>> falling([1.0, 0.1], "a line", "step").count("<svg")
    2
    """
    logs = [math.log10(v) if v > 0 and math.isfinite(v) else None for v in values]
    known = [v for v in logs if v is not None] or [0.0]
    told = f"From {values[0]:.4g} to {values[-1]:.4g}, on a logarithmic scale."

    def inside(x: Callable[[int], float], y: Callable[[float], float], end: float) -> list[str]:
        points = [f"{x(i):.1f} {y(v):.1f}" for i, v in enumerate(logs) if v is not None]
        dots = [f'<circle cx="{p.split()[0]}" cy="{p.split()[1]}" r="2.5"/>' for p in points]
        line = f'<path d="M{"L".join(points)}" fill="none" stroke="var(--mark, #0072b2)" stroke-width="2"/>'
        return [line, *dots] if points else []

    return _both(title, told, len(values), (min(known), max(known)), label, inside, logarithmic=True)


def spark(values: Sequence[float]) -> str:
    """A line without axes, for a cell of a table.

    >>> "<path" in spark([1.0, 2.0])
    True
    """
    low, span = min(values), (max(values) - min(values)) or 1.0
    step = 136 / max(1, len(values) - 1)
    points = [f"{4 + step * i:.1f} {28 - 24 * (v - low) / span:.1f}" for i, v in enumerate(values)]
    x, y = points[-1].split()
    return (
        '<svg class="spark" viewBox="0 0 144 32" aria-hidden="true" fill="currentColor">'
        f'<path d="M{"L".join(points)}" fill="none" stroke="var(--mark, #0072b2)" stroke-width="2"/>'
        f'<circle cx="{x}" cy="{y}" r="3.5"/></svg>'
    )


def _both(
    title: str,
    told: str,
    many: int,
    ends: tuple[float, float],
    label: str,
    inside: Callable[..., list[str]],
    *,
    logarithmic: bool = False,
) -> str:
    low, high = ends
    span = (high - low) or 1.0
    floor = HEIGHT - BELOW

    def y(v: float) -> float:
        return PAD + (floor - 2 * PAD) * (1 - (v - low) / span)

    drawn = []
    for size, width in SIZES:
        end = width - PAD

        def x(i: int, end: float = end) -> float:
            return LEFT + PAD + (end - LEFT - 2 * PAD) * (i + 0.5) / many

        parts = [
            f'<svg class="{size}" viewBox="0 0 {width} {HEIGHT}" role="img" font-family="system-ui, sans-serif" '
            f'font-size="13" fill="currentColor"><title>{title}</title><desc>{told}</desc>',
            f'<path d="M{LEFT} {PAD}V{floor}H{end}" fill="none" stroke="currentColor" opacity=".5"/>',
        ]
        for v in round_values(low, low + span, 5):
            shown = f"{10**v:.2g}" if logarithmic else f"{v:g}"
            parts.append(f'<text x="{LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{shown}</text>')
        for i in sorted({0, many // 2, many - 1}):
            parts.append(f'<text x="{x(i):.1f}" y="{floor + 16}" text-anchor="middle">{i + 1}</text>')
        parts += inside(x, y, end)
        parts.append(f'<text x="{(LEFT + width) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{label}</text></svg>')
        drawn.append("".join(parts))
    return "".join(drawn)
