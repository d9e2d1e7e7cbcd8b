"""The Optuna study of a run, in memory or in a database, and what was observed in it.

Everything here is released: a study of private observations holds only values that already carry their noise.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import date, datetime, time
from time import sleep
from typing import Any

import optuna
from optuna.trial import TrialState

from tacit.errors import BadInput
from tacit.files import Json
from tacit.run.study_storage import QuickStorage
from tacit.run.study_store import CONFIRMS, CONSTRAINED, database_of, read_attribute
from tacit.space import Params, Space

PATIENCE = 60  # seconds to wait for another process that writes to the same file
ATTEMPTS = 20  # to open a storage that other processes are making, over ten seconds
SEARCH = "tacit:search"
MADE_TWICE = {"42P07", "42710", "23505", "40P01", "40001"}  # a table, an object, a row; a deadlock, a lost turn
BUSY = {1, 5, 6, 19}  # a statement that the tables contradict by now, busy, locked, a constraint


def open_study(storage: Any, name: str, directions: Sequence[Any], *, take_over: bool = False) -> optuna.Study:
    """The study of this name, begun if it is new. With ``take_over``, trials that were cut short are closed: the
    process that ran them is gone."""
    logging.getLogger("optuna").setLevel(logging.WARNING)
    if isinstance(storage, str) and storage.startswith("postgresql://"):  # the driver that tacit[postgres] brings
        storage = storage.replace("postgresql://", "postgresql+psycopg://", 1)
    for attempt in range(ATTEMPTS):
        try:
            where = _open_storage(storage) if isinstance(storage, str) else storage
            study = optuna.create_study(storage=where, study_name=name, directions=directions, load_if_exists=True)
            break
        except Exception as error:  # Optuna and SQLAlchemy raise many kinds; none of them is about private data
            if attempt + 1 == ATTEMPTS or not (isinstance(storage, str) and _was_made_meanwhile(error)):
                kind = type(error).__name__
                raise BadInput(f"the study storage cannot be opened ({kind}). Nothing was spent") from None
            sleep(0.05 * (1 + attempt))
    if take_over:
        for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            study.tell(trial.number, state=TrialState.FAIL)
    return study


def _open_storage(url: str) -> QuickStorage:
    """A storage that waits for other processes, where Optuna's own would give up on a file after five seconds."""
    patient = {"connect_args": {"timeout": PATIENCE}} if url.startswith("sqlite") else {}
    return QuickStorage(url, engine_kwargs=patient)


def _was_made_meanwhile(error: BaseException | None) -> bool:
    """Whether a storage failed to open because another process was making its tables in the same moment.

    By the codes of the databases' drivers: PostgreSQL's SQLSTATE, the result code of SQLite.
    """
    while error is not None:
        driver = getattr(error, "orig", None)
        code = getattr(driver, "sqlite_errorcode", None)
        if isinstance(error, AssertionError) or getattr(driver, "sqlstate", None) in MADE_TWICE:
            return True
        if code is not None and code & 0xFF in BUSY:  # the low byte of an extended code
            return True
        error = error.__cause__ or error.__context__
    return False


def describe_search(study: optuna.Study, space: Space, method: str) -> str:
    """What is searched and how, to be kept with the study; one that was begun otherwise is refused."""
    mine = f"method {method!r} over {space.describe()}"
    stored = read_attribute(study, SEARCH, mine)
    if stored != mine:
        raise BadInput(
            f"this study was begun with another space or method: {stored}; now {mine}. Start a new study (another "
            "folder). Nothing was spent"
        )
    return mine


def round_times(study: optuna.Study) -> None:
    """Let every finished trial begin and end at midnight: how long one took may tell of a record, and nobody needs it.

    Edges. Databases alone keep times beyond this process. Until a search is done its trials have theirs.
    """
    database = database_of(study)
    if database is None:
        return
    import sqlalchemy as sa

    trials = sa.table("trials", *map(sa.column, ("study_id", "datetime_start", "datetime_complete")))
    midnight = sa.literal(datetime.combine(date.today(), time()), sa.DateTime)
    done = sa.and_(trials.c.study_id == study._study_id, trials.c.datetime_complete.is_not(None))
    change = sa.update(trials).where(done).values(datetime_start=midnight, datetime_complete=midnight)
    with database.engine.begin() as connection:
        connection.execute(change)


def observed_trials(study: optuna.Study) -> list[Json]:
    """The released observations, in order."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [
        {"params": dict(t.params), "value": t.value}
        | ({"constraint": t.user_attrs[CONSTRAINED]} if CONSTRAINED in t.user_attrs else {})
        for t in done
    ]


def confirmed_choice(study: optuna.Study) -> Params | None:
    """The parameters that were confirmed first, if any were: one choice for all processes that confirm at once."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return next((dict(t.params) for t in done if CONFIRMS in t.user_attrs), None)


def confirmed_values(study: optuna.Study, params: Params) -> list[tuple[float, float | None]]:
    """The observations that were made of the chosen parameters, after they were chosen; of a constrained metric too."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    fresh = [t for t in done if CONFIRMS in t.user_attrs and t.params == params and t.value is not None]
    return [(float(t.value or 0.0), t.user_attrs.get(CONSTRAINED)) for t in fresh]
