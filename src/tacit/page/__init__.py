"""The frame and the look of every page: one HTML file that asks for nothing, reads in the dark, prints, fits a phone.

Pages are Jinja2 templates with automatic escaping: a block of a template is a named part of its page. Macros that
several templates share are in ``ui.html``. Colours are those of Okabe and Ito, which every kind of colour vision can
tell apart; nothing is said by colour alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tacit.files import Json, write_file
from tacit.privacy.operating import at_most


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

    Attributes:
        title: Of the document.
        parts: HTML by the id of its section, as ``render_parts`` makes it.
        script: The page's program; a page without one holds none.
        data: What the script reads.
        over: The line above the page.
        asks: Whether the script makes requests to where the page came from.
    """

    title: str
    parts: Mapping[str, str]
    script: str = ""
    data: Any = None
    over: str = "tacit"
    asks: bool = False

    def html(self, *, live: str = "", home: str = "") -> str:
        """The page as one file.

        Args:
            live: An address beside the page, which it asks for what changed.
            home: The address of the page that lists it.
        """
        from tacit import __version__

        scripts = [s for s in (self.script, asset("live.js") if live else "") if s]
        rules = policy(scripts, connect=bool(live) or self.asks, framed=False)
        return (
            environment()
            .get_template("frame.html")
            .render(
                page=self,
                live=live,
                home=home,
                policy=Markup(rules),
                style=Markup(STYLE),
                scripts=[Markup(s) for s in scripts],
                data=None if self.data is None else Markup(embed_json(self.data)),
                version=__version__,
            )
        )

    @property
    def shape(self) -> str:
        """What a page cannot change while it is read: which parts it has and what it does."""
        return short_hash(json.dumps([list(self.parts), self.script]))

    def to_json(self) -> Json:
        """What a page that is being read asks for: its parts, each with a mark that tells whether it changed."""
        parts = {name: [short_hash(html), html] for name, html in self.parts.items()}
        document = {"shape": self.shape, "title": self.title, "parts": parts, "data": self.data}
        return {**document, "mark": short_hash(json.dumps(document))}

    def write(self, path: str | Path) -> Path:
        """Write the page and return its path."""
        return write_file(path, self.html())


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Jinja2 with automatic escaping; a name that a template lacks is an error, not an empty text."""
    jinja = Environment(
        loader=PackageLoader("tacit", "page/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {"number": number, "prose": prose, "cell": cell, "short_hash": short_hash, "breaks": breaks}
    jinja.filters |= {"name_unit": name_unit, "at_most": at_most, "mapping": mapping}
    jinja.filters["indented_json"] = lambda document: json.dumps(document, indent=1)
    jinja.globals["ui"] = jinja.get_template("ui.html").module
    return jinja


def ui() -> Any:
    """The macros that templates share, to be called from Python: ``ui().table(...)`` returns Markup."""
    return environment().globals["ui"]


def render_parts(template: str, **values: Any) -> dict[str, Markup]:
    """The blocks of a template, in its order, as the parts of a page; blocks without content are left out."""
    loaded = environment().get_template(template)
    context = loaded.new_context(values)
    parts = {name: Markup("".join(block(context)).strip()) for name, block in loaded.blocks.items()}
    return {name: html for name, html in parts.items() if html}


def policy(scripts: Iterable[str], *, connect: bool = False, framed: bool = True) -> str:
    """A content security policy: this style, these scripts, and nothing from anywhere."""
    words = " ".join(_hash_for_policy(s) for s in scripts) or "'none'"
    rules = ["default-src 'none'", f"script-src {words}", f"style-src {_hash_for_policy(STYLE)}", "img-src data:"]
    rules += ["base-uri 'none'", "form-action 'none'"] + ["connect-src 'self'"] * connect
    return "; ".join(rules + ["frame-ancestors 'none'"] * framed)  # a header only: a meta element may not say it


def short_hash(text: str) -> str:
    """Twelve letters that differ where texts differ."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _hash_for_policy(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def embed_json(document: Any) -> str:
    """JSON that cannot end its script element."""
    return json.dumps(document).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def number(value: Any, digits: int = 4) -> str:
    """A value as a person reads it."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def cell(value: Any) -> Markup:
    """A value in a table: Markup as it is, text and numbers escaped."""
    return value if isinstance(value, Markup) else prose(number(value))


def prose(text: str) -> Markup:
    """Text as HTML in which no number breaks across lines, nor what it is the value of.

    >>> prose("epsilon = 1, delta = 1e-06 & more")
    Markup('<span class="nobreak">epsilon = 1, delta = 1e-06</span> &amp; more')
    """
    return Markup(NUMBERS.sub(r'<span class="nobreak">\g<0></span>', str(escape(text))))


def mapping(value: Any) -> Mapping[str, Any]:
    """The value, or nothing where it is no mapping: a certificate may be anybody's."""
    return value if isinstance(value, Mapping) else {}


def name_unit(unit: str) -> str:
    """What a privacy unit protects, as the subject of a sentence.

    >>> name_unit("one validation record replaced"), name_unit("one row moved by norm 1")
    ('Every validation record', 'This change of the data: one row moved by norm 1')
    """
    match = re.fullmatch(r"one (.+?) replaced(.*)", unit)
    return f"Every {match[1]}{match[2]}" if match else f"This change of the data: {unit}"


def breaks(value: Any) -> bool:
    """Whether a figure may break across lines: Markup, long text, and text without a number may."""
    if isinstance(value, Markup):
        return True
    return isinstance(value, str) and not (len(value) <= SHORT and any(c.isdigit() for c in value))
