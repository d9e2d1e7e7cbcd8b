"""Claims in a study: each trial once, whatever object stands for it; where a study is."""

from __future__ import annotations

import contextlib
import copy
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest
from claims_stores import Kind, StudyInMemory, StudyInPostgres, StudyInSQLite, T, fork
from optuna.storages import RDBStorage
from optuna.trial import TrialState

from tacit.errors import BudgetRefused
from tacit.privacy.claims import Claims
from tacit.run import study_store
from tacit.run.study_store import CLAIM, StudyStore, is_claimed, place_of


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


def claim_together(kind: Kind, claimants: int, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Claim from several threads, each with a study of its own, and look when all have written: who drew, by trial."""
    written, drew = threading.Barrier(claimants), [False] * claimants
    crew = [kind.open() for _ in range(claimants)]
    trials = [kind.key(claims, 0) for claims in crew]
    look = StudyStore._await_turn

    def look_late(*given: Any) -> Any:
        written.wait(120)
        return look(*given)

    def work(i: int, claims: Claims) -> None:
        try:
            value = claims.draw(trials[i], lambda: 0, kind.note)
        except BudgetRefused:
            claims.store.study.tell(trials[i], state=optuna.trial.TrialState.FAIL)  # type: ignore[attr-defined]
        else:
            claims.store.study.tell(trials[i], value)  # type: ignore[attr-defined]
            drew[i] = True

    with monkeypatch.context() as patch:
        patch.setattr(StudyStore, "_await_turn", look_late)
        threads = [threading.Thread(target=work, args=about) for about in enumerate(crew)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return drew


@pytest.mark.parametrize(
    ("kind", "claimants", "left"),
    [
        *((StudyInMemory, claimants, left) for claimants in (2, 3, 4) for left in (1, 2)),
        *((StudyInSQLite, claimants, left) for claimants, left in ((2, 1), (4, 2))),
        *(pytest.param("server", claimants, left, marks=pytest.mark.postgres) for claimants, left in ((2, 1), (4, 2))),
    ],
)
def test_of_claims_written_together_the_lowest_trials_draw(
    kind: Any, claimants: int, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "server" else ""
    made = StudyInPostgres(tmp_path, url) if url else kind(tmp_path)
    made.draw_all(made.open(), T - left)
    assert claim_together(made, claimants, monkeypatch) == [i < left for i in range(claimants)]
    claims = made.open()
    assert (made.drawn, claims.store.count_claims(), claims.left()) == (T, T, 0)
    assert made.draw_all(claims, 1) == []  # what was withdrawn is no draw that is left


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_claim_of_a_process_that_died_stays(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_store, "PATIENCE", 0.2)
    kind = StudyInSQLite(tmp_path)
    claims = kind.open()
    kind.draw_all(claims, T - 1)
    trials = [kind.key(claims, 0) for _ in range(2)]
    dead, trial = trials if place == "before" else reversed(trials)
    dead.set_user_attr(f"{CLAIM}:of the dead", True)  # whether it drew is not known
    with pytest.raises(BudgetRefused, match="all are used"):
        claims.draw(trial, lambda: 0, kind.note)
    assert (kind.drawn, claims.left(), claims.store.count_claims()) == (T - 1, 0, T)
    claims.store.await_others()  # type: ignore[attr-defined]  # not for ever


@pytest.mark.parametrize("kind", [StudyInSQLite, pytest.param("server", marks=pytest.mark.postgres)])
def test_a_trial_that_was_closed_while_its_claim_was_written_draws_nothing(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "server" else ""
    made = StudyInPostgres(tmp_path, url) if url else kind(tmp_path)
    mine, others = made.open(), made.open()
    made.draw_all(mine, T - 1)
    trial = made.key(mine, 0)
    look = RDBStorage.check_trial_is_updatable

    def look_and_stop(storage: Any, number: int, state: TrialState) -> None:
        look(storage, number, state)
        if number == trial._trial_id:  # stopped between Optuna's look and its write: a heartbeat gives the trial up
            monkeypatch.undo()
            others.store.study.tell(trial.number, state=TrialState.FAIL)  # type: ignore[attr-defined]
            assert others.left() == 1

    monkeypatch.setattr(RDBStorage, "check_trial_is_updatable", look_and_stop)
    with pytest.raises(RuntimeError, match="already finished"):
        mine.draw(trial, lambda: 0, made.note)
    assert len(made.draw_all(others, 2)) == 1
    assert made.drawn == T


def test_processes_that_died_together_are_waited_for_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(study_store, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    kind = StudyInMemory(tmp_path)
    claims = kind.open()
    for trial in [kind.key(claims, 0) for _ in range(T)]:
        trial.set_user_attr(f"{CLAIM}:of the dead", True)
    claims.store.await_others()  # type: ignore[attr-defined]
    assert now == pytest.approx(study_store.PATIENCE, abs=2 * study_store.PAUSE)


def test_what_was_numbered_ahead_is_drawn_though_others_claimed_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.privacy.claims.AHEAD", 1)
    monkeypatch.setattr("tacit.privacy.claims.SOON", 60.0)
    kind = StudyInSQLite(tmp_path)
    with kind.ledger() as ledger:
        claims = kind.open(ledger)
        kind.draw_all(claims, 2)  # the second is numbered together with the third

        def draw_elsewhere() -> None:
            with kind.ledger() as theirs:
                other = kind.open(theirs)
                trials = [kind.key(other, 0) for _ in range(T)]  # evaluated before any of them is drawn
                for trial in trials:
                    with contextlib.suppress(BudgetRefused):
                        other.draw(trial, lambda: 0, kind.note)

        child = fork.Process(target=draw_elsewhere)
        child.start()
        child.join()
        assert (kind.drawn, claims.store.count_claims() > T, claims.left()) == (T - 1, True, 1)
        assert len(kind.draw_all(claims, 2)) == 1
    assert kind.drawn == T


def test_an_interrupted_claim_is_withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    kind = StudyInSQLite(tmp_path)
    claims = kind.open()
    trial = kind.key(claims, 0)
    with monkeypatch.context() as patch:
        patch.setattr(StudyStore, "_await_turn", stop)
        with pytest.raises(KeyboardInterrupt):
            claims.draw(trial, lambda: 0, kind.note)
    assert (kind.drawn, claims.left(), is_claimed(trial)) == (0, T, False)
    assert len(kind.draw_all(claims, T)) == T


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
