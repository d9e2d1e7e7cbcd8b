"""Lots of records from a cryptographic generator: what subsampling is worth rests on nobody knowing them.

With the seeded noise of a simulation, which is measured and never released, they come from its generator too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise import EXACT, Simulation, Source
from tacit.privacy.random_words import random_words

Lot = NDArray[np.intp]


def draw_lot(records: int, lot: int, noise: Source = EXACT) -> Lot:
    """``lot`` distinct records, every such set equally likely, in rising order.

    Each record gets a random number of 64 bits and the smallest win; two equal numbers would favour the earlier record,
    so the draw is repeated then.

    >>> lot = draw_lot(100, 10)
    >>> len(set(lot.tolist())), bool(0 <= lot.min() <= lot.max() < 100)
    (10, True)
    """
    while True:
        keys = _words(records, noise)
        chosen = np.argpartition(keys, lot - 1)[:lot] if lot < records else np.arange(records)
        border = keys[chosen].max()
        if lot == records or np.count_nonzero(keys <= border) == lot:
            return np.asarray(np.sort(chosen), np.intp)


def draw_order(records: int, noise: Source = EXACT) -> Lot:
    """All records, every order equally likely but for ties of 64 random bits, which are drawn again."""
    while True:
        keys = _words(records, noise)
        order = np.argsort(keys, kind="stable")
        if (np.diff(keys[order]) > 0).all():
            return np.asarray(order, np.intp)


def draw_poisson_lot(records: int, rate: float, noise: Source = EXACT) -> Lot:
    """Each record by itself with probability ``rate``, rounded down to a multiple of 2^-64."""
    if rate >= 1:
        return np.arange(records)
    return np.flatnonzero(_words(records, noise) < np.uint64(int(rate * 2.0**64)))


def public_generator(noise: Source) -> np.random.Generator:
    """For what no record touches, such as first weights: seeded with a simulation's noise."""
    return noise.generator if isinstance(noise, Simulation) else np.random.default_rng()


def _words(records: int, noise: Source) -> NDArray[np.uint64]:
    if isinstance(noise, Simulation):
        return noise.generator.integers(2**64, size=records, dtype=np.uint64)
    return random_words(records)
