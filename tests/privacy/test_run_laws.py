"""Laws of the number of runs: against their probabilities in 50 digits, and the exactness of their draws."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Context, localcontext
from fractions import Fraction
from itertools import accumulate, islice

import mpmath as mp
import numpy as np
import pytest
from each import each
from listed_law import Listed
from scipy.special import chdtri

from tacit.errors import BadInput
from tacit.privacy.run_laws import (
    BITS,
    Capped,
    Fixed,
    NegativeBinomial,
    PoissonRuns,
    RunLaw,
    chance_of_top,
    draw_runs,
    geometric,
    runs_at,
)

LAWS: dict[str, RunLaw] = {
    "geometric": geometric(8.0),
    "logarithmic": NegativeBinomial.with_mean(4.0, 0.0),
    "eta 2": NegativeBinomial.with_mean(9.0, 2.0),
    "eta 0.3": NegativeBinomial.with_mean(5.0, 0.3),
    "eta -0.5": NegativeBinomial.with_mean(3.0, -0.5),
    "poisson": PoissonRuns(6.0),
    "few by poisson": PoissonRuns(0.3),
    "fixed": Fixed(5),
    "one": Fixed(1),
    "listed": Listed((Fraction(1, 3), 0.25, 2, 0, 0, 1)),
    "capped geometric": Capped(geometric(8.0), 24),
    "capped poisson": Capped(PoissonRuns(6.0), 9),
}
EVERY = each("law", LAWS.values(), ids=LAWS.keys())


def exact_probabilities(law: RunLaw, top: int) -> list[mp.mpf]:
    """p_0 ... p_top from the definitions, with the gamma function."""
    match law:
        case NegativeBinomial(eta=eta, gamma=gamma):
            g, n = mp.mpf(gamma), mp.mpf(eta)
            if eta == 0:
                return [mp.mpf(0)] + [(1 - g) ** k / (k * mp.log(1 / g)) for k in range(1, top + 1)]
            rising = [mp.rf(n, k) / mp.factorial(k) for k in range(1, top + 1)]
            return [mp.mpf(0)] + [(1 - g) ** k / (g**-n - 1) * r for k, r in enumerate(rising, start=1)]
        case PoissonRuns(mean=mean):
            return [mp.e ** -mp.mpf(mean) * mp.mpf(mean) ** k / mp.factorial(k) for k in range(top + 1)]
        case Fixed(runs=runs):
            return [mp.mpf(k == runs) for k in range(top + 1)]
        case Listed(weights=weights):
            total = sum(Fraction(w) for w in weights)
            exact = [Fraction(w) / total for w in weights] + [Fraction(0)] * top
            return [mp.mpf(p.numerator) / p.denominator for p in exact[: top + 1]]
        case Capped(law=inner, cap=cap):
            head = exact_probabilities(inner, cap)
            return ([p / mp.fsum(head) for p in head] + [mp.mpf(0)] * top)[: top + 1]
    raise AssertionError


@EVERY
def test_generating_function_mean_and_chance_are_those_of_the_probabilities(law: RunLaw) -> None:
    with mp.workdps(50):
        p = exact_probabilities(law, 1200)
        assert law.mean == pytest.approx(float(mp.fsum(k * x for k, x in enumerate(p))), rel=1e-11)
        t = np.array([0.0, 1e-17, 1e-5, 0.03, 0.4, 0.9, 1.0])
        stated = law.derivative(1 - t, t)
        for at, found in zip(t, stated, strict=True):
            u = 1 - mp.mpf(at)
            expected = mp.fsum(k * x * u ** (k - 1) for k, x in enumerate(p) if k)
            assert found == pytest.approx(float(expected), rel=1e-11, abs=1e-300)
        chance = 1 - mp.fsum(x * mp.mpf("0.95") ** k for k, x in enumerate(p))
        assert chance_of_top(law, 0.05) == pytest.approx(float(chance), rel=1e-11)


@EVERY
def test_terms_are_the_probabilities_to_forty_digits(law: RunLaw) -> None:
    with localcontext(Context(prec=60)), mp.workdps(60):
        stated = list(islice(law.terms(), 30))
        for found, expected in zip(stated, exact_probabilities(law, 29), strict=True):
            assert abs(mp.mpf(str(found)) - expected) <= mp.mpf(10) ** -40


@EVERY
def test_a_uniform_number_becomes_the_k_whose_sum_of_probabilities_first_exceeds_it(law: RunLaw) -> None:
    """On both sides of each jump of the distribution function, 1e-30 from it."""
    with mp.workdps(120):
        sums = list(accumulate(exact_probabilities(law, 20)))
        for k, total in enumerate(sums):
            below, above = (int((total + side * mp.mpf(10) ** -30) * 2**BITS) for side in (-1, 1))
            if (k == 0 and total > 0) or (k > 0 and total > sums[k - 1]):
                assert runs_at(law, below) == k
            if total < 1 and k < 20 and sums[k + 1] > total:
                assert runs_at(law, above) == k + 1


@EVERY
def test_draws_follow_the_law(law: RunLaw) -> None:
    """Pearson's statistic of 500 draws, cells that expect fewer than 5 pooled; one false alarm in 1e6 per law."""
    draws = Counter(min(draw_runs(law), 9) for _ in range(500))
    with mp.workdps(30):
        head = [float(p) for p in exact_probabilities(law, 8)]
    expected = np.array([*head, max(0.0, 1 - math.fsum(head))]) * 500
    seen = np.array([draws[k] for k in range(10)])
    assert seen[expected < 1e-9].sum() == 0
    rare = expected < 5
    expected, seen = (np.append(x[~rare], x[rare].sum()) for x in (expected, seen))
    possible = expected > 0.5
    statistic = float(((seen - expected)[possible] ** 2 / expected[possible]).sum())
    assert statistic <= chdtri(max(1, int(possible.sum()) - 1), 1e-6)


def test_the_largest_number_of_runs_is_known_for_laws_that_have_one() -> None:
    assert [law.largest for law in LAWS.values()] == [None] * 7 + [5, 1, 5, 24, 9]


def test_a_concentrated_law_needs_fewer_runs_for_the_same_chance() -> None:
    """Means for a chance of 0.8 to meet the top 5%."""
    for eta, mean in ((1.0, 76.0), (2.0, 49.4)):
        assert chance_of_top(NegativeBinomial.with_mean(mean, eta), 0.05) == pytest.approx(0.8, abs=2e-3)
    assert chance_of_top(PoissonRuns(32.2), 0.05) == pytest.approx(0.8, abs=2e-3)
    assert chance_of_top(NegativeBinomial.with_mean(1000.0, 0.0), 0.05) < 0.7


def test_means_are_taken_to_the_ends_of_their_ranges() -> None:
    for mean in (1.001, 1.5, 40.0, 1e9):
        assert geometric(mean).mean == pytest.approx(mean, rel=1e-9)
    assert PoissonRuns(1e5).mean == 1e5
    assert NegativeBinomial(100.0, 0.5).eta == 100.0


@each(
    ("make", "told"),
    [
        (lambda: NegativeBinomial(-1.0, 0.5), "eta must be above -1"),
        (lambda: NegativeBinomial(1.0, 1.0), "gamma must be in"),
        (lambda: NegativeBinomial(100.1, 0.5), "at most 100"),
        (lambda: geometric(1.0), "mean must be above 1"),
        (lambda: geometric(1.001e9), "at most 1e9"),
        (lambda: PoissonRuns(1.001e5), "at most 100,000"),
        (lambda: PoissonRuns(0.0), "mean must be above 0"),
        (lambda: Fixed(0), "runs must be at least 1"),
        (lambda: Capped(geometric(5.0), 0), "cap must be at least 1"),
        (lambda: Capped(Fixed(5), 4), "cap must leave room for a run"),
        (lambda: Capped(Capped(geometric(5.0), 9), 8), "capped once"),
        (lambda: chance_of_top(geometric(5.0), 0.0), "top must be in"),
    ],
)
def test_bad_input_is_refused_with_the_rule(make: object, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        make()  # type: ignore[operator]
