"""Selection by laws that learn: against every way to learn on small mechanisms, against laws that do not, published."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from each import each
from numpy.typing import ArrayLike

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy.adaptive_selection import AdaptiveProfile, adaptive_renyi
from tacit.privacy.profiles import Floats, GaussianProfile, epsilon_at
from tacit.privacy.run_laws import Fixed, Listed, NegativeBinomial, RunLaw, geometric
from tacit.privacy.selection import SelectedProfile, select

MU = 0.26805  # a Gaussian of (1, 1e-5)
EPSILONS = np.array([0.0, 0.1, 0.3, 0.7, 1.0, 1.5, 2.5, 4.0])
HERE = np.array([[0.9, 0.1], [0.5, 0.5]])  # of either setting, the chances of its two outcomes
THERE = np.array([[0.1, 0.9], [0.5, 0.5]])
LAW = Listed((0, 9, 1))  # one run, seldom two


@dataclass(frozen=True)
class OneRun:
    """A run that draws one of two settings evenly and puts out the setting and an outcome: four outputs."""

    first: Any
    second: Any

    @property
    def reversed(self) -> OneRun:
        return OneRun(self.second, self.first)

    def delta(self, epsilon: ArrayLike) -> Floats:
        x = np.exp(np.asarray(epsilon, float))[..., None]
        gap = self.first.ravel() / 2 - x * self.second.ravel() / 2
        return np.asarray(np.maximum(gap, 0.0).sum(axis=-1) * (1 + 1e-12))


BASE = OneRun(HERE, THERE)


def output_chances(chances: Any, share: float) -> Any:
    """Of the four outputs of a run that draws the first setting with probability ``share``."""
    return np.concatenate([share * chances[0], (1 - share) * chances[1]])


def shares(least: float, most: float) -> list[float]:
    """The furthest laws of two settings within the bounds, and the one that does not learn."""
    low = max(least / 2, 1 - most / 2)
    return [low, 0.5, 1 - low]


def winner(chances: Any, first: float, after: Any, rank: Any) -> Any:
    """The exact law of the best of one or two runs; ``after[y]`` is what the second draws by when y came first."""
    one = output_chances(chances, first)
    two = one[:, None] * np.array([output_chances(chances, share) for share in after])
    better = np.where(rank[:, None] >= rank[None, :], np.arange(4)[:, None], np.arange(4)[None, :])
    return 0.9 * one + 0.1 * np.bincount(better.ravel(), two.ravel(), 4)


def worst_delta(least: float, most: float) -> Floats:
    """The largest exact deltas over every way to learn and every order of the outputs, both directions."""
    allowed, x = shares(least, most), np.exp(EPSILONS)[:, None]
    worst = np.zeros(len(EPSILONS))
    for rank in map(np.array, itertools.permutations(range(4))):
        for first, *after in itertools.product(allowed, repeat=5):
            a, b = (winner(side, first, after, rank) for side in (HERE, THERE))
            for p, q in ((a, b), (b, a)):
                worst = np.maximum(worst, np.maximum(p - x * q, 0.0).sum(axis=1))
    return worst


def bound(profile: Any) -> Floats:
    return np.maximum(profile.delta(EPSILONS), profile.reversed.delta(EPSILONS))


@pytest.mark.parametrize(("least", "most"), [(0.8, 1.25), (0.5, 1.2), (0.9, 2.0)])
def test_no_way_to_learn_beats_the_bound(least: float, most: float) -> None:
    exact = worst_delta(least, most)
    assert (exact <= bound(AdaptiveProfile(BASE, LAW, least, most)) + 1e-12).all()
    assert (exact > bound(SelectedProfile(BASE, LAW))).any()  # learning costs: the bound for laws that do not is broken


def sequences(chances: Any, learn: Callable[[tuple[int, ...]], float], rank: Any, runs: int) -> Any:
    """The exact law of the best of a fixed number of runs, each by what came before it."""
    law = np.zeros(4)
    for outputs in itertools.product(range(4), repeat=runs):
        chance = 1.0
        for i, y in enumerate(outputs):
            chance *= output_chances(chances, learn(outputs[:i]))[y]
        law[max(outputs, key=lambda y: rank[y])] += chance
    return law


def test_random_ways_to_learn_from_three_runs_do_not_beat_the_bound() -> None:
    rng, x = np.random.default_rng(0), np.exp(EPSILONS)[:, None]
    allowed, limit = shares(0.7, 1.4), bound(AdaptiveProfile(BASE, Fixed(3), 0.7, 1.4))
    for _ in range(40):
        drawn: dict[tuple[int, ...], float] = {}

        def learn(before: tuple[int, ...], drawn: dict[tuple[int, ...], float] = drawn) -> float:
            return drawn.setdefault(before, float(rng.choice(allowed)))

        rank = rng.permutation(4)
        a, b = (sequences(side, learn, rank, 3) for side in (HERE, THERE))
        assert (np.maximum(a - x * b, 0.0).sum(axis=1) <= limit + 1e-12).all()
        assert (np.maximum(b - x * a, 0.0).sum(axis=1) <= limit + 1e-12).all()


@each("law", [geometric(10.0), geometric(100.0), NegativeBinomial.with_mean(12.0, 2.0), Fixed(7)])
def test_a_law_that_does_not_learn_costs_what_it_did_up_to_the_grid(law: RunLaw) -> None:
    plain, adaptive = SelectedProfile(GaussianProfile(MU), law), AdaptiveProfile(GaussianProfile(MU), law, 1.0, 1.0)
    assert epsilon_at(plain, 1e-5) <= epsilon_at(adaptive, 1e-5) <= epsilon_at(plain, 1e-5) + 0.012


def test_it_lies_between_selection_and_the_published_bound_and_grows_with_freedom() -> None:
    law = geometric(40.0)
    before = epsilon_at(select(GaussianProfile(MU), law), 1e-5)
    for most in (1.1, 1.25, 2.0):
        ours = epsilon_at(AdaptiveProfile(GaussianProfile(MU), law, 1 / most, most), 1e-5)
        peer = epsilon_at(adaptive_renyi(GaussianProfile(MU).curve(), law, least=1 / most, most=most), 1e-5)
        assert before < ours < peer
        before = ours


def test_bounds_that_no_law_meets_and_laws_without_a_published_bound_are_refused() -> None:
    for least, most in ((0.0, 2.0), (1.1, 2.0), (0.5, 0.9)):
        with pytest.raises(BadInput, match="0 < least <= 1 <= most"):
            AdaptiveProfile(GaussianProfile(MU), geometric(4.0), least, most)
    with pytest.raises(GuaranteeError, match="negative binomial"):
        adaptive_renyi(GaussianProfile(MU).curve(), Fixed(3), least=0.8, most=1.25)
