"""The results page, with the state of every figure, and the raw tables beside it. All of it from kept JSON."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from benchmarks.harness import sources
from benchmarks.harness.machine import QUIET
from benchmarks.harness.reading import Row, chosen, measured, shown
from benchmarks.harness.runner import read_header

HERE = Path(__file__).parent
Documents = dict[str, dict[str, Any]]
PEERS = {"scikit-learn": "scikit-learn", "NumPy": "numpy", "BoTorch": "botorch", "Opacus": "opacus", "TPE": "optuna"}
PEERS |= {"GPSampler": "optuna", "optuna": "optuna", "dp-accounting": "dp-accounting", "autodiff": "torch"}


def found(spec: str, documents: Documents) -> list[tuple[str, Row]]:
    """The figures that "BENCHMARK | NAME" names, both patterns."""
    benchmark, figure = (part.strip() for part in spec.split("|"))
    pattern = re.compile(re.escape(benchmark).replace(r"\*", ".*"))
    return [(name, r) for name, doc in documents.items() if pattern.fullmatch(name) for r in chosen(doc, [figure])]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    clean = [[cell.replace("|", "/").replace("\n", " ") for cell in row] for row in rows]
    return ["| " + " | ".join(r) + " |" for r in (head, ["---"] * len(head), *clean)] + [""]


CURRENT = re.compile(r"<!-- current: (.*?) -->")
RAW = ["---", "search:", "  exclude: true", "---", ""]  # raw tables stand beside the page; search does not index them


def pages(documents: Documents, pictures: list[str], current: Collection[str]) -> dict[str, str]:
    """The results page and, beside it, the raw tables: one file for each benchmark.

    Args:
        documents: The kept results by name.
        pictures: The names of the pictures that there are.
        current: Benchmarks whose kept figures were measured by the code as it is. Headlines quote these alone.
    """
    names = sorted({*documents, *sources.names()})
    made = {"results.md": overview(documents, current)}
    made |= {f"results/{name}.md": "\n".join(RAW + raw(name, documents.get(name), pictures)) for name in names}
    return {path: text.rstrip() + "\n" for path, text in made.items()}


def read_current(text: str) -> list[str]:
    """Which benchmarks a results page took to be current when it was made."""
    said = CURRENT.search(text)
    return said[1].split() if said else []


def overview(documents: Documents, current: Collection[str]) -> str:
    """What a person reads in ten minutes: headlines from current figures, and the state of every benchmark."""
    quoted = {name: doc for name, doc in documents.items() if name in current}
    lines = [
        "# Results",
        "",
        "Made by `make results` from `benchmarks/results/*.json`; nothing here is typed by hand. Ratios compare",
        "contenders measured in one run; times are medians of repeats. [Paper by paper](papers.md) says what was",
        "reproduced, [scale](scale.md) what grows how. A figure is stale when a function that ran while it was",
        "measured has changed since: headlines quote current figures alone. Each name leads to the raw table.",
        "",
        f"<!-- current: {' '.join(sorted(quoted))} -->",
        "",
        *headlines(quoted),
        "## Every benchmark",
        "",
        *table(
            ["benchmark", "what it measures", "goals met", "measured", "commit", "load", "state"],
            [_state(name, documents.get(name), current) for name in sorted({*documents, *sources.names()})],
        ),
    ]
    return "\n".join(lines)


def _state(name: str, doc: dict[str, Any] | None, current: Collection[str]) -> list[str]:
    title, link = read_header(name)["TITLE"], f"[{name}](results/{name}.md)"
    if not doc or not doc.get("figures"):
        return [link, title, "", "", "", "", "**missing**"]
    judged = [r.met for r in chosen(doc, ["*"]) if r.met]
    goals = f"{judged.count('yes')} of {len(judged)}" if judged else ""
    others = doc.get("others")
    load = "not watched" if others is None else "quiet" if others <= QUIET else f"{others:g} cores"
    commit = f"{doc['commit']}{' with changes' if doc.get('dirty') else ''}"
    return [link, title, goals, doc.get("date", ""), commit, load, "current" if name in current else "**stale**"]


def headlines(documents: Documents) -> list[str]:
    asked = tomllib.loads((HERE / "headlines.toml").read_text())
    lines, unquoted = ["## Headlines", "", "### Speed, as ratios", ""], set[str]()
    head = ["what", "ratio", "least to most", "goal", "met", "peer and setting", "from"]
    rows = []
    for part in asked.values():
        unquoted |= {s.split("|")[0].strip() for _, s in part["figures"] if not found(s, documents)}
    for words, spec in asked["speed"]["figures"]:
        rows += [
            [
                f"{words}{_which(r)}",
                _times(r),
                _spread(r),
                shown(r.goal),
                r.met,
                _peer(words, r, documents[name]),
                f"`{name}`",
            ]
            for name, r in found(spec, documents)
        ]
    lines += table(head, rows)
    lines += ["### Utility at equal guarantee", ""]
    rows = []
    for words, spec in asked["utility"]["figures"]:
        rows += [
            [words, measured(r), shown(r.paper), shown(r.goal), r.met, f"`{name}`"]
            for name, r in found(spec, documents)
        ]
    lines += table(
        ["what", "measured (spread or 95% interval, as its note says)", "paper", "goal", "met", "from"], rows
    )
    if unquoted:
        listed = ", ".join(f"`{name}`" for name in sorted(unquoted))
        lines += [f"Not quoted, since their figures are stale or missing: {listed}.", ""]
    return lines


def _which(r: Row) -> str:
    """What tells figures of one headline apart: how the peer clips, how many threads."""
    found = [m[0] for p in (r"\b(hooks|ghost)\b", r"\d threads?$") if (m := re.search(p, f"{r.against} {r.name}"))]
    return f" ({', '.join(found)})" if found else ""


def _times(r: Row) -> str:
    if r.unit == "x faster" and r.value < 1:
        return f"**{shown(1 / r.value)}x** slower"
    return f"**{shown(r.value)}x** {r.unit.removeprefix('x').strip()}".strip()


def _spread(r: Row) -> str:
    if r.low is None or r.high is None:
        return ""
    turned = r.unit == "x faster" and r.value < 1
    return f"{shown(1 / r.high)} to {shown(1 / r.low)}" if turned else f"{shown(r.low)} to {shown(r.high)}"


def _peer(words: str, r: Row, doc: dict[str, Any]) -> str:
    """What it is held against and in which version, without the goal, which has a column of its own."""
    parts = [part.strip() for part in re.split(r"[;,] |(?=\bgoal)", r.against)]
    parts = [part for part in parts if part and not part.startswith(("goal", "above 1"))]
    known = [lib for name, lib in PEERS.items() if name in words and lib in doc["machine"]]
    versions = [f"{lib} {doc['machine'][lib]}" for lib in dict.fromkeys(known)]
    return ", ".join(parts + [v for v in versions if v.lower() not in r.against.lower()])


def verdict(r: Row) -> str:
    """What a figure's own note says of the paper's claim or figure."""
    said = re.search(r": (HELD|DID NOT HOLD)\b", r.note)
    if said:
        return {"HELD": "claim held", "DID NOT HOLD": "claim did not hold"}[said[1]]
    agrees = re.search(r"\b(agrees|does not agree) with the paper's", r.note)
    return agrees[1] if agrees else ""


def raw(name: str, doc: dict[str, Any] | None, pictures: list[str]) -> list[str]:
    """Every kept figure of a benchmark, with its pictures."""
    lines = [f"# {name}", ""]
    if not doc or not doc.get("figures"):
        why = (doc or {}).get("skipped", "it was not run")
        return [*lines, f"{read_header(name)['TITLE']}. **Missing**: {why}. `python -m benchmarks {name}`"]
    lines += [f"{doc['title']}.", "", _made(doc), ""]
    head = ["what", "ours", "paper", "peer", "ratio", "goal", "met", "held against; note"]
    lines += table(head, [_cells(r) for r in chosen(doc, ["*"])])
    for file in pictures:
        if file.startswith(f"results-{name}-"):
            what = file.removeprefix(f"results-{name}-").removesuffix(".svg")
            lines += [f"![{name}: {what}](../pictures/{file})", ""]
    return lines


def _made(doc: dict[str, Any]) -> str:
    known = dict(doc["machine"])
    first = [f"{known.pop('cores')} cores", str(known.pop("processor", ""))]
    first.append(f"threads {', '.join(map(str, doc['threads']))}" if "threads" in doc else "one thread")
    told = [f"**{load}**"] if (load := _load(doc)) else []
    told += [f"`{doc['command']}`", f"commit {doc['commit']}{' with changes' if doc.get('dirty') else ''}"]
    told += [doc[k] for k in ("date",) if k in doc] + [_took(doc), ", ".join(w for w in first if w)]
    return " · ".join([*told, ", ".join(f"{k} {v}" for k, v in known.items())])


def _load(doc: dict[str, Any]) -> str:
    """That figures were taken while the machine did other work too; nothing for those that did not look."""
    others = doc.get("others")
    loaded = others is not None and others > QUIET
    return f"under load: other work used {others:g} of {doc['machine']['cores']} cores" if loaded else ""


def _took(doc: dict[str, Any]) -> str:
    """How long, or of how many kept pieces: their seconds add up over processes and over earlier runs."""
    if not (parts := doc.get("made_of")):
        return f"{doc['seconds']} s"
    work = "made in several runs" if parts["seconds"] is None else f"{parts['seconds'] / 60:.1f} min of work"
    return f"{parts['pieces']} pieces, {work}"


def _cells(r: Row) -> list[str]:
    words = "; ".join(w for w in (r.against, r.note) if w)
    if r.is_ratio:
        own, peer = (f"{shown(v)} s" if v is not None else "" for v in (r.ours, r.peer))
        return [r.name, own, shown(r.paper), peer, measured(r), shown(r.goal), r.met, words]
    times = shown(r.ratio)
    return [r.name, measured(r), shown(r.paper), shown(r.peer), times, shown(r.goal), r.met, words]
