"""What is read quickly is what Optuna reads: all states, and all kinds of parameters, values and attributes."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy as sa
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from tacit.errors import is_storage_error
from tacit.run import study_storage as storage
from tacit.run.study_storage import QuickStorage

DISTRIBUTIONS: dict[str, Any] = {
    "rate": FloatDistribution(1e-3, 1.0, log=True),
    "step": FloatDistribution(0.0, 1.0, step=0.25),
    "depth": IntDistribution(1, 9, step=2),
    "loss": CategoricalDistribution((None, True, "hinge", 2, 0.5)),
}
LISTS: tuple[dict[str, Any], ...] = (
    {"rate": 0.1, "step": 0.25, "depth": 3, "loss": "hinge"},
    {"loss": None, "rate": 1e-3},
    {"loss": True},
    {},
)
ENDLESS = {0: 1.5, 7: math.inf, 3: -math.inf, 5: math.nan}


@pytest.fixture
def url(ledger_url: str) -> str:
    return ledger_url.replace("postgresql://", "postgresql+psycopg://")


def fill(url: str, name: str, directions: Sequence[Any] = ("minimize", "maximize")) -> optuna.Study:
    """A study that has everything which Optuna can store."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(storage=RDBStorage(url), study_name=name, directions=directions)
    ends = ([0.25, -3.0], [math.inf, 1.0], [1e-300, -math.inf], [0.1 + 0.2, 7.0])
    for params, values in zip(LISTS, ends, strict=True):
        about: dict[str, Any] = {"params": params, "distributions": {k: DISTRIBUTIONS[k] for k in params}}
        about |= {"user_attrs": {"tacit:drawn:1": True, "é": [1, {"a": None}]}, "system_attrs": {"s": "text"}}
        study.add_trial(create_trial(values=values[: len(directions)], intermediate_values=ENDLESS, **about))
        study.add_trial(create_trial(state=TrialState.FAIL, **about))
        study.add_trial(create_trial(state=TrialState.PRUNED, **about))
    study.enqueue_trial({"rate": 0.5})
    study.enqueue_trial({"depth": 5})
    study.ask(DISTRIBUTIONS).set_user_attr("running", 1)
    return study


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with such a study, which takes Optuna long to make."""
    file = tmp_path_factory.mktemp("filled") / "study.db"
    fill(f"sqlite:///{file}", "study")
    return file


@pytest.fixture
def file(filled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(filled, tmp_path / "study.db"))


def describe(trials: list[FrozenTrial]) -> list[dict[str, Any]]:
    """All of each trial, with NaN equal to itself."""
    return [{**vars(t), "intermediate_values": {k: repr(v) for k, v in t.intermediate_values.items()}} for t in trials]


def test_a_quick_read_is_optunas_trial_by_trial(url: str) -> None:
    others = fill(url, "others", ("maximize",))
    study = fill(url, "mine")
    for one in (study, others):
        mine = optuna.load_study(storage=QuickStorage(url), study_name=one.study_name).get_trials(deepcopy=False)
        assert describe(mine) == describe(one.get_trials(deepcopy=False))
        assert [list(t.params) for t in mine] == [list(t.params) for t in one.get_trials(deepcopy=False)]
        assert {t.state for t in mine} == set(TrialState)


def test_what_others_tell_after_the_first_read_is_seen(url: str) -> None:
    theirs = fill(url, "study")
    mine = optuna.load_study(storage=QuickStorage(url), study_name="study")
    running = next(t for t in mine.get_trials(deepcopy=False) if t.state == TrialState.RUNNING)
    theirs.tell(running.number, [1.0, 2.0])
    theirs.add_trial(create_trial(values=[3.0, 4.0]))
    assert describe(mine.get_trials(deepcopy=False)) == describe(theirs.get_trials(deepcopy=False))
    assert mine.get_trials(deepcopy=False)[running.number].values == [1.0, 2.0]


def test_optuna_reads_tables_of_another_version(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = optuna.load_study(storage=RDBStorage(f"sqlite:///{file}"), study_name="study")
    monkeypatch.setattr(storage, "SCHEMA", "v9.0.0.a")
    monkeypatch.delattr(QuickStorage, "_read_study")
    mine = optuna.load_study(storage=QuickStorage(f"sqlite:///{file}"), study_name="study")
    assert describe(mine.get_trials(deepcopy=False)) == describe(study.get_trials(deepcopy=False))


def test_a_study_that_is_not_there_is_refused_as_optuna_does(tmp_path: Any) -> None:
    with pytest.raises(KeyError):
        QuickStorage(f"sqlite:///{tmp_path}/study.db").get_all_trials(7)


def test_a_distribution_is_parsed_once_however_many_trials_share_it(file: Path) -> None:
    storage.parse_distribution.cache_clear()
    mine = optuna.load_study(storage=QuickStorage(f"sqlite:///{file}"), study_name="study")
    assert len(mine.get_trials(deepcopy=False)) == 3 * len(LISTS) + 2
    assert storage.parse_distribution.cache_info().misses == len(DISTRIBUTIONS)


@pytest.mark.parametrize("damage", ["value = NULL", "value_type = 'INF_POS'", "value_type = 'FINITE '"])
def test_a_number_that_was_changed_is_an_error_of_the_storage(damage: str, file: Path) -> None:
    mine = optuna.load_study(storage=QuickStorage(f"sqlite:///{file}"), study_name="study")
    with sa.create_engine(f"sqlite:///{file}").begin() as connection:
        connection.execute(sa.text(f"UPDATE trial_values SET {damage} WHERE trial_value_id = 1"))
    with pytest.raises((ValueError, KeyError)) as caught:
        mine.get_trials(deepcopy=False)
    assert is_storage_error(caught.value)
