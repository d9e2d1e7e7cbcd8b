"""Pages of runs under way: a search, a front that grows, a descent, an audit, a study of somebody's own.

A study of private observations holds released values only, and they are shown. A study of exact values is inside the
trust boundary: only how far it is leaves it, unless the holder of the data asks for more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tacit.errors import BadInput
from tacit.files import Json
from tacit.page import Page, render_parts
from tacit.page.parts import guarantee_part, payment_part
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.report.study_file import StudyFile
from tacit.run.study_store import has_claim

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

HIDDEN = (
    "What was measured is private and is not shown: only how far the work is. Start the dashboard with --show-private, "
    "on the machine that holds the data, to see it"
)
SEEN = "PRIVATE: exact values, measured on the data. For people who may see the data"


Progress = tuple[int, int, str, str]  # done, of, what, and a sentence


def _parts(
    title: str,
    progress: Progress | None = None,
    *,
    who: str = "",
    hidden: bool = False,
    about: Sequence[tuple[str, Any]] = (),
    search: Markup | None = None,
    heads: Sequence[str] = (),
    rows: Sequence[Sequence[Any]] = (),
    guarantee: Markup | str = "",
    paid: Markup | str = "",
) -> dict[str, Markup]:
    """The parts of a page of a run under way; what is not given is not on it."""
    return render_parts("under_way.html", **locals())


Paying = Callable[[Any], "Ledger | None"]
"""From a payment to the ledger that made it, if it is at hand."""


def search_page(study: StudyFile, paying: Paying = lambda payment: None, *, again: str = "") -> Page:
    """A search by private observations: everything it has so far is released, under its whole guarantee."""
    from tacit.methods.observed import ObservationTerms
    from tacit.privacy.mechanisms import SIMULATED
    from tacit.report.pages.tuned import observations_part

    stored = json.loads(study.attrs["tacit:terms"])
    simulated = stored.pop("simulated", False)
    budget = Budget.from_json(stored["budget"])
    about = stored["records"], tuple(stored["bounds"]), budget, stored["trials"], stored["direction"]
    terms = ObservationTerms(*about, basis=stored.get("basis", "record"))
    guarantee = Guarantee.none(SIMULATED) if simulated else terms.guarantee()
    drawn = [t for t in study.done if has_claim(t.attrs)]  # whatever else got into the file has no noise
    trials, paid = [{"params": t.params, "value": t.values[0]} for t in drawn], study.attrs.get("tacit:payment")
    shown = observations_part(trials, terms.mechanism().scale, total=terms.trials) if trials else Markup()
    parts = _parts(
        "A search under way",
        (study.claimed, terms.trials, "observations made", again),
        search=shown,
        guarantee=guarantee_part(guarantee, "Guarantee of the whole search"),
        paid=payment_part(paid, paying(paid), under_way=True),
    )
    return Page("tacit: a search under way", parts, over="tacit · private observations")


def discovery_page(study: StudyFile, *, private: bool = False, again: str = "") -> Page:
    """A front that grows. Exact utilities are shown only with ``private``; noisy ones always."""
    from tacit.pareto.front import WHY, Front, Point
    from tacit.report.pages.front import page

    about = json.loads(study.attrs["tacit:front"])
    test = json.loads(study.attrs["tacit:test"]) if "tacit:test" in study.attrs else None
    wanted = study.attrs.get("tacit:wanted", 0)
    done, failed = len(study.done), study.failed
    state = f"{study.running} running, {failed} failed or cut short. {again}"
    progress = done, wanted or done, f"points tested{'' if wanted else ' so far'}", state
    noisy = test is not None and not test["simulated"]
    if not private and not noisy:
        rows = [("algorithm", about["name"]), ("delta", about["delta"]), ("runs of each point", about["repeats"])]
        parts = _parts("A front under way", progress, who=HIDDEN, hidden=True, about=rows)
        return Page("tacit: a front under way", parts, over="tacit · privacy-utility front")
    guarantee = _test_guarantee(test) if test is not None and noisy else Guarantee.none(WHY)
    shown = [t for t in study.done if has_claim(t.attrs) or not noisy]
    points = tuple(Point.of(t.params, t.values[0], t.attrs["tacit:runs"]) for t in shown)
    front = Front(points, about["label"], about["delta"], name=about["name"], guarantee=guarantee)
    whole = page(front)
    bar = _parts(whole.title, progress)["progress"]
    rest = {name: part for name, part in whole.parts.items() if name != "head"}
    return replace(whole, parts={"head": whole.parts["head"], "progress": bar, **rest})


def _test_guarantee(test: Json) -> Guarantee:
    from tacit.pareto.private_front import PREMISES, SOURCE
    from tacit.privacy.units import TEST

    budget = Budget.from_json(test["budget"])
    whole = Guarantee(Budget.gdp(budget.mu()), TEST, (), SOURCE, premises=PREMISES)
    return whole.at(budget.delta) if budget.notion == "approximate" else whole


def study_page(study: StudyFile, *, private: bool = False) -> Page:
    """Any other Optuna study: its values may be exact, so they are private."""
    counts = [("finished", len(study.done)), ("running", study.running), ("failed", study.failed)]
    names = list(dict.fromkeys(n for t in study.done for n in t.params)) if private else []
    parts = _parts(
        "A study without tacit's terms",
        who=SEEN if private else HIDDEN,
        hidden=not private,
        about=counts,
        heads=["trial", *names, "value"],
        rows=[[i, *(t.params.get(n, "") for n in names), *t.values[:1]] for i, t in enumerate(study.done) if private],
    )
    return Page("tacit: a study", parts, over="tacit · a study without tacit's terms")


def descent_page(folder: Path, paying: Paying = lambda payment: None, *, again: str = "") -> Page:
    """DP-GIBO under way: its journal holds released gradients only; steps and budget are shown."""
    lines = []
    for line in (folder / "gibo.jsonl").read_text().splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            break  # the last line, while it is being written
    if not lines or not isinstance(lines[0].get("terms"), dict):
        raise BadInput(f"{folder / 'gibo.jsonl'} is not what tacit wrote there")
    terms = lines[0]["terms"]
    done = sum(" step " in str(line.get("keep", "")) for line in lines)
    paid = next((line["paid"] for line in lines if "paid" in line), None)
    budget = Budget.from_json(terms["budget"])
    rows = [("parameters", len(terms["space"])), ("records", terms["records"]), ("budget", str(budget))]
    parts = _parts(
        "A descent under way",
        (done, terms["trials"], "noisy gradients released", again),
        about=rows,
        paid=payment_part(paid, paying(paid), under_way=True),
    )
    return Page("tacit: a descent under way", parts, over="tacit · method gibo")


def auditing_page(folder: Path) -> Page:
    """An audit under way: how many parts of its runs are there."""
    terms = json.loads((folder / "runs" / "terms.json").read_text())
    done = sum(int(p.stem.rsplit("-", 1)[-1]) for p in (folder / "runs").glob("*-*-*.npy"))
    total = 2 * int(terms.get("trials") or 0)
    again = "Run the same tacit audit command again to go on."
    parts = _parts(f"An audit of {terms['method']} under way", (done, total, "runs made on both data sets", again))
    return Page("tacit: an audit under way", parts, over="tacit · audit")
