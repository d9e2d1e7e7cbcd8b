"""The exact sampler: draws against another library's arithmetic, at borders, in tails and at the ends of floats."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from noise_words import Chosen, draw_by, pairs, place, quantile
from scipy.special import ndtri

from tacit.errors import BadInput
from tacit.privacy import noise
from tacit.privacy.noise import EXACT, GAUSSIAN, LAPLACE, Exact, Grid, Simulation, make_grid

LAWS = {"gaussian": GAUSSIAN, "laplace": LAPLACE}
BITS = st.integers(1 << 64, (1 << 127) - 1)
SCALES = st.sampled_from([1e-290, 3e-11, 1.0, 1.999, 7e20, 1e290])
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
every_law = pytest.mark.parametrize("law", LAWS)


# What a draw is


@every_law
@given(x=FLOATS, bits=BITS, sign=st.integers(0, 1), scale=SCALES)
def test_one_number_is_the_real_sum_rounded_to_a_step_and_then_to_a_float(
    law: str, x: float, bits: int, sign: int, scale: float
) -> None:
    grid = make_grid(scale)
    drawn = getattr(Chosen([sign << 63 | bits >> 64, bits & (2**64 - 1), 0, 0]), law)(np.array([x]), scale)
    assert drawn.shape == (1,)
    assert drawn[0] == oracle(law, x, bits, sign, grid)


@every_law
@given(st.lists(st.tuples(FLOATS, BITS, st.integers(0, 1)), min_size=2, max_size=8), SCALES)
def test_so_is_every_number_of_an_array(law: str, rows: list[tuple[float, int, int]], scale: float) -> None:
    values, bits, signs = zip(*rows, strict=True)
    drawn = getattr(Chosen(pairs(bits, signs) + [0] * 8), law)(np.array(values), scale)
    assert drawn.tolist() == [oracle(law, x, b, s, make_grid(scale)) for x, b, s in rows]


def oracle(law: str, x: float, bits: int, sign: int, grid: Grid) -> float:
    x = min(max(x, -grid.most), grid.most)
    k = draw_by(law, bits, sign, Fraction(x) / Fraction(2) ** grid.e, Fraction(grid.S))
    high, low = divmod(k, 1)
    assert low == 0
    return float(high * Fraction(2) ** grid.e) if abs(high) < 2**1100 else math.copysign(math.inf, high)


@given(
    st.integers(-(2**200), 2**200), BITS, st.integers(0, 1), st.sampled_from([0.3, 7.5, 2.0**24, 1e9, 2.0**58, 1e40])
)
def test_one_whole_number_of_any_size_is_the_real_sum_rounded_to_a_step(
    value: int, bits: int, sign: int, scale: float
) -> None:
    grid = make_grid(scale, whole=True)
    assert grid.e == max(0, math.frexp(scale)[1] - 25)
    drawn = Chosen([sign << 63 | bits >> 64, bits & (2**64 - 1), 0, 0]).gaussian_whole(value, scale)
    assert drawn == draw_by("gaussian", bits, sign, Fraction(value, 1 << grid.e), Fraction(grid.S)) << grid.e


@given(
    st.lists(st.tuples(st.integers(-(2**62), 2**62), BITS, st.integers(0, 1)), min_size=1, max_size=8),
    st.sampled_from([0.3, 7.5, 2.0**24, 1e9, 2.0**58]),
)
def test_so_is_every_whole_number_of_an_array(rows: list[tuple[int, int, int]], scale: float) -> None:
    values, bits, signs = zip(*rows, strict=True)
    drawn = Chosen(pairs(bits, signs) + [0] * 8).gaussian_whole_array(np.array(values), scale)
    one = [
        Chosen([s << 63 | b >> 64, b & (2**64 - 1), 0, 0]).gaussian_whole(v, scale) for v, b, s in rows
    ]  # which the test above compares
    assert drawn.tolist() == one
    assert drawn.dtype == np.int64


@every_law
@each("count", [2, noise.BLOCK - 1, noise.BLOCK + 1, 3 * noise.BLOCK])
def test_an_array_of_many_parts_uses_every_word_once(law: str, count: int) -> None:
    words = np.random.default_rng(3).integers(0, 2**64, 2 * count + 64, np.uint64)
    source = Chosen(words)
    drawn = getattr(source, law)(np.zeros(count), 1.0)
    assert len(source.left) <= 64
    assert len(np.unique(drawn)) > 0.99 * count


# Borders and tails


@every_law
@each("apart", [1e-12, 1e-8, 1e-3])
@each("border", [0.5, 20.5, 1e6 + 0.5, 5.2e7 + 0.5])
def test_a_draw_next_to_a_border_is_on_the_right_side_and_near_ones_are_refined(
    law: str, apart: float, border: float
) -> None:
    scale, low = 1.25, Fraction(1, 4)
    grid = make_grid(scale)
    words, expected = [], []
    for side in (-1, 1):
        for sign in (0, 1):
            z = (Fraction(border) + side * Fraction(apart) - low * (-1) ** (1 - sign)) / Fraction(grid.S)
            bits = int(place(law, -z) * (1 << 127))
            words.append((bits, sign))
            outward = math.floor(border) if side < 0 else math.ceil(border)
            expected.append(outward if sign else -outward)
    values = np.full(4, float(low) * grid.step)
    source = Chosen(pairs(*map(list, zip(*words, strict=True))) + [0] * 8)
    drawn = getattr(source, law)(values, scale) / grid.step
    assert drawn.tolist() == expected
    assert source.refined == (4 if apart < 1e-5 else 0)
    one_by_one = [Chosen([s << 63 | b >> 64, b & (2**64 - 1), 0, 0]) for b, s in words]
    assert [float(getattr(s, law)(values[:1], scale)[0] / grid.step) for s in one_by_one] == expected
    assert sum(s.refined for s in one_by_one) == source.refined


@every_law
def test_what_is_refined_depends_on_the_sum_alone(law: str) -> None:
    words = np.random.default_rng(11).integers(0, 2**64, 2 * 200_000, np.uint64)
    at_zero, shifted = Chosen([*words, *[0] * 99]), Chosen([*words, *[0] * 99])
    one = getattr(at_zero, law)(np.zeros(200_000), 1.0)
    grid = make_grid(1.0)
    other = getattr(shifted, law)(np.full(200_000, 12345 * grid.step), 1.0)
    assert (other - one == 12345 * grid.step).all()
    assert 0 < at_zero.refined == shifted.refined < 20


@every_law
@each("zeros", [64, 100, 126])
def test_tails_beyond_the_first_word_are_refined(law: str, zeros: int) -> None:
    bits = 1 << (127 - zeros - 1)
    for words in (pairs([bits, bits]), [bits >> 64, bits & (2**64 - 1)]):
        source = Chosen([*words, 5, 5])
        drawn = getattr(source, law)(np.zeros(len(words) // 2), 1.0)
        assert source.refined == len(drawn)
        middle = draw_by(law, bits, 0, Fraction(0), Fraction(2**24)) * 2.0**-24
        assert drawn == pytest.approx(middle, rel=0.02 if zeros == 126 else 1e-7)
        assert drawn.max() < (-9 if law == "gaussian" else -44)


@every_law
def test_a_tail_without_end_is_drawn_for_as_long_as_it_lasts(law: str) -> None:
    source = Chosen([0, 0, 0, 0, 0, 1 << 40])
    drawn = float(getattr(source, law)(np.zeros(1), 1.0)[0])
    assert source.left == []
    assert drawn == pytest.approx(float(quantile(law, Fraction(1, 1 << 343))), rel=1e-6)


# In floating point and by ball arithmetic


def agree(law: str, count: int) -> None:
    rng, grid = np.random.default_rng(count), make_grid(1.3)
    words = rng.integers(0, 2**64, (2, count), np.uint64)
    low = rng.uniform(-0.5, 0.5, count)
    quick = Chosen([*words.ravel(), *[1 << 63] * 100])._round_all(LAWS[law], low, grid, lambda i: Fraction(low[i]))
    for i in range(count):
        first, second = int(words[0, i]), int(words[1, i])
        assert quick[i] == Chosen([1 << 63] * 9)._refine(LAWS[law], first, second, Fraction(low[i]), grid.S)


@every_law
def test_both_ways_agree(law: str) -> None:
    agree(law, 1000)


@pytest.mark.slow
@every_law
def test_both_ways_agree_on_a_hundred_thousand_words(law: str) -> None:
    agree(law, 100_000)


def worst_error(law: str, count: int) -> float:
    """Of the quantile in floating point: half of the places uniform, half of them in the tails, to 2^-64."""
    rng = np.random.default_rng(count)
    u = np.concatenate([rng.random(count // 2), 2.0 ** -rng.uniform(0, 63, count - count // 2)])
    with mpmath.workprec(160):
        if law == "laplace":
            return max(abs(float(mpmath.log(x) - z)) for x, z in zip(u.tolist(), np.log(u).tolist(), strict=True))
        worst = 0.0
        for x, z in zip(u.tolist(), ndtri(0.5 * u).tolist(), strict=True):  # one step of Newton's: errors are tiny
            worst = max(worst, abs(float((mpmath.ncdf(z) - mpmath.mpf(x) / 2) / mpmath.npdf(z))))
        return worst


@every_law
def test_the_quantile_errs_by_far_less_than_the_margin_allows(law: str) -> None:
    assert worst_error(law, 2000) < noise.QUANTILE_ERROR / 8


@pytest.mark.slow
@every_law
def test_so_it_does_on_a_million_words(law: str) -> None:
    worst = worst_error(law, 1_000_000)
    print(f"{law}: worst error {worst:.3g} of {noise.QUANTILE_ERROR:.3g} that the proof assumes")
    assert worst < noise.QUANTILE_ERROR / 8


def test_the_margin_covers_what_the_proof_says() -> None:
    for scale in (1e-290, 1.0, math.nextafter(2.0, 0), 1e290):
        grid = make_grid(scale)
        assert 2.0**24 <= grid.S < 2.0**25
        assert grid.S * grid.step == scale
        rounding = (46 + 44) * 2.0**-53 + 2 * 2.0**-52  # of S Z, of the sum and of U, in scales
        wanted = grid.S * (noise.QUANTILE_ERROR + rounding) + grid.least / grid.step
        assert 0.5 - grid.inside >= wanted
        assert 0.5 - grid.inside < 2.0**-16  # so that few draws are refined


# The ends of what is taken


@pytest.mark.filterwarnings("error")
@every_law
@each("scale", [1e-290, 1.0, 1e290])
def test_values_at_the_ends_of_the_floats_are_noised_without_a_warning(law: str, scale: float) -> None:
    big = sys.float_info.max
    values = np.array([big, -big, 5e-324, -5e-324, 2.3e-308, 0.0, -0.0, 1.0])
    for drawn in (getattr(EXACT, law)(values, scale), [getattr(EXACT, law)(v, scale) for v in values]):
        assert np.isfinite(drawn).all()
        most = make_grid(scale).most
        assert drawn[0] == pytest.approx(most, rel=1e-12)
        assert drawn[1] == pytest.approx(-most, rel=1e-12)
        assert drawn[2] != 0
        assert abs(drawn[2]) < 40 * scale


@pytest.mark.filterwarnings("error")
def test_whole_numbers_at_the_end_of_64_bits_are_cut_and_never_overflow() -> None:
    drawn = EXACT.gaussian_whole_array(np.array([2**63 - 1, -(2**63), 5]), 2.0**58)
    assert drawn[0] > 0 > drawn[1]
    assert EXACT.gaussian_whole_array(np.array([2**63 - 1, -(2**63)]), 0.01).tolist() == [2**62, -(2**62)]


@each("scale", [0.0, -1.0, math.nan, math.inf, 1e-291, 1e291, 5e-324])
def test_scales_that_the_proof_does_not_cover_are_refused_before_anything_is_drawn(scale: float) -> None:
    for draw in (
        lambda source: source.gaussian(np.zeros(3), scale),
        lambda source: source.laplace(np.zeros(1), scale),
        lambda source: source.gaussian_whole(1, scale),
        lambda source: source.gaussian_whole_array(np.zeros(3, int), scale),
    ):
        source = Chosen([1, 2, 3, 4])
        with pytest.raises(BadInput, match="scale must be"):
            draw(source)
        assert len(source.left) == 4


@each("bad", [math.nan, math.inf, -math.inf])
@each("many", [1, 2, 20_000])
def test_values_that_are_not_finite_are_refused_before_anything_is_drawn(bad: float, many: int) -> None:
    source = Chosen([1, 2])
    values = np.zeros(many)
    values[-1] = bad
    for law in LAWS:
        with pytest.raises(BadInput, match="finite"):
            getattr(source, law)(values, 1.0)
    assert len(source.left) == 2


def test_what_is_not_a_whole_number_of_64_bits_is_refused_where_one_is_wanted() -> None:
    for values in (np.array([1.0]), np.array([1], np.uint64), np.array(["1"])):
        with pytest.raises(BadInput, match="of 64 bits"):
            EXACT.gaussian_whole_array(values, 3.0)
    with pytest.raises(BadInput, match=r"at most 2\^58"):
        EXACT.gaussian_whole_array(np.array([1]), 2.0**59)
    with pytest.raises(TypeError):
        EXACT.gaussian_whole(1.0, 3.0)  # type: ignore[arg-type]


def test_shapes_stay_and_values_are_left_alone() -> None:
    for shape in ((), (1,), (0,), (3,), (2, 0), (4, 5, 6)):
        values, whole = np.ones(shape), np.ones(shape, int)
        assert EXACT.gaussian(values, 1.0).shape == EXACT.laplace(values, 1.0).shape == shape
        assert EXACT.gaussian_whole_array(whole, 1e9).shape == shape
        assert (values == 1).all()
        assert (whole == 1).all()
    turned = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert np.rint(EXACT.gaussian(turned, 1e-9)).tolist() == turned.tolist()
    assert np.rint(EXACT.gaussian(turned[:, ::2], 1e-9)).tolist() == turned[:, ::2].tolist()


def test_it_cannot_be_seeded_and_has_no_state() -> None:
    with pytest.raises(TypeError):
        Exact(1)  # type: ignore[call-arg]
    assert vars(Exact()) == {}


def test_a_simulation_adds_what_numpy_draws_around_zero() -> None:
    values, whole = np.array([[3.0, -1.0], [0.5, 1e6]]), np.array([5, -7], np.int64)
    rng = np.random.default_rng
    assert (Simulation(3).gaussian(values, 2.5) == values + rng(3).normal(0.0, 2.5, (2, 2))).all()
    assert (Simulation(3).laplace(values, 2.5) == values + rng(3).laplace(0.0, 2.5, (2, 2))).all()
    assert Simulation(3).gaussian_whole(10**20, 1e9) == 10**20 + round(rng(3).normal(0.0, 1e9))
    assert (Simulation(3).gaussian_whole_array(whole, 1e9) == whole + np.rint(rng(3).normal(0.0, 1e9, 2))).all()
    for scores in np.eye(4):
        chosen = [Simulation(rng(seed)).gumbel_argmax(scores, 0.7) for seed in range(40)]
        assert chosen == [int(np.argmax(scores + rng(seed).gumbel(0.0, 0.7, 4))) for seed in range(40)]
