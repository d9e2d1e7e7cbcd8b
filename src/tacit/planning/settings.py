"""DP-GIBO held to as few evaluations as a plain search has, and which defaults a measurement of it was made with."""

from __future__ import annotations

import hashlib
import json

from tacit.methods.gibo.design import Settings
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
    both = [Settings.of(options, (0.0, 1.0), space).to_json() for options in ({}, FEW)]
    return hashlib.sha256(json.dumps(both, sort_keys=True).encode()).hexdigest()[:8]
