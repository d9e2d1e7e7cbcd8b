"""A kept figure as the page shows it: ours, the paper's, the peer's, their ratio, the goal, and whether it was met.

Benchmarks state these in fields of their own, or in the words of ``against``, from which they are read here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

NUMBER = r"(\d[\d,]*\.?\d*(?:e-?\d+)?)"
GOAL = re.compile(rf"\bgoal:?\s+(?:(under|below|at most|at least|over)\s+)?{NUMBER}")
PAPER = re.compile(rf"\bpaper(?:'s|:)\s+(?:about\s+)?(-?{NUMBER})(\s+more\b)?")
MORE = ("x faster", "x", "configurations/s", "examples/s", "charges/s", "queries/s")


@dataclass(frozen=True)
class Row:
    """One figure. What is None was not measured, or does not exist."""

    name: str
    value: float
    unit: str
    low: float | None
    high: float | None
    against: str
    note: str
    ours: float | None
    paper: float | None
    peer: float | None
    goal: float | None
    better: str

    @property
    def is_ratio(self) -> bool:
        return self.unit in ("x faster", "x slower", "x")

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's or the peer's; of a ratio, itself."""
        if self.is_ratio:
            return self.value
        other = self.paper if self.paper is not None else self.peer
        return self.value / other if other else None

    @property
    def met(self) -> str:
        """Whether the goal was met: yes, no, or nothing without a goal."""
        if self.goal is None:
            return ""
        return "yes" if (self.value >= self.goal if self.better == "more" else self.value <= self.goal) else "no"


def number(text: str) -> float:
    return float(text.replace(",", "").rstrip("."))


def row(figure: dict[str, Any]) -> Row:
    """Fields where they are, words where they are not."""
    said, unit = figure.get("against") or "", figure.get("unit") or ""
    goal, better, paper = figure.get("goal"), figure.get("better") or "", figure.get("paper")
    found = GOAL.search(said)
    if goal is None and found:
        goal = number(found[2])
        better = better or {"under": "less", "below": "less", "at most": "less"}.get(found[1] or "", "")
    found = PAPER.search(said)
    if paper is None and found and not found[3]:
        paper = number(found[1])
    better = better or ("more" if unit in MORE else "less")
    known = {k: figure.get(k) for k in ("low", "high", "ours", "peer")}
    shown = {"name": figure["name"], "value": figure["value"], "unit": unit, "against": said}
    return Row(**shown, note=figure.get("note") or "", **known, paper=paper, goal=goal, better=better)


def chosen(document: dict[str, Any], patterns: list[str]) -> list[Row]:
    """The figures whose names fit one of the patterns, in the order of the document."""
    names = [p.replace("[", "[[]") for p in patterns]
    fits = [f for f in document.get("figures", []) if any(fnmatchcase(f["name"], p) for p in names)]
    return [row(f) for f in fits]


def shown(value: float | None) -> str:
    """Three digits, thousands apart; nothing for nothing."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def measured(r: Row) -> str:
    spread = f" ({shown(r.low)} to {shown(r.high)})" if r.low is not None and r.high is not None else ""
    return f"{shown(r.value)} {r.unit}".strip() + spread
