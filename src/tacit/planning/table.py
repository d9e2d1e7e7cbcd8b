"""A plan for a person to read: a table, what is behind it, the recommendation, and what a wanted quality needs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tacit.planning.measured import LANDSCAPES, document
from tacit.privacy.guarantee import LETTER

if TYPE_CHECKING:
    from tacit.methods.forecast import Preview
    from tacit.planning.plan import Need, Plan

WIDE = 118
MOST_RECORDS, MOST_AMOUNT = 10**9, 1000.0  # that are looked at for a wanted quality


def format_plan(plan: Plan) -> str:
    """Everything, in plain text."""
    c = plan.case
    assumed = ", assumed: give yours" if plan.assumed_spread else ""
    trials = "trial" if c.trials == 1 else "trials"
    parameters = "parameter" if c.dimensions == 1 else "parameters"
    lines = [
        f"{c.records:,} records, {c.trials:,} {trials}, {c.dimensions} {parameters}, {c.budget}; losses in "
        f"[{c.bounds[0]:g}, {c.bounds[1]:g}], spread {c.spread:g}{assumed}",
        "",
        *_table(plan),
        "",
        *_wrap(
            "loss: how much worse than the best setting the answer is expected to be; in brackets most runs (10% to "
            "90%). Means over our benchmark problems; a typical setting loses the spread, "
            f"{c.spread:g}. theory: at most, where it says anything; see below."
        ),
    ]
    if plan.needed:
        lines += ["", *_needs(plan)]
    lines += ["", *_notes(plan)]
    outside = dict.fromkeys(s for o in plan.previews for m in o.measured.values() for s in m.outside)
    lines += [line for s in outside for line in _wrap(f"OUTSIDE THE TABLE, the nearest cell answers: {s}", "  ")]
    lines += ["", f"Recommended: {plan.recommendation.method}", *_wrap(plan.recommendation.reason, "  ")]
    if plan.recommendation.call:
        lines += ["", f"  {plan.recommendation.call}", f"  {plan.recommendation.shell}"]
    lines += ["", f"Nothing was spent. Measured by `{document()['command']}`."]
    return "\n".join(lines)


def _table(plan: Plan) -> list[str]:
    heads = ("method", "guarantee", "evaluations", "noise", *(f"loss, {l}" for l in LANDSCAPES), "theory")
    rows = [heads, *(_row(o, plan.case.width) for o in plan.previews)]
    return align(rows)


def align(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns as wide as their widest word; a rule below the heads.

    >>> align([("a", "bc"), ("long", "d")])
    ['a     bc', '--------', 'long  d']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(word.ljust(w) for word, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def _row(o: Preview, width: float) -> tuple[str, ...]:
    kind = "no data used" if o.method == "middle" else f"{o.guarantee.kind}{_amount(o)}"
    if o.unavailable:
        return (o.method, "not possible", "", "", "", "", "")
    noise = "" if o.noise is None else f"{o.noise:.3g}" + " !" * o.refused
    theory = "" if o.bound is None else f"{o.bound:.2g}" if o.bound < width else "nothing"
    lost = (
        f"{m.mean:.2g} ({m.low:.2g} to {m.high:.2g})" if (m := o.measured.get(l)) else "not measured"
        for l in LANDSCAPES
    )
    return (o.method, kind, f"{o.evaluations:,}", noise, *lost, theory)


def _amount(o: Preview) -> str:
    b = o.guarantee.budget
    return f", {LETTER[b.notion]} {b.amount:.3g}" if b else ""


def _notes(plan: Plan) -> list[str]:
    """What is behind the table; what several methods have in common is said once."""
    entries: dict[str, list[str]] = {}
    for o in plan.previews:
        if o.unavailable:
            entries.setdefault(f"not possible here: {o.unavailable}", []).append(o.method)
            continue
        bound = f" (it allows {o.bound:.2g}, more than the bounds do)" if (o.bound or 0) >= plan.case.width else ""
        texts = [f"releases {o.releases}"] * bool(o.releases)
        texts += [f"noise is the standard deviation on {o.noise_of}"] * bool(o.noise)
        texts += [f"theory: {o.statement}{bound}"] * (o.bound is not None)
        texts += [*o.notes, *(["! tacit.tune refuses this unless you accept it"] * o.refused)]
        for text in texts:
            entries.setdefault(text, []).append(o.method)
    return [line for text, methods in entries.items() for line in _wrap(f"{', '.join(methods)}: {text}", "  ")]


def _needs(plan: Plan) -> list[str]:
    c = plan.case
    names = [f"{what}, {l}" for l in LANDSCAPES for what in ("records", LETTER[c.budget.notion])]
    rows: list[tuple[str, ...]] = [("method", *names)]
    for method, by in plan.needed.items():
        rows.append((method, *(word for l in LANDSCAPES for word in _amounts(by[l]))))
    head = (
        f"For an expected loss of at most {plan.want:g}: records needed with {c.budget}, or budget needed with "
        f"{c.records:,} records (none: not with {MOST_RECORDS:.0e} records, or "
        f"{LETTER[c.budget.notion]} = {MOST_AMOUNT:g})"
    )
    return [*_wrap(head), "", *align(rows)]


def _amounts(n: Need) -> tuple[str, str]:
    return (
        f"{n.records:,}" if n.records is not None else "none",
        f"{n.budget.amount:.3g}" if n.budget is not None else "none",
    )


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDE, initial_indent=indent, subsequent_indent=indent + "  " * bool(indent))
