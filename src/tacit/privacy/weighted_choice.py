"""One draw of the exponential mechanism in a time that does not depend on the scores.

Each candidate gets a whole-number weight in proportion to exp(score / scale), nearly; one uniform number of 256 bits
then points at a candidate. All is done by the same operations on whole arrays: no draw is refused and repeated, and no
branch or look-up depends on a score or on the draw. Weights err by a factor so near to 1 that pure privacy loses SLACK
of its epsilon, and no delta: docs/proofs/exponential-mechanism.md.

M   largest score         h   half of scale x log 2        y   (M - score) / (scale x log 2), at most FLOOR
w   2^-y, computed        U   the random number            total   sum of all w, in units of 2^-160
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.random_words import Bytes, random_words

Array = NDArray[np.float64]
Limbs = NDArray[np.int64]

SLACK = 2.0**-41
"""What the rounding of weights and of the random number adds to the range of privacy losses, at most."""

FLOOR = 92.0  # no candidate is less likely than 2^-92 times the likeliest: lower scores count as that
LIMB, MASK = 32, (1 << 32) - 1  # bits of a limb, most significant limb first
LIMBS = 6  # of a weight or a total: one above the point, five below, which hold every bit of a weight
WORDS = 4  # of 64 random bits
TINY = 1e-306  # scores below this are taken for 0: nothing that follows is too small for the processor's quick path
NEAR = 2.0**-50
LOG2 = math.log(2.0)
DEGREE = 18  # of the polynomial of 2^-f on [0, 1): the remainder is below 2^-66
TERMS = tuple((-LOG2) ** k / math.factorial(k) for k in range(DEGREE, -1, -1))


def draw_index(scores: Array, scale: float, *, source: Bytes | None = None) -> int:
    """The index of a candidate, with probability in proportion to exp(score / scale).

    Guarantee. If one record moves every score by at most D, all privacy losses lie in one interval of length
    2 D / scale + SLACK: docs/proofs/exponential-mechanism.md.
    Edges. Scores are finite, fewer than 2^30, and scale is between 1e-290 and 1e290. Scores further than 64 scales
    below the largest count as 64 scales below. ``source`` answers a number of bytes, for tests.

    >>> draw_index(np.array([0.0, 1000.0, 0.0]), 1.0)
    1
    """
    sums = cumulate(weigh(np.asarray(scores, float), float(scale)))
    return locate(sums, multiply(sums[:, -1], random_words(WORDS, source)))


def flush(values: Array, least: float) -> Array:
    """0 in the place of what is nearer to it than ``least``, without a branch: tiny numbers take a processor longer.

    >>> flush(np.array([3.0, -2.0, 1e-310, -0.0]), 2.0).tolist()
    [3.0, -2.0, 0.0, 0.0]
    """
    flushed: Array = (values.view(np.int64) & -(np.abs(values) >= least).astype(np.int64)).view(np.float64)
    return flushed


def weigh(scores: Array, scale: float) -> Limbs:
    """The weight of each candidate, exactly as it is used, in units of 2^-160; shape (LIMBS, candidates)."""
    h = 0.5 * scale * LOG2
    flat = flush(scores, TINY)
    below = np.minimum(0.5 * flat.max() - 0.5 * flat, (FLOOR + 1) * h)  # cannot overflow
    y = np.minimum(flush(below, NEAR * h) / h, FLOOR)
    whole = np.floor(y)
    y -= whole
    w = np.full(y.shape, TERMS[0])
    for term in TERMS[1:]:
        w *= y
        w += term
    w *= ((1023 - whole.astype(np.int64)) << 52).view(np.float64)  # 2^-whole, from its bits
    limbs = np.empty((LIMBS, w.size), np.int64)
    for limb in limbs:
        part = np.floor(w)
        limb[:] = part
        w -= part  # exact, as is the next line
        w *= 2.0**LIMB
    return limbs


def cumulate(limbs: Limbs) -> Limbs:
    """The running sums of weights, each limb below 2^32 but the first."""
    sums = np.cumsum(limbs, axis=1)
    for j in range(LIMBS - 1, 0, -1):
        sums[j - 1] += sums[j] >> LIMB
        sums[j] &= MASK
    return sums


def multiply(total: Limbs, words: NDArray[np.uint64]) -> Limbs:
    """floor(total x U / 2^256), as limbs; U is made of the words."""
    U = np.stack([words >> np.uint64(LIMB), words & np.uint64(MASK)], axis=1).ravel()
    products = total.astype(np.uint64)[:, None] * U
    columns = np.zeros(LIMBS + U.size, np.uint64)
    for i, row in enumerate(products):
        columns[i + 1 : i + 1 + U.size] += row & np.uint64(MASK)
        columns[i : i + U.size] += row >> np.uint64(LIMB)
    for k in range(columns.size - 1, 0, -1):
        columns[k - 1] += columns[k] >> np.uint64(LIMB)
        columns[k] &= np.uint64(MASK)
    return columns[:LIMBS].astype(np.int64)


def locate(sums: Limbs, point: Limbs) -> int:
    """How many running sums are at most the point."""
    passed = np.ones(sums.shape[1], bool)
    for limb, at in zip(sums[::-1], point[::-1], strict=True):
        passed = (limb < at) | ((limb == at) & passed)
    return int(np.count_nonzero(passed))
