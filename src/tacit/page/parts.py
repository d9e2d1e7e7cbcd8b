"""Parts that several pages share: a guarantee in words, a ledger, a run's progress."""

from __future__ import annotations

import math
import re
from html import escape
from typing import TYPE_CHECKING, Any

from tacit.charts.bars import bar_of_parts
from tacit.charts.operating import operating
from tacit.errors import TacitError
from tacit.page import Html, figures, number, pairs, prose, table
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.operating import ALARMS, at_most
from tacit.privacy.release import digest, plain

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger


def guarantee_part(guarantee: Guarantee, title: str = "Guarantee") -> str:
    """The class of a guarantee at a glance, its figures, and what they mean in words."""
    kind = guarantee.kind
    shown = f'<h2>{escape(title)}</h2><p><span class="kind {kind}">{kind}</span></p>'
    quoted = guarantee.quoted()
    if quoted is not None:
        rows = [("epsilon", quoted[0]), ("delta", quoted[1] or "0"), ("protects", guarantee.unit)]
        shown += figures(rows)
    shown += f"<p>{prose(str(guarantee))}</p>"
    for told, listed in (("It assumes", guarantee.assumptions), ("Your code must see to it that", guarantee.premises)):
        if listed:
            shown += f"<p>{told}:</p><ul>{''.join(f'<li>{escape(a)}</li>' for a in listed)}</ul>"
    if guarantee.budget is not None:
        places = [k / 100 for k in (0, 0.1, 0.3, 1, 2, 3, 5, 8, 12, *range(16, 100, 4), 99.9)]
        curve = [(a, guarantee.power(a)) for a in places]
        here = guarantee.power()
        shown += f"<figure>{operating([*curve, (1.0, 1.0)], (ALARMS, here), f'{at_most(100 * here, 3)}%')}"
        told = "How often an attacker who accepts so many false alarms is right, at most."
        shown += f"<figcaption>{told}</figcaption></figure>"
    return shown


def find_changes(certificate: dict[str, Any], ledger: Ledger | None = None) -> list[str]:
    """What a certificate says that cannot be as it was written; with the ledger at hand, that it did not pay for."""
    found = []
    try:
        same = digest(certificate.get("value")) == certificate.get("digest")
    except (TacitError, TypeError, ValueError):
        same = False
    if not same:
        found.append("the value is not the one whose digest it states")
    stated = certificate.get("guarantee")
    try:
        quoted = Guarantee.from_json(stated or {}).quoted() or (None, None)
        shown = [stated.get(name) for name in ("epsilon", "delta")] if isinstance(stated, dict) else []
        if not all(a == b or _near(a, b) for a, b in zip(shown, plain(list(quoted)), strict=True)):
            found.append("the epsilon or delta that it shows is not that of its own guarantee")
    except (TacitError, TypeError, ValueError):
        found.append("its guarantee cannot be read")
    payment = certificate.get("payment")
    if ledger is not None and isinstance(payment, dict) and payment.get("ledger") == ledger.id:
        verdict = ledger.verify_certificate(certificate)
        mine = ("chain", "entry", "guarantee", "drawn")
        found += [
            f"the ledger {ledger.name!r} says of its {n}: {why}"
            for n, ok, why in verdict.checks
            if n in mine and not ok
        ]
    return found


def _near(a: Any, b: Any) -> bool:
    return isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=1e-6)


def changes_part(certificate: dict[str, Any], ledger: Ledger | None = None) -> str:
    """A warning above everything else, where a certificate is not what was written."""
    found = find_changes(certificate, ledger)
    if not found:
        return ""
    listed = "".join(f"<li>{escape(f)}</li>" for f in found)
    told = "Do not rely on anything on this page: this certificate was changed after it was written"
    return f'<div class="who"><p>{told}.</p><ul>{listed}</ul></div>'


def origin_part(about: Any) -> str:
    """Of which data a release is, when and by what it was made: what a certificate says of it."""
    if not isinstance(about, dict):
        return ""
    data, left = (found if isinstance(found := about.get(k), dict) else {} for k in ("data", "left"))
    sizes = [f"{data[k]:,} {k}" for k in ("rows", "columns") if isinstance(data.get(k), int)]
    rows = [
        ("data", ", ".join([str(data["name"]), *sizes]) if data.get("name") else ""),
        ("predicts", data.get("target") or ""),
        ("with", data.get("use") or ""),
        ("made", f"{str(about.get('date', ''))[:16].replace('T', ' ')} UTC, by tacit {about.get('version', '')}"),
        ("command", Html(f"<code>{escape(str(about['command']))}</code>") if about.get("command") else ""),
        ("ledger had left", left.get("words") or ""),
    ]
    return pairs([(k, v) for k, v in rows if v])


EXPOSED = (
    "What the models were trained on: whoever sees the released settings may learn of those rows, and a model fitted "
    "on them may reveal them",
    "How many records there are, names of columns and of classes, bounds, the space, and that this search took place",
    "What is true of people in general: a conclusion about everybody can be drawn with or without any one record",
)


def exposure_part(listed: tuple[str, ...] = EXPOSED) -> str:
    """What a guarantee does not cover."""
    return f"<h2>Not protected</h2><ul>{''.join(f'<li>{escape(t)}.</li>' for t in listed)}</ul>"


def signature_part() -> str:
    """On paper alone: where somebody who answers for the data signs."""
    lines = "".join(
        f"<div><span></span><small>{what}</small></div>" for what in ("name and office", "place and date", "signature")
    )
    return f'<p>Seen and approved for release:</p><div class="sign">{lines}</div>'


def payment_part(payment: dict[str, Any] | None, ledger: Ledger | None = None, *, under_way: bool = False) -> str:
    """Who paid; with the ledger at hand also its budget, its charges and what is left.

    While the run is under way its own charge is not settled, which is as it should be.
    """
    if payment is None:
        why = "Nobody: this release was not charged to a ledger. Nothing counts it together with other releases."
        return f"<h2>Who paid</h2><p>{why}</p>"
    hashed = Html(f'<span class="hash">{escape(str(payment["hash"]))}</span>')
    rows = [("ledger", str(payment["name"])), ("entry", str(payment["entry"])), ("hash", hashed)]
    check = "<code>tacit verify certificate.json --ledger URL</code>"
    shown = f'<h2>Who paid</h2>{pairs(rows)}<p class="soft">Check it with {check}</p>'
    if ledger is None or ledger.id != payment["ledger"]:
        return shown
    return shown + ledger_part(ledger, entry=int(payment["entry"]), under_way=under_way)


MOST_CHARGES = 5  # in the bar of a ledger; what came before them is one part
IDS = re.compile(r"\s?\b[0-9a-f]{16,}\b|\s?\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def read_purpose(purpose: str) -> str:
    """A purpose without the numbers that machines give to runs.

    >>> read_purpose("tune 79fc1843b9f74e4a8885d68fae276cda: 12 observations")
    'tune: 12 observations'
    """
    return IDS.sub("", purpose).strip() or purpose


def ledger_bar(ledger: Ledger) -> str:
    """How much of a ledger's budget its charges have used, in the currency in which they add up."""
    charges, whole = [e for e in ledger.entries() if e.kind == "charge"], ledger.filter.capacity
    if not charges or not whole.amount:
        return ""
    shares = [(f"{e.number}. {read_purpose(e.purpose)}", e.cost.amount / whole.amount) for e in charges]
    early = shares[:-MOST_CHARGES]
    if early:
        shares = [(f"{len(early)} earlier", sum(s for _, s in early)), *shares[-MOST_CHARGES:]]
    left = max(0.0, 1 - sum(s for _, s in shares))
    return bar_of_parts(shares, f"left {100 * left:.3g}%", title=f"What the charges of {ledger.name!r} have used")


STATES = {"drawn": "released", "debited, not drawn": "debited; no release recorded", "refused": "refused"}


def ledger_part(ledger: Ledger, *, entry: int | None = None, under_way: bool = False) -> str:
    """A ledger's budget and charges: amounts and purposes, nothing private. Marks one entry."""
    entries = ledger.entries()
    spent = str(ledger.filter.to_budget(entries[-1].spent)) if entries else "nothing"
    shown = figures([("budget", str(ledger.budget)), ("spent", spent), ("left", str(ledger.remaining()))])
    if ledger.filter.composition != "basic":
        shown += '<p class="soft">Amounts are composed, not added: spent and left need not sum to the budget.</p>'
    shown += ledger_bar(ledger)
    rows = []
    for e in entries:
        if e.kind != "drawn":
            stated = str(e.guarantee.budget) if e.guarantee else ""
            here = ", this run" if e.number == entry else ""
            state = "debited, under way" if here and under_way and not e.drawn else STATES.get(e.status, e.status)
            time = Html(f"{escape(e.time[:10])}<br>{escape(e.time[11:19])}")
            rows.append([f"{e.number}{here}", time, stated, state, read_purpose(e.purpose)])
    heads = ["entry", "time", "amount", "state", "purpose"]
    about = f"<p>{escape(ledger.description)}</p>" if ledger.description else ""
    return (
        f"<h2>The ledger ‘{escape(ledger.name)}’</h2>{about}{shown}{table(heads, rows, words=heads, long=['purpose'])}"
    )


def progress_part(done: int, total: int, what: str, state: str) -> str:
    """How far a run is, as a bar and in words."""
    most = max(total, 1)
    words = f"{done} of {total} {what}"
    return (
        f'<p><label for="bar">{escape(words)}</label></p><progress id="bar" max="{most}" value="{min(done, most)}">'
        f'{number(100 * done / most, 3)}%</progress><p class="soft">{escape(state)}</p>'
    )
