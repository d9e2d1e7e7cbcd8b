"""The report of a private training: the model, its score, what it cost and what it would have cost otherwise."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.charts.bars import BROAD, NARROW, Pair, pairs_of_bars
from tacit.errors import BadInput
from tacit.methods.tune import read_release
from tacit.page import Page, figures, number
from tacit.page.parts import (
    changes_part,
    exposure_part,
    guarantee_part,
    origin_part,
    payment_part,
    signature_part,
)
from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

EXPOSED = (
    "How many records or persons there are, names of columns, what a schema declares, and that the training took place",
    "How long the training took, its log and the models that were not released: the guarantee presupposes that they "
    "stay secret",
    "What is true of people in general: a conclusion about everybody can be drawn with or without any one record",
)


def write(folder: str | Path) -> Path:
    """Write report.html beside the certificate of a finished training and return its path."""
    return page(read_release(folder)).write(Path(folder) / "report.html")


def page(certificate: dict[str, Any], *, ledger: Ledger | None = None) -> Page:
    """The report of a certificate. Everything in it was released."""
    try:
        value, guarantee = certificate["value"], Guarantee.from_json(certificate["guarantee"])
        about = certificate.get("about")
        title = _title(value, about)
        parts = {
            "release": changes_part(certificate, ledger) + _release(value, title),
            "guarantee": guarantee_part(guarantee),
            "exposed": exposure_part(EXPOSED),
            "search": _search(value["details"], guarantee),
            "origin": origin_part(about),
            "paid": payment_part(certificate.get("payment"), ledger),
            "certificate": "<details><summary>Certificate</summary>"
            f"<pre>{escape(json.dumps(certificate, indent=1))}</pre></details>",
            "sign": signature_part(),
        }
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, ValueError):
        raise BadInput("this certificate is not of a training") from None
    day = str(about.get("date", ""))[:10] if isinstance(about, dict) else ""
    over = " · ".join(["tacit", "private training", *([day] if day else [])])
    return Page(f"tacit: {title}, trained privately", parts, over=over)


def _title(value: dict[str, Any], about: Any) -> str:
    """Data set, model and target, as far as the certificate says them."""
    data = about.get("data") if isinstance(about, dict) else None
    if not isinstance(data, dict) or not data.get("name"):
        return str(value["trainer"])
    of = f" of {data['target']}" if data.get("target") else ""
    return f"{data['name']}: {value['trainer']}{of}"


def _release(value: dict[str, Any], title: str) -> str:
    noise, sampling = 1.96 * value["deviation"], 1.96 * value["sampling"]
    both = (noise**2 + sampling**2) ** 0.5
    rows: list[tuple[str, Any]] = [(value["metric"], f"{value['score']:.4g} ± {both:.2g} (95%)")]
    details = value["details"]
    if "baseline" in details:
        off = 1.96 * details.get("baseline_deviation", 0.0)
        rows.append(("without the model", f"{details['baseline']:.4g}{f' ± {off:.2g} (95%)' if off else ''}"))
    rows += [(name, number(v, 4)) for name, v in value["params"].items()]
    base = f" Without the model: {escape(str(details['baseline_of']))}." if "baseline" in details else ""
    of = escape(str(details.get("of", "rows")))
    return (
        f"<h1>{escape(title[0].upper() + title[1:] if title == value['trainer'] else title)}</h1>{figures(rows)}"
        f'<p class="soft">The score is the mean over {details["test"]} test {of} that no step before saw: '
        f"± {noise:.2g} of it is noise for privacy, ± {sampling:.2g} is there because they are a sample.{base} "
        f"{details['records']} {of} trained. The model is in <code>model.joblib</code>, its numbers "
        f"in <code>model.json</code> where it has that form; their digest is in the certificate.</p>"
    )


def _search(details: dict[str, Any], guarantee: Guarantee) -> str:
    quoted = guarantee.quoted()
    others = details.get("epsilons", {})
    if quoted is None or not others:
        return ""
    bars = [
        Pair(name, float(epsilon), quoted[0], (f"{float(epsilon):.3g}", f"{quoted[0]:.3g} charged"))
        for name, epsilon in others.items()
    ]
    title = "Epsilon of the search, by other ways of counting"
    drawn = "".join(pairs_of_bars(bars, width, title=title) for width in (BROAD, NARROW))
    return (
        f"<h2>What the search cost</h2>{drawn}"
        f'<p class="soft">About {details["expected_runs"]:.0f} models were trained and the best one kept; how many '
        "exactly is secret. Hollow bars: the epsilon, at the same delta, that the same search would cost if each model "
        "were paid for (composition), or by the best published bound on Renyi divergences. Filled: what was charged."
        "</p>"
    )
