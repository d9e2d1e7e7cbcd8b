"""What a chart of fronts shows and says: its staircases, the kind of epsilon on its axis, who may see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit.charts.fronts import FrontChart, FrontLine
from tacit.errors import choice

if TYPE_CHECKING:
    from tacit.pareto.front import Front


def chart_of(fronts: Sequence[Front], *, show: str = "error") -> FrontChart:
    """The chart of fronts that belong on one axis. ``show`` is "error", as in the paper, or "utility"."""
    choice("show", show, ("error", "utility"))
    kinds = [f"delta = {f.delta:g}, {f.label}" for f in fronts]
    mixed = len(set(kinds)) > 1
    epsilon = f"epsilon ({'DIFFERENT KINDS of epsilon, see the legend' if mixed else kinds[0]})"
    return FrontChart(
        tuple(_front_line(f, show, f"{f.name} [{kind}]" * mixed) for f, kind in zip(fronts, kinds, strict=True)),
        title=f"Privacy-utility front of {', '.join(f.name for f in fronts)}",
        about=f"{show} against epsilon on a logarithmic scale; bands from worst to best run.",
        labels=(epsilon, "utility" if show == "utility" else "error (1 - utility)"),
        who=_who(fronts),
    )


def _front_line(front: Front, show: str, longer: str) -> FrontLine:
    def value(utility: float) -> float:
        return min(max(utility if show == "utility" else 1.0 - utility, 0.0), 1.0)

    points = tuple((p.epsilon, value(p.utility), value(p.best), value(p.worst)) for p in front.points)
    return FrontLine(front.name, points, tuple((p.epsilon, value(p.utility)) for p in front.tested), longer)


def _who(fronts: Sequence[Front]) -> str:
    if all(f.private for f in fronts):
        return f"PRIVATE: {min(fronts, key=lambda f: f.name).guarantee.budget} for the test records; training ones not."
    return "NOT PRIVATE: only for people who may see the data. Guarantee: none."
