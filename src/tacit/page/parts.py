"""Parts that several pages share: a guarantee in words, a ledger, where a release comes from."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jinja2 import UndefinedError
from markupsafe import Markup

from tacit.charts.bars import bar_of_parts
from tacit.charts.operating import operating
from tacit.errors import BadInput, TacitError
from tacit.files import Json
from tacit.page import render_parts, ui
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.operating import ALARMS, at_most
from tacit.privacy.origin import UNCHECKED
from tacit.privacy.release import digest, plain
from tacit.privacy.room import shares_used

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

RATES = [k / 100 for k in (0, 0.1, 0.3, 1, 2, 3, 5, 8, 12, *range(16, 100, 4), 99.9)]  # of false positives


def guarantee_part(guarantee: Guarantee, title: str = "Guarantee") -> Markup:
    """The class of a guarantee at a glance, its figures, what they mean in words and as an operating curve."""
    curve = ""
    if guarantee.budget is not None:
        here = guarantee.power()
        points = [*((rate, guarantee.power(rate)) for rate in RATES), (1.0, 1.0)]
        curve = operating(points, (ALARMS, here), f"{at_most(100 * here, 3)}%")
    return Markup(ui().guarantee(guarantee, title, Markup(curve)))


def find_changes(certificate: Json, ledger: Ledger | None = None) -> list[str]:
    """What a certificate says that cannot be as it was written; with the ledger at hand, that it did not pay for."""
    changes = []
    try:
        same = digest(certificate.get("value")) == certificate.get("digest")
    except (TacitError, TypeError, ValueError):
        same = False
    if not same:
        changes.append("the value is not the one whose digest it states")
    stated = certificate.get("guarantee")
    try:
        quoted = Guarantee.from_json(stated or {}).quoted() or (None, None)
        shown = [stated.get(name) for name in ("epsilon", "delta")] if isinstance(stated, dict) else []
        if not all(a == b or _near(a, b) for a, b in zip(shown, plain(list(quoted)), strict=True)):
            changes.append("the epsilon or delta that it shows is not that of its own guarantee")
    except (TacitError, TypeError, ValueError):
        changes.append("its guarantee cannot be read")
    payment = certificate.get("payment")
    if ledger is not None and isinstance(payment, dict) and payment.get("ledger") == ledger.id:
        verdict = ledger.verify_certificate(certificate)
        mine = ("chain", "ledger", "entry", "unit", "guarantee", "drawn")
        changes += [
            f"the ledger {ledger.name!r} says of its {n}: {why}"
            for n, ok, why in verdict.checks
            if n in mine and not ok
        ]
    return changes


def _near(a: Any, b: Any) -> bool:
    return isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=1e-6)


@contextmanager
def refuse_others(what: str) -> Iterator[None]:
    """Drawing of a document that anybody may have written: whatever it lacks, it is refused as no ``what``."""
    try:
        yield
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError, UndefinedError):
        raise BadInput(f"this {what}") from None


def origin_part(about: Any) -> Markup:
    """Of which data a release is, when and by what it was made: what a certificate says of it."""
    if not isinstance(about, dict):
        return Markup()
    data, left = (part if isinstance(part := about.get(k), dict) else {} for k in ("data", "left"))
    sizes = [f"{data[k]:,} {k}" for k in ("rows", "columns") if isinstance(data.get(k), int)]
    rows = [
        ("data", ", ".join([str(data["name"]), *sizes]) if data.get("name") else ""),
        ("predicts", data.get("target") or ""),
        ("with", data.get("use") or ""),
        ("made", f"{str(about.get('date', ''))[:16].replace('T', ' ')} UTC, by tacit {about.get('version', '')}"),
        ("command", Markup("<code>{}</code>").format(about["command"]) if about.get("command") else ""),
        ("ledger had left", left.get("words") or ""),
    ]
    note = Markup("<p>No ledger checks this part: {}.</p>").format(UNCHECKED)
    return Markup(ui().pairs([(k, v) for k, v in rows if v])) + note


EXPOSED = (
    "The rows that models were trained on: the released settings may tell of them, and a model fitted on them may "
    "reveal them.",
    "Public facts: the number of records, names of columns and classes, bounds, the space, and that this search took "
    "place.",
    "What is true of people in general: it can be learnt with or without any one record.",
)


def payment_part(payment: Json | None, ledger: Ledger | None = None, *, under_way: bool = False) -> Markup:
    """Who paid; with the ledger at hand also its budget, its charges and what is left.

    While the run is under way its own charge is not settled, which is as it should be.
    """
    shown = Markup(ui().payment(payment))
    if payment is None or ledger is None or ledger.id != payment["ledger"]:
        return shown
    return shown + ledger_parts(ledger, entry=int(payment["entry"]), under_way=under_way)["ledger"]


MOST_CHARGES = 5  # in the bar of a ledger; what came before them is one part
IDS = re.compile(r"\s?\b[0-9a-f]{16,}\b|\s?\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def read_purpose(purpose: str) -> str:
    """A purpose without the numbers that machines give to runs.

    >>> read_purpose("tune 79fc1843b9f74e4a8885d68fae276cda: 12 observations")
    'tune: 12 observations'
    """
    return IDS.sub("", purpose).strip() or purpose


def ledger_bar(ledger: Ledger) -> Markup:
    """How much of a ledger's budget its charges have used, in the currency in which they add up."""
    charges = [e for e in ledger.entries() if e.kind == "charge"]
    if not charges:
        return Markup()
    used = shares_used(ledger.filter, [e.cost for e in charges])
    shares = [(f"{e.number}. {read_purpose(e.purpose)}", share) for e, share in zip(charges, used, strict=True)]
    early = shares[:-MOST_CHARGES]
    if early:
        shares = [(f"{len(early)} earlier", sum(s for _, s in early)), *shares[-MOST_CHARGES:]]
    left = max(0.0, 1 - sum(s for _, s in shares))
    title = f"What the charges of {ledger.name!r} have used"
    return Markup(bar_of_parts(shares, f"left {100 * left:.3g}%", title=title))


STATES = {"drawn": "released", "debited, not drawn": "debited; no release recorded", "refused": "refused"}


def ledger_parts(ledger: Ledger, *, entry: int | None = None, under_way: bool = False) -> dict[str, Markup]:
    """A ledger's cover, and its budget and charges: amounts and purposes, nothing private. Marks one entry."""
    entries = ledger.entries()
    rows = []
    for e in entries:
        if e.kind != "drawn":
            amount = str(e.guarantee.budget) if e.guarantee else ""
            here = ", this run" if e.number == entry else ""
            state = "debited, under way" if here and under_way and not e.drawn else STATES.get(e.status, e.status)
            rows.append([f"{e.number}{here}", ui().time(e.time), amount, state, read_purpose(e.purpose)])
    return render_parts(
        "ledger.html",
        ledger=ledger,
        charges=[e for e in entries if e.kind == "charge"],
        spent=str(ledger.spent().budget) if entries else "nothing",
        last=entries[-1].hash if entries else "",
        composes=ledger.filter.composition != "basic",
        bar=ledger_bar(ledger),
        rows=rows,
    )
