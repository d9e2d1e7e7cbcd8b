"""The Optuna study in a run's folder, read beside the process that writes it. Never written to."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tacit.errors import TacitError
from tacit.files import Json
from tacit.space import Params


@dataclass(frozen=True)
class Trial:
    """A finished trial as Optuna keeps it."""

    params: Params
    values: list[float]
    attrs: Json


@dataclass(frozen=True)
class StudyFile:
    """What a study file holds now."""

    attrs: Json
    done: list[Trial]
    claimed: int
    failed: int
    running: int


def kind_of(path: Path) -> str:
    """search (private observations), discovery (a front), or study (anything else)."""
    attrs = read_study(path).attrs
    return "discovery" if "tacit:front" in attrs else "search" if "tacit:terms" in attrs else "study"


def read_study(path: Path) -> StudyFile:
    """The study in a file, opened for reading only; read again only if the file, or SQLite's beside it, changed."""
    beside = [path, path.with_name(path.name + "-wal")]
    return _read(path, tuple((f.stat().st_mtime_ns, f.stat().st_size) for f in beside if f.exists()))


@lru_cache(maxsize=64)
def _read(path: Path, stamp: tuple[tuple[int, int], ...]) -> StudyFile:
    import logging

    import optuna
    from optuna.trial import TrialState
    from sqlalchemy.exc import SQLAlchemyError

    from tacit.run.study_storage import QuickStorage
    from tacit.run.study_store import has_claim

    logging.getLogger("optuna").setLevel(logging.WARNING)
    try:
        storage = QuickStorage(f"sqlite:///file:{path.resolve()}?mode=ro&uri=true")
        summaries = storage.get_all_studies()
        if not summaries:
            return StudyFile({}, [], 0, 0, 0)
        study = optuna.load_study(study_name=summaries[0].study_name, storage=storage)
        trials, attrs = study.get_trials(deepcopy=False), study.user_attrs
        storage.engine.dispose()
    except (SQLAlchemyError, sqlite3.Error, RuntimeError, KeyError, ValueError) as error:
        raise TacitError(f"{path} cannot be read now ({type(error).__name__})") from None
    done = [t for t in trials if t.state == TrialState.COMPLETE]
    finished = [Trial(dict(t.params), list(t.values or []), dict(t.user_attrs)) for t in done]
    counts = [sum(t.state == s for t in trials) for s in (TrialState.FAIL, TrialState.RUNNING)]
    return StudyFile(attrs, finished, sum(has_claim(t.user_attrs) for t in trials), *counts)
