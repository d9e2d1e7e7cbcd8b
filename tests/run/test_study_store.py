"""Claims in a study: each trial once, whatever object stands for it; where a study is."""

from __future__ import annotations

import copy
from pathlib import Path

import optuna
import pytest
from claims_stores import StudyInMemory, StudyInSQLite, T

from tacit.errors import BudgetRefused
from tacit.run.study_store import StudyStore, is_claimed, place_of


def test_a_trial_is_observed_once(tmp_path: Path) -> None:
    kind = StudyInMemory(tmp_path)
    claims = kind.open()
    trial = kind.key(claims, 0)
    claims.draw(trial, lambda: 0, kind.note)
    with pytest.raises(BudgetRefused, match="a second look is not paid for"):
        claims.draw(trial, lambda: 0, kind.note)
    assert (kind.drawn, claims.left()) == (1, T - 1)


def test_a_trial_object_made_before_the_draw_cannot_draw_again(tmp_path: Path) -> None:
    kind = StudyInSQLite(tmp_path)
    claims = kind.open()
    trial = kind.key(claims, 0)
    copies = [optuna.Trial(trial.study, trial._trial_id) for _ in range(3)]
    claims.draw(trial, lambda: 0, kind.note)
    for other in copies:
        with pytest.raises(BudgetRefused, match="a second look is not paid for"):
            claims.draw(other, lambda: 0, kind.note)
    assert (kind.drawn, claims.left()) == (1, T - 1)


def test_claims_of_the_first_release_count(tmp_path: Path) -> None:
    kind = StudyInMemory(tmp_path)
    claims = kind.open()
    trial = kind.key(claims, 0)
    trial.set_user_attr("tacit:drawn", True)
    assert is_claimed(trial)
    assert claims.left() == T - 1


def test_what_is_finished_is_counted_once_and_what_comes_later_too(tmp_path: Path) -> None:
    kind = StudyInMemory(tmp_path)
    claims = kind.open()
    store, running = claims.store, kind.key(claims, 0)
    for i in range(2):
        kind.draw(claims, i)
        assert store.count_claims() == i + 1
    claims.draw(running, lambda: 0, kind.note)  # an earlier trial, claimed after later ones
    assert store.count_claims() == StudyStore(running.study).count_claims() == 3


def test_a_storage_has_a_place(tmp_path: Path) -> None:
    memory = optuna.storages.InMemoryStorage()
    assert place_of(memory) == place_of(memory)
    assert place_of(memory)[0] == "memory"
    assert place_of(copy.deepcopy(memory)) != place_of(memory)
    assert place_of(optuna.storages.RDBStorage("sqlite:///:memory:"))[0] == "memory"
    (tmp_path / "link").symlink_to(tmp_path)
    file = str((tmp_path / "s.db").resolve())
    for url in (f"sqlite:///{tmp_path}/s.db", f"sqlite:///{tmp_path}/link/s.db"):
        assert place_of(optuna.storages.get_storage(url)) == ("file", file)
    journal = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal"))
    assert place_of(optuna.storages.JournalStorage(journal)) == ("file", str((tmp_path / "journal").resolve()))
