"""Logistic regression trained without noise, then published with it.

n   examples             gamma  weight of the penalty (gamma / 2) |w|^2
x   features, |x| <= 1   beta   smoothness, 1 + gamma
t   step, 1 ... 10 n     sigma  standard deviation of the noise on every weight
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tacit.errors import BadInput, GuaranteeError, count, positive
from tacit.gp.threads import one_thread
from tacit.privacy.conversions import gdp_epsilon
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.mechanisms import Gaussian
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.origin import ELSEWHERE, describe_origin
from tacit.privacy.release import Release
from tacit.privacy.units import TRAINING as UNIT
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Array, Float, Params, Space
from tacit.training.examples import ENCODED, Examples, Unreleased

if TYPE_CHECKING:
    import pandas as pd

    from tacit.data.schema import Schema
    from tacit.privacy.ledger_like import LedgerLike

EPS = 2.0**-52
FEW = 4  # runs up to which one after the other is quicker than all at once
KEPT = 8  # values of gamma whose models are kept: only the noise differs between values of sigma


class OutputPerturbation:
    """Logistic regression with an L2 penalty by SGD over one random order, Gaussian noise on the final weights.

    Guarantee. mu-GDP with mu = 4 / (n gamma sigma), one training record replaced, unconditional; ``epsilons`` converts
    it exactly. ``utility`` draws fast, seeded noise and keeps noise-free models inside: not for release.
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

    name: ClassVar[str] = "logistic regression, output perturbation"
    label: ClassVar[str] = "no sampling, one record replaced"

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        bound: float = 1.0,
        epochs: int = 10,
        classes: Sequence[Any] | None = None,
        seed: int = 0,
    ) -> None:
        self._hold(Examples.of(X, y, X_test, y_test, classes=classes, seed=seed), bound, epochs)

    @classmethod
    def from_table(cls, table: pd.DataFrame, target: str, seed: int = 0, schema: Schema | None = None) -> Self:
        """The algorithm on a table, a fifth of it held out. Encoded by its training rows: no model is released."""
        made = cls.__new__(cls)
        examples = Examples.from_table(table, target, seed=seed, schema=schema)
        made._hold(examples, examples.X.shape[1] ** 0.5, 10)
        return made

    def _hold(self, examples: Examples, bound: float, epochs: int) -> None:
        if len(examples.classes) != 2:
            raise BadInput(f"{self.name} takes two classes, got {len(examples.classes)}")
        self.examples, self.bound, self.epochs = examples, positive("bound", bound), count("epochs", epochs)
        self.records = len(examples.X_test)
        self._kept: dict[tuple[float, tuple[int, ...]], Array] = {}

    @cached_property
    def space(self) -> Space:
        return Space({"gamma": Float(1e-4, 1.0, log=True), "sigma": Float(0.1, 10.0, log=True)})

    def sensitivity(self, gamma: float) -> float:
        """How far the weights can move when one record is replaced."""
        return 4.0 / (self.examples.records * gamma)

    def room(self, gamma: float) -> float:
        """Share to add to the sensitivity of a release for rounding in double precision.

        Each step rounds the weights, at most R = 1 / gamma, by eps R, and its residual by d eps R / 4. What step t
        does shrinks by t / T until the end, and its step is 1 / (gamma t): in all T eps R / 2 and d eps R / (4 gamma),
        over a sensitivity of 4 / (n gamma). Four times that, and a part in 1e9.
        """
        n, d = self.examples.X.shape
        return float(1e-9 + 4 * EPS * (self.epochs * n * n / 8 + d * n / (16 * gamma)))

    def epsilons(self, params: Sequence[Params], delta: float) -> Array:
        """Exact epsilon at delta of each configuration, (n,)."""
        checked = [_read_params(p) for p in params]
        return np.array([gdp_epsilon(self.sensitivity(gamma) / sigma, delta) for gamma, sigma in checked])

    @cached_property
    def _rows(self) -> Array:
        return _shorten(self.examples.X, self.bound)

    def _fit(self, gamma: float, orders: NDArray[Any]) -> Array:
        """Noise-free weights (R, d) after passes over each order (R, n)."""
        rows = self._rows * (2.0 * self.examples.y - 1)[:, None]  # y x, classes -1 and 1
        with one_thread():
            if len(orders) > FEW:
                return _descend_together(gamma, rows, orders, self.epochs)
            listed = list(rows)
            return np.array([_descend(gamma, [listed[i] for i in order], self.epochs) for order in orders])

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

    def utilities(self, params: Params, seeds: Sequence[int]) -> Array:
        """Test accuracy of one run for each seed, (R,)."""
        return np.asarray(self._correct(params, seeds).mean(axis=1), float)

    def baselines(self) -> dict[str, float]:
        """What a constant guess and, of linear models, one without privacy reach on the test rows."""
        return self.examples.baselines(linear=True)

    def utility(self, params: Params, seed: int) -> float:
        """Test accuracy of one run."""
        return float(self.utilities(params, [seed])[0])

    def each_utility(self, params: Params, seed: int) -> Array:
        """For every test record whether one run classes it right, (records,)."""
        return np.asarray(self._correct(params, [seed])[0], float)

    def _correct(self, params: Params, seeds: Sequence[int]) -> NDArray[np.bool_]:
        scores = self.train(params, seeds).reveal() @ self.examples.X_test.T
        known = self.examples.y_test >= 0  # a test label outside the classes is never right
        return np.asarray(((scores > 0) == (self.examples.y_test == 1)) & known)

    @classmethod
    def worst_pairs(cls, records: int = 200) -> tuple[WorstPair, ...]:
        """One record pulls the weights to the one side, then to the other.

        The others make the weights long in the first direction. Ours lies against it, so its residual is near 1
        whatever its second coordinate; that one turns, and its whole pull with it.
        """
        params, sides = {"gamma": 0.02, "sigma": 0.5}, cls.turn_record(records)
        claim = Budget.gdp(sides[0].sensitivity(params["gamma"]) / params["sigma"])

        def play(side: int, noise: Source) -> Any:
            return sides[side].train_for_release(params, noise=noise).value

        about = f"{records} records; one that the others class wrong turns its second coordinate"
        return (WorstPair(about, claim, play, share=0.334),)

    @classmethod
    def turn_record(cls, records: int) -> list[Self]:
        """The algorithm on either side of its worst pair."""
        X, made = np.tile([1.0, 0.0], (records, 1)), []
        y = np.r_[np.ones(records - 1), 0]  # a second class must occur; it says the same as the others
        X[-1] = -1.0, 0.0
        for second in (1.0, -1.0):
            X[0] = -0.5, 0.75**0.5 * second
            made.append(cls(X.copy(), y, X, y, classes=(0, 1)))
        return made

    def train_for_release(
        self, params: Params, *, ledger: LedgerLike = None, purpose: str = "", noise: Source = EXACT
    ) -> Release[Any]:
        """Weights of the features divided by ``bound``, with exact noise; the ledger is debited before it is drawn.

        Guarantee. mu-GDP, with ``room`` added to the sensitivity for rounding. The order comes from the operating
        system's secure generator.
        Edges. Refused unless the classes were named when this object was made.
        """
        if not self.examples.stated:
            raise GuaranteeError(
                "Name the classes to train for release, such as classes=(0, 1): reading them off the data is not "
                "covered by the guarantee. Nothing was released."
            )
        gamma, sigma = _read_params(params)
        sensitivity = self.sensitivity(gamma) * (1 + self.room(gamma))
        size = self.examples.X.shape[1]
        premises = (ENCODED, ELSEWHERE)
        mechanism = Gaussian(sensitivity, scale=sigma, size=size, unit=UNIT, noise=noise, premises=premises)
        order = list(range(self.examples.records))
        secrets.SystemRandom().shuffle(order)
        w = self._fit(gamma, np.array([order]))[0]
        paying = as_ledger(ledger)
        made = mechanism.release(w, ledger=paying, purpose=purpose)
        data = self.examples.identify().seal()
        return replace(made, about=describe_origin(made.guarantee, chosen=ELSEWHERE, data=data, ledger=paying))


def _read_params(params: Params) -> tuple[float, float]:
    try:
        return positive("gamma", params["gamma"]), positive("sigma", params["sigma"])
    except KeyError as missing:
        raise BadInput(f"output perturbation needs gamma and sigma; {missing} is missing") from None


def _descend(gamma: float, rows: Sequence[Array], epochs: int) -> Array:
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
