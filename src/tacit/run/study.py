"""Where a tuning run lives: an Optuna study in memory, in a folder or in a database, and what is written beside it.

Everything here is released: a study of private observations holds only values that already carry their noise.
"""

from __future__ import annotations

import csv
import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import optuna
from optuna.trial import TrialState

from tacit.errors import BadInput, TacitError
from tacit.methods.observed import CLAIM, CONFIRMS, Observations
from tacit.privacy.release import Release
from tacit.run.progress import progress_bar
from tacit.space import Space

if TYPE_CHECKING:
    from tacit.methods.tuned import Tuned

SEARCH = "tacit:search"


class Folder:
    """An output folder: study.db, trials.csv, certificate.json. One run at a time writes to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def storage(self) -> str:
        return f"sqlite:///{(self.path / 'study.db').resolve()}"

    def write_certificate(self, release: Release[Tuned]) -> None:
        temporary = self.path / "certificate.json.part"
        temporary.write_text(json.dumps(release.certificate(), indent=1) + "\n")
        temporary.replace(self.path / "certificate.json")

    def write(self, release: Release[Tuned], study: optuna.Study) -> None:
        self.write_certificate(release)
        rows = observed_trials(study)
        names = sorted({name for row in rows for name in row["params"]})
        with (self.path / "trials.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["trial", *names, "value"])
            writer.writerows([i, *(row["params"].get(n) for n in names), row["value"]] for i, row in enumerate(rows))


@contextmanager
def kept(out: str | Path) -> Iterator[Folder]:
    """Hold an output folder for one run; a second run at the same time is refused."""
    import fcntl

    path = Path(out)
    try:
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path / ".lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise BadInput(f"the output folder {path} cannot be written: {error.strerror}. Nothing was spent") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise TacitError(f"another run is writing to {path}; wait for it or choose another folder") from None
    try:
        yield Folder(path)
    finally:
        os.close(descriptor)


def open_study(storage: Any, name: str, directions: Sequence[Any], *, take_over: bool = False) -> optuna.Study:
    """The study of this name, begun if it is new. With ``take_over``, trials that were cut short are closed: whoever
    ran them is gone."""
    logging.getLogger("optuna").setLevel(logging.WARNING)
    if isinstance(storage, str) and storage.startswith("postgresql://"):  # the driver that tacit[postgres] brings
        storage = storage.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        study = optuna.create_study(storage=storage, study_name=name, directions=directions, load_if_exists=True)
    except Exception as error:  # Optuna and SQLAlchemy raise many kinds; none of them is about private data
        raise BadInput(f"the study storage cannot be opened ({type(error).__name__}). Nothing was spent") from None
    if take_over:
        for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            study.tell(trial.number, state=TrialState.FAIL)
    return study


def opened(storage: Any, name: str, folder: Folder | None, direction: str) -> optuna.Study:
    """The study to use: given storage first, then the folder's own, then memory."""
    if storage is not None and folder is not None:
        raise BadInput("give storage or out, not both: with out, the study is kept in the folder")
    where = folder.storage if folder is not None else storage
    return open_study(where, name, [direction], take_over=folder is not None)


def begun_alike(study: optuna.Study, space: Space, method: str) -> str:
    """What is searched and how, to be kept with the study; one that was begun otherwise is refused."""
    mine = f"method {method!r} over {space.distributions!r}"
    stored = study.user_attrs.get(SEARCH, mine)
    if stored != mine:
        raise BadInput(
            f"this study was begun with another space or method: {stored}; now {mine}. Start a new study (another "
            "folder). Nothing was spent"
        )
    return mine


def observed_trials(study: optuna.Study) -> list[dict[str, Any]]:
    """The released observations, in order."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [{"params": dict(t.params), "value": t.value} for t in done]


def confirmed_values(study: optuna.Study, params: dict[str, Any]) -> list[float]:
    """The observations that were made of the chosen parameters, after they were chosen."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [t.value for t in done if CONFIRMS in t.user_attrs and t.params == params and t.value is not None]


def exact_trials(study: optuna.Study, space: Space, trials: int, score: Callable[[dict[str, Any]], float]) -> None:
    """Ask, evaluate, tell without noise: the non-private baseline."""
    for _ in range(trials):
        trial = study.ask(fixed_distributions=space.distributions)
        study.tell(trial, score(dict(trial.params)))


@contextmanager
def trials_bar(study: optuna.Study, observations: Observations, wanted: bool) -> Iterator[Callable[..., None]]:
    """Trials done and time left, on standard error when a person is looking; shows released values only."""
    done = sum(CLAIM in t.user_attrs for t in study.get_trials(deepcopy=False)) if wanted else 0
    with progress_bar("tuning", observations.terms.trials, done=done, wanted=wanted) as advance:
        yield lambda trial, value: advance(last=f"last noisy score {value:.4g}")
