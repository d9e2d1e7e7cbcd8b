"""The report of a tuning run: the release, its guarantee in words, the noisy trace, and who paid."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tacit.charts.lines import falling_line, spark, trace
from tacit.data.metrics.reading import clip_interval
from tacit.errors import article
from tacit.files import Json
from tacit.methods.tune import read_release
from tacit.methods.tuned import Tuned
from tacit.page import Page, number, render_parts
from tacit.page.cover import UNKNOWN, Cover, Worth, compare_with_baseline, format_interval
from tacit.page.parts import EXPOSED, find_changes, guarantee_part, origin_part, payment_part, refuse_others
from tacit.privacy.guarantee import Guarantee
from tacit.report.pages.slices import slices_part
from tacit.space import Params

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

MOST_ROWS = 40  # parameters of a path that are drawn


def write(folder: str | Path) -> Path:
    """Write report.html beside the certificate of a finished run and return its path."""
    return page(read_release(folder)).write(Path(folder) / "report.html")


def page(certificate: Json, *, ledger: Ledger | None = None) -> Page:
    """The report of a certificate. Everything in it was released; the ledger adds amounts and purposes."""
    with refuse_others("certificate is not of a tuning run"):
        return _page(certificate, ledger)


def _page(certificate: Json, ledger: Ledger | None) -> Page:
    value, guarantee = Tuned.from_json(certificate["value"]), Guarantee.from_json(certificate["guarantee"])
    about, details = certificate.get("about"), value.details
    title = _title(value, about)
    expected = details.get("outlook", {}).get("sentence")
    observations = observations_part(value.trials, value.noise or 0.0, value) if value.trials else ""
    parts = render_parts(
        "tuned.html",
        cover=_cover(value, title, guarantee, certificate, ledger),
        guarantee=guarantee_part(guarantee),
        observations=observations,
        path=_path(details, value.params) if details.get("path") else None,
        hidden=str(details.get("search", "Its observations are private and are not shown")),
        theory=[*([str(expected)] if expected else []), *(str(u["sentence"]) for u in details.get("utility", []))],
        paid=payment_part(certificate.get("payment"), ledger),
        origin=origin_part(about),
        certificate=certificate,
    )
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


def _cover(value: Tuned, title: str, guarantee: Guarantee, certificate: Json, ledger: Ledger | None) -> Cover:
    intervals, rows = value.intervals(), list[tuple[str, Any]]()
    reading, score = value.reading, value.score
    half_width = intervals[-1][1] if intervals else None
    if score is not None:
        rows.append((value.metric, format_interval(score, value.interval)))
    verdict = UNKNOWN if score is not None else Worth(None, "Not known: no score was paid for.")
    if reading is not None and reading.baseline is not None and score is not None:
        off = reading.baseline_reach
        ends = clip_interval(reading.baseline, off, reading.possible) if off else None
        rows.append(("without a model", format_interval(reading.baseline, ends)))
        verdict = compare_with_baseline(
            (score, half_width or 0.0), (reading.baseline, off), higher=reading.higher, of=reading.baseline_of
        )
    rows += [(name, number(v, 5)) for name, v in value.params.items()]
    widths = "; ".join(f"± {wide:.2g} {what}" for what, wide in intervals)
    note = f"The {'mean loss' if reading is not None else 'score'} was {value.direction}d.".replace("ized", "ised")
    note += f" At 95%: {widths}." if widths else ""
    note += f" {value.metric}: {reading.about}." if reading is not None and reading.about else ""
    return Cover(title, rows, verdict, guarantee, EXPOSED, certificate, find_changes(certificate, ledger), note)


def observations_part(trials: list[Json], noise: float, value: Tuned | None = None, *, total: int = 0) -> Markup:
    """Released observations in order, and against each parameter: drawn, and in a table.

    Args:
        trials: Parameters and noisy values.
        noise: The standard deviation of one observation.
        value: The release; None while the run is under way.
        total: How many observations there will be.
    """
    chosen = [value is not None and t["params"] == value.params for t in trials]
    reading = value.reading if value else None
    score = value.score if value else None
    wide = value.intervals()[0][1] if value and value.intervals() else None
    losses = [float(t["value"]) for t in trials]
    seen = [reading.read(v) for v in losses] if reading else losses
    middle = sorted(losses)[len(losses) // 2]
    far = reading.reach(middle, 1.96 * noise) / 1.96 if reading else noise
    base, label = (reading.baseline, reading.name) if reading else (None, "score")
    names = list(trials[0]["params"])
    parts = render_parts(
        "observations.html",
        trace=Markup(trace(seen, far, score, chosen=chosen, half_width=wide, baseline=base, label=label, total=total)),
        count=len(trials),
        noise=far,
        chosen=any(chosen),
        score=str(value.details.get("score", "the model of all observations")) if value and score is not None else "",
        baseline=base,
        slices=slices_part(
            trials, noise, value.params if value else None, reading.read if reading else float, label, base
        ),
        heads=["trial", *names, f"noisy {label}"],
        rows=[
            [i, *(number(t["params"].get(n), 5) for n in names), number(v, 5)]
            for i, (t, v) in enumerate(zip(trials, seen, strict=True), 1)
        ],
    )
    return parts["observations"]


@dataclass(frozen=True)
class PathView:
    """The way that noisy gradients led, parameter by parameter, and how far the surrogate can be off."""

    start: int
    starts: int
    steps: int
    noise: float
    lost: int
    rows: list[list[Any]]
    rest: int
    bias: float | None
    curve: Markup


def _path(details: Json, params: Params) -> PathView:
    which = details.get("chosen_start", 0)
    points, bias = details["path"][which], details.get("bias_trace", [])
    rows: list[list[Any]] = []
    for name in list(points[0])[:MOST_ROWS]:
        along = [p[name] for p in points]
        numbers = all(isinstance(v, (int, float)) for v in along)
        rows.append([name, number(along[0]), number(params[name]), Markup(spark(along) if numbers else "")])
    curve, traces = Markup(), bias[which] if bias else []
    if traces and max(traces) > min(traces) * 1.001:
        curve = Markup(falling_line(traces, "Posterior variance of the gradient after each step", "step"))
    return PathView(
        start=which + 1,
        starts=len(details["path"]),
        steps=len(points) - 1,
        noise=details.get("noise_scale", 0.0),
        lost=details.get("lost_steps") or 0,
        rows=rows,
        rest=len(points[0]) - len(rows),
        bias=traces[0] if traces else None,
        curve=curve,
    )
