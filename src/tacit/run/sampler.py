"""What every sampler of ours shares: all parameters of a trial are decided together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.samplers import BaseSampler, RandomSampler

from tacit.errors import BadInput
from tacit.files import Json
from tacit.space import Array, Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


class JointSampler(BaseSampler):
    """A sampler of whole points; a parameter outside the space, if Optuna asks for one, is drawn at random."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        self.space, self.seed = space, seed
        self._features: dict[int, tuple[Params, Array]] = {}

    @cached_property
    def _none(self) -> Array:
        return self.space.features([])

    @cached_property
    def _at_random(self) -> RandomSampler:
        return RandomSampler(self.seed)

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        """The parameters of a trial."""
        raise NotImplementedError

    def foresee(self, trials: Sequence[FrozenTrial], direction: str) -> tuple[Params, Json] | None:
        """Parameters and attributes of the trial after these, or None if they depend on its number."""
        return None

    def foresee_first(self, number: int) -> Params | None:
        """The parameters of the trial of this number where ``foresee`` knows none; None if only the study can tell."""
        return None

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return dict(self.space.distributions)

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> Params:
        point = self.point(study, trial)
        return {name: fit_within(d, point[name]) for name, d in search_space.items() if name in point}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._at_random.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        self.seed = int(np.random.SeedSequence().generate_state(1)[0])
        self._at_random.reseed_rng()

    def features(self, trials: Sequence[FrozenTrial]) -> Array:
        """What a model sees of trials, (trials, features); each is worked out once."""
        for t in trials:
            entry = self._features.get(t.number)
            if entry is None or entry[0] is not t.params:  # a sampler may serve another study later
                self._features[t.number] = t.params, self.space.features([t.params])[0]
        return np.array([self._features[t.number][1] for t in trials]) if trials else self._none


def has_place(space: Space, params: Params) -> bool:
    """Whether these parameters have a place in a space: none is missing, or outside a range that was narrowed."""
    try:
        space.cube([params])
    except BadInput:
        return False
    return True


def fit_within(distribution: Any, value: Any) -> Any:
    """The nearest value that a parameter may have, where a study asks for less than the space of a sampler.

    >>> from tacit.space import Float, Int
    >>> fit_within(Float(0.0, 0.5), 0.8), fit_within(Int(2, 8, step=3), 7)
    (0.5, 8)
    """
    if hasattr(distribution, "choices"):
        return value if value in distribution.choices else distribution.choices[0]
    value = min(max(value, distribution.low), distribution.high)
    if distribution.step and not distribution.log:
        steps = round((value - distribution.low) / distribution.step)
        value = min(distribution.low + steps * distribution.step, distribution.high)
    return distribution.to_external_repr(distribution.to_internal_repr(value))
