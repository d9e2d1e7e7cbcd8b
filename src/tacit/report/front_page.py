"""The page of one or several fronts: move epsilon along the front, read what it buys. One HTML file, no request.

It opens offline, works by keyboard, prints, reads in the dark, and says first who may see it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from tacit.errors import BadInput
from tacit.pareto.compare import Comparison
from tacit.pareto.drawing import BELOW, HEIGHT, LEFT, RIGHT, TOP, WIDTH, axes_of, draw
from tacit.pareto.front import Front
from tacit.privacy.release import plain
from tacit.report.front_parts import SCRIPT, STYLE

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def write(fronts: Front | Comparison | Sequence[Front], path: str | Path, *, mixed: bool = False) -> Path:
    """Write the page and return its path."""
    target = Path(path)
    text = page(fronts, mixed=mixed)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}") from None
    return target


def page(fronts: Front | Comparison | Sequence[Front], *, mixed: bool = False) -> str:
    """The page as HTML. Fronts of different kinds of epsilon are refused unless ``mixed=True``."""
    if isinstance(fronts, Comparison):
        both = fronts
    else:
        both = Comparison([fronts] if isinstance(fronts, Front) else list(fronts), mixed=mixed)
    names = ", ".join(f.name for f in both.fronts)
    parts = [
        f"<h1>What epsilon buys: {escape(names)}</h1>",
        f'<p class="who{" private" * both.private}">{escape(_sentence(both.audience))}</p>',
        "".join(f"<p>{escape(f.name)}: {escape(str(f.guarantee))}</p>" for f in both.fronts if f.private),
        draw(both.fronts, show="utility").svg,
        '<div class="box screen"><label for="epsilon">Move epsilon: at most <output id="shown"></output></label>',
        '<input type="range" id="epsilon" min="0" max="1000" value="500">',
        '<div id="answer" class="wide" aria-live="polite"></div></div>',
        _kinds(both),
        '<h2>The front</h2><p><button id="copy">Copy the table</button> <button id="png">Save the drawing (PNG)'
        '</button></p><div class="wide"><table id="all">',
        *_rows(both),
        "</table></div>",
        _failed(both),
    ]
    data = f'<script type="application/json" id="data">{_embedded(_data(both))}</script>'
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    head += f"<title>{'' if both.private else 'NOT PRIVATE: '}front of {escape(names)}</title><style>{STYLE}</style>"
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n{data}\n'
        f"<script>{SCRIPT}</script>\n</body></html>\n"
    )


def _data(both: Comparison) -> dict[str, Any]:
    axes = axes_of(both.fronts, "utility")
    paper = {"left": LEFT, "width": WIDTH - LEFT - RIGHT, "top": TOP, "floor": HEIGHT - BELOW}
    fronts = []
    for front in both.fronts:
        points = [{k: v for k, v in p.to_json().items() if k != "runs"} for p in front.points]
        fronts.append({"name": front.name, "points": points})
    return plain({"low": axes.low, "high": axes.high, **paper, "audience": both.audience, "fronts": fronts})  # type: ignore[no-any-return]


def _embedded(document: Any) -> str:
    """JSON that cannot end its script element."""
    return json.dumps(document).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _rows(both: Comparison) -> list[str]:
    names = list(dict.fromkeys(n for f in both.fronts for p in f.points for n in p.params))
    heads = ["algorithm", "epsilon", "utility", "worst run", "best run", *names, "delta", "epsilon is for"]
    rows = ["<tr>" + "".join(f'<th scope="col">{escape(h)}</th>' for h in heads) + "</tr>"]
    for i, front in enumerate(both.fronts):
        for j, p in enumerate(front.points):
            cells = [p.epsilon, p.utility, p.worst, p.best, *(p.params.get(n, "") for n in names), front.delta]
            numbers = "".join(f'<td class="n">{escape(_number(c))}</td>' for c in cells)
            name, label = escape(front.name), escape(front.label)
            rows.append(f'<tr id="p{i}-{j}"><td>{name}</td>{numbers}<td>{label}</td></tr>')
    return rows


def _kinds(both: Comparison) -> str:
    kinds = list(dict.fromkeys(f"{f.label}, delta = {f.delta:g}" for f in both.fronts))
    if len(kinds) == 1:
        return f'<p class="soft">Epsilon: {escape(kinds[0])}. Bands run from the worst to the best run.</p>'
    listed = "".join(f"<li>{escape(f.name)}: {escape(f.label)}, delta = {f.delta:g}</li>" for f in both.fronts)
    return f"<p>These epsilons are different quantities and cannot be compared by size:</p><ul>{listed}</ul>"


def _failed(both: Comparison) -> str:
    lost = [(f.name, len(f.failed)) for f in both.fronts if f.failed]
    if not lost:
        return ""
    return "<p>" + "; ".join(f"{escape(name)}: {n} points failed twice and are left out" for name, n in lost) + ".</p>"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
