"""Divergences from a profile: against closed forms, exact discrete pairs in both directions, and what is given up."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.special import logsumexp

from tacit.errors import BadInput
from tacit.privacy.divergences import ORDERS, Divergences, conversion, pure_renyi
from tacit.privacy.profiles import ApproximateProfile, GaussianProfile, whole_line
from tacit.privacy.run_laws import Fixed, geometric
from tacit.privacy.selection import select


class PairProfile:
    """The exact profile of two discrete laws, (n,) each."""

    def __init__(self, p: np.ndarray, q: np.ndarray) -> None:
        self.p, self.q = p, q

    @property
    def reversed(self) -> PairProfile:
        return PairProfile(self.q, self.p)

    def delta(self, epsilon):
        return whole_line(epsilon, lambda e: stick(self.p, self.q, e), lambda e: stick(self.q, self.p, e))

    def renyi(self, order: float) -> float:
        sides = ((self.p, self.q), (self.q, self.p))
        return max(float(logsumexp(order * np.log(a / b), b=b)) for a, b in sides) / (order - 1)


def stick(p, q, epsilon):
    return np.maximum(p[:, None] - np.exp(epsilon)[None, :] * q[:, None], 0.0).sum(axis=0)


@pytest.mark.parametrize("mu", [0.05, 0.2367, 1.0])
def test_a_gaussian_profile_has_the_divergences_of_a_gaussian(mu):
    found = Divergences.of(GaussianProfile(mu), 1e-30)
    for order, value in zip(ORDERS, found.values, strict=True):
        if order * mu < 8:  # beyond, what is given up counts
            assert order * mu**2 / 2 * (1 - 1e-9) <= value <= order * mu**2 / 2 * 1.02
    assert mu <= found.mu <= 1.03 * mu


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_pure_privacy_is_worst_at_randomised_response(epsilon):
    p = np.array([math.exp(epsilon), 1.0]) / (1 + math.exp(epsilon))
    for order in ORDERS:
        exact = PairProfile(p, p[::-1]).renyi(order)
        assert exact * (1 - 1e-12) <= pure_renyi(epsilon, order) <= min(epsilon, exact * (1 + 1e-8))
    found = Divergences.of(ApproximateProfile(epsilon), 1e-15)
    for order in (2.0, 16.0):
        assert pure_renyi(epsilon, order) <= found.at(order) * (1 + 1e-6) <= 1.05 * pure_renyi(epsilon, order) + 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_divergences_of_uneven_pairs_are_bounded_from_above_in_both_directions(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(6), 2) * 0.9 + 0.1 / 6
    pair = PairProfile(p, q)
    one, back = Divergences.of(pair, 1e-15), Divergences.of(pair.reversed, 1e-15)
    assert one == back
    for order in ORDERS:
        assert pair.renyi(order) <= one.at(order) <= pair.renyi(order) * 1.1


def test_what_is_given_up_is_an_event_after_which_all_is_told():
    own, epsilon = 1e-3, 0.5
    found = Divergences.of(ApproximateProfile(epsilon, own), own * (1 + 1e-8))
    assert found.delta == own * (1 + 1e-8)
    for order in (2.0, 16.0):
        assert pure_renyi(epsilon, order) * (1 - 1e-4) <= found.at(order) <= pure_renyi(epsilon, order) * 1.05
    with pytest.raises(BadInput, match="comes down to"):
        Divergences.of(ApproximateProfile(epsilon, own), own / 2)


def test_a_distance_is_given_up_on_both_sides():
    plain, near = Divergences.of(GaussianProfile(0.3), 1e-6), Divergences.of(GaussianProfile(0.3), 1e-6, 1e-8)
    end = (near.delta - plain.delta) / 1e-8 - 1
    assert GaussianProfile(0.3).delta([math.log(end)])[0] <= 1e-6
    assert all(a >= b for a, b in zip(near.values, plain.values, strict=True))


def test_divergences_do_not_fall_with_the_order_and_bound_epsilon():
    profile = select(GaussianProfile(0.1), geometric(20.0))
    found = Divergences.of(profile, 1e-9)
    assert list(found.values) == sorted(found.values)
    for delta in (1e-8, 1e-6, 1e-4):
        epsilon = found.epsilon(delta)
        assert profile.delta([epsilon])[0] <= delta
    assert found.epsilon(1e-9) == math.inf


def test_a_selection_from_two_runs_is_bounded_by_its_exact_divergence():
    """Runs that answer by randomised response and are scored by their answer: all 2 x 2 outcomes are enumerated."""
    epsilon = 0.4
    p = np.array([math.exp(epsilon), 1.0]) / (1 + math.exp(epsilon))
    best = [np.array([a[0] ** 2 + 2 * a[0] * a[1], a[1] ** 2]) for a in (p, p[::-1])]  # the first answer scores better
    found = Divergences.of(select(ApproximateProfile(epsilon), Fixed(2)), 1e-12)
    for order in (1.5, 2.0, 16.0, 512.0):
        assert PairProfile(*best).renyi(order) <= found.at(order)


def test_conversion_is_never_below_the_truth():
    for order in ORDERS:
        epsilon = order * 0.3**2 / 2 + conversion(order, 1e-6)
        if epsilon > 0:
            assert GaussianProfile(0.3).delta([epsilon])[0] <= 1e-6


def test_conversion_is_the_published_formula():
    for order in ORDERS:
        with mp.workdps(40):
            a, delta = mp.mpf(order), mp.mpf(1e-6)
            exact = mp.log(1 / delta) / (a - 1) + mp.log(1 - 1 / a) - mp.log(a) / (a - 1)
        assert conversion(order, 1e-6) == pytest.approx(float(exact), rel=1e-13, abs=1e-15)


def test_divergences_survive_json_and_odd_ones_are_refused():
    found = Divergences.of(GaussianProfile(0.3), 1e-9)
    assert Divergences.from_json(found.to_json()) == found
    endless = Divergences(1e-9, math.inf, found.values)
    assert Divergences.from_json(endless.to_json()) == endless
    for bad in ({}, {**found.to_json(), "values": [1.0]}, {**found.to_json(), "delta": 2.0}, "text"):
        with pytest.raises(BadInput, match="divergences"):
            Divergences.from_json(bad)
