"""Claimed against measured, as a few lines of text and as an SVG. The page is tacit.report.pages.audit."""

from __future__ import annotations

import math

from tacit.audit.play import Audit
from tacit.charts.bars import Bar, bars

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
    claimed = audit.claimed if math.isfinite(audit.claimed) else None
    rows = [
        Bar("claimed", claimed, "nothing" if claimed is None else f"{claimed:.4g}", filled=False),
        Bar("measured", audit.measured, f"at least {audit.measured:.4g}"),
    ]
    return bars(rows, title=f"epsilon of {audit.name}: claimed {rows[0].shown}, measured {rows[1].shown}")


def _bar(share: float) -> str:
    return "█" * max(0, round(WIDE * share)) or "▏"
