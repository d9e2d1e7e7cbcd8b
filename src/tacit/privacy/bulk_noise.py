"""Whole-number Gaussian and Laplace noise for arrays: a proved distance from the exact law, at the speed of NumPy.

A Gaussian of large scale is a sum X0 + k1 X1 + k2 X2 + ... of small ones from tables, with whole multipliers; a Laplace
number is made of independent digits and a side. Both are drawn on whole arrays without a branch that depends on a draw.
The proof is in docs/proofs/bulk-noise.md.

sigma   scale asked for                           s   scale of the table BASE
S       scale of the sum so far                   k   multiplier of the next table

Genise2020      Genise, Micciancio, Peikert, Walter: Improved discrete Gaussian and subgaussian analysis for lattices
Micciancio2017  Micciancio, Walter: Gaussian sampling over the integers: efficient, generic, constant-time
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput, count, positive, real
from tacit.privacy.noise_tables import TAIL, NoiseTable, gaussian_table, geometric_digit
from tacit.privacy.random_words import Bytes, random_words

Integers = NDArray[np.int64]
Shape = int | tuple[int, ...]

DISTANCE = 2.0**-85
"""Total variation between one number and the exact law, at most, whatever its scale."""

BASE = 736  # scale of the table of the lower parts: its 2^14 cells reach beyond TAIL scales and stay in the cache
TOP = ((1 << 14) - 1) // TAIL  # largest scale of a table made for one scale: 2^15 cells or fewer are quickly built
ETA = Fraction(81, 25)  # square of the least scale at which a convolution may be taken for a Gaussian: 1.8^2
RIPPLE = Fraction(1, 2**91)  # 2 (exp(-2 pi^2 1.8^2) + ...) / (1 - ...), rounded up: what one convolution may err
LARGEST = 2.0**57  # of a Gaussian scale: 64 bits hold every number that can be drawn
LARGEST_LAPLACE = 2.0**56
DIGIT = 12  # bits of a digit of a Laplace number
BLOCK = 16384  # numbers at a time: what they need stays in the cache


def gaussian_integers(scale: float, size: Shape, *, source: Bytes | None = None) -> Integers:
    """Numbers of the discrete Gaussian on the integers: P(x) in proportion to exp(-x^2 / (2 scale^2)).

    Guarantee. Together, ``n`` numbers are within ``distance(n)`` of exact ones in total variation; see ``extra_delta``.
    For guarantees that have no delta use the exact sampler (``tacit.privacy.noise.EXACT``).
    Follows. Micciancio2017 and Genise2020 on sums of discrete Gaussians; proof in docs/proofs/bulk-noise.md.
    Differs. The uppermost table is made for the scale, so that every scale is met, not one slightly larger.
    Edges. Scales up to 2^57. The first draw at a scale makes a table, in some milliseconds. Random bits are OpenSSL's;
    where it fails, GeneratorFailed.

    >>> noise = gaussian_integers(2.0**40, (1000, 3))
    >>> noise.shape, noise.dtype, bool(abs(noise).max() < 11 * 2**40)
    ((1000, 3), dtype('int64'), True)
    """
    return _fill(size, source, gaussian_parts(positive("scale", scale)).draw)


def laplace_integers(scale: float, size: Shape, *, source: Bytes | None = None) -> Integers:
    """Numbers of the discrete Laplace law on the integers: P(x) in proportion to exp(-abs(x) / scale).

    Guarantee. Together, ``n`` numbers are within ``distance(n)`` of exact ones in total variation: what was pure
    differential privacy becomes approximate, with a delta of ``extra_delta``.
    Edges. Scales from 2^-6 to 2^56.

    >>> laplace_integers(3.5, 4).shape
    (4,)
    """
    return _fill(size, source, laplace_parts(positive("scale", scale)).draw)


def distance(draws: int) -> float:
    """Total variation between ``draws`` numbers drawn here and exact ones, at most.

    Holds for numbers of any scales, drawn one after the other, each scale chosen after seeing the numbers before.

    >>> distance(10**9) < 1e-12
    True
    """
    return count("draws", draws, least=0) * DISTANCE


def extra_delta(epsilon: float, draws: int) -> float:
    """What ``draws`` numbers add to delta: (1 + e^epsilon) distance(draws).

    If a mechanism with exact noise is (epsilon, delta)-differentially private, the same with noise drawn here is
    (epsilon, delta + extra_delta(epsilon, draws)), ``draws`` being all the numbers it draws.

    >>> f"{extra_delta(1.0, 10**9):.1e}"
    '9.6e-17'
    """
    return (1 + math.exp(real("epsilon", epsilon))) * distance(draws)


@dataclass(frozen=True)
class GaussianParts:
    """A sum of multiplier x table, and how far its law is from the discrete Gaussian."""

    terms: tuple[tuple[int, NoiseTable], ...]
    distance: Fraction

    def draw(self, count: int, source: Bytes | None) -> Integers:
        """Shape (count,)."""
        total = np.full(count, sum(k * table.first for k, table in self.terms), np.int64)
        for k, table in self.terms:
            drawn = table.draw(_pairs(count, source))
            if k > 1:
                drawn *= k
            total += drawn
        return total


@dataclass(frozen=True)
class LaplaceParts:
    """The digits of a geometric number, least first, and the side of zero that it lies on."""

    digits: tuple[NoiseTable, ...]
    side: NoiseTable
    distance: Fraction

    def draw(self, count: int, source: Bytes | None) -> Integers:
        """Shape (count,)."""
        total = np.zeros(count, np.int64)
        for place, table in enumerate(self.digits):
            total += table.draw(_pairs(count, source)) << np.int64(DIGIT * place)
        total ^= -self.side.draw(_pairs(count, source))  # -1 - G where the side is 1
        return total


@lru_cache(maxsize=32)
def gaussian_parts(scale: float) -> GaussianParts:
    """The tables and multipliers for a scale; the distance is checked against DISTANCE."""
    if scale > LARGEST:
        raise BadInput(f"scale must be at most 2^57, got scale={scale:g}; use a coarser lattice. Nothing was drawn")
    square = Fraction(scale) ** 2
    terms: list[tuple[int, NoiseTable]] = []
    done, k = Fraction(0), 1  # S^2, and the multiplier of the next table
    last = scale <= TOP
    while not last:
        terms.append((k, base_table()))
        done += k * k * BASE * BASE
        left = square - done
        # The conditional scale s' must be at least 1.8; 1/s'^2 = k^2 sigma^2 / (S^2 (sigma^2 - S^2)) for a last table,
        k = math.isqrt(math.floor(done * left / (ETA * square)))
        last = left <= k * k * TOP * TOP
        if not last:  # and k^2 / S^2 + 1/s^2 for one that others follow, to which it leaves half of the variance
            k = math.isqrt(math.floor(min(done * (1 / ETA - Fraction(1, BASE**2)), left / (2 * BASE**2))))
    terms.append((k, gaussian_table((square - done) / (k * k))))
    error = sum((table.distance for _, table in terms), Fraction(0)) + (len(terms) - 1) * RIPPLE
    if error > Fraction(DISTANCE):
        raise AssertionError(f"tables for scale={scale!r} are not as near as is stated")
    return GaussianParts(tuple(terms), error)


@lru_cache(maxsize=1)
def base_table() -> NoiseTable:
    return gaussian_table(Fraction(BASE**2))


@lru_cache(maxsize=32)
def laplace_parts(scale: float) -> LaplaceParts:
    """The tables of the digits and of the side for a scale."""
    if not 2.0**-6 <= scale <= LARGEST_LAPLACE:
        raise BadInput(f"scale must be between 2^-6 and 2^56, got scale={scale:g}. Nothing was drawn")
    rate = 1 / Fraction(scale)
    places = -(-math.ceil(math.log2(64 * scale + 1)) // DIGIT)  # beyond 64 scales: probability exp(-64) < 2^-92
    digits = tuple(geometric_digit(rate * (1 << (DIGIT * place)), DIGIT) for place in range(places))
    side = geometric_digit(rate, 1)
    error = sum((table.distance for table in (side, *digits)), Fraction(1, 2**92))
    if error > Fraction(DISTANCE):
        raise AssertionError(f"tables for scale={scale!r} are not as near as is stated")
    return LaplaceParts(digits, side, error)


def _pairs(count: int, source: Bytes | None) -> NDArray[np.uint64]:
    return random_words(2 * count, source).reshape(2, count)


def _fill(size: Shape, source: Bytes | None, draw: Callable[[int, Bytes | None], Integers]) -> Integers:
    numbers = np.empty(size, np.int64)
    flat = numbers.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        part = flat[start : start + BLOCK]
        part[:] = draw(part.size, source)
    return numbers
