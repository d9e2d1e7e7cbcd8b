"""The surrogate as an Optuna sampler: proposals that know the noise of what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.trial import TrialState

from tacit.errors import count
from tacit.gp.threads import one_thread
from tacit.methods.surrogate import BestGuess, Surrogate, sobol_points
from tacit.run.sampler import JointSampler
from tacit.space import Array, Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


class KnownNoiseSampler(JointSampler):
    """Gaussian-process search for observations whose noise variance is known.

    The ``first`` trial is the middle of the space, which people's ranges tend to surround with what they know; the
    others of the first ``startup`` are scattered; later ones maximise an upper confidence bound. Trials that run
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
        first: int = 0,
    ) -> None:
        super().__init__(space, seed)
        self.first = first
        self.startup, self.surrogate = count("startup", startup), Surrogate(space, noise, candidates, seed)

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        states = (TrialState.COMPLETE, TrialState.RUNNING)
        others = [t for t in study.get_trials(deepcopy=False, states=states) if t.number != trial.number]
        known = self.foresee(others, study.direction.name)
        return self._first(trial.number) if known is None else known[0]

    def foresee(self, trials: Sequence[FrozenTrial], direction: str) -> tuple[Params, dict[str, Any]] | None:
        if any(t.state == TrialState.WAITING for t in trials):  # somebody enqueued it: Optuna gives it out
            return None
        X, y, pending = self.observations(trials, direction)
        if len(y) < min(self.startup, 2) or len(y) + len(pending) < self.startup:
            return None
        with one_thread():
            return self.surrogate.propose(X, y, pending), {}

    def observations(self, trials: Sequence[FrozenTrial], direction: str) -> tuple[Array, Array, Array]:
        """Features (n, features) and values (n,) of finished trials, larger is better; features of running ones."""
        sign = 1.0 if direction == "MAXIMIZE" else -1.0
        asked, names = (TrialState.COMPLETE, TrialState.RUNNING), set(self.space.names)
        whole = [t for t in trials if t.state in asked and (self.has_features(t) or names <= t.params.keys())]
        done = [t for t in whole if t.value is not None]
        running = [t for t in whole if t.state == TrialState.RUNNING]
        y = np.array([sign * t.value for t in done if t.value is not None])
        return self.features(done), y, self.features(running)

    def answer(self, study: Study) -> tuple[Params, BestGuess]:
        """The parameters to answer with, and what the model expects of them in the study's own direction."""
        X, y, _ = self.observations(study.get_trials(deepcopy=False), study.direction.name)
        with one_thread():
            chosen = self.surrogate.answer(X, y)
        sign = 1.0 if study.direction.name == "MAXIMIZE" else -1.0
        done = [t for t in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)) if t.params]
        return dict(done[chosen.index].params), BestGuess(chosen.index, sign * chosen.value, chosen.deviation)

    def _first(self, number: int) -> Params:
        if self.surrogate.candidates:
            generator = np.random.default_rng((self.seed, number))
            return self.surrogate.candidates[int(generator.integers(len(self.surrogate.candidates)))]
        if number == self.first:
            return self.space.params(np.full((1, self.space.dimensions), 0.5))[0]
        points = sobol_points(self.space.dimensions, max(64, 2 * self.startup), self.seed)
        return self.space.params(points[[number % len(points)]])[0]


class ScatterSampler(KnownNoiseSampler):
    """Private random search: uniform points, or members of a list; the answer still comes from the model."""

    foresee = JointSampler.foresee

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        generator = np.random.default_rng((self.seed, trial.number))
        if self.surrogate.candidates:
            return self.surrogate.candidates[int(generator.integers(len(self.surrogate.candidates)))]
        return self.space.params(generator.random((1, self.space.dimensions)))[0]


class ListSampler(KnownNoiseSampler):
    """Private grid search: the members of a list in turn; one whose trial failed comes again."""

    def __init__(self, space: Space, noise: float, points: Sequence[Params], *, seed: int = 0) -> None:
        super().__init__(space, noise, seed=seed)
        self.points = list(points)

    foresee = JointSampler.foresee

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        states = (TrialState.COMPLETE, TrialState.RUNNING)
        taken = [t.params for t in study.get_trials(deepcopy=False, states=states) if t.number != trial.number]
        return next((p for p in self.points if p not in taken), self.points[trial.number % len(self.points)])


class FixedSampler(JointSampler):
    """The same parameters for every trial. Unlike enqueued ones, no other process can take them for its own trial."""

    def __init__(
        self, distributions: dict[str, BaseDistribution], params: Params, attributes: dict[str, Any] | None = None
    ) -> None:
        super().__init__(Space(distributions))
        self.params, self.attributes = dict(params), attributes or {}

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        return self.params

    def foresee(self, trials: Sequence[FrozenTrial], direction: str) -> tuple[Params, dict[str, Any]]:
        return self.params, self.attributes
