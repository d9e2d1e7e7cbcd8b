"""Random words that a test chooses, for the exact sampler, and what a draw by them must be, by another library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise import Exact

mp = mpmath.mp.clone()
mp.prec = 400


class Chosen(Exact):
    """Draws by the given words, in the order in which they are asked for, and counts what was refined."""

    def __init__(self, words: Iterable[int] | NDArray[np.uint64]) -> None:
        self.left = list(words)
        self.refined = 0

    def _bytes(self, count: int) -> bytes:  # type: ignore[override]
        given, self.left = self.left[: count // 8], self.left[count // 8 :]
        return np.array(given, np.uint64).tobytes()

    def _refine(self, *arguments: Any) -> int:
        self.refined += 1
        return super()._refine(*arguments)


def pairs(bits: Sequence[int], signs: Sequence[int] = ()) -> list[int]:
    """The words of an array whose numbers have these 127 bits and signs: all first words, then all second ones."""
    signs = signs or [0] * len(bits)
    return [s << 63 | b >> 64 for b, s in zip(bits, signs, strict=True)] + [b & ((1 << 64) - 1) for b in bits]


def quantile(law: str, u: Fraction) -> Fraction:
    """The quantile of the law at u / 2, to 400 bits."""
    x = mp.mpf(u.numerator) / u.denominator
    return as_fraction(mp.log(x) if law == "laplace" else -mp.sqrt(2) * mp.erfinv(1 - x))


def place(law: str, z: Fraction) -> Fraction:
    """U where the quantile is z, which is at most 0."""
    x = mp.mpf(z.numerator) / z.denominator
    return as_fraction(mp.exp(x) if law == "laplace" else mp.erfc(-x / mp.sqrt(2)))


def as_fraction(x: Any) -> Fraction:
    sign, mantissa, exponent, _ = x._mpf_
    return (-1) ** sign * int(mantissa) * Fraction(2) ** exponent


def draw_by(law: str, bits: int, sign: int, steps: Fraction, S: Fraction) -> int:
    """round(steps + S Z), in whole numbers and fractions, by the middle of what 127 bits leave open."""
    z = quantile(law, Fraction(2 * bits + 1, 1 << 128)) * (-1) ** sign
    return int((steps + S * z + Fraction(1, 2)).__floor__())
