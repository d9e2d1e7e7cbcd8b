"""Private selection: the profile of "the best of a secret, random number of runs" from the profile of one run.

    Q, Q'    what one run puts out on two neighbouring data sets, its score included
    K, f     number of runs, drawn in secret from a law that the data do not touch; its generating function
    A, A'    what the selection puts out: the run with the best score, ties broken at random
    t(y)     Q(a run scores better than y); t'(y) the same of Q'
    G(t)     the most that Q' can give to an event to which Q gives t: least of e^s t + H_{e^s}(Q' || Q) over s
    r        the likelihood ratio Q / Q'

A has density f'(1-t) with respect to Q, and A' has at least f'(1 - G(t)) with respect to Q'. Hence

    H_{e^eps}(A || A') <= E_{Q'} sup_t [f'(1-t) r - e^eps f'(1-G(t))]_+ = e^eps E_{Q'} h(r e^-eps),

where h(z) = sup_t [a(t) z - b(t)]_+, a(t) = f'(1-t), b(t) = f'(1-G(t)), is convex and does not depend on eps. As a
piecewise linear function it is a sum of w_j (z - s_j)_+, and so

    delta_A(eps) <= sum_j w_j delta_Q(eps + log s_j).

docs/proofs/selection.md has the proof in full, with the rounding of each step. In short: a and b are convex in t, so
that between the points of a grid of t chords bound a from above and prolonged secants bound b from below; the w_j and
s_j come from the greatest convex function below the points (a, b), and what rounding does to it is measured and taken
off; all that follows adds up positive numbers. SHIFT, on every s_j and w_j, is a thousand times the rounding left.

    Papernot2022  Papernot, Steinke: Hyperparameter tuning with Rényi differential privacy
    Koskela2024   Koskela, Redberg, Wang: Privacy profiles for private selection
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from tacit.privacy.profiles import TINY, GaussianProfile, LeastProfile, Profile, RenyiProfile, whole_line
from tacit.privacy.published_selection import renyi_selection
from tacit.privacy.run_laws import Fixed, NegativeBinomial, PoissonRuns, RunLaw

Floats = NDArray[np.float64]
Lines = tuple[Floats, Floats, Floats]

SHIFT = 1e-9  # relative, on every weight and breakpoint
MARGIN = 2.0**-50  # eight units of rounding
LINES = 80  # slopes e^s on each side and level, from which G is made
LEVELS = (1e-2, 1e-6, 1e-16)  # of delta, times 1/m: where those slopes end
COARSE, FINE = 300, 800  # points of t, before and after they are placed where a and b change
ATOMS = 300  # breakpoints kept


@dataclass(frozen=True)
class SelectedProfile:
    """The profile of the best of K runs, each with profile ``base``, K of law ``law``. Made by `select`.

    Edges: K = 0 releases nothing, which happens equally often on both data sets and so costs nothing at epsilon >= 0.
    """

    base: Profile
    law: RunLaw

    @cached_property
    def reversed(self) -> SelectedProfile:
        back = self.base.reversed
        return self if back is self.base else SelectedProfile(back, self.law)

    def delta(self, epsilon: ArrayLike) -> Floats:
        return whole_line(epsilon, self._forward, lambda eps: self.reversed._forward(eps))

    @cached_property
    def shifts(self) -> tuple[Floats, Floats]:
        """The weights w_j and the shifts log s_j of the sum above."""
        return thin_weights(*hull_weights(*_curve(self.base, self.law)))

    def _forward(self, eps: Floats) -> Floats:
        weights, shifts = self.shifts
        rows = [self.base.delta(eps[i : i + 256, None] + shifts) @ weights for i in range(0, len(eps), 256)]
        total = np.concatenate(rows) if rows else np.empty(0)
        return np.minimum(np.maximum(total * (1 + SHIFT), TINY), 1.0)


def select(profile: Profile, law: RunLaw) -> Profile:
    """The privacy profile of releasing the best of K runs and nothing else.

    Guarantee: never below the exact delta of the selection, for any score, any number of settings drawn afresh from a
        public law, if every run's profile is at most ``profile``.
    Follows: docs/proofs/selection.md.
    Edges: K, the other runs and their number, scores and duration must stay secret.

    >>> from tacit.privacy.profiles import GaussianProfile, epsilon_at
    >>> from tacit.privacy.run_laws import geometric
    >>> round(epsilon_at(select(GaussianProfile(0.26805), geometric(40.0)), 1e-5), 2)
    1.86
    """
    bounds: list[Profile] = [SelectedProfile(profile, law)]
    curve = profile.curve() if isinstance(profile, GaussianProfile) else profile
    if isinstance(curve, RenyiProfile) and isinstance(law, NegativeBinomial | PoissonRuns):
        # less where delta is near one, or where the curve is all that is known of one run
        bounds.append(renyi_selection(curve, law))
    if isinstance(profile, GaussianProfile) and isinstance(law, Fixed):
        bounds.append(GaussianProfile(profile.mu * math.sqrt(law.runs) * (1 + 1e-15)))  # all runs, released
    return bounds[0] if len(bounds) == 1 else LeastProfile(tuple(bounds))


def _slopes(base: Profile, mean: float) -> Floats:
    """Values of s for the lines e^s t + H_{e^s}(Q' || Q): dense where delta is large, on both sides of zero."""
    sides: list[Floats] = []
    for side in (base, base.reversed):
        if sides and side is base:  # symmetric
            sides.append(sides[0])
            continue
        ends = _crossings(side, [level / mean for level in LEVELS])
        starts = [0.0, *ends[:-1]]
        sides.append(np.concatenate([np.linspace(a, b, LINES) for a, b in zip(starts, ends, strict=True)]))
    return np.unique(np.concatenate([-sides[0], sides[1]]))


def _crossings(side: Profile, levels: list[float]) -> list[float]:
    """Where delta comes down to each level, above what it never falls below; a little beyond, if anything."""
    grid = np.geomspace(1e-7, 600.0, 300)
    rest = float(side.delta(grid[-1:])[0]) * (1 - 1e-3)
    places = []
    for level in levels:
        grids = grid
        for _ in range(3):  # a kink, as that of pure privacy, should be met closely
            over = int((side.delta(grids) - rest > level).sum())
            low, high = grids[max(over - 1, 0)], grids[min(over, len(grids) - 1)]
            grids = np.linspace(low, high, 50)
        places.append(float(high))
    return places


def lines_of(base: Profile, mean: float) -> Lines:
    """For each line: its slope x = e^s, its height d at t = 0, and c with 1 - G = x (1-t) - c."""
    s = _slopes(base, mean)
    x, low = np.exp(s), s <= 0
    d, c = base.reversed.delta(s), np.empty_like(s)
    c[low] = x[low] * base.delta(-s[low])
    c[~low] = np.expm1(s[~low]) + d[~low]
    return x, d, c


def _curve(base: Profile, law: RunLaw) -> tuple[Floats, Floats]:
    """Points (a, b), from t = 1 to t = 0, such that every (a(t), b(t)) is left of and above the path through them."""
    lines = lines_of(base, law.mean)
    t, u = place_points(lambda t, u: _both(law, lines, t, u)[:2], FINE)
    return _hull_points(t, u, *_both(law, lines, t, u))


def place_points(both: Callable[[Floats, Floats], tuple[Floats, Floats]], points: int) -> tuple[Floats, Floats]:
    """Points t and u = 1 - t, from 0 to 1, most of them where a or b, as ``both`` gives them, change most."""
    half = np.geomspace(1e-20, 0.5, COARSE // 2)
    # places from -1 (t near 0) to 1 (t near 1), to be refined where a or b change most
    place = np.concatenate([np.linspace(-1, 0, COARSE // 2), np.linspace(0, 1, COARSE // 2)[1:]])
    t, u = np.concatenate([half, 1 - half[-2::-1]]), np.concatenate([1 - half, half[-2::-1]])
    a, b = both(t, u)
    with np.errstate(divide="ignore"):
        log_a, log_b = np.log(np.maximum(a, 1e-15 * a[0])), np.log(np.maximum(b, 1e-15 * a[0]))
    change = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(log_a)) + np.abs(np.diff(log_b)))])
    even = change / change[-1] if change[-1] > 0 else np.linspace(0, 1, len(change))
    where = np.interp(np.linspace(0, 1, points), 0.8 * even + 0.2 * (place + 1) / 2, place)
    log_range = np.log(0.5 / 1e-20)
    small = 0.5 * np.exp(-np.abs(where) * log_range)
    t = np.concatenate([[0.0], np.where(where < 0, small, 1 - small), [1.0]])
    u = np.concatenate([[1.0], np.where(where < 0, 1 - small, small), [0.0]])
    keep = np.concatenate([[True], (np.diff(t) > 0) | (np.diff(u) < 0)])
    return t[keep], u[keep]


def _both(law: RunLaw, lines: Lines, t: Floats, u: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """a(t) = f'(1-t), b(t) = f'(1-G(t)), at t and u = 1 - t, both falling in t; and whether b kept its digits."""
    G, V, lost = largest_share(lines, t, u)
    a = np.maximum.accumulate(law.derivative(u, t)[::-1])[::-1]
    b = np.minimum.accumulate(law.derivative(V, np.minimum(G, 1.0)))
    # b changes by at most this many times as much as its argument, relatively; eta + 1 for negative binomial laws
    steep = law.largest or (law.mean if isinstance(law, PoissonRuns) else 101)
    return a, b, lost * steep <= 2e-11


def largest_share(lines: Lines, t: Floats, u: Floats) -> tuple[Floats, Floats, Floats]:
    """G(t), V = 1 - G(t) at t and u = 1 - t, and what share of V rounding may be.

    Each product and sum below is moved by MARGIN to the side on which G is too large and 1 - G too small.
    """
    x, d, c = lines
    G, V, lost = np.empty_like(t), np.empty_like(t), np.full_like(t, MARGIN)  # V is 1 - G
    direct = t <= 0.5
    if direct.any():
        G[direct] = np.minimum((np.multiply.outer(t[direct], x) + d).min(axis=1) * (1 + MARGIN), 1.0)
        V[direct] = 1 - G[direct]
    near = ~direct | (np.where(direct, G, 1.0) > 0.5)  # here 1 - G is what has to keep its digits
    if near.any():
        all_lines = np.multiply.outer(u[near], x * (1 - MARGIN)) - c * (1 + MARGIN)
        best = all_lines.argmax(axis=1)
        V[near] = np.maximum(all_lines[np.arange(len(best)), best], 0.0)
        G[near] = (1 - V[near]) * (1 + MARGIN)
        lost[near] = MARGIN * (u[near] * x[best] + c[best]) / np.maximum(V[near], TINY)
    return G, V, lost


def _hull_points(t: Floats, u: Floats, a: Floats, b: Floats, exact: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Between two points a is below its chord and b above both prolonged secants, which meet in one more point."""
    step = np.where(t[:-1] < 0.5, np.diff(t), -np.diff(u))
    secant = np.diff(b) / step
    left, right, inner = secant[:-2], secant[2:], step[1:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (b[2:-1] - right * inner - b[1:-2]) / (left - right)  # from the left end of the interval
    share = np.clip(np.nan_to_num(meet / inner, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    height = np.minimum(b[1:-2] + left * inner * share, b[2:-1] - right * inner * (1 - share))
    # Prolonging multiplies rounding: over a far longer interval, or from points that lost digits, and at both ends, the
    # corner of the largest a and the least b is taken instead.
    sound = (inner <= 20 * np.minimum(step[:-2], step[2:])) & (height >= b[2:-1])
    sound &= exact[:-3] & exact[1:-2] & exact[2:-1] & exact[3:]
    corner_a, corner_b = a[:-1].copy(), b[1:].copy()
    corner_a[1:-1] = np.where(sound, a[1:-2] + (a[2:-1] - a[1:-2]) * share, a[1:-2])
    corner_b[1:-1] = np.where(sound, height, b[2:-1])
    path_a, path_b = np.empty(2 * len(t) - 1), np.empty(2 * len(t) - 1)
    path_a[::2], path_a[1::2], path_b[::2], path_b[1::2] = a, corner_a, b, corner_b
    rising = np.maximum.accumulate(path_a[::-1])
    return rising, np.minimum.accumulate(path_b)[::-1]


def hull_weights(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Weights and breakpoints of h: slopes of the greatest convex function through 0 and below the points (a, b)."""
    weights = np.diff(a, prepend=0.0)
    rising = weights > 0
    weights, b = weights[rising], b[rising]
    rise = np.diff(b, prepend=0.0)
    slopes = np.maximum(isotonic_regression(rise / weights, weights=weights).x, 0.0)
    reached = np.cumsum(weights * slopes)  # must nowhere be above b
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.max(np.where(reached > b, reached / b - 1, 0.0))
    return weights * (1 + SHIFT), slopes / (1 + above) * (1 - SHIFT)


def thin_weights(weights: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Fewer breakpoints: each weight divided between the two kept next to it, its mean unchanged, which raises h."""
    edges = np.unique(slopes)
    if len(edges) > ATOMS:
        edges = edges[np.unique(np.linspace(0, len(edges) - 1, ATOMS).round().astype(int))]
    i = np.clip(np.searchsorted(edges, slopes, side="right") - 1, 0, max(len(edges) - 2, 0))
    if len(edges) > 1:
        upper = weights * np.clip((slopes - edges[i]) / (edges[i + 1] - edges[i]), 0.0, 1.0)
        merged = np.zeros(len(edges))
        np.add.at(merged, i, weights - upper)
        np.add.at(merged, i + 1, upper)
    else:
        merged = np.array([weights.sum()])
    with np.errstate(divide="ignore"):
        return merged, np.log(edges * (1 - SHIFT))
