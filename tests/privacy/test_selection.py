"""Private selection: against brute force, an adversarial score, published bounds and a peer library.

Brute force. A base mechanism with few outcomes, probabilities in whole numbers over whole numbers; every way to score
the outcomes, ties included; the exact law of the best of K runs; its exact delta.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from absl import logging
from benchmarks.speed._selection_peers import adversarial_delta, koskela_selection
from dp_accounting import GaussianDpEvent, dp_event, rdp
from each import each
from listed_law import Listed
from numpy.typing import ArrayLike
from scipy.special import ndtr

from tacit.errors import GuaranteeError
from tacit.privacy.profiles import (
    ApproximateProfile,
    Floats,
    GaussianProfile,
    RenyiProfile,
    epsilon_at,
    tabulate,
)
from tacit.privacy.published_selection import renyi_selection
from tacit.privacy.run_laws import (
    Capped,
    Fixed,
    NegativeBinomial,
    PoissonRuns,
    RunLaw,
    geometric,
)
from tacit.privacy.selection import (
    SHIFT,
    SelectedProfile,
    hull_weights,
    largest_share,
    lines_of,
    select,
    thin_weights,
)

logging.set_verbosity(logging.ERROR)  # dp-accounting warns of each order it gives up

MU = 0.26805  # a Gaussian of (1, 1e-5)
DELTA = 1e-5
EXACT = Listed((1, 4, 2, 0, 3))  # with K = 0
LAWS: dict[str, RunLaw] = {
    "geometric 3": geometric(3.0),
    "geometric 40": geometric(40.0),
    "logarithmic 5": NegativeBinomial.with_mean(5.0, 0.0),
    "eta 2": NegativeBinomial.with_mean(12.0, 2.0),
    "eta -0.5": NegativeBinomial.with_mean(6.0, -0.5),
    "poisson 0.7": PoissonRuns(0.7),
    "poisson 8": PoissonRuns(8.0),
    "fixed 1": Fixed(1),
    "fixed 2": Fixed(2),
    "fixed 7": Fixed(7),
    "capped": Capped(geometric(10.0), 30),
    "listed": EXACT,
}
EVERY_LAW = each("law", LAWS.values(), ids=LAWS.keys())
SIZES = np.array([0.0, 0.01, 0.1, 0.3, 0.7, 1.0, 1.5, 2.5, 4.0])
EPSILONS = np.concatenate([-SIZES[::-1], SIZES])


@dataclass(frozen=True)
class Pair:
    """A base mechanism with few outcomes on two neighbouring data sets; its own exact profile."""

    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]

    @property
    def reversed(self) -> Pair:
        return Pair(self.second, self.first)

    def delta(self, epsilon: ArrayLike) -> Floats:
        x = np.exp(np.asarray(epsilon, dtype=np.float64))[..., None]
        first, second = (np.array([float(p) for p in side]) for side in (self.first, self.second))
        return np.asarray(np.maximum(first - x * second, 0.0).sum(axis=-1) * (1 + 1e-12))


def pair(*columns: tuple[int, int]) -> Pair:
    first, second = zip(*columns, strict=True)
    return Pair(tuple(Fraction(p, sum(first)) for p in first), tuple(Fraction(q, sum(second)) for q in second))


PAIRS = {
    "randomised response": pair((2, 1), (1, 2)),
    "one outcome shrinks": pair((5, 1), (5, 9), (10, 10)),
    "mild": pair((10, 9), (10, 12), (9, 10), (11, 9)),
    "strong": pair((100, 1), (1, 100), (20, 20), (5, 40)),
    "revealing": pair((1, 0), (499, 450), (450, 499), (0, 1)),
    "one-sided": pair((3, 0), (97, 100), (50, 50)),
    "rare and good": pair((1, 5), (300, 297), (299, 298)),
}


def rankings(outcomes: int) -> Iterator[list[list[int]]]:
    """Every way to score the outcomes, worst first; equal scores share a group."""
    for levels in itertools.product(range(outcomes), repeat=outcomes):
        used = sorted(set(levels))
        if used == list(range(len(used))):
            yield [[y for y in range(outcomes) if levels[y] == level] for level in used]


def best_of(law: RunLaw, base: Sequence[Fraction], groups: list[list[int]]) -> list[float | Fraction]:
    """The exact law of the winner, ties broken at random; last, the probability of no run at all.

    The best group is g if all runs are in it or below and not all below; within it the winner is one of its runs at
    random, and so is distributed as the base is within the group.
    """
    generate = law.generate
    if isinstance(law, Listed):  # in fractions throughout
        generate = lambda u: sum(p * u**k for k, p in enumerate(law.shares))  # type: ignore[assignment,return-value] # noqa: E731
    out: list[float | Fraction] = [Fraction(0)] * len(base)
    below = Fraction(0)
    for group in groups:
        own = sum((base[y] for y in group), Fraction(0))
        if own:
            reached = generate(below + own) - generate(below)
            for y in group:
                out[y] = reached * (base[y] / own)
        below += own
    return [*out, generate(Fraction(0))]


def exact_deltas(law: RunLaw, base: Pair, groups: list[list[int]]) -> Floats:
    first, second = best_of(law, base.first, groups), best_of(law, base.second, groups)
    x = np.exp(EPSILONS)[:, None]
    return np.asarray(np.maximum(np.array(first, float) - x * np.array(second, float), 0.0).sum(axis=1))


@EVERY_LAW
@each("base", PAIRS.values(), ids=PAIRS.keys())
def test_no_way_to_score_the_outcomes_beats_the_bound(base: Pair, law: RunLaw) -> None:
    for way in (base, base.reversed):
        bound = select(way, law).delta(EPSILONS)
        worst = np.max([exact_deltas(law, way, groups) for groups in rankings(len(base.first))], axis=0)
        assert (bound >= worst * (1 - 1e-12) - 1e-13).all()  # the float sums of the exact side err by less


def test_the_bound_holds_in_fractions_throughout() -> None:
    """At e^epsilon = 3/2, 2, 4, with probabilities, law and divergence in fractions."""
    for base in PAIRS.values():
        for way in (base, base.reversed):
            for odds in (Fraction(3, 2), Fraction(2), Fraction(4)):
                stated = float(select(way, EXACT).delta(math.log(odds)))
                for groups in rankings(len(base.first)):
                    first, second = best_of(EXACT, way.first, groups), best_of(EXACT, way.second, groups)
                    exact = sum(max(Fraction(p) - odds * q, Fraction(0)) for p, q in zip(first, second, strict=True))
                    assert Fraction(stated) >= exact


def test_the_bound_is_within_a_small_factor_of_the_worst_score_for_few_runs() -> None:
    """Else a bound of one would pass the tests above; the adversarial score below shows it close for many runs."""
    base = PAIRS["randomised response"]
    for name in ("poisson 0.7", "fixed 2"):
        law = LAWS[name]
        bound = select(base, law).delta(SIZES)
        worst = np.max([exact_deltas(law, base, groups) for groups in rankings(2)], axis=0)[len(SIZES) :]
        assert (bound <= 2.5 * worst + 1e-9).all(), name


def test_random_mechanisms_and_laws_never_beat_the_bound() -> None:
    rng = np.random.default_rng(0)
    for _ in range(15):
        columns = rng.integers(0, 40, size=(int(rng.integers(2, 5)), 2)) + rng.integers(0, 2, size=2)
        columns[0] += 1
        base = pair(*((int(p), int(q)) for p, q in columns))
        law = Listed(tuple(int(w) for w in [*rng.integers(0, 5, size=int(rng.integers(1, 12))), 1]))
        bound = select(base, law).delta(EPSILONS)
        for groups in rankings(len(base.first)):
            assert (bound >= exact_deltas(law, base, groups) * (1 - 1e-12) - 1e-13).all()


@each(("runs", "reached", "goal"), [(10.0, 1.525, 1.56), (40.0, 1.845, 1.88), (100.0, 2.045, 2.08)])
def test_an_adversarial_score_comes_close_to_the_bound_and_not_past_it(
    runs: float, reached: float, goal: float
) -> None:
    law = geometric(runs)
    selected = select(GaussianProfile(MU), law)
    epsilon = epsilon_at(selected, DELTA)
    assert reached < epsilon <= goal
    assert adversarial_delta(MU, law, reached) > DELTA
    for e in (0.0, 0.5, 1.0, reached, epsilon, 3.0):
        assert adversarial_delta(MU, law, e) <= float(selected.delta(e))


@each("name", ["logarithmic 5", "eta 2", "poisson 8", "fixed 2", "fixed 7", "capped", "listed"])
def test_the_adversarial_score_does_not_pass_the_bound_for_other_laws(name: str) -> None:
    for mu in (0.05, MU, 1.5):
        selected = select(GaussianProfile(mu), LAWS[name])
        for e in (0.0, 0.3 * mu, 2 * mu, 6 * mu):
            assert adversarial_delta(mu, LAWS[name], e) <= float(selected.delta(e))


CURVE = GaussianProfile(MU).curve()


@each("name", ["geometric 3", "geometric 40", "logarithmic 5", "eta 2", "eta -0.5"])
def test_the_bound_is_never_above_the_published_ones(name: str) -> None:
    """But for one part in 1e4 of delta, what a finite number of lines costs."""
    law = LAWS[name]
    assert isinstance(law, NegativeBinomial)
    grid = np.linspace(0.0, 5.0, 51)
    ours = select(GaussianProfile(MU), law).delta(grid)
    assert (ours <= koskela_selection(GaussianProfile(MU), law, grid) * (1 + 1e-4)).all()
    assert (ours <= renyi_selection(CURVE, law).delta(grid) * (1 + 1e-4)).all()


def test_from_a_renyi_curve_the_bound_is_never_above_the_renyi_bound() -> None:
    """Where there is no profile but that of the curve, the Renyi bound can be the lesser: then it is taken."""
    grid = np.linspace(0.0, 6.0, 61)
    for law in (geometric(40.0), PoissonRuns(1.0), PoissonRuns(10.0)):
        from_curve = select(CURVE, law).delta(grid)
        assert (from_curve <= renyi_selection(CURVE, law).delta(grid)).all()
        assert (select(GaussianProfile(MU), law).delta(grid) <= from_curve * (1 + 1e-4)).all()
    plain = SelectedProfile(CURVE, PoissonRuns(1.0))
    assert float(plain.delta(0.0)) > 1.2 * float(renyi_selection(CURVE, PoissonRuns(1.0)).delta(0.0))


@each(
    ("law", "shape", "peer"),
    [
        (geometric(10.0), 1.0, 2.31),
        (geometric(40.0), 1.0, 2.69),
        (geometric(100.0), 1.0, 2.91),
        (NegativeBinomial.with_mean(40.0, 0.0), 0.0, 2.15),
        (PoissonRuns(40.0), math.inf, 5.87),
    ],
)
def test_the_renyi_bound_equals_dp_accounting_and_ours_is_less(law: RunLaw, shape: float, peer: float) -> None:
    accountant = rdp.RdpAccountant(orders=list(CURVE.orders))
    accountant.compose(dp_event.RepeatAndSelectDpEvent(GaussianDpEvent(1 / MU), law.mean, shape))
    theirs = accountant.get_epsilon(DELTA)
    assert theirs == pytest.approx(peer, abs=0.01)
    assert epsilon_at(renyi_selection(CURVE, law), DELTA) == pytest.approx(theirs, rel=2e-3)
    assert epsilon_at(select(GaussianProfile(MU), law), DELTA) < 0.85 * theirs


@EVERY_LAW
def test_a_selected_profile_obeys_the_laws_of_profiles(law: RunLaw) -> None:
    lopsided = RenyiProfile((2.0, 4.0, 8.0, 16.0), (0.1, 0.2, 0.4, 0.8), (0.05, 0.1, 0.2, 0.4))
    for base in (GaussianProfile(MU), ApproximateProfile(0.3, 1e-6), ApproximateProfile(0.2), lopsided):
        selected = select(base, law)
        grid = np.linspace(-6.0, 6.0, 61)
        deltas = selected.delta(grid)
        assert ((deltas >= -np.expm1(np.minimum(grid, 0.0))) & (deltas <= 1)).all()
        assert (np.diff(deltas[grid >= 0]) <= 1e-12).all()
        back = selected.reversed.delta(-grid[grid < 0])
        expected = -np.expm1(grid[grid < 0]) + np.exp(grid[grid < 0]) * back
        np.testing.assert_allclose(deltas[grid < 0], np.minimum(expected, 1.0), rtol=1e-9)
        assert float(selected.delta(0.7)) >= float(base.delta(0.7)) * (1 - 1e-9) or law.mean < 1


def test_one_run_costs_what_one_run_costs() -> None:
    grid = np.linspace(-3.0, 3.0, 31)
    for base in (GaussianProfile(MU), ApproximateProfile(0.3, 1e-6), PAIRS["strong"]):
        np.testing.assert_allclose(select(base, Fixed(1)).delta(grid), base.delta(grid), rtol=1e-6, atol=1e-12)


def test_pure_privacy_of_a_geometric_search_is_at_most_three_epsilon() -> None:
    """Liu and Talwar 2019; for other shapes (2 + eta) epsilon, Papernot and Steinke 2022 Corollary 3."""
    for eta in (-0.5, 0.0, 1.0, 2.0):
        selected = select(ApproximateProfile(0.2), NegativeBinomial.with_mean(50.0, eta))
        assert epsilon_at(selected, 1e-10) <= (2 + eta) * 0.2 * (1 + 1e-3)


def test_a_worse_base_and_more_runs_never_cost_less() -> None:
    at = 1.2
    by_mu = [float(select(GaussianProfile(mu), geometric(20.0)).delta(at)) for mu in np.linspace(0.05, 0.5, 12)]
    by_mean = [float(select(GaussianProfile(MU), geometric(m)).delta(at)) for m in np.linspace(1.5, 200.0, 12)]
    assert (np.diff(by_mu) > 0).all()
    assert (np.diff(by_mean) > 0).all()


def test_a_table_as_base_costs_little_more_than_the_profile_it_was_made_from() -> None:
    law = geometric(40.0)
    table = tabulate(GaussianProfile(MU), floor=DELTA / (1000 * law.mean))
    exact = epsilon_at(select(GaussianProfile(MU), law), DELTA)
    assert exact <= epsilon_at(select(table, law), DELTA) <= exact + 0.01


def test_a_fixed_number_of_runs_never_costs_more_than_releasing_them_all() -> None:
    grid = np.linspace(0.0, 4.0, 41)
    for runs in (2, 10, 50):
        together = GaussianProfile(MU * math.sqrt(runs))
        assert (select(GaussianProfile(MU), Fixed(runs)).delta(grid) <= together.delta(grid) * (1 + 1e-9)).all()


def test_the_renyi_bound_is_refused_for_laws_it_does_not_cover() -> None:
    with pytest.raises(GuaranteeError, match="negative binomial and Poisson"):
        renyi_selection(CURVE, Fixed(3))


@each("name", ["geometric 40", "eta 2", "eta -0.5", "poisson 8", "fixed 7", "capped"])
def test_the_bound_is_just_above_the_expectation_that_it_bounds(name: str) -> None:
    """E over N(mu, 1) of sup_t [f'(1-t) r - e^epsilon f'(1-G(t))]_+, with the Gaussian's own G, written straight down.

    A supremum over a grid of t is too small by less than one part in 1e3 here; so ours is between it and 1.01 of it.
    """
    law = LAWS[name]
    z = np.linspace(-8.0, 8.0, 6001)
    t, u = ndtr(z), ndtr(-z)
    G, V = ndtr(z + MU), ndtr(-z - MU)
    a, b = law.derivative(u, t), law.derivative(V, G)
    x = np.linspace(-8.0, 8.0 + MU, 801)
    density = np.exp(-((x - MU) ** 2) / 2) / math.sqrt(2 * math.pi)
    ratio = np.exp(MU * MU / 2 - MU * x)
    ours = SelectedProfile(GaussianProfile(MU), law)
    for epsilon in (0.7, 1.5, 2.2):
        most = np.array([np.max(a * r - math.exp(epsilon) * b) for r in ratio])
        expected = float(np.sum(density * np.maximum(most, 0.0)) * (x[1] - x[0]))
        if 1e-8 < expected < 0.9:
            assert expected * (1 - 1e-6) <= float(ours.delta(epsilon)) <= expected * 1.01


def test_the_largest_share_errs_to_the_safe_side_by_no_more_than_it_says() -> None:
    """Against the same lines in fractions: G is never too small, 1 - G never too large, and by the share it states."""
    for mu in (MU, 4.0):
        lines = lines_of(GaussianProfile(mu), 40.0)
        rows = [tuple(map(Fraction, row)) for row in zip(*(part.tolist() for part in lines), strict=True)]
        t = np.concatenate([np.geomspace(1e-9, 0.5, 15), 1 - np.geomspace(0.4, 1e-9, 15)])
        found = zip(
            t.tolist(), (1 - t).tolist(), *(part.tolist() for part in largest_share(lines, t, 1 - t)), strict=True
        )
        for at, rest, G, V, lost in found:
            above = min(1, min(Fraction(at) * x + d for x, d, _ in rows))
            below = max(0, max(Fraction(rest) * x - c for x, _, c in rows))
            assert Fraction(G) >= (above if at <= 0.5 and G <= 0.5 else 1 - below)
            if at > 0.5 or G > 0.5:
                assert below * (1 - 2 * Fraction(lost)) <= Fraction(V) <= below
            assert lost < 1e-10


def test_weights_and_breakpoints_are_slopes_moved_to_the_safe_side() -> None:
    weights, slopes = hull_weights(np.array([0.5, 1.0, 2.0]), np.array([0.125, 0.625, 2.625]))
    assert weights.tolist() == [0.5 * (1 + SHIFT), 0.5 * (1 + SHIFT), 1 + SHIFT]
    assert slopes == pytest.approx(np.array([0.25, 1.0, 2.0]) * (1 - SHIFT), rel=1e-15)
    kept, shifts = thin_weights(weights, slopes)
    assert kept == pytest.approx(weights, rel=1e-15)
    assert shifts == pytest.approx(np.log(slopes * (1 - SHIFT)), abs=1e-15)
    assert SHIFT == 1e-9
