"""A plan as a chart: expected loss of quality against the number of records, once for each landscape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.charts.lines import panels
from tacit.planning.measured import LANDSCAPES
from tacit.planning.rows import expected_loss, forecasts

if TYPE_CHECKING:
    from tacit.planning.plan import Plan

AROUND, POINTS = 100.0, 33  # a hundred times fewer records, and more


def chart_of(plan: Plan) -> str:
    """An SVG that stands alone."""
    c = plan.case
    low, high = max(1.0, c.records / AROUND), min(1e9, c.records * AROUND)
    records = [round(low * (high / low) ** (i / (POINTS - 1))) for i in range(POINTS)]
    known = forecasts()
    shown = [o.method for o in plan.previews if known[o.method].curve == o.method and not o.unavailable]
    curves = {
        landscape: {m: [expected_loss(known[m], c.with_records(n), landscape).mean for n in records] for m in shown}
        for landscape in LANDSCAPES
    }
    levels = {"a typical setting": c.spread}
    if plan.want is not None and plan.want <= max(
        c.spread, *(v for p in curves.values() for q in p.values() for v in q)
    ):
        levels["wanted"] = plan.want
    best = plan.recommendation.method
    about = (
        f"Against the number of records, for {', '.join(shown)}; the line marks {c.records:,} records. "
        f"Recommended: {best}."
    )
    return panels(
        records,
        curves,
        said=(f"Expected loss of quality with {c.budget}", about),
        labels=("records", "expected loss of quality"),
        here=c.records,
        levels=levels,
        strong=best,
    )
