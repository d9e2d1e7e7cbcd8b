"""The curator's page: what was published, under which guarantee, who asked what, what is left; and a stop button.

The service serves an empty page that asks for the curator's token and then, with it, for the study's parts.
`tacit report` writes the same parts to a file. The state is inside the trust boundary: without ``private`` no answer is
shown that carries no noise, and never a row's content, which the state does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from markupsafe import Markup

from tacit.charts.lines import trace
from tacit.errors import TacitError
from tacit.files import Json
from tacit.outsource.curator.state import Exchange, State
from tacit.outsource.curator.tables import studies
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.protocol.terms import Published
from tacit.page import Page, asset, policy, render_parts
from tacit.page.cover import Cover, Worth
from tacit.page.parts import guarantee_part

PRIVATE = "PRIVATE: this page shows exact answers of private rows. Show it only to people who may see the rows"
SHOWN = "For the curator: names of modelers and numbers of rows. No row's content and no exact answer is on this page"
NOISY = "For the curator: names of modelers and numbers of rows. Answers carry their noise, as the modelers got them"
MOST = 500  # exchanges on a page, the latest
SCRIPT = asset("curator.js")
HTML = Page(
    "tacit curator", render_parts("curator_login.html"), script=SCRIPT, over="tacit · outsourcing", asks=True
).html()
HEADERS = {
    "Content-Security-Policy": policy([SCRIPT], connect=True),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class StudyStatus:
    """Where a study stands: its terms, how often each modeler asked, the latest exchanges, who may ask."""

    terms: Published
    used: Mapping[str, int]
    latest: Sequence[Exchange]  # oldest first
    stopped: str | None
    grants: Mapping[str, str]  # what a modeler's token is worth, in words
    answers: Mapping[int, float | None] = field(default_factory=dict)
    budget_left: str | None = None

    @classmethod
    def of_service(cls, status: Json, grants: Mapping[str, str]) -> StudyStatus:
        """From what a running curator says of itself, without answers."""
        latest = [Exchange(**e) for e in reversed(status["exchanges"])]
        left = status["budget_left"] or "no ledger counts this study"
        return cls(
            Published.from_json(status["terms"]), status["modelers"], latest, status["stopped"], grants, {}, left
        )

    @classmethod
    def of_folder(cls, folder: str | Path) -> StudyStatus:
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


def study_page(study: StudyStatus, *, private: bool = False) -> Page:
    """The page of a study; with ``private`` also the answers as they were given."""
    t, asked = study.terms, sum(study.used.values())
    noisy = t.answer_noise > 0
    shown = study.answers if private or noisy else {}
    who = PRIVATE if private and not noisy else NOISY if noisy else SHOWN
    heads, rows = _exchange(study.latest, shown)
    known = [v for e in study.latest if (v := shown.get(e.row)) is not None]
    drawn = trace(known, t.answer_noise, None, what=("What was answered", "answer")) if known else ""
    parts = render_parts(
        "curator.html",
        cover=_cover(study, asked),
        who=who,
        hidden=not private or noisy,
        asked=asked,
        terms=t,
        last=_last(study),
        published=_publication(t, study.budget_left),
        guarantee=guarantee_part(t.guarantee, "What the table guarantees"),
        whole=guarantee_part(t.whole, "What table and answers guarantee together"),
        modelers=_modelers(study),
        trace=Markup(drawn),
        heads=heads,
        rows=rows,
    )
    return Page("tacit: an outsourced study", parts, over=f"tacit · outsourcing · study {t.study}")


EXPOSED = (
    "A change of a row by more than the unit above: several columns that move far, or all rows of one person.",
    "Answers that are given without noise, if the study gives such.",
    "Public facts: the number of rows and columns, their scale, and which rows were asked for.",
)


def _cover(study: StudyStatus, asked: int) -> Cover:
    t = study.terms
    scale = t.about.get("scale") or []
    released: list[tuple[str, Any]] = [("rows", t.rows), ("columns", t.columns), ("queries", f"{asked} of {t.queries}")]
    sizes = [f"column {k}: ± {t.noise * float(s):.3g}" for k, s in enumerate(scale, 1)]
    note = (
        f"Noise on each number, in the units of its column (standard deviation): {', '.join(sizes)}." if sizes else ""
    )
    verdict = Worth(None, "Not known from here: tacit curator try forecasts what a modeler can reach.")
    document = {"about": {"left": {"words": study.budget_left or ""}}, "digest": t.digest}
    return Cover("An outsourced study", released, verdict, t.whole, EXPOSED, document, note=note)


def _study_names(folder: str | Path) -> list[str]:
    state = State(folder, "", hold=False)
    try:
        with state.reading() as c:
            return list(c.scalars(sa.select(studies.c.name).order_by(studies.c.created)))
    finally:
        state.close()


def _last(study: StudyStatus) -> str:
    last = f"The last was {_time(study.latest[-1].time)}." if study.latest else "Nobody asked yet."
    return f"Stopped since {_time(study.stopped)}. {last}" if study.stopped else last


def _time(stamp: str) -> str:
    return stamp[:19].replace("T", " ")


def _publication(t: Published, budget_left: str | None) -> list[tuple[str, Any]]:
    noise, answers = (f"standard deviation {n:.4g}" if n else "none" for n in (t.noise, t.answer_noise))
    rows: list[tuple[str, Any]] = [("rows", t.rows), ("columns", t.columns), ("transformation", t.transform)]
    rows += [("noise on each number", noise), ("noise on each answer", answers)]
    return rows + ([("privacy budget left", budget_left)] if budget_left else [])


def _modelers(study: StudyStatus) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for name in dict.fromkeys([*study.grants, *study.used]):
        *words, last = study.grants.get(name, "none").split()
        token = " ".join([*words, _time(last) if last[:1].isdigit() else last])
        rows.append([name, study.used.get(name, 0), token])
    return rows


def _exchange(log: Sequence[Exchange], answers: Mapping[int, float | None]) -> tuple[list[str], list[list[Any]]]:
    """Heads and rows of the table of the latest exchanges."""
    heads = ["number", "time", "modeler", "row"] + ["answer"] * bool(answers)
    rows: list[list[Any]] = []
    for e in reversed(log[-MOST:]):
        given = [answers.get(e.row) if answers.get(e.row) is not None else "none"] if answers else []
        rows.append([e.number, _time(e.time), e.modeler, e.row, *given])
    return heads, rows
