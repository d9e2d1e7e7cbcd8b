"""Claims in an Optuna study: a draw belongs to a trial, and any process that opens the study may claim one.

Everything here is released: a study of private observations holds only values that already carry their noise.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tacit.errors import BadInput, BudgetRefused
from tacit.privacy.claim_store import FILE, MEMORY, SERVER, Home, exhaustion, process_name

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial, Trial

CLAIM, RUN, CONFIRMS = "tacit:drawn", "tacit:run", "tacit:confirms"
CONSTRAINED = "tacit:constrained"  # of a trial: the noisy mean of the constrained metric
PATIENCE = 15.0  # seconds to wait for another process that has claimed a draw: what follows takes milliseconds
PAUSE = 0.01
_objects: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # names of storages in memory, which no copy inherits


class StudyStore:
    """A run of alike draws, kept in the attributes of a study and its trials. ``terms`` is where its terms are."""

    shared, hidden = True, False

    def __init__(self, study: Study, terms: str = "terms") -> None:
        self.study, self.terms = study, terms
        self._home: Home | None = None
        self._until: dict[int, float] = {}  # how long the draw of a trial is waited for
        self._head = 0, 0  # so many of the first trials are finished, one after the other; so many of those are claimed

    def home(self) -> Home:
        """By name and number, in the storage that holds it."""
        if self._home is None or self._home.kind == MEMORY:  # a database stays where it is; a process may be forked
            name = f"study {self.study.study_name!r} ({self.study._study_id})"
            self._home = Home(*place_of(self.study._storage), name)
        return self._home

    def read(self, name: str) -> Any:
        if name != "terms":
            return read_attribute(self.study, f"tacit:{name}")
        # Results are looked for before terms: another process stores its terms before it observes.
        done = [t for t in self.study.get_trials(deepcopy=False) if t.state.name == "COMPLETE"]
        stored = read_attribute(self.study, f"tacit:{self.terms}")
        if any(not is_claimed(t) for t in done) or (done and stored is None):
            raise BadInput("this study already has results that were not privately observed; start a new study")
        if stored is None:
            return None
        try:
            return dict(json.loads(stored))
        except (ValueError, TypeError):
            raise BadInput(
                "the terms that this study holds are not what was written there: the run cannot go on. Put the latest "
                "copy back, or start again with another folder, which is paid for anew"
            ) from None

    def write(self, name: str, value: Any) -> None:
        if name == "terms":
            name, value = self.terms, json.dumps(value, sort_keys=True)
        self.study.set_user_attr(f"tacit:{name}", value)

    def runs(self) -> list[str]:
        # Of two processes that begin a study at once, one may see its own number alone; the other then sees both.
        if not any(key.startswith(RUN) for key in self.study.user_attrs):
            self.study.set_user_attr(f"{RUN}:{uuid.uuid4().hex}", True)
        attrs = self.study.user_attrs
        return sorted(attrs[RUN] if key == RUN else key.split(":")[-1] for key in attrs if key.startswith(RUN))

    def names(self) -> dict[str, str]:
        return {}  # its draws are numbered

    def count_claims(self) -> int:
        return self._count(self.study.get_trials(deepcopy=False))

    def expect_claims(self) -> int:
        """The same, as far as this thread has read the study since its last trial."""
        return self._count(read_trials(self.study))

    def _count(self, trials: list[FrozenTrial]) -> int:
        """What is finished stays as it is, and is looked at once."""
        finished, claimed = self._head
        while finished < len(trials) and trials[finished].state.is_finished():
            claimed += is_claimed(trials[finished])
            finished += 1
        self._head = finished, claimed  # both at once: threads may count together
        return claimed + sum(map(is_claimed, trials[finished:]))

    def find(self, trial: Trial) -> None:
        if is_claimed(trial):
            raise BudgetRefused(f"trial {trial.number} was observed already; a second look is not paid for")

    def claim(self, trial: Trial, most: int | None) -> None:
        """Of claims that are more than ``most`` together, those of the lowest trials stand; the others are withdrawn.

        Guarantee. A process that returns has seen at most ``most`` claims after its own was written. Were there more of
        them, the last to write would have seen them all, since none of those is ever withdrawn.
        Edges. A claim whose process died stays. A lower trial that waits for it gives up after ``PATIENCE`` seconds.
        A trial that was closed before its claim was written draws nothing: who saw it finished does not look again.
        """
        mine = f"{CLAIM}:{uuid.uuid4().hex}"  # a trial object knows what the storage held when it was made, not now
        trial.set_user_attr(mine, True)
        try:
            trials = self._await_turn(trial, mine, most)
        except BaseException:
            self.study._thread_local.cached_all_trials = None
            trial.set_user_attr(mine, False)  # withdrawn: nothing was drawn, and nothing will be
            raise
        self.study._thread_local.cached_all_trials = trials

    def _await_turn(self, trial: Trial, mine: str, most: int | None) -> list[FrozenTrial] | None:
        """All trials, once no more than ``most`` are claimed; BudgetRefused if this one is not among them."""
        until = time.monotonic() + PATIENCE
        while True:
            trials = None if most is None else self.study.get_trials(deepcopy=False)
            stored = self.study._storage.get_trial(trial._trial_id) if trials is None else trials[trial.number]
            self.study._storage.check_trial_is_updatable(trial._trial_id, stored.state)  # Optuna looked before it wrote
            if has_claim({key: value for key, value in stored.user_attrs.items() if key != mine}):
                raise BudgetRefused(f"trial {trial.number} was observed elsewhere; a second look is not paid for")
            if trials is None or most is None or self._count(trials) <= most:
                return trials
            # The writer of a claim before this one may have drawn, or see too many as well: its trial will tell.
            ahead = sum(is_claimed(t) and (t.state.is_finished() or t.number < trial.number) for t in trials)
            if ahead >= most or time.monotonic() > until:
                raise exhaustion(most)
            time.sleep(PAUSE)

    def await_others(self) -> None:
        """Wait for draws that other processes have claimed and not stored yet; once for one whose process died."""
        while True:
            trials = self.study._thread_local.cached_all_trials = self.study.get_trials(deepcopy=False)
            now, untold = time.monotonic(), [t.number for t in trials if not t.state.is_finished() and is_claimed(t)]
            if now >= max([self._until.setdefault(number, now + PATIENCE) for number in untold], default=now):
                return
            time.sleep(PAUSE)

    def keep(self, trial: Trial, value: Any) -> None:
        """The process that asked for the trial tells the study its value."""


def read_trials(study: Study) -> list[FrozenTrial]:
    """All trials of a study, as this thread has read them since its last trial was begun; else they are read now."""
    return study._get_trials(deepcopy=False, use_cache=True)


def read_attribute(study: Study, name: str, default: Any = None) -> Any:
    """An attribute of a study: ``study.user_attrs`` would copy all of them, an answer with all its trials too."""
    stored = study._storage.get_study_user_attrs(study._study_id).get(name, default)
    return stored if database_of(study) is not None else deepcopy(stored)  # what a database answers is a copy


def database_of(study: Study) -> RDBStorage | None:
    """The database that keeps a study, if one does."""
    from optuna.storages import RDBStorage

    backend = getattr(study._storage, "_backend", study._storage)
    return backend if isinstance(backend, RDBStorage) else None


def is_claimed(trial: Trial | FrozenTrial) -> bool:
    """Whether an observation of this trial was made, or lost."""
    return has_claim(trial.user_attrs)


def has_claim(attributes: Mapping[str, Any]) -> bool:
    """Whether these are the attributes of a trial that was claimed; a claim that was withdrawn is False."""
    return any(key.startswith(CLAIM) and value is not False for key, value in attributes.items())


def place_of(storage: Any) -> tuple[str, str]:
    """The kind of a storage, and where it is, without passwords."""
    if type(storage).__name__ == "InMemoryStorage":
        return MEMORY, _name_object(storage)
    from sqlalchemy.engine import make_url

    storage = getattr(storage, "_backend", storage)  # what caches a database; also the file of a journal
    if (url := getattr(storage, "url", None)) is not None:
        parsed = make_url(url)
        if not parsed.drivername.startswith("sqlite"):
            return SERVER, f"{parsed.host}:{parsed.port or ''}/{parsed.database}"
        if parsed.database and ":memory:" not in parsed.database:
            return FILE, os.path.realpath(parsed.database)
        return MEMORY, _name_object(storage)
    elif (file := getattr(storage, "_file_path", None)) is not None:
        return FILE, os.path.realpath(file)
    return SERVER, type(storage).__name__


def _name_object(storage: Any) -> str:
    return f"{process_name()} {_objects.setdefault(storage, uuid.uuid4().hex)}"
