"""Linear models by DP-SGD and DP-Adam as a front measures them: many seeds at once, models and optimisers searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.gp.threads import one_thread
from tacit.space import Choice, Params
from tacit.training.by_lots import ByLots
from tacit.training.examples import Unreleased
from tacit.training.linear import Floats, Rows, train
from tacit.training.lots import LotSettings, distinct_lots
from tacit.training.measured import Right

LOSSES = {"logistic": "logistic", "svm": "hinge"}


class Linear(ByLots):
    """A linear classifier of two classes by DP-SGD or DP-Adam. Model and optimiser are hyperparameters too.

    The subclasses below have one model and one optimiser each, and trainers of their names for release.

    Guarantee. ``epsilons`` is for one training record replaced, unconditional, from the privacy loss distribution for
    fixed-size lots drawn afresh without replacement. It is the same for every model and optimiser: Adam only
    post-processes the noisy gradients. ``utility`` and ``train`` draw fast, seeded noise: what they give is not
    released.
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
    >>> Linear(X, X[:, 0], X, X[:, 0]).utility({**params, "model": "svm", "optimiser": "adam"}, seed=1) > 0.5
    True
    """

    name = "linear model, DP-SGD or DP-Adam"
    models: ClassVar[tuple[str, ...]] = ("logistic", "svm")
    optimisers: ClassVar[tuple[str, ...]] = ("sgd", "adam")
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

    def choices(self) -> dict[str, Any]:
        both = {"model": self.models, "optimiser": self.optimisers}
        return {name: Choice(known) for name, known in both.items() if len(known) > 1}

    def train(self, params: Params, seeds: Sequence[int]) -> Unreleased:
        """Weights (R, d + 1) of one model for each seed, all trained in one pass. Not for release."""
        s = LotSettings.of(params, self.examples.records)
        loss = LOSSES[params.get("model", self.models[0])]
        rows = Rows.of(self.examples.X, self.examples.y, loss, np.float32)
        shape = (1, len(seeds)) if self.shared_lots else (len(seeds), 1)
        coins = _fast_coins(s, seeds, rows.X.shape[1], self.shared_lots)
        optimiser = str(params.get("optimiser", self.optimisers[0]))
        with one_thread(), np.errstate(over="ignore"):
            return Unreleased(train(rows, s, optimiser, coins, shape).reshape(len(seeds), -1))

    def correct(self, params: Params, seeds: Sequence[int]) -> Right:
        W = self.train(params, seeds).reveal().astype(float)
        positive = W[:, :-1] @ self.examples.X_test.T + W[:, -1:] > 0
        known = self.examples.y_test >= 0  # a test label outside the classes is never right
        return np.asarray((positive == (self.examples.y_test == 1)) & known)


class LogisticSGD(Linear):
    """Logistic regression by DP-SGD (Avent2020 Algorithm 3)."""

    models, optimisers = ("logistic",), ("sgd",)
    name = "logistic regression, DP-SGD"


class LogisticAdam(Linear):
    """Logistic regression by DP-Adam (Avent2020 Algorithm 4)."""

    models, optimisers = ("logistic",), ("adam",)
    name = "logistic regression, DP-Adam"


class SupportVectorSGD(Linear):
    """Linear support vector machine, hinge loss without a penalty, by DP-SGD (Avent2020 Algorithm 3)."""

    models, optimisers = ("svm",), ("sgd",)
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
