"""Which page a subject has; and what to say of a run that is not finished."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tacit.errors import BadInput, TacitError
from tacit.methods.registry import METHODS, load
from tacit.page import Page
from tacit.page.parts import ledger_parts
from tacit.report.pages import audit as audit_page
from tacit.report.pages import front as front_page
from tacit.report.pages import under_way
from tacit.report.study_file import read_study
from tacit.report.subjects import UNFINISHED, Subject

if TYPE_CHECKING:
    from tacit.pareto.front import Front
    from tacit.privacy.ledger import Ledger

AGAIN = "Run the same command again to go on: nothing is drawn or paid twice."
COMMANDS = {"search": "tune", "descent": "tune", "discovery": "pareto", "auditing": "audit"}


def page_of(subject: Subject, *, private: bool = False, ledger: str | None = None) -> Page:
    """The page of one thing. ``private`` adds exact answers and exact values where there are any.

    ``ledger`` is where the ledger of a run is kept; without it, one beside the run is looked for.
    """
    if subject.kind == "release":
        return _release_page(subject, ledger)
    if subject.kind == "front":
        return front_page.page(_front(subject), certificate=subject.certificate)
    if subject.kind == "audit":
        return audit_page.page(subject.document)
    if subject.kind == "attack":
        return audit_page.attack_page(subject.document)
    if subject.kind == "curator":
        from tacit.outsource.curator.page import StudyStatus, study_page

        return study_page(StudyStatus.of_folder(subject.path), private=private)
    if subject.kind == "ledger":
        return ledger_page(subject.document or str(subject.path))
    return unfinished_page(subject, private=private, ledger=ledger)


def _release_page(subject: Subject, ledger: str | None) -> Page:
    """A certificate on the page that the registry names for its method."""
    value, payment = subject.document.get("value"), subject.document.get("payment")
    method = METHODS.get(str(value.get("method"))) if isinstance(value, dict) else None
    trained = isinstance(value, dict) and "trainer" in value
    draw = load("tacit.report.pages.trained:page" if trained else (method or METHODS["observed"]).page)
    page: Page = draw(subject.document, ledger=ledger_of(payment, subject.folder, ledger))
    return page


def unfinished_page(subject: Subject, *, private: bool = False, ledger: str | None = None) -> Page:
    """The page of a run under way."""

    def paying(payment: Any) -> Ledger | None:
        return ledger_of(payment, subject.path, ledger)

    if subject.kind == "descent":
        page: Page = load(METHODS[subject.document].live_page)(subject.path, paying, again=AGAIN)
        return page
    if subject.kind == "auditing":
        return under_way.auditing_page(subject.path)
    study = read_study(subject.path / "study.db")
    if subject.kind == "search":
        return under_way.search_page(study, paying, again=AGAIN)
    if subject.kind == "discovery":
        return under_way.discovery_page(study, private=private, again=AGAIN)
    return under_way.study_page(study, private=private)


def joint_page(subjects: Sequence[Subject], *, private: bool = False, ledger: str | None = None) -> Page:
    """One page of one or several finished things: several must be fronts, or audits."""
    for f in subjects:
        if f.kind in UNFINISHED:
            raise TacitError(explain_unfinished(f))
    if len(subjects) == 1:
        return page_of(subjects[0], private=private, ledger=ledger)
    kinds = {f.kind for f in subjects}
    if kinds == {"front"}:
        return front_page.page(_rename_alike([(f, _front(f)) for f in subjects]), mixed=True)
    if kinds == {"audit"}:
        return audit_page.page([d for f in subjects for d in f.document])
    raise BadInput(f"several folders make one page if all are fronts or all are audits, got {', '.join(sorted(kinds))}")


def explain_unfinished(subject: Subject) -> str:
    """What is there of a run that was not finished, and how to go on."""
    if subject.kind == "study":
        return f"{subject.path} holds an Optuna study that was not privately observed; there is nothing to report"
    page = unfinished_page(subject)
    how_far = progress_words(page.parts["progress"])
    what = COMMANDS[subject.kind]
    return (
        f"the run in {subject.path} is not finished: {how_far}. Run the same tacit {what} command again to go on; what "
        f"is there is used. To watch it: tacit dashboard {subject.path}"
    )


def ledger_page(url: str) -> Page:
    """The page of a ledger, or of all ledgers in a file: amounts and purposes, nothing private."""
    from tacit.privacy.ledger import Ledger

    names = Ledger.names(url)
    if not names:
        raise BadInput(f"there is no ledger in {url}")
    parts: dict[str, Markup] = {}
    for k, one in enumerate(names):
        with Ledger.open(url, one) as ledger:
            shown = ledger_parts(ledger)
            parts |= {"cover" if not k else f"cover-{k}": shown["cover"], f"ledger-{k}": shown["ledger"]}
    return Page("tacit: privacy budgets", parts, over="tacit · ledger")


def ledger_of(payment: Any, folder: Path, url: str | None = None) -> Ledger | None:
    """The ledger that a payment names: where it was said to be, or beside the run. None if it is not there."""
    from tacit.privacy.ledger import Ledger

    if not isinstance(payment, dict):
        return None
    name, beside = str(payment.get("name")), folder / "ledger.db"
    try:
        if url is not None and name in Ledger.names(url):
            return Ledger.open(url, name)
        return Ledger.open(beside, name) if beside.exists() else None
    except TacitError:  # of somebody else; the report can do without
        return None


def _front(subject: Subject) -> Front:
    from tacit.pareto.front import Front

    return Front.from_json(subject.document)


def _rename_alike(fronts: Sequence[tuple[Subject, Front]]) -> list[Front]:
    """Fronts of one name are distinguished by their folders."""
    many = Counter(front.name for _, front in fronts)
    return [
        replace(front, name=f"{front.name} ({subject.folder.resolve().name})") if many[front.name] > 1 else front
        for subject, front in fronts
    ]


def progress_words(html: str) -> str:
    """The words of a part that shows progress."""
    return re.sub("<[^>]*>", " ", html.split("</label>")[0]).strip()


def page_path(subjects: Sequence[Subject], out: Path | None) -> Path:
    """Where the page goes: where it was asked for, else beside what it reports on, else here."""
    if out is not None:
        return out
    if len(subjects) > 1:
        return Path("report.html")
    home = subjects[0].home
    return home.with_suffix(".html") if home.is_file() else home / "report.html"
