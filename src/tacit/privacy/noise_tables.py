"""Tables from which whole-number noise is drawn by a look-up, with a proved distance from the law they stand for.

A table has 2^bits cells, and 2^(128 - bits) thresholds in each: a draw takes 128 random bits, of which some choose a
cell and the others one of the two outcomes in it (Walker 1977; Vose 1991). So every probability is a multiple of
2^-128. Each is rounded down, and what is then missing is added to the outcome 0: the distance in total variation is
exactly what was added. All of it is arithmetic on integers; no probability passes through a floating-point number.

s^2    square of the scale of a discrete Gaussian, rational      UNIT   2^192, what stands for 1 in the weights
rho    exp(-x^2 / (2 s^2))                                       ulp    1 / UNIT
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.branchless import choose

WORD, DRAW = 64, 128  # bits of a word, and of a draw
UNIT = 1 << 192
TAIL = 11  # a table reaches this many scales to each side: what lies beyond has probability 2^-91
_DIGITS = Context(prec=100)


@dataclass(frozen=True, eq=False)
class NoiseTable:
    """Outcomes first, first + 1, ..., one for each of 2^bits cells.

    ``high`` holds the upper bits of a cell's threshold, then the number of its other outcome; ``low`` the lower 64.
    ``distance`` bounds the total variation between what is drawn and the law.
    """

    bits: int
    first: int
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    distance: Fraction

    def draw(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Numbers of outcomes, shape (n,), from words of shape (2, n); add ``first``. No branch depends on a draw."""
        upper, lower = words
        bits, cells = np.uint64(self.bits), np.uint64((1 << self.bits) - 1)
        cell = upper & cells
        index = cell.view(np.int64)
        other = self.high.take(index, mode="clip")  # an index is never out of range: "clip" spares the check
        threshold = other >> bits
        other &= cells
        drawn = upper >> bits
        own = lower < self.low.take(index, mode="clip")
        own &= drawn == threshold
        own |= drawn < threshold
        return choose(own, cell, other).view(np.int64)


def gaussian_table(square: Fraction) -> NoiseTable:
    """The discrete Gaussian on the integers, P(x) in proportion to exp(-x^2 / (2 square))."""
    bits = 2
    while ((1 << (bits - 1)) - 1) ** 2 < TAIL**2 * square:
        bits += 1
    last = (1 << (bits - 1)) - 1  # outcomes -last to last; cell 0 is left empty
    ratio, factor = _exp(-1 / (2 * square)), _exp(-1 / square)
    rho = [UNIT]
    for _ in range(last + 1):  # rho(x + 1) = rho(x) ratio(x), ratio(x + 1) = ratio(x) factor, each rounded down
        rho.append(rho[-1] * ratio // UNIT)
        ratio = ratio * factor // UNIT
    # Errors in ulp: ratio(x) at most 4 x + 3, rho(x) at most 2 x (x + 1). Beyond last, a geometric series.
    beyond = rho.pop() + 2 * (last + 1) * (last + 2)
    slack = UNIT - ratio - 4 * (last + 2) - 3
    tail = -(-beyond * UNIT // slack)
    total = 2 * (sum(rho) + 2 * last * (last + 1) * (last + 2) // 3 + 1 + tail) - UNIT
    return _table(bits, -last - 1, [0, *rho[:0:-1], *rho], total)


def geometric_digit(rate: Fraction, bits: int) -> NoiseTable:
    """A digit 0 .. 2^bits - 1 with P(d) in proportion to exp(-rate d)."""
    ratio, weight = _exp(-rate), [UNIT]
    for _ in range((1 << bits) - 1):
        weight.append(weight[-1] * ratio // UNIT)
    # Errors in ulp: ratio at most 3, so weight(d) at most 4 d.
    return _table(bits, 0, weight, sum(weight) + 2 * len(weight) ** 2)


def _exp(power: Fraction) -> int:
    """exp(power) for a negative power, in ulp: never too large, too small by less than 3."""
    power = max(power, Fraction(-1000))  # below it the answer is 0 in either case
    exact = _DIGITS.exp(_DIGITS.divide(Decimal(power.numerator), Decimal(power.denominator)))
    return max(0, int(_DIGITS.multiply(exact, Decimal(UNIT))) - 1)  # exp is correctly rounded: 100 digits


def _table(bits: int, first: int, weights: list[int], total: int) -> NoiseTable:
    """From weights that are not too large, over a total that is not too small; outcome 0 gets what is missing."""
    shares = [(weight << DRAW) // total for weight in weights]
    missing = (1 << DRAW) - sum(shares)
    shares[-first] += missing
    cell = 1 << (DRAW - bits)
    other = list(range(1 << bits))
    small = [i for i, share in enumerate(shares) if share < cell]
    large = [i for i, share in enumerate(shares) if share >= cell]
    while small:  # fill up a cell that has room with the outcome of one that has too much
        i, j = small.pop(), large[-1]
        other[i] = j
        shares[j] -= cell - shares[i]
        if shares[j] < cell:
            small.append(large.pop())
    for j in large:  # exactly full: both outcomes of the cell are its own
        shares[j] = 0
    below = (1 << WORD) - 1
    high = np.array([(share >> WORD) << bits | o for share, o in zip(shares, other, strict=True)], np.uint64)
    low = np.array([share & below for share in shares], np.uint64)
    for table in (high, low):
        table.setflags(write=False)
    return NoiseTable(bits, first, high, low, Fraction(missing, 1 << DRAW))
