"""Where noise comes from: one exact sampler for releases, a seeded generator for simulations that say so.

A draw is round((x + scale Z) / step) step, where Z is a *real* Gaussian or Laplace number of which as many bits are
drawn as the rounding needs. Rounding is post-processing: what is promised is what the real mechanism promises,
sensitivity / scale, and no rounding of floating-point numbers leaks. Nearly all draws are decided in floating point, by
whole arrays; those within a margin of the border between two steps are decided by ball arithmetic (real_draws.py). None
can be seeded. Proof: docs/proofs/noise.md. Haney, Desfontaines, Hartman, Shrestha and Hay (2022) refine draws this way.

Z   its sign, and its size by U and V, uniform on (0, 1): two words of a sign and 127 bits each, then more bits
S   scale in steps          x   high + low steps, high a whole number
t   low + S Z, computed     the draw is high + round(t)
"""

from __future__ import annotations

import math
import operator
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, positive, type_and_shape
from tacit.privacy.random_words import Bytes, random_bytes, random_words
from tacit.privacy.real_draws import BITS, GAUSSIAN, LAPLACE, TOP, Law, round_draws
from tacit.privacy.weighted_choice import draw_index, flush

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
FINENESS = 20  # a step is 2^-20 of the scale, or finer, but for whole numbers not finer than 1
SMALLEST, LARGEST = 1e-290, 1e290  # scales whose steps lie well within the floats
LARGEST_OF_ARRAY, WIDEST = 2.0**58, 1 << 62  # of scales and values: 64 bits hold every sum within 16 scales
MARGIN = 2.0**-42  # of S Z, in scales: above what its computation and the bits not drawn can change
ROUNDING = 2.0**-30  # of a low part, in steps: far above what it can be
SIGN, ALL = 1 << BITS, 1 << 127  # 127 bits of U are in its first two words, below the sign
FINITE = "values must be finite; at least one is not. Nothing was drawn"
BLOCK = 32768  # numbers at a time: what they need stays in the cache


class Source(Protocol):
    """Adds noise to values, or picks the largest of noisy scores."""

    simulated: bool

    def gaussian(self, values: Array, scale: float) -> Array: ...
    def gaussian_whole(self, value: int, scale: float) -> int: ...
    def gaussian_whole_array(self, values: Integers, scale: float) -> Integers: ...
    def laplace(self, values: Array, scale: float) -> Array: ...
    def gumbel_argmax(self, scores: Array, scale: float) -> int: ...


@dataclass(frozen=True, slots=True)
class Grid:
    """The steps 2^e on which noise of one scale is drawn, and what follows from them."""

    e: int
    step: float  # 2^e
    per_step: float  # 2^-e
    S: float
    inside: float  # draws that are further than this from a whole number are not decided in floating point
    most: float  # the largest value whose number of steps is a float
    least: float  # what is nearer to 0 counts as 0 in floating point: at most 2^-34 steps, within the margin

    def exact_low(self, x: float, high: float) -> Fraction:
        """x in steps, less high, without rounding."""
        return Fraction(x) * Fraction(2) ** -self.e - int(high)


@lru_cache(maxsize=1024)
def make_grid(scale: float, *, whole: bool = False) -> Grid:
    """Steps of 2^-20 to 2^-21 scales, for whole numbers not below 1, or BadInput."""
    e = math.frexp(check_scale(scale))[1] - 1 - FINENESS
    e = max(e, 0) if whole else e
    S = math.ldexp(scale, -e)
    most, least = math.ldexp(sys.float_info.max, min(e, 0)), math.ldexp(1.0, max(e - 60, -1022))
    return Grid(e, 2.0**e, 2.0**-e, S, 0.5 - (MARGIN * S + ROUNDING), most, least)


def check_scale(scale: float) -> float:
    """The scale, or BadInput."""
    number = positive("scale", scale)
    if not SMALLEST <= number <= LARGEST:
        raise BadInput(f"scale must be between 1e-290 and 1e290, got scale={number:g}; change the unit of the values")
    return number


class Exact:
    """For everything that is released: real Gaussian or Laplace noise, rounded, and choices by one draw by weights.

    Guarantee. That of the real mechanism: mu = sensitivity / scale in the L2 norm for Gaussian noise, epsilon =
    sensitivity / scale in the L1 norm for Laplace noise. Floating point included; docs/proofs/noise.md.
    Edges. Scales are between 1e-290 and 1e290, for arrays of whole numbers at most 2^58. Values are finite. Floats are
    rounded to a step of 2^-20 to 2^-21 scales, whole numbers to such a step or to 1. Values beyond the largest float's
    number of steps, and whole numbers of arrays beyond 2^62, count as that: a public bound that moves no two values
    further apart. Noise is rounded together with the value: noise on 0 that is added to a value afterwards would show
    which values the step divides.
    """

    simulated = False
    _bytes: Bytes | None = None  # where random bytes come from, in tests

    def gaussian(self, values: ArrayLike, scale: float) -> Array:
        return self._add(GAUSSIAN, values, make_grid(scale))

    def laplace(self, values: ArrayLike, scale: float) -> Array:
        return self._add(LAPLACE, values, make_grid(scale))

    def gaussian_whole(self, value: int, scale: float) -> int:
        grid, value = make_grid(scale, whole=True), operator.index(value)
        one = 1 << grid.e
        low = value & (one - 1)
        return ((value >> grid.e) + self._round_one(GAUSSIAN, low / one, grid, lambda: Fraction(low, one))) << grid.e

    def gaussian_whole_array(self, values: Integers, scale: float) -> Integers:
        grid, array = make_grid(scale, whole=True), np.asarray(values)
        if scale > LARGEST_OF_ARRAY:
            raise BadInput(f"scale must be at most 2^58 for an array of whole numbers, got scale={scale:g}")
        if not np.can_cast(array.dtype, np.int64):
            raise BadInput(f"whole numbers must be of 64 bits with a sign, got {type_and_shape(array)}")
        noisy = _in_pairs(array, np.int64)
        for part in _blocks(noisy):
            np.clip(part, -WIDEST, WIDEST, out=part)
            low = np.asarray(part & ((1 << grid.e) - 1), float)
            low *= grid.per_step  # exact: below 2^53
            part >>= grid.e
            part += self._round_all(GAUSSIAN, low, grid, lambda i, low=low: Fraction(low[i])).astype(np.int64)  # type: ignore[misc]
            part <<= grid.e
        return noisy[: array.size].reshape(array.shape)

    def gumbel_argmax(self, scores: Array, scale: float) -> int:
        return draw_index(scores, scale)

    def _add(self, law: Law, values: ArrayLike, grid: Grid) -> Array:
        """The values, rounded to steps together with noise on them."""
        array = np.asarray(values, float)
        if array.size == 1:
            return np.array(self._add_one(law, array.item(), grid)).reshape(array.shape)
        if not np.isfinite(array).all():
            raise BadInput(FINITE)
        noisy = _in_pairs(array, np.float64)
        for part in _blocks(noisy):
            np.clip(part, -grid.most, grid.most, out=part)
            low = flush(part, grid.least)
            low *= grid.per_step
            high = np.rint(low)
            low -= high

            def exact(i: int, part: Array = part, high: Array = high) -> Fraction:
                return grid.exact_low(float(part[i]), float(high[i]))

            high += self._round_all(law, low, grid, exact)  # the float that is nearest to this number of steps
            np.multiply(high, grid.step, out=part)
        return noisy[: array.size].reshape(array.shape)

    def _add_one(self, law: Law, x: float, grid: Grid) -> float:
        if not math.isfinite(x):
            raise BadInput(FINITE)
        x = min(max(x, -grid.most), grid.most)
        steps = x * grid.per_step if abs(x) >= grid.least else 0.0
        high = float(round(steps))
        return (high + self._round_one(law, steps - high, grid, lambda: grid.exact_low(x, high))) * grid.step

    def _round_all(self, law: Law, low: Array, grid: Grid, exact: Callable[[int], Fraction]) -> Array:
        """round(low + S Z) for an even count of numbers, as floats; ``exact`` answers the low part without rounding.

        Numbers i and i + half are a pair: their sizes are made of the same U and V.
        """
        half = low.size // 2
        words = random_words(2 * low.size, self._bytes).reshape(2, 2, half)
        first = (words[0] & np.uint64(TOP)).view(np.int64)
        rest = (words[1] >> np.uint64(11) | np.uint64(1)).view(np.int64) * 2.0**-53  # never 0
        t = law.sizes(first, rest)
        np.copysign(t, words[0].view(np.float64), out=t)
        t *= grid.S
        t += low.reshape(2, half)
        k: Array = np.rint(t)
        t -= k
        undecided = np.abs(t, out=t) > grid.inside
        undecided |= first == 0
        for i in np.flatnonzero(undecided.any(axis=0)).tolist():
            pair, further = words[:, :, i].tolist()
            k[:, i] = self._refine(law, pair, further, [exact(i), exact(i + half)], grid.S)
        return k.ravel()

    def _round_one(self, law: Law, low: float, grid: Grid, exact: Callable[[], Fraction]) -> int:
        """The same for one number, without the cost of arrays."""
        u, v, *rest = struct.unpack("=4Q", random_bytes(32, self._bytes))
        if u & TOP and v & TOP:
            U, V = ((first & TOP) << 64 | more for first, more in zip((u, v), rest, strict=True))
            size = law.first(U / ALL, (ALL - U) / ALL, V / ALL)
            t = low + math.copysign(size, -1 if u & SIGN else 1) * grid.S
            k = round(t)
            if abs(t - k) <= grid.inside:
                return k
        return self._refine(law, [u, v], rest, [exact()], grid.S)[0]

    def _refine(self, law: Law, words: list[int], rest: list[int], low: list[Fraction], S: float) -> list[int]:
        """The same for a pair, or the first of one, by ball arithmetic and as many further bits as it takes."""
        return round_draws(
            law,
            bits=[(word & TOP) << 64 | more for word, more in zip(words, rest, strict=True)],
            known=BITS + 64,
            add=low,
            scales=[-S if word & SIGN else S for word in words],
            more=lambda: int.from_bytes(random_bytes(8, self._bytes), sys.byteorder),
        )

    def __repr__(self) -> str:
        return "Exact()"


def _in_pairs(values: NDArray[Any], kind: type[Any]) -> NDArray[Any]:
    """A flat copy, with a 0 behind an odd count."""
    flat = np.zeros(values.size + values.size % 2, kind)
    flat[: values.size] = values.ravel()
    return flat


def _blocks(flat: NDArray[Any]) -> list[NDArray[Any]]:
    return [flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK)]


class Simulation:
    """Seeded NumPy noise for tests and experiments. Whatever it touches is stamped *simulated, no guarantee*."""

    simulated = True

    def __init__(self, seed: int | np.random.Generator) -> None:
        self.generator = np.random.default_rng(seed)

    def gaussian(self, values: Array, scale: float) -> Array:
        return values + self.generator.normal(0.0, scale, values.shape)

    def gaussian_whole(self, value: int, scale: float) -> int:
        return int(value) + round(self.generator.normal(0.0, scale))

    def gaussian_whole_array(self, values: Integers, scale: float) -> Integers:
        return values + np.rint(self.generator.normal(0.0, scale, values.shape)).astype(np.int64)

    def laplace(self, values: Array, scale: float) -> Array:
        return values + self.generator.laplace(0.0, scale, values.shape)

    def gumbel_argmax(self, scores: Array, scale: float) -> int:
        return int(np.argmax(scores + self.generator.gumbel(0.0, scale, scores.shape)))

    def __repr__(self) -> str:
        return "Simulation()"


EXACT = Exact()


def load_samplers() -> None:
    """Load ball arithmetic. It takes a moment, and so is done before a draw is claimed."""
    import flint  # noqa: F401
