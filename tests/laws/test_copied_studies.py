"""Copies of a study, tried through the public face: all of them together draw no more than was paid for."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from forked import exit_code

import tacit
from tacit.errors import BadInput, LedgerError, TacitError
from tacit.privacy.noise import Exact

N, TRIALS = 2000, 10
BUDGET = tacit.Budget.approximate(1.0, 1e-6)
PAYING = pytest.mark.parametrize("paying", [True, False], ids=["ledger", "no ledger"])
drawn = [0]


class Counted(Exact):
    """Exact noise that counts its draws, whoever makes them in this process."""

    def gaussian_whole(self, value: int, scale: float) -> int:
        drawn[0] += 1
        return super().gaussian_whole(value, scale)


def losses(trial: optuna.Trial) -> np.ndarray:
    return np.full(N, (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2)


def private(ledger: tacit.Ledger | None, **other: Any) -> Any:
    given = {"records": N, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": TRIALS, "noise": Counted()}
    return tacit.private(losses, ledger=ledger, **{**given, **other})


def optimize(study: optuna.Study, ledger: tacit.Ledger | None, trials: int = TRIALS) -> None:
    study.sampler = optuna.samplers.RandomSampler()
    study.optimize(private(ledger), n_trials=trials, catch=(TacitError,))


@pytest.fixture(autouse=True)
def none_drawn() -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    drawn[0] = 0


@pytest.fixture
def ledger(tmp_path: Path, paying: bool) -> tacit.Ledger | None:
    return tacit.Ledger.open(tmp_path / "ledger.db", "icu", tacit.Budget.approximate(5.0, 1e-5)) if paying else None


def charges(ledger: tacit.Ledger | None) -> int:
    return sum(e.kind == "charge" for e in ledger.entries()) if ledger else 1


WAYS: dict[str, Callable[[optuna.Study], optuna.Study]] = {
    "pickled": lambda study: pickle.loads(pickle.dumps(study)),
    "deep copy": copy.deepcopy,
}


@PAYING
@pytest.mark.parametrize("way", WAYS)
def test_a_study_in_memory_that_is_copied_four_times_draws_nothing_more(
    way: str, paying: bool, ledger: tacit.Ledger | None
) -> None:
    """Before, a study pickled after its first trial and unpickled four times drew 37 times for 10 paid."""
    study = optuna.create_study(study_name="original")
    optimize(study, ledger, 1)
    copies = [WAYS[way](study) for _ in range(4)]
    for other in copies:
        optimize(other, ledger)
        with pytest.raises(BadInput, match=r"A copy draws nothing.*storage='sqlite:///study\.db'.*Nothing was drawn"):
            private(ledger)(other.ask())
    assert (drawn[0], charges(ledger)) == (1, 1)
    optimize(study, ledger)  # the original goes on
    assert (drawn[0], charges(ledger)) == (TRIALS, 1)


@PAYING
@pytest.mark.parametrize("kind", ["memory", "one file", "another file"])
def test_copies_made_by_optuna_draw_nothing(
    kind: str, paying: bool, ledger: tacit.Ledger | None, tmp_path: Path
) -> None:
    """Before, five of ``optuna.copy_study`` drew 46 times."""
    at = f"sqlite:///{tmp_path}/study.db"
    storage: Any = optuna.storages.InMemoryStorage() if kind == "memory" else at
    study = optuna.create_study(study_name="original", storage=storage)
    optimize(study, ledger, 1)
    for i in range(5 if kind == "memory" else 2):  # making a file takes Optuna long
        to: Any = f"sqlite:///{tmp_path}/{i}.db" if kind == "another file" else storage
        name = "original" if kind == "another file" else f"copy {i}"
        optuna.copy_study(from_study_name="original", from_storage=storage, to_storage=to, to_study_name=name)
        other = optuna.load_study(study_name=name, storage=to)
        optimize(other, ledger, 2)
        with pytest.raises(BadInput, match="Nothing was drawn"):
            private(ledger)(other.ask())
    assert (drawn[0], charges(ledger)) == (1, 1)
    optimize(study, ledger)
    assert (drawn[0], charges(ledger)) == (TRIALS, 1)


@PAYING
def test_a_study_in_memory_draws_nothing_in_another_process(
    paying: bool, ledger: tacit.Ledger | None, tmp_path: Path
) -> None:
    study, here = optuna.create_study(study_name="original"), tmp_path / "study.pickle"
    optimize(study, ledger, 1)
    here.write_bytes(pickle.dumps(study))

    def draw(load: Callable[[], optuna.Study]) -> None:
        before = drawn[0]
        optimize(load(), ledger)
        os._exit(drawn[0] - before)

    assert exit_code(draw, lambda: pickle.loads(here.read_bytes())) == 0
    assert exit_code(draw, lambda: study) == 0
    assert charges(ledger) == 1


def test_a_database_that_is_put_back_mid_run_draws_only_what_is_left(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", tacit.Budget.approximate(5.0, 1e-5))
    at = f"sqlite:///{tmp_path}/study.db"

    def load() -> optuna.Study:
        return optuna.create_study(study_name="s", storage=at, load_if_exists=True)

    optimize(load(), ledger, 3)
    for _ in range(4):
        shutil.copy(tmp_path / "study.db", tmp_path / "old.db")
        optimize(load(), ledger, 4)
        shutil.copy(tmp_path / "old.db", tmp_path / "study.db")
    assert (drawn[0], charges(ledger)) == (TRIALS, 1)
    with pytest.raises(LedgerError, match="paid for by ledger 'icu'"):  # nor without the ledger that counts
        private(None)(load().ask())
    ledger.verify()


def test_a_copy_still_answers(tmp_path: Path) -> None:
    """What a copy holds was released: to read it costs nothing."""
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", tacit.Budget.approximate(5.0, 1e-5))
    study = optuna.create_study(study_name="original")
    optimize(study, ledger)
    release = private(ledger).release(study)
    assert private(ledger).release(pickle.loads(pickle.dumps(study))) == release
    assert private(None).release(pickle.loads(pickle.dumps(study))).value == release.value
