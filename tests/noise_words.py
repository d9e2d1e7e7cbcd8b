"""Random words that a test chooses, for the exact sampler, and what a draw by them must be, by another library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise import Exact

mp = mpmath.mp.clone()
mp.prec = 400


class Chosen(Exact):
    """Draws by the given words, in the order in which they are asked for, and counts the pairs that were refined.

    The pairs that are refined draw their ``further`` words, one list for each in turn, and then halves.
    """

    def __init__(self, words: Iterable[int] | NDArray[np.uint64], further: Iterable[Sequence[int]] = ()) -> None:
        self.left, self.further, self.refined = list(words), iter(further), 0

    def _bytes(self, count: int) -> bytes:  # type: ignore[override]
        given, self.left = self.left[: count // 8], self.left[count // 8 :]
        return np.array(given, np.uint64).tobytes()

    def _refine(self, *arguments: Any) -> list[int]:
        self.refined += 1
        left, self.left = self.left, [*next(self.further, []), *[1 << 63] * 8]
        try:
            return super()._refine(*arguments)
        finally:
            self.unused, self.left = len(self.left) - 8, left


@dataclass(frozen=True)
class Pair:
    """The first 127 bits of U and of V, and the signs of both draws (1 is negative)."""

    bits: tuple[int, int]
    signs: tuple[int, int] = (0, 0)

    @property
    def words(self) -> list[int]:
        """The first words of U and V, then the second ones."""
        first = [sign << 63 | b >> 64 for b, sign in zip(self.bits, self.signs, strict=True)]
        return first + [b & ((1 << 64) - 1) for b in self.bits]

    def draw(self, law: str, steps: Sequence[Fraction], S: Fraction) -> list[int]:
        """round(steps + S Z), in whole numbers and fractions, by the middle of what 127 bits leave open."""
        sizes = pair_of_sizes(law, *(Fraction(2 * b + 1, 1 << 128) for b in self.bits))
        return [
            int((x + S * z * (-1) ** sign + Fraction(1, 2)).__floor__())
            for x, z, sign in zip(steps, sizes, self.signs, strict=False)
        ]


def chosen(*pairs: Pair) -> Chosen:
    """Draws an array by these pairs: the first words of U of all, of V of all, then the second ones."""
    return Chosen([p.words[j] for j in range(4) for p in pairs])


def pair_of_sizes(law: str, u: Fraction, v: Fraction) -> tuple[Fraction, Fraction]:
    """The sizes that two uniform numbers make, to 400 bits; the Gaussian ones by Box and Muller's own formula."""
    x, y = (mp.mpf(w.numerator) / w.denominator for w in (u, v))
    if law == "laplace":
        return as_fraction(-mp.log(x)), as_fraction(-mp.log(y))
    radius, angle = mp.sqrt(-2 * mp.log(x)), y * mp.pi / 2
    return as_fraction(radius * mp.cos(angle)), as_fraction(radius * mp.sin(angle))


def place(law: str, z: Fraction, v: Fraction) -> Fraction:
    """U where the first size is z; V is given."""
    x = mp.mpf(z.numerator) / z.denominator
    if law == "laplace":
        return as_fraction(mp.exp(-x))
    angle = mp.mpf(v.numerator) / v.denominator * mp.pi / 2
    return as_fraction(mp.exp(-((x / mp.cos(angle)) ** 2) / 2))


def as_fraction(x: Any) -> Fraction:
    sign, mantissa, exponent, _ = x._mpf_
    return (-1) ** sign * int(mantissa) * Fraction(2) ** exponent
