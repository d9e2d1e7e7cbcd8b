"""tacit.select: trainings of one's own, the best of a secret number, one charge, premises on the certificate."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.audit import lower_bound
from tacit.errors import BadInput, BudgetRefused, GuaranteeError, TacitError
from tacit.privacy.profiles import GaussianProfile
from tacit.privacy.run_laws import draw_runs
from tacit.training import runs as runs_module
from tacit.training.runs import best_of
from tacit.training.search_cost import SearchCost, make_law
from tacit.training.secret_search import DURATION
from tacit.training.select import APART, STATED, WITHIN, OwnSearch, Selection

BUDGET = tacit.Budget.approximate(2.0, 1e-5)
SPACE = {"shift": tacit.Float(-1.0, 1.0)}
RECORDS = np.linspace(0.0, 1.0, 400)


def objective(params: Any, base: Any) -> Any:
    """A mean of 1,000 training numbers in [0, 1], released with noise, and a shift."""
    model = 0.5 + params["shift"] + np.random.default_rng().normal(0, 1 / (1000 * base.mu))
    return model, np.abs(RECORDS - model)


def quick(told: Any = objective, **options: Any) -> Any:
    return tacit.select(told, SPACE, **{"records": 400, "budget": BUDGET, "runs": 8, **options})


def test_the_best_run_is_released_with_one_guarantee_and_its_premises() -> None:
    release = quick(test=lambda model: np.abs(RECORDS - model), test_records=400)
    value = release.value
    mean = np.clip(np.abs(RECORDS - value.model), 0.0, 1.0).mean()  # within the bounds, whichever setting is the best
    assert value.score == pytest.approx(mean, abs=6 * value.deviation)
    assert value.test_score == pytest.approx(mean, abs=6 * value.test_deviation)
    assert release.guarantee.epsilon(1e-5) == 2.0
    assert WITHIN in release.guarantee.premises
    assert APART in release.guarantee.premises
    assert any("secret" in a for a in release.guarantee.assumptions)
    assert quick(hide_runs=True).guarantee.assumptions == (DURATION,)


def test_a_stated_profile_is_compared_with_the_base_before_anything_is_spent(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(f"sqlite:///{tmp_path}/l.db", "set", tacit.Budget.approximate(9.0, 1e-3))
    called: list[int] = []
    with pytest.raises(BadInput, match="above the base"):
        quick(lambda p, b: called.append(1), profile=lambda p, b: GaussianProfile(1.01 * b.mu), ledger=ledger)
    assert not called
    assert not [e for e in ledger.entries() if e.kind == "charge"]
    within = quick(profile=lambda p, b: GaussianProfile(b.mu * 0.999))
    assert STATED in within.guarantee.premises


def test_neighbours_are_no_further_apart_than_is_stated() -> None:
    """A training record at either end, and a score that favours what tells them apart: epsilon measured from the
    released model is below the claim. The bound fails by chance once in 10,000."""
    noise, cost = tacit.Simulation(4), SearchCost(BUDGET, make_law(5), 0.0)

    def outputs(record: float) -> list[float]:
        def told(params: Any, base: Any) -> Any:
            model = record + noise.generator.normal(0, 1 / base.mu)
            return model, np.full(400, 1.0 if model < 1.5 / base.mu else 0.0)

        search = OwnSearch(told, tacit.Space(SPACE), 400, (0.0, 1.0), cost, None, noise)

        def best() -> float:
            runs = [search.run(search.draw_params()) for _ in range(draw_runs(cost.law))]
            return runs[best_of([run.loss for run in runs])].model

        return [best() for _ in range(400)]

    measured = lower_bound(outputs(1.0), outputs(0.0), delta=1e-5, confidence=0.9999, family="gdp")
    assert measured <= 2.0


def test_runs_that_fail_count_and_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def half(params: Any, base: Any) -> Any:
        if params["shift"] < 0:
            raise ValueError("secret-4711")
        return objective(params, base)

    release = quick(half, runs=20)
    assert release.value.params["shift"] >= 0
    with pytest.raises(TacitError, match="every run failed") as caught:
        quick(lambda p, b: (None, [1.0, 2.0]))
    assert "secret-4711" not in str(caught.value) + "".join(capsys.readouterr())
    with pytest.raises(TacitError, match=r"\(400,\)"):  # on made-up rows it says why
        quick(lambda p, b: (None, [1.0, 2.0]), noise=tacit.Simulation(0))


def test_one_charge_pays_for_all_and_a_refusal_calls_nothing(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(
        f"sqlite:///{tmp_path}/l.db", "set", tacit.Budget.approximate(2.5, 1e-4), composition="basic"
    )
    assert quick(ledger=ledger).payment is not None
    called: list[int] = []
    with pytest.raises(BudgetRefused):
        quick(lambda p, b: called.append(1), ledger=ledger)
    assert not called
    assert len([e for e in ledger.entries() if e.kind == "charge"]) == 1


def test_a_search_that_was_stopped_goes_on_and_leaves_no_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def told(params: Any, base: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return objective(params, base)

    monkeypatch.setattr("tacit.training.secret_search.draw_runs", lambda law: 6)
    with pytest.raises(KeyboardInterrupt):
        quick(told, out=tmp_path)
    first = (tmp_path / "private" / "run-0").read_bytes()
    seen: list[bytes] = []
    usual = runs_module.run_all

    def watch(search: Any, settings: Any, state: Any, *rest: Any) -> None:
        usual(search, settings, state, *rest)
        seen.append((tmp_path / "private" / "run-0").read_bytes())

    monkeypatch.setattr("tacit.training.secret_search.run_all", watch)
    quick(told, out=tmp_path)
    assert seen == [first]
    assert len(calls) == 2 + 5
    assert not (tmp_path / "private").exists()
    assert json.loads((tmp_path / "certificate.json").read_text())["guarantee"]["epsilon"] == 2.0


def test_runs_are_done_by_other_processes() -> None:
    with ProcessPoolExecutor(1) as pool:
        assert quick(executor=pool, runs=4).value.score < 0.8


def test_nothing_private_is_in_what_is_released(tmp_path: Path) -> None:
    def told(params: Any, base: Any) -> Any:
        model, losses = objective(params, base)
        losses[3] = 0.12345678901
        return model, losses

    release = quick(told, out=tmp_path)
    files = b"".join(f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())
    for kept in (pickle.dumps(release), repr(release).encode(), files, repr(Selection).encode()):
        assert b"12345678901" not in kept
        assert np.float64(0.12345678901).tobytes() not in kept


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"records": 0}, "records"),
        ({"bounds": (1.0, 0.0)}, "bounds"),
        ({"runs": -1}, "runs"),
        ({"budget": tacit.Budget.pure(1.0)}, "delta"),
        ({"test": len}, "test_records"),
        ({"budget": tacit.Budget.approximate(1e-6, 1e-5)}, "Nothing was spent"),
    ],
)
def test_bad_input_is_refused_before_anything_happens(options: Any, words: str) -> None:
    called: list[int] = []
    with pytest.raises((BadInput, GuaranteeError), match=words):
        quick(lambda p, b: called.append(1), **options)
    assert not called


def test_the_score_is_the_metric_that_was_named_with_its_loss_beside_it() -> None:
    def wrong(params: Any, base: Any) -> Any:
        return 0.0, np.r_[np.ones(100), np.zeros(300)]

    release = quick(wrong, metric="accuracy", test=lambda model: np.r_[np.ones(4), np.zeros(396)], test_records=400)
    value = release.value
    assert value.metric == "accuracy"
    assert value.score == pytest.approx(1 - value.loss) == pytest.approx(0.75, abs=6 * value.deviation)
    assert value.test_score == pytest.approx(1 - value.test_loss) == pytest.approx(0.99, abs=6 * value.test_deviation)
    assert value.interval[1] <= 1.0
    half = 1.96 * np.hypot(value.test_deviation, value.sampling)
    assert value.interval[0] == pytest.approx(value.test_score - half)
    shown = release.certificate()["value"]
    assert (shown["score"], shown["loss"], shown["metric"]) == (value.score, value.loss, "accuracy")
    plain = quick().value
    assert (plain.score, plain.metric, plain.interval) == (plain.loss, "score", None)
