"""A private front: its guarantee, its payment, its noise, and that nothing exact is kept."""

from __future__ import annotations

import math
import shutil
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from pareto_toys import Noisy, Toy

from tacit import Budget, Ledger, Simulation
from tacit.errors import BadInput, BudgetRefused, LedgerError, ObjectiveError
from tacit.pareto import Front, PrivateTest, discover
from tacit.pareto.algorithm import Oracles
from tacit.pareto.private_front import ObservedTest
from tacit.privacy.units import TEST as UNIT
from tacit.run.shards import Shards
from tacit.space import Space
from tacit.training.dp_sgd import LogisticSGD

BUDGET = Budget.approximate(1.0, 1e-6)
ASKED: dict[str, Any] = {"delta": 1e-6, "trials": 12, "startup": 6, "repeats": 2}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "ledger.db", "test set", Budget.approximate(2.0, 1e-5))


def test_the_guarantee_is_unconditional_for_one_test_record(ledger: Ledger) -> None:
    front = discover(Noisy(), **ASKED, private=PrivateTest(BUDGET, ledger)).value
    assert (front.guarantee.kind, front.guarantee.unit) == ("unconditional", UNIT)
    assert front.guarantee.epsilon(1e-6) == pytest.approx(1.0)
    assert "Training records are NOT protected" in front.audience
    assert "NOT PRIVATE" not in front.plot().svg
    certificate = front.release().certificate()
    assert ledger.verify_certificate(certificate).paid
    assert Front.from_json(front.to_json()).private


def test_all_observations_are_charged_once_and_before_any_run(ledger: Ledger, tmp_path: Path) -> None:
    private = PrivateTest(BUDGET, ledger)
    storage = f"sqlite:///{tmp_path}/study.db"
    discover(Toy(), **ASKED, private=private, storage=storage)
    front = discover(Toy(), **ASKED, private=private, storage=storage).value  # a second call adds nothing
    charges = [e for e in ledger.entries() if e.kind == "charge"]
    assert len(charges) == 1
    assert "12 x 2 observations" in charges[0].purpose
    assert len(front.tested) == 12


def test_a_ledger_that_cannot_pay_stops_everything(tmp_path: Path) -> None:
    poor = Ledger.open(tmp_path / "ledger.db", "poor", Budget.approximate(0.1, 1e-6))

    class Never(Toy):
        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            raise AssertionError("must not run")

    with pytest.raises(BudgetRefused):
        discover(Never(), **ASKED, private=PrivateTest(BUDGET, poor))


def test_the_noise_is_that_of_the_composed_mechanism() -> None:
    """T R = 400 Gaussian means; the standard deviation of as many draws is within 15% but once in 20,000 runs."""

    class Half(Toy):
        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            return np.full(self.records, 0.5)

    front = discover(
        Half(), delta=0.0, trials=20, startup=20, repeats=20, private=PrivateTest(BUDGET, noise=Simulation(1))
    ).value
    runs = np.array([p.runs for p in front.tested])
    expected = math.sqrt(400) / (2000 * BUDGET.mu())
    assert runs.std() == pytest.approx(expected, rel=0.15)
    assert front.guarantee.kind == "none"  # simulated noise protects nobody


def test_nothing_exact_is_stored(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    front = discover(Toy(), **ASKED, private=PrivateTest(BUDGET), storage=storage).value
    study = optuna.load_study(study_name="pareto", storage=storage)
    for point, trial in zip(front.tested, study.trials, strict=True):
        exact = Toy().utility(trial.params, 0)
        for number in (*point.runs, point.utility, 1 - trial.values[1], *trial.user_attrs["tacit:runs"]):
            assert abs(number - exact) > 1e-12
        assert len(set(point.runs)) == 2  # each run has its own noise, though the toy has none


def test_a_draw_lost_in_a_crash_is_not_drawn_again(tmp_path: Path, ledger: Ledger) -> None:
    storage, private = f"sqlite:///{tmp_path}/study.db", PrivateTest(BUDGET, ledger)

    class Crashes(Toy):
        left = 4

        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().each_utility(params, seed)

    with pytest.raises(KeyboardInterrupt):
        discover(Crashes(), **ASKED, private=private, storage=storage)
    study = optuna.load_study(study_name="pareto", storage=storage)
    lost = study.ask(fixed_distributions=study.trials[0].distributions)
    lost.set_user_attr("tacit:drawn", True)  # claimed, and then the machine stopped
    study.tell(lost, state=optuna.trial.TrialState.FAIL)
    front = discover(Toy(), **ASKED, private=private, storage=storage, take_over=True).value
    assert len(front.tested) == 11
    assert front == discover(Toy(), **ASKED, private=private, storage=storage).value
    assert len([e for e in ledger.entries() if e.kind == "charge"]) == 1


def test_of_two_processes_the_last_to_finish_has_the_front_recorded(tmp_path: Path, ledger: Ledger) -> None:
    asked: dict[str, Any] = {"delta": 1e-6, "trials": 5, "startup": 5, "private": PrivateTest(BUDGET, ledger)}
    asked["storage"] = f"sqlite:///{tmp_path}/study.db"
    early: list[Front] = []

    class Beside(Toy):
        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            if not early:  # another process does all the others while this point is under way
                early.append(discover(Toy(), **asked).value)
            return super().each_utility(params, seed)

    front = discover(Beside(), **asked).value
    assert (len(early[0].tested), len(front.tested)) == (4, 5)
    assert ledger.verify_certificate(front.release().certificate()).paid
    assert not ledger.verify_certificate(early[0].release().certificate()).paid
    assert front == discover(Toy(), **asked).value


def test_points_are_placed_where_the_model_sees_them() -> None:
    front = discover(Toy(), **{**ASKED, "trials": 30}, private=PrivateTest(Budget.approximate(4.0, 1e-6))).value
    off = [abs(p.utility - Toy().utility(p.params, 0)) for p in front.tested]
    raw = [abs(np.mean(p.runs) - Toy().utility(p.params, 0)) for p in front.tested]
    assert all(p.deviation is not None and 0 <= p.utility <= 1 for p in front.tested)
    assert np.mean(off) < 1.2 * np.mean(raw)
    assert front.predict(Toy(), epsilon=1.0).epsilon <= 1.0


def test_other_terms_or_an_exact_study_are_refused(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    discover(Toy(), **ASKED, storage=storage)
    with pytest.raises(BadInput):
        discover(Toy(), **ASKED, private=PrivateTest(BUDGET), storage=storage)
    storage = f"sqlite:///{tmp_path}/other.db"
    discover(Toy(), **ASKED, private=PrivateTest(BUDGET), storage=storage)
    for asked in ({"trials": 13}, {"private": PrivateTest(Budget.approximate(2.0, 1e-6))}, {"private": None}):
        with pytest.raises(BadInput):
            discover(Toy(), **{**ASKED, "private": PrivateTest(BUDGET), **asked}, storage=storage)


def test_exact_results_mixed_in_and_another_ledger_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    discover(Toy(), **ASKED, private=PrivateTest(BUDGET, ledger), storage=storage)
    other = Ledger.open(tmp_path / "ledger.db", "other", Budget.approximate(2.0, 1e-5))
    with pytest.raises(LedgerError, match="that payment is of ledger 'test set'"):
        discover(Toy(), **ASKED, private=PrivateTest(BUDGET, other), storage=storage)
    study = optuna.load_study(study_name="pareto", storage=storage)
    mixed_in = study.ask(fixed_distributions=Space(Toy().space).distributions)
    study.tell(mixed_in, [float(Toy().epsilons([mixed_in.params], ASKED["delta"])[0]), 0.5])
    with pytest.raises(BadInput, match="not privately observed"):
        discover(Toy(), **ASKED, private=PrivateTest(BUDGET, ledger), storage=storage)


def test_an_older_copy_of_a_released_front_draws_nothing(ledger: Ledger, tmp_path: Path) -> None:
    class Dying(Toy):
        left = 8  # runs, of which each trial has two

        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            self.left -= 1
            if self.left < 0:
                raise RuntimeError
            return super().each_utility(params, seed)

    storage = f"sqlite:///{tmp_path}/study.db"
    with pytest.raises(ObjectiveError):
        discover(Dying(), **ASKED, private=PrivateTest(BUDGET, ledger), storage=storage)
    shutil.copy(tmp_path / "study.db", tmp_path / "old.db")
    dying = Dying()
    dying.left = 99
    discover(dying, **ASKED, private=PrivateTest(BUDGET, ledger), storage=storage)
    shutil.copy(tmp_path / "old.db", tmp_path / "study.db")
    with pytest.raises(LedgerError, match="older copy was put back"):
        discover(dying, **ASKED, private=PrivateTest(BUDGET, ledger), storage=storage)


def test_a_failing_run_stops_a_private_study_costs_nothing_and_says_nothing(ledger: Ledger) -> None:
    class Fails(Toy):
        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            raise ValueError("record 17")

    with pytest.raises(ObjectiveError) as refused:
        discover(Fails(), **ASKED, private=PrivateTest(BUDGET, ledger))
    assert "record 17" not in str(refused.value)
    assert ledger.entries() == []  # it is paid for before the first draw, not before


@pytest.mark.parametrize("fails", ["at once", "later"])
def test_an_executor_that_fails_is_told_of_without_its_words(fails: str) -> None:
    class Quotes(Executor):
        def submit(self, *work: Any, **named: Any) -> Any:
            future: Future[Any] = Future()
            future.set_exception(RuntimeError("record 17"))
            if fails == "at once":
                raise RuntimeError("record 17")
            return future

    with pytest.raises(ObjectiveError, match=r"could not run the objective \(RuntimeError\)") as told:
        discover(Toy(), **ASKED, private=PrivateTest(BUDGET), executor=Quotes())
    assert not any("record 17" in str(e) for e in (told.value, told.value.__cause__, told.value.__context__))


@pytest.mark.parametrize("paying", [True, False], ids=["ledger", "no ledger"])
def test_a_front_survives_another_process_that_takes_the_last_draw(
    paying: bool, ledger: Ledger, tmp_path: Path
) -> None:
    storage, private = f"sqlite:///{tmp_path}/study.db", PrivateTest(BUDGET, ledger if paying else None)
    asked: dict[str, Any] = {"delta": 1e-6, "trials": 3, "startup": 3, "private": private, "storage": storage}

    class Beside(Toy):
        runs = 0

        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            self.runs += 1
            if self.runs == 3:  # while the last point is under way
                study = optuna.load_study(study_name="pareto", storage=storage)
                quicker = ObservedTest(study, Oracles(Toy(), 1e-6), private, 3, 1)
                quicker.observe(trial := study.ask(), [0])
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            return super().each_utility(params, seed)

    beside = Beside()
    front = discover(beside, **asked).value
    assert beside.runs == 3
    assert len(front.tested) == 2


def test_a_missing_record_counts_as_worst_and_a_missing_shape_is_refused() -> None:
    class Missing(Toy):
        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            return np.full(self.records, np.nan)

    front = discover(Missing(), **ASKED, private=PrivateTest(Budget.approximate(8.0, 1e-6))).value
    assert max(p.utility for p in front.tested) < 0.1

    class Short(Toy):
        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            return np.zeros(3)

    with pytest.raises(ObjectiveError, match="per test record"):
        discover(Short(), **ASKED, private=PrivateTest(BUDGET))


def test_workers_send_sums_and_draws_happen_here() -> None:
    with ProcessPoolExecutor(2) as pool:
        front = discover(Toy(), **ASKED, private=PrivateTest(BUDGET), executor=pool).value
    assert len(front.tested) == 12


def test_what_cannot_be_a_private_test_is_refused() -> None:
    with pytest.raises(BadInput):
        PrivateTest(1.0)  # type: ignore[arg-type]

    class Scalar(Toy):
        each_utility = None  # type: ignore[assignment]

    with pytest.raises(BadInput, match="each_utility"):
        discover(Scalar(), **ASKED, private=PrivateTest(BUDGET))


def test_an_algorithm_that_read_its_test_records_is_refused(ledger: Ledger) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    guessed, stated = LogisticSGD(X, y), LogisticSGD(X, y, classes=(0, 1))
    asked = {**ASKED, "trials": 3, "repeats": 1}
    with pytest.raises(BadInput, match="read facts off its data"):
        discover(guessed, **asked, private=PrivateTest(Budget.approximate(1.0, 1e-6), ledger))
    assert ledger.entries() == []
    assert discover(stated, **asked, private=PrivateTest(Budget.approximate(1.0, 1e-6), ledger)).value.private


def test_test_records_in_parts_give_the_front_of_one_process() -> None:
    rows = np.random.default_rng(0).random(Toy.records)

    class Whole(Toy):
        def each_utility(self, params: dict[str, Any], seed: int) -> Any:
            return np.clip(rows * self.utility(params, seed), 0, 1)

    class Parts(Toy):
        each_utility = None
        records = Shards(np.split(rows, [100, 250]), counts=[100, 150, Toy.records - 250])  # type: ignore[assignment]

        def train(self, params: dict[str, Any], seed: int) -> float:
            return self.utility(params, seed)

        def score(self, model: float, frame: Any) -> Any:
            return np.clip(frame * model, 0, 1)

    found = [
        discover(kind(), **ASKED, private=PrivateTest(BUDGET, noise=Simulation(0))).value for kind in (Whole, Parts)
    ]
    assert [p.runs for p in found[0].tested] == [p.runs for p in found[1].tested]
