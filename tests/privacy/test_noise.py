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
from noise_words import Chosen, Pair, chosen, pair_of_sizes, place

from tacit.errors import BadInput
from tacit.privacy import noise
from tacit.privacy.noise import EXACT, GAUSSIAN, LAPLACE, Exact, Grid, Simulation, make_grid

LAWS = {"gaussian": GAUSSIAN, "laplace": LAPLACE}
PAIRS = st.builds(
    Pair,
    st.tuples(*[st.integers(1 << 64, (1 << 127) - (1 << 65))] * 2),
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
)
SCALES = st.sampled_from([1e-290, 3e-11, 1.0, 1.999, 7e20, 1e290])
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
HALF = Fraction(1 << 126, 1 << 127)
every_law = pytest.mark.parametrize("law", LAWS)


# What a draw is


@every_law
@given(x=FLOATS, pair=PAIRS, scale=SCALES)
def test_one_number_is_the_real_sum_rounded_to_a_step_and_then_to_a_float(
    law: str, x: float, pair: Pair, scale: float
) -> None:
    drawn = getattr(chosen(pair), law)(np.array([x]), scale)
    assert drawn.shape == (1,)
    assert drawn.tolist() == oracle(law, [x], pair, make_grid(scale))


@every_law
@given(st.lists(st.tuples(FLOATS, FLOATS, PAIRS), min_size=1, max_size=4), SCALES)
def test_so_is_every_number_of_an_array(law: str, rows: list[tuple[float, float, Pair]], scale: float) -> None:
    first, second, pairs = zip(*rows, strict=True)
    drawn = getattr(chosen(*pairs), law)(np.array(first + second), scale)
    assert drawn.reshape(2, -1).T.tolist() == [oracle(law, [x, y], p, make_grid(scale)) for x, y, p in rows]


def oracle(law: str, values: list[float], pair: Pair, grid: Grid) -> list[float]:
    steps = [Fraction(min(max(x, -grid.most), grid.most)) / Fraction(2) ** grid.e for x in values]
    return [
        float(k * Fraction(2) ** grid.e) if abs(k) < 2**1100 else math.copysign(math.inf, k)
        for k in pair.draw(law, steps, Fraction(grid.S))
    ]


@given(st.integers(-(2**200), 2**200), PAIRS, st.sampled_from([0.3, 7.5, 2.0**24, 1e9, 2.0**58, 1e40]))
def test_one_whole_number_of_any_size_is_the_real_sum_rounded_to_a_step(value: int, pair: Pair, scale: float) -> None:
    grid = make_grid(scale, whole=True)
    assert grid.e == max(0, math.frexp(scale)[1] - 21)
    drawn = chosen(pair).gaussian_whole(value, scale)
    assert drawn == pair.draw("gaussian", [Fraction(value, 1 << grid.e)], Fraction(grid.S))[0] << grid.e


@given(
    st.lists(st.tuples(*[st.integers(-(2**62), 2**62)] * 2, PAIRS), min_size=1, max_size=4),
    st.sampled_from([0.3, 7.5, 2.0**24, 1e9, 2.0**58]),
)
def test_so_is_every_whole_number_of_an_array(rows: list[tuple[int, int, Pair]], scale: float) -> None:
    first, second, pairs = zip(*rows, strict=True)
    drawn = chosen(*pairs).gaussian_whole_array(np.array(first + second), scale)
    grid = make_grid(scale, whole=True)
    expected = [p.draw("gaussian", [Fraction(v, 1 << grid.e) for v in (x, y)], Fraction(grid.S)) for x, y, p in rows]
    assert (drawn.reshape(2, -1).T >> grid.e).tolist() == expected
    assert not (drawn & ((1 << grid.e) - 1)).any()
    assert drawn.dtype == np.int64


@every_law
@each("count", [2, noise.BLOCK - 1, noise.BLOCK + 1, 3 * noise.BLOCK])
def test_an_array_of_many_parts_uses_every_word_once(law: str, count: int) -> None:
    words = np.random.default_rng(3).integers(0, 2**64, 2 * (count + count % 2), np.uint64)
    source = Chosen(words)
    drawn = getattr(source, law)(np.zeros(count), 1.0)
    assert source.left == []
    assert len(np.unique(drawn)) > 0.97 * count


# Borders and tails


@every_law
@each("apart", [1e-12, 1e-8, 1e-3])
@each("border", [0.5, 20.5, 1e5 + 0.5, 3.2e6 + 0.5])
def test_a_draw_next_to_a_border_is_on_the_right_side_and_near_ones_are_refined(
    law: str, apart: float, border: float
) -> None:
    scale, low, v = 1.25, Fraction(1, 4), HALF / 3
    grid = make_grid(scale)
    pairs, expected = [], []
    for side in (-1, 1):
        for sign in (0, 1):
            z = (Fraction(border) + side * Fraction(apart) - low * (-1) ** sign) / Fraction(grid.S)
            pairs.append(Pair((int(place(law, z, v) * (1 << 127)), int(v * (1 << 127))), (sign, 0)))
            outward = math.floor(border) if side < 0 else math.ceil(border)
            expected.append(-outward if sign else outward)
    values = np.full(8, float(low) * grid.step)
    source = chosen(*pairs)
    drawn = getattr(source, law)(values, scale) / grid.step
    assert drawn[:4].tolist() == expected
    assert source.refined == (4 if apart < 1e-5 else 0)
    one_by_one = [chosen(p) for p in pairs]
    assert [float(getattr(s, law)(values[:1], scale)[0] / grid.step) for s in one_by_one] == expected
    assert sum(s.refined for s in one_by_one) == source.refined
    turned = [Pair(p.bits[::-1], p.signs[::-1]) for p in pairs]  # so that the second of a pair is at the border
    if law == "laplace":
        assert (getattr(chosen(*turned), law)(values, scale)[4:] / grid.step).tolist() == expected


@every_law
@each("at_border", [0, 1])
@each("side", [-1, 1])
def test_both_of_a_pair_are_refined_each_with_its_own_value(law: str, at_border: int, side: int) -> None:
    pair, grid = Pair((3 << 124, 5 << 122)), make_grid(1.25)
    sizes = pair_of_sizes(law, *(Fraction(2 * b + 1, 1 << 128) for b in pair.bits))
    steps = Fraction(grid.S) * sizes[at_border]
    to_border = math.floor(steps) + Fraction(1, 2) - steps + side * Fraction(1, 10**9)
    values = [grid.step * float(to_border + Fraction(1, 4) * j) for j in (at_border, 1 - at_border)]
    source = chosen(pair)
    assert getattr(source, law)(np.array(values), 1.25).tolist() == oracle(law, values, pair, grid)
    assert source.refined == 1


@every_law
def test_what_is_refined_depends_on_the_sum_alone(law: str) -> None:
    words = np.random.default_rng(20).integers(0, 2**64, 2 * 400_000, np.uint64)
    at_zero, shifted = Chosen(words), Chosen(words)
    one = getattr(at_zero, law)(np.zeros(400_000), 1.0)
    grid = make_grid(1.0)
    other = getattr(shifted, law)(np.full(400_000, 12345 * grid.step), 1.0)
    assert (other - one == 12345 * grid.step).all()
    assert 0 < at_zero.refined == shifted.refined < 20


@every_law
@each("zeros", [63, 64, 100, 126])
def test_tails_beyond_the_first_word_are_refined(law: str, zeros: int) -> None:
    pair = Pair((1 << (127 - zeros - 1), 1 << 126))
    for many in (1, 2):
        source = chosen(pair)
        drawn = getattr(source, law)(np.zeros(many), 1.0)
        assert source.refined == 1
        assert drawn[0] == pytest.approx(pair.draw(law, [Fraction(0)], Fraction(2**20))[0] * 2.0**-20, rel=0.02)
        assert drawn[0] > math.sqrt(zeros * math.log(2))


@every_law
def test_a_tail_without_end_is_drawn_for_as_long_as_it_lasts(law: str) -> None:
    source = Chosen([0, 1 << 62, 0, 0], [[0, 0, 0, 0, 1 << 40, 0]])
    drawn = float(getattr(source, law)(np.zeros(1), 1.0)[0])
    assert source.unused == 0
    assert drawn == pytest.approx(float(pair_of_sizes(law, Fraction(1, 1 << 279), HALF)[0]), rel=1e-6)


# In floating point and by ball arithmetic


def agree(law: str, count: int) -> None:
    rng, grid = np.random.default_rng(count), make_grid(1.3)
    words = rng.integers(0, 2**64, 2 * count, np.uint64)
    low = rng.uniform(-0.5, 0.5, count)
    quick = Chosen(words)._round_all(LAWS[law], low, grid, lambda i: Fraction(low[i])).reshape(2, -1).T
    for drawn, pair, lows in zip(quick, words.reshape(4, -1).T.tolist(), low.reshape(2, -1).T, strict=True):
        refined = Chosen([])._refine(LAWS[law], pair[:2], pair[2:], [Fraction(x) for x in lows], grid.S)
        assert drawn.tolist() == refined
        assert Chosen(pair)._round_one(LAWS[law], lows[0], grid, lambda x=lows[0]: Fraction(x)) == refined[0]  # type: ignore[misc]


@every_law
def test_both_ways_agree(law: str) -> None:
    agree(law, 1000)


@pytest.mark.slow
@every_law
def test_both_ways_agree_on_a_hundred_thousand_words(law: str) -> None:
    agree(law, 100_000)


def worst_error(law: str, count: int) -> float:
    """Of sizes in floating point: of all uniform numbers half are near 0 or 1, to 2^-63, a quarter of them at each."""
    rng = np.random.default_rng(count)
    first = rng.integers(1, 2**63, (2, count), np.int64)
    ends = rng.random((2, count))
    near = (2.0 ** rng.uniform(0, 63, (2, count))).astype(np.int64)
    first = np.where(ends < 0.25, near, np.where(ends < 0.5, 2**63 - 1 - near, first))
    rest = (rng.integers(0, 2**53, (2, count), np.int64) | 1) * 2.0**-53
    drawn = LAWS[law].sizes(first, rest)
    worst = 0.0
    with mpmath.workprec(200):
        one = mpmath.mpf(2) ** 63
        for pair, more, ours in zip(first.T.tolist(), rest.T.tolist(), drawn.T.tolist(), strict=True):
            u, v = ((a + mpmath.mpf(b)) / one for a, b in zip(pair, more, strict=True))
            sizes = [-mpmath.log(u), -mpmath.log(v)]
            if law == "gaussian":
                radius = mpmath.sqrt(2 * sizes[0])
                sizes = [radius * mpmath.cos(mpmath.pi * v / 2), radius * mpmath.sin(mpmath.pi * v / 2)]
            single = LAWS[law].first(float(u), float(1 - u), float(v))
            for size, z in zip([*sizes, sizes[0]], [*ours, single], strict=True):
                worst = max(worst, abs(float(abs(z) - size)))
    return worst


@every_law
def test_sizes_in_floating_point_err_by_far_less_than_the_margin_allows(law: str) -> None:
    assert worst_error(law, 2000) < noise.MARGIN / 16


@pytest.mark.slow
@every_law
def test_so_they_do_on_a_million_words(law: str) -> None:
    worst = worst_error(law, 1_000_000)
    print(f"{law}: worst error {worst:.3g}; the proof allows {noise.MARGIN:.3g}")
    assert worst < noise.MARGIN / 16


def test_the_margin_covers_what_the_proof_says() -> None:
    for scale in (1e-290, 1.0, math.nextafter(2.0, 0), 1e290):
        grid = make_grid(scale)
        assert 2.0**20 <= grid.S < 2.0**21
        assert grid.S * grid.step == scale
        laplace, gaussian = 44 * 2.0**-48 + 2 * 44 * 2.0**-53, 10 * (2.0**-48 + 2.0**-49 + 2.0**-51 + 2.0**-52)
        wanted = grid.S * max(laplace, gaussian) + grid.least / grid.step
        assert 0.5 - grid.inside >= wanted
        assert 0.5 - grid.inside < 2.0**-19  # so that few draws are refined


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
