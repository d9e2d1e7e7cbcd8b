"""Questions to a front that its tested points alone cannot answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.errors import BadInput, positive, probability
from tacit.files import Json
from tacit.gp.threads import one_thread
from tacit.pareto.estimates import LEAST, ErrorModel
from tacit.pareto.surrogate import Candidates, golden_points, points_around
from tacit.space import Array, Params

if TYPE_CHECKING:
    from tacit.pareto.algorithm import Oracles
    from tacit.pareto.front import Front

POOL, ROUNDS = 4096, (0.1, 0.03, 0.01, 0.003)
LIKELY = 12  # candidates whose epsilon is computed at last, for each of these errors of its estimate:
SPARED = (0.97, 1.0, 1.03)


@dataclass(frozen=True)
class Prediction:
    """What the model expects of hyperparameters: the median of their mean utility, and its 95% interval.

    ``epsilon`` is computed, not predicted. ``tested`` says whether these very hyperparameters were run. The interval
    is about the mean of many runs; one run scatters more. How often it holds: ``python -m benchmarks front_coverage``.
    """

    params: Params
    epsilon: float
    utility: float
    low: float
    high: float
    tested: bool

    def to_json(self) -> Json:
        return {**self.__dict__}


def predict(
    front: Front, oracles: Oracles, *, epsilon: float | None = None, utility: float | None = None
) -> Prediction:
    """The best expected utility at most ``epsilon`` away, or the least epsilon expected to reach ``utility``.

    Guarantee. That of the front: the model is fitted to its utilities.
    Edges. Three tested points are needed. If no candidate fits, BadInput says what the nearest one reaches.
    """
    if (epsilon is None) == (utility is None):
        raise BadInput("give epsilon or utility, one of the two")
    tested = [p for p in front.tested if np.isfinite(p.epsilon)]
    if len(tested) < LEAST:
        raise BadInput(f"to predict, a front needs at least 3 tested points of finite epsilon, got {len(tested)}")
    wanted = positive("epsilon", epsilon) if epsilon is not None else probability("utility", utility or 0.0, zero=True)
    space = oracles.space
    with one_thread():
        model = ErrorModel.of(space, tested, front.noise)
        known = Candidates.at(space, space.cube([p.params for p in front.points]), oracles.quick_epsilons)
        found = known + Candidates.at(space, golden_points(space.dimensions, 0, POOL, 1), oracles.quick_epsilons)
        for i, distance in enumerate((*ROUNDS, 0.0)):
            error = model.scale.inverse(model.gp.posterior(found.features)[0])
            worth = _worth(found.epsilon, error, wanted, by_epsilon=epsilon is not None)
            if distance == 0.0:
                break
            top = [found.params[j] for j in np.argsort(-worth)[:8]]
            found = found + Candidates.at(
                space, points_around(space, top, (distance,), 64, (2, i)), oracles.quick_epsilons
            )
        # estimates of epsilon chose so far; what is answered with is computed
        spared = (_worth(found.epsilon / by, error, wanted, by_epsilon=epsilon is not None) for by in SPARED)
        likely = [j for each in spared for j in np.argsort(-each)[:LIKELY]]
        kept = np.unique([*likely, np.argmin(found.epsilon), np.argmin(error)])
        params, error = [found.params[j] for j in kept], error[kept]
        exact = oracles.epsilons(params)
        worth = _worth(exact, error, wanted, by_epsilon=epsilon is not None)
    best = int(np.argmax(worth))
    if not np.isfinite(worth[best]):
        if epsilon is not None:
            raise BadInput(f"no hyperparameters reach epsilon={wanted:g}; the least is {exact.min():.4g}")
        raise BadInput(f"the model expects no utility of {wanted:g}; the most is {1 - error.min():.4g}")
    chosen = params[best]
    middle, lower, upper = (float(e[0]) for e in model.errors(space.features([chosen])))
    low, middle, high = np.clip(1.0 - np.array([upper, middle, lower]), 0.0, 1.0).tolist()
    return Prediction(chosen, float(exact[best]), middle, low, high, any(p.params == chosen for p in tested))


def _worth(epsilon: Array, error: Array, wanted: float, *, by_epsilon: bool) -> Array:
    if by_epsilon:
        return np.where(epsilon <= wanted, -error, -np.inf)
    return np.where(1.0 - error >= wanted, -epsilon, -np.inf)
