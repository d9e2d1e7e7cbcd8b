"""Any scikit-learn-style estimator that takes an epsilon, as an algorithm for a front."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, GuaranteeError, probability, real, type_and_shape
from tacit.space import Array, Params, Space
from tacit.training.examples import Examples

LABEL = "epsilon as the estimator states it, unchecked"


class PrivateEstimator:
    """An estimator with ``fit`` and ``predict`` whose ``epsilon`` is one of its arguments; utility is test accuracy.

    ``make`` is a class or function called with the hyperparameters, or an estimator with ``get_params``, whose
    arguments are kept but for those in the space. ``space`` must contain the ``epsilon`` argument. ``label`` should say
    how the estimator samples and what its neighbours are, since only its documentation knows.

    Guarantee. None of ours: epsilon is taken at the estimator's word. ``delta`` is the delta its epsilon is stated at;
    a front at a smaller delta is refused. Fitted estimators are dropped after measuring.
    Edges. ``seed_argument`` (random_state) is passed the seed of the run if the estimator has it; without it equal
    seeds give unequal answers. An infinite epsilon and one that is not positive are refused.

    >>> class Majority:
    ...     def __init__(self, epsilon=1.0):
    ...         self.epsilon = epsilon
    ...     def fit(self, X, y):
    ...         self.most = max(set(y.tolist()), key=y.tolist().count)
    ...     def predict(self, X):
    ...         return np.full(len(X), self.most)
    >>> from tacit.space import Float
    >>> X, y = np.zeros((9, 1)), np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    >>> algorithm = PrivateEstimator(Majority, {"epsilon": Float(0.1, 10)}, X, y, X, y)
    >>> round(algorithm.utility({"epsilon": 1.0}, seed=0), 3)
    0.667
    """

    apart: ClassVar[str] = "its epsilon is taken at the estimator's word"

    def __init__(
        self,
        make: Any,
        space: Space | Mapping[str, Any],
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        epsilon: str = "epsilon",
        delta: float = 0.0,
        label: str = LABEL,
        name: str = "",
        seed_argument: str = "random_state",
        seed: int = 0,
    ) -> None:
        self.space = Space(space)
        if epsilon not in self.space.names:
            raise BadInput(f"the space must contain the estimator's {epsilon!r}; it has {', '.join(self.space.names)}")
        self.examples = Examples.of(X, y, X_test, y_test, seed=seed)
        self.records = len(self.examples.X_test)
        self.delta, self.label = probability("delta", delta, zero=True), label
        self._epsilon, self._seed = epsilon, seed_argument
        self._make, known = _maker(make)
        self._seeded = seed_argument in known
        self.name = name or getattr(make, "__name__", type(make).__name__)

    def epsilons(self, params: Sequence[Params], delta: float) -> Array:
        """The epsilon argument of each configuration, (n,)."""
        if delta < self.delta:
            raise GuaranteeError(
                f"this estimator's epsilon is stated at delta = {self.delta:g} and says nothing at delta = {delta:g}"
            )
        found = np.array([real(self._epsilon, p[self._epsilon]) for p in params], float)
        if not (found > 0).all():
            raise BadInput(f"{self._epsilon} must be positive, got {found.min():g}")
        return found

    def utility(self, params: Params, seed: int) -> float:
        """Test accuracy of one fit."""
        return float(self.each_utility(params, seed).mean())

    def each_utility(self, params: Params, seed: int) -> Array:
        """For every test record whether one fit classes it right, (records,)."""
        names = np.asarray(self.examples.classes)
        model = self._make(**params, **({self._seed: seed} if self._seeded else {}))
        model.fit(self.examples.X, names[self.examples.y])
        found: NDArray[Any] = np.asarray(model.predict(self.examples.X_test))
        if found.shape != self.examples.y_test.shape:
            raise BadInput(f"predict must answer with {self.examples.y_test.shape} labels, got {type_and_shape(found)}")
        return np.asarray(found == names[self.examples.y_test], float)


def _maker(make: Any) -> tuple[Callable[..., Any], set[str]]:
    """A function of hyperparameters that gives a fresh estimator, and the names of the arguments it takes."""
    if not isinstance(make, type) and hasattr(make, "get_params"):
        kept = make.get_params(deep=False)
        fresh: Callable[..., Any] = type(make)
        return partial(fresh, **kept), set(kept)
    if not callable(make):
        raise BadInput(f"make must be a class, a function or an estimator with get_params, got {type_and_shape(make)}")
    return make, set(inspect.signature(make).parameters)
