"""The sparse vector technique: which of many yes/no queries answer yes, told privately.

    m   queries, of which ``yes`` answer 1            b1, b2   noise on the threshold and on each answer, b1 + b2 = b
    b   total noise                                   rho, nu  Laplace(b1) once, Laplace(b2) for each query
    C   answers "yes" after which it stops            F1       2 TP / (answers "yes" + true ones)

Avent et al. (2020), Algorithm 1 and Section 2.2; the privacy proof is their Appendix B (Lyu et al. 2017, Theorem 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tacit.errors import BadInput, count
from tacit.space import Array, Float, Int, Params, Space


@dataclass(frozen=True)
class SparseVector:
    """Sparse vector over ``queries`` sensitivity-1 yes/no queries of which ``yes`` are true, in random order.

    Guarantee. (epsilon, 0) with epsilon = (1 + (2C)^(1/3)) (1 + (2C)^(2/3)) / b, for one record replaced; no query is
    answered but through the noise. The answers here are simulated to measure utility, with fast noise: not for release.
    Follows. Avent et al. (2020), Algorithm 1: threshold 1/2, b1 = b / (1 + (2C)^(1/3)), utility the mean F1 of
    ``orders`` runs in random order. Proof: docs/proofs/sparse-vector.md.
    Differs. C is a whole number, as the algorithm counts. ``expected_utility`` is the exact mean of F1, without draws.

    >>> svt = SparseVector()
    >>> svt.epsilons([{"b": 10.0, "C": 4}], 0.0).round(3).tolist()
    [1.5]
    >>> 0 <= svt.utility({"b": 10.0, "C": 4}, seed=1) <= 1
    True
    """

    queries: int = 100
    yes: int = 10
    orders: int = 50
    name: str = "sparse vector"
    label: str = "no sampling, one record replaced"
    apart: ClassVar[str] = "answers are simulated to be measured; its game is held to the epsilon by quadrature"

    def __post_init__(self) -> None:
        count("orders", self.orders)
        if not count("yes", self.yes) <= count("queries", self.queries):
            raise BadInput(f"yes must be at most queries={self.queries}, got yes={self.yes}")

    @cached_property
    def space(self) -> Space:
        return Space({"b": Float(1e-2, 1e2, log=True), "C": Int(1, 30)})

    def epsilons(self, params: Sequence[Params], delta: float) -> Array:
        """The closed form, (n,); the same for every delta."""
        b = np.array([p["b"] for p in params], float)
        root = np.cbrt(2.0 * np.array([p["C"] for p in params], float))
        epsilon: Array = (1 + root) * (1 + root**2) / b
        return epsilon

    def utility(self, params: Params, seed: int) -> float:
        """Mean F1 of ``orders`` simulated runs, all at once: one row for each."""
        generator = np.random.default_rng(seed)
        b1, b2 = _split(params)
        shape = (self.orders, self.queries)
        truth = generator.permuted(np.tile(np.arange(self.queries) < self.yes, (self.orders, 1)), axis=1)
        rho = generator.laplace(0.0, b1, (self.orders, 1))
        told = truth + generator.laplace(0.0, b2, shape) >= 0.5 + rho
        told &= np.cumsum(told, axis=1) <= params["C"]  # the C-th "yes" is the last
        right = (told & truth).sum(axis=1)
        return float((2 * right / (told.sum(axis=1) + self.yes)).mean())

    def expected_utility(self, params: Params) -> float:
        """The mean of F1 over noise and order, exactly: an integral over rho of a double sum.

        Given rho, a ~ Bin(yes, p1) true and c ~ Bin(queries - yes, p0) false queries would pass. If more than C do, a
        random C of them are told, so the mean number of right ones is a C / (a + c).
        """
        b1, b2 = _split(params)
        rho, weight = _nodes(b1, b2)
        a, c = np.arange(self.yes + 1), np.arange(self.queries - self.yes + 1)
        passed = a[:, None] + c[None, :]
        told = np.minimum(passed, params["C"])
        right = a[:, None] * told / np.maximum(passed, 1)
        value = 2 * right / (told + self.yes)
        of_true, of_false = _binomial(self.yes, _above(rho - 0.5, b2)), _binomial(len(c) - 1, _above(rho + 0.5, b2))
        return float(weight @ np.einsum("ka,ac,kc->k", of_true, value, of_false, optimize=True))


def _split(params: Params) -> tuple[float, float]:
    b1 = params["b"] / (1 + np.cbrt(2.0 * params["C"]))
    return float(b1), float(params["b"] - b1)


def _above(x: Array, scale: float) -> Array:
    """P[Laplace(scale) >= x]."""
    tail = 0.5 * np.exp(-np.abs(x) / scale)
    return np.where(x > 0, tail, 1 - tail)


def _nodes(b1: float, b2: float) -> tuple[Array, Array]:
    """Points and weights that integrate against Laplace(b1): panels that end at every kink and narrow around them."""
    near = np.array([0.0, 1.0, 4.0, 12.0])
    ends = np.concatenate([c + s * near * w for c in (-0.5, 0.0, 0.5) for s in (-1, 1) for w in (b1, b2)])
    ends = np.unique(np.append(ends[np.abs(ends) < 32 * b1], [-32 * b1, 32 * b1]))
    x, w = np.polynomial.legendre.leggauss(8)
    half = np.diff(ends)[:, None] / 2
    rho = (ends[:-1, None] + half * (1 + x)).ravel()
    return rho, (half * w).ravel() * np.exp(-np.abs(rho) / b1) / (2 * b1)


def _binomial(n: int, p: Array) -> Array:
    """Probabilities (k, n + 1) of Bin(n, p) for p (k,)."""
    from scipy.special import gammaln, xlog1py, xlogy

    i = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1)
    probabilities: Array = np.exp(ways + xlogy(i, p[:, None]) + xlog1py(n - i, -p[:, None]))
    return probabilities
