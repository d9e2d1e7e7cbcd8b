"""Private observations: studies, workers and objectives that are not what they should be; nothing private is told."""

from __future__ import annotations

import logging
import os
import struct
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from observed_parts import BUDGET, Counting, N, at, bowl, claims, finished, study, terms, trials_of, tuned
from optuna.trial import TrialState

import tacit
from tacit.errors import BadInput, BudgetRefused, ObjectiveError
from tacit.methods.observed import Observations

fork = get_context("fork")


@pytest.fixture(autouse=True)
def quiet_optuna() -> None:
    logging.getLogger("optuna").setLevel(logging.WARNING)


# Studies that are not what they should be


def test_a_study_begun_under_other_terms_is_refused(tmp_path: Path) -> None:
    tuned(storage=at(tmp_path))
    others = {"trials": 6}, {"budget": tacit.Budget.gdp(0.2)}, {"bounds": (0.0, 2.0)}, {"noise": tacit.Simulation(0)}
    for other in others:
        noise = Counting()
        with pytest.raises(BadInput, match=r"begun under other terms.*Start a new study"):
            tuned(storage=at(tmp_path), **{"noise": noise, **other})
        assert noise.draws == 0
    with pytest.raises(BadInput, match=r"other terms: trials was \d+, now 6\. Start"):
        tuned(storage=at(tmp_path), trials=6)


def test_a_study_with_results_from_elsewhere_is_refused(tmp_path: Path) -> None:
    foreign = study(at(tmp_path))
    foreign.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(BadInput, match="not privately observed; start a new study"):
        tuned(storage=at(tmp_path))
    assert "tacit:terms" not in foreign.user_attrs


def test_a_study_into_which_exact_results_were_mixed_is_refused(tmp_path: Path) -> None:
    observations = Observations(study(at(tmp_path)), terms())
    observations.study.tell(trial := observations.study.ask(), observations.observe(trial, 0))
    observations.study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(BadInput, match="not privately observed; start a new study"):
        tuned(storage=at(tmp_path))


def test_a_ledger_that_is_named_for_a_finished_study_is_charged(tmp_path: Path) -> None:
    tuned(storage=at(tmp_path))
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", BUDGET)
    release = tuned(storage=at(tmp_path), ledger=ledger)
    assert ledger.verify_certificate(release.certificate()).paid
    tuned(storage=at(tmp_path), ledger=ledger)
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]
    poor = tacit.Ledger.open(tmp_path / "ledger.db", "poor", tacit.Budget.gdp(1e-3))
    tuned(storage=at(tmp_path), study_name="second")
    with pytest.raises(BudgetRefused):
        tuned(storage=at(tmp_path), study_name="second", ledger=poor)


def test_a_study_of_another_direction_is_refused(tmp_path: Path) -> None:
    study(at(tmp_path), direction="maximize")
    with pytest.raises(BadInput, match="must have the one direction 'minimize'"):
        tuned(storage=at(tmp_path))


def test_an_objective_that_fails_at_once_has_cost_nothing(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", BUDGET)
    with pytest.raises(ObjectiveError):
        tuned(lambda params: [1.0], ledger=ledger)
    assert ledger.entries() == []


def test_a_budget_that_others_spend_meanwhile_ends_the_run_before_its_first_draw(tmp_path: Path) -> None:
    ledger, noise = tacit.Ledger.open(tmp_path / "ledger.db", "icu", BUDGET), Counting()

    def greedy(params: dict[str, Any]) -> np.ndarray:
        ledger.charge(terms().guarantee(), "someone else")
        return bowl(params)

    with pytest.raises(BudgetRefused):
        tuned(greedy, ledger=ledger, noise=noise)
    assert noise.draws == 0


# Evaluations elsewhere


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_an_executor_evaluates_every_trial_once(kind: str) -> None:
    noise = Counting()
    pool: Executor = ThreadPoolExecutor(3) if kind == "threads" else ProcessPoolExecutor(2, mp_context=fork)
    with pool:
        release = tuned(executor=pool, trials=9, noise=noise, method="observed")
    assert noise.draws == 9 == len(release.value.trials)
    for trial in release.value.trials:  # eight deviations: false alarm below 1e-14
        assert abs(trial["value"] - bowl(trial["params"])[0]) < 8 * release.value.noise


def test_no_more_than_at_once_evaluations_run_together() -> None:
    lock, together = threading.Lock(), [0, 0]

    def losses(params: dict[str, Any]) -> np.ndarray:
        with lock:
            together[0] += 1
            together[1] = max(together)
        time.sleep(0.01)
        with lock:
            together[0] -= 1
        return bowl(params)

    with ThreadPoolExecutor(8) as pool:
        tuned(losses, executor=pool, at_once=2, trials=10)
    assert together[1] <= 2


def ends_its_worker(path: str, params: dict[str, Any]) -> np.ndarray:
    with open(path, "a") as file:
        file.write(".")
    if os.path.getsize(path) == 4:
        os._exit(7)
    return bowl(params)


def test_a_worker_that_dies_is_told_of_and_the_rest_is_kept(tmp_path: Path) -> None:
    losses = partial(ends_its_worker, str(tmp_path / "calls"))
    with (
        ProcessPoolExecutor(1, mp_context=fork) as pool,
        pytest.raises(ObjectiveError, match=r"a worker died.*What was observed is kept") as caught,
    ):
        tuned(losses, executor=pool, out=tmp_path / "out")
    assert caught.value.__context__ is None
    before = finished(at(tmp_path / "out"))
    assert len(before) == 3 == claims(at(tmp_path / "out"))
    assert all(t.state.is_finished() for t in trials_of(at(tmp_path / "out")))
    with ProcessPoolExecutor(1, mp_context=fork) as pool:
        tuned(losses, executor=pool, out=tmp_path / "out")
    assert finished(at(tmp_path / "out"))[:3] == before


def test_an_executor_that_is_closed_or_cannot_pickle_is_told_of(tmp_path: Path) -> None:
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(ObjectiveError, match=r"could not run the objective \(RuntimeError\)"):
        tuned(executor=closed)
    with (
        ProcessPoolExecutor(1, mp_context=fork) as pool,
        pytest.raises(ObjectiveError, match="that workers can import"),
    ):
        tuned(lambda params: bowl(params), executor=pool, storage=at(tmp_path))
    assert [t.state for t in trials_of(at(tmp_path))] == [TrialState.FAIL]


# Objectives that go wrong


@pytest.mark.parametrize(("direction", "worse"), [("minimize", 1.0), ("maximize", 0.0)])
@pytest.mark.filterwarnings("error")
def test_losses_that_are_not_numbers_count_as_the_worse_bound(direction: str, worse: float, capfd: Any) -> None:
    release = tuned(lambda params: np.full(N, np.nan), direction=direction)
    for trial in release.value.trials:  # eight deviations: false alarm below 1e-14
        assert abs(trial["value"] - worse) < 8 * release.value.noise
    assert capfd.readouterr() == ("", "")


WRONG = {
    "a mean": (lambda params: 0.5, "return the losses themselves, not their mean"),
    "too short": (lambda params: bowl(params)[1:], r"shape \(2000,\), got an ndarray of shape \(1999,\)"),
    "two columns": (lambda params: np.ones((N, 2)), r"shape \(2000, 2\)"),
    "unequal lists": (lambda params: [[1.0], [1.0, 2.0]], "one number per record"),
    "words": (lambda params: ["4711"] * N, "one number per record"),
    "nothing": (lambda params: None, "it has no return"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_an_unusable_answer_is_told_by_shape_alone(kind: str) -> None:
    objective, message = WRONG[kind]
    with pytest.raises(ObjectiveError, match=message) as caught:
        tuned(objective)
    assert "4711" not in str(caught.value)


def test_an_answer_that_changes_its_length_keeps_what_was_observed(tmp_path: Path) -> None:
    calls = [0]

    def losses(params: dict[str, Any]) -> np.ndarray:
        calls[0] += 1
        return bowl(params)[: N - (calls[0] > 2)]

    with pytest.raises(ObjectiveError, match=r"got an ndarray of shape \(1999,\)"):
        tuned(losses, out=tmp_path)
    assert len(finished(at(tmp_path))) == 2 == claims(at(tmp_path))
    assert [t.state for t in trials_of(at(tmp_path))][2] == TrialState.FAIL


@pytest.mark.parametrize("error", [ValueError, SystemExit, MemoryError], ids=lambda e: e.__name__)
@pytest.mark.parametrize("where", ["here", "in a process"])
def test_an_objective_that_raises_is_told_of_without_its_message(error: type, where: str) -> None:
    losses = partial(raises, error)
    pool = ProcessPoolExecutor(1, mp_context=fork) if where == "in a process" else None
    with pytest.raises(ObjectiveError, match=f"raised {error.__name__} in .*test_observed_refusals.py, line") as caught:
        tuned(losses, executor=pool)
    chain = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert not any("4711" in str(link) for link in chain)
    if pool:
        pool.shutdown()


def raises(error: type, params: dict[str, Any]) -> np.ndarray:
    private = 4711
    raise error(f"record {private} of {bowl(params).sum()}")


# Private values stay inside


def test_no_exact_mean_is_found_in_any_file_log_error_or_repr(tmp_path: Path, caplog: Any, capfd: Any) -> None:
    exact: list[float] = []

    def losses(params: dict[str, Any]) -> np.ndarray:
        values = np.random.default_rng(len(exact)).random(N)
        exact.append(float(values.mean()))
        if len(exact) == 4:
            raise ValueError(exact)
        return values

    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        logging.getLogger(name).propagate = True
    out, ledger = tmp_path / "out", tacit.Ledger.open(tmp_path / "ledger.db", "icu", BUDGET)
    with pytest.raises(ObjectiveError) as caught:
        tuned(losses, out=out, ledger=ledger)
    release = tuned(losses, out=out, ledger=ledger)
    observations = Observations(study(at(out)), terms(), ledger=ledger)
    mean = observations.mechanism
    texts = [caplog.text, *capfd.readouterr(), str(caught.value), repr(release), repr(observations), repr(mean)]
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 4
    everything = b"\n".join([*files, *(t.encode() for t in texts)])
    totals = [mean.total(np.random.default_rng(i).random(N)) for i in range(len(exact))]
    for value, total in zip([*exact, *map(mean.mean_of, totals)], totals * 2, strict=True):
        kept_as = [struct.pack(">d", value), struct.pack("<d", value), repr(value)[:12].encode(), str(total).encode()]
        kept_as += [struct.pack(">q", total), struct.pack("<q", total)]
        assert not any(form in everything for form in kept_as)
    for trial in release.value.trials:  # the same search finds what was released
        assert struct.pack(">d", trial["value"]) in everything
        assert repr(trial["value"])[:12].encode() in everything
