"""The page of an outsourced study, from the curator's state: what was published, who asked what, what it guarantees.

The state is inside the trust boundary. Without ``private`` the page shows no answer that carries no noise, and never a
row's content, which the state does not hold.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tacit.charts.lines import trace
from tacit.errors import BadInput, TacitError
from tacit.outsource.curator.state import Exchange, State
from tacit.outsource.curator.tables import studies
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.protocol.terms import Published
from tacit.page import Page, figures, table
from tacit.report.parts import guarantee_part, progress_part

PRIVATE = "PRIVATE: this page shows exact answers of private rows. Show it only to people who may see the rows"
SHOWN = "For the curator: names of modelers and numbers of rows. No row's content and no exact answer is on this page"
NOISY = (
    "For the curator: names of modelers and numbers of rows. Answers carry their noise, as the modelers were told them"
)
MOST = 500  # exchanges on a page, the latest


def page(folder: str | Path, *, private: bool = False) -> Page:
    """The page of the study in a state folder; with ``private`` also the answers as they were given."""
    names = _names(folder)
    if not names:
        raise TacitError(f"nothing was published from {folder} yet")
    kept = State(folder, names[0], hold=False)
    try:
        terms = kept.terms()
        log, answers = kept.load()
        stopped = kept.stopped()
    finally:
        kept.close()
    if terms is None:
        raise TacitError(f"nothing was published from {folder} yet; start tacit curator serve again to finish it")
    t = Published.from_json(terms)
    noisy = t.answer_noise > 0
    shown = answers if private or noisy else {}
    who = PRIVATE if private and not noisy else NOISY if noisy else SHOWN
    kind = "" if private and not noisy else " private"
    parts = {
        "head": f'<h1>An outsourced study</h1><p class="who{kind}">{escape(who)}.</p>',
        "progress": progress_part(len(log), t.queries, "queries answered", _state(stopped, log)),
        "published": f"<h2>What was published</h2>{_published(t)}",
        "guarantee": guarantee_part(t.guarantee, "What the table guarantees"),
        "whole": guarantee_part(t.whole, "What table and answers guarantee together"),
        "modelers": f"<h2>Who may ask</h2>{_modelers(Path(folder), log)}",
        "exchange": f"<h2>The exchange</h2>{_exchange(log, shown, t)}",
    }
    return Page("tacit: an outsourced study", parts, over=f"tacit · outsourcing · study {t.study}")


def _names(folder: str | Path) -> list[str]:
    looking = State(folder, "", hold=False)
    try:
        with looking.reading() as c:
            return list(c.scalars(sa.select(studies.c.name).order_by(studies.c.created)))
    finally:
        looking.close()


def _state(stopped: str | None, log: list[Exchange]) -> str:
    last = f"The last was {_time(log[-1].time)}." if log else "Nobody asked yet."
    return f"Stopped since {_time(stopped)}. {last}" if stopped else last


def _time(stamp: str) -> str:
    return stamp[:19].replace("T", " ")


def _published(t: Published) -> str:
    noise = f"standard deviation {t.noise:.4g}" if t.noise else "none"
    answers = f"standard deviation {t.answer_noise:.4g}" if t.answer_noise else "none"
    rows: list[tuple[str, Any]] = [("rows", t.rows), ("columns", t.columns), ("transformation", t.transform)]
    rows += [("noise on each number", noise), ("noise on each answer", answers)]
    digest = f'<span class="hash">{escape(t.digest)}</span>'
    return f'{figures(rows)}<p class="soft">SHA-256 of the table: {digest}</p>'


def _modelers(folder: Path, log: list[Exchange]) -> str:
    used = Counter(e.modeler for e in log)
    try:
        granted = {g.name: g.revoked for g in Tokens(folder / "tokens.json", environment="").grants()}
    except (OSError, ValueError, BadInput):
        granted = {}
    rows = []
    for name in dict.fromkeys([*granted, *used]):
        revoked = granted.get(name)
        rows.append(
            [name, used[name], f"revoked {_time(revoked)}" if revoked else "may ask" if name in granted else "none"]
        )
    return table(["modeler", "queries", "token"], rows, words=("modeler", "token"))


def _exchange(log: list[Exchange], answers: dict[int, float | None], t: Published) -> str:
    if not log:
        return "<p>Nothing was asked yet.</p>"
    heads = ["number", "time", "modeler", "row"] + ["answer"] * bool(answers)
    rows = []
    for e in reversed(log[-MOST:]):
        told = [answers.get(e.row) if answers.get(e.row) is not None else "none"] if answers else []
        rows.append([e.number, _time(e.time), e.modeler, e.row, *told])
    more = f"<p>The latest {MOST} of {len(log)}.</p>" if len(log) > MOST else ""
    known = [v for e in log if (v := answers.get(e.row)) is not None]
    drawn = trace(known, t.answer_noise, None, what=("What was answered", "answer")) if known else ""
    return f"{drawn}{more}{table(heads, rows, words=('number', 'time', 'modeler'))}"
