"""Logistic regression and linear support vector machine, trained by DP-SGD or DP-Adam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, GuaranteeError, probability
from tacit.gp.threads import one_thread
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.mechanisms import SIMULATED
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.origin import ELSEWHERE, describe_origin
from tacit.privacy.release import Release, digest
from tacit.privacy.units import TRAINING as UNIT
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Array, Params
from tacit.training.by_lots import ByLots
from tacit.training.examples import ENCODED, Unreleased
from tacit.training.linear import Floats, Rows, Update, clipped_sums, train
from tacit.training.lots import ACCOUNTING, LotSettings, distinct_lots
from tacit.training.secret_lots import draw_lot

if TYPE_CHECKING:
    from tacit.privacy.ledger_like import LedgerLike

ROOM = 1e-5  # share of the clip kept free for rounding when a model is released


@dataclass(frozen=True)
class LinearModel:
    """Weights of the features, then the intercept; predicts the second class where the score is positive."""

    __released__ = True

    weights: Array
    classes: tuple[Any, Any]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        score = np.asarray(X, float) @ self.weights[:-1] + self.weights[-1]
        found: NDArray[Any] = np.asarray(self.classes)[(score > 0).astype(int)]
        return found


class Linear(ByLots):
    """A linear classifier of two classes by DP-SGD or DP-Adam; the subclasses below name its loss and optimiser.

    Guarantee. ``train_for_release`` is (epsilon, delta) for one training record replaced, unconditional, with epsilon
    from the privacy loss distribution for fixed-size lots drawn afresh without replacement. Adam only post-processes
    the noisy gradients. ``utility`` and ``train`` draw fast, seeded noise: what they give is not released.
    Follows. Avent2020 Algorithms 3 and 4; utility is accuracy on the test set, as there. Proof:
    docs/proofs/subsampled-gaussian.md.
    Differs. T floor(n / m) steps; an intercept, whose gradient is clipped with the rest.
    Edges. More than two classes, a lot larger than the data and bad arrays are refused. With ``shared_lots`` the seeds
    of one call share their lots, two to three times faster: each model is still a fair one, but they vary together.

    >>> X = np.repeat([[0.0], [1.0]], 50, axis=0)
    >>> algorithm = LogisticSGD(X, X[:, 0], X, X[:, 0])
    >>> params = {"epochs": 8, "lot": 10, "rate": 0.5, "variance": 1.0, "clip": 1.0}
    >>> algorithm.epsilons([params], 1e-5).round(1).tolist(), algorithm.utility(params, seed=1) > 0.5
    ([7.0], True)
    """

    loss: ClassVar[str] = "logistic"
    optimiser: ClassVar[str] = "sgd"
    shared_lots: bool = False

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | None = None,
        shared_lots: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(X, y, X_test, y_test, classes=classes, seed=seed)
        self.shared_lots = shared_lots

    @cached_property
    def _rows(self) -> Rows:
        return Rows.of(self.examples.X, self.examples.y, self.loss, np.float32)

    def train(self, params: Params, seeds: Sequence[int]) -> Unreleased:
        """Weights (R, d + 1) of one model for each seed, all trained in one pass. Not for release."""
        s = LotSettings.of(params, self.examples.records)
        shape = (1, len(seeds)) if self.shared_lots else (len(seeds), 1)
        coins = _fast_coins(s, seeds, self._rows.X.shape[1], self.shared_lots)
        with one_thread(), np.errstate(over="ignore"):
            return Unreleased(train(self._rows, s, self.optimiser, coins, shape).reshape(len(seeds), -1))

    def _correct(self, params: Params, seeds: Sequence[int]) -> NDArray[np.bool_]:
        W = self.train(params, seeds).reveal().astype(float)
        positive = W[:, :-1] @ self.examples.X_test.T + W[:, -1:] > 0
        known = self.examples.y_test >= 0  # a test label outside the classes is never right
        return np.asarray((positive == (self.examples.y_test == 1)) & known)

    def train_for_release(
        self,
        params: Params,
        *,
        delta: float,
        ledger: LedgerLike = None,
        purpose: str = "",
        noise: Source = EXACT,
    ) -> Release[LinearModel]:
        """Debit the ledger and commit, then train with exact noise and secret lots, and return the model.

        Guarantee. (epsilon, delta) with the epsilon of ``epsilons``, one training record replaced, unconditional. Noise
        is exact. Lots come from a cryptographic generator.
        Differs. Gradients are clipped to (1 - 1e-5) of the clip. That room covers the rounding of sums in double
        precision, so the epsilon stated needs no exact arithmetic.
        Edges. Refused unless the classes were named when this object was made, since reading them off the data is not
        covered. Of a ledger's delta a tenth is for releases with a delta of their own, but for its first charge.
        ``noise=Simulation(seed)`` gives a release stamped as without a guarantee, for tests.
        """
        if not self.examples.stated:
            raise GuaranteeError(
                "Name the classes to train for release, such as classes=(0, 1): reading them off the data is not "
                "covered by the guarantee. Nothing was released."
            )
        delta, paying = probability("delta", delta), as_ledger(ledger)
        s = LotSettings.of(params, self.examples.records)
        epsilon = float(self.epsilons([params], delta)[0])
        if not np.isfinite(epsilon):
            raise GuaranteeError("these hyperparameters have no finite epsilon. Nothing was released.")
        if s.lot**2 * 2.0**-52 > ROOM:  # m terms of norm L, each off by m L at most (Higham 2002)
            raise BadInput(
                "this large a lot leaves too little room for rounding; make it smaller. Nothing was released"
            )
        algorithm = "Algorithm 4" if self.optimiser == "adam" else "Algorithm 3"
        source = f"Avent2020 {algorithm}; {self.label}; {ACCOUNTING}"
        guarantee = Guarantee(
            Budget("approximate", epsilon, delta), UNIT, (), source, delta, premises=(ENCODED, ELSEWHERE)
        )
        if noise.simulated:
            guarantee = Guarantee.none(SIMULATED, UNIT)
        payment = paying.charge(guarantee, purpose) if paying is not None else None
        a, b = self.examples.classes
        model = LinearModel(self._exact(s, noise), (a, b))
        if paying is not None and payment is not None:
            paying.settle(payment, digest(model))
        data = self.examples.identify().seal()
        return Release(
            model, guarantee, payment, describe_origin(guarantee, chosen=ELSEWHERE, data=data, ledger=paying)
        )

    @classmethod
    def worst_pairs(cls) -> tuple[WorstPair, ...]:
        """The label of a record with a long gradient is turned; lots are a quarter of the records."""
        params = {"epochs": 5, "lot": 256, "rate": 1e-6, "variance": 9.0, "clip": 1.0}
        X, delta = np.zeros((1024, 1)), 1e-5
        X[0] = 1e3
        sides = [cls(X, np.r_[label, np.zeros(1023, int)], X[:2], [0, 1], classes=(0, 1)) for label in (0, 1)]
        claim = Budget.approximate(float(sides[0].epsilons([params], delta)[0]), delta)

        def play(side: int, noise: Source) -> Any:
            return sides[side].train_for_release(params, delta=delta, noise=noise)

        about = "1,024 records in lots of 256; the label of one with a clipped gradient is turned"
        return (WorstPair(about, claim, play, share=0.975),)

    def _exact(self, s: LotSettings, noise: Source) -> Array:
        """The same steps in double precision, lots and noise drawn one by one from the secure sources."""
        rows = Rows.of(self.examples.X, self.examples.y, self.loss, np.float64)
        W = np.zeros((1, 1, rows.X.shape[1]))
        update = Update(self.optimiser, s, W)
        with one_thread(), np.errstate(over="ignore"):
            for _ in range(s.steps):
                lot = draw_lot(s.records, s.lot)[None]
                largest = (1 - ROOM) * s.clip / rows.norm[lot][:, None]
                sums = clipped_sums(rows.loss, W, rows.X[lot], rows.target[lot][:, None], largest)
                update(W, noise.gaussian(sums, s.noise))
        return np.asarray(W[0, 0], float)


class LogisticSGD(Linear):
    """Logistic regression by DP-SGD (Avent2020 Algorithm 3)."""

    name = "logistic regression, DP-SGD"


class LogisticAdam(Linear):
    """Logistic regression by DP-Adam (Avent2020 Algorithm 4)."""

    optimiser = "adam"
    name = "logistic regression, DP-Adam"


class SupportVectorSGD(Linear):
    """Linear support vector machine, hinge loss without a penalty, by DP-SGD (Avent2020 Algorithm 3)."""

    loss = "hinge"
    name = "linear SVM, DP-SGD"


def _fast_coins(
    s: LotSettings, seeds: Sequence[int], width: int, shared: bool
) -> Iterator[tuple[NDArray[np.int32], Floats]]:
    """Blocks of lots and normals; each seed's own stream, whatever other seeds train beside it."""
    generators = [np.random.default_rng(seed) for seed in seeds]
    drawing = generators[:1] if shared else generators
    for start in range(0, s.steps, s.block(width)):
        b = min(s.block(width), s.steps - start)
        lots = np.stack([distinct_lots(g, s.records, s.lot, b) for g in drawing], axis=1)
        noise = np.stack([g.standard_normal((b, width), dtype=np.float32) for g in generators], axis=1)
        yield lots, noise.reshape(b, len(drawing), -1, width)
