"""The page of one or several fronts: move epsilon along the front, read what it buys and what lies behind it.

It opens offline, works by keyboard, prints, reads in the dark, and says first who may see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tacit.charts.fronts import BROAD, NARROW, FrontChart, draw_third
from tacit.files import Json
from tacit.page import Page, asset, render_parts
from tacit.page.cover import Cover, Worth
from tacit.page.parts import find_changes, guarantee_part, origin_part, payment_part
from tacit.pareto.chart import bands_of, chart_of
from tacit.pareto.compare import Comparison
from tacit.pareto.front import Front
from tacit.privacy.release import plain

SCRIPT = asset("front.js")


def write(fronts: Front | Comparison | Sequence[Front], path: str | Path, *, mixed: bool = False) -> Path:
    """Write the page and return its path."""
    return page(fronts, mixed=mixed).write(path)


def page(
    fronts: Front | Comparison | Sequence[Front], *, mixed: bool = False, certificate: Mapping[str, Any] | None = None
) -> Page:
    """The page of one or several fronts.

    Args:
        fronts: What is shown.
        mixed: Whether fronts of different kinds of epsilon may stand on one page.
        certificate: Of a front that was measured with a private test.
    """
    if isinstance(fronts, Comparison):
        both = fronts
    else:
        both = Comparison([fronts] if isinstance(fronts, Front) else list(fronts), mixed=mixed)
    names = ", ".join(f.name for f in both.fronts)
    chart = chart_of(both.fronts, show="utility")
    heads, rows = _rows(both)
    third = next((f.cost_name for f in both.fronts if f.cost_name), "")
    parts = render_parts(
        "front.html",
        cover=_cover(both.fronts[0], certificate or {}) if len(both.fronts) == 1 else None,
        names=names,
        audience=both.audience[0].upper() + both.audience[1:],
        private=both.private,
        mixed=both.mixed,
        kind=_kind(both),
        bands=bands_of(both.fronts),
        fronts=both.fronts,
        drawing=Markup(chart.svg + chart.draw(NARROW)),
        third=_third(both, chart, third) if third else "",
        third_name=third,
        heads=heads,
        rows=rows,
        failed=[f for f in both.fronts if f.failed],
        reasons="; ".join(dict.fromkeys(reason for f in both.fronts for reason in f.reasons)),
        guarantees=[_guarantee(f) for f in both.fronts if f.private],
        origins=[(f, origin_part(f.origin)) for f in both.fronts if f.origin],
    )
    title = f"{'' if both.private else 'NOT PRIVATE: '}front of {names}"
    return Page(title, parts, script=SCRIPT, data=_data(both, chart.geometry), over="tacit · privacy-utility front")


PUBLIC = (
    "Everything that was measured on exact data, if the front has no guarantee of its own.",
    "The records that models were trained on: a model trained at the training epsilon has its own guarantee.",
    "Public facts: the number of records, the space, and that this search took place.",
)


def _cover(front: Front, certificate: Mapping[str, Any]) -> Cover:
    steps, private = front.steps, front.private
    rows: list[tuple[str, Any]] = [("points on the front", len(steps)), ("points tested", len(front.tested))]
    if steps:
        ends = steps[:1] if len(steps) == 1 else (steps[0], steps[-1])
        rows += [(f"utility at epsilon {p.epsilon:.3g}", p.utility) for p in ends]
    verdict = Worth(
        True if private else None,
        "It shows what each epsilon buys, before one is chosen."
        if private
        else "For people who may see the data: it is not a release.",
        "Utility is the score of a trained model on test records, between 0 and 1.",
    )
    document = {"payment": front.payment.to_json() if front.payment else None, "about": front.origin, **certificate}
    changes = find_changes(dict(certificate)) if certificate else []
    title = f"What epsilon buys: {front.name}"
    return Cover(title, rows, verdict, front.guarantee, PUBLIC, document, changes)


def _third(both: Comparison, chart: FrontChart, name: str) -> Markup:
    """The third objective, on an axis of its own."""
    points = [[(p.epsilon, p.cost) for p in f.points if p.cost is not None] for f in both.fronts]
    return Markup(draw_third(chart, points, name, BROAD) + draw_third(chart, points, name, NARROW))


def _data(both: Comparison, geometry: dict[str, float]) -> Json:
    fronts, row = [], 0
    for front in both.fronts:
        stairs = set(map(id, front.steps))
        points = [{**p.to_json(), "row": row + k} for k, p in enumerate(front.points) if id(p) in stairs]
        about = {"name": front.name, "label": front.label, "delta": front.delta, "cost": front.cost_name}
        fronts.append({**about, "points": points})
        row += len(front.points)
    return plain({**geometry, "audience": both.audience, "kind": _kind(both), "fronts": fronts})  # type: ignore[no-any-return]


def _rows(both: Comparison) -> tuple[list[str], list[list[Any]]]:
    """Heads and rows of the table of points."""
    names = list(dict.fromkeys(n for f in both.fronts for p in f.points for n in p.params))
    kind = ["delta", "epsilon is for"] * both.mixed  # said once above where there is one kind
    several = ["algorithm"] if len(both.fronts) > 1 else []
    costs = list(dict.fromkeys(f.cost_name for f in both.fronts if f.cost_name))
    heads = [*several, "epsilon", "utility", "95% interval", "runs", *costs, *names, *kind]
    rows = [
        [*([f.name] if several else []), p.epsilon, p.utility, _span(p.low, p.high), _span(p.worst, p.best)]
        + [p.cost if f.cost_name == c else "" for c in costs]
        + [p.params.get(n, "") for n in names]
        + [f.delta, f.label] * both.mixed
        for f in both.fronts
        for p in f.points
    ]
    return heads, rows


def _span(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"{low:.4f} to {high:.4f}" if low < high else f"{low:.4f}"


def _kind(both: Comparison) -> str:
    if both.mixed:
        return "These epsilons are different quantities and cannot be compared by size"
    if both.private:
        return (
            f"Two epsilons: the training epsilon, on the axis and in the table, is for {both.fronts[0].label}, delta = "
            f"{both.fronts[0].delta:g}, and says what a model trained so would cost; the test epsilon, below, is what "
            "this front has cost the test records"
        )
    return f"Epsilon: {both.fronts[0].label}, delta = {both.fronts[0].delta:g}"


def _guarantee(front: Front) -> Markup:
    paid = front.payment.to_json() if front.payment else None
    return guarantee_part(front.guarantee, f"Guarantee of {front.name}") + payment_part(paid)
