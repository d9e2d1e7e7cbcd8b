"""tacit.private with real samplers and storages, threads and processes: at most the paid draws, paid once."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import optuna_bowl
import pytest
from optuna.trial import TrialState
from optuna_bowl import BUDGET, N, bowl, opened, study_in, values, wrapped

import tacit
from tacit.errors import BadInput, BudgetRefused, LedgerError


def gp_sampler() -> optuna.samplers.BaseSampler:
    pytest.importorskip("torch")
    return optuna.samplers.GPSampler(seed=0, n_startup_trials=5)


SAMPLERS: dict[str, Callable[[], optuna.samplers.BaseSampler]] = {
    "tpe": lambda: optuna.samplers.TPESampler(seed=0),
    "cma-es": lambda: optuna.samplers.CmaEsSampler(seed=0),
    "random": lambda: optuna.samplers.RandomSampler(seed=0),
    "gp": gp_sampler,
}


IN_MEMORY = [pytest.param(name, "memory", marks=[pytest.mark.slow] * (name == "gp")) for name in SAMPLERS]  # gp: torch


@pytest.mark.parametrize(("name", "kind"), [*IN_MEMORY, ("tpe", "sqlite")])
def test_every_sampler_finds_the_bowl(name: str, kind: str, tmp_path: Path) -> None:
    """Noise 0.0115; the ends of [0.01, 1] are 0.1 worse than the middle, nine deviations, and the first points are
    seeded, with some near the middle: false alarm below 1e-6.
    """

    def two(trial: Any) -> np.ndarray:
        return bowl(trial) + 0.05 * (trial.suggest_float("shift", -1.0, 1.0) ** 2)

    study = study_in(f"sqlite:///{tmp_path}/s.db" if kind == "sqlite" else None, sampler=SAMPLERS[name]())
    trials = 30 if kind == "memory" else 20
    objective = wrapped(two, trials=trials)
    study.optimize(objective, n_trials=trials)
    release = objective.release(study)
    assert len(values(study)) == trials == len(release.value.trials)
    assert 0.01 < release.value.params["rate"] < 1.0
    assert set(release.value.details) == {"score"}
    assert release.guarantee == objective.guarantee
    assert release.guarantee.unconditional


def test_direction_comes_from_the_study_and_must_agree_with_it() -> None:
    study = study_in(direction="maximize")
    objective = wrapped(lambda t: 1 - bowl(t))
    study.optimize(objective, n_trials=20)
    release = objective.release(study)
    assert release.value.direction == "maximize"
    assert release.value.score is not None
    assert release.value.score > 0.8
    with pytest.raises(BadInput, match="one direction 'minimize'"):
        study_in(direction="maximize").optimize(wrapped(direction="minimize"), n_trials=1)
    with pytest.raises(BadInput, match="one direction"):
        study_in(directions=["minimize", "maximize"]).optimize(wrapped(), n_trials=1)


def test_missing_losses_count_as_the_worse_bound_of_the_study() -> None:
    """Noise 0.005; a wrong bound would be off by 1."""
    for direction, worst in (("minimize", 1.0), ("maximize", 0.0)):
        study = study_in(direction=direction)
        study.optimize(wrapped(lambda t: np.full(N, np.nan * t.suggest_float("x", 0, 1)), trials=2), n_trials=2)
        assert all(abs(v - worst) < 0.1 for v in values(study))


def test_the_trial_after_the_last_paid_one_is_refused_and_evaluates_nothing() -> None:
    calls = list[int]()

    def counted(trial: Any) -> np.ndarray:
        calls.append(trial.number)
        return bowl(trial)

    study = study_in()
    with pytest.raises(BudgetRefused, match="50 observations were paid for and all are used"):
        study.optimize(wrapped(counted, trials=50), n_trials=51)
    assert len(values(study)) == len(calls) == 50
    assert study.trials[50].state == TrialState.FAIL


def test_caught_errors_lose_no_claim() -> None:
    def flaky(trial: Any) -> np.ndarray:
        if trial.number % 2:
            raise ValueError("no")
        return bowl(trial)

    study = study_in()
    study.optimize(wrapped(flaky, trials=10), n_trials=40, catch=(Exception,))
    assert len(values(study)) == 10
    assert [t.number for t in study.trials if t.value is not None] == list(range(0, 20, 2))


def test_failures_are_bounded_since_each_tells_something() -> None:
    calls = []

    def fails(trial: Any) -> np.ndarray:
        calls.append(trial.number)
        raise ValueError("the record is ill")

    study = study_in()
    study.optimize(wrapped(fails, trials=10), n_trials=25, catch=(Exception,))
    assert len(calls) == 10
    with pytest.raises(BudgetRefused, match="10 evaluations of this study failed, as many as were paid for"):
        study.optimize(wrapped(fails, trials=10), n_trials=1)  # another process, or another day
    assert len(calls) == 10


def test_threads_together_draw_no_more_than_was_paid_for() -> None:
    study = study_in()
    study.optimize(wrapped(trials=30), n_trials=45, n_jobs=4, catch=(BudgetRefused,))
    assert len(values(study)) == 30
    study = study_in()
    study.optimize(wrapped(trials=30), n_trials=30, n_jobs=4)
    assert len(values(study)) == 30


@pytest.mark.parametrize("kind", ["sqlite:///", "journal:"])
def test_two_processes_together_draw_no_more_than_was_paid_for(kind: str, tmp_path: Path) -> None:
    address = f"{kind}{tmp_path}/study"
    optuna.create_study(study_name="shared", storage=opened(address))
    command = [sys.executable, optuna_bowl.__file__, address, "10", "12"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [p.communicate(timeout=120)[0].strip() for p in both]
    assert [p.returncode for p in both] == [0, 0]
    assert "refused" in said  # 20 were wanted, 12 paid for
    drawn = values(optuna.load_study(study_name="shared", storage=opened(address)))
    assert len(drawn) == 12
    assert len(set(drawn)) == len(drawn)


def test_a_resumed_study_pays_once_and_another_study_pays_again(tmp_path: Path) -> None:
    storage, options = f"sqlite:///{tmp_path}/s.db", {"study_name": "s"}
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "records", tacit.Budget.approximate(1.2, 1e-6))
    first = wrapped(trials=10, ledger=ledger)
    assert first.payment is None
    study_in(storage, **options).optimize(first, n_trials=4)
    second = wrapped(trials=10, ledger=ledger)
    study = study_in(storage, **options)
    study.optimize(second, n_trials=6)
    assert second.payment == first.payment is not None
    release = second.release(study)
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]
    assert ledger.verify_certificate(release.certificate()).paid
    assert second.release(study) == release == wrapped(trials=10, ledger=ledger).release(study)
    with pytest.raises(BudgetRefused, match="ledger 'records'"):
        study_in().optimize(wrapped(trials=10, ledger=ledger), n_trials=1)


def test_a_release_before_the_end_is_the_one_that_the_ledger_records(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "records", BUDGET)
    objective, study = wrapped(trials=10, ledger=ledger), study_in()
    study.optimize(objective, n_trials=5)
    assert len(objective.release(study).value.trials) == 5
    study.optimize(objective, n_trials=5)
    with pytest.raises(LedgerError, match="does not pay for a second one"):
        objective.release(study)


def test_a_study_keeps_its_terms(tmp_path: Path) -> None:
    study = study_in()
    study.optimize(wrapped(trials=10), n_trials=1)
    study.optimize(wrapped(trials=10, bounds=(0, 1)), n_trials=1)  # the same terms in whole numbers
    for other in ({"trials": 11}, {"bounds": (0.0, 2.0)}, {"noise": tacit.Simulation(0)}):
        with pytest.raises(BadInput, match="begun under other terms"):
            study.optimize(wrapped(**{"trials": 10, **other}), n_trials=1)
    exact = study_in()
    exact.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(BadInput, match="not privately observed"):
        exact.optimize(wrapped(), n_trials=1)


def test_one_wrapped_objective_serves_one_study(tmp_path: Path) -> None:
    objective, options = wrapped(), {"study_name": "same"}
    storages = [f"sqlite:///{tmp_path}/{i}.db" for i in range(2)]
    study_in(storages[0], **options).optimize(objective, n_trials=1)
    again = optuna.load_study(study_name="same", storage=storages[0])
    again.optimize(objective, n_trials=1)  # another object, the same study
    assert len(values(again)) == 2
    with pytest.raises(BadInput, match="one study is one release"):
        study_in(storages[1], **options).optimize(objective, n_trials=1)


def test_results_from_elsewhere_spoil_the_release() -> None:
    objective, study = wrapped(), study_in()
    with pytest.raises(BadInput, match="no private observations"):
        objective.release(study)
    study.optimize(objective, n_trials=3)
    study.optimize(lambda t: t.suggest_float("rate", 1e-3, 1.0, log=True), n_trials=1)
    with pytest.raises(BadInput, match="Nothing was released"):
        objective.release(study)


def test_trials_of_different_parameters_are_modelled_apart_and_compete() -> None:
    def conditional(trial: Any) -> np.ndarray:
        kind = trial.suggest_categorical("kind", ["a", "b"])
        return bowl(trial) if kind == "a" else np.full(N, 0.5 + 0 * trial.suggest_int("depth", 1, 5))

    objective, study = wrapped(conditional), study_in()
    study.optimize(objective, n_trials=20)
    value = objective.release(study).value
    assert {t.params["kind"] for t in study.trials} == {"a", "b"}
    assert value.params["kind"] == "a"
    assert value.params in [t.params for t in study.trials]
    assert abs((value.score or 0.0) - bowl(optuna.trial.FixedTrial(value.params)).mean()) < 1.96 * (
        value.deviation or 0.0
    )
    assert (value.deviation or 0.0) > (value.noise or 0.0)  # twenty observations competed


def test_ask_and_tell_work_and_a_second_look_is_refused() -> None:
    study, objective = study_in(), wrapped()
    trial = study.ask()
    value = objective(trial)
    with pytest.raises(BudgetRefused, match="second look"):
        objective(trial)
    study.tell(trial, value)
    assert objective.release(study).value.params == trial.params


def test_a_wrapped_objective_can_be_pickled() -> None:
    study, objective = study_in(), wrapped(trials=3)
    study.optimize(pickle.loads(pickle.dumps(objective)), n_trials=1)
    study.optimize(objective, n_trials=1)
    study.optimize(pickle.loads(pickle.dumps(objective)), n_trials=1)
    with pytest.raises(BudgetRefused):
        study.optimize(objective, n_trials=1)
    assert len(values(study)) == 3
