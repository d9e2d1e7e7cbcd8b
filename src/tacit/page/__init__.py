"""The frame and the look of every page: one HTML file that asks for nothing, reads in the dark, prints, fits a phone.

Colours are those of Okabe and Ito, told apart by every kind of colour vision; nothing is said by colour alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit.files import write_file


def asset(name: str) -> str:
    """A style or script that is part of every page that needs it."""
    return files("tacit").joinpath("assets", name).read_text(encoding="utf-8")


STYLE = asset("page.css")
_NUMBER = r"[-+]?\d[\d.]*(?:e[-+]\d+)?"
NUMBERS = re.compile(rf"\w+ = {_NUMBER}(?:, \w+ = {_NUMBER})*|± {_NUMBER}|{_NUMBER[:-1]}")  # powers break at their sign
SHORT = 24  # letters of a figure that stays on one line


@dataclass(frozen=True)
class Page:
    """A page in named parts, so that one part can change while somebody reads another.

    ``parts`` are HTML, by the id of their section; whoever makes them escapes what they show. ``data`` is for
    ``script`` to read. A page without a script holds none.
    """

    title: str
    parts: Mapping[str, str]
    script: str = ""
    data: Any = None
    over: str = "tacit"
    asks: bool = False  # its script makes requests to where it came from

    def html(self, *, live: str = "", home: str = "") -> str:
        """The page as one file. With ``live``, an address beside it, it asks there for what changed.

        ``home`` is the address of the page that lists it.
        """
        from tacit import __version__

        scripts = [s for s in (self.script, asset("live.js") if live else "") if s]
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        rules = policy(scripts, connect=bool(live) or self.asks, framed=False)
        head += f'<meta http-equiv="Content-Security-Policy" content="{rules}"><title>{escape(self.title)}</title>'
        head += f'<meta name="live" content="{escape(live)}">' if live else ""
        back = f'<a class="screen" href="{escape(home)}">all runs</a> · ' if home else ""
        body = [
            f'<p class="over">{back}{escape(self.over)}</p>',
            '<p id="live" role="status" class="who screen"></p>' * bool(live),
        ]
        for name, html in self.parts.items():
            body.append(f'<section id="{escape(name)}" data-mark="{_short(html)}">{html}</section>')
        body.append(f"<footer>Made by tacit {escape(__version__)}.</footer>")
        if self.data is not None:
            body.append(f'<script type="application/json" id="data">{embed_json(self.data)}</script>')
        text = "\n".join([*body, *(f"<script>{s}</script>" for s in scripts)])
        start = f'<body data-shape="{self.shape}">' if live else "<body>"
        head += f"<style>{STYLE}</style>"
        return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n{start}\n{text}\n</body></html>\n'

    @property
    def shape(self) -> str:
        """What a page cannot change while it is read: which parts it has and what it does."""
        return _short(json.dumps([list(self.parts), self.script]))

    def to_json(self) -> dict[str, Any]:
        """What a page that is being read asks for: its parts, each with a mark that tells whether it changed."""
        parts = {name: [_short(html), html] for name, html in self.parts.items()}
        document = {"shape": self.shape, "title": self.title, "parts": parts, "data": self.data}
        return {**document, "mark": _short(json.dumps(document))}

    def write(self, path: str | Path) -> Path:
        """Write the page and return its path."""
        return write_file(path, self.html())


def policy(scripts: Iterable[str], *, connect: bool = False, framed: bool = True) -> str:
    """A content security policy: this style, these scripts, and nothing from anywhere."""
    words = " ".join(_hash_for_policy(s) for s in scripts) or "'none'"
    rules = ["default-src 'none'", f"script-src {words}", f"style-src {_hash_for_policy(STYLE)}", "img-src data:"]
    rules += ["base-uri 'none'", "form-action 'none'"] + ["connect-src 'self'"] * connect
    return "; ".join(rules + ["frame-ancestors 'none'"] * framed)  # a header only: a meta element may not say it


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _hash_for_policy(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def embed_json(document: Any) -> str:
    """JSON that cannot end its script element."""
    return json.dumps(document).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def number(value: Any, digits: int = 4) -> str:
    """A value as a person reads it."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    name: str = "",
    words: Sequence[str] = (),
    long: Sequence[str] = (),
) -> str:
    """A table of values; columns named in ``words`` are text, the others stand to the right; ``long`` ones may wrap.

    >>> table(["a"], [[0.5]]).count('<td class="n">0.5</td>')
    1
    """
    side = [' class="long"' if h in long else "" if h in words else ' class="n"' for h in heads]
    head = "".join(f'<th scope="col"{s}>{escape(h)}</th>' for h, s in zip(heads, side, strict=True))
    body = []
    for k, row in enumerate(rows):
        cells = "".join(f"<td{s}>{cell(c)}</td>" for c, s in zip(row, side, strict=True))
        body.append(f'<tr id="{name}-{k}">{cells}</tr>' if name else f"<tr>{cells}</tr>")
    own = f' id="{name}"' if name else ""
    return f'<div class="wide"><table{own}><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


@dataclass(frozen=True)
class Html:
    """Text that is HTML already."""

    text: str


def cell(value: Any) -> str:
    return value.text if isinstance(value, Html) else prose(number(value))


def prose(text: str) -> str:
    """Text as HTML in which no number breaks across lines, nor what it is the value of.

    >>> prose("epsilon = 1, delta = 1e-06 & more")
    '<span class="nobreak">epsilon = 1, delta = 1e-06</span> &amp; more'
    """
    return NUMBERS.sub(r'<span class="nobreak">\g<0></span>', escape(text))


def pairs(rows: Iterable[tuple[str, Any]]) -> str:
    """Names and values, one below the other."""
    cells = "".join(f'<tr><th scope="row">{escape(k)}</th><td class="n">{cell(v)}</td></tr>' for k, v in rows)
    return f"<table>{cells}</table>"


def figures(rows: Iterable[tuple[str, Any]]) -> str:
    """A few numbers, large; none is broken across lines.

    >>> 'class="nobreak"' in figures([("score", "0.29 ± 0.02 (95%)")])
    True
    """
    cells = "".join(f"<div><dt>{escape(k)}</dt>{_figure(v)}</div>" for k, v in rows)
    return f'<dl class="figures">{cells}</dl>'


def _figure(value: Any) -> str:
    short = not isinstance(value, str) or (len(value) <= SHORT and any(c.isdigit() for c in value))
    if isinstance(value, Html) or not short:
        return f"<dd>{cell(value)}</dd>"
    return f'<dd class="nobreak">{escape(number(value))}</dd>'
