"""Lots of records from a cryptographic generator: what subsampling is worth rests on nobody knowing them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.random_words import random_words

Lot = NDArray[np.intp]


def draw_lot(records: int, lot: int) -> Lot:
    """``lot`` distinct records, every such set equally likely, in rising order.

    Each record gets a random number of 64 bits and the smallest win; two equal numbers would favour the earlier record,
    so the draw is repeated then.

    >>> lot = draw_lot(100, 10)
    >>> len(set(lot.tolist())), bool(0 <= lot.min() <= lot.max() < 100)
    (10, True)
    """
    while True:
        keys = random_words(records)
        chosen = np.argpartition(keys, lot - 1)[:lot] if lot < records else np.arange(records)
        border = keys[chosen].max()
        if lot == records or np.count_nonzero(keys <= border) == lot:
            return np.asarray(np.sort(chosen), np.intp)


def draw_poisson_lot(records: int, rate: float) -> Lot:
    """Each record by itself with probability ``rate``, rounded down to a multiple of 2^-64."""
    if rate >= 1:
        return np.arange(records)
    return np.flatnonzero(random_words(records) < np.uint64(int(rate * 2.0**64)))
