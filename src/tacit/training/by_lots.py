"""What the algorithms that train by DP-SGD have in common."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tacit.privacy.lot_accounting import LABELS, pair_name
from tacit.space import Array, Params, Space
from tacit.training.examples import Examples
from tacit.training.lots import Steps, domain, epsilon_surface, epsilons
from tacit.training.measured import MeasuredAlgorithm
from tacit.training.random_search import RANDOM


class ByLots(MeasuredAlgorithm):
    """The paper's domain and the privacy oracle of DP-SGD; a subclass trains.

    Guarantee. ``epsilons`` is for one training record replaced, fixed-size lots drawn afresh without replacement; the
    number of records is public. ``utility`` and ``train`` draw fast, seeded noise: what they give is not released.
    Follows. Avent2020: domain (Table 1), random baseline (Tables 3 and 4), accuracy on a test set as utility. Proof of
    the epsilons: docs/proofs/subsampled-gaussian.md.
    """

    kind: ClassVar[str] = "adult"  # which of the paper's two domains
    sampling: ClassVar[dict[str, str]] = {"sampling": "without_replacement", "adjacency": "replace_one"}

    def hold(self, examples: Examples) -> None:
        super().hold(examples)
        self.space = Space({**domain(self.kind, examples.records).distributions, **self.choices()})

    def choices(self) -> dict[str, Any]:
        """Hyperparameters that the paper's domain does not have."""
        return {}

    @property
    def random(self) -> dict[str, Any]:
        """The paper's random search, its lots cut to the number of examples; choices evenly."""
        even = {name: partial(_draw_choice, self.space.distributions[name]) for name in self.choices()}
        return {**RANDOM[self.kind], "lot": RANDOM[self.kind]["lot"].within(self.examples.records), **even}

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


def _draw_choice(distribution: Any, generator: np.random.Generator) -> Any:
    choices = distribution.choices
    return choices[int(generator.integers(len(choices)))]
