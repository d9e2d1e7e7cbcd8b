"""Logistic regression trained without noise, then published with it, as a front measures it: many seeds at once.

n   examples             gamma  weight of the penalty (gamma / 2) |w|^2
x   features, |x| <= 1   beta   smoothness, 1 + gamma
t   step, 1 ... 10 n     sigma  standard deviation of the noise on every weight
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tacit.errors import BadInput, count, positive
from tacit.gp.threads import one_thread
from tacit.privacy.conversions import gdp_epsilon
from tacit.space import Array, Float, Params, Space
from tacit.training.examples import Examples, Unreleased
from tacit.training.measured import MeasuredAlgorithm, Right

FEW = 4  # runs up to which one after the other is quicker than all at once
KEPT = 8  # values of gamma whose models are kept: only the noise differs between values of sigma
EPOCHS = 10


class OutputPerturbation(MeasuredAlgorithm):
    """Logistic regression with an L2 penalty by SGD over one random order, Gaussian noise on the final weights.

    Guarantee. mu-GDP with mu = 4 / (n gamma sigma), one training record replaced, unconditional; ``epsilons`` converts
    it exactly. ``utility`` draws fast, seeded noise and keeps noise-free models inside: not for release. The trainer
    ``output-perturbation-sgd`` does the same for release.
    Follows. Wu et al. 2017 (arXiv:1606.04722) Algorithm 2, batches of 1, ``epochs`` passes, step min(1/beta, 1/(gamma
    t)), Lipschitz constant 1 + gamma R = 2 with weights within R = 1 / gamma, sensitivity 2 * 2 / (gamma n); Avent2020
    Section 2.2 with gamma in [1e-4, 1], sigma in [0.1, 10]. Proof: docs/proofs/output-perturbation.md.
    Differs. Features are divided by the public ``bound`` and longer ones shortened to norm 1, each by itself; the
    authors divide by the largest norm in the data, which their epsilon does not cover. The projection to |w| <= R is
    left out because it never acts: |(1 - step gamma) w - step r x| <= (1 - step gamma) R + step = R.
    No intercept, as there.
    Edges. An extremely small mu gives epsilon 0. More than two classes and bad arrays are refused.

    >>> X = np.repeat([[-1.0], [1.0]], 50, axis=0)
    >>> algorithm = OutputPerturbation(X, X[:, 0], X, X[:, 0])
    >>> params = {"gamma": 0.01, "sigma": 1.0}
    >>> algorithm.epsilons([params], 1e-6).round(2).tolist(), algorithm.utility(params, seed=1) > 0.5
    ([26.36], True)
    """

    name = "logistic regression, output perturbation"
    label = "no sampling, one record replaced"
    bound: float | None = None
    epochs: int = EPOCHS

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        bound: float = 1.0,
        epochs: int = EPOCHS,
        classes: Sequence[Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.bound, self.epochs = positive("bound", bound), count("epochs", epochs)
        super().__init__(X, y, X_test, y_test, classes=classes, seed=seed)

    def hold(self, examples: Examples) -> None:
        super().hold(examples)
        self.bound = self.bound or examples.X.shape[1] ** 0.5  # of a table's columns, each of deviation 1
        self.space = Space({"gamma": Float(1e-4, 1.0, log=True), "sigma": Float(0.1, 10.0, log=True)})
        self._kept: dict[tuple[float, tuple[int, ...]], Array] = {}

    def sensitivity(self, gamma: float) -> float:
        """How far the weights can move when one record is replaced."""
        return 4.0 / (self.examples.records * gamma)

    def epsilons(self, params: Sequence[Params], delta: float) -> Array:
        """Exact epsilon at delta of each configuration, (n,)."""
        checked = [_read_params(p) for p in params]
        return np.array([gdp_epsilon(self.sensitivity(gamma) / sigma, delta) for gamma, sigma in checked])

    @cached_property
    def _rows(self) -> Array:
        return _shorten(self.examples.X, self.bound or 1.0)

    def _fit(self, gamma: float, orders: NDArray[Any]) -> Array:
        """Noise-free weights (R, d) after passes over each order (R, n)."""
        rows = self._rows * (2.0 * self.examples.y - 1)[:, None]  # y x, classes -1 and 1
        with one_thread():
            if len(orders) > FEW:
                return _descend_together(gamma, rows, orders, self.epochs)
            listed = list(rows)
            return np.array([descend_passes(gamma, [listed[i] for i in order], self.epochs) for order in orders])

    def train(self, params: Params, seeds: Sequence[int]) -> Unreleased:
        """Noisy weights (R, d), one model for each seed. Not for release."""
        gamma, sigma = _read_params(params)
        generators = [np.random.default_rng(seed) for seed in seeds]
        key = (gamma, tuple(seeds))
        orders = np.array([g.permutation(self.examples.records) for g in generators])
        if key not in self._kept:
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = self._fit(gamma, orders)
        w = self._kept[key]
        return Unreleased(w + sigma * np.array([g.standard_normal(w.shape[1]) for g in generators]))

    def correct(self, params: Params, seeds: Sequence[int]) -> Right:
        scores = self.train(params, seeds).reveal() @ self.examples.X_test.T
        known = self.examples.y_test >= 0  # a test label outside the classes is never right
        return np.asarray(((scores > 0) == (self.examples.y_test == 1)) & known)


def _read_params(params: Params) -> tuple[float, float]:
    try:
        return positive("gamma", params["gamma"]), positive("sigma", params["sigma"])
    except KeyError as missing:
        raise BadInput(f"output perturbation needs gamma and sigma; {missing} is missing") from None


def descend_passes(gamma: float, rows: Sequence[Array], epochs: int) -> Array:
    """Weights (d,) after ``epochs`` passes over the rows y x (d,), one at a time: short arrays, so few calls."""
    w, move, beta = np.zeros(len(rows[0])), np.empty(len(rows[0])), 1 + gamma
    t = 0
    for _ in range(epochs):
        for x in rows:
            t += 1
            step = min(1 / beta, 1 / (gamma * t))
            margin = float(w @ x)
            np.multiply(x, step / (1 + math.exp(margin)) if margin < 700 else 0.0, out=move)
            w *= 1 - step * gamma
            w += move
    return w


def _descend_together(gamma: float, rows: Array, orders: NDArray[Any], epochs: int) -> Array:
    """The same for many orders (R, n) at once: long arrays, so that calls are few for each of them."""
    n, w, beta = orders.shape[1], np.zeros((len(orders), rows.shape[1])), 1 + gamma
    for t in range(1, epochs * n + 1):
        x = rows[orders[:, (t - 1) % n]]
        step = min(1 / beta, 1 / (gamma * t))
        x *= step * expit(-np.einsum("ij,ij->i", w, x))[:, None]
        w *= 1 - step * gamma
        w += x
    return w


def _shorten(X: NDArray[Any], bound: float) -> Array:
    """Rows divided by the bound, and those still longer than 1 by their norm."""
    rows = X.astype(float) / bound
    norm = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    shortened: Array = rows / np.maximum(1.0, norm * (1 + 1e-12))[:, None]
    return shortened
