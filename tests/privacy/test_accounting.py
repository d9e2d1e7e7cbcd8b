"""Composition with parameters fixed in advance: oracles for compose and split."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy.accounting import compose, split
from tacit.privacy.conversions import gdp_epsilon, pure_mu, zcdp_epsilon
from tacit.privacy.guarantee import Budget, Guarantee

settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")

amounts = st.floats(1e-3, 0.5)


@given(st.lists(amounts, min_size=1, max_size=20))
def test_pure_guarantees_add(parts):
    together = compose([Guarantee(Budget.pure(e)) for e in parts])
    assert together.notion == "pure"
    assert together.epsilon() == pytest.approx(math.fsum(parts), rel=1e-12)


@pytest.mark.parametrize(("mu", "epsilon", "times"), [(0.5, 1.0, 1), (0.3, 0.2, 8), (2.0, 0.5, 2), (0.1, 3.0, 1)])
def test_a_mixture_of_gaussian_and_laplace_is_bounded_by_what_we_state(mu, epsilon, times):
    gaussian = pld.privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=1e-3)
    laplace = pld.privacy_loss_distribution.from_laplace_mechanism(1 / epsilon, value_discretization_interval=1e-3)
    peer = gaussian.compose(laplace).self_compose(times).get_epsilon_for_delta(1e-6)
    parts = [Guarantee(Budget.gdp(mu)), Guarantee(Budget.pure(epsilon))] * times
    ours = compose(parts).epsilon(1e-6)
    assert peer <= ours
    assert peer <= compose([*parts, Guarantee(Budget.zcdp(1e-12))]).epsilon(1e-6)


@pytest.mark.parametrize(
    ("k", "epsilon", "own", "delta"), [(1, 0.5, 1e-7, 1e-6), (10, 0.3, 1e-8, 1e-5), (400, 0.02, 1e-9, 1e-6)]
)
def test_approximate_guarantees_compose_to_no_less_than_the_optimum(k, epsilon, own, delta):
    # Exact (Kairouz et al. 2015): each reveals all with probability own, otherwise answers by randomised response.
    stated = compose([Guarantee(Budget.approximate(epsilon, own))] * k, delta=delta).budget
    j = np.arange(k + 1)
    loss = (k - 2 * j) * epsilon
    stick = np.sum(binom.pmf(j, k, 1 / (1 + math.exp(epsilon))) * np.maximum(0, -np.expm1(stated.amount - loss)))
    revealed = -math.expm1(k * math.log1p(-own))
    assert stated.delta == delta
    assert revealed + (1 - revealed) * stick <= delta
    assert stated.amount <= k * epsilon


def test_without_a_delta_to_spare_epsilons_and_deltas_add():
    parts = [Budget.approximate(0.5, 1e-6), Budget.pure(0.25), Budget.approximate(0.125, 2e-6)]
    together = compose([Guarantee(b) for b in parts]).budget
    assert together.amount == 0.875
    assert together.delta == pytest.approx(3e-6, rel=1e-12)


def test_many_small_approximate_guarantees_beat_their_sum():
    together = compose([Guarantee(Budget.approximate(0.02, 1e-9))] * 400, delta=1e-6).budget
    assert together.amount < 3 < 400 * 0.02


def test_a_delta_of_its_own_and_a_gaussian_need_the_total_delta():
    parts = [Guarantee(Budget.approximate(0.5, 1e-6)), Guarantee(Budget.gdp(0.5))]
    with pytest.raises(BadInput, match="needs the total delta to state"):
        compose(parts)
    with pytest.raises(GuaranteeError, match="leaves nothing of delta=1e-06"):
        compose(parts, delta=1e-6)
    together = compose(parts, delta=1e-5).budget
    assert together.delta == 1e-5
    assert together.amount > Budget.gdp(0.5).epsilon(1e-5)


@pytest.mark.parametrize("budget", [Budget.pure(0.2), Budget.gdp(0.3), Budget.zcdp(0.1), Budget.approximate(0.1, 1e-8)])
def test_composing_n_copies_is_composing_pairs_of_halves(budget):
    g = Guarantee(budget)
    flat = compose([g] * 6).budget
    nested = compose([compose([g] * 2), compose([g] * 4)]).budget
    assert flat.notion == nested.notion
    assert flat.amount == pytest.approx(nested.amount, rel=1e-12)
    assert flat.delta == pytest.approx(nested.delta, rel=1e-12)
    assert flat.amount > budget.amount


def test_what_is_assumed_and_who_proved_it_is_carried_along():
    parts = [Guarantee(Budget.pure(1.0), "u", ("a", "b"), "s"), Guarantee(Budget.pure(1.0), "u", ("b", "c"), "t")]
    together = compose(parts)
    assert together.assumptions == ("a", "b", "c")
    assert together.unit == "u"
    assert together.source.endswith("s; t")


def test_guarantees_for_different_units_do_not_compose():
    with pytest.raises(GuaranteeError, match="a household, a record"):
        compose([Guarantee(Budget.pure(1.0), "a record"), Guarantee(Budget.pure(1.0), "a household")])


def test_one_release_without_a_guarantee_leaves_none():
    assert compose([Guarantee(Budget.pure(1.0)), Guarantee.none("simulated")]).kind == "none"


def test_composing_nothing_is_refused():
    with pytest.raises(BadInput, match="at least one guarantee"):
        compose([])


@given(st.sampled_from([Budget.pure, Budget.zcdp, Budget.gdp]), amounts, st.integers(1, 300))
def test_the_shares_of_a_budget_together_are_the_budget(make, amount, among):
    whole = compose([Guarantee(split(make(amount), among))] * among).budget
    assert whole.notion == make(amount).notion
    assert whole.amount == pytest.approx(amount, rel=1e-9)


@given(st.floats(0.1, 10), st.floats(1e-9, 1e-3), st.integers(1, 300))
def test_the_shares_of_an_approximate_budget_together_are_the_budget(epsilon, delta, among):
    whole = compose([Guarantee(split(Budget.approximate(epsilon, delta), among))] * among)
    assert whole.epsilon(delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("among", [0, -1, 1.5, True, None])
def test_a_budget_is_split_among_a_whole_number(among):
    with pytest.raises(BadInput, match="among must be"):
        split(Budget.pure(1.0), among)


def test_one_zcdp_part_among_others_makes_all_of_them_zcdp() -> None:
    """rho of the Gaussian part is mu^2/2, and the delta of the approximate part is taken off first."""
    parts = [Guarantee(b) for b in (Budget.zcdp(0.1), Budget.gdp(0.4), Budget.approximate(0.2, 1e-7))]
    whole = compose(parts, delta=1e-6).budget
    assert whole is not None
    rho = 0.1 + 0.4**2 / 2 + 0.2**2 / 2
    assert (whole.notion, whole.delta) == ("approximate", 1e-6)
    assert whole.amount == pytest.approx(zcdp_epsilon(rho, 1e-6 - 1e-7), rel=1e-9)


def test_a_gaussian_and_a_delta_pass_through_gdp_where_that_is_less() -> None:
    parts = [Guarantee(Budget.gdp(0.4)), Guarantee(Budget.approximate(0.2, 1e-7))]
    whole = compose(parts, delta=1e-6).budget
    assert whole is not None
    assert whole.amount == pytest.approx(gdp_epsilon(math.hypot(0.4, pure_mu(0.2)), 1e-6 - 1e-7), rel=1e-9)
