"""Private observations: the stated noise, never more draws than were paid for, one payment whatever dies when."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState
from scipy import stats

import tacit
from tacit import tuning
from tacit.errors import BadInput, BudgetRefused, GuaranteeError, LedgerError, ObjectiveError, TacitError
from tacit.objective import Objective
from tacit.optimise.observed import CLAIM, PAID, TERMS, Observations, Terms, run
from tacit.optimise.tuned import Tuned
from tacit.privacy.noise import Exact
from tacit.privacy.release import digest

N = 2000
BUDGET = tacit.Budget.approximate(1.0, 1e-6)
SPACE = {"x": tacit.Float(0.0, 1.0)}
fork = get_context("fork")


@pytest.fixture(autouse=True)
def quiet_optuna() -> None:
    logging.getLogger("optuna").setLevel(logging.WARNING)


def bowl(params: dict[str, Any]) -> np.ndarray:
    return np.full(N, 0.2 + (params["x"] - 0.3) ** 2)


def terms(trials: int = 5, budget: tacit.Budget = BUDGET, **other: Any) -> Terms:
    return Terms(**{"records": N, "bounds": (0.0, 1.0), "budget": budget, "trials": trials, **other})


def study(storage: Any = None, **other: Any) -> optuna.Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    return optuna.create_study(storage=storage, study_name="tacit", sampler=sampler, load_if_exists=True, **other)


def at(path: Path) -> str:
    return f"sqlite:///{path}/study.db"


def trials_of(storage: str) -> list[Any]:
    return optuna.load_study(study_name="tacit", storage=storage).get_trials()


def finished(storage: str) -> list[tuple[dict[str, Any], float]]:
    return [(t.params, t.value) for t in trials_of(storage) if t.state == TrialState.COMPLETE]


def claims(storage: str) -> int:
    return sum(CLAIM in t.user_attrs for t in trials_of(storage))


def tuned(objective: Callable[[Any], Any] = bowl, **other: Any) -> tacit.Release:
    given = {"records": N, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": 5, "method": "random", "progress": False}
    return tacit.tune(objective, SPACE, **{**given, **other})


class Counting(Exact):
    """Exact noise that counts its draws."""

    def __init__(self) -> None:
        self.draws = 0

    def gaussian_whole(self, value: int, scale: float) -> int:
        self.draws += 1
        return super().gaussian_whole(value, scale)


# The noise


@pytest.mark.parametrize(("records", "bounds", "trials", "mu"), [(100, (0, 1), 1, 1.0), (5000, (-3, 7), 50, 0.3)])
def test_the_noise_is_width_root_trials_over_records_mu(records: int, bounds: Any, trials: int, mu: float) -> None:
    promised = Terms(records, bounds, tacit.Budget.gdp(mu), trials)
    width = bounds[1] - bounds[0]
    assert promised.mechanism().scale == pytest.approx(width * trials**0.5 / (records * mu), rel=1e-6)
    assert promised.mechanism().scale >= width * trials**0.5 / (records * mu)


def test_the_noise_of_a_run_has_the_stated_deviation() -> None:
    """Chi-squared over 400 observations; false alarm 1e-6."""
    observations = Observations(study(), terms(400))
    run(observations, Objective(lambda params: np.full(N, 0.5), N, (0.0, 1.0)), tacit.Space(SPACE).distributions)
    values = np.array([t.value for t in observations.study.get_trials()])
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], 400)
    assert len(values) == 400
    assert low < (((values - 0.5) / (400**0.5 / (N * BUDGET.mu()))) ** 2).sum() < high


@pytest.mark.parametrize("budget", [BUDGET, tacit.Budget.zcdp(0.1), tacit.Budget.gdp(0.4)], ids=lambda b: b.notion)
def test_the_guarantee_is_the_budget(budget: tacit.Budget) -> None:
    guarantee = terms(30, budget).guarantee()
    assert guarantee.unconditional
    assert guarantee.unit == "one validation record replaced"
    if budget.notion == "approximate":
        assert guarantee.epsilon(budget.delta) == pytest.approx(budget.amount, rel=1e-9)
        assert guarantee.quoted() == pytest.approx((budget.amount, budget.delta))
    else:  # a Gaussian mechanism of mu is exactly mu-GDP and mu^2/2-zCDP
        assert guarantee.budget is not None
        assert guarantee.budget.amount == {"gdp": budget.amount, "zcdp": (2 * budget.amount) ** 0.5}[budget.notion]


def test_the_shares_of_all_trials_compose_to_the_whole() -> None:
    promised = terms(50)
    whole = tacit.compose([promised.mechanism().guarantee] * 50)
    assert whole.epsilon(1e-6) <= promised.guarantee().epsilon(1e-6) * (1 + 1e-9)


def test_a_pure_budget_is_refused_with_its_remedy() -> None:
    with pytest.raises(GuaranteeError, match=r"not pure.*Budget\.approximate\(epsilon, delta\)"):
        tuned(budget=tacit.Budget.pure(1.0))


def test_simulated_noise_has_no_guarantee_and_is_not_charged(tmp_path: Path) -> None:
    assert tuned(noise=tacit.Simulation(0)).guarantee.kind == "none"
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", BUDGET)
    with pytest.raises(BadInput, match="simulated noise has no guarantee"):
        tuned(noise=tacit.Simulation(0), ledger=ledger)
    assert ledger.entries() == []


# No more draws than were paid for


def test_a_draw_is_claimed_in_the_storage_before_it_is_made(tmp_path: Path) -> None:
    seen = []

    class Watching(Counting):
        def gaussian_whole(self, value: int, scale: float) -> int:
            noisy = super().gaussian_whole(value, scale)
            seen.append((self.draws, claims(at(tmp_path))))
            return noisy

    tuned(storage=at(tmp_path), noise=Watching())
    assert seen == [(i, i) for i in range(1, 6)]


def test_resumed_runs_draw_no_more_than_was_paid_for(tmp_path: Path) -> None:
    noise = Counting()
    for stop in (2, 1, 1, 99):

        def stops(params: dict[str, Any], left: list[int] = [stop]) -> np.ndarray:  # noqa: B006
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return bowl(params)

        try:
            tuned(stops, out=tmp_path, noise=noise)
        except KeyboardInterrupt:
            before = finished(at(tmp_path))
        else:
            assert finished(at(tmp_path))[: len(before)] == before
    assert noise.draws == 5 == claims(at(tmp_path)) == len(finished(at(tmp_path)))
    assert all(t.state.is_finished() for t in trials_of(at(tmp_path)))


def test_a_stop_while_the_samplers_load_costs_no_observation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as slow:
        slow.setattr("tacit.optimise.observed.prepared", stopped)
        with pytest.raises(KeyboardInterrupt):
            tuned(storage=at(tmp_path))
    assert claims(at(tmp_path)) == 0
    assert len(tuned(storage=at(tmp_path)).value.trials) == 5


def test_threads_that_share_a_study_draw_no_more_than_was_paid_for() -> None:
    noise, start, got = Counting(), threading.Barrier(12), list[float]()
    observations = Observations(study(), terms(5), noise=noise)

    def observe() -> None:
        trial = observations.study.ask(tacit.Space(SPACE).distributions)
        start.wait(30)
        try:
            got.append(observations.observe(trial, 0))
        except BudgetRefused:
            return

    threads = [threading.Thread(target=observe) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == noise.draws <= 5
    with pytest.raises(BudgetRefused, match="5 observations were paid for"):
        observations.observe(observations.study.ask(), 0)


def test_a_trial_is_observed_once() -> None:
    observations = Observations(study(), terms(5))
    trial = observations.study.ask()
    observations.observe(trial, 0)
    with pytest.raises(BudgetRefused, match="a second look is not paid for"):
        observations.observe(trial, 0)
    assert observations.left() == 4


def test_a_trial_object_made_before_the_draw_cannot_draw_again(tmp_path: Path) -> None:
    noise = Counting()
    observations = Observations(study(at(tmp_path)), terms(5), noise=noise)
    trial = observations.study.ask()
    copies = [optuna.Trial(observations.study, trial._trial_id) for _ in range(3)]
    observations.observe(trial, 0)
    for copy in copies:
        with pytest.raises(BudgetRefused, match="a second look is not paid for"):
            observations.observe(copy, 0)
    assert (noise.draws, observations.left()) == (1, 4)


def racing(storage: str, ledger: str, start: Any, drawn: str) -> None:
    class Noted(Exact):
        def gaussian_whole(self, value: int, scale: float) -> int:
            with open(drawn, "a") as file:
                file.write(".")
            return super().gaussian_whole(value, scale)

    start.wait(60)
    with tacit.Ledger.open(ledger, "icu") as opened:
        release = tuned(storage=storage, trials=12, noise=Noted(), ledger=opened)
    print(digest(release.value))


def test_two_processes_on_one_study_draw_no_more_than_was_paid_for(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", BUDGET)
    Observations(study(at(tmp_path)), terms(12), ledger=ledger)  # two that begin a study at once might both pay
    start, arguments = fork.Barrier(2), (at(tmp_path), str(tmp_path / "ledger.db"))
    children = [fork.Process(target=racing, args=(*arguments, start, str(tmp_path / "drawn"))) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    values = [value for _, value in finished(at(tmp_path))]
    assert len((tmp_path / "drawn").read_text()) == len(values) <= 12
    assert claims(at(tmp_path)) >= 12
    assert len(values) >= 11  # at most one draw is lost when both reach for the last
    assert len(set(values)) == len(values)
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]
    again = tuned(storage=at(tmp_path), trials=12, ledger=ledger)
    assert [t["value"] for t in again.value.trials] == values[: len(again.value.trials)]


def test_of_two_that_answer_at_once_the_first_recorded_answers_for_both(tmp_path: Path) -> None:
    """The other stores and records its answer between ours being stored and recorded."""

    class Overtaken(tacit.Ledger):
        other: tacit.Release | None = None

        def settle(self, payment: Any, given: str) -> None:
            if self.other is None:
                quicker = Observations(study(at(tmp_path)), terms(), ledger=ledger)
                value = replace(Tuned.from_json(quicker.answer()), score=0.25)
                self.other = tacit.Release(value, quicker.guarantee, quicker.payment)
                quicker.give(value.to_json(), digest(value))
            super().settle(payment, given)

    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", BUDGET)
    slower = Overtaken.open(tmp_path / "ledger.db", "icu")
    release = tuned(storage=at(tmp_path), ledger=slower)
    assert release.value == slower.other.value
    assert release.value.score == 0.25
    for again in (slower, ledger):
        assert tuned(storage=at(tmp_path), ledger=again).value == release.value
    assert ledger.verify_certificate(release.certificate()).paid
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]


# Processes that die


class DyingLedger(tacit.Ledger):
    point = ""

    def charge(self, *given: Any) -> Any:
        payment = super().charge(*given)
        if self.point == "after the charge":
            die()
        return payment

    def settle(self, *given: Any) -> None:
        if self.point == "after the answer":
            die()
        super().settle(*given)
        if self.point == "after the settlement":
            die()


class DyingNoise(Counting):
    def __init__(self, point: str) -> None:
        super().__init__()
        self.point = point

    def gaussian_whole(self, value: int, scale: float) -> int:
        if self.point == "after the claim" and self.draws == 2:
            die()
        noisy = super().gaussian_whole(value, scale)
        if self.point == "after the draw" and self.draws == 3:
            die()
        return noisy


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(folder: str, point: str) -> None:
    """A whole run that is killed at a point of its third trial, of its payment or of its end."""
    calls = [0]

    def losses(params: dict[str, Any]) -> np.ndarray:
        calls[0] += 1
        if point == "before the evaluation" and calls[0] == 3:
            die()
        return bowl(params)

    if point == "before the claim":
        observe = Observations.observe
        Observations.observe = lambda self, *a: die() if calls[0] == 3 else observe(self, *a)  # type: ignore[method-assign]
    if point == "before the answer":
        tuning._released = die  # type: ignore[assignment]
    DyingLedger.point = point
    with DyingLedger.open(Path(folder) / "ledger.db", "icu", BUDGET) as ledger:
        tuned(losses, out=Path(folder) / "out", ledger=ledger, noise=DyingNoise(point))


POINTS = {  # what is finished, and what is claimed, when a run dies there
    "after the charge": (0, 0),
    "before the evaluation": (2, 2),
    "before the claim": (2, 2),
    "after the claim": (2, 3),
    "after the draw": (2, 3),
    "before the answer": (5, 5),
    "after the answer": (5, 5),
    "after the settlement": (5, 5),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_run_goes_on_without_paying_or_drawing_twice(point: str, tmp_path: Path) -> None:
    child = fork.Process(target=dying, args=(str(tmp_path), point))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    done, claimed = POINTS[point]
    storage, before = at(tmp_path / "out"), finished(at(tmp_path / "out"))
    assert (len(before), claims(storage)) == (done, claimed)

    noise, ledger = Counting(), tacit.Ledger.open(tmp_path / "ledger.db", "icu")
    release = tuned(out=tmp_path / "out", ledger=ledger, noise=noise)
    assert noise.draws == 5 - claimed
    assert claims(storage) == 5
    assert finished(storage)[:done] == before
    assert all(t.state.is_finished() for t in trials_of(storage))
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]
    ledger.verify()
    assert ledger.verify_certificate(release.certificate()).paid
    assert digest(tuned(out=tmp_path / "out", ledger=ledger).value) == digest(release.value)


def test_a_run_whose_only_draw_was_lost_says_so(tmp_path: Path) -> None:
    observations = Observations(study(at(tmp_path)), terms(1))
    observations.observe(observations.study.ask(tacit.Space(SPACE).distributions), 0)
    with pytest.raises(TacitError, match="paid observations were lost"):
        tuned(out=tmp_path, trials=1)


SLOW = """
import pathlib, time
import numpy as np

def losses(params):
    calls = pathlib.Path("calls")
    calls.write_text(calls.read_text() + "." if calls.exists() else ".")
    if len(calls.read_text()) == 3:
        pathlib.Path("slow").touch()
        time.sleep(60)
    return np.full(2000, (params["x"] - 0.3) ** 2)
"""


def test_ctrl_c_keeps_what_was_observed_and_a_second_run_finishes(tmp_path: Path) -> None:
    (tmp_path / "slow_model.py").write_text(SLOW)
    (tmp_path / "space.toml").write_text("x = {low = 0.0, high = 1.0}\n")
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "default", BUDGET)
    command = [str(Path(sys.executable).parent / "tacit"), "tune", "slow_model:losses", "--space", "space.toml"]
    command += ["--records", "2000", "--bounds", "0", "1", "--trials", "4", "--method", "random"]
    command += ["--out", "out", "--ledger", "ledger.db"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a run in the background is born deaf to Ctrl-C
    with subprocess.Popen(command, cwd=tmp_path, preexec_fn=heed, **pipes) as running:
        while not (tmp_path / "slow").exists():
            assert running.poll() is None, running.communicate()
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        out, told = running.communicate()
    assert (running.returncode, out) == (130, "")
    assert "interrupted" in told
    assert "To go on: " in told
    assert "Traceback" not in told
    states = [t.state for t in trials_of(at(tmp_path / "out"))]
    assert states == [TrialState.COMPLETE, TrialState.COMPLETE, TrialState.FAIL]
    before = finished(at(tmp_path / "out"))

    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    after = finished(at(tmp_path / "out"))
    assert (len(after), after[:2]) == (4, before)
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]


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
    assert TERMS not in foreign.user_attrs


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


def test_an_older_copy_of_a_released_study_draws_nothing(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", tacit.Budget.approximate(2.0, 1e-6))
    observations = Observations(study(at(tmp_path)), terms(), ledger=ledger)
    observations.study.tell(trial := observations.study.ask(), observations.observe(trial, 0))
    shutil.copy(tmp_path / "study.db", tmp_path / "old.db")
    tuned(storage=at(tmp_path), ledger=ledger)
    shutil.copy(tmp_path / "old.db", tmp_path / "study.db")
    noise = Counting()
    with pytest.raises(LedgerError, match="an older copy was put back"):
        tuned(storage=at(tmp_path), ledger=ledger, noise=noise)
    assert noise.draws == 0


def test_a_study_of_another_direction_is_refused(tmp_path: Path) -> None:
    study(at(tmp_path), direction="maximize")
    with pytest.raises(BadInput, match="must have the one direction 'minimize'"):
        tuned(storage=at(tmp_path))


def test_a_study_paid_by_one_ledger_is_not_resumed_with_another(tmp_path: Path) -> None:
    first, second = (tacit.Ledger.open(tmp_path / "ledger.db", name, BUDGET) for name in ("first", "second"))
    observations = Observations(study(at(tmp_path)), terms(), ledger=first)
    observations.pay()
    noise = Counting()
    with pytest.raises(LedgerError, match="that payment is of ledger 'first'"):
        tuned(storage=at(tmp_path), ledger=second, noise=noise)
    assert (noise.draws, second.entries()) == (0, [])
    assert observations.study.user_attrs[PAID]["name"] == "first"


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
    "too short": (lambda params: bowl(params)[1:], r"shape \(2000,\), got a ndarray of shape \(1999,\)"),
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

    with pytest.raises(ObjectiveError, match=r"got a ndarray of shape \(1999,\)"):
        tuned(losses, out=tmp_path)
    assert len(finished(at(tmp_path))) == 2 == claims(at(tmp_path))
    assert [t.state for t in trials_of(at(tmp_path))][2] == TrialState.FAIL


@pytest.mark.parametrize("error", [ValueError, SystemExit, MemoryError], ids=lambda e: e.__name__)
@pytest.mark.parametrize("where", ["here", "in a process"])
def test_an_objective_that_raises_is_told_of_without_its_message(error: type, where: str) -> None:
    losses = partial(raises, error)
    pool = ProcessPoolExecutor(1, mp_context=fork) if where == "in a process" else None
    with pytest.raises(ObjectiveError, match=f"raised {error.__name__} in .*test_observed.py, line") as caught:
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
