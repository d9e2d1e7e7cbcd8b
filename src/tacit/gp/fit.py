"""Hyperparameters by evidence: the kernel and noise under which the values are most likely, softly held to a prior.

    z       values, shifted and scaled: (y - mean) / scale      K       k(X, X) + noise, of z
    theta   log length-scales, log variance, [log noise]        W       K^-1 - (K^-1 z)(K^-1 z)'

The negative log evidence has the derivative tr(W dK/dtheta) / 2. Every kernel is v g(s) with s linear in 1/l^2, so
the pairs of points are taken apart once, for one triangle of K, and each evaluation is two matrix-vector products, one
profile, and one Cholesky factor with its inverse, in place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from tacit.errors import BadInput, count, positive, real, type_and_shape
from tacit.gp.exact import GaussianProcess
from tacit.gp.form import Array, Kernel

SCOUTS = 64
"""Restarts look at this many points at most; the best of them is then polished on all."""

ENOUGH = 1e-3
"""A step that gains less log evidence ends a search for hyperparameters."""

LONGEST = 1.0
"""Of one step of that search, in logarithms."""

JITTER = 1e-8
"""Share of its prior variance added to every point, so that duplicates without noise have an evidence."""


@dataclass(frozen=True)
class FittedModel:
    """A fitted prior: ``GaussianProcess(kernel, noise=noise, mean=mean, scale=scale)``.

    ``noise`` is the fitted part of the noise variance, in the units of the values, on top of the noise that was known.
    ``objective`` is the log evidence of the scaled values plus the log prior of the hyperparameters, up to a constant.
    """

    kernel: Kernel
    noise: float
    mean: float
    scale: float
    objective: float
    evaluations: int

    def condition(
        self,
        X: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        noise: npt.ArrayLike = 0.0,
        candidates: npt.ArrayLike | None = None,
    ) -> GaussianProcess:
        """The posterior given values (n,) at X (n, d) whose known noise variance is ``noise``, a number or (n,).

        Later observations have the same noise when it is a number; when it is (n,), pass theirs to ``append``.
        """
        known = np.asarray(noise, dtype=np.float64)
        n = len(np.asarray(values))
        room = n + max(8, n // 2) if candidates is None else max(1, n)  # some follow before the next fit
        usual = self.noise + (float(known) if known.ndim == 0 else 0.0)
        gp = GaussianProcess(
            self.kernel, noise=usual, mean=self.mean, scale=self.scale, candidates=candidates, capacity=room
        )
        gp.extend(X, values, noise=known + self.noise)
        return gp


def fit(
    kernel: Kernel,
    X: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    noise: npt.ArrayLike = 0.0,
    fit_noise: bool = True,
    mean: float | None = None,
    scale: float | None = None,
    warm: FittedModel | None = None,
    restarts: int = 2,
    prior: HyperPrior | None = None,
) -> FittedModel:
    """Fit length-scales, variance and noise to values (n,) at the points X (n, d), which live in the unit cube.

    ``noise`` is the known noise variance, a number or (n,). With ``fit_noise=True`` it is a floor, and more is fitted
    on top; with ``fit_noise=False`` it is all there is. Mean and scale are those of the values unless given. The search
    starts at ``warm``, or else at ``kernel`` (whose class and offset are kept), and at ``restarts`` other places, all
    fixed: equal inputs give equal answers.

    The weak ``prior``, normal in the logarithms, keeps few points well-posed: see HyperPrior.

    Edges: no points give the prior's centre; one point, or values all the same, have scale 1; duplicates are fine.

    >>> from tacit.gp.kernels import RBF
    >>> x = np.linspace(0, 1, 12)[:, None]
    >>> fitted = fit(RBF((1.0,)), x, np.sin(6 * x[:, 0]))
    >>> 0.1 < fitted.kernel.lengthscales[0] < 0.6
    True
    """
    X = kernel.check_points(X)
    y = np.asarray(values, dtype=np.float64)
    known = np.asarray(noise, dtype=np.float64)
    if y.shape != X.shape[:1] or known.shape not in ((), y.shape):
        raise BadInput(
            f"values must have shape ({len(X)},), noise too or be a number, got {type_and_shape(y)}, "
            f"{type_and_shape(known)}"
        )
    if not (np.isfinite(X).all() and np.isfinite(y).all() and np.isfinite(known).all() and (known >= 0).all()):
        raise BadInput(f"points, values and noise must be finite, noise not negative, got points of shape {X.shape}")
    centre = real("mean", mean) if mean is not None else float(y.mean()) if len(y) else 0.0
    width = positive("scale", scale) if scale is not None else _spread(y)
    z = (y - centre) / width
    known = np.broadcast_to(known / width**2, z.shape)

    held = _HyperPrior.of(kernel.dimensions, fit_noise, prior or HyperPrior())
    first = held.clip(_start(warm.kernel if warm else kernel, warm, width, held))
    others = _other_start(held, count("restarts", restarts, least=0))
    starts = [first, *(start for start in others if np.abs(start - first).max() > 1e-6)]
    everything = _Evidence(kernel, X, z, known, held)
    scout, evaluations = everything, 0
    if len(starts) > 1 and len(z) > SCOUTS:
        # Spread over the whole sequence, not its beginning: proposals cluster as a run goes on.
        some = np.unique(np.linspace(0, len(z) - 1, SCOUTS).round().astype(np.intp))
        scout = _Evidence(kernel, X[some], z[some], known[some], held)
    theta, loss = min((_climb(scout, start) for start in starts), key=lambda found: found[1])
    if scout is not everything:
        evaluations, (theta, loss) = scout.evaluations, _climb(everything, theta)
    fitted = math.exp(theta[-1]) * width**2 if fit_noise else 0.0
    best = kernel.with_log_parameters(theta[: kernel.dimensions + 1])
    return FittedModel(best, fitted, centre, width, -loss, evaluations + everything.evaluations)


@dataclass(frozen=True)
class HyperPrior:
    """Where hyperparameters are expected: normals in the logarithms.

    ``lengthscale`` times sqrt(d) is the centre of every length-scale (sd 1), ``noise`` the logarithm of the fitted
    noise (sd 2) relative to the scale squared. The variance is about 1 (sd 1), relative to the same.
    """

    lengthscale: float = 0.5
    noise: float = -4.0


@dataclass(frozen=True)
class _HyperPrior:
    """Independent normals on theta, and a box that only a degenerate evidence reaches."""

    centre: Array
    deviation: Array
    low: Array
    high: Array

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, d: int, noise: bool, prior: HyperPrior) -> _HyperPrior:
        table = [(math.log(prior.lengthscale * math.sqrt(d)), 1.0, math.log(5e-3), math.log(1e2))] * d
        table.append((0.0, 1.0, math.log(1e-3), math.log(1e3)))
        if noise:
            table.append((prior.noise, 2.0, math.log(1e-8), math.log(1e1)))
        return cls(*np.array(table).T)

    def clip(self, theta: Array) -> Array:
        return np.clip(theta, self.low, self.high)


@lru_cache(maxsize=4)
def _triangle(n: int) -> tuple[Any, ...]:
    """One triangle of an (n, n) matrix, diagonal included, lower in Fortran order: columns, rows, places; and what each
    entry counts in a trace."""
    j, i = np.triu_indices(n)
    half = np.where(i == j, 0.5 * (1.0 + JITTER), 1.0)
    return i, j, j * n + i, half


class _Evidence:
    """Negative log evidence plus negative log prior of theta, with gradient; counts its evaluations."""

    def __init__(self, kernel: Kernel, X: Array, z: Array, known: Array, prior: _HyperPrior) -> None:
        n = len(z)
        self.kernel, self.z, self.known, self.prior, self.evaluations = kernel, z, known, prior, 0
        i, j, self._at, self._half = _triangle(n)
        self._m = kernel.pairs(X, i, j)
        self._K = np.zeros(n * n)
        self._square = self._K.reshape(n, n).T  # in Fortran order, for LAPACK to work in
        self._diagonal = self._K[:: n + 1]
        self._constant = 0.5 * n * math.log(2 * math.pi)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        self.evaluations += 1
        n, d = len(self.z), self.kernel.dimensions
        away = (theta - self.prior.centre) / self.prior.deviation
        loss, slope = 0.5 * float(away @ away) + self._constant, away / self.prior.deviation
        if not n:
            return loss, slope
        likely = np.exp(theta)
        weights, v = 1.0 / (likely[:d] * likely[:d]), float(likely[d])
        added = float(likely[-1]) if len(theta) > d + 1 else 0.0
        g, bent = self.kernel.profile(self._m, weights)
        flat, diagonal = self._K, self._diagonal
        flat[self._at] = v * g
        diagonal *= 1.0 + JITTER
        diagonal += self.known
        diagonal += added
        factor, failed = dpotrf(self._square, lower=1, clean=0, overwrite_a=1)
        if failed:  # rounding swallowed the jitter: the line search turns back
            return 1e10, np.zeros_like(theta)
        alpha, _ = dpotrs(factor, self.z, lower=1)
        loss += 0.5 * float(self.z @ alpha) + float(np.log(diagonal).sum())
        # From here on flat holds W: LAPACK works in its memory.
        W, _ = dpotri(factor, lower=1, overwrite_c=1)
        dsyr(-1.0, alpha, a=W, lower=1, overwrite_a=1)
        w = flat[self._at]
        w *= self._half
        slope[d] += v * float(w @ g)
        if len(theta) > d + 1:
            slope[d + 1] += 0.5 * added * float(diagonal.sum())
        w *= bent
        slope[:d] += (-2.0 * v) * weights * (self._m @ w)
        return loss, slope


def _climb(evidence: _Evidence, start: Array) -> tuple[Array, float]:
    """Quasi-Newton descent within the prior's box, from the prior's own widths; for a handful of parameters.

    It ends when a step gains, or promises, less than ``ENOUGH``. SciPy's L-BFGS-B finds the same and spends more on
    its own bookkeeping than an evidence of 30 points costs.
    """
    x, low, high = start, evidence.prior.low, evidence.prior.high
    loss, slope = evidence(x)
    inverse = np.diag(evidence.prior.deviation**2)  # of the Hessian, as far as it is known
    for _ in range(60):
        step = inverse @ slope
        if ((x <= low) | (x >= high)).any():  # rare: what pushes out of the box stays where it is
            held = ((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0))
            step = np.where(held, 0.0, inverse @ np.where(held, 0.0, slope))
        far = math.sqrt(step @ step)
        step *= -min(1.0, LONGEST / far) if far > 0 else 0.0
        if -float(step @ slope) < ENOUGH:
            break
        before, there, moved, loss, steeper = loss, *_search_line(evidence, x, step, loss, slope)
        if loss >= before:
            return x, before
        bend = steeper - slope
        x, slope, curvature = there, steeper, float(moved @ bend)
        if before - loss < ENOUGH:
            break
        if curvature > 1e-12:
            away = inverse @ bend
            away -= moved * (0.5 * (1.0 + float(bend @ away) / curvature))
            away /= -curvature
            rise = away[:, None] * moved
            inverse += rise
            inverse += rise.T
    return x, loss


def _search_line(
    evidence: _Evidence, x: Array, step: Array, before: float, slope: Array
) -> tuple[Array, Array, float, Array]:
    """Along a step, or less of it: where it leads, how far that is, and the loss and slope there."""
    share = 1.0
    while True:
        there = np.minimum(np.maximum(x + share * step, evidence.prior.low), evidence.prior.high)
        moved = there - x
        loss, steeper = evidence(there)
        promise = float(slope @ moved)
        if loss <= before + 1e-4 * promise or share < 1e-3:
            return there, moved, loss, steeper
        share *= max(0.1, min(0.5, -0.5 * promise / (loss - before - promise)))


def _start(kernel: Kernel, warm: FittedModel | None, width: float, prior: _HyperPrior) -> Array:
    theta = prior.centre.copy()
    theta[: kernel.dimensions + 1] = kernel.log_parameters
    if warm is not None:
        theta[kernel.dimensions] += 2 * math.log(warm.scale / width)
        if len(theta) > kernel.dimensions + 1 and warm.noise > 0:
            theta[-1] = math.log(warm.noise / width**2)
    return theta


def _other_start(prior: _HyperPrior, restarts: int) -> list[Array]:
    """Centre of the prior, then all parameters shorter, longer, much shorter, ... by one prior deviation each."""
    steps = [0.0] + [sign * size for size in range(1, restarts + 1) for sign in (-1.0, 1.0)]
    return [prior.clip(prior.centre + step * prior.deviation) for step in steps[:restarts]]


def _spread(y: Array) -> float:
    spread = float(y.std()) if len(y) else 0.0
    return spread if spread > 1e-12 * float(np.abs(y).max(initial=0.0)) else 1.0
