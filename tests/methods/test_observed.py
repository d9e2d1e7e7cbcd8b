"""Private observations: the stated noise, never more draws than were paid for, one payment whatever dies when."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from observed_parts import BUDGET, SPACE, Counting, N, at, bowl, claims, finished, study, terms, trials_of, tuned
from optuna.trial import TrialState
from scipy import stats
from shell_parts import child as command

import tacit
from tacit.errors import BadInput, TacitError
from tacit.methods import search
from tacit.methods.observed import Observations, ObservationTerms, ObservedTrials, is_contradicted
from tacit.methods.tuned import Tuned
from tacit.objective import Objective
from tacit.privacy.noise import Exact
from tacit.privacy.release import digest
from tacit.run.loop import run_trials

fork = get_context("fork")


@pytest.fixture(autouse=True)
def quiet_optuna() -> None:
    logging.getLogger("optuna").setLevel(logging.WARNING)


# The noise


@pytest.mark.parametrize(("records", "bounds", "trials", "mu"), [(100, (0, 1), 1, 1.0), (5000, (-3, 7), 50, 0.3)])
def test_the_noise_is_width_root_trials_over_records_mu(records: int, bounds: Any, trials: int, mu: float) -> None:
    promised = ObservationTerms(records, bounds, tacit.Budget.gdp(mu), trials)
    width = bounds[1] - bounds[0]
    assert promised.mechanism().scale == pytest.approx(width * trials**0.5 / (records * mu), rel=1e-6)
    assert promised.mechanism().scale >= width * trials**0.5 / (records * mu)


def test_the_noise_of_a_run_has_the_stated_deviation() -> None:
    """Chi-squared over 400 observations; false alarm 1e-6."""
    observations = Observations(study(), terms(400))
    work = ObservedTrials(observations, Objective(lambda params: np.full(N, 0.5), N, (0.0, 1.0)))
    distributions = tacit.Space(SPACE).distributions
    run_trials(observations.study, distributions, more=work.more, begin=work.begin, finish=work.finish)
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
    with pytest.raises(BadInput, match=r"Budget\.approximate\(epsilon, delta\).*never pure"):
        tuned(budget=tacit.Budget.pure(1.0))


def test_simulated_noise_has_no_guarantee_and_is_not_charged(tmp_path: Path) -> None:
    assert tuned(noise=tacit.Simulation(0)).guarantee.kind == "none"
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", BUDGET)
    with pytest.raises(BadInput, match="simulated noise has no guarantee"):
        tuned(noise=tacit.Simulation(0), ledger=ledger)
    assert ledger.entries() == []


# No more draws than were paid for


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
                value = replace(Tuned.from_json(quicker.answer()), loss=0.25)
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


def test_an_answer_that_was_stored_and_not_recorded_gives_way_to_the_one_that_was(tmp_path: Path) -> None:
    """Three at once: one has stored its answer, a second reads that one, a third has its own recorded first."""

    class Overtaken(tacit.Ledger):
        overtaken = False

        def settle(self, payment: Any, given: str) -> None:
            if not self.overtaken:
                self.overtaken = True
                if given != stored:
                    raise KeyboardInterrupt  # the first: it has stored its answer, and goes no further
                value = replace(Tuned.from_json(Observations(study(at(tmp_path)), terms()).answer()), loss=0.25)
                Observations(study(at(tmp_path)), terms(), ledger=ledger).give(value.to_json(), digest(value))
            super().settle(payment, given)

    stored = ""
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", BUDGET)
    with pytest.raises(KeyboardInterrupt):
        tuned(storage=at(tmp_path), ledger=Overtaken.open(tmp_path / "ledger.db", "icu"))
    stored = digest(Tuned.from_json(Observations(study(at(tmp_path)), terms(), ledger=ledger).answer()))
    release = tuned(storage=at(tmp_path), ledger=Overtaken.open(tmp_path / "ledger.db", "icu"))
    assert release.value.score == 0.25
    assert ledger.verify_certificate(release.certificate()).paid


# Processes that die


class DyingLedger(tacit.Ledger):
    point = ""

    def settle(self, *given: Any) -> None:
        if self.point == "after the answer":
            die()
        super().settle(*given)
        if self.point == "after the settlement":
            die()


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

    if point == "before the answer":
        search._release = die  # type: ignore[assignment]
    DyingLedger.point = point
    with DyingLedger.open(Path(folder) / "ledger.db", "icu", BUDGET) as ledger:
        tuned(losses, out=Path(folder) / "out", ledger=ledger)


POINTS = {"before the evaluation": 2, "before the answer": 5, "after the answer": 5, "after the settlement": 5}


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_run_goes_on_without_paying_or_drawing_twice(point: str, tmp_path: Path) -> None:
    child = fork.Process(target=dying, args=(str(tmp_path), point))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    storage, before = at(tmp_path / "out"), finished(at(tmp_path / "out"))
    assert len(before) == claims(storage) == POINTS[point]

    noise, ledger = Counting(), tacit.Ledger.open(tmp_path / "ledger.db", "icu")
    release = tuned(out=tmp_path / "out", ledger=ledger, noise=noise)
    assert noise.draws == 5 - len(before)
    assert claims(storage) == 5
    assert finished(storage)[: len(before)] == before
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
    words = "tune slow_model:losses --space space.toml --records 2000 --bounds 0 1 --trials 4 --method random"
    asked = [*words.split(), "--out", "run", "--ledger", "ledger.db"]
    given: dict[str, Any] = {"at": tmp_path, "ready": (tmp_path / "slow").exists}
    said = command(*asked, **given, number=signal.SIGINT)
    assert (said.code, said.out) == (130, "")
    assert "interrupted" in said.err
    assert "To go on: " in said.err
    assert "Traceback" not in said.err
    states = [t.state for t in trials_of(at(tmp_path / "run"))]
    assert states == [TrialState.COMPLETE, TrialState.COMPLETE, TrialState.FAIL]
    before = finished(at(tmp_path / "run"))

    again = command(*asked, **given, number=0)
    assert again.code == 0, again.err
    after = finished(at(tmp_path / "run"))
    assert (len(after), after[:2]) == (4, before)
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]


def test_a_choice_that_its_confirmation_contradicts_is_made_anew() -> None:
    """An objective with a chance of its own: good until it is confirmed. Others were seen to be better then."""
    calls: list[float] = []

    def losses(params: dict[str, Any]) -> np.ndarray:
        calls.append(params["x"])
        return np.full(100, 0.2 + 0.1 * params["x"] if len(calls) <= 18 else 0.9)

    asked: dict[str, Any] = {"records": 100, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(50.0), "trials": 20}
    asked |= {"noise": tacit.Simulation(0), "accept_noise": True, "progress": False}
    value = tacit.tune(losses, {"x": tacit.Float(0.0, 1.0)}, method="observed", **asked).value
    assert value.params["x"] != calls[-1]
    assert value.loss is not None
    assert value.loss < 0.35
    assert value.trials[-1]["params"]["x"] == calls[-1]


def is_refuted(seed: int) -> bool:
    """Whether the answer of a run is refuted by its own observations: another was better by more than 5 deviations.

    Rough and smooth surfaces in 1 to 3 dimensions, noise from 1e-4 to 0.1 of what there is to win.
    """
    rng, d = np.random.default_rng(seed), 1 + seed % 3
    best, waves = rng.random(d), float(rng.choice([0.0, 5.0, 40.0]))

    def losses(params: dict[str, Any]) -> np.ndarray:
        u = np.array([params[f"x{j}"] for j in range(d)])
        return np.full(100, 0.1 + 0.5 * ((u - best) ** 2).mean() + 0.1 * np.abs(np.sin(waves * u)).mean())

    space = {f"x{j}": tacit.Float(0.0, 1.0) for j in range(d)}
    mu = 1 / (100 * 0.2 * 10 ** rng.uniform(-4, -1))
    asked: dict[str, Any] = {"records": 100, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(mu), "trials": 20}
    asked |= {"seed": seed, "noise": tacit.Simulation(seed), "accept_noise": True, "progress": False}
    value = tacit.tune(losses, space, method="observed", **asked).value
    assert value.noise is not None
    return is_contradicted(value.params, value.trials, value.noise**2, False)


def test_no_answer_is_refuted_by_its_own_observations() -> None:
    assert not any(map(is_refuted, range(6)))


@pytest.mark.slow
def test_no_answer_of_a_thousand_is_refuted_by_its_own_observations() -> None:
    assert not any(map(is_refuted, range(1000)))
