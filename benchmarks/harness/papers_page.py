"""Paper by paper: every table and figure, whether it is reproduced here, with the kept figures beside the paper's.

The list is ``papers.toml``. A row that rests on figures takes them from the kept results; if none is kept, the row
says so, whatever the list hoped for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from benchmarks.harness.reading import Row, shown
from benchmarks.harness.results_page import Documents, found, table, verdict

HERE = Path(__file__).parent
STATES = ("reproduced", "reproduced with a difference", "not reproducible here", "nothing to reproduce")
MOST = 6


def page(documents: Documents, pictures: Iterable[str] = (), current: Collection[str] = ()) -> str:
    asked = tomllib.loads((HERE / "papers.toml").read_text())
    lines = ["# Paper by paper", "", *asked["intro"].strip().splitlines(), ""]
    for paper in asked["paper"]:
        lines += [f"## {paper['title']}", "", *paper["about"].strip().splitlines(), ""]
        head = ["exhibit", "what it shows", "here", "figures (the paper's)", "difference or reason", "command", "when"]
        lines += table(head, [row(r, documents, pictures, current) for r in paper["row"]])
    return "\n".join(lines).rstrip() + "\n"


def row(
    r: dict[str, Any], documents: Documents, pictures: Iterable[str] = (), current: Collection[str] = ()
) -> list[str]:
    seen = dict.fromkeys(pair for spec in r.get("figures", []) for pair in found(spec, documents))
    state, why = judged(r["here"], [verdict(f) for _, f in seen]), r["why"]
    if r.get("figures") and not seen:
        state, why = "not measured", "the command has not been run to its end here"
    told = "; ".join(figure(f, r.get("cut", "")) for _, f in list(seen)[:MOST])
    more = f"; {len(seen) - MOST} more in [results](results/{next(iter(seen))[0]}.md)" if len(seen) > MOST else ""
    dates = {name: documents[name].get("date", "undated") for name, _ in seen}
    when = dict.fromkeys(f"{date}{'' if name in current else ', stale'}" for name, date in dates.items())
    figures = told + more + drawn(r, pictures)
    return [r["exhibit"], r["shows"], state, figures, why, f"`{r['command']}`", "; ".join(when)]


def drawn(r: dict[str, Any], pictures: Iterable[str]) -> str:
    """Links to the pictures that a row names and that there are."""
    there = [name for name in r.get("pictures", []) if name in pictures]
    return f"; drawn: {', '.join(f'[picture](pictures/{name})' for name in there)}" if there else ""


def judged(hoped: str, verdicts: list[str]) -> str:
    """What the list hopes for, or less, if a figure's own note says so."""
    if "claim did not hold" in verdicts:
        return f"{STATES[1]}: the claim did not hold"
    apart, alike = verdicts.count("does not agree"), verdicts.count("agrees")
    if apart and not alike:
        return f"{STATES[2]}: none of {apart} figures agrees"
    return f"{STATES[1]}: {apart} of {apart + alike} figures do not agree" if apart else hoped


def figure(r: Row, cut: str) -> str:
    """A figure in few words: its name without what the row already says, its value, and the paper's."""
    beside = f" ({shown(r.paper)})" if r.paper is not None else ""
    said = verdict(r)
    return f"{r.name.removeprefix(cut)}: {shown(r.value)} {r.unit}".strip() + beside + (f", {said}" if said else "")
