"""The report of a tuning run: one HTML file that opens offline, prints, and reads well on a phone or in the dark."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from tacit.errors import BadInput
from tacit.privacy.guarantee import Guarantee
from tacit.report.trace import trace
from tacit.tuning import read_release

STYLE = """
:root { color-scheme: light dark; --ink: #1a1c20; --soft: #5b6270; --page: #fff; --box: #f4f5f7; --mark: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --soft: #9aa3b2; --page: #14161a; --box: #1f2329; --mark: #6db3f8; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.kind { display: inline-block; padding: .1rem .6rem; border: 2px solid; border-radius: 1rem; font-weight: 600; }
section.box { background: var(--box); padding: .8rem 1.2rem; border-radius: .5rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .25rem .6rem .25rem 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } .wide { overflow-x: auto; }
tr + tr > * { border-top: 1px solid color-mix(in srgb, var(--soft) 30%, transparent); }
svg { width: 100%; height: auto; } .soft { color: var(--soft); } pre { overflow-x: auto; font-size: .8rem; }
summary { cursor: pointer; } :focus-visible { outline: 3px solid var(--mark); }
@media print { body { margin: 0; max-width: none; } details { display: none; } section.box { border: 1px solid #999; } }
"""


def write(folder: str | Path) -> Path:
    """Write report.html beside the certificate of a finished run and return its path."""
    target = Path(folder) / "report.html"
    text = page(read_release(folder))
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}") from None
    return target


def page(certificate: dict[str, Any]) -> str:
    """The report of a certificate as HTML. Everything in it was released."""
    try:
        return _page(certificate)
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        raise BadInput("this certificate is not of a tuning run") from None


def _page(certificate: dict[str, Any]) -> str:
    value, guarantee = certificate["value"], Guarantee.from_json(certificate["guarantee"])
    rows = [(name, _number(v)) for name, v in value["params"].items()]
    if value["score"] is not None:
        bar = f" ± {1.96 * value['deviation']:.2g} (95%)" if value["deviation"] is not None else ""
        rows.append(("score", f"{value['score']:.4g}{bar}"))
    parts = [
        "<h1>What was released</h1>",
        f'<section class="box">{_table(rows)}</section>',
        "<h2>What is guaranteed</h2>",
        f'<p><span class="kind">{guarantee.kind}</span></p><p>{escape(str(guarantee))}</p>',
        _assumptions(guarantee),
        _observations(value),
        "<h2>Who paid</h2>",
        _payment(certificate.get("payment")),
        "<details><summary>Certificate</summary>",
        f"<pre>{escape(json.dumps(certificate, indent=1))}</pre></details>",
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    title = f"<title>tacit: a {escape(str(value['method']))} release</title>"
    head = f"<head>{head}{title}<style>{STYLE}</style></head>"
    return "\n".join(['<!doctype html>\n<html lang="en">', head, "<body>", *parts, "</body></html>\n"])


def _observations(value: dict[str, Any]) -> str:
    trials = value["trials"]
    if not trials:
        return "<h2>The search</h2><p>Its observations are private and are not shown.</p>"
    names = list(trials[0]["params"])
    header = "".join(f'<th class="n" scope="col">{escape(n)}</th>' for n in ["trial", *names, "noisy score"])
    lines = []
    for i, trial in enumerate(trials, 1):
        cells = [str(i), *(_number(trial["params"].get(n)) for n in names), _number(trial["value"])]
        lines.append("<tr>" + "".join(f'<td class="n">{escape(c)}</td>' for c in cells) + "</tr>")
    note = f"each with noise of standard deviation {value['noise']:.2g}" if value["noise"] else ""
    how = escape(str(value["details"].get("score", "the model of all observations")))
    return (
        f"<h2>The search</h2>{trace([t['value'] for t in trials], value['noise'] or 0.0, value['score'])}"
        f'<p class="soft">{len(trials)} observations, {note}: all are released. The score above is {how}.</p>'
        f"<details><summary>All observations</summary>"
        f'<div class="wide"><table><tr>{header}</tr>{"".join(lines)}</table></div></details>'
    )


def _assumptions(guarantee: Guarantee) -> str:
    if not guarantee.assumptions:
        return ""
    return "<p>It assumes:</p><ul>" + "".join(f"<li>{escape(a)}</li>" for a in guarantee.assumptions) + "</ul>"


def _payment(payment: dict[str, Any] | None) -> str:
    if payment is None:
        return (
            "<p>Nobody: this release was not charged to a ledger. Nothing counts it together with other releases.</p>"
        )
    rows = [("ledger", str(payment["name"])), ("entry", str(payment["entry"])), ("hash", str(payment["hash"]))]
    return f'{_table(rows)}<p class="soft">Check it with <code>tacit verify certificate.json --ledger URL</code></p>'


def _table(rows: list[tuple[str, str]]) -> str:
    cells = "".join(f'<tr><th scope="row">{escape(k)}</th><td class="n">{escape(v)}</td></tr>' for k, v in rows)
    return f'<div class="wide"><table>{cells}</table></div>'


def _number(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
