"""What is proved of the published projection, and its rule for the rank, as numbers.

    n      rows                         nu   relative error of squared distances      omega  the published threshold
    r      rank of the projection       mu   probability that one of them errs more   sigma  smallest singular value

Measured with these: Theorem 3 covers none of its authors' runs. Its nu is at most 1/2 and its mu at most 1/2, so that
10,000 rows need a rank of 708 with their delta_ucb of 0.05; they use at most 50.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tacit.errors import BadInput, count, positive, probability
from tacit.outsource.curator.transform import threshold


def least_rank(rows: int, nu: float, mu: float) -> int:
    """The least rank at which squared distances keep within 1 - nu and 1 + nu with probability 1 - mu.

    Follows. Kharkovskii2020, Lemma 1: r >= 8 log(n^2 / mu) / nu^2.

    >>> least_rank(10_000, 0.5, 0.025)
    708
    """
    if not 0 < nu <= 0.5:
        raise BadInput(f"nu must be above 0 and at most 1/2, got nu={nu!r}")
    return math.ceil(8 * math.log(count("rows", rows) ** 2 / probability("mu", mu)) / nu**2)


def distance_factors(rows: int, rank: int, mu: float, *, smallest: float, omega: float) -> tuple[float, float] | None:
    """Between which factors all squared distances change with probability 1 - mu; None if the statement is silent.

    Follows. Kharkovskii2020, Theorem 2: (1 - nu, (1 + nu) C'), C' = 1 + omega^2 / sigma^2 where sigma < omega, else 1.

    >>> distance_factors(10_000, 10, 0.025, smallest=2000.0, omega=976.1) is None
    True
    """
    nu = math.sqrt(8 * math.log(count("rows", rows) ** 2 / probability("mu", mu)) / count("rank", rank))
    raised = 1 + (omega / positive("smallest", smallest)) ** 2 if smallest < omega else 1.0
    return (1 - nu, (1 + nu) * raised) if nu <= 0.5 else None


def rank_of_regret_bound(
    rows: int, *, diameter: float, lengthscale: float, largest: float, error: float, delta: float = 0.05
) -> int:
    """The least rank for which the regret bound is stated; its own constants are given up to O(.) only.

    ``largest`` bounds the absolute answers, ``error`` is epsilon_ucb, ``delta`` is delta_ucb; d = diameter/lengthscale.

    Follows. Kharkovskii2020, Theorem 3: Lemma 1 with mu = delta_ucb / 2, nu = min(epsilon_ucb / (2 sqrt(3) d^2 L),
    2 / d^2, 1/2); besides, sigma >= omega and diagonally dominant covariances.

    >>> rank_of_regret_bound(10_000, diameter=1.0, lengthscale=1.25, largest=3.0, error=100.0)
    708
    """
    d = positive("diameter", diameter) / positive("lengthscale", lengthscale)
    nu = min(positive("error", error) / (2 * math.sqrt(3) * d**2 * positive("largest", largest)), 2 / d**2, 0.5)
    return least_rank(rows, nu, probability("delta", delta) / 2)


def largest_rank(smallest: float, *, epsilon: float, delta: float, most: int = 1000) -> int:
    """The largest rank whose threshold omega is at most the smallest singular value of the centred rows; 0 if none.

    Guarantee. None: the singular value is private. ``smallest_singular_value`` of public widths needs no row.
    Follows. Kharkovskii2020, section 3.4, the guideline for r. Of the ranks in their synthetic tables it
    picks the same: 10 (of 10 and 15), 15 (of 15 and 20), 20 (of 20 and 30).

    >>> x = np.linspace(0, 1, 100)
    >>> grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    >>> grid *= 25 / np.linalg.norm(grid - grid.mean(axis=0), axis=1).max()
    >>> [largest_rank(smallest_singular_value(grid), epsilon=math.exp(e), delta=1e-5) for e in (1.1, 1.3, 1.5)]
    [11, 15, 22]
    """
    fitting = [r for r in range(1, count("most", most) + 1) if threshold(r, epsilon, delta) <= smallest]
    return max(fitting, default=0)


def smallest_singular_value(rows: npt.ArrayLike) -> float:
    """Of the centred rows (n, d) after scaling: as private as they are."""
    X = np.asarray(rows, dtype=np.float64)
    return float(np.linalg.svd(X - X.mean(axis=0), compute_uv=False).min())
