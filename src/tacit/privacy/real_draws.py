"""Rounding a real draw of which only the first bits are known: ball arithmetic, and more bits until it is certain.

A ball holds every number that the bits drawn so far leave possible (Johansson 2017, Arb, now in FLINT), so what is
answered is the rounding of the real number itself, whatever the precision was.

Z   a real number of the standard law, negative half: its quantile at U       U   uniform on (0, 1), bit by bit
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

EXTRA = 64  # bits that are appended at a time
GUARD = 128  # bits of precision beyond those of U: numbers of steps are below 2^64


def gaussian_ball(u: Any) -> Any:
    """The quantile of the Gaussian law at u / 2, for a ball u within (0, 1)."""
    return (u - 1).erfinv() * (u * 0 + 2).sqrt()


def laplace_ball(u: Any) -> Any:
    """The quantile of the Laplace law at u / 2: log(u)."""
    return u.log()


def round_draw(
    quantile: Callable[[Any], Any], *, bits: int, known: int, add: Fraction, scale: float, more: Callable[[], int]
) -> int:
    """The whole number nearest to add + scale Z, where the first ``known`` bits of U are ``bits``.

    Args:
        quantile: Z from U, as balls.
        bits: The first bits of U, as a whole number.
        known: How many there are.
        add: What the noise is added to, exactly.
        scale: Of the noise; a negative one turns the sign of Z.
        more: Draws the next 64 bits.

    Returns:
        A whole number of any size.
    """
    from flint import arb, ctx, fmpq  # loaded before the first draw: tacit.privacy.noise.load_samplers

    while True:
        with ctx.workprec(known + GUARD):
            u = arb((2 * bits + 1, -known - 1), (1, -known - 1))
            y = arb(fmpq(add.numerator, add.denominator)) + arb(scale) * quantile(u)
            nearest = (y + 0.5).floor().unique_fmpz()
        if nearest is not None:
            return int(nearest)
        bits, known = bits << EXTRA | more(), known + EXTRA
