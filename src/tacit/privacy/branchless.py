"""Choices between two numbers without a branch.

NumPy's ``where`` has a branch for every number: over a random pattern it takes several times as long as over a plain
one, so that its time tells of what it chose. Here the same operations are done either way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def choose(which: NDArray[np.bool_], one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """``one`` where it is true, ``other`` elsewhere.

    >>> choose(np.array([True, False]), np.array([1, 2], np.uint64), np.array([3, 4], np.uint64)).tolist()
    [1, 4]
    """
    chosen: NDArray[np.uint64] = one - other  # modulo 2^64
    chosen *= which
    chosen += other
    return chosen


def flush(values: Array, least: float) -> Array:
    """0 in the place of what is nearer to it than ``least``: no number is left over which a processor takes longer.

    >>> flush(np.array([3.0, -2.0, 1e-310, -0.0]), 2.0).tolist()
    [3.0, -2.0, 0.0, 0.0]
    """
    kept: Array = (values.view(np.int64) & -(np.abs(values) >= least).astype(np.int64)).view(np.float64)
    return kept
