"""What a folder or file holds: a release, a front, an outsourced study, audits, a ledger, or a run not yet finished.

Recognised by what tacit's commands write there:

    certificate.json            tacit tune, finished             front.json     tacit pareto, finished
    study.db                    either of them, under way        gibo.jsonl     tacit tune --method gibo, under way
    audit.json, runs/           tacit audit, done or under way   curator.db     the state of tacit curator serve
    ledger.db, any other .db    a ledger
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import BadInput, TacitError
from tacit.methods.registry import METHODS

FRONT, CERTIFICATE = "tacit.front/1", "tacit.certificate/1"
FINISHED = ("front.json", "certificate.json", "audit.json")
UNFINISHED = ("search", "discovery", "study", "descent", "auditing")


@dataclass(frozen=True)
class Subject:
    """One thing to report on. ``document`` is what its JSON file says, where it has one, or the method of a descent."""

    kind: str  # release, front, audit, attack, curator, ledger, or one of UNFINISHED
    path: Path
    document: Any = None
    certificate: Any = None  # of a release, or of a front that is one

    @property
    def folder(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def home(self) -> Path:
        """The folder of a run, from its first trial to its last file; of anything else the file itself."""
        return self.path.parent if self.path.name in FINISHED else self.path


def recognise(path: str | Path, *, live: bool = False) -> Subject:
    """What a folder or file holds, finished things first. BadInput says what is there instead.

    With ``live``, a front to which points are being added is under way, although an earlier one is finished.
    """
    where = Path(path)
    if not where.exists():
        raise BadInput(f"there is no {where}")
    try:
        subject = _in_folder(where, live) if where.is_dir() else _in_file(where)
    except OSError as error:
        raise BadInput(f"{where} cannot be read: {error.strerror}") from None
    if subject is None:
        raise BadInput(_explain_nothing(where))
    return subject


def find_subjects(path: str | Path) -> Iterator[Subject]:
    """What a folder holds and what its folders hold, one level deep; a ledger beside a run counts for itself."""
    where = Path(path)
    inside = sorted(p for p in where.iterdir() if p.is_dir()) if where.is_dir() else []
    for place in (where, *inside):
        try:
            subject = recognise(place, live=True)
        except TacitError:
            continue
        yield subject
        if subject.kind != "ledger" and place.is_dir() and (place / "ledger.db").exists():
            yield Subject("ledger", place / "ledger.db")


def _in_folder(where: Path, live: bool = False) -> Subject | None:
    for name in FINISHED:
        if (where / name).exists() and not (live and _older(where / name, where / "study.db")):
            return _in_file(where / name)
    if (where / "curator.db").exists():
        return Subject("curator", where)
    if (where / "study.db").exists():
        from tacit.report.study_file import kind_of

        return Subject(kind_of(where / "study.db"), where)
    for method in METHODS.values():
        if method.live_page and (where / method.journal).exists():
            return Subject("descent", where, method.name)
    if (where / "runs" / "terms.json").exists():
        return Subject("auditing", where)
    return Subject("ledger", where / "ledger.db") if (where / "ledger.db").exists() else None


def _older(finished: Path, study: Path) -> bool:
    return finished.name == "front.json" and study.exists() and finished.stat().st_mtime < study.stat().st_mtime


def _in_file(path: Path) -> Subject | None:
    if path.suffix == ".db":
        if path.name == "curator.db":
            return Subject("curator", path.parent)
        if path.name == "study.db":
            return _in_folder(path.parent)
        return Subject("ledger", path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return None
    if isinstance(document, dict):
        value = document.get("value")
        if document.get("format") == CERTIFICATE and isinstance(value, dict) and value.get("format") == FRONT:
            return Subject("front", path, value, document)
        kinds = {CERTIFICATE: "release", FRONT: "front"}
        if document.get("format") in kinds:
            sealed = document if document["format"] == CERTIFICATE else None
            return Subject(kinds[str(document["format"])], path, document, sealed)
        if "attack" in document:
            return Subject("attack", path, document)
        if "verdict" in document and "measured" in document:
            return Subject("audit", path, [document])
    if isinstance(document, list) and document and all(isinstance(d, dict) and "verdict" in d for d in document):
        return Subject("audit", path, document)
    return None


def _explain_nothing(where: Path) -> str:
    if where.is_file():
        return f"{where} is no certificate, front, audit or ledger of tacit"
    names = sorted(p.name for p in where.iterdir() if p.name != ".lock")
    if not names and (where / ".lock").exists():
        return (
            f"a run was begun in {where} and has kept nothing yet. Wait for it, or run its command again; a method "
            "that keeps its trials to itself writes only at its end"
        )
    if not names:
        return f"{where} is empty: give the --out folder of tacit tune, pareto or audit, or a curator's state folder"
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return f"{where} holds nothing that tacit wrote: {shown}"
