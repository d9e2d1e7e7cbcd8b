"""A root of a function of one number, without loading a library of optimisers: `tacit plan` starts at once."""

from __future__ import annotations

import sys
from collections.abc import Callable

MOST_STEPS = 200


def find_root(
    function: Callable[[float], float], low: float, high: float, *, absolute: float = 1e-15, relative: float = 1e-14
) -> float:
    """Where a continuous function changes its sign between two places, to within absolute + relative |root|.

    Follows. Brent (1973), Algorithms for Minimization without Derivatives, chapter 4: a secant or an inverse parabola
    where it closes in fast enough, half of the interval otherwise.
    Edges. Raises ValueError where the signs at the ends are the same.

    >>> round(find_root(lambda x: x * x - 2, 0.0, 2.0), 12)
    1.414213562373
    """
    before, best = float(low), float(high)
    at_before, at_best = float(function(before)), float(function(best))
    if at_before == 0.0:
        return before
    if at_best == 0.0:
        return best
    if (at_before > 0) == (at_best > 0):
        raise ValueError("the function must change its sign between the two ends")
    other, at_other = before, at_before  # the sign of the function here is never that at best
    step = last = best - before
    for _ in range(MOST_STEPS):
        if (at_best > 0) == (at_other > 0):
            other, at_other = before, at_before
            step = last = best - before
        if abs(at_other) < abs(at_best):
            before, best, other = best, other, best
            at_before, at_best, at_other = at_best, at_other, at_best
        near = 2 * sys.float_info.epsilon * abs(best) + 0.5 * (absolute + relative * abs(best))
        half = 0.5 * (other - best)
        if abs(half) <= near or at_best == 0.0:
            return best
        if abs(last) < near or abs(at_before) <= abs(at_best):
            step = last = half
        else:
            ratio = at_best / at_before
            if before == other:
                p, q = 2 * half * ratio, 1 - ratio
            else:
                a, b = at_before / at_other, at_best / at_other
                p = ratio * (2 * half * a * (a - b) - (best - before) * (b - 1))
                q = (a - 1) * (b - 1) * (ratio - 1)
            p, q = abs(p), -q if p > 0 else q
            earlier, last = last, step
            if 2 * p < min(3 * half * q - abs(near * q), abs(earlier * q)):
                step = p / q
            else:
                step = last = half
        before, at_before = best, at_best
        best += step if abs(step) > near else (near if half > 0 else -near)
        at_best = float(function(best))
    return best
