"""The data sets on which DP-GIBO is audited."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.methods.neighbours import Neighbours, unit_space
from tacit.methods.optimiser import sobol_points
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget
from tacit.space import Array, Params


def neighbours(*, trials: int = 3, records: int = 10, parameters: int = 2, starts: int = 1) -> Neighbours:
    """One record whose gradient turns round, and whose losses go up at half of the first places and down at others."""
    scan = 2 * starts
    sums = sorted([0.5 * parameters, *sobol_points(parameters, scan - 1, 0).sum(axis=1).tolist()])
    between = (sums[starts - 1] + sums[starts]) / 2

    def losses(slope: float) -> Callable[[Params], Array]:
        steep = np.r_[slope, np.zeros(records - 1)]
        return lambda params: np.asarray(steep * (sum(params.values()) - between))

    def outputs(value: Tuned) -> list[float]:
        seen = value.details
        drawn = (seen["scan"]["chosen"], *seen["gradients"][0], [value.loss])
        return [float(x) for released in drawn for x in released]

    about = (
        f"{starts} draw{'s' * (starts > 1)} among {scan} places and {trials} steps over {records} records and "
        f"{parameters} parameters, every noisy gradient and the score; one record's losses go from bound to bound, up "
        "at half of the places and down at the others, its gradient, clipped to norm B, to its opposite"
    )
    sides = (losses(-1e3), losses(1e3))
    space = unit_space(parameters)
    options = {"scan": scan, "starts": starts}
    others = (neighbours(trials=4, starts=2),) if starts == 1 else ()
    return Neighbours(about, Budget.gdp(2.0), sides, space, records, trials, outputs, options, runs=1500, others=others)
