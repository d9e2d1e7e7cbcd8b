"""The noisy scores of a run as a small drawing (SVG): dots with their noise, and the released score as a line."""

from __future__ import annotations

WIDTH, HEIGHT, LEFT, BELOW, PAD = 720, 260, 64, 34, 12


def trace(values: list[float], noise: float, score: float | None) -> str:
    """An SVG with a title and a description for readers who cannot see it.

    >>> trace([0.5, 0.4], 0.1, 0.45).count("<circle")
    2
    """
    low = min([*values, *([score] if score is not None else [])]) - 2 * noise
    high = max([*values, *([score] if score is not None else [])]) + 2 * noise
    span = (high - low) or 1.0

    def x(i: int) -> float:
        return LEFT + PAD + (WIDTH - LEFT - 2 * PAD) * (i + 0.5) / len(values)

    def y(v: float) -> float:
        return PAD + (HEIGHT - BELOW - PAD) * (1 - (v - low) / span)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="system-ui" font-size="13" fill="currentColor">',
        f"<title>Noisy scores of {len(values)} observations</title>",
        f"<desc>Between {min(values):.4g} and {max(values):.4g}; bars show one standard deviation of noise.</desc>",
        f'<path d="M{LEFT} {PAD}V{HEIGHT - BELOW}H{WIDTH - PAD}" fill="none" stroke="currentColor" opacity=".5"/>',
    ]
    for k in range(5):
        v = low + span * k / 4
        parts.append(f'<text x="{LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:.3g}</text>')
    if score is not None:
        parts.append(
            f'<path d="M{LEFT} {y(score):.1f}H{WIDTH - PAD}" stroke="var(--mark, currentColor)" stroke-width="2" '
            'stroke-dasharray="6 4"/>'
            f'<text x="{WIDTH - PAD}" y="{y(score) - 6:.1f}" text-anchor="end">released score</text>'
        )
    for i, v in enumerate(values):
        bar = f'<path d="M{x(i):.1f} {y(v - noise):.1f}V{y(v + noise):.1f}" stroke="currentColor" opacity=".35"/>'
        parts.append(f'{bar}<circle cx="{x(i):.1f}" cy="{y(v):.1f}" r="4"/>')
    middle = (LEFT + WIDTH) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">observation, in order</text></svg>')
    return "".join(parts)
