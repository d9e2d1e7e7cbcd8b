"""The hidden pool: its calibration, its draw, and that nothing of what it hides is left anywhere."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shard_parts import Part

import tacit
from tacit.errors import BadInput, BudgetRefused, ObjectiveError, TacitError
from tacit.methods import pool
from tacit.objective import Objective
from tacit.privacy.accounting import compose
from tacit.privacy.conversions import range_mu
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import STEPS
from tacit.privacy.noise import Simulation
from tacit.report.pages.tuned import page

pytestmark = pytest.mark.filterwarnings("ignore::tacit.errors.PrivacyWarning")  # large budgets, for little noise

SPACE = {"x": tacit.Float(0.0, 1.0)}
SECRET = 0.123456789012  # a mean that nobody may see
BUDGETS = (Budget.pure(1.0), Budget.approximate(1.0, 1e-6), Budget.zcdp(0.1), Budget.gdp(0.5))


def losses(params: dict[str, Any]) -> Any:
    return np.full(400, SECRET + 0.5 * params["x"])


def tune(objective: Any = losses, **changes: Any) -> Any:
    usual: dict[str, Any] = {"records": 400, "bounds": (0.0, 1.0), "budget": Budget.pure(2.0), "trials": 20}
    return tacit.tune(objective, SPACE, **{**usual, "method": "pool", "progress": False, **changes})


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_choice_and_score_compose_to_the_budget_and_no_less(budget: Budget, share: float) -> None:
    terms = pool.PoolTerms(Objective(losses, 400, (0.0, 1.0)), budget, share)
    choice, score = terms.parts()
    if terms.laplace:
        assert choice.amount + score.amount == pytest.approx(budget.amount)
        assert terms.guarantee().budget == Budget.pure(budget.amount)
    else:
        whole = compose([terms.choice().mechanism.guarantee, terms.mean().guarantee]).budget
        assert whole is not None
        assert whole.amount == pytest.approx(budget.amount, rel=1e-6)
        assert whole.amount <= budget.amount
    assert terms.choice().mechanism.guarantee.budget == choice


def test_the_noise_is_what_the_formulae_say() -> None:
    terms = pool.PoolTerms(Objective(losses, 400, (-1.0, 3.0)), Budget.pure(1.0), 0.25)
    assert terms.choice().scale == pytest.approx(2 * 4 / (400 * 0.75))
    assert terms.deviation == pytest.approx(2**0.5 * 4 / (400 * 0.25))
    held = pool.PoolTerms(Objective(losses, 400, (-1.0, 3.0)), Budget.gdp(1.0), 0.25)
    assert range_mu(2 * 4 / (400 * held.choice().scale)) == pytest.approx(0.75**0.5)
    assert held.deviation == pytest.approx(4 / (400 * 0.5))


def test_laplace_noise_covers_the_steps_and_their_rounding_to_floats() -> None:
    """With 2^23 records sums are rounded to whole multiples of 8."""
    for records, unit in ((400, 1), (2**23, 8)):
        terms = pool.PoolTerms(Objective(losses, records, (0.0, 1.0)), Budget.pure(1.0), 0.25)
        assert pool.float_unit(records) == unit
        assert terms.blur().sensitivity == STEPS + unit


def test_a_ledger_records_what_was_drawn(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "l", Budget.pure(3.0))
    release = tune(ledger=ledger, out=tmp_path / "out")
    assert [entry.kind for entry in ledger.entries()] == ["charge", "drawn"]
    assert ledger.verify_certificate(release.certificate()).paid


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("budget", [Budget.pure(50.0), Budget.gdp(20.0)])
def test_with_much_budget_it_finds_the_best_and_its_score(direction: str, budget: Budget) -> None:
    listed = [{"x": x} for x in (0.1, 0.4, 0.9)]
    value = tune(budget=budget, direction=direction, candidates=listed).value  # fails once in 1e6
    best = 0.1 if direction == "minimize" else 0.9
    assert value.params == {"x": best}
    assert value.score == pytest.approx(SECRET + 0.5 * best, abs=8 * (value.deviation or 0))


def test_the_winner_has_the_law_of_the_exponential_mechanism() -> None:
    means, runs = np.array([0.05, 0.06, 0.1]), 3000
    choice = pool.PoolTerms(Objective(losses, 400, (0.0, 1.0)), Budget.pure(1.0), 0.5, Simulation(1)).choice()
    chosen = np.array([choice.draw([round(m * STEPS) * 400 for m in means]) for _ in range(runs)])
    weights = np.exp(-means * 400 * 0.5 / 2)
    for i, share in enumerate(weights / weights.sum()):
        assert abs(np.mean(chosen == i) - share) < 5 * (share * (1 - share) / runs) ** 0.5  # fails once in 1e6


def test_sums_that_no_float_holds_are_rounded_to_units_that_it_does() -> None:
    assert pool.float_unit(2**20) == 1
    unit = pool.float_unit(2**30)
    assert unit == 2**10
    totals = [2**62 - 1, 2**62 - 1 - STEPS, 12345678901234567]
    rounded = [int(x) for x in pool.floats(totals, unit)]
    assert all(abs(a - b) <= unit / 2 and a % unit == 0 for a, b in zip(rounded, totals, strict=True))
    assert abs(rounded[0] - rounded[1]) <= STEPS + unit


def test_more_candidates_than_trials_are_thinned_by_the_seed() -> None:
    seen: list[float] = []

    def look(params: dict[str, Any]) -> Any:
        seen.append(params["x"])
        return losses(params)

    listed = [{"x": i / 50} for i in range(50)]
    tune(look, candidates=listed, trials=7, seed=3)
    first, seen = sorted(seen), []
    tune(look, candidates=listed, trials=7, seed=3)
    assert first == sorted(seen)
    assert len(first) == 7


def test_nothing_of_the_hidden_losses_is_left(tmp_path: Path) -> None:
    release = tune(out=tmp_path, candidates=[{"x": x} for x in (0.25, 0.5, 0.75)])
    hidden = [SECRET + 0.5 * x for x in (0.25, 0.5, 0.75)]
    marks = [f"{m:.8f}"[:10] for m in hidden] + [str(400 * round(m * STEPS)) for m in hidden]
    texts = [p.read_bytes().decode("latin-1") for p in tmp_path.rglob("*") if p.is_file()]
    texts += [repr(release), str(pickle.dumps(release)), json.dumps(release.certificate())]
    texts += [str(page(release.certificate()))]
    assert not any(mark in text for mark in marks for text in texts)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "certificate.json", "pool.jsonl"]
    assert release.value.trials == []


def test_a_run_that_was_killed_evaluates_only_what_is_missing(tmp_path: Path) -> None:
    seen: list[float] = []

    def dies_at_the_twelfth(params: dict[str, Any]) -> Any:
        if len(seen) == 11:
            raise KeyboardInterrupt
        seen.append(params["x"])
        return losses(params)

    with pytest.raises((KeyboardInterrupt, ObjectiveError)):
        tune(dies_at_the_twelfth, out=tmp_path)
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o700
    assert all(p.stat().st_mode & 0o077 == 0 for p in (tmp_path / "private").iterdir())
    again: list[float] = []

    def look(params: dict[str, Any]) -> Any:
        again.append(params["x"])
        return losses(params)

    tune(look, out=tmp_path)
    assert len(again) == 20 - 11
    assert not set(again) & set(seen)
    assert not (tmp_path / "private").exists()


def test_other_candidates_in_the_same_folder_are_refused(tmp_path: Path) -> None:
    tune(out=tmp_path)
    with pytest.raises(BadInput, match="other terms"):
        tune(out=tmp_path, seed=1)


def test_a_draw_that_was_lost_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(self: Any, totals: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pool.Choice, "draw", die)
        with pytest.raises(KeyboardInterrupt):
            tune(out=tmp_path)
    with pytest.raises(TacitError, match="was lost"):
        tune(out=tmp_path)
    assert not (tmp_path / "private").exists()


def test_an_executor_gives_what_one_process_gives() -> None:
    with ThreadPoolExecutor(2) as threads:
        alone = tune(noise=Simulation(5)).value
        assert tune(noise=Simulation(5), executor=threads).value == alone


def test_shards_give_what_one_process_gives() -> None:
    rows = np.random.default_rng(0).random((400, 1))
    whole, halves = Part(rows), tacit.Shards([Part(rows[:150]), Part(rows[150:])])
    assert tune(halves, noise=Simulation(5)).value == tune(whole, noise=Simulation(5)).value


def test_much_noise_is_refused_unless_it_is_accepted() -> None:
    few: dict[str, Any] = {"records": 5, "budget": Budget.pure(1.0)}
    with pytest.raises(BadInput, match="accept_noise"):
        tune(**few)
    assert tune(lambda p: np.full(5, p["x"]), **few, accept_noise=True).value.score is not None


def test_a_failure_shows_nothing_and_costs_nothing(tmp_path: Path) -> None:
    from tacit.privacy.ledger import Ledger

    def fails(params: dict[str, Any]) -> Any:
        raise ValueError(f"record {SECRET}")

    with Ledger.open(tmp_path / "l.db", "l", Budget.pure(1.0)) as ledger:
        with pytest.raises(ObjectiveError) as caught:
            tune(fails, ledger=ledger, budget=Budget.pure(0.5))
        assert str(SECRET) not in str(caught.value)
        assert all(e.kind != "charge" for e in ledger.entries())
        with pytest.raises(BudgetRefused):
            tune(fails, ledger=ledger, budget=Budget.pure(1.5))


def test_an_old_certificate_keeps_its_digest() -> None:
    from tacit.methods.tuned import Tuned

    old = Tuned({"x": 1.0}, 0.5, "observed", "minimize", deviation=0.1).to_json()
    assert "law" not in old
    assert Tuned.from_json(old).to_json() == old
