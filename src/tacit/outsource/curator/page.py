"""The curator's page: what was published, under which guarantee, who asked what, what is left; and a stop button.

The service serves an empty page that asks for the curator's token and then, with it, for the study's parts.
`tacit report` writes the same parts to a file. The state is inside the trust boundary: without ``private`` no answer is
shown that carries no noise, and never a row's content, which the state does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tacit.charts.lines import trace
from tacit.errors import TacitError
from tacit.outsource.curator.state import Exchange, State
from tacit.outsource.curator.tables import studies
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.protocol.terms import Published
from tacit.page import Page, asset, figures, policy, table
from tacit.page.parts import guarantee_part, progress_part

PRIVATE = "PRIVATE: this page shows exact answers of private rows. Show it only to people who may see the rows"
SHOWN = "For the curator: names of modelers and numbers of rows. No row's content and no exact answer is on this page"
NOISY = (
    "For the curator: names of modelers and numbers of rows. Answers carry their noise, as the modelers were told them"
)
MOST = 500  # exchanges on a page, the latest
SCRIPT = asset("curator.js")
LOGIN = (
    '<h1>Curator</h1><p id="said" role="alert"></p><form id="login" hidden><label>Curator\'s token '
    '<input id="token" type="password" autocomplete="off"></label></form>'
)
STUDY = (
    '<div id="main" hidden><p><button id="stop" class="stop" type="button">Stop answering</button></p>'
    '<div id="parts"></div></div>'
)
FRAME = {"enter": LOGIN, "study": STUDY}
HTML = Page("tacit curator", FRAME, script=SCRIPT, over="tacit · outsourcing", asks=True).html()
HEADERS = {
    "Content-Security-Policy": policy([SCRIPT], connect=True),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Standing:
    """Where a study stands: its terms, how often each modeler asked, the latest exchanges, who may ask."""

    terms: Published
    used: Mapping[str, int]
    latest: Sequence[Exchange]  # oldest first
    stopped: str | None
    grants: Mapping[str, str]  # what a modeler's token is worth, in words
    answers: Mapping[int, float | None] = field(default_factory=dict)
    budget_left: str | None = None

    @classmethod
    def of_service(cls, status: dict[str, Any], grants: Mapping[str, str]) -> Standing:
        """From what a running curator says of itself, without answers."""
        latest = [Exchange(**e) for e in reversed(status["exchanges"])]
        left = status["budget_left"] or "no ledger counts this study"
        return cls(
            Published.from_json(status["terms"]), status["modelers"], latest, status["stopped"], grants, {}, left
        )

    @classmethod
    def of_folder(cls, folder: str | Path) -> Standing:
        """From a state folder, beside a running service or without one."""
        names = _study_names(folder)
        if not names:
            raise TacitError(f"nothing was published from {folder} yet")
        state = State(folder, names[0], hold=False)
        try:
            terms, stopped = state.terms(), state.stop_time()
            log, answers = state.load()
        finally:
            state.close()
        if terms is None:
            raise TacitError(f"nothing was published from {folder} yet; start tacit curator serve again to finish it")
        try:
            with Tokens(folder, name=names[0], environment="") as tokens:
                grants = {g.name: g.standing for g in tokens.grants()}
        except TacitError:
            grants = {}
        used = Counter(e.modeler for e in log)
        return cls(Published.from_json(terms), used, log, stopped, grants, answers)


def study_page(standing: Standing, *, private: bool = False) -> Page:
    """The page of a study; with ``private`` also the answers as they were given."""
    t, asked = standing.terms, sum(standing.used.values())
    noisy = t.answer_noise > 0
    shown = standing.answers if private or noisy else {}
    who = PRIVATE if private and not noisy else NOISY if noisy else SHOWN
    kind = "" if private and not noisy else " private"
    parts = {
        "head": f'<h1>An outsourced study</h1><p class="who{kind}">{escape(who)}.</p>',
        "progress": progress_part(asked, t.queries, "queries answered", _last(standing)),
        "published": f"<h2>What was published</h2>{_publication(t, standing.budget_left)}",
        "guarantee": guarantee_part(t.guarantee, "What the table guarantees"),
        "whole": guarantee_part(t.whole, "What table and answers guarantee together"),
        "modelers": f"<h2>Who may ask</h2>{_modelers(standing)}",
        "exchange": f"<h2>The exchange</h2>{_exchange(standing.latest, shown, t, asked)}",
    }
    return Page("tacit: an outsourced study", parts, over=f"tacit · outsourcing · study {t.study}")


def _study_names(folder: str | Path) -> list[str]:
    state = State(folder, "", hold=False)
    try:
        with state.reading() as c:
            return list(c.scalars(sa.select(studies.c.name).order_by(studies.c.created)))
    finally:
        state.close()


def _last(standing: Standing) -> str:
    last = f"The last was {_time(standing.latest[-1].time)}." if standing.latest else "Nobody asked yet."
    return f"Stopped since {_time(standing.stopped)}. {last}" if standing.stopped else last


def _time(stamp: str) -> str:
    return stamp[:19].replace("T", " ")


def _publication(t: Published, budget_left: str | None) -> str:
    noise, answers = (f"standard deviation {n:.4g}" if n else "none" for n in (t.noise, t.answer_noise))
    rows: list[tuple[str, Any]] = [("rows", t.rows), ("columns", t.columns), ("transformation", t.transform)]
    rows += [("noise on each number", noise), ("noise on each answer", answers)]
    rows += [("privacy budget left", budget_left)] if budget_left else []
    digest = f'<span class="hash">{escape(t.digest)}</span>'
    return f'{figures(rows)}<p class="soft">SHA-256 of the table: {digest}</p>'


def _modelers(standing: Standing) -> str:
    rows = []
    for name in dict.fromkeys([*standing.grants, *standing.used]):
        *words, last = standing.grants.get(name, "none").split()
        token = " ".join([*words, _time(last) if last[:1].isdigit() else last])
        rows.append([name, standing.used.get(name, 0), token])
    return table(["modeler", "queries", "token"], rows, words=("modeler", "token"))


def _exchange(log: Sequence[Exchange], answers: Mapping[int, float | None], t: Published, asked: int) -> str:
    if not log:
        return "<p>Nothing was asked yet.</p>"
    heads = ["number", "time", "modeler", "row"] + ["answer"] * bool(answers)
    rows = []
    for e in reversed(log[-MOST:]):
        given = [answers.get(e.row) if answers.get(e.row) is not None else "none"] if answers else []
        rows.append([e.number, _time(e.time), e.modeler, e.row, *given])
    more = f"<p>The latest {len(rows)} of {asked}.</p>" if asked > len(rows) else ""
    known = [v for e in log if (v := answers.get(e.row)) is not None]
    drawn = trace(known, t.answer_noise, None, what=("What was answered", "answer")) if known else ""
    return f"{drawn}{more}{table(heads, rows, words=('number', 'time', 'modeler'))}"
