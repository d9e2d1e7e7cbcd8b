"""What every sampler of ours shares: all parameters of a trial are decided together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.samplers import RandomSampler

from tacit.space import Array, Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


class JointSampler(RandomSampler):
    """A sampler of whole points; a parameter outside the space, if Optuna asks for one, is drawn at random."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        super().__init__(seed)
        self.space, self.seed = space, seed
        self._features: dict[int, Array] = {}

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        """The parameters of a trial."""
        raise NotImplementedError

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return dict(self.space.distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self.point(study, trial)

    def features(self, trials: Sequence[FrozenTrial]) -> Array:
        """What a model sees of trials, (trials, features); each is worked out once."""
        for t in trials:
            if t.number not in self._features:
                self._features[t.number] = self.space.features([t.params])[0]
        rows = [self._features[t.number] for t in trials]
        return np.array(rows) if rows else self.space.features([])
