"""Dominance and hypervolume, all objectives to be made small.

    u dominates v       u_i <= v_i for every objective i, and u differs from v
    front               the points that no other dominates
    hypervolume         Lebesgue measure of what the front dominates, within the box below the reference point

Avent et al. (2020), Definition 2 and Section 3.1; they call the reference point anti-ideal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, type_and_shape
from tacit.space import Array


def nondominated(points: ArrayLike) -> NDArray[np.bool_]:
    """Which of the points (n, p) belong to the front, (n,). Of equal points the first belongs.

    Edges. Infinity is a very bad value; a point with NaN is refused. No points give no answers.

    >>> nondominated([[1, 3], [2, 2], [2, 3], [3, 1]]).tolist()
    [True, True, False, True]
    """
    array = _points(points)
    kept = np.zeros(len(array), bool)
    if array.shape[1] == 2:  # sorted by the first objective, each must be lower than all before it
        order = np.lexsort((array[:, 1], array[:, 0]))
        second = array[order, 1]
        before = np.minimum.accumulate(np.r_[np.inf, second])[:-1]
        lower = second < before
        if len(order):
            lower[0] = True  # even at infinity, something must be first
        kept[order[lower]] = True
        return kept
    order = np.lexsort(array.T[::-1])  # whoever dominates a point comes before it
    front: list[int] = []
    for i in order:
        if not front or not (array[front] <= array[i]).all(axis=1).any():
            front.append(int(i))
    kept[front] = True
    return kept


def hypervolume(points: ArrayLike, reference: Sequence[float]) -> float:
    """Exact hypervolume of points (n, 2) or (n, 3) up to ``reference``; points beyond it add nothing.

    Edges. No points give 0. Values may be negative; infinite ones lie beyond every reference.

    >>> hypervolume([[1, 3], [2, 2]], (4, 4))
    5.0
    >>> hypervolume([[0, 0, 0]], (1, 2, 3))
    6.0
    """
    corner = np.asarray(reference, float)
    array = _points(points, len(corner))
    if corner.shape not in ((2,), (3,)) or not np.isfinite(corner).all():
        raise BadInput(f"the reference must be 2 or 3 finite numbers, got {reference!r}")
    inside = array[(array < corner).all(axis=1)]
    if not len(inside):
        return 0.0
    if np.isneginf(inside).any():
        raise BadInput("points must not be minus infinity: their hypervolume would be infinite")
    return _area(inside, corner) if len(corner) == 2 else _volume(inside, corner)


def _area(points: Array, corner: Array) -> float:
    front = points[nondominated(points)]
    front = front[np.argsort(front[:, 0])]
    widths = np.diff(np.r_[front[:, 0], corner[0]])
    return float(widths @ (corner[1] - front[:, 1]))


def _volume(points: Array, corner: Array) -> float:
    """Sweep upwards along the third objective, keeping the front of the first two and its area current."""
    total, area, height = 0.0, 0.0, 0.0
    xs: list[float] = []  # increasing
    ys: list[float] = []  # decreasing
    for x, y, z in sorted(map(tuple, points.tolist()), key=lambda p: p[2]):
        total += area * (z - height)
        height = z
        at = bisect_left(xs, x)
        if (at and ys[at - 1] <= y) or (at < len(xs) and xs[at] == x and ys[at] <= y):
            continue  # dominated in the plane
        end, left, roof = at, x, ys[at - 1] if at else corner[1]
        gained = 0.0
        while end < len(xs) and ys[end] >= y:  # what the new point buries, column by column
            gained += (xs[end] - left) * (roof - y)
            left, roof, end = xs[end], ys[end], end + 1
        right = xs[end] if end < len(xs) else corner[0]
        area += float(gained + (right - left) * (roof - y))
        xs[at:end], ys[at:end] = [x], [y]
    return float(total + area * (corner[2] - height))


def _points(points: ArrayLike, p: int | None = None) -> Array:
    array = np.asarray(points, float)
    if array.size == 0:
        return np.empty((0, p or (array.shape[1] if array.ndim == 2 else 2)))
    if array.ndim != 2 or (p is not None and array.shape[1] != p):
        raise BadInput(f"points must have shape (n, {p or 'objectives'}), got {type_and_shape(array)}")
    if np.isnan(array).any():
        raise BadInput(f"points must not contain NaN, got {type_and_shape(array)} with some")
    return array
