"""Sources of noise: what is drawn in bulk keeps to the lattice, and its distance reaches guarantee, ledger and sum."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tacit.audit.bounds import lower_bound
from tacit.errors import BudgetRefused, GuaranteeError
from tacit.privacy.accounting import Cost, Filter, compose
from tacit.privacy.conversions import gdp_delta
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.mechanisms import Gaussian, Laplace
from tacit.privacy.noise import BULK, BULK_FINENESS, EXACT, REACH, Exact, Simulation, array_source, lattice, on_lattice

FALSE_ALARM = 1e-7


def test_bulk_noise_keeps_values_on_the_lattice_of_its_scale() -> None:
    for scale in (1e-280, 3e-5, 1.0, 7e20):
        noisy = BULK.gaussian(np.linspace(-3, 3, 999) * scale, scale)
        steps = np.ldexp(noisy, -lattice(scale, BULK))
        assert (steps == np.rint(steps)).all()
        assert 2.0**-BULK_FINENESS / 2 < math.ldexp(1.0, lattice(scale, BULK)) / scale <= 2.0**-BULK_FINENESS


@pytest.mark.parametrize(("kind", "law"), [("gaussian", stats.norm), ("laplace", stats.laplace)])
def test_bulk_noise_on_values_has_the_law_and_the_scale_that_were_asked_for(kind: str, law: object) -> None:
    values = np.linspace(-50, 50, 100_000).reshape(1000, 100)
    noise = (getattr(BULK, kind)(values, 0.37) - values).ravel()
    assert stats.kstest(noise / 0.37, law.cdf).pvalue > FALSE_ALARM  # type: ignore[attr-defined]


@pytest.mark.parametrize("source", [EXACT, BULK], ids=repr)
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [1e-290, 0.37, 1e290])
def test_noise_lies_on_the_lattice_whose_rounding_is_charged_and_on_no_coarser_one(
    source: Exact, kind: str, scale: float
) -> None:
    steps = np.ldexp(getattr(source, kind)(np.zeros(400), scale), -lattice(scale, source))
    assert (steps == np.rint(steps)).all()
    assert 100 < (steps % 2 == 1).sum() < 300  # fails by chance at a rate of 1e-22


def test_values_are_rounded_to_the_nearest_step_before_noise_in_bulk_is_added() -> None:
    k = lattice(1.0, BULK)
    steps = np.array([-8.6, -1.5, -0.75, -0.5, -0.49, 0.0, 0.26, 0.5, 0.51, 1.0, 1.49, 2.5, 7.9, 2.0**40 + 1, 1e-300])
    noisy = on_lattice(np.ldexp(steps, k), 1.0, lambda scale, size: np.full(size, 7))
    assert (np.ldexp(noisy, -k) == np.rint(steps) + 7).all()


@pytest.mark.filterwarnings("error")
def test_values_far_beyond_the_lattice_are_cut_and_never_overflow() -> None:
    noisy = BULK.gaussian(np.array([1e300, -1e300, 1e18, 0.0]), 1.0)
    assert noisy[0] == pytest.approx(math.ldexp(REACH, lattice(1.0, BULK)), rel=1e-6)
    assert noisy[1] == pytest.approx(-noisy[0], rel=1e-6)
    whole = BULK.gaussian_whole_array(np.array([2**63 - 1, -(2**63), 5]), 2.0**57)
    assert whole[0] > 0 > whole[1]


@pytest.mark.parametrize("source", [EXACT, BULK, Simulation(3)], ids=repr)
def test_arrays_of_whole_numbers_get_noise_on_every_one(source: Simulation) -> None:
    values = np.arange(4000).reshape(40, 100) * 10**6
    noisy = source.gaussian_whole_array(values, 2.0**20)
    assert noisy.shape == values.shape
    assert noisy.dtype == np.int64
    assert stats.kstest((noisy - values).ravel() / 2.0**20, stats.norm.cdf).pvalue > FALSE_ALARM


def test_a_mechanism_states_the_distance_of_all_that_it_draws() -> None:
    one, many = (Gaussian(1.0, budget=Budget.gdp(0.5), size=n, noise=BULK).guarantee for n in (1, 1000))
    assert (one.distance, many.distance) == (2.0**-85, 1000 * 2.0**-85)
    assert Gaussian(1.0, budget=Budget.gdp(0.5), size=1000).guarantee.distance == 0
    assert Laplace(1.0, scale=2.0, noise=BULK).guarantee.quoted()[1] > 0  # type: ignore[index]


def test_an_epsilon_includes_the_distance_on_both_sides() -> None:
    g = Guarantee(Budget.gdp(1.0), distance=1e-10)
    epsilon = g.epsilon(1e-6)
    assert gdp_delta(1.0, epsilon) + (1 + math.exp(epsilon)) * 1e-10 == pytest.approx(1e-6, rel=1e-4)
    assert epsilon > Guarantee(Budget.gdp(1.0)).epsilon(1e-6)
    pure = Guarantee(Budget.pure(1.0), distance=1e-8)
    assert pure.quoted() == (1.0, pytest.approx((1 + math.e) * 1e-8))
    with pytest.raises(GuaranteeError, match="leaves nothing of delta"):
        g.epsilon(1e-10)
    approximate = g.as_approximate(1e-6)
    assert (approximate.distance, approximate.budget) == (0.0, Budget.approximate(epsilon, 1e-6))


def test_a_guarantee_with_a_distance_survives_json_and_says_so_in_words() -> None:
    g = Guarantee(Budget.gdp(1.0), distance=1e-20)
    assert Guarantee.from_json(g.to_json()) == g
    assert "1e-20 of the exact law" in str(g)
    assert "distance" not in Guarantee(Budget.gdp(1.0)).to_json()


def test_distances_add_in_a_composition() -> None:
    parts = [
        Guarantee(Budget.gdp(0.3), distance=1e-20),
        Guarantee(Budget.gdp(0.4)),
        Guarantee(Budget.gdp(0.1), distance=2e-20),
    ]
    assert compose(parts).distance == pytest.approx(3e-20)
    mixed = compose([*parts, Guarantee(Budget.approximate(0.1, 1e-9))], delta=1e-6)
    assert (mixed.notion, mixed.distance) == ("approximate", pytest.approx(3e-20))


def test_a_ledger_with_a_delta_takes_noise_in_bulk_and_one_without_refuses_it(tmp_path: Path) -> None:
    bulk = Gaussian(1.0, budget=Budget.gdp(0.1), size=1000, noise=BULK)
    for name, budget in (("gdp", Budget.gdp(1.0)), ("zcdp", Budget.zcdp(1.0)), ("pure", Budget.pure(1.0))):
        with Ledger.open(tmp_path / "l.db", name, budget) as ledger:
            with pytest.raises(GuaranteeError, match=r"needs some delta|cannot be counted"):
                bulk.release(np.zeros(1000), ledger=ledger)
            assert ledger.entries() == []
    for composition in ("gdp", "zcdp"):
        with Ledger.open(
            tmp_path / "l.db", f"a {composition}", Budget.approximate(1.0, 1e-6), composition=composition
        ) as ledger:
            release = bulk.release(np.zeros(1000), ledger=ledger)
            assert ledger.verify_certificate(release.certificate()).paid
            ledger.verify()
            assert ledger.entries()[0].spent.delta == pytest.approx((1 + math.e) * 1000 * 2.0**-85)


def test_distances_may_use_a_billionth_of_a_budgets_delta_and_no_more() -> None:
    f = Filter.over(Budget.approximate(1.0, 1e-6))
    cost = f.cost(Guarantee(Budget.gdp(1e-6), distance=1e-17))
    fits = math.floor(1e-15 / cost.delta)
    assert f.admits(Cost(0.0, (fits - 1) * cost.delta), cost)
    assert not f.admits(Cost(0.0, fits * cost.delta), cost)


def test_a_distance_that_is_too_large_for_a_ledger_is_refused(tmp_path: Path) -> None:
    with (
        Ledger.open(tmp_path / "l.db", "a", Budget.approximate(1.0, 1e-6)) as ledger,
        pytest.raises(BudgetRefused, match="delta"),
    ):
        ledger.charge(Guarantee(Budget.gdp(0.1), distance=1e-9))


def test_arrays_come_in_bulk_only_where_their_distance_can_be_charged() -> None:
    assert array_source(1.0) is BULK
    assert array_source(21.0) is EXACT
    assert array_source(1.0, Budget.approximate(2.0, 1e-6)) is BULK
    for budget in (Budget.approximate(30.0, 1e-6), Budget.gdp(1.0), Budget.pure(1.0), Budget.zcdp(1.0)):
        assert array_source(1.0, budget) is EXACT


@pytest.mark.parametrize(("kind", "budget"), [(Gaussian, Budget.gdp(0.5)), (Laplace, Budget.pure(1.0))])
def test_an_audit_of_noise_in_bulk_finds_what_is_claimed_and_no_more(kind: type[Gaussian], budget: Budget) -> None:
    n, made = 200_000, kind(1.0, budget=budget, noise=BULK)
    family = "gdp" if kind is Gaussian else "any"
    claim = made.guarantee.epsilon(1e-5)

    def measured(scale: float) -> float:  # at a confidence of 1 - 1e-7
        here, there = (getattr(BULK, made.sort)(np.full(n, side), scale) for side in (0.0, 1.0))
        return lower_bound(here, there, delta=1e-5, confidence=1 - FALSE_ALARM, family=family)

    assert 0.7 * claim < measured(made.scale) <= claim
    assert measured(made.scale / 2) > claim
