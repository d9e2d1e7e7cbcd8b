"""The surrogate as an Optuna sampler: proposals that know the noise of what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import TrialState

from tacit.errors import count
from tacit.gp.threads import one_thread
from tacit.methods.surrogate import BestGuess, Surrogate, scatter
from tacit.space import Array, Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


class KnownNoiseSampler(BaseSampler):
    """Gaussian-process search for observations whose noise variance is known.

    The first trial is the middle of the space, which people's ranges tend to surround with what they know; the others
    of the first ``startup`` are scattered; later ones maximise an upper confidence bound. Trials that are running
    elsewhere are taken into account, so several may run at once.
    """

    def __init__(
        self,
        space: Space,
        noise: float,
        *,
        startup: int = 8,
        candidates: Sequence[Params] | None = None,
        seed: int = 0,
    ) -> None:
        self.space, self.startup, self.seed = space, count("startup", startup), seed
        self.surrogate = Surrogate(space, noise, candidates, seed)
        self._independent = RandomSampler(seed)
        self._features: dict[int, Array] = {}

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return dict(self.space.distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        X, y, pending = self.observations(study, but=trial.number)
        if len(y) < min(self.startup, 2) or len(y) + len(pending) < self.startup:
            return self._first(trial.number)
        with one_thread():
            return self.surrogate.propose(X, y, pending)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def observations(self, study: Study, but: int = -1) -> tuple[Array, Array, Array]:
        """Features (n, features) and values (n,) of finished trials, larger is better; features of running ones."""
        sign = 1.0 if study.direction.name == "MAXIMIZE" else -1.0
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.RUNNING))
        whole = [t for t in trials if t.number != but and set(self.space.names) <= set(t.params)]
        done = [t for t in whole if t.value is not None]
        running = [t for t in whole if t.state == TrialState.RUNNING]
        y = np.array([sign * t.value for t in done if t.value is not None])
        return self._matrix(done), y, self._matrix(running)

    def answer(self, study: Study) -> tuple[Params, BestGuess]:
        """The parameters to answer with, and what the model expects of them in the study's own direction."""
        X, y, _ = self.observations(study)
        with one_thread():
            chosen = self.surrogate.answer(X, y)
        sign = 1.0 if study.direction.name == "MAXIMIZE" else -1.0
        done = [t for t in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)) if t.params]
        return dict(done[chosen.index].params), BestGuess(chosen.index, sign * chosen.value, chosen.deviation)

    def _first(self, number: int) -> Params:
        if self.surrogate.candidates:
            generator = np.random.default_rng((self.seed, number))
            return self.surrogate.candidates[int(generator.integers(len(self.surrogate.candidates)))]
        if number == 0:
            return self.space.params(np.full((1, self.space.dimensions), 0.5))[0]
        points = scatter(self.space.dimensions, max(64, 2 * self.startup), self.seed)
        return self.space.params(points[[number % len(points)]])[0]

    def _matrix(self, trials: list[FrozenTrial]) -> Array:
        for t in trials:
            if t.number not in self._features:
                self._features[t.number] = self.space.features([t.params])[0]
        rows = [self._features[t.number] for t in trials]
        return np.array(rows) if rows else np.empty((0, self._width))

    @property
    def _width(self) -> int:
        return int(self.space.features(self.space.params(np.full((1, self.space.dimensions), 0.5))).shape[1])


class ScatterSampler(KnownNoiseSampler):
    """Private random search: uniform points, or members of a list; the answer still comes from the model."""

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        generator = np.random.default_rng((self.seed, trial.number))
        if self.surrogate.candidates:
            return self.surrogate.candidates[int(generator.integers(len(self.surrogate.candidates)))]
        return self.space.params(generator.random((1, self.space.dimensions)))[0]


class ListSampler(KnownNoiseSampler):
    """Private grid search: the members of a list in turn; one whose trial failed comes again."""

    def __init__(self, space: Space, noise: float, points: Sequence[Params], *, seed: int = 0) -> None:
        super().__init__(space, noise, seed=seed)
        self.points = list(points)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        states = (TrialState.COMPLETE, TrialState.RUNNING)
        taken = [t.params for t in study.get_trials(deepcopy=False, states=states) if t.number != trial.number]
        return next((p for p in self.points if p not in taken), self.points[trial.number % len(self.points)])


class FixedSampler(RandomSampler):
    """The same parameters for every trial. Unlike enqueued ones, no other process can take them for its own trial."""

    def __init__(self, distributions: dict[str, BaseDistribution], params: Params) -> None:
        super().__init__()
        self.distributions, self.params = dict(distributions), dict(params)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self.distributions

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self.params
