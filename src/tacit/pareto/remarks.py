"""What to say of a front and of what was asked for, before and after the search."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from tacit.errors import BadInput
from tacit.pareto.surrogate import golden_points

if TYPE_CHECKING:
    from tacit.pareto.algorithm import Oracles
    from tacit.pareto.front import Front
    from tacit.space import Space

SAMPLE = 64  # settings whose epsilons are looked at before anything is run
MANY = 4  # parameters from which on a model of epsilon as well finds the front sooner
EDGE = 0.02  # of the unit interval: nearer to a bound than this is on it


def refuse_infinite(oracles: Oracles) -> None:
    """Refuse a search in which no setting has a finite epsilon: its front would be empty, whatever is trained."""
    some = oracles.space.params(golden_points(oracles.space.dimensions, 0, SAMPLE, 0))
    if not np.isfinite(oracles.quick_epsilons(some)).any():
        remedy = "Give a positive delta, such as 1e-6" if not oracles.delta else "Widen the space to more noise"
        raise BadInput(
            f"at delta={oracles.delta:g} none of {SAMPLE} settings over the whole space has a finite epsilon, so the "
            f"front would be empty. {remedy}. Nothing was run"
        )


def edge_remarks(front: Front, space: Space) -> list[str]:
    """Bounds of the space on which half of the front or more lies: better settings may be beyond.

    >>> from tacit import Float, Space
    >>> from tacit.pareto import Front, Point
    >>> front = Front(tuple(Point.of({"clip": 0.1}, e, [e / 9]) for e in (1, 2, 3)), "no sampling", 1e-6)
    >>> edge_remarks(front, Space({"clip": Float(0.1, 4.0)}))[0][:57]
    '3 of 3 points of the front have clip at its least value 0'
    """
    points = [p for p in front.points if p.epsilon <= front.reference[0]]
    if len(points) < 2:
        return []
    cube, said = space.cube([p.params for p in points]), []
    for k, (name, d) in enumerate(space.distributions.items()):
        if getattr(d, "choices", None) is not None or d.single():
            continue
        ends = (("least", d.low, cube[:, k] <= EDGE), ("largest", d.high, cube[:, k] >= 1 - EDGE))  # type: ignore[attr-defined]
        for end, bound, on in ends:
            if 2 * int(on.sum()) >= len(points) and on.sum() > 1:
                said.append(
                    f"{int(on.sum())} of {len(points)} points of the front have {name} at its {end} value {bound:g}: "
                    "better settings may lie beyond; widen the space"
                )
    return said


PRIVACY_MODELS = ("exact", "gp", "published")


def usual_model(space: Space, objectives: int, *, noisy: bool, begun: str | None = None) -> str:
    """Which model of privacy is used unless one is named: that of the study, or the one that finds the front sooner.

    From four parameters on that is a model of epsilon too: it missed 0.046 of the hypervolume where computed epsilons
    missed 0.086, and 0.43 for 0.69 with five, after 30 evaluations. With two the two are level.
    """
    search = str(json.loads(begun or "{}").get("search", ""))
    stored = next((name for name in ("exact", "gp") if search == f"dpareto, {name} privacy"), None)
    return stored or ("gp" if space.dimensions >= MANY and objectives == 2 and not noisy else "exact")
