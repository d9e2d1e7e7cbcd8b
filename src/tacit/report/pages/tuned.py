"""The report of a tuning run: the release, its guarantee in words, the noisy trace, and who paid."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.charts.lines import falling_line, spark, trace
from tacit.errors import BadInput, article
from tacit.methods.tune import read_release
from tacit.methods.tuned import Tuned
from tacit.page import Html, Page, figures, number, pairs, prose, table
from tacit.page.parts import changes_part, exposure_part, guarantee_part, origin_part, payment_part, signature_part
from tacit.privacy.guarantee import Guarantee
from tacit.report.pages.slices import slices_part

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

MOST_ROWS = 40  # parameters of a path that are drawn


def write(folder: str | Path) -> Path:
    """Write report.html beside the certificate of a finished run and return its path."""
    return page(read_release(folder)).write(Path(folder) / "report.html")


def page(certificate: dict[str, Any], *, ledger: Ledger | None = None) -> Page:
    """The report of a certificate. Everything in it was released; the ledger adds amounts and purposes."""
    try:
        return _page(certificate, ledger)
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        raise BadInput("this certificate is not of a tuning run") from None


def _page(certificate: dict[str, Any], ledger: Ledger | None) -> Page:
    value, guarantee = Tuned.from_json(certificate["value"]), Guarantee.from_json(certificate["guarantee"])
    about = certificate.get("about")
    title = _title(value, about)
    parts = {
        "release": changes_part(certificate, ledger) + _release(value, title, about),
        "guarantee": guarantee_part(guarantee),
        "exposed": exposure_part(),
        "search": _search(value),
        "paid": payment_part(certificate.get("payment"), ledger),
        "certificate": "<details><summary>Certificate</summary>"
        f"<pre>{escape(json.dumps(certificate, indent=1))}</pre></details>",
        "sign": signature_part(),
    }
    day = str(about.get("date", ""))[:10] if isinstance(about, dict) else ""
    over = " · ".join(["tacit", f"{article(value.method)} {value.method} release", *([day] if day else [])])
    return Page(f"tacit: {title}", parts, over=over)


def _title(value: Tuned, about: Any) -> str:
    """Data set, model, metric and date, as far as the certificate says them."""
    data = about.get("data") if isinstance(about, dict) else None
    if not isinstance(data, dict) or not data.get("name"):
        return "What was released"
    model = re.match(r"model (\w+)", str(data.get("use") or ""))
    what = f"{model[1]} model of {data['target']}" if model and data.get("target") else f"settings by {value.metric}"
    return f"{data['name']}: {what}"


def _release(value: Tuned, title: str, about: Any) -> str:
    rows: list[tuple[str, Any]] = []
    if value.score is not None and value.metric_score is not None:
        wide = value.metric_intervals()
        bar = f" ± {wide[0][1]:.2g}" if wide else ""
        rows.append((f"{value.metric}{' (95%)' * bool(bar)}", f"{value.metric_score:.4g}{bar}"))
    if value.reading is not None and value.reading.baseline is not None:
        rows.append(("without a model", number(value.reading.baseline)))
    rows += [(name, number(v, 5)) for name, v in value.params.items()]
    shown = f"<h1>{escape(title)}</h1>"
    aim = f"{value.direction}d".replace("ized", "ised")
    shown += figures(rows) if len(rows) <= 8 else f'<div class="box">{pairs(rows)}</div>'
    none = " No score was paid for, so none is released." if value.score is None else ""
    told = "; ".join(f"± {wide:.2g} {what}" for what, wide in value.metric_intervals())
    at = f" At 95%: {told}." if len(value.intervals()) > 1 else ""
    read = f" {value.metric}: {value.reading.about}." if value.reading is not None and value.reading.about else ""
    loss = "The mean loss" if value.reading is not None else "The score"
    return shown + f'<p class="soft">{prose(f"{loss} was {aim}.{none}{at}{read}")}</p>{origin_part(about)}'


def _search(value: Tuned) -> str:
    details = value.details
    shown = "<h2>The search</h2>"
    if value.trials:
        shown += observations_part(value.trials, value.noise or 0.0, value)
    if details.get("path"):
        shown += _path(details, value.params)
    elif not value.trials:
        shown += f"<p>{escape(str(details.get('search', 'Its observations are private and are not shown')))}.</p>"
    told = [str(u["sentence"]) for u in details.get("utility", [])]
    outlook = details.get("outlook", {}).get("sentence")
    if told or outlook:
        listed = "".join(f"<li>{escape(t)}</li>" for t in [*([str(outlook)] if outlook else []), *told])
        shown += f"<p>What theory says of the release:</p><ul>{listed}</ul>"
    return shown


def observations_part(trials: list[dict[str, Any]], noise: float, value: Tuned | None = None, *, total: int = 0) -> str:
    """Released observations in order, and against each parameter: drawn, and in a table.

    While a run goes on there is no ``value`` yet, and ``total`` is how many there will be.
    """
    chosen = [value is not None and t["params"] == value.params for t in trials]
    reading = value.reading if value else None
    score = value.metric_score if value else None
    wide = value.metric_intervals()[0][1] if value and value.metric_intervals() else None
    losses = [float(t["value"]) for t in trials]
    seen = [reading.read(v) for v in losses] if reading else losses
    middle = sorted(losses)[len(losses) // 2]
    far = reading.reach(middle, 1.96 * noise) / 1.96 if reading else noise
    base, label = (reading.baseline, reading.name) if reading else (None, "score")
    drawn = trace(seen, far, score, chosen=chosen, half_width=wide, baseline=base, label=label, total=total)
    note = f", each with noise of standard deviation {far:.2g}" if noise else ""
    marks = " Diamonds are observations of the released parameters." if any(chosen) else ""
    if value and score is not None:
        marks += (
            f" The dashed line is the released score: {value.details.get('score', 'the model of all observations')}."
        )
    marks += " The dotted line is what is reached without a model." if base is not None else ""
    panels = slices_part(
        trials, noise, value.params if value else None, reading.read if reading else float, label, base
    )
    names = list(trials[0]["params"])
    rows = [
        [i, *(number(t["params"].get(n), 5) for n in names), number(v, 5)]
        for i, (t, v) in enumerate(zip(trials, seen, strict=True), 1)
    ]
    listed = table(["trial", *names, f"noisy {label}"], rows)
    return (
        f'{drawn}<p class="soft">{len(trials)} observations{note}: all are released.{prose(marks)}</p>'
        f"{panels}<details><summary>All observations</summary>{listed}</details>"
    )


def _path(details: dict[str, Any], params: dict[str, Any]) -> str:
    """The way that noisy gradients led, parameter by parameter, and how far the surrogate can be off."""
    which = details.get("chosen_start", 0)
    points, traces = details["path"][which], details.get("bias_trace", [])
    many = f"Start {which + 1} of {len(details['path'])} is shown. " if len(details["path"]) > 1 else ""
    lost = f" {details['lost_steps']} gradients were lost in interrupted runs." if details.get("lost_steps") else ""
    rows = []
    for name in list(points[0])[:MOST_ROWS]:
        along = [p[name] for p in points]
        numbers = all(isinstance(v, (int, float)) for v in along)
        rows.append([name, number(along[0]), number(params[name]), Html(spark(along) if numbers else "")])
    rest = len(points[0]) - len(rows)
    more = f"<p>and {rest} more parameters, all in the certificate.</p>" if rest > 0 else ""
    steps = len(points) - 1
    shown = (
        f"<p>{many}{steps} steps along released gradients, each with noise of standard deviation "
        f"{number(details.get('noise_scale', 0.0), 3)} per coordinate.{lost}</p>"
        f"{table(['parameter', 'start', 'released', 'on the way'], rows, words=['parameter', 'on the way'])}{more}"
    )
    if traces and traces[which]:
        shown += f"<h2>How far the surrogate may be off</h2>{_bias(traces[which])}"
    return shown


def _bias(traces: list[float]) -> str:
    about = "the trace of the gradient's posterior covariance, known without data"
    if max(traces) <= min(traces) * 1.001:
        return f"<p>{number(traces[0])} after every step: {about}.</p>"
    drawn = falling_line(traces, "Posterior variance of the gradient after each step", "step")
    return f'{drawn}<p class="soft">{about[0].upper()}{about[1:]}.</p>'
