"""Pairs of real numbers of the Gaussian and the Laplace law: in floating point, and as balls where that leaves doubt.

Signs are drawn elsewhere; here are the sizes of two numbers, each a function of two uniform ones. The Gaussian pair is
that of Box and Muller (1958) in one quadrant, turned by an eighth: sizes R (cos a - sin a) and R (cos a + sin a). The
arithmetic of whole arrays has no branch, so that its time does not depend on what is drawn.

U, V   uniform on (0, 1), bit by bit        R   sqrt(-log U)        a   (V - 1/2) pi / 2
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

BITS = 63  # of U and of V in the first words
TOP, UNIT = (1 << BITS) - 1, 2.0**-BITS
EXTRA = 64  # bits that are appended at a time
GUARD = 128  # bits of precision beyond those of U: numbers of steps are below 2^64
QUARTER = math.pi / 2
COSINE = tuple((-1) ** k / math.factorial(2 * k) for k in range(8))  # of Taylor, in a^2: the rest is below 2^-49
SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(8))  # times a


@dataclass(frozen=True)
class Law:
    """The sizes of two draws by U and V, in three arithmetics."""

    sizes: Callable[[Integers, Array], Array]  # of arrays (2, n): the first bits, and what follows them, in (0, 1)
    first: Callable[[float, float, float], float]  # of single numbers U, 1 - U and V: the first size
    balls: Callable[[Any, Any], tuple[Any, Any]]


def _join(first: Integers, rest: Array) -> Array:
    joined: Array = first + rest
    joined *= UNIT
    return joined


def _gaussian_sizes(first: Integers, rest: Array) -> Array:
    u, v = sizes = _join(first, rest)
    radius = _join(TOP - first[0], 1 - rest[0])  # 1 - U; less 1 - u it is what U lost when it was rounded
    radius -= 1 - u
    radius *= u
    radius -= np.log(u, out=u)
    np.sqrt(radius, out=radius)
    v -= 0.5
    v *= QUARTER
    square = np.multiply(v, v, out=u)
    cosine = _polynomial(COSINE, square)
    v *= _polynomial(SINE, square)
    np.subtract(cosine, v, out=u)
    v += cosine
    sizes *= radius
    return sizes


def _polynomial(terms: tuple[float, ...], x: Array) -> Array:
    y = x * terms[-1]
    for term in terms[-2:0:-1]:
        y += term
        y *= x
    y += terms[0]
    return y


def _first_gaussian(u: float, from_1: float, v: float) -> float:
    a = (v - 0.5) * QUARTER
    return math.sqrt((from_1 - (1 - u)) * u - math.log(u)) * (math.cos(a) - math.sin(a))


def _gaussian_balls(u: Any, v: Any) -> tuple[Any, Any]:
    radius = (-u.log()).sqrt()
    sine, cosine = (v / 2 - 0.25).sin_cos_pi()
    return radius * (cosine - sine), radius * (cosine + sine)


def _laplace_sizes(first: Integers, rest: Array) -> Array:
    sizes = _join(first, rest)
    return np.log(sizes, out=sizes)  # their signs count for nothing


GAUSSIAN = Law(_gaussian_sizes, _first_gaussian, _gaussian_balls)
LAPLACE = Law(_laplace_sizes, lambda u, from_1, v: math.log(u), lambda u, v: (-u.log(), -v.log()))


def round_draws(
    law: Law, *, bits: list[int], known: int, add: list[Fraction], scales: list[float], more: Callable[[], int]
) -> list[int]:
    """The whole numbers nearest to add + scale times each size, by balls, with as many bits as it takes.

    A ball holds every number that the bits drawn so far leave possible (Johansson 2017, Arb, now in FLINT), so what is
    answered is the rounding of the real number itself, whatever the precision is.

    Args:
        law: The sizes, from U and V.
        bits: The first bits of U and of V, as whole numbers.
        known: How many there are of each.
        add: What the noise is added to, exactly: of both draws, or of the first alone.
        scales: Of the noise of each; a negative one turns the sign.
        more: Draws the next 64 bits, of U and of V in turn.

    Returns:
        Whole numbers of any size, one for each number in ``add``.
    """
    from flint import arb, ctx, fmpq  # loaded before the first draw: tacit.privacy.noise.load_samplers

    while True:
        with ctx.workprec(known + GUARD):
            sizes = law.balls(*(arb((2 * b + 1, -known - 1), (1, -known - 1)) for b in bits))
            sums = [
                arb(fmpq(x.numerator, x.denominator)) + arb(scale) * size
                for x, scale, size in zip(add, scales, sizes, strict=False)
            ]
            nearest = [(y + 0.5).floor().unique_fmpz() for y in sums]
        if None not in nearest:
            return [int(k) for k in nearest]
        bits, known = [b << EXTRA | more() for b in bits], known + EXTRA
