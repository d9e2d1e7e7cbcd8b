"""The form all our kernels share: values, derivatives, and change with the hyperparameters.

k(a, b) = v g(s),    s = o + sum_j m_j(a, b) / l_j^2

v       variance                                  l_j     length-scale of coordinate j
g       profile of the kernel                     m_j     (a_j - b_j)^2, or a_j b_j for the polynomial
g', g"  slope and bend of the profile in s        o       offset, zero but for the polynomial
n, m    numbers of points                         d       number of coordinates
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from tacit.errors import BadInput, positive, type_and_shape

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Kernel(ABC):
    """A covariance function with one length-scale for each coordinate.

    Edges: no points give empty arrays. Points that are not (n, d) are refused.
    """

    lengthscales: Sequence[float]
    variance: float = 1.0

    def __post_init__(self) -> None:
        scales = tuple(positive("lengthscale", l) for l in np.atleast_1d(np.asarray(self.lengthscales)).tolist())
        if not scales:
            raise BadInput("lengthscales must have one entry for each coordinate, got none")
        object.__setattr__(self, "lengthscales", scales)
        object.__setattr__(self, "variance", positive("variance", self.variance))

    @property
    def dimensions(self) -> int:
        return len(self.lengthscales)

    def __call__(self, A: Array, B: Array) -> Array:
        """Covariances (n, m) of the points A (n, d) with the points B (m, d)."""
        s, work = self._s(self.in_lengthscales(A), self.in_lengthscales(B))
        return self._value(s, work)

    def diagonal(self, A: Array) -> Array:
        """Prior variances (n,) of the points A (n, d)."""
        return np.full(len(self.check_points(A)), self.variance)

    def row(self, x: Array, scaled: Array, out: Array, work: Array) -> Array:
        """Fill ``out`` (n,) with the covariances of x (d,) and ``scaled`` points (d, n), allocating nothing."""
        self._row(x / np.asarray(self.lengthscales), scaled, out, work)
        return self._value(out, work)

    def first(self, A: Array, B: Array) -> Array:
        """Derivatives (n, m, d) of k(a, b) with respect to a."""
        return self.with_first(A, B)[1]

    def with_first(self, A: Array, B: Array) -> tuple[Array, Array]:
        """Covariances (n, m) of A (n, d) with B (m, d), and derivatives (n, m, d) with respect to A: for few A."""
        g, slope = self._profile(self._s(self.in_lengthscales(A), self.in_lengthscales(B))[0])
        g *= self.variance
        slope *= self.variance
        return g, slope[:, :, None] * self._lean(A, B)

    @abstractmethod
    def mixed_derivative(self, A: Array, B: Array) -> Array:
        """Second derivatives (n, m, d, d) of k(a, b): entry [i, j] is with respect to a_i and b_j."""

    # What a fit needs: everything about the points that does not change with the hyperparameters, once.

    @abstractmethod
    def pairs(self, A: Array, i: npt.NDArray[np.intp], j: npt.NDArray[np.intp]) -> Array:
        """The m_j (d, p) of the p pairs of points A[i], A[j]."""

    def profile(self, m: Array, weights: Array) -> tuple[Array, Array]:
        """g and g' (p,) from ``pairs`` (d, p), with weights 1 / l_j^2 (d,) other than the kernel's own."""
        s = weights @ m
        if self._origin:
            s += self._origin
        return self._profile(s)

    @property
    def weights(self) -> Array:
        """1 / l_j^2 (d,)."""
        return np.asarray(self.lengthscales) ** -2.0

    @property
    def log_parameters(self) -> Array:
        """Logarithms (d + 1,) of the length-scales, then of the variance."""
        return np.log([*self.lengthscales, self.variance])

    def with_log_parameters(self, parameters: Array) -> Self:
        *scales, variance = (math.exp(p) for p in parameters)
        return replace(self, lengthscales=tuple(scales), variance=variance)

    def in_lengthscales(self, A: Array) -> Array:
        """The points A (n, d) in length-scales, one contiguous line for each coordinate (d, n)."""
        return np.ascontiguousarray(self.check_points(A).T / np.asarray(self.lengthscales)[:, None])

    def check_points(self, A: npt.ArrayLike) -> Array:
        """A as an (n, d) array, or BadInput."""
        points = np.asarray(A, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.dimensions:
            raise BadInput(f"points must have shape (n, {self.dimensions}), got {type_and_shape(points)}")
        return points

    # The form: where s starts, how it is summed, the profile.

    @property
    def _origin(self) -> float:
        return 0.0

    @abstractmethod
    def _s(self, A: Array, B: Array) -> tuple[Array, Array]:
        """s (n, m) of scaled points (d, n) and (d, m), and an array like it to work in."""

    @abstractmethod
    def _row(self, x: Array, scaled: Array, out: Array, work: Array) -> None:
        """s (n,) of one scaled point x (d,) into ``out``."""

    @abstractmethod
    def _lean(self, A: Array, B: Array) -> Array:
        """ds/da (n, m, d)."""

    @abstractmethod
    def _value(self, s: Array, work: Array) -> Array:
        """Turn s into v g(s) in place."""

    @abstractmethod
    def _profile(self, s: Array) -> tuple[Array, Array]:
        """g and g', new arrays."""
