"""Laplace noise of the exact law, drawn in a time that does not depend on it.

A number of the discrete Laplace law is a side and a geometric magnitude, and the binary digits of a geometric magnitude
are independent coins. All coins are tossed at once, each by comparing 128 random bits with a threshold. Where these
bits do not decide, which has probability 2^-128, further ones do, so that the law is exact and not nearly so; likewise
for magnitudes beyond 128 scales. Only then, with probability below 2^-122, does a draw take longer.
The proof is in docs/proofs/steady-laplace.md.

t   scale, in steps of the lattice        n   digits of the lower part        chance   1 / (odds + e^x), of one coin
L   lower part, 0 <= L < 2^n              B   blocks of 2^n above it          noise    B 2^n + L, or -1 - B 2^n - L
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput
from tacit.privacy.branchless import flush
from tacit.privacy.random_words import Bytes, Words, random_words

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Coin = tuple[Fraction, int]  # x and odds: heads with probability 1 / (odds + e^x)

WORDS, WORD = 2, 64  # of random bits for a coin
BEYOND = 7  # the lower part reaches 2^7 scales: what lies above has probability e^-128 at most
BLOCK = 1024  # numbers at a time: some 800 kB of random bits
MOST = float(np.finfo(float).max)
LEAST_POWER = -1010  # of a lattice's spacing 2^k: nothing that is computed is too small for the processor's quick path
LEAST, LARGEST = 2.0**-7, 2.0**46  # of the scale, in steps: one digit or more, and no more than a float's 53


@dataclass(frozen=True, eq=False)
class Coins:
    """One coin for each digit of the lower part, least first, then one for the side and one for another block.

    Thresholds are floor(2^128 chance), as words, the upper first; shape (2, coins, 1).
    """

    coins: tuple[Coin, ...]
    thresholds: Words
    places: Integers

    def toss(self, count: int, source: Bytes | None) -> NDArray[np.bool_]:
        """Heads or tails, shape (coins, count)."""
        upper, lower = random_words(WORDS * len(self.coins) * count, source).reshape(WORDS, len(self.coins), count)
        level, last = upper == self.thresholds[0], self.thresholds[1]
        heads: NDArray[np.bool_] = (upper < self.thresholds[0]) | (level & (lower < last))
        for place in np.flatnonzero(level & (lower == last)):
            row, column = divmod(int(place), count)
            heads[row, column] = flip(self.coins[row], source, known=WORDS)
        return heads

    def draw(self, count: int, source: Bytes | None = None) -> tuple[Integers, Integers]:
        """Noise as whole blocks of 2^n and what is above them, 0 <= above < 2^n; shapes (count,)."""
        heads = self.toss(count, source).astype(np.int64)
        blocks, side = heads[-1], -heads[-2]
        for column in np.flatnonzero(blocks):
            while flip(self.coins[-1], source):
                blocks[column] += 1
        low = self.places @ heads[:-2]
        return blocks ^ side, low ^ (side & self.mask)  # -1 - x has the bits of x turned

    @property
    def digits(self) -> int:
        return len(self.places)

    @property
    def mask(self) -> int:
        return (1 << self.digits) - 1


def add_laplace(values: Array, scale: float, k: int, *, source: Bytes | None = None) -> Array:
    """Values rounded to the nearest multiple of 2^k, plus noise there: P(x) in proportion to exp(-abs(x) / scale).

    Guarantee. The law is exact: pure epsilon, as in docs/proofs/additive-noise.md. But with probability below 2^-122 a
    number, how long a draw takes depends on how many values there are alone: docs/proofs/steady-laplace.md.
    Edges. Values are finite. Refused: 2^k beyond 2^-1010 and 2^1010, a scale below 2^-7 or from 2^46 steps on. What
    exceeds the largest float, in steps or noisy, counts as that. Where the generator fails, GeneratorFailed, and no
    value is given.

    >>> add_laplace(np.zeros((2, 3)), 1.0, -40).shape
    (2, 3)
    """
    if not (LEAST_POWER <= k <= -LEAST_POWER and LEAST <= math.ldexp(scale, -k) < LARGEST):
        raise BadInput(f"scale={scale:g} does not fit a lattice of 2^{k}. Nothing was drawn")
    coins = coins_of(math.ldexp(scale, -k))
    flat = np.asarray(values, np.float64).ravel()
    parts = [flat[i : i + BLOCK] for i in range(0, flat.size, BLOCK)]
    noisy = [add(part, *coins.draw(part.size, source), k, coins.digits) for part in parts]
    return np.concatenate([np.empty(0), *noisy]).reshape(np.shape(values))


def add(values: Array, blocks: Integers, above: Integers, k: int, digits: int) -> Array:
    """(steps + blocks 2^digits + above) 2^k as a float: a function of that sum alone, and the nearest below 2^100."""
    unit = 2.0**digits  # each product by a power of two is exact, and cut before it where it would be infinite
    steps = np.rint(flush(cut(values, MOST * 2.0 ** min(k, 0)), 2.0 ** (k - 2)) * 2.0**-k)
    high = np.floor(steps / unit)
    low = (steps - high * unit).astype(np.int64) + above  # both exact
    carried = high + (blocks + (low >> digits))  # near MOST / unit far less than what a float can tell is added
    noisy: Array = cut(carried * unit + (low & ((1 << digits) - 1)), MOST * 2.0 ** min(-k, 0)) * 2.0**k
    return noisy


def cut(values: Array, most: float) -> Array:
    """What is further from 0 than ``most`` becomes that."""
    within: Array = np.maximum(np.minimum(values, most), -most)
    return within


@lru_cache(maxsize=256)
def coins_of(t: float, digits: int | None = None) -> Coins:
    """The coins for a scale of ``t`` steps, taken at its exact value; made once, in some milliseconds."""
    rate = 1 / Fraction(t)
    n = math.frexp(t)[1] + BEYOND if digits is None else digits
    coins = (*((rate * 2**i, 1) for i in range(n)), (rate, 1), (rate * 2**n, 0))
    floors = [threshold(coin, WORDS) for coin in coins]
    words = [[floor >> WORD for floor in floors], [floor & ((1 << WORD) - 1) for floor in floors]]
    return Coins(coins, np.array(words, np.uint64)[:, :, None], 1 << np.arange(n, dtype=np.int64))


def flip(coin: Coin, source: Bytes | None = None, *, known: int = 0) -> bool:
    """One toss: a number between 0 and 1, of which ``known`` words are those of the chance, is below the chance."""
    while True:
        known += WORDS
        drawn = int.from_bytes(random_words(WORDS, source).astype(">u8").tobytes(), "big")
        own = threshold(coin, known) & ((1 << WORDS * WORD) - 1)
        if drawn != own:
            return drawn < own


def threshold(coin: Coin, words: int) -> int:
    """floor(2^(64 words) / (odds + e^x)), exactly, for 0 < x < 1000: digits are added until both bounds agree.

    They will: e^x is transcendental for rational x, so the quotient is no whole number.
    """
    x, odds = coin
    bits = WORD * words
    digits = bits // 3 + 30
    while True:
        context = Context(prec=digits)
        power = Fraction(context.exp(context.divide(Decimal(x.numerator), Decimal(x.denominator))))
        # Division and exp are rounded correctly: relative errors of 10^(1 - digits) in x, so x times that in e^x.
        error = Fraction(1, 10 ** (digits - 5))
        most, least = (int((1 << bits) / (odds + power * (1 + sign * error))) for sign in (-1, 1))
        if most == least:
            return least
        digits *= 2
