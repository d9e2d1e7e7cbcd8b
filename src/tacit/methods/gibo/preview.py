"""What DP-GIBO would give: with its defaults, and held to as few evaluations as a plain search has.

Theory is that of projected stochastic gradient descent of T steps, best step length, convex losses whose gradients are
shorter than B: D sqrt(B^2 + d sigma^2) / sqrt(T) above the least, D = sqrt(d), or half of it from the middle.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from tacit.methods.forecast import Forecast, PlanInput, Preview, would_refuse
from tacit.methods.gibo import GradientSearch
from tacit.methods.gibo.design import DescentSettings, shares
from tacit.methods.task import Task
from tacit.space import Float, Space

# as few evaluations as a step can do with, all of them for one descent from the middle
FEW = {"design": "simplex", "average": 0.0, "radius": 0.2, "starts": 1, "scan": 0}


def few_steps(trials: int, dimensions: int) -> int:
    """Steps by simplices of d + 1 evaluations that ``trials`` evaluations pay for; at least one.

    >>> few_steps(50, 9), few_steps(5, 9)
    (5, 1)
    """
    return max(1, trials // (dimensions + 1))


def gibo_defaults() -> str:
    """A short name for DP-GIBO's settings as they are now: another one means that its losses were measured before."""
    space = Space({"x": Float(0.0, 1.0)})
    both = [DescentSettings.of(options, (0.0, 1.0), space).to_json() for options in ({}, FEW)]
    return hashlib.sha256(json.dumps(both, sort_keys=True).encode()).hexdigest()[:8]


def _preview(name: str, case: PlanInput, *, steps: int, options: Mapping[str, Any]) -> Preview:
    space, d = case.space(), case.dimensions
    settings = DescentSettings.of(options, case.bounds, space)

    def search(accepted: bool) -> GradientSearch:
        return GradientSearch(Task(case.objective(), space, case.budget, steps, accept_noise=accepted), settings)

    p = search(True)
    sigma, clip, one = p.mechanism.scale, settings.clip, min(shares(settings, steps))
    each = settings.most_places(d)
    places, scores = p.starting_places if p.choice is not None else 0, settings.starts if p.scoring is not None else 0
    more = (f", {places} for the start" if places else "") + (f", {scores} for the score" if scores else "")
    far = math.sqrt(d) / (1 if settings.scan is None else 2)  # from wherever a scan may begin, or from the middle
    taken = f"{steps} step{'' if steps == 1 else 's'} of {each} evaluations"
    return Preview(
        name,
        p.guarantee(),
        p.most_evaluations,
        {"method": "gibo", "trials": steps, **options},
        sigma,
        f"one coordinate of a gradient (loss per unit of the cube, clipped to norm {clip:g})",
        far * math.sqrt(clip**2 + d * sigma**2) / math.sqrt(one),
        "convex losses, gradients below the clip, best step length (projected stochastic gradient descent)",
        refused=would_refuse(lambda: search(False)),
        notes=(f"{taken}{more}; finds one valley, not the best",),
    )


def _usual(case: PlanInput) -> Preview:
    return _preview("gibo", case, steps=case.trials, options={})


def _few(case: PlanInput) -> Preview:
    return _preview("gibo_few", case, steps=few_steps(case.trials, case.dimensions), options=FEW)


FORECASTS = (
    Forecast("gibo", _usual, "gibo", defaults=gibo_defaults),
    Forecast("gibo_few", _few, "gibo_few", defaults=gibo_defaults),
)
