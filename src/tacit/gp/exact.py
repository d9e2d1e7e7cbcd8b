"""The exact posterior of a Gaussian process that grows one point at a time.

A point is appended to a Cholesky factor; nothing is refitted while the hyperparameters stay. Over a finite set of
candidates the mean and variance are kept current: the t-th point costs O(t) and one kernel evaluation per candidate.

    L       Cholesky factor of k(X, X) + noise, (t, t)          V       L^-1 k(X, C), (t, n): row t never changes again
    X, y    points (t, d) and values (t,)                       z       L^-1 (y - prior mean), (t,)
    C       candidates (n, d)                                   p       pivot: what is not yet known of a new value
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky
from scipy.linalg.blas import dtrsm, dtrsv

from tacit.errors import BadInput, count, positive, real, type_and_shape
from tacit.gp.form import Array, Kernel

KNOWN = 1e-10
"""A value whose pivot is at most this share of its prior variance is already known, and adds nothing."""

BLOCK = 8192
"""Points that several others meet at a time, to bound the memory of a block of covariances."""


class GaussianProcess:
    """f = mean + scale g with g ~ GP(0, kernel), observed with Gaussian noise of known variance.

    Mean, scale and noise are inputs, in the units of the values; noise is a variance and may differ between
    observations. With ``candidates`` (n, d), ``mean`` and ``variance`` over them are always current: live views, so
    copy what is to be kept. ``capacity`` is the number of points to make room for; room doubles when it runs out.

    Edges: without points the posterior is the prior. A point whose value the model already determines (a duplicate or
    near duplicate without noise: pivot at most 1e-10 of the prior variance) adds nothing, whatever its value: it is
    counted in ``ignored`` and leaves mean, variance and evidence alone. With noise a duplicate is an ordinary
    observation. Variances are never negative. Values that are not finite are refused before anything changes.

    >>> from tacit.gp.kernels import RBF
    >>> gp = GaussianProcess(RBF((1.0,)), candidates=np.array([[0.0], [1.0]]))
    >>> gp.append_candidate(0, 2.0)
    >>> gp.mean.round(4).tolist(), gp.variance.round(4).tolist()
    ([2.0, 1.2131], [0.0, 0.6321])
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        noise: float = 0.0,
        mean: float = 0.0,
        scale: float = 1.0,
        candidates: npt.ArrayLike | None = None,
        capacity: int = 64,
    ) -> None:
        self.noise = _noise(noise)
        self.prior_mean = real("mean", mean)
        self.kernel = replace(kernel, variance=kernel.variance * positive("scale", scale) ** 2)
        self.ignored = 0
        self._t = 0
        room = count("capacity", capacity)
        self._x = np.empty((room, kernel.dimensions))
        self._l = np.zeros((room, room))
        self._z = np.empty(room)
        self._c = _finite(
            "candidates",
            self.kernel.check_points(np.empty((0, kernel.dimensions)) if candidates is None else candidates),
        )
        n = len(self._c)
        self._scaled = self.kernel.in_lengthscales(self._c)
        self._v = np.empty((room, n))
        self._mean = np.full(n, self.prior_mean)
        self._variance = self.kernel.diagonal(self._c)
        self._work = np.empty(n)

    def __len__(self) -> int:
        """Points that count, without the ignored."""
        return self._t

    @property
    def mean(self) -> Array:
        """Posterior mean (n,) over the candidates: a live, read-only view."""
        return _read_only(self._mean)

    @property
    def variance(self) -> Array:
        """Posterior variance (n,) of f, without noise, over the candidates: a live, read-only view."""
        return _read_only(self._variance)

    @property
    def points(self) -> Array:
        """The points that count, X (t, d)."""
        return _read_only(self._x[: self._t])

    @property
    def factor(self) -> Array:
        """L (t, t), lower."""
        return _read_only(self._l[: self._t, : self._t])

    @property
    def weights(self) -> Array:
        """(k(X, X) + noise)^-1 (y - prior mean), (t,): the posterior mean is prior mean + k(., X) @ weights."""
        return np.asarray(dtrsv(self.factor.T, self._z[: self._t])) if self._t else np.zeros(0)

    def whiten(self, K: Array) -> Array:
        """L^-1 K for K (t, m)."""
        if not self._t or not K.shape[1]:
            return np.zeros(K.shape)
        return _solve(self.factor, K)

    def append(self, x: npt.ArrayLike, value: float, *, noise: float | None = None) -> None:
        """Observe ``value`` at x (d,): O(t^2) plus O(t) per candidate."""
        x = _finite("point", self.kernel.check_points(np.atleast_2d(np.asarray(x, dtype=np.float64))))
        if len(x) != 1:
            raise BadInput(f"append takes one point, got {type_and_shape(x)}; use extend for several")
        y, s2 = real("value", value), self.noise if noise is None else _noise(noise)
        row = self.whiten(self.kernel(self.points, x))[:, 0]
        prior = float(self.kernel.diagonal(x)[0])
        self._push(x[0], y, row, prior, prior - float(row @ row) + s2)

    def append_candidate(self, index: int, value: float, *, noise: float | None = None) -> None:
        """Observe ``value`` at candidate ``index``: O(t) per candidate, and no solve since V holds its column."""
        if not 0 <= count("index", index, least=0) < len(self._c):
            raise BadInput(f"index must be below the {len(self._c)} candidates, got index={index}")
        y, s2 = real("value", value), self.noise if noise is None else _noise(noise)
        row = self._v[: self._t, index].copy()
        prior = float(self.kernel.diagonal(self._c[index : index + 1])[0])
        self._push(self._c[index], y, row, prior, float(self._variance[index]) + s2)

    def extend(self, X: npt.ArrayLike, values: npt.ArrayLike, *, noise: npt.ArrayLike | None = None) -> None:
        """Observe values (m,) at X (m, d), noise a number or (m,): the same as appending each, but in one block."""
        X = _finite("points", self.kernel.check_points(X))
        m, t = len(X), self._t
        y = _finite("values", np.asarray(values, dtype=np.float64))
        if y.shape != (m,):
            raise BadInput(f"values must have shape ({m},), one for each point, got {type_and_shape(y)}")
        s2 = _noises(self.noise if noise is None else noise, m)
        if not m:
            return
        rows = self.whiten(self.kernel(self.points, X)) if t else np.empty((0, m))
        S = self.kernel(X, X)
        if t:
            S -= rows.T @ rows
        S[np.diag_indices(m)] += s2
        try:
            F = cholesky(S, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            F = np.zeros((m, m))
        if (np.diagonal(F) ** 2 <= KNOWN * self.kernel.diagonal(X)).any():
            for x, value, variance in zip(X, y, s2, strict=True):
                self.append(x, float(value), noise=float(variance))
            return
        self._reserve(t + m)
        self._x[t : t + m] = X
        self._l[t : t + m, :t] = rows.T
        self._l[t : t + m, t : t + m] = F
        residual = y - self.prior_mean - rows.T @ self._z[:t]
        z = self._z[t : t + m]
        z[:] = _solve(F, residual[:, None])[:, 0]
        for part in _blocks(len(self._c)):
            K = self.kernel(X, self._c[part])
            K -= rows.T @ self._v[:t, part]
            v = self._v[t : t + m, part]
            v[:] = _solve(F, K)
            self._mean[part] += z @ v
            self._variance[part] -= np.einsum("ij,ij->j", v, v)
        np.maximum(self._variance, 0.0, out=self._variance)
        self._t += m

    def posterior(self, X: npt.ArrayLike, *, covariance: bool = False) -> tuple[Array, Array]:
        """Mean (m,) of f at X (m, d), and its variance (m,), or with ``covariance=True`` its covariance (m, m)."""
        X = self.kernel.check_points(X)
        mean = np.full(len(X), self.prior_mean)
        z = self._z[: self._t]
        if covariance:
            B = self.whiten(self.kernel(self.points, X))
            mean += z @ B
            C = self.kernel(X, X) - B.T @ B
            C[np.diag_indices(len(X))] = np.maximum(np.diagonal(C), 0.0)
            return mean, C
        variance = self.kernel.diagonal(X)
        for part in _blocks(len(X)):
            B = self.whiten(self.kernel(self.points, X[part]))
            mean[part] += z @ B
            variance[part] -= np.einsum("ij,ij->j", B, B)
        return mean, np.maximum(variance, 0.0, out=variance)

    def log_evidence(self) -> float:
        """Log density of the values under the prior, without the ignored ones; zero without points."""
        z = self._z[: self._t]
        return float(-0.5 * (z @ z) - np.log(np.diagonal(self.factor)).sum() - 0.5 * self._t * math.log(2 * math.pi))

    def _push(self, x: Array, y: float, row: Array, prior: float, p: float) -> None:
        if p <= KNOWN * prior:
            self.ignored += 1
            return
        t, l = self._t, math.sqrt(p)
        self._reserve(t + 1)
        z = (y - self.prior_mean - float(row @ self._z[:t])) / l
        self._x[t], self._l[t, :t], self._l[t, t], self._z[t] = x, row, l, z
        self._t = t + 1
        if not len(self._c):
            return
        v, work = self._v[t], self._work
        self.kernel.row(x, self._scaled, v, work)
        if t:
            v -= np.matmul(row, self._v[:t], out=work)
        v *= 1.0 / l
        self._mean += np.multiply(v, z, out=work)
        self._variance -= np.multiply(v, v, out=work)
        np.maximum(self._variance, 0.0, out=self._variance)

    def _reserve(self, t: int) -> None:
        room = len(self._z)
        if t <= room:
            return
        room = max(t, 2 * room)
        before, had = (self._x, self._l, self._z, self._v), self._t
        self._x, self._l = np.empty((room, before[0].shape[1])), np.zeros((room, room))
        self._z, self._v = np.empty(room), np.empty((room, len(self._c)))
        self._l[:had, :had] = before[1][:had, :had]
        for new, old in zip((self._x, self._z, self._v), (before[0], before[2], before[3]), strict=True):
            new[:had] = old[:had]


def _solve(L: Array, K: Array) -> Array:
    """L^-1 K for L (t, t), lower, and K (t, m); from the right and turned over, as BLAS finds both in memory."""
    return np.asarray(dtrsm(1.0, L.T, K.T, side=1).T)


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _blocks(n: int) -> list[slice]:
    return [slice(i, min(i + BLOCK, n)) for i in range(0, n, BLOCK)]


def _finite(name: str, array: Array) -> Array:
    if not np.isfinite(array).all():
        raise BadInput(f"{name} must be finite, got {type_and_shape(array)} with values that are not")
    return array


def _noise(noise: float) -> float:
    if real("noise", noise) < 0:
        raise BadInput(f"noise is a variance and must not be negative, got noise={noise!r}")
    return float(noise)


def _noises(noise: npt.ArrayLike, m: int) -> Array:
    s2 = _finite("noise", np.asarray(noise, dtype=np.float64))
    if s2.shape not in ((), (m,)) or (s2 < 0).any():
        raise BadInput(f"noise must be a variance, or {m} of them, none negative, got {type_and_shape(s2)}")
    return np.broadcast_to(s2, (m,))
