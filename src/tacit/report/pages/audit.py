"""The page of one or several audits: claimed against measured, as a picture, as a table, in words."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from tacit.audit.game import Audit
from tacit.charts.bars import BROAD, NARROW, Pair, pairs_of_bars
from tacit.errors import BadInput
from tacit.page import Page, table


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
        + "".join(f"<p>{escape(s)}</p>" for s in a.sentences())
        for a in audits
    )
    parts = {
        "head": f"<h1>{escape(head)}</h1>{about}",
        "picture": _chart(audits, BROAD)
        + _chart(audits, NARROW)
        + '<p class="soft">Hollow: what was claimed, the most that epsilon may be. Filled: what was measured, the '
        "least that it can be. Measured beyond claimed means that a promise is broken.</p>",
        "table": f"<h2>Claimed and measured</h2>{_table(audits)}",
        "words": f"{'<h2>In words</h2>' * (len(audits) == 1)}{words}",
    }
    return Page(f"tacit: {head}", parts, over="tacit · audit")


def write(audit: Audit, out: Path) -> list[Path]:
    """Write audit.json, audit.html and audit.svg into a folder."""
    document = audit.to_json()
    contents = {"json": json.dumps(document, indent=1), "html": page([document]).html()}
    contents["svg"] = _chart([audit], BROAD, alone=True)
    for ending, content in contents.items():
        (out / f"audit.{ending}").write_text(content + "\n", encoding="utf-8")
    return [out / f"audit.{ending}" for ending in contents]


def _audit(document: dict[str, Any]) -> Audit:
    try:
        audit = Audit.from_json(document)
        audit.sentences()
        return audit
    except (KeyError, TypeError, ValueError):
        raise BadInput("this is not an audit as tacit audit writes it") from None


def _chart(audits: Sequence[Audit], width: int, *, alone: bool = False) -> str:
    rows = []
    for a in audits:
        broken = a.verdict == "BROKEN"
        beside = f"claimed {_format_claim(a)}", f"measured ≥ {a.measured:.3g}{', BROKEN' * broken}"
        rows.append(Pair(a.name, a.claimed if math.isfinite(a.claimed) else None, a.measured, beside, broken))
    return pairs_of_bars(rows, width, title="Claimed and measured epsilon", alone=alone)


def _format_claim(audit: Audit) -> str:
    return f"{audit.claimed:.3g}" if math.isfinite(audit.claimed) else "nothing"


def _table(audits: Sequence[Audit]) -> str:
    heads = ["audit", "verdict", "claimed epsilon", "measured, at least", "share", "at delta", "confidence", "runs"]
    rows = []
    for a in audits:
        share = "" if a.tightness is None else f"{a.tightness:.0%}"
        amounts = (_format_claim(a), f"{a.measured:.4g}", share, f"{a.delta:g}", f"{a.confidence:.0%}")
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
