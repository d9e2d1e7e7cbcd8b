"""A Gaussian process over rows that are known only up to noise of a known scale.

    z    a published row: z = x + sigma e, e standard normal       k    squared exponential, length-scale l, variance v
    S    covariance of the published rows                          t_j  what is still unknown of x along direction j

Take the rows as a normal population of covariance S - sigma^2 I. Along the eigenvectors of S, with eigenvalue s_j, x
given z is then normal around the mean shrunk by a_j = 1 - sigma^2 / s_j, with variance t_j = sigma^2 a_j. For two
different rows the covariance of f, averaged over both unknown places, is again squared exponential:

    E k(x, x') = v prod_j (1 + 2 t_j / l^2)^(-1/2) exp( -1/2 sum_j (m_j - m_j')^2 / (l^2 + 2 t_j) )

and for a row with itself it is v. What is missing on the diagonal, v - v prod_j(...), is the row's own: no other row
tells of it. It acts as noise between rows and as uncertainty of every row that was not asked.

    McHutchon2011    McHutchon, Rasmussen: Gaussian process training with input noise (linearised; here in closed form)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.gp.kernels import RBF
from tacit.outsource.protocol.terms import Table

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """Where the rows are, as far as the table tells: means (n, r) along the principal directions, variances (r,)."""

    means: Array
    unknown: Array


def places(table: Table, noise: float) -> Places:
    """The rows behind a table whose numbers carry normal noise of standard deviation ``noise``.

    Edges. Without noise the table is taken as it is. A direction with no more spread than the noise is all noise: its
    means are all alike and its variance zero.

    >>> places(np.array([[0.0], [4.0]]), 0.0).unknown.tolist()
    [0.0]
    """
    Z = np.asarray(table, dtype=np.float64)
    if noise == 0 or len(Z) < 2:
        return Places(Z, np.full(Z.shape[1], noise**2))
    centre = Z.mean(axis=0)
    spread, directions = np.linalg.eigh(np.atleast_2d(np.cov(Z.T)))
    share = np.maximum(1.0 - noise**2 / np.maximum(spread, noise**2), 0.0)
    means = (Z - centre) @ directions
    means *= share
    return Places(means, noise**2 * share)


def expected_kernel(lengthscale: float, variance: float, unknown: Array) -> tuple[RBF, float]:
    """The averaged kernel between different rows, and what is a row's own: a variance.

    >>> kernel, own = expected_kernel(1.0, 1.0, np.array([1.5]))
    >>> kernel.variance, kernel.lengthscales, own
    (0.5, (2.0,), 0.5)
    """
    widened = lengthscale**2 + 2 * unknown
    shared = variance * math.exp(0.5 * float(np.log(lengthscale**2 / widened).sum()))
    return RBF(tuple(np.sqrt(widened)), variance=shared), variance - shared
