"""Privacy profiles: against 60-digit arithmetic, exact worst pairs, and the laws that all profiles share."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.privacy.conversions import gdp_delta, gdp_epsilon
from tacit.privacy.profiles import (
    SLACK,
    ApproximateProfile,
    GaussianProfile,
    LeastProfile,
    Profile,
    RenyiProfile,
    TableProfile,
    epsilon_at,
    tabulate,
)

ORDERS = (1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0)


def gaussian_curve(mu: float) -> tuple[float, ...]:
    return tuple(a * mu * mu / 2 for a in ORDERS)


def exact_gaussian(mu: float, epsilon: float) -> mp.mpf:
    with mp.workdps(60):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        root = mp.sqrt(2)
        return (mp.erfc((e / m - m / 2) / root) - mp.e**e * mp.erfc((e / m + m / 2) / root)) / 2


PROFILES: dict[str, Profile] = {
    "gaussian": GaussianProfile(0.7),
    "small gaussian": GaussianProfile(0.01),
    "pure": ApproximateProfile(0.5),
    "approximate": ApproximateProfile(0.5, 1e-3),
    "renyi": RenyiProfile(ORDERS, gaussian_curve(0.7)),
    "two-sided renyi": RenyiProfile(ORDERS, gaussian_curve(0.7), gaussian_curve(0.5)),
    "least": LeastProfile((GaussianProfile(0.7), RenyiProfile(ORDERS, gaussian_curve(0.9), gaussian_curve(0.8)))),
    "table": tabulate(GaussianProfile(0.7), floor=1e-8),
    "two-sided table": tabulate(RenyiProfile(ORDERS, gaussian_curve(0.7), gaussian_curve(0.5)), floor=1e-8),
}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
class TestLawsOfEveryProfile:
    grid = np.linspace(-9.0, 9.0, 181)

    def test_delta_falls_from_one_to_zero_as_epsilon_grows(self, profile: Profile) -> None:
        deltas = profile.delta(self.grid)
        assert deltas.shape == self.grid.shape
        assert ((deltas >= 0) & (deltas <= 1)).all()
        assert (np.diff(deltas) <= 1e-9 * deltas[1:] + 1e-300).all()

    def test_delta_is_never_below_that_of_equal_distributions(self, profile: Profile) -> None:
        assert (profile.delta(self.grid) >= -np.expm1(np.minimum(self.grid, 0.0))).all()

    def test_delta_below_zero_is_the_reversed_one_above_zero(self, profile: Profile) -> None:
        above = np.linspace(0.01, 9.0, 50)
        expected = -np.expm1(-above) + np.exp(-above) * profile.reversed.delta(above)
        np.testing.assert_allclose(profile.delta(-above), expected, rtol=1e-9)
        np.testing.assert_array_equal(profile.reversed.reversed.delta(above), profile.delta(above))

    def test_shape_is_kept_and_infinities_are_the_limits(self, profile: Profile) -> None:
        assert profile.delta(1.0).shape == ()
        assert profile.delta(np.zeros((2, 3))).shape == (2, 3)
        assert profile.delta(np.empty(0)).shape == (0,)
        least, most = profile.delta([np.inf, -np.inf])
        assert least <= 1.1e-3
        assert most == 1.0

    def test_nan_is_refused(self, profile: Profile) -> None:
        with pytest.raises(BadInput, match="epsilon must be a number"):
            profile.delta([0.0, math.nan])

    def test_epsilon_at_is_the_inverse_on_the_safe_side(self, profile: Profile) -> None:
        for delta in (0.3, 1e-2, 2e-3):
            epsilon = epsilon_at(profile, delta)
            worst = max(float(p.delta(epsilon)) for p in (profile, profile.reversed))
            assert worst <= delta
            if epsilon > 0:
                less = epsilon * (1 - 1e-8)
                assert max(float(p.delta(less)) for p in (profile, profile.reversed)) > delta


def test_the_gaussian_profile_is_above_sixty_digits_by_no_more_than_its_slack() -> None:
    for mu in (1e-6, 1e-3, 0.02, 0.0999, 0.1, 0.26805, 1.0, 4.0, 30.0):
        # to the last epsilon before underflow
        for z in (-30, -5, -1, -0.01, 0, 1e-6, 0.3, 1, 2.7, 6, 12, 25, 36):
            epsilon = mu * z + math.copysign(mu * mu / 2, z)
            exact = exact_gaussian(mu, epsilon)
            ratio = mp.mpf(float(GaussianProfile(mu).delta(epsilon))) / exact - 1
            if epsilon >= 0:
                assert 0.9 * SLACK < ratio < 1.1 * SLACK, (mu, epsilon, float(ratio))
            else:
                assert 0 <= ratio < 1.1 * SLACK, (mu, epsilon, float(ratio))


def test_the_gaussian_profile_agrees_with_the_conversions() -> None:
    for mu in (0.05, 0.5, 5.0):
        for epsilon in (0.0, 0.1, 1.0, 3.0):
            assert float(GaussianProfile(mu).delta(epsilon)) == pytest.approx(gdp_delta(mu, epsilon), rel=2e-10)
        assert epsilon_at(GaussianProfile(mu), 1e-6) == pytest.approx(gdp_epsilon(mu, 1e-6), rel=1e-8)


@pytest.mark.parametrize("own", [Fraction(0), Fraction(1, 1000)])
def test_the_approximate_profile_is_its_worst_pair_exactly(own: Fraction) -> None:
    odds = Fraction(5, 3)  # e^epsilon
    share = (1 - own) * odds / (1 + odds)
    first = (own, share, 1 - own - share, Fraction(0))
    second = (Fraction(0), 1 - own - share, share, own)
    for x in (Fraction(1, 4), Fraction(3, 5), Fraction(1), Fraction(4, 3), Fraction(5, 3), Fraction(7)):
        exact = float(sum(max(p - x * q, Fraction(0)) for p, q in zip(first, second, strict=True)))
        stated = float(ApproximateProfile(math.log(odds), float(own)).delta(math.log(x)))
        assert exact * (1 - 1e-15) <= stated <= exact * (1 + 1e-9) + 1e-15
        if x >= 1:
            assert exact * (1 + 0.9 * SLACK) - 1e-15 <= stated


def test_the_renyi_profile_is_the_published_conversion_and_above_the_truth() -> None:
    profile = PROFILES["renyi"]
    for epsilon in (0.5, 1.5, 3.0, 6.0):
        with mp.workdps(50):
            formula = min(
                mp.e ** ((a - 1) * (mp.mpf(v) - epsilon)) / (a - 1) * (1 - 1 / mp.mpf(a)) ** a
                for a, v in zip(ORDERS, gaussian_curve(0.7), strict=True)
            )
        stated = float(profile.delta(epsilon))
        assert formula <= stated <= formula * (1 + 2 * SLACK)
    grid = np.linspace(-8, 8, 101)
    assert (profile.delta(grid) >= GaussianProfile(0.7).delta(grid) * (1 - 1e-9)).all()


def test_a_renyi_order_without_a_bound_says_nothing() -> None:
    with_inf = RenyiProfile((*ORDERS, 100.0), (*gaussian_curve(0.7), math.inf))
    grid = np.linspace(-3, 3, 7)
    np.testing.assert_array_equal(with_inf.delta(grid), PROFILES["renyi"].delta(grid))


def test_a_table_is_nowhere_below_an_exact_profile_it_was_made_from() -> None:
    grid = np.linspace(-12, 12, 2001)
    for name in ("gaussian", "small gaussian", "approximate"):
        profile = PROFILES[name]
        table = tabulate(profile, floor=2e-3, knots=30)
        assert (table.delta(grid) >= profile.delta(grid)).all()
        assert (table.reversed.delta(grid) >= profile.reversed.delta(grid)).all()
        assert (table.delta(grid) <= 1.05 * profile.delta(grid) + 2.001e-3).all()


def test_a_table_of_a_renyi_bound_stays_above_the_truth_although_it_may_be_below_that_bound() -> None:
    """The bound is not convex in e^epsilon, the truth is: between knots the table is the better bound."""
    grid = np.linspace(-12, 12, 2001)
    bound = RenyiProfile(ORDERS, gaussian_curve(0.7))
    table = tabulate(bound, floor=1e-6, knots=30)
    assert (table.delta(grid) >= GaussianProfile(0.7).delta(grid)).all()
    assert (table.delta(grid) < bound.delta(grid)).any()


def test_what_a_table_covers_is_below_it_everywhere() -> None:
    """Mechanisms with two outcomes have kinks between the knots, the hardest case for a check at knots only."""
    table = tabulate(GaussianProfile(0.7), floor=1e-6, knots=25)
    grid = np.linspace(-6, 6, 4001)
    covered = 0
    for epsilon in np.linspace(0.01, 1.0, 100):
        profile = ApproximateProfile(float(epsilon))
        if table.covers(profile):
            covered += 1
            assert (profile.delta(grid) <= table.delta(grid) * (1 + 1e-9)).all()
    assert 0 < covered < 100


def test_a_table_does_not_cover_a_mechanism_that_is_worse_in_one_direction_only() -> None:
    table = tabulate(RenyiProfile(ORDERS, gaussian_curve(0.7)), floor=1e-8)
    assert table.covers(RenyiProfile(ORDERS, gaussian_curve(0.69), gaussian_curve(0.6)))
    assert not table.covers(RenyiProfile(ORDERS, gaussian_curve(0.6), gaussian_curve(0.75)))


def test_epsilon_at_says_when_there_is_none_and_when_zero_is_enough() -> None:
    assert epsilon_at(ApproximateProfile(1.0, 1e-3), 1e-4) == math.inf
    assert epsilon_at(GaussianProfile(0.01), 0.5) == 0.0
    assert epsilon_at(ApproximateProfile(1.0), 1e-12) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: GaussianProfile(0.0), "mu must be above 0"),
        (lambda: GaussianProfile(math.inf), "mu must be finite"),
        (lambda: ApproximateProfile(-1.0), "epsilon must not be negative"),
        (lambda: ApproximateProfile(1.0, 1.0), "own must be in"),
        (lambda: RenyiProfile((1.0,), (0.1,)), "orders must be above 1"),
        (lambda: RenyiProfile((2.0,), (0.1, 0.2)), "one number for each"),
        (lambda: RenyiProfile((2.0,), (math.nan,)), "at least 0"),
        (lambda: LeastProfile(()), "at least one profile"),
        (lambda: TableProfile((0.1, 1.0), (0.5, 0.1)), "start at 0"),
        (lambda: TableProfile((0.0, 1.0), (0.5, 2.0)), r"deltas in \[0, 1\]"),
        (lambda: tabulate(ApproximateProfile(1.0, 1e-3), floor=1e-4), "floor must be a delta that the profile reaches"),
        (lambda: epsilon_at(GaussianProfile(1.0), 0.0), "delta must be positive"),
    ],
)
def test_bad_input_is_refused_with_the_rule(make: object, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        make()  # type: ignore[operator]
