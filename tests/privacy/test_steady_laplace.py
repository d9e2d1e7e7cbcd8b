"""Laplace noise by coins: the law, exactly; draws against it and against OpenDP; and that no step depends on a draw."""

from __future__ import annotations

import itertools
import math
import multiprocessing
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacit.errors import BadInput, GeneratorFailed
from tacit.privacy import steady_laplace as s
from tacit.privacy.noise import FINENESS, float_noise

FALSE_ALARM = 1e-7  # of each statistical test
FINE = 1.37 * 2.0**FINENESS  # a scale in steps, as mechanisms have it
FULL = (1 << 128) - 1


def scripted(numbers: Iterable[int]) -> s.Bytes:
    """A generator that gives these numbers of 128 bits, one for each coin."""
    left = iter(numbers)

    def source(size: int) -> bytes:
        taken = list(itertools.islice(left, size // 16))
        words = [[n >> 64 for n in taken], [n & (1 << 64) - 1 for n in taken]]
        return np.array(words, np.uint64).tobytes()

    return source


def threshold(coins: s.Coins, row: int) -> int:
    upper, lower = (int(words[row, 0]) for words in coins.thresholds)
    return upper << 64 | lower


def chance(coin: s.Coin) -> mpmath.mpf:
    x, odds = coin
    return 1 / (odds + mpmath.exp(mpmath.mpf(x.numerator) / x.denominator))


def outcomes(t: float, digits: int, most: int) -> Iterable[tuple[int, int, mpmath.mpf]]:
    """Every noise of fewer than ``most`` blocks as the code puts it together, and its probability."""
    coins = s.coins_of(t, digits)
    chances = [chance(coin) for coin in coins.coins]
    for heads in itertools.product((False, True), repeat=digits + 1):
        own = mpmath.fprod(p if up else 1 - p for p, up in zip(chances[:-1], heads, strict=True))
        for many in range(most):
            more = [True] * many + [False]
            each = zip([*chances, *chances[-1:] * many], [*heads, *more], strict=True)
            tosses = [int(chance * 2**128) + (-1 if up else 1) for chance, up in each]  # at the coin's own threshold
            blocks, above = coins.draw(1, scripted(tosses))
            yield int(blocks[0]), int(above[0]), own * chances[-1] ** many * (1 - chances[-1])


@pytest.mark.parametrize("t", [2.0**40, FINE, math.nextafter(2.0**41, 0), 0.3, 5.25])
def test_thresholds_are_the_chances_rounded_down(t: float) -> None:
    coins = s.coins_of(t)
    with mpmath.workprec(700):
        for row, coin in enumerate(coins.coins):
            assert threshold(coins, row) == int(mpmath.floor(chance(coin) * 2**128))
            assert s.threshold(coin, 6) == int(mpmath.floor(chance(coin) * 2**384))


@pytest.mark.parametrize("whole", [2**126 + 1, 2**100 + 12345, 3**70, 2**127 - 1])
def test_chances_next_to_a_whole_number_are_told_apart_by_further_digits(whole: int) -> None:
    """At the first 72 digits 2^128 chance cannot be told from the whole number that it is just above or below."""
    with mpmath.workdps(200):
        log = Fraction(int(mpmath.log(mpmath.mpf(2) ** 128 / whole - 1) * 10**120), 10**120)
        above, below = log - Fraction(1, 10**95), log + Fraction(1, 10**95)
        for x, floor in ((above, whole), (below, whole - 1)):
            assert int(mpmath.floor(2**128 * chance((x, 1)))) == floor
            assert s.threshold((x, 1), 2) == floor


@pytest.mark.parametrize("t", [0.4, 1.5, 5.25])
@pytest.mark.parametrize("digits", [1, 3])
def test_the_law_of_all_coins_is_the_discrete_laplace_law(t: float, digits: int) -> None:
    with mpmath.workdps(60):
        found = {(blocks << digits) + above: p for blocks, above, p in outcomes(t, digits, 4)}
        assert sorted(found) == list(range(-4 << digits, 4 << digits))
        for x, p in found.items():
            law = mpmath.tanh(1 / (2 * mpmath.mpf(t))) * mpmath.exp(-abs(x) / mpmath.mpf(t))
            assert abs(p / law - 1) < mpmath.mpf(10) ** -50


@pytest.mark.parametrize(
    ("here", "there"), [(0.0, 1.0), (-0.4, 2.6), (2.0**54, 2.0**54 + 4), (-(2.0**60), 256 - 2.0**60)]
)
def test_no_output_tells_neighbours_apart_by_more_than_is_claimed_and_some_do_by_all(here: float, there: float) -> None:
    """Where a float holds several sums, its probability is that of all of them."""
    t, digits, reach = abs(here - there) / 2, 4, 60 * abs(round(here) - round(there))
    x = np.arange(-reach, reach + 1)
    law = np.exp(-np.abs(x) / t)
    seen: list[dict[float, float]] = [{}, {}]
    for found, value in zip(seen, (here, there), strict=True):
        for out, p in zip(s.add(np.full(x.size, value), x >> digits, x & 15, 0, digits).tolist(), law, strict=True):
            found[out] = found.get(out, 0.0) + p
    inside = [out for out in seen[0] if max(abs(out - here), abs(out - there)) < reach / 2]  # and not near the cut
    losses = [abs(math.log(seen[0][out] / seen[1][out])) for out in inside]
    assert len(inside) > 20
    assert max(losses) == pytest.approx(abs(round(here) - round(there)) / t, rel=1e-12)


@pytest.mark.parametrize("row", [0, 17, 47, 48, 49])
def test_bits_that_do_not_decide_are_followed_by_others(row: int) -> None:
    coins = s.coins_of(FINE)
    own = threshold(coins, row)
    next_words = s.threshold(coins.coins[row], 4) & FULL
    rows = len(coins.coins)

    def toss(first: int, *more: int) -> bool:
        given = [FULL if i != row else first for i in range(rows)]
        heads = coins.toss(1, scripted([*given, *more]))[:, 0]
        assert not heads[np.arange(rows) != row].any()
        return bool(heads[row])

    assert not toss(own + 1)
    assert own == 0 or toss(own - 1)
    assert not toss(own, next_words + 1)
    assert next_words == 0 or toss(own, next_words - 1)
    third = s.threshold(coins.coins[row], 6) & FULL
    assert not toss(own, next_words, third + 1)
    assert toss(own, next_words, third - 1)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-1000, 900),
    st.integers(-3, 2),
    st.integers(0, 2**48 - 1),
)
@settings(max_examples=300, deadline=None)
@pytest.mark.filterwarnings("error")
def test_a_noisy_value_is_the_float_nearest_to_the_sum(value: float, k: int, blocks: int, above: int) -> None:
    step = Fraction(2) ** k
    steps = max(-Fraction(s.MOST), min(Fraction(s.MOST), round(Fraction(value) / step)))
    total = (steps + blocks * 2**48 + above) * step
    [noisy] = s.add(np.array([value]), np.array([blocks]), np.array([above]), k, 48)
    assert math.isfinite(noisy)
    if abs(total) < min(2**100 * step, Fraction(s.MOST)):
        assert noisy == float(total)
    else:
        assert abs(Fraction(noisy) - total) <= abs(total) / 2**52


@given(st.integers(-(2**120), 2**120), st.integers(1, 2**16), st.integers(-(2**50), 2**50))
@settings(max_examples=200, deadline=None)
def test_what_is_seen_depends_on_the_sum_alone(about: int, apart: int, noise: int) -> None:
    """Two values and two noises with the same sum, in steps, give the same float, however large."""
    here = float(about)
    there = here + apart * max(1.0, math.ulp(here))
    seen = set()
    for value, x in ((here, noise), (there, noise + int(here) - int(there))):
        seen.add(s.add(np.array([value]), np.array([x >> 48]), np.array([x & (1 << 48) - 1]), 0, 48)[0])
    assert len(seen) == 1


def test_draws_follow_the_law_in_cells_and_in_residues() -> None:
    n = 200_000
    blocks, above = s.coins_of(FINE).draw(n)
    noise = (blocks << 48) + above
    cells = np.floor(stats.laplace.cdf(noise / FINE) * 64).astype(int)
    assert stats.chisquare(np.bincount(cells, minlength=64)).pvalue > FALSE_ALARM
    assert stats.chisquare(np.bincount(noise & 63, minlength=64)).pvalue > FALSE_ALARM  # which low digits decide


@pytest.mark.parametrize("t", [0.3, 2.5, 17.0])
def test_draws_of_small_scales_have_the_exact_probabilities(t: float) -> None:
    n, reach = 200_000, math.ceil(5 * t)
    coins = s.coins_of(t)
    blocks, above = coins.draw(n)
    noise = np.clip((blocks << coins.digits) + above, -reach, reach)
    law = math.tanh(1 / (2 * t)) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / t)
    law[[0, -1]] += (1 - law.sum()) / 2
    seen = np.bincount(noise + reach, minlength=2 * reach + 1)
    assert stats.chisquare(seen, n * law / law.sum()).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [1e-290, 0.3, 7e12, 1e290])
def test_draws_are_those_of_opendp(scale: float) -> None:
    n, k = 20_000, math.frexp(scale)[1] - 1 - FINENESS
    values = np.linspace(-3, 3, n) * scale
    theirs = np.array(float_noise("laplace", n, scale)(values)) - values
    ours = s.add_laplace(values, scale, k) - values
    assert stats.ks_2samp(ours / scale, theirs / scale).pvalue > FALSE_ALARM
    steps = np.ldexp(s.add_laplace(np.zeros(100), scale, k), -k)
    assert (steps == np.rint(steps)).all()


def test_one_number_tells_nothing_of_the_next() -> None:
    noisy = s.add_laplace(np.zeros(100_000), 1.0, -FINENESS)
    signs = (noisy[:-1] > 0) == (noisy[1:] > 0)
    assert stats.binomtest(int(signs.sum()), signs.size).pvalue > FALSE_ALARM
    assert stats.spearmanr(abs(noisy[:-1]), abs(noisy[1:])).pvalue > FALSE_ALARM


def test_what_is_done_depends_neither_on_the_values_nor_on_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[tuple[str, tuple[Any, ...]]]] = []

    class Watched(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **more):  # every operation on an array, and its shape
            asked[-1].append((ufunc.__name__ + method, tuple((np.shape(i), np.result_type(i)) for i in inputs)))
            plain = [i.view(np.ndarray) if isinstance(i, Watched) else i for i in inputs]
            result = getattr(ufunc, method)(*plain, **more)
            return result.view(Watched) if isinstance(result, np.ndarray) else result

    plain, coins = s.random_words, s.coins_of(FINE)
    monkeypatch.setattr(s, "random_words", lambda count, source: plain(count, source).view(Watched))
    smallest = [FULL] * len(coins.coins)
    largest = [0] * 46 + [FULL, FULL, 0, FULL]  # digit 47 and another block come up once in 2^134 draws and more rarely
    mixed = [0, FULL] * 23 + [FULL] * 4
    for value, bits in itertools.product((0.0, 5e-324, 1.0, -1e300), (largest, smallest, mixed)):
        asked.append([])
        s.add(np.array([value]).view(Watched), *coins.draw(1, scripted(bits)), -40, 48)
    assert len(asked[0]) > 25
    assert asked[1:] == asked[:1] * 11


@pytest.mark.filterwarnings("error")
def test_values_at_the_end_of_the_floats_stay_finite() -> None:
    for k in (-1004, 0, 924):
        noisy = s.add_laplace(np.array([s.MOST, -s.MOST, 5e-324, -0.0]), 1.5 * 2.0 ** (k + 40), k)
        assert np.isfinite(noisy).all()
        assert noisy[0] > 0 > noisy[1] or k == 924
    assert s.add_laplace(np.zeros((0, 3)), 1.0, -40).shape == (0, 3)


@pytest.mark.parametrize("k", [-1010, -40, 0, 1, 924, 1010])
def test_no_noise_overflows_or_underflows(k: int) -> None:
    values = np.repeat([s.MOST, -s.MOST, 0.0, 5e-324], 4)
    with np.errstate(all="raise"):
        noisy = s.add(values, np.tile([2**40, -(2**40), -1, 0], 4), np.tile([0, 1, 2**48 - 1, 1], 4), k, 48)
    assert np.isfinite(noisy).all()


@pytest.mark.parametrize("t", [2.0**-7, 0.5, 2.0**40, math.nextafter(2.0**46, 0)])
def test_the_sum_is_exact_at_every_scale_that_is_accepted(t: float) -> None:
    coins = s.coins_of(t)
    assert coins.digits == len(coins.coins) - 2 <= 53
    for steps, above in itertools.product((-1, 1, -3, 1 - 2**53, 2**53 - 1), (0, 1, coins.mask)):
        [noisy] = s.add(np.array([float(steps)]), np.array([0]), np.array([above]), 0, coins.digits)
        assert noisy == float(steps + above)


@pytest.mark.parametrize(("scale", "k"), [(2.0**46, 0), (2.0**-8, 0), (2.0**60, 0), (2.0**-990, -1011), (1.0, 1011)])
def test_scales_that_do_not_fit_the_lattice_are_refused(scale: float, k: int) -> None:
    with pytest.raises(BadInput, match="Nothing was drawn"):
        s.add_laplace(np.zeros(3), scale, k)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("kind", "far"), [("f2", 6e4), ("f4", 3e38), ("i8", -(2**63)), ("u8", 2**63), ("?", True), ("g", 1e200)]
)
def test_numbers_of_every_kind_are_taken_at_their_value(kind: str, far: float) -> None:
    values = np.array([0, 1, far], kind)
    noisy = s.add_laplace(values, 2.0**-100, -140)
    assert noisy.dtype == np.float64
    assert abs(noisy - values.astype(float)).max() < 2.0**-90  # beyond it: e^-1000


def test_many_numbers_are_drawn_in_parts() -> None:
    assert np.unique(s.add_laplace(np.zeros((3, s.BLOCK)), 1.0, -40)).size == 3 * s.BLOCK  # two agree: 1e-5 at most


def test_a_generator_that_fails_means_no_draw() -> None:
    with pytest.raises(GeneratorFailed, match="Nothing was drawn"):
        s.add_laplace(np.zeros(3), 1.0, -40, source=lambda count: b"")

    def broken(count: int) -> bytes:
        raise OSError("no entropy")

    with pytest.raises(GeneratorFailed, match="OSError"):
        s.add_laplace(np.zeros(3), 1.0, -40, source=broken)


def test_forked_processes_draw_other_numbers() -> None:
    s.add_laplace(np.zeros(8), 1.0, -40)  # so that the parent's generator has a state to inherit
    context = multiprocessing.get_context("fork")
    drawn = [context.SimpleQueue() for _ in range(4)]
    children = [context.Process(target=put_draws, args=(queue,)) for queue in drawn]
    for child in children:
        child.start()
    numbers = [x for queue in drawn for x in queue.get()] + s.add_laplace(np.zeros(8), 1.0, -40).tolist()
    for child in children:
        child.join()
    assert len(set(numbers)) == 40  # two of them agree by chance at a rate of 1e-9


def put_draws(queue: Any) -> None:
    queue.put(s.add_laplace(np.zeros(8), 1.0, -40).tolist())
