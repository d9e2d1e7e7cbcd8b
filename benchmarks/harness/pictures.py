"""Which kept figures are drawn, and how."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.harness.charts import Bar, bars, curves
from benchmarks.harness.panels import picture
from benchmarks.harness.reading import Row, chosen, number
from benchmarks.harness.results_page import Documents, found

HERE = Path(__file__).parent
SIZED = re.compile(r"(?P<line>.+), (?P<x>[\d,]+) (?P<axis>records|candidates|dimensions|workers|rows|trials)")
UNITS = {"ms": 1e-3, "us": 1e-6, "s": 1.0, "min": 60.0}


def drawn(documents: Documents, results: Path) -> dict[str, str]:
    """The pictures by file name. One that has no figures is not drawn."""
    made = {"results-speed.svg": _speed(documents)}
    made["results-kusner.svg"] = _lines(
        "Regret at equal epsilon, 1,000 candidates, T = 30", "epsilon", "prior standard deviations",
        documents, "kusner_table", r"1000 candidates in 1-D: (?P<line>.+[^d]), epsilon = (?P<x>\d+)",
    )  # fmt: skip
    made["results-which.svg"] = _lines(
        "Regret at equal guarantee, mu = 0.5, one valley", "dimensions", "regret, 1 is a typical point",
        documents, "gibo_which", r"one valley, d = (?P<x>\d+): (?P<line>.+)",
    )  # fmt: skip
    for name, doc in documents.items():
        if name.startswith("scale_"):
            made |= _sizes(name, doc)
    for path in sorted(results.glob("*/*.svg")):
        made[f"results-{path.parent.name}-{path.name}"] = path.read_text()
    for path in sorted(results.glob("*/*.json")):
        made[f"results-{path.parent.name}-{path.stem}.svg"] = picture(json.loads(path.read_text()))
    return {name: svg for name, svg in made.items() if svg}


def _speed(documents: Documents) -> str:
    asked = tomllib.loads((HERE / "headlines.toml").read_text())["speed"]["figures"]
    rows: list[Bar] = []
    for words, spec in asked:
        for _, r in found(spec, documents):
            if r.name.endswith(", 2 threads"):
                continue
            mode = re.search(r"\b(hooks|ghost)\b", r.against)
            label = f"{words}{f' ({mode[0]})' if mode else ''}"
            if r.unit == "x slower":
                ends = (1 / r.high if r.high else None, 1 / r.low if r.low else None)
                rows.append((_short(label), 1 / r.value, *ends, None))
            else:
                rows.append((_short(label), r.value, r.low, r.high, r.goal))
    return bars("How many times faster than a peer in the same run", rows, "dashed: the goal") if rows else ""


def _short(label: str) -> str:
    return label if len(label) <= 52 else label[:51] + "…"


def _lines(title: str, x: str, y: str, documents: Documents, name: str, pattern: str) -> str:
    lines = _points(chosen(documents.get(name, {}), ["*"]), re.compile(pattern))
    return curves(title, lines, x=x, y=y) if lines else ""


def _points(rows: Iterable[Row], pattern: re.Pattern[str]) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for r in rows:
        m = pattern.fullmatch(r.name)
        if m and r.value > 0:
            lines.setdefault(m["line"], []).append((number(m["x"]), r.value))
    return {k: v for k, v in lines.items() if len(v) > 1}


def _sizes(name: str, doc: dict[str, Any]) -> dict[str, str]:
    """One picture for each axis of a scale benchmark: seconds against size."""
    rows = chosen(doc, ["*"])
    axes = dict.fromkeys(m["axis"] for r in rows if (m := SIZED.fullmatch(r.name)))
    made = {}
    for axis in axes:
        timed = [r for r in rows if r.unit in UNITS and r.name.endswith(f" {axis}")]
        lines = _points(timed, SIZED)
        scale = {m["line"]: UNITS[r.unit] for r in timed if (m := SIZED.fullmatch(r.name))}
        seconds = {k: [(x, y * scale[k]) for x, y in v] for k, v in lines.items()}
        if seconds:
            made[f"results-{name}-{axis}.svg"] = curves(doc["title"], seconds, x=axis, y="seconds")
    return made
