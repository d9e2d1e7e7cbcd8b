"""What the algorithms that train by DP-SGD have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput
from tacit.privacy.lot_accounting import LABELS, pair_name
from tacit.space import Array, Params, Space
from tacit.training.examples import Examples, Unreleased
from tacit.training.lots import Steps, domain, epsilon_surface, epsilons
from tacit.training.random_search import RANDOM, Truncated

if TYPE_CHECKING:
    import pandas as pd

    from tacit.data.schema import Schema


class ByLots:
    """Examples, the paper's domain, the privacy oracle and test accuracy; a subclass trains.

    Guarantee. ``epsilons`` is for one training record replaced, fixed-size lots drawn afresh without replacement; the
    number of records is public. ``utility`` and ``train`` draw fast, seeded noise: what they give is not released.
    Follows. Avent2020: domain (Table 1), random baseline (Tables 3 and 4), accuracy on a test set as utility. Proof of
    the epsilons: docs/proofs/subsampled-gaussian.md.
    """

    name: ClassVar[str] = ""
    kind: ClassVar[str] = "adult"  # which of the paper's two domains
    most_classes: ClassVar[int] = 2
    sampling: ClassVar[dict[str, str]] = {"sampling": "without_replacement", "adjacency": "replace_one"}

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | None = None,
        seed: int = 0,
    ) -> None:
        self._hold(Examples.of(X, y, X_test, y_test, classes=classes, seed=seed))

    @classmethod
    def from_table(cls, table: pd.DataFrame, target: str, seed: int = 0, schema: Schema | None = None) -> Self:
        """The algorithm on a table, a fifth of it held out. Encoded by its training rows: no model is released."""
        made = cls.__new__(cls)
        made._hold(Examples.from_table(table, target, seed=seed, schema=schema))
        return made

    def _hold(self, examples: Examples) -> None:
        if len(examples.classes) > self.most_classes:
            raise BadInput(f"{self.name} takes {self.most_classes} classes, got {len(examples.classes)}")
        self.examples = examples
        self.space: Space = domain(self.kind, examples.records)
        self.records = len(examples.X_test)  # whose utilities a private front protects

    @property
    def random(self) -> dict[str, Truncated]:
        """The paper's random search, its lots cut to the number of examples."""
        return {**RANDOM[self.kind], "lot": RANDOM[self.kind]["lot"].within(self.examples.records)}

    @property
    def label(self) -> str:
        """How lots are drawn, and what neighbours are."""
        return LABELS[pair_name(**self.sampling)]

    def epsilons(self, params: Sequence[Params], delta: float) -> Array:
        """Epsilon at delta of each configuration, (n,)."""
        if not delta or not params:
            return np.full(len(params), np.inf)  # Gaussian noise is never pure
        return epsilons(self._steps(params), delta, **self.sampling)

    def quick_epsilons(self, params: Sequence[Params], delta: float) -> Array:
        """About the same for thousands of configurations, (n,), to choose among them."""
        if not delta:
            return self.epsilons(params, delta)
        asked = self._steps(params)
        surface = epsilon_surface(delta, f"{asked.records} {self.space!r}", **self.sampling)
        return surface(asked.noise, asked.lot / asked.records, asked.steps)

    def _steps(self, params: Sequence[Params]) -> Steps:
        return Steps.of(params, self.examples.records)

    def train(self, params: Params, seeds: Sequence[int]) -> Unreleased:
        """One model for each seed. Not for release."""
        raise NotImplementedError

    def _correct(self, params: Params, seeds: Sequence[int]) -> NDArray[np.bool_]:
        """Which test records (R, records) each model classes right."""
        raise NotImplementedError

    def utilities(self, params: Params, seeds: Sequence[int]) -> Array:
        """Test accuracy of one run for each seed, (R,)."""
        return np.asarray(self._correct(params, seeds).mean(axis=1), float)

    def baselines(self) -> dict[str, float]:
        """What a constant guess and, of linear models, one without privacy reach on the test rows."""
        return self.examples.baselines(linear=self.kind == "adult")

    def utility(self, params: Params, seed: int) -> float:
        """Test accuracy of one run."""
        return float(self.utilities(params, [seed])[0])

    def each_utility(self, params: Params, seed: int) -> Array:
        """For every test record whether one run classes it right, (records,)."""
        return np.asarray(self._correct(params, [seed])[0], float)
