"""What every sampler of ours shares: all parameters of a trial are decided together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.samplers import RandomSampler

from tacit.space import Array, Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial, Trial


class JointSampler(RandomSampler):
    """A sampler of whole points; a parameter outside the space, if Optuna asks for one, is drawn at random."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        super().__init__(seed)
        self.space, self.seed = space, seed
        self._features: dict[int, Array] = {}

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        """The parameters of a trial."""
        raise NotImplementedError

    def foresee(self, trials: Sequence[FrozenTrial], direction: str) -> tuple[Params, dict[str, Any]] | None:
        """Parameters and attributes of the trial after these, or None if they depend on its number."""
        return None

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return dict(self.space.distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self.point(study, trial)

    def has_features(self, trial: FrozenTrial) -> bool:
        """Whether they were worked out already, so that the trial has all its parameters."""
        return trial.number in self._features

    def features(self, trials: Sequence[FrozenTrial]) -> Array:
        """What a model sees of trials, (trials, features); each is worked out once."""
        for t in trials:
            if t.number not in self._features:
                self._features[t.number] = self.space.features([t.params])[0]
        rows = [self._features[t.number] for t in trials]
        return np.array(rows) if rows else self.space.features([])


def ask_trial(study: Study, distributions: dict[str, BaseDistribution] | Callable[[Trial], None]) -> Trial:
    """The next trial. Where its sampler knows all of it beforehand, it is written at once, not parameter by parameter.

    Otherwise Optuna asks; ``distributions`` may be a function that suggests later.
    """
    from optuna.trial import Trial, TrialState, create_trial

    if callable(distributions):
        return study.ask()
    known = None
    if isinstance(study.sampler, JointSampler):
        known = study.sampler.foresee(study.get_trials(deepcopy=False), study.directions[0].name)
    if known is None:
        return study.ask(fixed_distributions=distributions)
    params, attributes = known
    whole = create_trial(state=TrialState.RUNNING, params=params, distributions=distributions, user_attrs=attributes)
    return Trial(study, study._storage.create_new_trial(study._study_id, template_trial=whole))
