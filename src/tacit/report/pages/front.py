"""The page of one or several fronts: move epsilon along the front, read what it buys and what lies behind it.

It opens offline, works by keyboard, prints, reads in the dark, and says first who may see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from tacit.charts.fronts import BROAD, NARROW, FrontChart, draw_third
from tacit.page import Page, asset, table
from tacit.page.parts import guarantee_part, origin_part, payment_part
from tacit.pareto.chart import bands_of, chart_of
from tacit.pareto.compare import Comparison
from tacit.pareto.front import Front
from tacit.privacy.release import plain

ASK = (
    '<div class="box screen"><label for="epsilon">Move epsilon: at most <output id="shown" for="epsilon"></output>'
    '</label><input type="range" id="epsilon" min="0" max="1000" step="5" value="500"><p><button id="less">◂ previous '
    'point</button> <button id="more">next point ▸</button> <label for="typed">or type it: </label><input id="typed" '
    'type="number" min="0" step="any" inputmode="decimal"></p><div id="answer" class="wide" aria-live="polite"></div>'
    "</div>"
)
HOLLOW = "hollow dots at the border lie beyond it"
SCRIPT = asset("front.js")
BUTTONS = '<button id="copy">Copy the table</button> <button id="png">Save the drawing (PNG)</button>'


def write(fronts: Front | Comparison | Sequence[Front], path: str | Path, *, mixed: bool = False) -> Path:
    """Write the page and return its path."""
    return page(fronts, mixed=mixed).write(path)


def page(fronts: Front | Comparison | Sequence[Front], *, mixed: bool = False) -> Page:
    """The page. Fronts of different kinds of epsilon are refused unless ``mixed=True``."""
    if isinstance(fronts, Comparison):
        both = fronts
    else:
        both = Comparison([fronts] if isinstance(fronts, Front) else list(fronts), mixed=mixed)
    names = ", ".join(f.name for f in both.fronts)
    audience = both.audience[0].upper() + both.audience[1:]
    who = f'<p class="who{" private" * both.private}">{escape(audience)}.</p>'
    chart = chart_of(both.fronts, show="utility")
    parts = {
        "head": f"<h1>What epsilon buys: {escape(names)}</h1>{who}{_kinds(both)}",
        "drawing": chart.svg + chart.draw(NARROW),
        **({"third": _third(both, chart)} if any(f.cost_name for f in both.fronts) else {}),
        "ask": ASK.replace("Move epsilon", "Move the training epsilon") if both.private else ASK,
        "table": f'<h2>The front</h2><p class="screen">{BUTTONS}</p>{_table(both)}{_failures(both)}',
        "guarantees": "".join(_guarantee(f) for f in both.fronts if f.private),
        "origin": "".join(_origin(f) for f in both.fronts if f.origin),
    }
    title = f"{'' if both.private else 'NOT PRIVATE: '}front of {names}"
    return Page(title, parts, script=SCRIPT, data=_data(both, chart.geometry), over="tacit · privacy-utility front")


def _third(both: Comparison, chart: FrontChart) -> str:
    """The third objective, on an axis of its own."""
    name = next(f.cost_name for f in both.fronts if f.cost_name)
    points = [[(p.epsilon, p.cost) for p in f.points if p.cost is not None] for f in both.fronts]
    drawn = draw_third(chart, points, name, BROAD) + draw_third(chart, points, name, NARROW)
    return f"<h2>{escape(name[0].upper() + name[1:])}, the third objective</h2>{drawn}"


def _data(both: Comparison, geometry: dict[str, float]) -> dict[str, Any]:
    fronts, row = [], 0
    for front in both.fronts:
        stairs = set(map(id, front.steps))
        points = [{**p.to_json(), "row": row + k} for k, p in enumerate(front.points) if id(p) in stairs]
        about = {"name": front.name, "label": front.label, "delta": front.delta, "cost": front.cost_name}
        fronts.append({**about, "points": points})
        row += len(front.points)
    return plain({**geometry, "audience": both.audience, "kind": _kind(both), "fronts": fronts})  # type: ignore[no-any-return]


def _table(both: Comparison) -> str:
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
    return table(heads, rows, name="all", words=("algorithm", "epsilon is for"))


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


def _kinds(both: Comparison) -> str:
    if not both.mixed:
        bands = bands_of(both.fronts)
        return f'<p class="soft">{escape(_kind(both))}. {bands[0].upper()}{bands[1:]}; {HOLLOW}.</p>'
    listed = "".join(f"<li>{escape(f.name)}: {escape(f.label)}, delta = {f.delta:g}</li>" for f in both.fronts)
    return f"<p>{_kind(both)}:</p><ul>{listed}</ul>"


def _guarantee(front: Front) -> str:
    paid = front.payment.to_json() if front.payment else None
    return guarantee_part(front.guarantee, f"Guarantee of {front.name}") + payment_part(paid)


def _origin(front: Front) -> str:
    return f"<h2>Where {escape(front.name)} comes from</h2>{origin_part(front.origin)}"


def _failures(both: Comparison) -> str:
    lost = [(f.name, len(f.failed)) for f in both.fronts if f.failed]
    if not lost:
        return ""
    why = "; ".join(dict.fromkeys(reason for f in both.fronts for reason in f.reasons))
    told = "; ".join(f"{escape(name)}: {n} points failed twice and are left out" for name, n in lost)
    return f"<p>{told}{f' ({escape(why)})' if why else ''}.</p>"
