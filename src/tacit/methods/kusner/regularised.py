"""Linear classifiers whose only hyperparameter is their regularisation: the setting of Kusner et al.'s Algorithm 3.

    w_s     argmin_w  s/2 |w|^2 + mean_i loss(y_i w.x_i),    s the strength, |x_i| <= 1, y_i = -1 or 1

The training losses are convex and 1-Lipschitz in w. The validation scores are 1-Lipschitz in w and bounded, and score
every record the same at w = 0:

    logistic    log(1 + exp(-u))         ramp       clip(1 - u, 0, 1)    L = 1, g* = 1, at w = 0 its largest value
    hinge       max(0, 1 - u)            sigmoid    1 - tanh(u)          L = 1, g* = 2, normalised sigmoid

A solver stops near the minimiser, not at it. How near is proven from what it found: |w - w_s| <= |gradient| / s by
strong convexity (logistic), and |w - w_s|^2 <= 2 (primal - dual) / s (hinge). Algorithm 3 adds it to its sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import BadInput, ObjectiveError, choice, positive, type_and_shape
from tacit.space import Array

LOSSES = ("logistic", "hinge")
LIPSCHITZ = {"ramp": 1.0, "sigmoid": 1.0}
LARGEST = {"ramp": 1.0, "sigmoid": 2.0}
SIDES = {"ramp": 1.0, "sigmoid": 2.0}  # of the value at w = 0 on which scores can lie
TOLERANCE = {"logistic": 1e-6, "hinge": 1e-4}
ROUNDS = 30  # restarts of the solver before giving up
ROUNDING = 1e-14  # relative: counted as error of a gradient or a gap, many times what summing floats can cost


class RegularisedClassifier:
    """An objective for method "kusner3" that knows its own constants: strength -> one validation loss per record.

    The training set is public; the validation set is what is protected. Rows are scaled down to norm 1 where they are
    longer: scale the features first, by public numbers. There is no intercept; append a constant column for one.

    Guarantee. Every number that Algorithm 3 needs is a fact of this class: ``lipschitz``, ``bounds``, ``sides``,
    ``tolerance``.
    Follows. Kusner et al. (2015), Assumption 2; Mason et al. (2000) for the normalised sigmoid.
    Edges. A strength whose minimiser is not reached to within ``tolerance`` raises, without a look at the validation
    set. Labels are -1 and 1, or 0 and 1.

    >>> X, y = np.array([[0.6, 0.1], [-0.5, 0.2]]), [1, -1]
    >>> model = RegularisedClassifier(X, y, X, y, loss="hinge", score="ramp")
    >>> model({"strength": 2.0}).shape, model.bounds
    ((2,), (0.0, 1.0))
    """

    def __init__(
        self,
        X_train: ArrayLike,
        y_train: ArrayLike,
        X_validation: ArrayLike,
        y_validation: ArrayLike,
        *,
        loss: str = "logistic",
        score: str = "ramp",
        tolerance: float | None = None,
    ) -> None:
        self.loss, self.score = choice("loss", loss, LOSSES), choice("score", score, tuple(LIPSCHITZ))
        self.lipschitz, self.bounds, self.sides = LIPSCHITZ[score], (0.0, LARGEST[score]), SIDES[score]
        self.tolerance = positive("tolerance", TOLERANCE[loss] if tolerance is None else tolerance)
        self._train, self._validation = _sign_rows(X_train, y_train), _sign_rows(X_validation, y_validation)
        if self._train.shape[1] != self._validation.shape[1]:
            raise BadInput(
                f"training and validation rows must have as many columns, got {self._train.shape[1]} and "
                f"{self._validation.shape[1]}"
            )
        self._models: dict[float, Array] = {}

    @property
    def records(self) -> int:
        """Number of validation records; public."""
        return len(self._validation)

    def __call__(self, params: Mapping[str, Any]) -> Array:
        """One validation loss per record, (records,). Private."""
        if len(params) != 1:
            raise BadInput(f"a regularised classifier has one parameter, its strength, got {sorted(params)}")
        return scores(self.score, self._validation @ self.weights(float(next(iter(params.values())))))

    def weights(self, strength: float) -> Array:
        """The trained model (columns,), within ``tolerance`` of its minimiser. Training rows only, not private."""
        strength = positive("strength", strength)
        if strength not in self._models:
            solve = logistic if self.loss == "logistic" else hinge
            self._models[strength] = solve(self._train, strength, self.tolerance)
        return self._models[strength]

    def __repr__(self) -> str:
        return f"RegularisedClassifier(loss={self.loss!r}, score={self.score!r}, records={self.records})"


def scores(score: str, margins: Array) -> Array:
    """The validation loss at margins u = y w.x."""
    return np.clip(1 - margins, 0.0, 1.0) if score == "ramp" else 1 - np.tanh(margins)


def logistic(Z: Array, strength: float, tolerance: float) -> Array:
    """w (d,) within tolerance of the minimiser, for signed rows Z = y x (n, d): L-BFGS, then Newton steps."""
    from scipy.optimize import minimize
    from scipy.special import expit

    n, d = Z.shape

    def slope(w: Array) -> Array:
        return np.asarray(strength * w - Z.T @ expit(-(Z @ w)) / n)

    def value(w: Array) -> float:
        return float(0.5 * strength * (w @ w) + np.logaddexp(0.0, -(Z @ w)).mean())

    w = minimize(value, np.zeros(d), jac=slope, method="L-BFGS-B", options={"maxiter": 1000}).x
    for _ in range(ROUNDS):
        g = slope(w)
        if math.sqrt(g @ g) + ROUNDING * (1 + strength * math.sqrt(w @ w)) <= strength * tolerance:
            return np.asarray(w)
        p = expit(-(Z @ w))
        w = w - np.linalg.solve((Z.T * (p * (1 - p))) @ Z / n + strength * np.eye(d), g)
    raise _no_solution("logistic", strength, tolerance)


def hinge(Z: Array, strength: float, tolerance: float) -> Array:
    """w (d,) within tolerance of the minimiser, for signed rows Z = y x (n, d): the dual, a box-constrained quadratic.

    a in [0, 1]^n, w = Z'a / (n s); primal s/2 |w|^2 + mean max(0, 1 - Zw); dual mean a - s/2 |w|^2.
    """
    from scipy.optimize import minimize

    n = len(Z)

    def negative_dual(a: Array) -> tuple[float, Array]:
        w = Z.T @ a / (n * strength)
        return float(0.5 * strength * (w @ w) - a.mean()) * n, Z @ w - 1.0

    a = np.full(n, 0.5)
    for _ in range(ROUNDS):
        options = {"maxiter": 5000, "maxfun": 50_000, "ftol": 0.0, "gtol": 0.0, "maxcor": 30}
        a = minimize(negative_dual, a, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * n, options=options).x
        w = Z.T @ a / (n * strength)
        gap = strength * (w @ w) + np.maximum(0.0, 1 - Z @ w).mean() - a.mean()
        if 2 * (max(gap, 0.0) + ROUNDING * (1 + strength * (w @ w))) / strength <= tolerance**2:
            return np.asarray(w)
        a = _polish(Z, strength, a)
    raise _no_solution("hinge", strength, tolerance)


def _polish(Z: Array, strength: float, a: Array) -> Array:
    """One exact step on the coordinates strictly inside the box, clipped back into it."""
    free = (a > 1e-9) & (a < 1 - 1e-9)
    if not free.any():
        return a
    n = len(Z)
    fixed = Z[~free].T @ a[~free]
    target = 1.0 - Z[free] @ fixed / (n * strength)
    inner = np.linalg.lstsq(Z[free] @ Z[free].T / (n * strength), target, rcond=None)[0]
    out = a.copy()
    out[free] = np.clip(inner, 0.0, 1.0)
    return out


def _sign_rows(X: ArrayLike, y: ArrayLike) -> Array:
    """Rows y x with |x| <= 1, (n, d)."""
    rows, labels = np.asarray(X), np.asarray(y)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub" or not rows.size:
        raise BadInput(f"rows must be numbers of shape (records, columns), got {type_and_shape(rows)}")
    if labels.shape != (len(rows),) or not (np.isin(labels, (-1, 1)).all() or np.isin(labels, (0, 1)).all()):
        raise BadInput(f"labels must be -1 and 1, or 0 and 1, of shape ({len(rows)},), got {type_and_shape(labels)}")
    rows = rows.astype(float)
    if not np.isfinite(rows).all():
        raise BadInput(f"rows must be finite, got {type_and_shape(rows)} with values that are not")
    lengths = np.linalg.norm(rows, axis=1)
    rows = rows / np.maximum(lengths * (1 + 1e-12), 1.0)[:, None]
    signs = np.where(labels == 1, 1.0, -1.0)
    return np.asarray(rows * signs[:, None])


def _no_solution(loss: str, strength: float, tolerance: float) -> ObjectiveError:
    return ObjectiveError(
        f"the {loss} model at strength {strength:g} was not solved to within {tolerance:g} of its minimiser; scale the "
        "features, use larger strengths or a larger tolerance. The validation set was not looked at"
    )
