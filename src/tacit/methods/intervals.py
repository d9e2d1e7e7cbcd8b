"""How far a released score may be from the mean loss of new records: sampling, choice and noise together.

    s   standard deviation of a mean over the n records, over data sets        N   the noise of the score
    T   settings that were compared on the same records before one was chosen

The best of T settings on these records owes some of its score to luck. Were the records drawn anew, the mean of any one
setting would be off by S with standard deviation s; whichever is chosen, it is off by no more than the largest of T
such errors. N is drawn afresh after the choice. So, by a union over the settings, the score is off by more than h with
probability at most

    2 E_N min(1, T Phi((N - h) / s)),

which for T = 1 and Gaussian noise is that of one Gaussian of variance s^2 + var N.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

GRID = 2048  # points of the noise's law


def sampling_deviation(score: float, half_width: float, bounds: tuple[float, float], records: int) -> float:
    """An upper bound on the standard deviation of a mean over so many records, w sqrt(m (1 - m) / n).

    m is the mean as a share of the bounds' width w: of all that the score's interval allows, the nearest to one half.

    >>> round(sampling_deviation(0.1, 0.0, (0.0, 1.0), 900), 6)
    0.01
    """
    low, high = bounds
    m, reach = (score - low) / (high - low), half_width / (high - low)
    m = min(max(0.5, m - reach), m + reach, 1.0)
    return (high - low) * math.sqrt(max(0.0, m * (1 - m)) / records)


def reach_new_data(deviation: float, sampling: float, settings: int, *, laplace: bool = False) -> float:
    """The half-width of the 95% interval for the mean loss of new records: see the head of this file.

    Edges. Settings are counted as if fixed in advance: a search that went where its noisy answers led may have been
    luckier, which matters if its noise is small beside the sampling error.

    >>> round(reach_new_data(3.0, 4.0, 1), 2), round(reach_new_data(0.0, 1.0, 50), 2)
    (9.8, 3.29)
    """
    from scipy.special import ndtr, ndtri

    shares = (np.arange(GRID) + 0.5) / GRID
    noise = deviation * (_laplace_quantiles(shares) if laplace else ndtri(shares))
    low, high = 0.0, 10 * deviation + 10 * sampling
    for _ in range(40):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            above = ndtr((noise - middle) / sampling) if sampling > 0 else (noise > middle).astype(float)
        missed = 2 * np.minimum(1.0, settings * above).mean()
        low, high = (middle, high) if missed > 0.05 else (low, middle)
    return float(high)


def _laplace_quantiles(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of standard deviation 1."""
    tail = np.log(2 * np.minimum(shares, 1 - shares)) / math.sqrt(2)
    return np.asarray(np.where(shares < 0.5, tail, -tail))
