"""The data sets on which DP-GIBO is audited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.methods.neighbours import Neighbours, unit_space
from tacit.methods.surrogate import sobol_points
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget
from tacit.space import Array


def neighbours(*, trials: int = 3, records: int = 10, parameters: int = 2) -> Neighbours:
    """One record whose gradient turns round, and whose losses go up at one first place and down at the other."""
    between = (0.5 * parameters + float(sobol_points(parameters, 1, 0).sum())) / 2

    def losses(slope: float) -> Callable[[dict[str, Any]], Array]:
        steep = np.r_[slope, np.zeros(records - 1)]
        return lambda params: np.asarray(steep * (sum(params.values()) - between))

    def outputs(value: Tuned) -> list[float]:
        seen = value.details
        drawn = (seen["scan"]["chosen"], *seen["gradients"][0], [value.score])
        return [float(x) for released in drawn for x in released]

    about = (
        f"a draw between 2 places and {trials} steps over {records} records and {parameters} parameters, every noisy "
        "gradient and the score; one record's losses go from bound to bound, up at one place and down at the other, "
        "its gradient, clipped to norm B, to its opposite"
    )
    sides = (losses(-1e3), losses(1e3))
    space = unit_space(parameters)
    return Neighbours(about, Budget.gdp(2.0), sides, space, records, trials, outputs, {"scan": 2}, runs=1500)
