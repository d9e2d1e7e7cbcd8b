"""The data sets on which DP-GIBO is audited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.methods.neighbours import Neighbours, unit_space
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget
from tacit.space import Array


def neighbours(*, trials: int = 3, records: int = 10, parameters: int = 2) -> Neighbours:
    """One record whose losses and gradient go from one end to the other."""

    def losses(slope: float) -> Callable[[dict[str, Any]], Array]:
        steep = np.r_[slope, np.zeros(records - 1)]
        return lambda params: np.asarray(steep * sum(params.values()))

    def outputs(value: Tuned) -> list[float]:
        seen = value.details
        return [float(x) for released in (seen["scan"]["scores"], *seen["gradients"][0]) for x in released]

    about = (
        f"a scan of 2 places and {trials} steps over {records} records and {parameters} parameters, every noisy mean "
        "and gradient; one record's loss goes from bound to bound, its gradient, clipped to norm B, to its opposite"
    )
    sides = (losses(-1e3), losses(1e3))
    space = unit_space(parameters)
    return Neighbours(about, Budget.gdp(2.0), sides, space, records, trials, outputs, {"scan": 2}, runs=1500)
