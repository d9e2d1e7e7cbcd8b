"""From what was found to its page; and what to say of a run that is not finished."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import BadInput, TacitError
from tacit.methods.registry import METHODS, load
from tacit.page import Page
from tacit.report import studies
from tacit.report.found import UNFINISHED, Found
from tacit.report.pages import audit as audit_page
from tacit.report.pages import front as front_page
from tacit.report.pages import outsourced as outsourced_page
from tacit.report.parts import ledger_part

if TYPE_CHECKING:
    from tacit.pareto.front import Front
    from tacit.privacy.ledger import Ledger

AGAIN = "Run the same command again to go on: nothing is drawn or paid twice."
COMMANDS = {"search": "tune", "descent": "tune", "discovery": "pareto", "auditing": "audit"}


def page_of(found: Found, *, private: bool = False, ledger: str | None = None) -> Page:
    """The page of one thing. ``private`` adds exact answers and exact values where there are any.

    ``ledger`` is where the ledger of a run is kept; without it, one beside the run is looked for.
    """
    if found.kind == "release":
        return _release_page(found, ledger)
    if found.kind == "front":
        return front_page.page(_front(found))
    if found.kind == "audit":
        return audit_page.page(found.document)
    if found.kind == "attack":
        return audit_page.attack_page(found.document)
    if found.kind == "curator":
        return outsourced_page.page(found.path, private=private)
    if found.kind == "ledger":
        return ledger_page(found.document or str(found.path))
    return unfinished_page(found, private=private, ledger=ledger)


def _release_page(found: Found, ledger: str | None) -> Page:
    """A certificate on the page that the registry names for its method."""
    value, payment = found.document.get("value"), found.document.get("payment")
    method = METHODS.get(str(value.get("method"))) if isinstance(value, dict) else None
    trained = isinstance(value, dict) and "trainer" in value
    draw = load("tacit.report.pages.trained:page" if trained else (method or METHODS["observed"]).page)
    made: Page = draw(found.document, ledger=ledger_of(payment, found.folder, ledger))
    return made


def unfinished_page(found: Found, *, private: bool = False, ledger: str | None = None) -> Page:
    """The page of a run under way."""

    def paying(payment: Any) -> Ledger | None:
        return ledger_of(payment, found.path, ledger)

    if found.kind == "descent":
        made: Page = load(METHODS[found.document].live_page)(found.path, paying, again=AGAIN)
        return made
    if found.kind == "auditing":
        return studies.auditing_page(found.path)
    kept = studies.read(found.path / "study.db")
    if found.kind == "search":
        return studies.search_page(kept, paying, again=AGAIN)
    if found.kind == "discovery":
        return studies.discovery_page(kept, private=private, again=AGAIN)
    return studies.study_page(kept, private=private)


def together(found: Sequence[Found], *, private: bool = False, ledger: str | None = None) -> Page:
    """One page of one or several finished things: several must be fronts, or audits."""
    for f in found:
        if f.kind in UNFINISHED:
            raise TacitError(unfinished(f))
    if len(found) == 1:
        return page_of(found[0], private=private, ledger=ledger)
    kinds = {f.kind for f in found}
    if kinds == {"front"}:
        return front_page.page(_named([(f, _front(f)) for f in found]), mixed=True)
    if kinds == {"audit"}:
        return audit_page.page([d for f in found for d in f.document])
    raise BadInput(f"several folders make one page if all are fronts or all are audits, got {', '.join(sorted(kinds))}")


def unfinished(found: Found) -> str:
    """What is there of a run that was not finished, and how to go on."""
    if found.kind == "study":
        return f"{found.path} holds an Optuna study that was not privately observed; tacit has nothing to report of it"
    page = unfinished_page(found)
    told = words(page.parts["progress"])
    what = COMMANDS[found.kind]
    return (
        f"the run in {found.path} is not finished: {told}. Run the same tacit {what} command again to go on; what is "
        f"there is used. To watch it: tacit dashboard {found.path}"
    )


def ledger_page(url: str) -> Page:
    """The page of a ledger, or of all ledgers in a file: amounts and purposes, nothing private."""
    from tacit.privacy.ledger import Ledger

    names = Ledger.names(url)
    if not names:
        raise BadInput(f"there is no ledger in {url}")
    parts = {"head": "<h1>Privacy budgets</h1>"}
    for k, one in enumerate(names):
        with Ledger.open(url, one) as ledger:
            parts[f"ledger-{k}"] = ledger_part(ledger)
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


def _front(found: Found) -> Front:
    from tacit.pareto.front import Front

    return Front.from_json(found.document)


def _named(fronts: Sequence[tuple[Found, Front]]) -> list[Front]:
    """Fronts of one name are told apart by their folders."""
    many = Counter(front.name for _, front in fronts)
    return [
        replace(front, name=f"{front.name} ({found.folder.resolve().name})") if many[front.name] > 1 else front
        for found, front in fronts
    ]


def words(html: str) -> str:
    """The words of a part that shows progress."""
    return re.sub("<[^>]*>", " ", html.split("</label>")[0]).strip()


def target(found: Sequence[Found], out: Path | None) -> Path:
    """Where the page goes: where it was asked for, else beside what it reports on, else here."""
    if out is not None:
        return out
    if len(found) > 1:
        return Path("report.html")
    home = found[0].home
    return home.with_suffix(".html") if home.is_file() else home / "report.html"
