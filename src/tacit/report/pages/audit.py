"""The page of one or several audits: claimed against measured, as a picture, as a table, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from html import escape
from typing import Any

from tacit.audit.picture import told
from tacit.audit.play import Audit
from tacit.errors import BadInput
from tacit.page import Page, table

SIZES = (("broad", 720, 190), ("narrow", 350, 0))  # name, width, room for names on the left
LINE, BAR = 46, 15


def page(documents: Sequence[dict[str, Any]]) -> Page:
    """The page of audits as ``Audit.to_json`` tells them."""
    audits = [_audit(d) for d in documents]
    if not audits:
        raise BadInput("a page of audits needs at least one")
    broken = sum(a.verdict == "BROKEN" for a in audits)
    one = audits[0]
    head = f"{one.name}: {one.verdict}" if len(audits) == 1 else f"{len(audits)} audits, {broken} broken"
    about = f"<p>{escape(one.about)}</p>" if len(audits) == 1 else ""
    words = "".join(
        f"<h2>{escape(a.name)}</h2><p>{escape(a.about)}</p>" * (len(audits) > 1)
        + "".join(f"<p>{escape(s)}</p>" for s in told(a))
        for a in audits
    )
    parts = {
        "head": f"<h1>{escape(head)}</h1>{about}",
        "picture": "".join(_drawn(audits, *size) for size in SIZES)
        + '<p class="soft">Hollow: what was claimed, the most that epsilon may be. Filled: what was measured, the '
        "least that it can be. Measured beyond claimed means that a promise is broken.</p>",
        "table": f"<h2>Claimed and measured</h2>{_table(audits)}",
        "words": f"{'<h2>In words</h2>' * (len(audits) == 1)}{words}",
    }
    return Page(f"tacit: {head}", parts, over="tacit · audit")


def _audit(document: dict[str, Any]) -> Audit:
    try:
        given = {f.name: document[f.name] for f in fields(Audit)}
        given["claimed"] = math.inf if given["claimed"] is None else float(given["claimed"])
        audit = Audit(**given)
        told(audit)
        return audit
    except (KeyError, TypeError, ValueError):
        raise BadInput("this is not an audit as tacit audit writes it") from None


def _drawn(audits: Sequence[Audit], size: str, width: int, left: int) -> str:
    """Two bars for each audit on one scale; names stand above the bars where there is no room beside them."""
    most = max(1e-9, *(a.measured for a in audits), *(a.claimed for a in audits if math.isfinite(a.claimed)))
    room, line = width - left - 140, LINE if left else LINE + 16
    words = "; ".join(f"{a.name}: claimed {_claimed(a)}, measured at least {a.measured:.4g}" for a in audits)
    parts = [
        f'<svg class="{size}" viewBox="0 0 {width} {line * len(audits) + 8}" role="img" font-family="system-ui, '
        'sans-serif" font-size="13" fill="currentColor"><title>Claimed and measured epsilon</title>'
        f"<desc>{escape(words)}</desc>"
    ]
    for i, a in enumerate(audits):
        y = 8 + line * i + (0 if left else 16)
        finite, colour = math.isfinite(a.claimed), "#D55E00" if a.verdict == "BROKEN" else "#0072B2"
        hollow = f"{room * (a.claimed if finite else most) / most:.1f}"
        dashes = "" if finite else ' stroke-dasharray="6 4"'
        filled, ink = room * a.measured / most, 'stroke="currentColor" stroke-width="1.5"'
        over = ", BROKEN" * (a.verdict == "BROKEN")
        at = f'x="{left - 8}" y="{y + 19}" text-anchor="end"' if left else f'x="0" y="{y - 4}"'
        parts += [
            f'<text {at} font-weight="600">{escape(a.name)}</text>',
            f'<rect x="{left}" y="{y}" width="{hollow}" height="{BAR}" fill="none" {ink}{dashes}/>',
            f'<text x="{left + float(hollow) + 6:.1f}" y="{y + 12}">claimed {_claimed(a)}</text>',
            f'<rect x="{left}" y="{y + BAR + 2}" width="{filled:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<text x="{left + filled + 6:.1f}" y="{y + BAR + 14}">measured ≥ {a.measured:.3g}{over}</text>',
        ]
    return "".join([*parts, "</svg>"])


def _claimed(audit: Audit) -> str:
    return f"{audit.claimed:.3g}" if math.isfinite(audit.claimed) else "nothing"


def _table(audits: Sequence[Audit]) -> str:
    heads = ["audit", "verdict", "claimed epsilon", "measured, at least", "share", "at delta", "confidence", "runs"]
    rows = []
    for a in audits:
        share = "" if a.tightness is None else f"{a.tightness:.0%}"
        amounts = (_claimed(a), f"{a.measured:.4g}", share, f"{a.delta:g}", f"{a.confidence:.0%}")
        rows.append((a.name, a.verdict, *amounts, a.runs))
    return table(heads, rows, words=("audit", "verdict"))


def attack_page(document: dict[str, Any]) -> Page:
    """The page of the known-row attack, as ``tacit audit outsource --json`` tells it."""
    heads = ["transformation", "rows known", "given back", "typical error", "guarantee"]
    try:
        rows = [
            [a["transform"], int(a["known"]), f"{a['share']:.0%}", float(a["median_error"]), a["guarantee"]]
            for a in document["attack"]
        ]
        size = f"{int(document['rows'])} rows of {int(document['columns'])} columns"
    except (KeyError, TypeError, ValueError):
        raise BadInput("this is not an attack as tacit audit outsource writes it") from None
    parts = {
        "head": f"<h1>The known-row attack on {size}</h1><p>How much of the table comes back to somebody who has the "
        "published one and knows a few rows. Errors are shares of the table's spread. Nothing was published or "
        "spent.</p>",
        "table": table(heads, rows, words=[heads[0], heads[-1]]),
    }
    return Page("tacit: the known-row attack", parts, over="tacit · audit")
