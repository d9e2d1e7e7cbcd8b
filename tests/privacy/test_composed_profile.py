"""A Gaussian mechanism and another after it: against Gaussians, whose composition is known, and in both directions."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.privacy.composed_profile import ComposedProfile
from tacit.privacy.profiles import ApproximateProfile, GaussianProfile, epsilon_at

EPSILONS = np.linspace(-2.0, 4.0, 25)


@pytest.mark.parametrize(("first", "second"), [(0.1, 0.1), (0.05, 0.3), (0.5, 0.5), (1.0, 0.2)])
def test_two_gaussians_are_one_and_never_less(first: float, second: float) -> None:
    both, exact = ComposedProfile(first, GaussianProfile(second)), GaussianProfile(np.hypot(first, second))
    assert (both.delta(EPSILONS) >= exact.delta(EPSILONS)).all()
    assert epsilon_at(both, 1e-6) == pytest.approx(epsilon_at(exact, 1e-6), rel=0.02)


def test_randomised_response_after_a_gaussian_agrees_with_a_sum_over_its_two_answers() -> None:
    """H of the product, by the two outcomes of the pure mechanism, each with a Gaussian of its own."""
    mu, epsilon = 0.4, 0.7
    gaussian, high = GaussianProfile(mu), np.exp(0.7) / (1 + np.exp(0.7))
    exact = high * gaussian.delta(EPSILONS - epsilon) + (1 - high) * gaussian.delta(EPSILONS + epsilon)
    both = ComposedProfile(mu, ApproximateProfile(epsilon)).delta(EPSILONS)
    assert (both >= exact * (1 - 1e-9)).all()
    assert np.allclose(both, exact, atol=5e-3)


def test_it_costs_more_than_either_part_and_less_than_their_sum() -> None:
    after = GaussianProfile(0.3)
    both = epsilon_at(ComposedProfile(0.1, after), 1e-5)
    assert epsilon_at(after, 1e-5) < both < epsilon_at(after, 5e-6) + epsilon_at(GaussianProfile(0.1), 5e-6)


def test_what_comes_after_is_reversed_with_it() -> None:
    """Itself where that is symmetric; else the other direction, which is what deltas at negative epsilons rest on."""
    gaussian = ComposedProfile(0.4, GaussianProfile(0.5))
    assert gaussian.reversed is gaussian

    class Lopsided:
        def __init__(self, mu: float, back: float) -> None:
            self.mu, self.back = mu, back

        @property
        def reversed(self) -> Lopsided:
            return Lopsided(self.back, self.mu)

        def delta(self, epsilon: np.ndarray) -> np.ndarray:
            return GaussianProfile(self.mu).delta(epsilon)

    there = ComposedProfile(0.4, Lopsided(0.5, 0.1)).reversed
    alone = ComposedProfile(0.4, GaussianProfile(0.1))
    assert (there.delta([0.5, 1.0]) == alone.delta([0.5, 1.0])).all()
