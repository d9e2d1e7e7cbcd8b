"""The surrogate as an Optuna sampler: proposals that know the noise of what was observed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import TrialState

from tacit.errors import count
from tacit.files import Json
from tacit.gp.threads import one_thread
from tacit.methods.constraint import Constraint
from tacit.methods.optimiser import BestGuess, Optimiser, sobol_points
from tacit.methods.warm_start import ENOUGH, WarmStart
from tacit.run.sampler import JointSampler, has_place
from tacit.run.study_store import CONSTRAINED, read_trials
from tacit.space import Array, Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


class ModelSampler(JointSampler):
    """Gaussian-process search for observations whose noise variance is known.

    The ``first`` trial is the middle of the space, which people's ranges tend to surround with what they know; the
    others of the first ``startup`` are scattered; later ones maximise expected improvement. From ``race`` observations
    on, each is of the point that would be the answer, so that one that was only lucky loses its place. Trials that run
    elsewhere are taken into account, so several may run at once. With ``public`` trials the first
    are the best of those.
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
        race: int | None = None,
        public: WarmStart | None = None,
        constraint: Constraint | None = None,
        margin_noise: float | None = None,
    ) -> None:
        super().__init__(space, seed)
        self.first, self.race, self.constraint = first, race, constraint
        self.startup = count("startup", startup)
        self.optimiser = Optimiser(space, noise, candidates, seed, public, margin_noise)
        self._names = set(space.names)
        self._rows: dict[int, tuple[FrozenTrial, Array | None]] = {}

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        found = self._propose(study.get_trials(deepcopy=False), study.direction.name, but=trial.number)
        return self._first(trial.number) if found is None else found

    def foresee(self, trials: Sequence[FrozenTrial], direction: str) -> tuple[Params, Json] | None:
        found = self._propose(trials, direction)
        return None if found is None else (found, {})

    def foresee_first(self, number: int) -> Params | None:
        return self._first(number)

    def _propose(self, trials: Sequence[FrozenTrial], direction: str, but: int = -1) -> Params | None:
        X, y, pending = self.observations(trials, direction, but=but)
        if len(y) < min(self.startup, 2) or len(y) + len(pending) < self.startup:
            return None
        with one_thread():
            if self.race is not None and len(y) + len(pending) >= self.race:
                return self._list_done(trials)[self.optimiser.answer(X, y).index].params
            return self.optimiser.propose(X, y, pending)

    def observations(self, trials: Sequence[FrozenTrial], direction: str, but: int = -1) -> tuple[Array, Array, Array]:
        """Features (n, features) and values (n,) of finished trials, larger is better; features of running ones.

        With a constraint values are (n, 2): its margins are the second column.
        """
        sign, constrained = 1.0 if direction == "MAXIMIZE" else -1.0, self.constraint is not None
        rest, columns = [t for t in trials if t.number != but], self._none.shape[1]
        rows = [row for t in rest if (row := self._row_of(t)) is not None]
        running = [t for t in rest if t.state == TrialState.RUNNING and has_place(self.space, t.params)]
        table = np.array(rows) if rows else np.empty((0, columns + 1 + constrained))
        values = table[:, columns:] * ([sign, 1.0] if constrained else [sign])
        return table[:, :columns], values if constrained else values[:, 0], self.features(running)

    def _row_of(self, trial: FrozenTrial) -> Array | None:
        """Features, value and, with a constraint, margin of an observed trial, worked out once; None of others."""
        kept = self._rows.get(trial.number)
        if kept is None or kept[0] is not trial:  # a sampler may serve another study later
            kept = self._rows[trial.number] = trial, self._read(trial) if self._is_done(trial) else None
        return kept[1]

    def _read(self, trial: FrozenTrial) -> Array:
        margin = [] if self.constraint is None else [self.constraint.margin(trial.user_attrs[CONSTRAINED])]
        return np.concatenate([self.space.features([trial.params])[0], [trial.value], margin])

    def _is_done(self, trial: FrozenTrial) -> bool:
        if trial.state != TrialState.COMPLETE or trial.value is None or not math.isfinite(trial.value):
            return False
        if self.constraint is not None and CONSTRAINED not in trial.user_attrs:
            return False
        return self._names <= trial.params.keys() and has_place(self.space, trial.params)

    def answer(self, study: Study) -> tuple[Params, BestGuess]:
        """The parameters to answer with, and what the model expects of them in the study's own direction."""
        trials = read_trials(study)
        X, y, _ = self.observations(trials, study.direction.name)
        with one_thread():
            chosen = self.optimiser.answer(X, y)
        sign = 1.0 if study.direction.name == "MAXIMIZE" else -1.0
        params = self._list_done(trials)[chosen.index].params
        return dict(params), BestGuess(chosen.index, sign * chosen.value, chosen.deviation)

    def _list_done(self, trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        """Those that ``observations`` has, in its order."""
        return [t for t in trials if self._row_of(t) is not None]

    def _first(self, number: int) -> Params:
        if self.optimiser.candidates:
            generator = np.random.default_rng((self.seed, number))
            return self.optimiser.candidates[int(generator.integers(len(self.optimiser.candidates)))]
        public = self.optimiser.public
        if public is not None and self.first <= number < self.first + min(ENOUGH, len(public.params)):
            return public.best(number - self.first)
        if number == self.first:
            return self.space.params(np.full((1, self.space.dimensions), 0.5))[0]
        points = sobol_points(self.space.dimensions, max(64, 2 * self.startup), self.seed)
        return self.space.params(points[[number % len(points)]])[0]


class ScatterSampler(ModelSampler):
    """Private random search: uniform points, or members of a list; the answer still comes from the model."""

    foresee = JointSampler.foresee

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        return self._first(trial.number)

    def _first(self, number: int) -> Params:
        generator = np.random.default_rng((self.seed, number))
        if self.optimiser.candidates:
            return self.optimiser.candidates[int(generator.integers(len(self.optimiser.candidates)))]
        return self.space.params(generator.random((1, self.space.dimensions)))[0]


class ListSampler(ModelSampler):
    """Private grid search: the members of a list in turn; one whose trial failed comes again."""

    def __init__(self, space: Space, noise: float, points: Sequence[Params], *, seed: int = 0) -> None:
        super().__init__(space, noise, seed=seed)
        self.points = list(points)

    foresee = JointSampler.foresee
    foresee_first = JointSampler.foresee_first

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        states = (TrialState.COMPLETE, TrialState.RUNNING)
        taken = [t.params for t in study.get_trials(deepcopy=False, states=states) if t.number != trial.number]
        return next((p for p in self.points if p not in taken), self.points[trial.number % len(self.points)])


class FixedSampler(JointSampler):
    """The same parameters for every trial. Unlike enqueued ones, no other process can take them for its own trial."""

    def __init__(
        self, distributions: dict[str, BaseDistribution], params: Params, attributes: Json | None = None
    ) -> None:
        super().__init__(Space(distributions))
        self.params, self.attributes = dict(params), attributes or {}

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        return self.params

    def foresee(self, trials: Sequence[FrozenTrial], direction: str) -> tuple[Params, Json]:
        return self.params, self.attributes
