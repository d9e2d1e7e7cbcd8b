"""DP-GIBO held to as few evaluations as a plain search has."""

from __future__ import annotations

# as few evaluations as a step can do with, all of them for one descent from the middle
FEW = {"design": "simplex", "average": 0.0, "radius": 0.2, "starts": 1, "scan": 0}


def few_steps(trials: int, dimensions: int) -> int:
    """Steps by simplices of d + 1 evaluations that ``trials`` evaluations pay for; at least one.

    >>> few_steps(50, 9), few_steps(5, 9)
    (5, 1)
    """
    return max(1, trials // (dimensions + 1))
