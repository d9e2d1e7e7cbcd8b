"""What the list of runs says of each: its released score, and what its ledger has left."""

from __future__ import annotations

from typing import Any

from tacit.errors import TacitError
from tacit.methods.tuned import Tuned
from tacit.report.subjects import Subject


def show_score(subject: Subject) -> str:
    """The score that a release holds, in its metric; "" where nothing is released yet, or no score."""
    value = subject.document.get("value") if subject.kind == "release" and isinstance(subject.document, dict) else None
    if not isinstance(value, dict):
        return ""
    try:
        if "trainer" in value:
            return f"{value['metric']} {value['score']:.4g}"
        tuned = Tuned.from_json(value)
    except (TypeError, KeyError, ValueError):
        return ""
    if tuned.score is None:
        return ""
    wide = tuned.intervals()
    return f"{tuned.metric} {tuned.score:.4g}" + (f" ± {wide[0][1]:.2g}" if wide else "")


def show_left(subject: Subject) -> str:
    """What the ledger has left: now, of a ledger; when it was made, of a release."""
    if subject.kind == "ledger":
        return _left_now(subject.document or str(subject.path))
    about = subject.document.get("about") if isinstance(subject.document, dict) else None
    left: Any = about.get("left") if isinstance(about, dict) else None
    return str(left.get("words", "")) if isinstance(left, dict) else ""


def _left_now(where: str) -> str:
    from tacit.privacy.ledger import Ledger

    lines = []
    try:
        for name in Ledger.names(where):
            with Ledger.open(where, name) as ledger:
                lines.append(f"{name}: {ledger.remaining()} of {ledger.budget}")
    except TacitError:  # its own page says why
        return ""
    return "; ".join(lines)
