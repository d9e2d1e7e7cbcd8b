"""From a total budget to the noise of each setting: always on the safe side, and never far from it."""

from __future__ import annotations

import math

import pytest
from benchmarks.speed._search_budget import base_for, choose_law

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy.guarantee import Budget
from tacit.privacy.profiles import (
    ApproximateProfile,
    GaussianProfile,
    RenyiProfile,
    epsilon_at,
)
from tacit.privacy.run_laws import Capped, Fixed, NegativeBinomial, PoissonRuns, RunLaw, chance_of_top, geometric
from tacit.privacy.selection import select

TOTAL = Budget.approximate(1.0, 1e-5)


@pytest.mark.parametrize(("runs", "known"), [(10.0, 0.640), (40.0, 0.524), (100.0, 0.469)])
def test_a_total_of_one_allows_the_base_epsilons_found_before(runs: float, known: float) -> None:
    mu = base_for(TOTAL, geometric(runs))
    assert known <= Budget.gdp(mu).epsilon(1e-5) <= known + 0.006


@pytest.mark.parametrize("law", [Capped(geometric(20.0), 60), PoissonRuns(10.0), Fixed(5), Fixed(1)], ids=str)
def test_the_base_fits_and_a_slightly_larger_one_does_not(law: RunLaw) -> None:
    for total in (Budget.approximate(8.0, 1e-9), Budget.approximate(0.05, 1e-3)):
        mu = base_for(total, law)
        assert float(select(GaussianProfile(mu), law).delta(total.amount)) <= total.delta
        above = select(GaussianProfile(mu * 1.002), law)
        assert isinstance(law, Fixed) or float(above.delta(total.amount)) > total.delta


def test_a_single_run_gets_the_whole_budget() -> None:
    assert base_for(TOTAL, Fixed(1)) == pytest.approx(TOTAL.mu(), rel=1e-5)


def test_other_families_are_calibrated_too() -> None:
    law = geometric(10.0)
    pure = base_for(TOTAL, law, family=ApproximateProfile)
    assert 1 / 3 <= pure < 0.64  # three times epsilon is always enough
    lopsided = base_for(
        TOTAL, law, family=lambda s: RenyiProfile((2.0, 8.0, 32.0), (s, 4 * s, 16 * s), (s / 2, 2 * s, 8 * s))
    )
    curve = RenyiProfile(
        (2.0, 8.0, 32.0), (lopsided, 4 * lopsided, 16 * lopsided), (lopsided / 2, 2 * lopsided, 8 * lopsided)
    )
    assert epsilon_at(select(curve, law), TOTAL.delta) <= TOTAL.amount


def test_a_total_that_nothing_fits_is_refused_with_a_remedy() -> None:
    with pytest.raises(GuaranteeError, match=r"does not fit.*take fewer runs"):
        base_for(TOTAL, geometric(10.0), family=lambda s: ApproximateProfile(s, 1e-4))
    with pytest.raises(GuaranteeError, match=r"give Budget\.approximate"):
        base_for(Budget.gdp(1.0), geometric(10.0))


def test_the_chosen_law_is_within_all_limits_and_fits_the_total() -> None:
    for runs, cap, keep in ((40.0, None, 0.5), (15.0, 20, 0.4), (200.0, None, 0.55)):
        best = choose_law(TOTAL, runs=runs, cap=cap, keep=keep)
        assert best.mean <= runs
        assert best.largest is not None
        assert cap is None or best.largest <= cap
        assert keep <= best.keep <= 1
        assert best.chance == chance_of_top(best.law, 0.05)
        assert float(select(GaussianProfile(best.mu), best.law).delta(TOTAL.amount)) <= TOTAL.delta


def test_no_law_tried_by_hand_has_a_better_chance() -> None:
    """Capped at three times the mean as the choice is, at the same keep and no more expected runs."""
    best = choose_law(TOTAL, runs=40.0, keep=0.5)
    for eta in (0.5, 1.5, 3.0):
        for mean in (25.0, 40.0):
            law = Capped(NegativeBinomial.with_mean(mean, eta), math.ceil(3 * mean))
            if base_for(TOTAL, law) >= 0.5 * TOTAL.mu():
                assert chance_of_top(law, 0.05) <= best.chance + 0.005


def test_more_computing_never_lowers_the_chance_and_keeping_more_does() -> None:
    chances = [choose_law(TOTAL, runs=r).chance for r in (5.0, 40.0)]
    assert chances == sorted(chances)
    less, more = (choose_law(TOTAL, runs=60.0, keep=keep) for keep in (0.45, 0.6))
    assert (less.mu < more.mu, less.chance > more.chance) == (True, True)


def test_bad_input_is_refused_with_the_rule() -> None:
    with pytest.raises(BadInput, match="runs must be above 1"):
        choose_law(TOTAL, runs=1.0)
    with pytest.raises(BadInput, match="cap must be at least 2"):
        choose_law(TOTAL, runs=10.0, cap=1)
    with pytest.raises(GuaranteeError, match="lower keep"):
        choose_law(TOTAL, runs=10.0, keep=0.999)
