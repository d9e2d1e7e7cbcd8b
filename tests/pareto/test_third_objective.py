"""A third objective of a front: known beforehand, or measured with each run; on an axis of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pareto_toys import Toy

from tacit import Budget
from tacit.errors import BadInput
from tacit.pareto import Front, PrivateTest, discover
from tacit.report.pages.front import write


class Costly(Toy):
    """Steps cost; known beforehand."""

    cost_name = "seconds"

    def costs(self, params: Sequence[dict[str, Any]]) -> np.ndarray:
        return np.array([10.0 * p["steps"] for p in params])


class Gap(Toy):
    """A gap between groups, which falls with the rate; measured with each run."""

    cost_name = "gap"

    def utility_and_cost(self, params: dict[str, Any], seed: int) -> tuple[float, float]:
        return self.utility(params, seed), 1.0 - params["rate"]


@pytest.mark.parametrize(("algorithm", "corner"), [(Costly(), 50.0), (Gap(), 1.0)])
def test_a_third_objective_is_made_small_too(algorithm: Any, corner: float, tmp_path: Path) -> None:
    front = discover(algorithm, delta=1e-6, trials=14, startup=8, reference=(10.0, 1.0, corner)).value
    assert front.cost_name == algorithm.cost_name
    assert len(front.points) >= len(front.steps) >= 1
    for p in front.points:  # nobody is better in all three
        others = [q for q in front.tested if q is not p and q.objectives != p.objectives]
        assert not any(np.all(np.array(q.objectives) <= p.objectives) for q in others)
    assert 0 < front.hypervolume() < 10.0 * corner
    again = Front.from_json(front.to_json())
    assert (again.points, again.cost_name) == (front.points, front.cost_name)
    assert front.at(epsilon=5.0).utility == max(p.utility for p in front.points if p.epsilon <= 5.0)
    html = write(front, tmp_path / "front.html").read_text()
    assert f"{algorithm.cost_name.capitalize()}, the third objective" in html


def test_a_third_objective_needs_an_algorithm_that_has_one() -> None:
    with pytest.raises(BadInput, match="must have costs"):
        discover(Toy(), delta=1e-6, trials=3, reference=(10.0, 1.0, 5.0))
    test = PrivateTest(Budget.gdp(1.0))
    with pytest.raises(BadInput, match="not covered by a private front"):
        discover(Gap(), delta=1e-6, trials=3, reference=(10.0, 1.0, 5.0), private=test)
    with pytest.raises(BadInput, match=r"\(epsilon, error\) or \(epsilon, error, cost\)"):
        discover(Toy(), delta=1e-6, trials=3, reference=(10.0, 1.0, 5.0, 2.0))
