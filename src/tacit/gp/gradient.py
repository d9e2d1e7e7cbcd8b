"""The posterior of a function's gradient, for all records at once.

Which places are evaluated decides how well a gradient is known; which values are found there decides what it is. So the
places come first, and everything about them is one small matrix that is then applied to the losses of every record.

    X       places that were evaluated (m, d)                K       k(X, X) + noise, (m, m)
    Z       places to be added (b, d)                        G       derivatives of k(theta, X) in theta, (m, d)
    H       K^-1 G, (m, d): the weights of X, transposed     alpha   trace of the posterior covariance of the gradient

The posterior mean gradient of values y (m, n), one column for each record, is H' y, (d, n).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular

from tacit.errors import BadInput, type_and_shape
from tacit.gp.exact import GaussianProcess
from tacit.gp.form import Array, Kernel

NUGGET = 1e-8
"""Share of the prior variance taken as the least evaluation noise while a design is optimised: without any, the best
design shrinks onto a single point, where floating-point numbers run out."""


class GradientPosterior:
    """What evaluations at ``points`` will tell of f and its gradient, f ~ GP(0, kernel), with noise of known variance.

    Follows. Sopa et al. (2025), section 2.4 and line 6 of Algorithm 1; section 3.4 for ``noise``.
    Edges. A place whose value the others already determine (a duplicate without noise) adds nothing and is left out of
    ``points``. Without points the posterior is the prior.

    >>> from tacit.gp.kernels import RBF
    >>> known = GradientPosterior(RBF((1.0, 1.0)))
    >>> known.append(np.array([[0.1, 0.0], [-0.1, 0.0], [0.1, 0.0]]))
    2
    >>> known.weights(np.zeros(2))[0].round(3).tolist()    # nearly a central difference
    [5.025, -5.025]
    >>> round(known.trace(np.zeros(2)), 4)                 # nothing is known along the second coordinate
    1.0
    """

    def __init__(self, kernel: Kernel, *, noise: float = 0.0) -> None:
        self.kernel = kernel
        self._gp = GaussianProcess(kernel, noise=noise)

    @property
    def points(self) -> Array:
        """The places that count, X (m, d)."""
        return self._gp.points

    @property
    def noise(self) -> float:
        return self._gp.noise

    def append(self, Z: npt.ArrayLike) -> int:
        """Add places (b, d) to the factor of K in O(m^2 b); the number of those that count."""
        before = len(self._gp)
        Z = np.atleast_2d(np.asarray(Z, float))
        self._gp.extend(Z, np.zeros(len(Z)))
        return len(self._gp) - before

    def nearest(self, theta: Array, most: int) -> GradientPosterior:
        """The same over at most ``most`` places, the nearest to theta in length-scales; itself if that is all."""
        if len(self.points) <= most:
            return self
        away = ((self.points - theta) ** 2 @ self.kernel.weights).argsort(kind="stable")[:most]
        posterior = GradientPosterior(self.kernel, noise=self.noise)
        posterior.append(self.points[np.sort(away)])
        return posterior

    def weights(self, theta: Array) -> Array:
        """H' (d, m): the posterior mean gradient at theta (d,) is H' times the values at ``points``."""
        return self._back(self._gp.whiten(self._slopes(theta))).T

    def mean(self, theta: Array, values: Array) -> Array:
        """Posterior mean gradients (d, n) at theta from values (m, n), one column for each record."""
        values = np.asarray(values, float)
        if values.shape[:1] != (len(self.points),):
            raise BadInput(
                f"values must have one row for each of {len(self.points)} points, got {type_and_shape(values)}"
            )
        return self.weights(theta) @ values

    def covariance(self, theta: Array) -> Array:
        """Posterior covariance (d, d) of the gradient at theta: it depends on no value."""
        W = self._gp.whiten(self._slopes(theta))
        return self._prior(theta) - W.T @ W

    def trace(self, theta: Array) -> float:
        """alpha, the trace of ``covariance``."""
        W = self._gp.whiten(self._slopes(theta))
        return max(0.0, float(np.trace(self._prior(theta)) - (W * W).sum()))

    def criterion(self, theta: Array) -> Callable[[Array], tuple[float, Array]]:
        """A function from places Z (b, d) to alpha once they are added, and its derivatives (b, d) in Z.

        alpha = tr(prior) - tr(G' K^-1 G), so d alpha = -2 tr(H' dG) + tr(H' dK H), and only the rows of Z move.
        """
        k, at, m = self.kernel, np.atleast_2d(theta), len(self.points)
        X, known = np.array(self.points), self._gp.whiten(self._slopes(theta))
        before = float(np.trace(self._prior(theta)) - (known * known).sum())
        noise = max(self.noise, NUGGET * k.variance)

        def alpha(Z: Array) -> tuple[float, Array]:
            both = np.concatenate([X, Z])
            covariances = k(both, Z)
            rows = self._gp.whiten(covariances[:m])
            S = covariances[m:] - rows.T @ rows
            S[np.diag_indices(len(Z))] += noise
            F = _factor(S, k.variance)
            new = solve_triangular(F, k.first(at, Z)[0] - rows.T @ known, lower=True, check_finite=False)
            HZ = solve_triangular(F, new, lower=True, trans=1, check_finite=False)
            H = np.concatenate([self._back(known - rows @ HZ), HZ])
            moved = np.einsum("ji,jiq->jq", HZ @ H.T, k.first(Z, both))
            moved -= np.einsum("jp,jpq->jq", HZ, k.mixed_derivative(at, Z)[0])
            return before - float((new * new).sum()), np.asarray(2.0 * moved)

        return alpha

    def _slopes(self, theta: Array) -> Array:
        return np.asarray(self.kernel.first(self.kernel.check_points(np.atleast_2d(theta)), self.points)[0])

    def _prior(self, theta: Array) -> Array:
        at = np.atleast_2d(theta)
        return np.asarray(self.kernel.mixed_derivative(at, at)[0, 0])

    def _back(self, W: Array) -> Array:
        """L^-T W."""
        if not len(W):
            return W
        return np.asarray(solve_triangular(self._gp.factor, W, lower=True, trans=1, check_finite=False))


def _factor(S: Array, variance: float) -> Array:
    """The Cholesky factor of S, with ever more on the diagonal until it exists: places may coincide on the way."""
    extra = 0.0
    while True:
        try:
            return np.asarray(cholesky(S + extra * np.eye(len(S)), lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            extra = max(10 * extra, NUGGET * variance)
