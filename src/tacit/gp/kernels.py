"""The kernels: squared exponential, Matern 3/2 and 5/2, polynomial of degree two.

Each is v g(s) in the notation of ``tacit.gp.form``: it says how s is summed, what g is, and nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.errors import BadInput, real
from tacit.gp.form import Array, Kernel

__all__ = ["RBF", "Array", "Kernel", "Matern32", "Matern52", "Polynomial"]


class _Stationary(Kernel):
    """A kernel of the scaled distance alone: s = |a - b|^2 in length-scales. Differences first, so near points keep
    their digits and k(a, a) is exactly v."""

    def pairs(self, A: Array, i: npt.NDArray[np.intp], j: npt.NDArray[np.intp]) -> Array:
        points = np.ascontiguousarray(A.T)
        m = points[:, i]
        m -= points[:, j]
        m *= m
        return m

    def mixed_derivative(self, A: Array, B: Array) -> Array:
        s = self._s(self.in_lengthscales(A), self.in_lengthscales(B))[0]
        slope, bend = self._profile(s)[1], self._bend(s)
        lean = self._lean(A, B)
        # ds/db = -ds/da and d2s/da_i db_j = -2 w_i [i = j], hence both signs.
        out = -bend[:, :, None, None] * lean[:, :, :, None] * lean[:, :, None, :]
        diagonal = np.arange(self.dimensions)
        out[:, :, diagonal, diagonal] -= 2 * slope[:, :, None] * self.weights
        out *= self.variance
        return out

    def _s(self, A: Array, B: Array) -> tuple[Array, Array]:
        s = np.empty((A.shape[1], B.shape[1]))
        work = np.empty_like(s)
        np.subtract.outer(A[0], B[0], out=s)
        s *= s
        for a, b in zip(A[1:], B[1:], strict=True):
            np.subtract.outer(a, b, out=work)
            work *= work
            s += work
        return s, work

    def _row(self, x: Array, scaled: Array, out: Array, work: Array) -> None:
        np.subtract(scaled[0], x[0], out=out)
        out *= out
        for j in range(1, len(x)):
            np.subtract(scaled[j], x[j], out=work)
            work *= work
            out += work

    def _lean(self, A: Array, B: Array) -> Array:
        out = self.check_points(A)[:, None, :] - self.check_points(B)[None, :, :]
        out *= 2 * self.weights
        return out

    @abstractmethod
    def _bend(self, s: Array) -> Array:
        """g" where it is finite; where it is not, zero, since it is then multiplied by a distance that is zero."""


@dataclass(frozen=True)
class RBF(_Stationary):
    """Squared exponential, v exp(-s/2).

    >>> k = RBF((0.5, 2.0), variance=4.0)
    >>> k(np.zeros((1, 2)), np.array([[0.0, 0.0], [0.5, 2.0]])).round(4).tolist()
    [[4.0, 1.4715]]
    """

    def _value(self, s: Array, work: Array) -> Array:
        s *= -0.5
        np.exp(s, out=s)
        if self.variance != 1.0:
            s *= self.variance
        return s

    def _profile(self, s: Array) -> tuple[Array, Array]:
        g = np.exp(-0.5 * s)
        return g, -0.5 * g

    def _bend(self, s: Array) -> Array:
        return 0.25 * np.exp(-0.5 * s)


@dataclass(frozen=True)
class Matern32(_Stationary):
    """Matern 3/2, v (1 + r) exp(-r) with r = sqrt(3 s): one derivative.

    Edges: the mixed derivative exists where a = b and is the limit there, 3 v / l^2 on the diagonal.
    """

    def _value(self, s: Array, work: Array) -> Array:
        s *= 3.0
        np.sqrt(s, out=s)
        np.add(s, 1.0, out=work)
        work *= self.variance
        np.negative(s, out=s)
        np.exp(s, out=s)
        s *= work
        return s

    def _profile(self, s: Array) -> tuple[Array, Array]:
        r = np.sqrt(3.0 * s)
        e = np.exp(-r)
        return (1.0 + r) * e, -1.5 * e

    def _bend(self, s: Array) -> Array:
        r = np.sqrt(3.0 * s)
        return np.divide(2.25 * np.exp(-r), r, out=np.zeros_like(r), where=r > 0)


@dataclass(frozen=True)
class Matern52(_Stationary):
    """Matern 5/2, v (1 + r + r^2/3) exp(-r) with r = sqrt(5 s): two derivatives."""

    def _value(self, s: Array, work: Array) -> Array:
        s *= 5.0
        np.multiply(s, 1.0 / 3.0, out=work)
        np.sqrt(s, out=s)
        work += s
        work += 1.0
        work *= self.variance
        np.negative(s, out=s)
        np.exp(s, out=s)
        s *= work
        return s

    def _profile(self, s: Array) -> tuple[Array, Array]:
        r = np.sqrt(5.0 * s)
        e = np.exp(-r)
        slope = (1.0 + r) * e
        g = slope + (5.0 / 3.0) * s * e
        slope *= -5.0 / 6.0
        return g, slope

    def _bend(self, s: Array) -> Array:
        return (25.0 / 12.0) * np.exp(-np.sqrt(5.0 * s))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Polynomial of degree two, v (o + sum_j a_j b_j / l_j^2)^2: exact for quadratic objectives.

    The offset o is a fixed choice, no hyperparameter: v and the length-scales together already say what it would.

    Edges: with ``offset=0`` the origin has prior variance zero, so its value is the prior mean.

    >>> Polynomial((1.0,))(np.array([[2.0]]), np.array([[3.0]])).tolist()
    [[49.0]]
    """

    offset: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if real("offset", self.offset) < 0:
            raise BadInput(f"offset must not be negative, got offset={self.offset!r}")

    def diagonal(self, A: Array) -> Array:
        s = (self.in_lengthscales(A) ** 2).sum(axis=0)
        s += self.offset
        return self._value(s, s)

    def pairs(self, A: Array, i: npt.NDArray[np.intp], j: npt.NDArray[np.intp]) -> Array:
        points = np.ascontiguousarray(A.T)
        m = points[:, i]
        m *= points[:, j]
        return m

    def mixed_derivative(self, A: Array, B: Array) -> Array:
        s = self._s(self.in_lengthscales(A), self.in_lengthscales(B))[0]
        # ds/da_i = w_i b_i, ds/db_j = w_j a_j, d2s/da_i db_j = w_i [i = j], g' = 2 s, g" = 2.
        by_a, by_b = self.check_points(B) * self.weights, self.check_points(A) * self.weights
        out = np.empty((*s.shape, self.dimensions, self.dimensions))
        np.multiply(by_a[None, :, :, None], by_b[:, None, None, :], out=out)
        diagonal = np.arange(self.dimensions)
        out[:, :, diagonal, diagonal] += s[:, :, None] * self.weights
        out *= 2.0 * self.variance
        return out

    @property
    def _origin(self) -> float:
        return self.offset

    def _s(self, A: Array, B: Array) -> tuple[Array, Array]:
        s = A.T @ B
        s += self.offset
        return s, s

    def _row(self, x: Array, scaled: Array, out: Array, work: Array) -> None:
        np.dot(x, scaled, out=out)
        out += self.offset

    def _lean(self, A: Array, B: Array) -> Array:
        return np.broadcast_to(
            self.check_points(B) * self.weights, (len(self.check_points(A)), *self.check_points(B).shape)
        )

    def _value(self, s: Array, work: Array) -> Array:
        s *= s
        s *= self.variance
        return s

    def _profile(self, s: Array) -> tuple[Array, Array]:
        return s * s, 2.0 * s
