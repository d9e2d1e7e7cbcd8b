"""What every source of noise that may be released must obey: the laws it claims, to chance.

Each statistical test fails by chance at the rate FALSE_ALARM; there are fewer than a hundred of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from each import each
from numpy.typing import NDArray
from scipy import stats

from tacit.audit.bounds import lower_bound
from tacit.integrations.opendp import OpenDPNoise
from tacit.privacy.guarantee import Budget
from tacit.privacy.mechanisms import Gaussian, Laplace
from tacit.privacy.noise import EXACT, Source

FALSE_ALARM = 1e-10
SOURCES: dict[str, Callable[[], Source]] = {"exact": lambda: EXACT, "opendp": OpenDPNoise}
FEW = {"opendp": 4000}  # draws of a source that is slow
Numbers = NDArray[Any]


@pytest.fixture(params=SOURCES, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def source(name: str) -> Source:
    return SOURCES[name]()


@pytest.fixture(scope="module")
def many(name: str) -> int:
    return FEW.get(name, 200_000)


def chi_square(observed: Numbers, expected: Numbers) -> float:
    """The p-value, with cells that expect fewer than ten joined to one."""
    few = expected < 10
    o = np.append(observed[~few], observed[few].sum())
    e = np.append(expected[~few], expected[few].sum())
    if e[-1] < 10:
        o, e = np.append(o[:-2], o[-2:].sum()), np.append(e[:-2], e[-2:].sum())
    return float(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(o) - 1))


def fills_cells_evenly(uniform: Numbers) -> bool:
    cells = max(20, len(uniform) // 200)
    observed = np.bincount((uniform * cells).astype(int), minlength=cells)
    return chi_square(observed, np.full(cells, len(uniform) / cells)) > FALSE_ALARM


@each("scale", [1e-290, 0.37, 5.0, 1e290])
@pytest.mark.parametrize(("kind", "law"), [("gaussian", stats.norm), ("laplace", stats.laplace)])
def test_numbers_of_an_array_have_the_law_and_the_scale(
    source: Source, many: int, kind: str, law: Any, scale: float
) -> None:
    values = np.linspace(-50, 50, many // 2).reshape(2, -1) * scale
    drawn = (getattr(source, kind)(values, scale) - values).ravel() / scale
    assert fills_cells_evenly(law.cdf(drawn))
    assert stats.kstest(drawn, law.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("kind", "law"), [("gaussian", stats.norm), ("laplace", stats.laplace)])
def test_so_have_numbers_that_are_drawn_one_by_one(source: Source, many: int, kind: str, law: Any) -> None:
    x = np.array([0.7])
    drawn = np.array([getattr(source, kind)(x, 3.0)[0] for _ in range(many // 20)])
    assert fills_cells_evenly(law.cdf((drawn - 0.7) / 3.0))


@each("scale", [0.4, 1.0, 5.5, 2.0**20 + 0.3, 2.0**31, 1.7 * 2.0**52])
def test_whole_numbers_have_the_law_of_a_rounded_gaussian(source: Source, many: int, scale: float) -> None:
    value = -(10**6) + 3
    arrays = source.gaussian_whole_array(np.full(many // 4, value), scale) - value
    ones = np.array([source.gaussian_whole(2**70 + value, scale) - 2**70 - value for _ in range(many // 20)])
    for drawn in (arrays, ones):
        if scale > 100:
            assert fills_cells_evenly(stats.norm.cdf(drawn.astype(float) / scale))
            continue
        k = np.arange(-math.ceil(9 * scale), math.ceil(9 * scale) + 1)
        expected = len(drawn) * (stats.norm.cdf((k + 0.5) / scale) - stats.norm.cdf((k - 0.5) / scale))
        assert chi_square((drawn[:, None] == k).sum(axis=0), expected) > FALSE_ALARM


@each("scale", [5.5, 2.0**40])
def test_one_number_tells_nothing_of_the_next(source: Source, many: int, scale: float) -> None:
    drawn = source.gaussian_whole_array(np.zeros(many // 4, np.int64), scale) / scale
    n = len(drawn) - 1
    for a, b in ((drawn[:-1], drawn[1:]), (abs(drawn[:-1]) - 0.8, abs(drawn[1:]) - 0.8), (drawn[:-1], abs(drawn[1:]))):
        assert abs(np.corrcoef(a, b)[0, 1]) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(n)


def test_the_largest_of_scores_is_chosen_by_the_law_of_the_exponential_mechanism(source: Source, many: int) -> None:
    scores = np.array([0.0, 1.0, 2.5, -1.0])
    picked = [source.gumbel_argmax(scores, 1.5) for _ in range(many // 40)]
    weights = np.exp(scores / 1.5)
    assert chi_square(np.bincount(picked, minlength=4), len(picked) * weights / weights.sum()) > FALSE_ALARM


@pytest.mark.parametrize(("kind", "budget"), [(Gaussian, Budget.gdp(0.5)), (Laplace, Budget.pure(1.0))])
def test_an_audit_finds_what_is_claimed_and_no_more(kind: type[Gaussian], budget: Budget) -> None:
    made = kind(1.0, budget=budget)
    family = "gdp" if kind is Gaussian else "any"
    claim = made.guarantee.epsilon(1e-5)

    def measure(scale: float) -> float:
        here, there = (getattr(EXACT, made.sort)(np.full(200_000, side), scale) for side in (0.0, 1.0))
        return lower_bound(here, there, delta=1e-5, confidence=1 - FALSE_ALARM, family=family)

    assert measure(made.scale) <= claim
    assert measure(made.scale / 2) > claim


@pytest.mark.parametrize("scale", [2.5, 2.0**40])
def test_both_samplers_fill_the_same_cells(scale: float) -> None:
    ours = EXACT.gaussian_whole_array(np.zeros(4000, np.int64), scale)
    theirs = OpenDPNoise().gaussian_whole_array(np.zeros(4000, np.int64), scale)
    ends = np.unique(np.rint(stats.norm.ppf(np.linspace(0, 1, 21)[1:-1]) * scale)) + 0.5  # between whole numbers
    table = np.array([np.bincount(np.searchsorted(ends, drawn), minlength=len(ends) + 1) for drawn in (ours, theirs)])
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "law"), [("gaussian", stats.norm), ("laplace", stats.laplace)])
def test_a_hundred_million_draws_have_the_law_to_six_scales_and_beyond(kind: str, law: Any) -> None:
    ends = np.concatenate([np.linspace(-6, 6, 1201)])
    counts, beyond, blocks, zeros = np.zeros(1200), np.zeros(2), 100, np.zeros(1_000_000)
    for _ in range(blocks):
        drawn = getattr(EXACT, kind)(zeros, 1.0)
        counts += np.histogram(drawn, ends)[0]
        beyond += (drawn < -6).sum(), (drawn > 6).sum()
    n = blocks * len(zeros)
    expected = n * np.concatenate([np.diff(law.cdf(ends[:601])), -np.diff(law.sf(ends[600:]))])
    assert chi_square(counts, expected) > FALSE_ALARM
    for tail in beyond:
        assert stats.poisson.sf(tail - 1, n * law.sf(6)) > FALSE_ALARM
        assert stats.poisson.cdf(tail, n * law.sf(6)) > FALSE_ALARM
    for k in range(1, 6):  # each tail by itself
        for tail in (beyond[0] + counts[: 600 - 100 * k].sum(), beyond[1] + counts[600 + 100 * k :].sum()):
            p = law.sf(k)
            assert abs(tail - n * p) < stats.norm.isf(FALSE_ALARM) * math.sqrt(n * p) + 10
