"""DPareto as an Optuna sampler for studies of (epsilon, error).

Any storage, any number of workers, Optuna's own plots. Each proposal sees all finished trials, and believes of running
ones what the model expects of them, so that several may run at once.
"""

from __future__ import annotations

import copy
import math
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.trial import TrialState

from tacit.errors import BadInput, choice, count
from tacit.gp.exact import GaussianProcess
from tacit.gp.threads import one_thread
from tacit.pareto.acquisition import Staircase, exact_privacy, exact_privacy_and_cost, hvpoi
from tacit.pareto.dominance import nondominated
from tacit.pareto.remarks import PRIVACY_MODELS, usual_model
from tacit.pareto.surrogate import Candidates, Epsilons, ObjectiveModel, Scale, golden_points, points_around
from tacit.privacy.lot_calibration import spread_out
from tacit.run.sampler import JointSampler, has_place
from tacit.space import Array, Params, Space

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from optuna import Study
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial

FAILED = "tacit:failed"
POOL = 2048  # candidates over the whole space, their epsilons computed once
SPREAD = 2.0  # weight of epsilon's rank beside the coordinates of the unit cube, where startup points are spread out
CENTRES = 16  # points of the front that are searched around
PATIENCE = 10.0  # seconds for another worker to name the point of a trial it has begun; then it is taken to be gone
ONE_AT_A_TIME = threading.Lock()  # threads of one study share its sampler and its models
Belief = tuple[Array, GaussianProcess, GaussianProcess | None]  # values (n, 2 or 3), models of error and epsilon


class DParetoSampler(JointSampler):
    """Proposals that are expected to push the privacy-utility front furthest.

    ``epsilons`` is the privacy oracle over thousands of points at once; a close estimate is enough, since what is
    recorded is computed for the point tried. ``privacy_model="exact"`` takes it for all candidates and models the error
    alone; ``"gp"`` models both and maximises HVPoI before the anti-ideal point: the default from four parameters on,
    where it was ahead, for two objectives without noise; ``"published"`` has equation 1, without that end. ``noise``
    is the known variance of
    an error, on its scale. ``costs``, like ``epsilons`` a function of many points, adds a third
    objective that is known beforehand, such as the work of training: the study minimises (epsilon, error, cost), and
    ``reference`` has three numbers. With three and no ``costs`` the third is measured: a model's mean stands for it.
    If a study maximises its second objective, that is an accuracy, whose error is 1 less it; all others are minimised.

    Follows. Avent et al. (2020), Algorithm 2; with "gp", equations 1 to 3.
    Differs. Startup points are not independent draws: they lie far apart, in the space and along epsilon, and within
    the reference; where epsilon is modelled, they come from an evenly scattered sequence. Epsilon is computed, not
    modelled, unless asked. Failed trials count as the worst error seen, so that the search leaves them alone.
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        epsilons: Epsilons | None = None,
        *,
        startup: int = 16,
        reference: tuple[float, ...] = (10.0, 1.0),
        privacy_model: str | None = None,
        scales: tuple[str, str] = ("log", "logit"),
        noise: float = 0.0,
        costs: Epsilons | None = None,
        seed: int = 0,
    ) -> None:
        privacy_model = privacy_model or usual_model(Space(space), len(reference), noisy=noise > 0)
        choice("privacy_model", privacy_model, PRIVACY_MODELS)
        if epsilons is None and privacy_model == "exact":
            raise BadInput(
                "DParetoSampler needs epsilons, a function from a list of parameters to their epsilons: "
                "DParetoSampler(space, epsilons). Without a formula: privacy_model='gp'"
            )
        if len(reference) not in ((3,) if costs is not None else (2, 3)):
            raise BadInput(f"reference must have one number for each objective, got {reference!r}")
        if len(reference) == 3 and privacy_model != "exact":
            raise BadInput("a third objective needs privacy_model='exact'; the published form has two")
        super().__init__(Space(space), count("seed", seed, least=0))
        self.startup = count("startup", startup)
        self.epsilons = epsilons if privacy_model == "exact" else None
        self.reference, self.costs = tuple(float(r) for r in reference), costs
        self.published, self.endless = privacy_model != "exact", privacy_model == "published"
        self.first, self.second, self.smooth = ObjectiveModel(scales[0]), ObjectiveModel(scales[1], noise), noise > 0
        self.third = ObjectiveModel("linear") if len(reference) == 3 and costs is None else None
        self.accuracy = False  # the study maximises its second objective
        self._third: GaussianProcess | None = None
        self._nameless: set[int] = set()  # trials begun by workers that never named a point
        self._pool: Candidates | None = None
        self._design: list[Params] | None = None
        self._pool_cost: Array | None = None

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        if len(study.directions) != len(self.reference):
            raise BadInput(f"the study must have {len(self.reference)} objectives, got {len(study.directions)}")
        self.accuracy = _is_accuracy(study.directions, self.second.scale)
        done, failed, running = self.observations(study, but=trial.number)
        if len(done) < 2 or len(done) + len(failed) + len(running) < self.startup:
            # Step 1 of Algorithm 2: a scattered point for each of the first k0 trials.
            with ONE_AT_A_TIME:
                design = self._startup_design()
            if trial.number < len(design):
                return design[trial.number]
            return self.space.params(golden_points(self.space.dimensions, trial.number, 1, self.seed))[0]
        self._await_earlier(study, trial.number)  # without the lock, which a thread that is waited for needs
        with ONE_AT_A_TIME, one_thread():
            return self.propose(*self.observations(study, but=trial.number), salt=trial.number)

    def observations(
        self, study: Study, but: int = -1
    ) -> tuple[list[FrozenTrial], list[FrozenTrial], list[FrozenTrial]]:
        """Trials that finished, that failed for good, and that are running."""
        trials = [t for t in study.get_trials(deepcopy=False) if t.number != but and has_place(self.space, t.params)]
        done = [t for t in trials if t.state == TrialState.COMPLETE and np.isfinite(t.values).all()]
        failed = [t for t in trials if t.state == TrialState.FAIL and FAILED in t.user_attrs]
        failed += [t for t in trials if t.state == TrialState.COMPLETE and not np.isfinite(t.values).all()]
        return done, failed, [t for t in trials if t.state == TrialState.RUNNING]

    def _await_earlier(self, study: Study, number: int) -> None:
        """Let other workers name the points of trials begun before this one, so that no two choose the same.

        A trial whose point is still unknown after `PATIENCE` is not waited for again.
        """
        names, until = set(self.space.names), time.monotonic() + PATIENCE
        while unnamed := {
            t.number
            for t in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
            if t.number < number and t.number not in self._nameless and not names <= t.params.keys()
        }:
            if time.monotonic() > until:
                self._nameless |= unnamed
            else:
                time.sleep(0.01)

    def _startup_design(self) -> list[Params]:
        """Points of the pool that lie far apart, in the space and along epsilon, all within the reference.

        Each is the furthest from those before it, so a longer design begins as a shorter one.
        """
        if self._design is None and self.epsilons is not None:
            pool = self._whole_space()
            inside = np.flatnonzero(pool.epsilon < self.reference[0])
            rank = np.argsort(np.argsort(pool.epsilon[inside])) / max(1, len(inside) - 1)
            places = np.column_stack([self.space.cube([pool.params[i] for i in inside]), SPREAD * rank])
            some: Any = spread_out(places, min(self.startup, len(inside))) if len(inside) else ()
            self._design = [pool.params[inside[k]] for k in some]
        return self._design or []

    # One iteration of Algorithm 2.

    def propose(
        self, done: Sequence[FrozenTrial], failed: Sequence[FrozenTrial], running: Sequence[FrozenTrial], salt: int
    ) -> Params:
        # Step 2: fit the models to what is known, and believe the rest.
        belief = self._believe(done, failed, running)
        # Step 3: maximise the acquisition over the pool and around the front, then once more around the best.
        pool = self._whole_space()
        everyone = [*done, *failed, *running]
        best = np.flatnonzero(nondominated(belief[0]))
        inside = best[belief[0][best, 0] < self.reference[0]]
        best = inside if len(inside) else best
        if len(best) > CENTRES:
            best = np.random.default_rng((self.seed, salt)).choice(best, CENTRES, replace=False)
        centres = [everyone[i].params for i in best]
        local = points_around(
            self.space, centres, (0.2, 0.06, 0.02), max(8, 256 // len(centres) // 3), (self.seed, salt, 1)
        )
        near = Candidates.at(self.space, local, self.epsilons)
        worth = np.r_[self._worth(pool, belief), self._worth(near, belief)]
        candidates = pool + near
        if not worth.any() and self.epsilons is not None:  # nothing below the reference: go where epsilon is smaller
            worth = -candidates.epsilon
        top = [candidates.params[i] for i in np.argsort(-worth)[:6]]
        nearer = Candidates.at(
            self.space, points_around(self.space, top, (0.05, 0.012), 16, (self.seed, salt, 2)), self.epsilons
        )
        worth = np.r_[worth, self._worth(nearer, belief)]
        candidates = candidates + nearer
        tried = {tuple(t.params.values()) for t in everyone}
        order = np.argsort(-worth)
        return next(
            (p for i in order if tuple((p := candidates.params[i]).values()) not in tried), candidates.params[0]
        )

    def _believe(
        self, done: Sequence[FrozenTrial], failed: Sequence[FrozenTrial], running: Sequence[FrozenTrial]
    ) -> Belief:
        """Values (n, objectives) of all trials, known or believed, and the models that hold them."""
        values = np.array([t.values for t in done], float)
        if self.accuracy:
            values[:, 1] = 1 - values[:, 1]
        lost = np.full((len(failed), values.shape[1]), np.inf)
        lost[:, 1] = values[:, 1].max()
        values = np.concatenate([values, lost])
        X, pending = self.features([*done, *failed]), self.features(running)
        pool, back = self._whole_space().features, self.second.scale.inverse
        error = self.second.posterior(X, values[:, 1], pool)
        privacy = self.first.posterior(X[: len(done)], values[: len(done), 0], pool) if self.published else None
        if self.third is not None:
            self._third = self.third.posterior(X[: len(done)], values[: len(done), 2])
        if self.smooth:  # noisy values: the front is where the model sees it, not at the luckiest draws
            values[:, 1] = back(error.posterior(X)[0])
        if not running:
            return values, error, privacy
        error, privacy = copy.deepcopy((error, privacy))
        e = self.epsilons([t.params for t in running]) if self.epsilons else np.empty(len(running))
        f = np.empty(len(running))
        for i, x in enumerate(pending):
            z = float(error.posterior(x[None])[0][0])
            error.append(x, z)
            f[i] = back(np.array(z))
            if privacy is not None:
                z = float(privacy.posterior(x[None])[0][0])
                privacy.append(x, z)
                e[i] = self.first.scale.inverse(np.array(z))
        believed = [e, f]
        if len(self.reference) == 3:
            believed.append(self._cost(Candidates([t.params for t in running], pending, e)))
        return np.concatenate([values, np.column_stack(believed)]), error, privacy

    def _worth(self, candidates: Candidates, belief: Belief) -> Array:
        values, error, privacy = belief
        scale, z = self.second.scale, self._predict(error, candidates)
        if len(self.reference) == 3:
            known = candidates.epsilon, self._cost(candidates)
            return exact_privacy_and_cost(values, self.reference, known, z, scale)
        front = Staircase.of(values, self.reference)
        if privacy is None:
            return exact_privacy(front, candidates.epsilon, *z, scale)
        region = Staircase.of(values, (math.inf, math.inf)) if self.endless else None
        return hvpoi(front, self._predict(privacy, candidates), z, (self.first.scale, scale), region=region)

    def _predict(self, gp: GaussianProcess, candidates: Candidates) -> tuple[Array, Array]:
        """Mean and standard deviation; those of the pool are kept current by the process itself."""
        held = candidates is self._pool
        mean, variance = (gp.mean, gp.variance) if held else gp.posterior(candidates.features)
        return mean, np.sqrt(variance)

    def _cost(self, candidates: Candidates) -> Array:
        """The third objective of candidates: computed, those of the pool once; or what the model of it expects."""
        if self.costs is None:
            assert self._third is not None
            return np.maximum(self._third.posterior(candidates.features)[0], 0.0)
        if candidates is not self._pool:
            return np.asarray(self.costs(candidates.params), float)
        if self._pool_cost is None:
            self._pool_cost = np.asarray(self.costs(candidates.params), float)
        return self._pool_cost

    def _whole_space(self) -> Candidates:
        if self._pool is None:
            self._pool = Candidates.at(
                self.space, golden_points(self.space.dimensions, 0, POOL, self.seed + 1), self.epsilons
            )
        return self._pool


def _is_accuracy(directions: Sequence[StudyDirection], scale: Scale) -> bool:
    """Whether the second objective is maximised, which is an accuracy; refuse other directions than these."""
    names = [direction.name.lower() for direction in directions]
    if "maximize" in (names[0], *names[2:]) or ("maximize" in names and scale.name != "logit"):
        raise BadInput(
            f"a study of a front minimises epsilon and cost, and minimises an error or maximises an accuracy between 0 "
            f"and 1; got directions {names!r} with scale {scale.name!r}"
        )
    return names[1] == "maximize"
