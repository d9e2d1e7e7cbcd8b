"""Noise in bulk: laws that hold by arithmetic, draws against the exact law and OpenDP's sampler, forks and failures.

Statistical tests fail by chance at the rate FALSE_ALARM each; there are fewer than forty of them.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bulk_parts import shares
from each import each
from numpy.typing import NDArray
from scipy import stats

from tacit.errors import BadInput, GeneratorFailed
from tacit.privacy import bulk_noise as bulk
from tacit.privacy.noise import whole_gaussian

FALSE_ALARM = 1e-7
SCALES = (0.4, 1.0, 5.5, 700.0, 1489.0, 1490.0, 5000.25, 2.0**20 + 0.3, 2.0**31, 2.0**40, 1.7 * 2.0**52)
Counts = NDArray[Any]


def p_of_chi_square(observed: Counts, expected: Counts) -> float:
    """The p-value, with cells that expect fewer than ten joined to one."""
    few = expected < 10
    o = np.append(observed[~few], observed[few].sum())
    e = np.append(expected[~few], expected[few].sum())
    if e[-1] < 10:
        o, e = np.append(o[:-2], o[-2:].sum()), np.append(e[:-2], e[-2:].sum())
    return float(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(o) - 1))


def normal_cells(numbers: Counts, scale: float, cells: int) -> Counts:
    """How many numbers lie in each of the cells of equal probability under a normal law."""
    return np.bincount((stats.norm.cdf(numbers / scale) * cells).astype(int), minlength=cells)


# What holds by arithmetic


@each("scale", [*SCALES, 1e-9, 1489.5, 1e6, 1e9, 3e9, 2.0**57])
def test_every_scale_is_met_exactly_and_within_the_stated_distance(scale: float) -> None:
    parts = bulk.gaussian_parts(scale)
    squares = [Fraction(bulk.BASE**2)] * (len(parts.terms) - 1)
    left = Fraction(scale) ** 2 - sum(k * k * s for (k, _), s in zip(parts.terms, squares, strict=False))
    squares.append(left / parts.terms[-1][0] ** 2)  # what the last table stands for; its own test compares the weights
    assert squares[-1] > 0
    assert len(parts.terms) == 1 or squares[-1] <= bulk.TOP**2
    done = squares[0]
    for (k, _), square in zip(parts.terms[1:], squares[1:], strict=True):
        assert 1 / (1 / square + k * k / done) >= bulk.ETA
        done += k * k * square
    assert done == Fraction(scale) ** 2
    assert parts.distance == sum(table.distance for _, table in parts.terms) + (len(parts.terms) - 1) * bulk.RIPPLE
    assert parts.distance <= Fraction(bulk.DISTANCE)
    assert sum(k << table.bits for k, table in parts.terms) < 2**63  # no sum can overflow


def test_the_distance_of_a_billion_numbers_is_far_below_any_delta() -> None:
    assert bulk.distance(0) == 0
    assert bulk.distance(10**9) == 10**9 * 2.0**-85 < 1e-16


def test_what_is_added_to_delta_covers_every_event() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        moved = 0.01 * rng.random()
        near = [(1 - moved) * law + moved * rng.dirichlet(np.full(6, 0.1)) for law in (p, q)]  # within `moved` of each
        epsilon = 2 * rng.random()

        def delta(one: Counts, other: Counts, epsilon: float = epsilon) -> float:
            return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())

        factor = bulk.extra_delta(epsilon, 1) / bulk.distance(1)
        assert delta(*near) <= delta(p, q) + factor * moved + 1e-12


def test_the_law_of_a_sum_of_two_tables_is_the_discrete_gaussian() -> None:
    mpmath = pytest.importorskip("mpmath")
    scale = 1600.5
    parts = bulk.gaussian_parts(scale)
    (_, low), (k, high) = parts.terms
    p, q = (dict(zip(range(t.first, -t.first), shares(t), strict=True)) for t in (low, high))
    with mpmath.workdps(60):
        square = mpmath.mpf(scale) ** 2
        total = 1 + 2 * mpmath.fsum(mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * square)) for x in range(1, 20 * int(scale)))
        for x in (0, 1, 2, 77, 408, 5000, -5001, 11000):
            exact = mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * square)) / total
            drawn = mpmath.mpf(sum(q[j] * p.get(x - k * j, 0) for j in q)) / 2**256
            assert abs(drawn - exact) <= parts.distance.numerator / mpmath.mpf(parts.distance.denominator)


def test_one_convolution_errs_by_no_more_than_is_charged() -> None:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        ripple = 2 * mpmath.fsum(mpmath.exp(-2 * mpmath.pi**2 * m * m * 81 / 25) for m in range(1, 9))
        assert ripple / (1 - ripple) <= mpmath.mpf(bulk.RIPPLE.numerator) / bulk.RIPPLE.denominator
        places = (mpmath.mpf(0), mpmath.mpf(1) / 4, mpmath.mpf(1) / 2)
        sums = [mpmath.fsum(mpmath.exp(-((j - y) ** 2) * 25 / 162) for j in range(-40, 41)) for y in places]
        assert ripple * 0.999 < sums[0] / sums[1] - 1 < ripple * 1.001  # the bound is met, above at a whole number,
        assert -ripple * 1.001 < sums[2] / sums[1] - 1 < -ripple * 0.999  # and below half-way between two


@each("scale", [2.0**-6, 0.3, 2.5, 1e4, 2.0**40, 2.0**56])
def test_laplace_digits_hold_every_number_and_the_stated_distance(scale: float) -> None:
    parts = bulk.laplace_parts(scale)
    tops = [max(digit for digit, share in enumerate(shares(table)) if share) for table in parts.digits]
    largest = sum(digit << (bulk.DIGIT * place) for place, digit in enumerate(tops))
    assert largest < 2**63
    assert 1 << (bulk.DIGIT * len(parts.digits)) >= 64 * scale
    assert parts.distance > sum(table.distance for table in (parts.side, *parts.digits))  # and what lies beyond
    assert parts.distance <= Fraction(bulk.DISTANCE)


# Draws against the law


@each("scale", SCALES[:7])
def test_draws_follow_the_exact_probabilities(scale: float) -> None:
    n = 400_000
    x = np.arange(-int(9 * scale) - 2, int(9 * scale) + 3)
    p = np.exp(-((x / scale) ** 2) / 2)
    drawn = bulk.gaussian_integers(scale, n)
    assert abs(drawn).max() <= x[-1]
    width = max(1, int(scale / 40))  # cells of several outcomes where there are many
    cell = (np.arange(len(x))) // width
    observed = np.bincount(cell[drawn - x[0]], minlength=cell[-1] + 1)
    assert p_of_chi_square(observed, n * np.bincount(cell, p / p.sum())) > FALSE_ALARM


@each("scale", SCALES[6:])
def test_large_draws_fill_cells_and_residues_evenly(scale: float) -> None:
    n = 400_000
    drawn = bulk.gaussian_integers(scale, n)
    cells = normal_cells(drawn + np.random.default_rng(0).random(n) - 0.5, scale, 256)
    assert p_of_chi_square(cells, np.full(256, n / 256)) > FALSE_ALARM
    for modulus in (2, 256, 408, 736):  # the lowest part alone decides these
        assert p_of_chi_square(np.bincount(drawn % modulus), np.full(modulus, n / modulus)) > FALSE_ALARM


@each("scale", [1.0, 700.0, 1490.0, 2.0**40])
def test_moments_are_those_of_the_law(scale: float) -> None:
    n = 400_000
    z = bulk.gaussian_integers(scale, n) / scale
    bound = stats.norm.isf(FALSE_ALARM / 2)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert abs((z**power).mean() - mean) < bound * math.sqrt(variance / n)


@each("scale", [3.7, 2.0**40])
def test_draws_agree_with_those_of_opendp(scale: float) -> None:
    n = 8000
    sampler = whole_gaussian(scale)
    theirs = np.array([sampler(0) for _ in range(n)])
    ours = bulk.gaussian_integers(scale, n)
    assert stats.ks_2samp(ours, theirs).pvalue > FALSE_ALARM  # ties only make it more careful


@each("scale", [0.4, 3.0, 1e4, 2.0**40])
def test_laplace_draws_follow_the_law(scale: float) -> None:
    n = 400_000
    drawn = bulk.laplace_integers(scale, n)
    q = math.exp(-1 / scale)
    if scale < 10:
        x = np.arange(-200, 201)
        p = (1 - q) / (1 + q) * q ** np.abs(x)
        assert p_of_chi_square(np.bincount(drawn + 200, minlength=401), n * p) > FALSE_ALARM
    else:
        smooth = drawn + np.random.default_rng(0).random(n) - 0.5
        cells = np.bincount((stats.laplace.cdf(smooth / scale) * 256).astype(int), minlength=256)
        assert p_of_chi_square(cells, np.full(256, n / 256)) > FALSE_ALARM
        assert p_of_chi_square(np.bincount(drawn % 64), np.full(64, n / 64)) > FALSE_ALARM


@each("scale", [5.5, 2.0**40])
def test_neighbours_are_independent(scale: float) -> None:
    n = 1 << 19  # many blocks
    z = bulk.gaussian_integers(scale, n) / scale
    bound = stats.norm.isf(FALSE_ALARM / 2)
    for lag in (1, 2, 3, bulk.BLOCK, bulk.BLOCK // 2):
        assert abs((z[lag:] * z[:-lag]).mean()) < bound / math.sqrt(n - lag)
        assert abs(((z[lag:] ** 2 - 1) * (z[:-lag] ** 2 - 1)).mean()) < bound * 2 / math.sqrt(n - lag)
    cell = (stats.norm.cdf(z[: n // 2 * 2]) * 16).astype(int)
    pairs = np.bincount(16 * cell[::2] + cell[1::2], minlength=256).reshape(16, 16)
    expected = pairs.sum(1, keepdims=True) * pairs.sum(0, keepdims=True) / pairs.sum()
    with np.errstate(invalid="ignore"):
        statistic = np.nansum((pairs - expected) ** 2 / expected)
    assert stats.chi2.sf(statistic, 225) > FALSE_ALARM


@pytest.mark.slow
def test_tails_are_those_of_the_law_to_six_scales() -> None:
    n, block, scale = 10**8, 10**6, 2.0**40
    places = np.array([2.0, 3.0, 4.0, 4.5, 5.0, 5.5, 6.0])
    beyond = np.zeros((2, len(places)), int)
    for _ in range(n // block):
        z = bulk.gaussian_integers(scale, block) / scale
        for side, signed in enumerate((z, -z)):
            beyond[side] += [(signed > place).sum() for place in places]
    p = stats.norm.sf(places)
    for counts in beyond:
        for found, tail in zip(counts, p, strict=True):
            assert min(stats.binom.cdf(found, n, tail), stats.binom.sf(found - 1, n, tail)) > FALSE_ALARM / 2


# The generator


def test_forked_processes_draw_other_numbers() -> None:
    bulk.gaussian_integers(2.0**40, 8)  # so that the parent's generator has a state to inherit
    context = multiprocessing.get_context("fork")
    drawn = [context.SimpleQueue() for _ in range(6)]
    children = [context.Process(target=put_draws, args=(queue,)) for queue in drawn]
    for child in children:
        child.start()
    numbers = [tuple(queue.get()) for queue in drawn] + [tuple(bulk.gaussian_integers(2.0**40, 8))]
    for child in children:
        child.join()
    flat = [x for row in numbers for x in row]
    assert len(set(flat)) == len(flat)  # two of 56 such numbers agree by chance at a rate of 1e-9


def put_draws(queue: Any) -> None:
    queue.put(bulk.gaussian_integers(2.0**40, 8).tolist())


def test_a_forked_process_adds_a_seed_of_its_own_before_it_draws() -> None:
    from tacit.privacy import random_words as words

    words.random_words(1)
    read, write = os.pipe()
    if not (child := os.fork()):
        before = words._copied
        words.random_words(1)
        os.write(write, bytes([before, words._copied]))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 2) == bytes([True, False])
    assert not words._copied
    os.close(read), os.close(write)


def test_so_does_one_that_was_forked_before_the_first_draw() -> None:
    code = (
        "import os, ssl; from tacit.privacy import random_words as w\n"
        "ssl.RAND_bytes(8)  # something else has used the generator\n"
        "if child := os.fork(): os.waitpid(child, 0); print(w._copied)\n"
        "else:\n"
        "    seeds, draw = [], w._generator()[0]\n"
        "    w._generator = lambda: (draw, seeds.append)\n"
        "    w.random_words(1), w.random_words(1)\n"
        "    print(*map(len, seeds), flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["48", "False"]


def test_threads_draw_other_numbers() -> None:
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda _: bulk.gaussian_integers(2.0**56, 500), range(32)))
    assert len(np.unique(np.concatenate(rows))) == 32 * 500  # two of 16,000 agree by chance at a rate of 1e-9


def test_no_number_is_drawn_when_the_generator_of_the_system_fails(tmp_path: Path) -> None:
    settings = tmp_path / "openssl.cnf"
    settings.write_text("openssl_conf = init\n[init]\nrandom = generator\n[generator]\nrandom = NO-SUCH-GENERATOR\n")
    code = (
        "import ssl, tacit.errors as e\nfrom tacit.privacy.bulk_noise import gaussian_integers\n"
        "try: ssl.RAND_bytes(8); print('the generator works')\nexcept ssl.SSLError: pass\n"
        "try: gaussian_integers(10.0, 4); print('drawn')\nexcept e.GeneratorFailed as error: print(error)"
    )
    environment = {**os.environ, "OPENSSL_CONF": str(settings)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    if "the generator works" in done.stdout:
        pytest.skip("this OpenSSL reads no settings, so its generator cannot be made to fail")
    assert "Nothing was drawn" in done.stdout


def test_a_python_without_openssl_asks_the_system() -> None:
    code = (
        "import sys; sys.modules['ssl'] = None\nfrom tacit.privacy import random_words as w, bulk_noise as b\n"
        "print(len(set(b.gaussian_integers(2.0**50, 1000).tolist())), w._generator()[0].__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1000", "urandom"]


def test_a_generator_that_fails_later_or_gives_too_few_bytes_is_refused() -> None:
    calls = []

    def tired(count: int) -> bytes:
        calls.append(count)
        if len(calls) == 3:
            raise OSError("no more")
        return os.urandom(count)

    with pytest.raises(GeneratorFailed, match="OSError"):
        bulk.gaussian_integers(10.0, 5 * bulk.BLOCK, source=tired)
    assert len(calls) == 3
    with pytest.raises(GeneratorFailed, match="bytes of"):
        bulk.gaussian_integers(10.0, 4, source=lambda count: os.urandom(count - 1))


@each("scale", [0.0, -1.0, math.nan, math.inf, 2.0**58])
def test_scales_out_of_range_are_refused(scale: float) -> None:
    with pytest.raises(BadInput, match="scale must be"):
        bulk.gaussian_integers(scale, 3)
    with pytest.raises(BadInput, match="scale must be"):
        bulk.laplace_integers(scale, 3)


def test_shapes_are_those_asked_for() -> None:
    assert bulk.gaussian_integers(3.0, 0).shape == (0,)
    assert bulk.gaussian_integers(3.0, (3, 0, 2)).shape == (3, 0, 2)
    assert bulk.laplace_integers(3.0, (2, bulk.BLOCK + 1)).shape == (2, bulk.BLOCK + 1)
