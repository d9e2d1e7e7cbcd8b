"""What DPareto is held against: random search, grids, a sweep over fixed epsilons, Optuna's samplers, BoTorch.

Each is a sampler for ``tacit.pareto.discover(..., sampler=...)``, so all share the loop, the storage and the front.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.samplers import BaseSampler, NSGAIISampler, TPESampler
from optuna.trial import TrialState

from tacit.errors import BadInput, choice, positive
from tacit.gp.threads import one_thread
from tacit.pareto.algorithm import Oracles
from tacit.pareto.surrogate import Candidates, Epsilons, ObjectiveModel, golden_points, points_around
from tacit.run.sampler import JointSampler
from tacit.space import Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

Draw = Callable[[np.random.Generator], Any]
SEARCHES = ("dpareto", "random", "grid", "sweep", "nsga2", "tpe", "botorch")


class DrawnSampler(JointSampler):
    """Random search by a table of distributions, such as an algorithm's ``random``; uniform on the space without one.

    Each entry draws from a generator. The paper's tables are in tacit.training.random_search; where a range is
    wider than the space (learning rates on adult), a value beyond it is moved to its edge.
    """

    def __init__(self, space: Space, table: Mapping[str, Draw] | None = None, *, seed: int = 0) -> None:
        super().__init__(space, seed)
        if table is not None and set(table) != set(space.names):
            raise BadInput(f"the table must name the parameters {space.names}, got {sorted(table)}")
        self.table = table

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        generator = np.random.default_rng((self.seed, trial.number))
        if self.table is None:
            return self.space.params(generator.random((1, self.space.dimensions)))[0]
        drawn = {name: self.table[name](generator) for name in self.space.names}
        for name, d in self.space.distributions.items():
            if getattr(d, "choices", None) is None:
                drawn[name] = min(max(drawn[name], d.low), d.high)  # type: ignore[attr-defined]
        return drawn


class PointsSampler(JointSampler):
    """The members of a list in turn, such as a grid: ``PointsSampler(space, space.grid(3))``."""

    def __init__(self, space: Space, points: Sequence[Params]) -> None:
        super().__init__(space)
        if not points:
            raise BadInput("points must not be an empty list")
        self.points = list(points)

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        # trials that were cut short give their place back
        lost = sum(t.state == TrialState.FAIL and t.number < trial.number for t in study.get_trials(deepcopy=False))
        return self.points[(trial.number - lost) % len(self.points)]


class FixedEpsilonSampler(JointSampler):
    """One epsilon after another: the best expected utility among points at or below it, as one would tune by hand.

    Rounds over ``targets`` in turn: at each, the candidate of largest upper confidence bound whose computed epsilon is
    within the target and not far below it.
    """

    def __init__(
        self, space: Space, epsilons: Epsilons, targets: Sequence[float], *, startup: int = 16, seed: int = 0
    ) -> None:
        super().__init__(space, seed)
        self.epsilons, self.targets, self.startup = epsilons, [positive("target", t) for t in targets], startup
        self.model = ObjectiveModel("logit")
        self._pool: Candidates | None = None

    def point(self, study: Study, trial: FrozenTrial) -> Params:
        done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if trial.number < self.startup or len(done) < 2:
            return self.space.params(golden_points(self.space.dimensions, trial.number, 1, self.seed))[0]
        if self._pool is None:
            whole = golden_points(self.space.dimensions, 0, 2048, self.seed + 1)
            self._pool = Candidates.at(self.space, whole, self.epsilons)
        target = self.targets[trial.number % len(self.targets)]
        fitting = sorted((t for t in done if t.values[0] <= target), key=lambda t: t.values[1])[:4] or done[:1]
        near = points_around(self.space, [t.params for t in fitting], (0.2, 0.06, 0.02), 24, (self.seed, trial.number))
        found = self._pool + Candidates.at(self.space, near, self.epsilons)
        with one_thread():
            X = self.space.features([t.params for t in done])
            gp = self.model.posterior(X, np.array([t.values[1] for t in done]))
            mean, variance = gp.posterior(found.features)
        within = (found.epsilon <= target) & (found.epsilon >= target / 3)
        worth = np.where(within, 2.0 * np.sqrt(variance) - mean, -np.inf)
        if not within.any():
            worth = -np.abs(np.log(np.maximum(found.epsilon, 1e-9) / target))
        tried = [t.params for t in done]
        return next((found.params[i] for i in np.argsort(-worth)[:64] if found.params[i] not in tried), found.params[0])


def grid(space: Space, per_axis: int) -> PointsSampler:
    """All combinations of ``per_axis`` values (3 and 4 in the paper)."""
    return PointsSampler(space, space.grid(per_axis))


def nsga2(seed: int = 0, *, population: int = 50) -> BaseSampler:
    """Optuna's NSGA-II."""
    return NSGAIISampler(population_size=population, seed=seed)


def tpe(seed: int = 0, *, startup: int = 16) -> BaseSampler:
    """Optuna's multi-objective TPE, all parameters together."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls multivariate experimental
        return TPESampler(seed=seed, multivariate=True, n_startup_trials=startup)


def search(
    name: str,
    algorithm: Any,
    *,
    delta: float,
    trials: int,
    startup: int = 16,
    reference: tuple[float, float] = (10.0, 1.0),
    seed: int = 0,
) -> BaseSampler | None:
    """A search by its name, for ``discover(..., sampler=...)``; None is DPareto, which ``discover`` makes itself.

    "random" draws by the algorithm's own ``random`` if it has one; "grid" is the largest within ``trials``; "sweep"
    goes over 12 epsilons up to the reference.
    """
    choice("search", name, SEARCHES)
    oracles = Oracles(algorithm, delta)
    space = oracles.space

    def sweep() -> BaseSampler:
        targets = np.geomspace(reference[0] / 200, reference[0], 12).tolist()
        return FixedEpsilonSampler(space, oracles.quick_epsilons, targets, startup=startup, seed=seed)

    def botorch() -> BaseSampler:
        from tacit.pareto.botorch import BoTorchSampler

        return BoTorchSampler(space, reference=reference, startup=startup, seed=seed)

    makers: dict[str, Callable[[], BaseSampler | None]] = {
        "dpareto": lambda: None,
        "random": lambda: DrawnSampler(space, getattr(algorithm, "random", None), seed=seed),
        "grid": lambda: PointsSampler(space, space.grid_within(trials)),
        "sweep": sweep,
        "nsga2": lambda: nsga2(seed),
        "tpe": lambda: tpe(seed, startup=startup),
        "botorch": botorch,
    }
    return makers[name]()
