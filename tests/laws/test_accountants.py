"""Every accountant against a second computation, on random settings: closed forms, 40 digits, FFT, dp-accounting.

Settings come from fixed seeds, so that each run is the same. None of the formulas on the right-hand side is tacit's
own; those of tests/recorded_draws.py are shared with the law of recorded draws.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import dp_accounting as da
import mpmath
import numpy as np
import pytest
from absl import logging
from dp_accounting import pld, rdp
from recorded_draws import Losses, gaussian_delta, gaussian_epsilon, lots_epsilon, response_mu
from scipy.special import ndtr

from tacit.accounting import epsilon
from tacit.privacy import conversions
from tacit.privacy.accounting import Cost, Filter, compose, split
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.profiles import GaussianProfile, epsilon_at
from tacit.privacy.run_laws import Fixed, NegativeBinomial
from tacit.privacy.selection import select
from tacit.training.column_counts import ColumnCounts
from tacit.training.search_cost import SearchCost, make_law

logging.set_verbosity(logging.ERROR)


def spread(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


# Conversions


def test_conversions_of_gaussian_privacy_agree_with_forty_digits() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        mu, delta = spread(rng, 1e-3, 20.0), spread(rng, 1e-12, 1e-2)
        asked = gaussian_epsilon(mu, delta)
        assert conversions.gdp_epsilon(mu, delta) == pytest.approx(asked, rel=1e-9, abs=1e-12)
        if asked > 1e-3:
            assert conversions.gdp_mu(asked, delta) == pytest.approx(mu, rel=1e-8)
            assert conversions.gdp_delta(mu, asked) == pytest.approx(float(gaussian_delta(mu, asked)), rel=1e-9)


def test_conversions_of_pure_privacy_and_ranges_agree_with_forty_digits() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        pure = spread(rng, 1e-4, 20.0)
        assert conversions.pure_mu(pure) == pytest.approx(response_mu(pure), rel=1e-9)
        assert conversions.range_mu(pure) == pytest.approx(response_mu(pure / 2), rel=1e-9)
        assert conversions.mu_pure(response_mu(pure)) == pytest.approx(pure, rel=1e-8)
        assert conversions.mu_range(response_mu(pure)) == pytest.approx(2 * pure, rel=1e-8)
        assert conversions.pure_rho(pure) == pytest.approx(pure**2 / 2)
        assert conversions.mu_rho(pure) == pytest.approx(pure**2 / 2)


def test_epsilon_of_concentrated_privacy_is_the_least_over_orders() -> None:
    """Canonne, Kamath and Steinke (2020), Proposition 12, over a fine grid of orders; and above the exact Gaussian."""
    rng = np.random.default_rng(3)
    orders = 1 + np.geomspace(1e-4, 1e6, 20_000)
    for _ in range(60):
        rho, delta = spread(rng, 1e-5, 10.0), spread(rng, 1e-12, 1e-2)
        grid = orders * rho + (-math.log(delta) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
        found = conversions.zcdp_epsilon(rho, delta)
        assert found == pytest.approx(max(0.0, float(grid.min())), rel=1e-4, abs=1e-6)
        assert found >= gaussian_epsilon(math.sqrt(2 * rho), delta) * (1 - 1e-9)


# Subsampling


def test_lots_cost_no_less_than_their_worst_pair_and_little_more() -> None:
    """The pair is composed by FFT, its losses rounded down; Poisson lots have the mixture on both sides."""
    rng = np.random.default_rng(4)
    for i in range(16):
        kind = ("without_replacement", "poisson")[i % 2]
        lot, steps, noise = int(rng.integers(10, 400)), int(rng.integers(1, 200)), spread(rng, 1.0, 8.0)
        losses = Losses(gaussian=(1 / noise,), lots=((kind, lot / 1000),) * steps)
        least = lots_epsilon(losses, 1e-5)
        asked: dict[str, Any] = {"records": 1000, "lot": lot, "steps": steps, "delta": 1e-5}
        found = float(epsilon(noise=noise, **asked, sampling=kind, adjacency="replace_one"))
        assert least * (1 - 1e-6) <= found <= 1.25 * least + 0.02, (kind, lot, steps, noise)


def test_poisson_lots_lie_between_dp_accountings_optimistic_and_pessimistic_bounds() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        rate, steps, noise = spread(rng, 1e-2, 0.5), int(rng.integers(1, 200)), spread(rng, 0.7, 4.0)
        peers = []
        for pessimistic in (False, True):
            one = pld.privacy_loss_distribution.from_gaussian_mechanism(
                noise,
                pessimistic_estimate=pessimistic,
                sampling_prob=rate,
                value_discretization_interval=1e-3,
            )
            peers.append(one.self_compose(steps).get_epsilon_for_delta(1e-5))
        asked: dict[str, Any] = {"records": 10**6, "lot": rate * 10**6, "steps": steps, "delta": 1e-5}
        found = float(epsilon(noise=noise, **asked, sampling="poisson", adjacency="add_remove"))
        assert peers[0] * (1 - 1e-6) - 1e-9 <= found <= peers[1] * (1 + 1e-3) + 1e-3


def test_lots_never_cost_more_than_the_renyi_bound_of_dp_accounting() -> None:
    rng = np.random.default_rng(6)
    for _ in range(3):
        lot, steps, noise = int(rng.integers(10, 400)), int(rng.integers(1, 500)), spread(rng, 0.6, 6.0)
        peer = rdp.RdpAccountant(neighboring_relation=da.NeighboringRelation.REPLACE_ONE)
        event = da.SampledWithoutReplacementDpEvent(1000, lot, da.GaussianDpEvent(noise))
        peer.compose(event, steps)
        asked: dict[str, Any] = {"records": 1000, "lot": lot, "steps": steps, "delta": 1e-6}
        assert float(epsilon(noise=noise, **asked)) <= peer.get_epsilon(1e-6) * (1 + 1e-9)


# Selection


def best_run_delta(mu: float, eta: float, gamma: float, eps: float, *, worst_first: bool) -> float:
    """Delta at eps of the best of K runs N(0, 1) or N(mu, 1) that are scored by their value: by quadrature.

    K is negative binomial without its zero; E[K u^(K-1)] is in proportion to (1 - (1 - gamma) u)^-(eta + 1).
    """
    y = np.linspace(-12.0, 12.0 + mu, 60_001)

    def winner(mean: float) -> Any:
        density = np.exp(-((y - mean) ** 2) / 2)
        beaten = ndtr(mean - y) if worst_first else ndtr(y - mean)
        weights = density * (1 - (1 - gamma) * beaten) ** -(eta + 1)
        return weights / weights.sum()

    here, there = winner(0.0), winner(mu)
    gaps = (np.maximum(a - math.exp(eps) * b, 0.0).sum() for a, b in ((here, there), (there, here)))
    return float(max(gaps))


def test_the_best_of_many_runs_costs_no_less_than_scoring_by_value_and_no_more_than_dp_accounting() -> None:
    rng = np.random.default_rng(7)
    for _ in range(16):
        mu, mean, eta = spread(rng, 0.02, 1.0), spread(rng, 1.5, 100.0), float(rng.choice([0.0, 0.5, 1.0, 2.0]))
        law, delta = NegativeBinomial.with_mean(mean, eta), spread(rng, 1e-8, 1e-3)
        selected = select(GaussianProfile(mu), law)
        found = epsilon_at(selected, delta)
        for worst_first in (False, True):
            assert best_run_delta(mu, eta, law.gamma, found, worst_first=worst_first) <= delta * (1 + 1e-6)
        peer = rdp.RdpAccountant(orders=(1 + np.geomspace(0.05, 2000.0, 120)).tolist())
        peer.compose(da.dp_event.RepeatAndSelectDpEvent(da.GaussianDpEvent(1 / mu), mean, eta))
        assert gaussian_epsilon(mu, delta) * (1 - 1e-9) <= found <= peer.get_epsilon(delta) * (1 + 1e-3)


# A whole training


def test_delta_is_divided_between_runs_and_lone_words() -> None:
    """A hundredth of it is for lone words; what is left is for the runs."""
    rng = np.random.default_rng(11)
    for columns in (0.0, 0.1):
        budget = Budget.approximate(spread(rng, 0.5, 3.0), spread(rng, 1e-8, 1e-4))
        cost, rest = SearchCost(budget, make_law(12), columns), budget.delta * (1 - 1e-2)
        found = cost.epsilon(0.1)
        assert float(cost.profile(0.1).delta(found)) <= rest < float(cost.profile(0.1).delta(found * (1 - 1e-6)))
        assert 2 * cost.missed * (1 + math.exp(budget.amount)) == pytest.approx(1e-2 * budget.delta, rel=1e-12)
        assert cost.floor * cost.law.mean == pytest.approx(1e-3 * budget.delta, rel=1e-12)


def test_one_run_and_its_columns_are_two_gaussians() -> None:
    """With a single run nothing is chosen: the whole is one Gaussian, but for what was set aside."""
    rng = np.random.default_rng(12)
    for _ in range(12):
        budget, mu, columns = Budget.approximate(1.0, spread(rng, 1e-9, 1e-4)), *rng.uniform(0.02, 0.4, 2).tolist()
        low, high = (gaussian_epsilon(math.hypot(mu, columns), budget.delta * share) for share in (0.99, 0.97))
        assert low * (1 - 1e-9) <= SearchCost(budget, Fixed(1), columns).epsilon(mu) <= high * 1.01


def test_a_lone_word_comes_out_no_oftener_than_delta_allows_and_the_threshold_is_least() -> None:
    rng = np.random.default_rng(13)
    for _ in range(40):
        columns, mu, missed = int(rng.integers(1, 60)), spread(rng, 0.02, 1.0), spread(rng, 1e-14, 1e-6)
        threshold, sigma = ColumnCounts(columns, mu, missed).threshold, mpmath.sqrt(2 * columns) / mu * (1 + 4e-9)
        tails = [mpmath.ncdf(-(threshold - less) / sigma) for less in (1, 2)]
        assert tails[0] <= missed / columns < tails[1] * 1.002


# Filters and composition


def random_charge(rng: np.random.Generator, notions: list[str]) -> Budget:
    notion, amount = str(rng.choice(notions)), spread(rng, 1e-2, 0.4)
    return Budget(notion, amount, spread(rng, 1e-9, 1e-6) if notion == "approximate" else 0.0)


def spent_of(charges: list[Budget], composition: str) -> tuple[float, float]:
    """Epsilons, rhos or squares of mu, and deltas, added up by formulas of their own."""
    amount = 0.0
    for charge in charges:
        pure = charge.notion in ("pure", "approximate")
        if composition == "basic":
            amount += charge.amount
        elif composition == "gdp":
            amount += (response_mu(charge.amount) if pure else charge.amount) ** 2
        else:
            amount += charge.amount if charge.notion == "zcdp" else charge.amount**2 / 2
    return amount, math.fsum(charge.delta for charge in charges)


def within(budget: Budget, composition: str, reserve: float, amount: float, delta: float) -> bool:
    """Whether what was spent satisfies the budget."""
    if budget.notion in ("pure", "zcdp") or composition == "basic":
        return amount <= budget.amount * (1 + 2e-9) and delta <= budget.delta * (1 + 2e-9)
    if budget.notion == "gdp":
        return math.sqrt(amount) <= budget.amount * (1 + 2e-9)
    return amount <= capacity(budget, composition, reserve) and delta <= reserve * (1 + 1e-8) + 2e-9 * budget.delta


@cache
def capacity(budget: Budget, composition: str, reserve: float) -> float:
    """The largest mu^2 or rho whose epsilon, at the delta that is not set aside, is that of the budget."""
    own, low, high = budget.delta - reserve, 0.0, 100.0
    orders = 1 + np.geomspace(1e-3, 1e5, 40_000)
    for _ in range(45):
        amount = (low + high) / 2
        grid = orders * amount + (-math.log(own) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
        stated = gaussian_epsilon(math.sqrt(amount), own) if composition == "gdp" else float(grid.min())
        low, high = (amount, high) if stated <= budget.amount else (low, amount)
    return high * (1 + 1e-6)


FILTERS = [
    (Budget.pure(1.0), "basic", 0.0, ["pure"]),
    (Budget.approximate(1.0, 1e-5), "basic", 0.0, ["pure", "approximate"]),
    (Budget.gdp(0.8), "gdp", 0.0, ["pure", "gdp"]),
    (Budget.zcdp(0.3), "zcdp", 0.0, ["pure", "gdp", "zcdp"]),
    (Budget.approximate(2.0, 1e-6), "gdp", 0.0, ["pure", "gdp"]),
    (Budget.approximate(2.0, 1e-6), "zcdp", 0.0, ["pure", "gdp", "zcdp"]),
    (Budget.approximate(2.0, 1e-5), "gdp", 3e-6, ["pure", "gdp", "approximate"]),
    (Budget.approximate(2.0, 1e-5), "zcdp", 3e-6, ["pure", "gdp", "zcdp", "approximate"]),
]


@pytest.mark.parametrize(("budget", "composition", "reserve", "notions"), FILTERS)
def test_a_filter_admits_all_that_fits_and_nothing_else(
    budget: Budget, composition: str, reserve: float, notions: list[str]
) -> None:
    """Each of 6 sequences, until five charges were refused; each decision as the formulas would have it."""
    rng, f = np.random.default_rng(8), Filter.over(budget, composition, reserve)
    for _ in range(6):
        admitted: list[Budget] = []
        spent, refused = Cost(0.0), 0
        while refused < 5:
            charge = random_charge(rng, notions)
            cost = f.cost(Guarantee(charge))
            total = spent_of([*admitted, charge], composition)
            if f.admits(spent, cost):
                admitted, spent = [*admitted, charge], spent.plus(cost)
                assert within(budget, composition, reserve, *total)
            else:
                refused += 1
                more = 1 + 1e-3  # a little further than what was refused cannot fit
                assert not within(budget, composition, reserve, total[0] * more, total[1] * more)
        assert admitted
        assert (spent.amount, spent.delta) == pytest.approx(spent_of(admitted, composition), rel=1e-9)


def test_composed_guarantees_are_what_the_formulas_say() -> None:
    rng = np.random.default_rng(9)
    for _ in range(40):
        notions = [["pure"], ["pure", "gdp"], ["pure", "gdp", "zcdp"]][int(rng.integers(3))]
        charges = [random_charge(rng, notions) for _ in range(int(rng.integers(1, 8)))]
        whole = compose([Guarantee(charge) for charge in charges]).budget
        assert whole is not None
        composition = {"pure": "basic", "gdp": "gdp", "zcdp": "zcdp"}[whole.notion]
        amount = spent_of(charges, composition)[0]
        assert whole.amount == pytest.approx(math.sqrt(amount) if whole.notion == "gdp" else amount, rel=1e-9)


def test_equal_shares_compose_to_the_whole() -> None:
    rng = np.random.default_rng(10)
    for _ in range(40):
        notion, amount, among = (
            str(rng.choice(["pure", "zcdp", "gdp"])),
            spread(rng, 1e-2, 5.0),
            int(rng.integers(1, 500)),
        )
        each = split(Budget(notion, amount), among).amount
        assert each == pytest.approx(amount / (math.sqrt(among) if notion == "gdp" else among), rel=1e-12)
    share = split(Budget.approximate(1.0, 1e-6), 7)
    assert float(gaussian_delta(share.amount * math.sqrt(7), 1.0)) == pytest.approx(1e-6, rel=1e-7)
