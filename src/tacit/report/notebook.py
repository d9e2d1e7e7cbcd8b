"""Releases, plans, fronts and ledgers in a notebook: the charts and words of their pages, without scripts."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from tacit.methods.registry import METHODS, load
from tacit.page import STYLE
from tacit.page.parts import guarantee_part, ledger_parts, payment_part
from tacit.pareto.front import Front
from tacit.planning.plan import Plan
from tacit.privacy.ledger import Ledger
from tacit.privacy.release import Release

LEFT_OUT = ("ask", "certificate")  # parts that need a script, paper or room


def draw(thing: Any) -> str:
    """HTML for a cell's output; what a value is shown to, it was released to."""
    if isinstance(thing, Release):
        return wrap(_release(thing))
    if isinstance(thing, Front):
        from tacit.report.pages.front import page

        return wrap(_parts(page(thing).parts))
    if isinstance(thing, Ledger):
        return wrap(ledger_parts(thing)["ledger"])
    if isinstance(thing, Plan):
        return wrap(
            f"{thing.picture()}<details open><summary>All methods</summary><pre>{escape(str(thing))}</pre></details>"
        )
    return f"<pre>{escape(str(thing))}</pre>"


def _release(release: Release[Any]) -> str:
    certificate = release.certificate()
    value = certificate["value"]
    method = METHODS.get(str(value.get("method"))) if isinstance(value, dict) else None
    if isinstance(value, dict) and "trainer" in value:
        return _parts(load("tacit.report.pages.trained:page")(certificate).parts)
    if method is not None:
        return _parts(load(method.page)(certificate).parts)
    shown = f"<pre>{escape(str(release).partition(chr(10) + 'Guarantee')[0])}</pre>"
    return shown + guarantee_part(release.guarantee) + payment_part(certificate["payment"])


def _parts(parts: Any) -> str:
    whole = "".join(f"<section>{html}</section>" for name, html in parts.items() if name not in LEFT_OUT)
    return re.sub(r'<p class="screen">.*?</p>', "", whole)


def wrap(inside: str) -> str:
    """With the style of the pages, for this output alone."""
    own = STYLE.partition("@media print")[0].replace(":root", "&").replace("body {", "& {")
    return f'<div class="tacit"><style>.tacit {{ {own} }}</style>{inside}</div>'
