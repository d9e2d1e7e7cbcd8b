"""The report of a private training: the model, its score, what it cost and what it would have cost otherwise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tacit.charts.bars import BROAD, NARROW, Pair, pairs_of_bars
from tacit.data.metrics.reading import ANYTHING, clip_interval
from tacit.files import Json
from tacit.methods.tune import read_release
from tacit.page import Page, number, render_parts
from tacit.page.cover import UNKNOWN, Cover, compare_with_baseline, format_interval
from tacit.page.parts import find_changes, guarantee_part, origin_part, payment_part, refuse_others
from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

EXPOSED = (
    "Public facts: the number of records or persons, names of columns, what a schema declares, and that the training "
    "took place.",
    "How long the training took, its log and the models that were not released: the guarantee assumes that they stay "
    "secret.",
    "What is true of people in general: it can be learnt with or without any one record.",
)


def write(folder: str | Path) -> Path:
    """Write report.html beside the certificate of a finished training and return its path."""
    return page(read_release(folder)).write(Path(folder) / "report.html")


def page(certificate: Json, *, ledger: Ledger | None = None) -> Page:
    """The report of a certificate. Everything in it was released."""
    with refuse_others("certificate is not of a training"):
        value, guarantee = certificate["value"], Guarantee.from_json(certificate["guarantee"])
        about, details = certificate.get("about"), value["details"]
        title = _title(value, about)
        parts = render_parts(
            "trained.html",
            cover=_cover(value, title, guarantee, certificate, ledger),
            details=details,
            of=str(details.get("of", "rows")),
            noise=1.96 * value["deviation"],
            sampling=1.96 * value["sampling"],
            guarantee=guarantee_part(guarantee),
            chart=_chart(details, guarantee),
            origin=origin_part(about),
            paid=payment_part(certificate.get("payment"), ledger),
            certificate=certificate,
        )
    day = str(about.get("date", ""))[:10] if isinstance(about, dict) else ""
    over = " · ".join(["tacit", "private training", *([day] if day else [])])
    return Page(f"tacit: {title}, trained privately", parts, over=over)


def _title(value: Json, about: Any) -> str:
    """Data set, model and target, as far as the certificate says them."""
    data = about.get("data") if isinstance(about, dict) else None
    if not isinstance(data, dict) or not data.get("name"):
        return str(value["trainer"]).capitalize()
    of = f" of {data['target']}" if data.get("target") else ""
    return f"{data['name']}: {value['trainer']}{of}"


def _cover(value: Json, title: str, guarantee: Guarantee, certificate: Json, ledger: Ledger | None) -> Cover:
    half_width = 1.96 * float(value["deviation"] ** 2 + value["sampling"] ** 2) ** 0.5
    details, metric, score = value["details"], str(value["metric"]), float(value["score"])
    known = metric in ("accuracy", "auc")  # certificates of earlier releases do not say what their metric is like
    unit, higher = (bool(details.get(name, known)) for name in ("unit", "higher"))
    possible = (0.0, 1.0) if unit else (0.0, math.inf) if "interval" in value else ANYTHING
    rows: list[tuple[str, Any]] = [(metric, format_interval(score, clip_interval(score, half_width, possible)))]
    verdict = UNKNOWN
    if "baseline" in details:
        baseline = float(details["baseline"]), 1.96 * float(details.get("baseline_deviation", 0.0))
        rows.append(
            (
                "without the model",
                format_interval(baseline[0], clip_interval(*baseline, possible) if baseline[1] else None),
            )
        )
        verdict = compare_with_baseline(
            (score, half_width), baseline, higher=higher, of=str(details.get("baseline_of", ""))
        )
    rows += [(name, number(v, 4)) for name, v in value["params"].items()]
    exposed = EXPOSED if guarantee.assumptions else (EXPOSED[0], EXPOSED[2])  # one run hides nothing
    return Cover(title, rows, verdict, guarantee, exposed, certificate, find_changes(certificate, ledger))


def _chart(details: Json, guarantee: Guarantee) -> Markup:
    quoted, others = guarantee.quoted(), details.get("epsilons", {})
    if quoted is None or not others:
        return Markup()
    bars = [
        Pair(name, float(epsilon), quoted[0], (f"{float(epsilon):.3g}", f"{quoted[0]:.3g} charged"))
        for name, epsilon in others.items()
    ]
    title = "Epsilon of the search, by other ways of counting"
    return Markup("".join(pairs_of_bars(bars, width, title=title) for width in (BROAD, NARROW)))
