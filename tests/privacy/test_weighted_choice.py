"""One draw by whole-number weights: its law, exactly, and that nothing it does depends on the scores."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tacit.errors import GeneratorFailed
from tacit.privacy import weighted_choice as w

SCALES = [1e-290, 3.7e-5, 1.0, 12.345, 1e290]
mpmath.mp.dps = 60


def whole(limbs: np.ndarray) -> int:
    """The number that limbs stand for."""
    return int("".join(f"{int(x):08x}" for x in limbs), 16)


def error(scores: np.ndarray, scale: float) -> float:
    """The largest error of a weight, as a logarithm, against mpmath with 60 digits."""
    limbs, most = w.weigh(scores, scale), mpmath.mpf(float(scores.max()))
    worst = mpmath.mpf(0)
    for score, limb in zip(scores, limbs.T, strict=True):
        below = min((most - mpmath.mpf(float(score))) / mpmath.mpf(scale), w.FLOOR * mpmath.log(2))
        worst = max(worst, abs(mpmath.log(mpmath.mpf(whole(limb)) / 2**160) + below))
    return float(worst)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("spread", [0.0, 1e-30, 1e-16, 1e-3, 1.0, 40.0, 1e6])
def test_every_weight_is_within_a_quarter_of_the_slack(scale: float, spread: float) -> None:
    scores = np.random.default_rng(7).normal(size=100) * spread * scale
    with mpmath.workdps(60):
        assert error(scores, scale) < w.SLACK / 8  # four weights count for a range: half of the slack


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6), st.sampled_from(SCALES))
@settings(max_examples=150, deadline=None)
def test_so_is_it_at_scores_of_any_size(scores: list[float], scale: float) -> None:
    with mpmath.workdps(700), np.errstate(all="raise"):
        assert error(np.array(scores), scale) < w.SLACK / 8


def test_neighbours_stay_within_the_stated_range_and_some_reach_it() -> None:
    generator, widest = np.random.default_rng(1), 0.0
    for _ in range(200):
        here = generator.normal(size=8) * generator.choice([1.0, 30.0, 300.0])
        there = here + generator.choice([-1.0, 1.0], size=8)
        pairs = zip(w.weigh(here, 2.0).T, w.weigh(there, 2.0).T, strict=True)
        loss = [mpmath.log(whole(a)) - mpmath.log(whole(b)) for a, b in pairs]
        widest = max(widest, float(max(loss) - min(loss)))
    assert 0.999 < widest <= 1.0 + w.SLACK


def test_sums_and_points_are_those_of_whole_numbers() -> None:
    generator = np.random.default_rng(2)
    for size in (1, 2, 7, 300):
        limbs = w.weigh(generator.normal(size=size) * 20, 1.0)
        running = list(itertools.accumulate(map(whole, limbs.T)))
        sums = w.cumulate(limbs)
        assert [whole(column) for column in sums.T] == running
        for words in [
            *generator.integers(0, 2**64, (40, 4), np.uint64),
            np.zeros(4, np.uint64),
            ~np.zeros(4, np.uint64),
        ]:
            U = sum(int(word) << 64 * (3 - i) for i, word in enumerate(words))
            point = running[-1] * U >> 256
            assert whole(w.multiply(sums[:, -1], words)) == point
            assert w.locate(sums, w.multiply(sums[:, -1], words)) == sum(s <= point for s in running)


def test_points_at_the_ends_of_a_candidate_belong_to_it_and_to_the_next() -> None:
    sums = w.cumulate(w.weigh(np.array([0.0, -1.0, 0.5]), 1.0))
    for i, edge in enumerate(whole(column) for column in sums.T):
        below = [(edge - 1) >> 32 * (w.LIMBS - 1 - j) & w.MASK for j in range(w.LIMBS)]
        assert (w.locate(sums, np.array(below)), w.locate(sums, sums[:, i])) == (i, i + 1)


@pytest.mark.parametrize("scores", [[0.0, 1.0, -1.0, 3.0], [5.0] * 4, [0.0, -3.0, -60.0, -1000.0]])
def test_draws_follow_the_law(scores: list[float]) -> None:
    u = np.array(scores)
    seen = np.bincount([w.draw_index(u, 1.5) for _ in range(1500)], minlength=4)
    law = np.exp(np.maximum((u - u.max()) / 1.5, -60)) / np.exp(np.maximum((u - u.max()) / 1.5, -60)).sum()
    assert not seen[law < 1e-20].any()
    likely = law >= 1e-20
    assert chisquare(seen[likely], 1500 * law[likely] / law[likely].sum()).pvalue > 1e-8  # fails by chance: 1e-8


def test_what_is_done_does_not_depend_on_the_scores() -> None:
    asked: list[list[tuple[str, tuple[int, ...]]]] = []

    class Watched(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **more):  # every operation on an array, and its shape
            asked[-1].append((ufunc.__name__ + method, tuple(np.shape(i) for i in inputs)))
            plain = [i.view(np.ndarray) if isinstance(i, Watched) else i for i in inputs]
            if "out" in more:
                more["out"] = tuple(o.view(np.ndarray) if isinstance(o, Watched) else o for o in more["out"])
            result = getattr(ufunc, method)(*plain, **more)
            return result.view(Watched) if isinstance(result, np.ndarray) else result

    for scores in (np.zeros(9), np.r_[1.0, np.full(8, -1.0)], -np.arange(9.0) * 1e307, np.arange(9) * 5e-324):
        asked.append([])
        sums = w.cumulate(w.weigh(scores.view(Watched), 2.0).view(Watched))
        w.locate(sums, w.multiply(sums[:, -1], np.arange(4, dtype=np.uint64).view(Watched)))
    assert len(asked[0]) > 60
    assert asked[1:] == asked[:1] * 3


def test_a_generator_that_fails_means_no_draw() -> None:
    with pytest.raises(GeneratorFailed, match="Nothing was drawn"):
        w.draw_index(np.zeros(3), 1.0, source=lambda count: b"")


def test_the_slack_and_the_least_likelihood_are_those_of_the_proof() -> None:
    """docs/proofs/exponential-mechanism.md: 2^-41 covers all rounding, and nobody is less likely than 2^-92."""
    assert w.SLACK == 2.0**-41
    best, worst = w.weigh(np.array([1e6, 0.0]), 1.0).T
    assert whole(best) == 2**92 * whole(worst)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9),
    st.floats(min_value=1e-300, allow_nan=False),
)
def test_what_is_nearer_to_zero_is_zero_and_the_rest_is_as_it_was(values: list[float], least: float) -> None:
    assert w.flush(np.array(values), least).tolist() == [v if abs(v) >= least else 0.0 for v in values]
