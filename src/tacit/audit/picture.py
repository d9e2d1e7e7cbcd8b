"""Claimed against measured, as a few lines of text and as an SVG. The page is tacit.report.pages.audit."""

from __future__ import annotations

import math
from html import escape

from tacit.audit.play import Audit

WIDE = 40


def text(audit: Audit) -> str:
    """A person's view of an audit."""
    most = max(audit.measured, audit.claimed if math.isfinite(audit.claimed) else 0.0, 1e-9)
    lines = [f"{audit.name}: {audit.verdict}", f"  {audit.about}", ""]
    if math.isfinite(audit.claimed):
        lines.append(f"  claimed   {audit.claimed:8.4g}  {_bar(audit.claimed / most)}  {audit.claim}")
    else:
        lines.append("  claimed   nothing")
    lines += [f"  measured  {audit.measured:8.4g}  {_bar(audit.measured / most)}  at least", ""]
    lines += [f"  {sentence}" for sentence in told(audit)]
    return "\n".join(lines)


def told(audit: Audit) -> list[str]:
    """What the numbers mean, in sentences."""
    times = f"{audit.runs} runs on each data set" if audit.runs > 1 else f"one run, {audit.event['canaries']} canaries"
    at = f" at delta = {audit.delta:g}" if audit.delta else ""
    found = [f"Epsilon{at} is at least {audit.measured:.4g}, with {audit.confidence:.0%} confidence ({times}, "]
    found[0] += f"{audit.noise}, {audit.seconds:.1f} s)."
    if audit.verdict == "BROKEN":
        found.append("That is more than was claimed: the mechanism, or its claim, is wrong.")
    if audit.separated:
        found.append(
            "Every output told the two data sets apart: the bound is all that so many runs can show, and grows with "
            "their number."
        )
    if audit.conditional:
        found.append(f"Conditional: {audit.conditional}.")
    return found


def svg(audit: Audit) -> str:
    """Two bars."""
    finite = math.isfinite(audit.claimed)
    most = max(audit.measured, audit.claimed if finite else 0.0, 1e-9)
    rows = [("claimed", audit.claimed if finite else most, f"{audit.claimed:.4g}" if finite else "nothing", "none")]
    rows.append(("measured", audit.measured, f"at least {audit.measured:.4g}", "currentColor"))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 110" role="img" font-family="system-ui, sans-serif" '
        f'font-size="14" fill="currentColor" aria-label="epsilon of {escape(audit.name)}: claimed {rows[0][2]}, '
        f'measured {rows[1][2]}">'
    ]
    for i, (name, value, shown, fill) in enumerate(rows):
        y, long = 14 + 46 * i, 380 * value / most
        dashes = "" if finite or i else ' stroke-dasharray="6 4"'
        parts.append(f'<text x="90" y="{y + 21}" text-anchor="end">{name}</text>')
        parts.append(f'<rect x="100" y="{y}" width="{long:.1f}" height="32" fill="{fill}" opacity=".75" ')
        parts.append(f'stroke="currentColor" stroke-width="2"{dashes}/>')
        parts.append(f'<text x="{108 + long:.1f}" y="{y + 21}">{shown}</text>')
    return "".join([*parts, "</svg>"])


def _bar(share: float) -> str:
    return "█" * max(0, round(WIDE * share)) or "▏"
