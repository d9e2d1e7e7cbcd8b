"""The page of one or several audits: claimed against measured, as a picture, as a table, in words."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tacit.audit.game import Audit
from tacit.charts.bars import BROAD, NARROW, Pair, pairs_of_bars
from tacit.errors import BadInput
from tacit.files import Json
from tacit.page import Page, render_parts
from tacit.page.parts import refuse_others


def page(documents: Sequence[Json]) -> Page:
    """The page of audits as ``Audit.to_json`` tells them."""
    audits = [_audit(d) for d in documents]
    if not audits:
        raise BadInput("a page of audits needs at least one")
    broken, one = [a.name for a in audits if a.verdict == "BROKEN"], audits[0]
    head = f"{one.name}: {one.verdict}" if len(audits) == 1 else f"{len(audits)} audits, {len(broken)} broken"
    chart = Markup(_chart(audits, BROAD) + _chart(audits, NARROW))
    parts = render_parts(
        "audit.html", head=head, broken=broken, audits=audits, chart=chart, heads=HEADS, rows=_rows(audits)
    )
    return Page(f"tacit: {head}", parts, over="tacit · audit")


def write(audit: Audit, out: Path) -> list[Path]:
    """Write audit.json, audit.html and audit.svg into a folder."""
    document = audit.to_json()
    contents = {"json": json.dumps(document, indent=1), "html": page([document]).html()}
    contents["svg"] = _chart([audit], BROAD, alone=True)
    for ending, content in contents.items():
        (out / f"audit.{ending}").write_text(content + "\n", encoding="utf-8")
    return [out / f"audit.{ending}" for ending in contents]


def _audit(document: Json) -> Audit:
    with refuse_others("is not an audit as tacit audit writes it"):
        audit = Audit.from_json(document)
        audit.sentences()
        return audit


def _chart(audits: Sequence[Audit], width: int, *, alone: bool = False) -> str:
    rows = []
    for a in audits:
        broken = a.verdict == "BROKEN"
        beside = f"claimed {_format_claim(a)}", f"measured ≥ {a.measured:.3g}{', BROKEN' * broken}"
        rows.append(Pair(a.name, a.claimed if math.isfinite(a.claimed) else None, a.measured, beside, broken))
    return pairs_of_bars(rows, width, title="Claimed and measured epsilon", alone=alone)


def _format_claim(audit: Audit) -> str:
    return f"{audit.claimed:.3g}" if math.isfinite(audit.claimed) else "nothing"


HEADS = ["audit", "verdict", "claimed epsilon", "measured, at least", "share", "at delta", "confidence", "runs"]


def _rows(audits: Sequence[Audit]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for a in audits:
        share = "" if a.tightness is None else f"{a.tightness:.0%}"
        amounts = (_format_claim(a), f"{a.measured:.4g}", share, f"{a.delta:g}", f"{a.confidence:.0%}")
        rows.append((a.name, a.verdict, *amounts, a.runs))
    return rows


def attack_page(document: Json) -> Page:
    """The page of the known-row attack, as ``tacit audit outsource --json`` tells it."""
    heads = ["transformation", "rows known", "given back", "typical error", "guarantee"]
    with refuse_others("is not an attack as tacit audit outsource writes it"):
        rows = [
            [a["transform"], int(a["known"]), f"{a['share']:.0%}", float(a["median_error"]), a["guarantee"]]
            for a in document["attack"]
        ]
        size = f"{int(document['rows'])} rows of {int(document['columns'])} columns"
    parts = render_parts("attack.html", size=size, heads=heads, rows=rows)
    return Page("tacit: the known-row attack", parts, over="tacit · audit")
