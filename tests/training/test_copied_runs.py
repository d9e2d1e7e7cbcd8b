"""Folders of trainings and selections that are copied while they run, and two processes that go on with one."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from train_parts import BUDGET, quick, table

import tacit
from tacit.errors import LedgerError, TacitError
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import Exact
from tacit.privacy.release import digest
from tacit.run.private_state import PrivateState
from tacit.training import runs as runs_module

Work = Callable[..., Any]


class Counted(Exact):
    """Exact noise that counts its draws."""

    draws = 0

    def gaussian_whole(self, value: int, scale: float) -> int:
        Counted.draws += 1
        return super().gaussian_whole(value, scale)


def select(out: Path, ledger: Ledger, look: Callable[[], None] = lambda: None) -> Any:
    def objective(params: Any, base: Any) -> Any:
        look()
        return params["x"], np.full(2000, 0.3)

    space = {"x": tacit.Float(0, 1)}
    return tacit.select(objective, space, records=2000, budget=BUDGET, runs=4, out=out, ledger=ledger, progress=False)


def train(out: Path, ledger: Ledger, look: Callable[[], None] = lambda: None) -> Any:
    usual = runs_module.store_run

    def store_run(*given: Any) -> None:
        usual(*given)
        look()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_module, "store_run", store_run)
        return quick(table(), out=out, ledger=ledger)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "ledger.db", "set", Budget.approximate(9.0, 1e-3), composition="basic")


@pytest.mark.parametrize("work", [train, select])
@pytest.mark.parametrize("moment", [1, 2])
def test_of_a_live_run_and_its_clone_one_is_released(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, work: Work, moment: int
) -> None:
    """The clone is made in the midst of a run, and ends before it."""
    monkeypatch.setattr("tacit.training.secret_search.draw_runs", lambda law: 3)
    calls, clones = [0], list[Any]()

    def clone() -> None:
        calls[0] += 1
        if calls[0] == moment:
            shutil.copytree(tmp_path / "one", tmp_path / "two")
            clones.append(work(tmp_path / "two", ledger))

    released = list[Any]()
    with suppress(LedgerError):  # it does not pay for a second one
        released.append(work(tmp_path / "one", ledger, clone))
    assert len({digest(release.value) for release in (*clones, *released)}) == 1  # the best run may be an older one
    assert bool(released) == (tmp_path / "one" / "certificate.json").exists()
    assert ledger.verify_certificate(clones[0].certificate()).paid
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]


def test_a_live_search_and_its_clone_draw_no_more_than_was_paid(tmp_path: Path, ledger: Ledger) -> None:
    """Of one study in two folders the draws are numbered by the ledger: together they are as many as were paid for."""
    released, calls = list[Any](), [0]

    def tune(out: Path, look: Callable[[], None]) -> None:
        def losses(params: Any) -> Any:
            look()
            return np.full(2000, params["x"])

        options: dict[str, Any] = {"records": 2000, "bounds": (0.0, 1.0), "budget": Budget.approximate(1.0, 1e-6)}
        released.append(
            tacit.tune(losses, {"x": tacit.Float(0, 1)}, **options, trials=6, method="observed", out=out, ledger=ledger,
                       progress=False, accept_noise=True, noise=Counted())
        )  # fmt: skip

    def clone() -> None:
        calls[0] += 1
        if calls[0] == 3:
            shutil.copytree(tmp_path / "one", tmp_path / "two")
            try:
                tune(tmp_path / "two", lambda: None)
            except TacitError as error:
                refused.append(str(error))

    refused = list[str]()
    Counted.draws = 0
    try:
        tune(tmp_path / "one", clone)
    except TacitError as error:
        refused.append(str(error))
    assert released or refused
    assert 0 < Counted.draws <= 6
    assert len({str(r.value.to_json()) for r in released if ledger.verify_certificate(r.certificate()).paid}) <= 1
    assert sum(e.kind == "charge" for e in ledger.entries()) == 1
    ledger.verify()


def _train_and_say(out: Path, url: Path, start: Any, said: Any) -> None:
    start.wait(120)
    try:
        said.put(str(quick(table(), out=out, ledger=Ledger.open(url, "set")).payment.entry))
    except TacitError as error:
        said.put(f"{type(error).__name__}: {error}")


def test_of_two_processes_that_go_on_with_one_training_one_does(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tacit.training.secret_search.run_all", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            quick(table(), out=tmp_path / "out", ledger=ledger)
    context = get_context("spawn")
    start, said = context.Barrier(2), context.Queue()
    work = (tmp_path / "out", tmp_path / "ledger.db", start, said)
    children = [context.Process(target=_train_and_say, args=work) for _ in range(2)]
    for child in children:
        child.start()
    words = sorted(said.get(timeout=120) for _ in children)
    for child in children:
        child.join()
    assert words[0] == "1"
    assert "another run is writing to" in words[1] or "holds a finished release" in words[1]
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]


def test_two_threads_do_not_go_on_with_one_training(tmp_path: Path, ledger: Ledger) -> None:
    ended, start = list[str](), threading.Barrier(2)

    def work() -> None:
        start.wait()
        try:
            ended.append(str(select(tmp_path / "out", ledger).payment.entry))
        except TacitError as error:
            ended.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended)[0] == "1"
    assert "another run is writing to" in sorted(ended)[1] or "holds a finished release" in sorted(ended)[1]
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]


def test_an_objective_that_forks_and_returns_twice_releases_once(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child returns from the objective as well, and would go on with the search beside its parent."""
    monkeypatch.setattr("tacit.training.secret_search.draw_runs", lambda law: 2)
    parent, children = os.getpid(), list[int]()

    def fork() -> None:
        if os.getpid() == parent and not children:
            children.append(os.fork())

    status = 0
    try:
        release = select(tmp_path / "out", ledger, fork)
    except TacitError as error:
        status = 7 if "forked in the midst of a run" in str(error) else 8
    finally:
        if os.getpid() != parent:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
    assert ledger.verify_certificate(release.certificate()).paid
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]


def test_a_classifier_that_is_killed_keeps_nothing_on_the_disk(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it paid stays spent; see docs/security.md."""
    states = list[PrivateState]()
    usual = PrivateState.__init__
    monkeypatch.setattr(PrivateState, "__init__", lambda self, folder: (usual(self, folder), states.append(self))[0])
    monkeypatch.setattr("tacit.training.secret_search.run_all", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.chdir(tmp_path)
    before = {p for p in tmp_path.rglob("*") if "ledger.db" not in p.name}
    data = table()
    with pytest.raises(KeyboardInterrupt):
        tacit.PrivateClassifier(epsilon=2.0, delta=1e-5, ledger=ledger).fit(data[["age"]].astype(float), data["ill"])
    assert [state.folder for state in states] == [None]
    assert {p for p in tmp_path.rglob("*") if "ledger.db" not in p.name} == before
    assert [e.status for e in ledger.entries()] == ["debited, not drawn"]
