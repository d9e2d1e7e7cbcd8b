"""What is left, in words: what they name is taken, and hardly more is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tacit.errors import BudgetRefused
from tacit.privacy.any_filter import filter_over
from tacit.privacy.divergences import Divergences
from tacit.privacy.filters import NOTHING
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.profiles import GaussianProfile
from tacit.privacy.room import (
    POOL,
    TUNING,
    _largest_of_each,
    count_more,
    fits,
    foresee,
    measure_room,
    round_down,
    shares_used,
)

BUDGET = Budget.approximate(3.0, 1e-6)
TRAINING = Guarantee(Budget.approximate(0.8, 1e-6), divergences=Divergences.of(GaussianProfile(0.19), 1e-8))


def tuning(epsilon: float) -> Guarantee:
    return Guarantee(Budget.gdp(Budget.approximate(epsilon, 1e-6).mu()))


@pytest.mark.parametrize("composition", ["any", "gdp", "zcdp", "basic"])
@pytest.mark.parametrize("made", [[], [tuning(1.0)], [Guarantee(Budget.pure(0.5)), tuning(0.5)]])
def test_what_the_words_name_is_taken_and_hardly_more_is_not(composition, made):
    terms, spent = filter_over(BUDGET, composition), NOTHING
    for guarantee in made:
        spent = spent.plus(terms.cost(guarantee))
    told = measure_room(terms, [])
    assert told.largest.keys() == {TUNING, POOL}
    for kind, epsilon in _largest_of_each(terms, spent).items():
        make = tuning if kind == TUNING else lambda e: Guarantee(Budget.pure(e))
        if epsilon > 1e-3:
            assert fits(terms, spent, make(float(round_down(epsilon))))
            assert not fits(terms, spent, make(epsilon * 1.001))


def test_so_many_more_are_taken_and_no_more():
    terms = filter_over(BUDGET)
    spent, cost = terms.cost(tuning(1.0)), terms.cost(tuning(0.5))
    n = count_more(terms, spent, cost)
    assert terms.holds(spent.plus(cost.times(n)))
    assert not terms.holds(spent.plus(cost.times(n + 1)))
    assert n > 10


def test_a_ledger_tells_what_is_left_in_words_and_json(tmp_path: Path):
    with Ledger.open(tmp_path / "l.db", "icu", BUDGET) as ledger:
        assert str(ledger.room()) == "enough for a tuning at epsilon 3, or a pool at epsilon 3"
        ledger.charge(tuning(1.0), "tune 79fc1843: 12 observations")
        assert str(ledger.room()).startswith("enough for 6 more like 'tune' (epsilon 1), or a tuning at epsilon 2.69")
        assert ledger.spent().epsilon(1e-6) == pytest.approx(1.0)
        told = ledger.export()["room"]
        assert told["words"] == str(ledger.room())
        assert told["more"] == [{"purpose": "tune", "epsilon": pytest.approx(1.0), "count": 6}]
        ledger.charge(Guarantee(Budget.pure(1.8)), "pool")
        assert "or a training" in str(ledger.room().with_kind("a training", 0.5))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (tuning(2.9), r"needs epsilon 2.9 at delta 1e-06; ledger 'icu' has 2.69 of 3 left for Gaussian noise"),
        (Guarantee(Budget.pure(2.0)), r"needs epsilon 2; ledger 'icu' has 1.82 of 3 left for a pure epsilon"),
        (Guarantee(Budget.approximate(0.1, 5e-7)), r"a delta of its own, 5e-07, and ledger 'icu' keeps 1e-07"),
    ],
)
def test_a_refusal_names_what_would_fit_and_that_is_taken(tmp_path: Path, asked: Guarantee, words: str):
    with Ledger.open(tmp_path / "l.db", "icu", BUDGET) as ledger:
        ledger.charge(tuning(1.0), "tune")
        with pytest.raises(BudgetRefused, match=words + ".*enough for a tuning at .*Nothing was released") as told:
            ledger.charge(asked)
        assert "composition" not in str(told.value)
        pool = re.search(r"a pool at epsilon ([0-9.]+[0-9])", str(told.value))
        assert pool is not None
        ledger.charge(Guarantee(Budget.pure(float(pool[1]))))


def test_a_closed_ledger_says_so(tmp_path: Path):
    with Ledger.open(tmp_path / "l.db", "icu", BUDGET) as ledger:
        ledger.charge(Guarantee(BUDGET), "all at once")
        assert str(ledger.room()) == "not enough for any release"
        assert ledger.remaining().amount == 0
        assert ledger.spent().budget == BUDGET
        ledger.verify()
        with pytest.raises(BudgetRefused, match="not enough for any release"):
            ledger.charge(Guarantee(Budget.pure(1e-6)))


def test_what_a_charge_would_do_is_foreseen(tmp_path: Path):
    terms = filter_over(BUDGET)
    assert "would take it, and would then have enough for a tuning at epsilon" in foresee(
        "icu", terms, NOTHING, TRAINING
    )
    assert "would refuse it: it has enough" in foresee("icu", terms, NOTHING, tuning(3.5))
    with Ledger.open(tmp_path / "l.db", "icu", BUDGET) as ledger:
        assert ledger.foresee(TRAINING) == foresee("icu", terms, NOTHING, TRAINING)
        assert ledger.takes(TRAINING)
        assert not ledger.takes(tuning(3.5))


def test_shares_are_of_the_currency_of_which_most_is_left():
    terms = filter_over(BUDGET)
    costs = [terms.cost(g) for g in (tuning(1.0), Guarantee(Budget.pure(0.8)), TRAINING)]
    used = shares_used(terms, costs)
    assert len(used) == 3
    assert all(0 < share < 1 for share in used)
    assert sum(used) < 1
    assert shares_used(
        filter_over(Budget.pure(2.0)), [filter_over(Budget.pure(2.0)).cost(Guarantee(Budget.pure(0.5)))]
    ) == [0.25]
