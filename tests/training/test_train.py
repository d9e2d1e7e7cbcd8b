"""tacit.train: a model from a table, the search in the price, resumed after a kill, nothing private left behind."""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from forked import exit_code, start
from train_parts import BUDGET, quick, table

import tacit
from tacit.data.metrics import find
from tacit.data.schema import Schema
from tacit.errors import BadInput, BudgetRefused, GuaranteeError, LedgerError, TacitError
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import Simulation
from tacit.privacy.units import TABLE, TABLE_PERSON
from tacit.run.private_state import PrivateState
from tacit.space import Float, Int
from tacit.training.descent import LOGISTIC, DescentTrainer
from tacit.training.search_cost import SearchCost, make_law
from tacit.training.secret_search import DURATION, ONE_RUN, SECRET
from tacit.training.train import NAMED, STATED, UNTOUCHED, train


def test_a_model_is_released_with_its_parameters_a_score_and_one_guarantee() -> None:
    release = quick(table())
    value = release.value
    fresh = table(4000, seed=9)
    error = (value.model.predict(fresh.drop(columns="ill")) != fresh["ill"].to_numpy()).mean()
    assert error < 0.25  # the best possible is about 0.14, always saying yes 0.43
    assert abs(value.score - error) < 4 * value.half_width / 1.96 + 0.02
    assert value.score == value.loss  # the metric is the error
    assert value.interval == (max(0.0, value.score - value.half_width), value.score + value.half_width)
    assert release.certificate()["value"]["interval"] == list(value.interval)
    assert release.guarantee.unit == TABLE
    assert release.guarantee.epsilon(1e-5) == 2.0
    assert any("secret" in a for a in release.guarantee.assumptions)
    assert set(value.params) == {"steps", "rate", "clip"}
    least = min((fresh["ill"] == "yes").mean(), (fresh["ill"] == "no").mean())
    assert abs(value.details["baseline"] - least) < 0.12  # five deviations of the sample and of the noise
    assert value.details["baseline_of"].startswith("always ")


def test_one_run_is_the_default_assumes_nothing_and_trains_on_nine_rows_of_ten() -> None:
    release = train("logistic", table(), target="ill", budget=BUDGET, progress=False)
    value, guarantee = release.value, release.guarantee
    assert (guarantee.epsilon(1e-5), guarantee.assumptions, guarantee.source) == (2.0, (), ONE_RUN)
    assert (value.details["records"], value.details["test"], value.details["expected_runs"]) == (2700, 300, 1)
    one, many = (SearchCost(BUDGET, make_law(runs), value.details["columns_mu"]).base.mu for runs in (1, 4))
    assert value.details["base_mu"] == one > 1.2 * many
    fresh = table(4000, seed=9)
    assert (value.model.predict(fresh.drop(columns="ill")) != fresh["ill"].to_numpy()).mean() < 0.25


def test_one_run_takes_the_middle_of_a_space_of_ones_own() -> None:
    space = {"steps": Int(60, 60), "rate": Float(1.0, 4.0, log=True), "clip": Float(0.5, 1.5)}
    release = train("logistic", table(), target="ill", space=space, runs=1, budget=BUDGET, progress=False)
    assert release.value.params == {"steps": 60, "rate": pytest.approx(2.0), "clip": pytest.approx(1.0)}


@pytest.mark.parametrize(("runs", "parts"), [(1, (0.8, 0.1, 0.1)), (4, (0.9, 0.0, 0.1))])
def test_validation_rows_are_for_a_search_and_for_nothing_else(runs: float, parts: tuple[float, ...]) -> None:
    with pytest.raises(BadInput, match="Nothing was spent"):
        train("logistic", table(), target="ill", runs=runs, parts=parts, budget=BUDGET, progress=False)  # type: ignore


def test_with_hidden_runs_only_their_time_must_stay_secret() -> None:
    assert quick(table(), hide_runs=True).guarantee.assumptions == (DURATION,)


def test_a_declared_schema_costs_nothing_and_is_all_that_is_known() -> None:
    schema = Schema.declare({"age": (0, 120), "ward": ["north", "west"]}, target="ill", labels=["no", "yes"])
    release = quick(table(), schema=schema)
    assert release.value.model.preparation.names[-2:] == ["ward=other", "ward missing"]
    assert release.value.model.classes_.tolist() == ["no", "yes"]


def test_a_schema_read_off_rows_is_refused() -> None:
    data = table()
    read = Schema.of_rows(data.drop(columns="ill"), data["ill"], task="classification", words="category")
    with pytest.raises(BadInput, match="declared"):
        quick(data, schema=read)


def test_numbers_are_predicted_in_their_own_unit() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, (3000, 2))
    y = 100 * X[:, 0] + rng.normal(0, 20, 3000)
    schema = Schema.declare({"0": (0, 10), "1": (0, 10)}, target="y", range=(0, 1000))
    release = train("ridge", X, y, budget=BUDGET, runs=4, schema=schema, progress=False)
    assert release.value.metric == "absolute"
    assert release.value.score < 150  # a guess in the middle errs by 250
    assert abs(release.value.model.predict([[5.0, 5.0]])[0] - 500) < 150


def test_persons_are_divided_whole_and_named_in_the_guarantee() -> None:
    data = table()
    persons = np.repeat(np.arange(1000), 3)
    release = quick(data, groups=persons)
    assert (release.guarantee.unit, release.guarantee.premises) == (TABLE_PERSON, (NAMED, UNTOUCHED))
    sizes = [release.value.details[name] for name in ("records", "test")]
    assert f"{sizes[1]} test persons" in str(release.value)
    assert abs(sizes[0] - 800) < 80  # by a hash of each name: six standard deviations


def test_the_budget_is_charged_once_before_any_draw_and_a_refusal_draws_nothing(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/l.db", "set", Budget.approximate(2.5, 1e-4), composition="basic")
    release = quick(table(), ledger=ledger)
    charges = [e for e in ledger.entries() if e.kind == "charge"]
    assert len(charges) == 1
    assert charges[0].drawn is not None
    assert release.payment is not None
    with pytest.raises(BudgetRefused):
        quick(table(), ledger=ledger, out=tmp_path / "second")
    assert not (tmp_path / "second" / "certificate.json").exists()


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_runs_are_done_on_an_executor(pool: Any) -> None:
    with pool(2) as executor:
        assert quick(table(), executor=executor).value.score < 0.5


def test_the_folder_holds_the_model_and_its_certificate_and_the_private_state_is_gone(tmp_path: Path) -> None:
    release = quick(table(), out=tmp_path)
    rows = table(50, seed=3).drop(columns="ill")
    assert (joblib.load(tmp_path / "model.joblib").predict(rows) == release.value.model.predict(rows)).all()
    assert json.loads((tmp_path / "model.json").read_text())["model"]["kind"] == "linear"
    assert json.loads((tmp_path / "certificate.json").read_text())["guarantee"]["epsilon"] == 2.0
    assert not (tmp_path / "private").exists()


def test_no_file_of_the_folder_tells_when_the_training_began(tmp_path: Path) -> None:
    """How long it took tells how many models there were."""
    quick(table(), out=tmp_path)
    model = (tmp_path / "model.json").stat().st_mtime_ns
    assert all(file.stat().st_mtime_ns >= model for file in tmp_path.iterdir())


class Slow(DescentTrainer):
    """Is looked at before each training."""

    look: ClassVar[Callable[[], None]] = partial(time.sleep, 0.1)

    def train(self, *given: Any) -> Any:
        Slow.look()
        return super().train(*given)


def train_slowly(folder: Path) -> Any:
    options: dict[str, Any] = {"target": "ill", "budget": BUDGET, "runs": 20, "progress": False}
    with Ledger.open(f"sqlite:///{folder}/l.db", "set") as ledger:
        return train(Slow(), table(), **options, ledger=ledger, out=folder / "out")


def test_a_killed_training_goes_on_without_paying_or_drawing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/l.db", "set", Budget.approximate(5.0, 1e-3), composition="basic")
    state = tmp_path / "out" / "private"
    killed = start(train_slowly, tmp_path)
    while not (state / "run-1").exists():
        assert killed.is_alive()
        time.sleep(0.01)
    killed.kill()
    killed.join()
    kept = {f.name: f.read_bytes() for f in state.iterdir() if f.name in ("run-0", "plan", "preparation")}
    assert len(kept) == 3
    assert oct(os.stat(state).st_mode)[-3:] == "700"
    assert all(oct(f.stat().st_mode)[-3:] == "600" for f in state.iterdir())
    seen = []
    monkeypatch.setattr(Slow, "look", lambda: seen.append({name: (state / name).read_bytes() for name in kept}))
    assert train_slowly(tmp_path).value.score >= 0
    assert len(seen) >= 2
    assert all(each == kept for each in seen)
    assert sum(e.kind == "charge" for e in ledger.entries()) == 1
    assert not state.exists()


@pytest.mark.parametrize("trainer", ["auto", "logistic", "svm", "ebm", "mlp", "output-perturbation", "logistic-lots"])
@pytest.mark.parametrize("task", ["rare words", "a number"])
def test_a_target_without_a_frequent_label_is_released_with_one_class_that_says_so(trainer: str, task: str) -> None:
    data = table()
    data["ill"] = [f"word-{i}" for i in range(3000)] if task == "rare words" else np.arange(3000) * 0.37
    value = train(trainer, data, target="ill", budget=BUDGET, progress=False).value
    if (trainer, task) == ("auto", "a number"):
        assert value.metric == "absolute"
        return
    assert set(value.model.predict(data)) == {"(no label seen)"}
    assert value.model.predict_proba(data[:3]).tolist() == [[1.0]] * 3
    assert value.score > 0.8
    assert "no label is frequent enough" in str(value)


def test_a_target_of_words_is_released_with_a_range_where_a_number_was_asked_for() -> None:
    value = train("ridge", table(), target="ill", budget=BUDGET, progress=False).value
    assert value.metric == "absolute"
    assert np.isfinite(value.model.predict(table()[:3])).all()


def test_a_refusal_of_an_earlier_release_is_said_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.training import train as module

    monkeypatch.setattr(module.Training, "_prepare", lambda self: {"refusal": "no label is frequent enough"})
    with pytest.raises(TacitError, match="no label is frequent enough"):
        quick(table(), out=tmp_path)
    monkeypatch.undo()
    with pytest.raises(TacitError, match="no label is frequent enough"):
        quick(table(), out=tmp_path)


def test_a_folder_begun_under_other_terms_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.training import secret_search as module

    monkeypatch.setattr(module, "run_all", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        quick(table(), out=tmp_path)
    monkeypatch.undo()
    with pytest.raises(BadInput, match="other terms"):
        quick(table(), out=tmp_path, metric="brier")


def test_a_training_states_what_was_charged_though_words_have_changed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db", "set", BUDGET, composition="basic")
    with monkeypatch.context() as patch:
        patch.setattr("tacit.training.secret_search.run_all", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        patch.setattr("tacit.training.train.UNTOUCHED", "words of an earlier release")
        with pytest.raises(KeyboardInterrupt):
            quick(table(), out=tmp_path / "out", ledger=ledger)
    release = quick(table(), out=tmp_path / "out", ledger=ledger)
    assert "words of an earlier release" in release.guarantee.premises
    assert ledger.verify_certificate(json.loads((tmp_path / "out" / "certificate.json").read_text())).paid


def test_of_copies_of_an_unfinished_training_one_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.training import secret_search as module

    ledger = Ledger.open(tmp_path / "ledger.db", "set", BUDGET, composition="basic")
    monkeypatch.setattr(module, "run_all", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        quick(table(), out=tmp_path / "first", ledger=ledger)
    monkeypatch.undo()
    for copy in ("second", "third"):
        shutil.copytree(tmp_path / "first", tmp_path / copy)
    assert quick(table(), out=tmp_path / "second", ledger=ledger).payment.entry == 1
    for other in ("first", "third"):
        with pytest.raises(LedgerError, match="does not pay for a second one"):
            quick(table(), out=tmp_path / other, ledger=ledger)
        assert not list((tmp_path / other).glob("*.json"))
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]


def test_no_row_is_in_what_is_released_or_written(tmp_path: Path) -> None:
    data = table()
    data.loc[17, "ward"] = "sentinel-4711"
    release = quick(data, out=tmp_path)
    files = b"".join(f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())
    for kept in (pickle.dumps(release), repr(release).encode(), files):
        assert b"sentinel-4711" not in kept


def test_a_validation_row_can_be_anything_at_all() -> None:
    data = table().astype(object)
    for i, odd in enumerate((None, np.nan, b"\xff", [1, 2], 10**400, {"a": 1}, "\x00" * 1000)):
        data.iat[i, 0] = data.iat[i, 1] = data.iat[i, 2] = odd
    assert 0 <= quick(data).value.score <= 1


class Broken:
    """A trainer that cannot work."""

    name, task, assumptions, premises = "broken", "classes", (), ()
    space, calibrate, profile = LOGISTIC.space, LOGISTIC.calibrate, LOGISTIC.profile

    def train(self, rows: Any, settings: Any, facts: Any, noise: Any) -> Any:
        class Model:
            def scores(self, X: Any) -> Any:
                return np.full((len(X), 7), np.nan)

        return Model()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"trainer": "nope"}, BadInput, "logistic"),
        ({"trainer": Broken()}, BadInput, "scores"),
        ({"budget": Budget.gdp(1.0)}, TacitError, "approximate"),
        ({"budget": Budget.approximate(1e-4, 1e-12)}, (GuaranteeError, BadInput), "Nothing was spent"),
        ({"runs": 0}, BadInput, "runs"),
        ({"parts": (0.5, 0.5, 0.5)}, BadInput, "parts"),
        ({"metric": "f1"}, BadInput, "no mean over records"),
        ({"metric": "absolute"}, BadInput, "regression"),
        ({"target": "nope"}, BadInput, "nope"),
        ({"groups": [1, 2]}, BadInput, "groups"),
    ],
)
def test_bad_input_is_refused_before_anything_is_spent(tmp_path: Path, options: Any, error: Any, words: str) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/l.db", "set", Budget.approximate(5.0, 1e-3), composition="basic")
    arguments = {"trainer": "logistic", "target": "ill", "budget": BUDGET, "runs": 4, "progress": False, **options}
    with pytest.raises(error, match=words):
        train(X=table(), ledger=ledger, **arguments)
    assert not [e for e in ledger.entries() if e.kind == "charge"]


def test_thirty_rows_are_too_few() -> None:
    with pytest.raises(BadInput, match="each part needs"):
        quick(table(30))


def test_a_finished_folder_is_not_trained_into_again(tmp_path: Path) -> None:
    """The same line twice must neither pay twice nor overwrite what was published."""
    ledger = Ledger.open(f"sqlite:///{tmp_path}/l.db", "set", Budget.approximate(9.0, 1e-3), composition="basic")
    quick(table(), out=tmp_path / "out", ledger=ledger)
    model = (tmp_path / "out" / "model.json").read_bytes()
    with pytest.raises(BadInput, match="finished release"):
        quick(table(), out=tmp_path / "out", ledger=ledger)
    assert sum(e.kind == "charge" for e in ledger.entries()) == 1
    assert (tmp_path / "out" / "model.json").read_bytes() == model


def test_a_wiping_that_was_cut_short_is_gone_on_with(tmp_path: Path) -> None:
    quick(table(), out=tmp_path)
    left = tmp_path / "private.wiped"
    left.mkdir()
    (left / "run-0").write_bytes(b"secret")
    with pytest.raises(BadInput, match="finished release"):
        quick(table(), out=tmp_path)
    assert not left.exists()


def train_on_a_full_disk(folder: Path) -> None:
    """From the first run on no file may grow beyond 64 bytes; then there is room again."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    data, usual = table(), PrivateState.store

    def store(self: PrivateState, name: str, value: Any) -> Any:
        if name == "run-0":
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, most[1]))
        return usual(self, name, value)

    with Ledger.open(f"sqlite:///{folder}/l.db", "set") as ledger:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PrivateState, "store", store)
            with pytest.raises(TacitError, match=r"cannot be written: File too large.*kept"):
                quick(data, out=folder / "out", ledger=ledger)
            resource.setrlimit(resource.RLIMIT_FSIZE, most)
        quick(data, out=folder / "out", ledger=ledger)


def test_a_full_disk_is_said_and_nothing_is_lost_or_paid_twice(tmp_path: Path) -> None:
    """The system itself refuses to write: a limit on the size of files, in a child."""
    ledger = Ledger.open(f"sqlite:///{tmp_path}/l.db", "set", Budget.approximate(9.0, 1e-3), composition="basic")
    assert exit_code(train_on_a_full_disk, tmp_path) == 0
    assert sum(e.kind == "charge" for e in ledger.entries()) == 1
    assert (tmp_path / "out" / "certificate.json").exists()
    assert not (tmp_path / "out" / "private").exists()


class Deadly(DescentTrainer):
    """Ends the process that trains it, but for the rehearsal, which is in this one."""

    def train(self, rows: Any, settings: Any, facts: Any, noise: Any) -> Any:
        if os.getpid() != int(os.environ["TACIT_TEST_PARENT"]):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().train(rows, settings, facts, noise)


def test_a_killed_worker_is_said_and_the_payment_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_TEST_PARENT", str(os.getpid()))
    ledger = Ledger.open(f"sqlite:///{tmp_path}/l.db", "set", Budget.approximate(9.0, 1e-3), composition="basic")
    options: dict[str, Any] = {"target": "ill", "budget": BUDGET, "runs": 4, "progress": False, "ledger": ledger}
    with ProcessPoolExecutor(1) as pool, pytest.raises(TacitError, match="a worker died"):
        train(Deadly(), table(), **options, executor=pool, out=tmp_path / "out")
    release = train(Deadly(), table(), **options, out=tmp_path / "out")
    assert release.value.score < 0.5
    assert sum(e.kind == "charge" for e in ledger.entries()) == 1


class Faulty(DescentTrainer):
    """Fails on real rows in one of three ways, with a row in its message; the rehearsal's made-up rows are few."""

    def train(self, rows: Any, settings: Any, facts: Any, noise: Any) -> Any:
        if facts.records <= 200:
            return super().train(rows, settings, facts, noise)
        if self.optimiser == "adam":
            return type("Odd", (), {"scores": lambda self, X: np.full((len(X), 2), np.nan)})()
        if self.lots == "poisson":
            return type("Narrow", (), {"scores": lambda self, X: np.zeros(3)})()
        raise ValueError(f"the first row is {rows.X[0]!r}")


@pytest.mark.parametrize("how", [{}, {"lots": "poisson"}])
def test_a_trainer_that_fails_on_real_rows_releases_nothing_and_says_nothing(how: dict[str, str]) -> None:
    with pytest.raises(TacitError, match="every run failed") as caught:
        train(Faulty("logistic", **how), table(), target="ill", budget=BUDGET, runs=2, progress=False)
    assert "row is" not in str(caught.value)
    assert caught.value.__context__ is None or "row is" not in str(caught.value.__context__)


def test_scores_that_are_no_numbers_count_as_wrong() -> None:
    release = train(Faulty("logistic", "adam"), table(), target="ill", budget=BUDGET, runs=2, progress=False)
    assert 0 <= release.value.score <= 1


def test_a_declared_class_that_no_training_row_has_is_never_wrong_input() -> None:
    schema = Schema.declare({"age": (0, 120), "ward": ["north", "west"]}, target="ill", labels=["no", "yes", "dead"])
    release = quick(table(), schema=schema)
    assert release.value.model.classes_.tolist() == ["no", "yes", "dead"]
    assert release.value.score < 0.5


def test_an_epsilon_too_small_for_any_run_says_what_would_do() -> None:
    with pytest.raises((BadInput, GuaranteeError), match="times the rows or the epsilon") as caught:
        train("logistic", table(), target="ill", budget=Budget.approximate(0.02, 1e-5), runs=40, progress=False)
    assert "Nothing was spent" in str(caught.value)


def test_a_class_too_rare_for_the_budget_is_refused_before_anything_is_spent() -> None:
    rates = {"no": 0.999, "yes": 0.001}
    with pytest.raises(BadInput, match=r"rarest class has about 3 of 2700 training rows.*Nothing was spent"):
        train("auto", table(), target="ill", metric=find("auc", rates=rates), budget=BUDGET, progress=False)


def test_a_score_that_is_nothing_but_noise_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(BadInput, match=r"on 30 test losses.*Nothing was spent"):
        train("auto", table(300), target="ill", labels=["no", "yes"], budget=Budget.approximate(0.3, 1e-5))


def test_a_trainer_of_ones_own_is_taken_at_its_word_and_the_certificate_says_so() -> None:
    assert quick(table()).guarantee.premises == (UNTOUCHED,)
    own = train(Deaf(), table(), target="ill", budget=BUDGET, runs=2, progress=False).guarantee
    assert STATED in own.premises
    assert own.assumptions == (SECRET,)


class Deaf(DescentTrainer):
    """One of the user's own."""


def test_simulated_noise_has_no_guarantee() -> None:
    assert quick(table(), noise=Simulation(1)).guarantee.budget is None


def test_labels_can_be_declared_alone_and_the_columns_learnt() -> None:
    """Of a rare class the noise shows nothing; who declares it has it, and pays for the columns alone."""
    release = quick(table(), labels=["no", "yes", "dead"])
    assert release.value.model.classes_.tolist() == ["no", "yes", "dead"]
    assert any(name.startswith("age") for name in release.value.model.preparation.names)
    named = quick(table(), schema=Schema.declare({}, target="ill", labels=["no", "yes"]))
    assert named.value.model.classes_.tolist() == ["no", "yes"]
    rates = quick(table(), metric=tacit.metrics.balanced(rates={"no": 0.5, "yes": 0.5}))
    assert rates.value.model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(BadInput, match="labels are given twice"):
        quick(table(), labels=["no"], schema=Schema.declare({"age": (0, 99)}, target="ill", labels=["no", "yes"]))


def test_a_declared_column_without_a_range_is_learnt() -> None:
    schema = Schema.declare({"age": "number", "ward": ["north", "west"]}, target="ill", labels=["no", "yes"])
    names = quick(table(), schema=schema).value.model.preparation.schema
    assert [c.kind for c in names.columns] == ["number", "category"]
    assert names.columns[0].range is not None


def test_a_table_that_can_show_no_two_labels_is_refused_before_anything_is_spent() -> None:
    wide = table(1500).assign(**{f"c{i}": 0 for i in range(80)})
    with pytest.raises(BadInput, match=r"declare the labels .* Nothing was spent"):
        train("logistic", wide, target="ill", budget=Budget.approximate(1.0, 1e-6), runs=2, progress=False)


def test_dates_and_missing_words_are_features() -> None:
    """By the date alone, or by whether a word of many is there at all."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2021-01-01") + rng.integers(0, 1000, 4000)
    late = days > np.datetime64("2022-06-01")
    dates = pd.DataFrame({"seen": days.astype(str), "ill": np.where(late, "yes", "no")})
    assert quick(dates, noise=Simulation(0)).value.score < 0.25
    there = rng.random(4000) < 0.5
    words = np.where(there, [f"w{i}" for i in range(4000)], "")
    missing = pd.DataFrame({"note": words, "ill": np.where(there, "yes", "no")})
    assert quick(missing, noise=Simulation(0)).value.score < 0.2


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "duckdb"])
def test_frames_of_other_libraries_are_taken(kind: str) -> None:
    module = pytest.importorskip(kind)
    frame = table(1500)
    held: Any = module.from_pandas(frame) if kind == "polars" else None
    if kind == "pyarrow":
        held = module.Table.from_pandas(frame)
    if kind == "duckdb":
        held = module.from_df(frame)
    release = quick(held, labels=["no", "yes"])
    assert release.value.model.predict(held).shape == (1500,)
