"""The least noise that keeps training by random batches within an epsilon, or below a whole profile.

``noise`` is what it is in tacit.privacy.lot_accounting: in units of the sensitivity of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput
from tacit.privacy.loss_distribution import compose
from tacit.privacy.lot_accounting import FINE, broadcast_setting, check_numbers, pair_name, pair_noise, setting_epsilon
from tacit.privacy.profiles import GaussianProfile, Profile, TableProfile, tabulate
from tacit.privacy.step_losses import loss_scale, step_losses

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

QUICK = 2.0  # knots for each standard deviation of a step's loss while searching
COARSE = 2.3  # the same below a profile, not in powers of two: noise is then smooth in rate and steps
LEAST, MOST = 1e-3, 1e9  # noise that is searched
CLOSE = 1e-4  # relative, of noise for an epsilon
NEAR = 2e-3  # the same, of noise below a profile
ROOM = 5e-3  # added to a guess, so that it mostly holds
ANCHORS = (14, 64)  # settings that are searched, a few first; between them noise is guessed, then verified


def noise_for(
    *,
    epsilon: ArrayLike,
    delta: ArrayLike,
    records: ArrayLike,
    lot: ArrayLike,
    steps: ArrayLike,
    sampling: str = "without_replacement",
    adjacency: str = "replace_one",
) -> float | Floats:
    """Least noise, to one part in 10,000, whose `epsilon` does not exceed the one asked for; the arguments broadcast.

    Guarantee: `epsilon` of the answer is at most the epsilon asked for.
    Edges: steps = 0 needs no noise.

    >>> asked = dict(records=40_000, lot=128, steps=6_250, delta=1e-6)
    >>> noise = noise_for(epsilon=1.0, **asked)
    >>> round(noise, 3)
    1.478
    """
    pair = pair_name(sampling, adjacency)
    wanted = check_numbers("epsilon", epsilon, above=0.0)
    asked = broadcast_setting(
        noise=1.0, records=records, lot=lot, steps=steps, delta=delta, whole=sampling != "poisson"
    )
    try:
        wanted, rate, many, allowed = np.broadcast_arrays(wanted, *asked[1:])
    except ValueError:
        shapes = (wanted.shape, asked[0].shape)
        raise BadInput(f"epsilon must broadcast with the rest, got shapes {shapes[0]} and {shapes[1]}") from None
    target, q, T, dlt = (x.ravel() for x in (wanted, rate, many, allowed))

    def excess(fineness: float) -> Callable[[Floats, Integers], Floats]:
        def at(noise: Floats, which: Integers) -> Floats:
            rows = zip(noise, q[which], T[which], dlt[which], strict=True)
            epsilons = [setting_epsilon(pair, *(float(x) for x in row), fineness) for row in rows]
            return np.asarray(np.log(np.maximum(epsilons, 1e-300) / target[which]))

        return at

    # mu that a Gaussian would have at epsilon and delta, then the central limit q sqrt(T (e^(1/s^2) - 1)) = mu
    mu = target / np.sqrt(2 * np.log(1 / dlt) + 2 * target)
    with np.errstate(divide="ignore"):
        start = np.log1p((mu / q) ** 2 / np.maximum(T, 1)) ** -0.5
    out = np.zeros(target.shape)
    busy = np.flatnonzero(T > 0)
    near = find_roots(excess(QUICK), np.maximum(start[busy], 0.2), busy, 1e-3)
    out[busy] = find_roots(excess(FINE), near, busy, CLOSE)  # a finer grid asks for a little less noise
    return float(out[0]) if wanted.ndim == 0 else out.reshape(wanted.shape)


def noise_below(
    profile: Profile,
    *,
    records: ArrayLike,
    lot: ArrayLike,
    steps: ArrayLike,
    sampling: str = "without_replacement",
    adjacency: str = "replace_one",
    floor: float = 1e-10,
) -> float | Floats:
    """Least noise, to about a hundredth, whose profile lies below a given one at every epsilon, in both directions.

    A profile that is no table is first made one (`tabulate`): never below ``floor``, which is what may go wrong
    altogether, and straight in e^epsilon between its knots.

    Guarantee: every delta of the training so calibrated is at most the table's, at every real epsilon.
    Edges: many settings are searched at some of them, guessed between these, and each verified: a thousand take about
        two seconds. steps = 0 needs no noise. BadInput if no noise is enough.

    >>> base = tabulate(GaussianProfile(0.25), floor=1e-9)
    >>> noise_below(base, records=24_000, lot=[64, 256], steps=[3_750, 940]).round(2).tolist()
    [1.08, 1.73]
    """
    pair = pair_name(sampling, adjacency)
    table = profile if isinstance(profile, TableProfile) else tabulate(profile, floor=floor)
    if min(table.deltas) <= 0 or min(table.backward or table.deltas) <= 0:
        raise BadInput("the profile must be above 0 at every epsilon; make it a table with a floor")
    _, rate, many, _ = broadcast_setting(
        noise=1.0, records=records, lot=lot, steps=steps, delta=0.5, whole=sampling != "poisson"
    )
    distinct, place = np.unique(np.stack([rate.ravel(), many.ravel()], axis=1), axis=0, return_inverse=True)
    out = _Below(table, pair).noise(*distinct.T)[place.ravel()]
    return float(out[0]) if rate.ndim == 0 else out.reshape(rate.shape)


class _Below:
    """How far a setting's profile exceeds a table, and the noise at which it does not."""

    def __init__(self, table: TableProfile, pair: str) -> None:
        self.pair, self.knots = pair, np.array(table.epsilons)
        self.forward = np.log(table.deltas)
        self.backward = self.forward if table.backward is None else np.log(table.backward)
        self.level = max(float(np.exp(min(self.forward.min(), self.backward.min()))), 1e-14)
        self.mu = float(self.knots[-1] / math.sqrt(-2 * math.log(self.level)))  # of a Gaussian about like the table

    def excess(self, noise: Floats, rate: Floats, steps: Floats) -> Floats:
        """Most by which log delta exceeds the table's, (n,), scaled to fall about as fast as log noise rises."""
        out = np.full(len(noise), np.inf)
        for i in np.flatnonzero((rate == 1) & (np.sqrt(steps) <= 1e3 * noise)):
            out[i] = self._over(GaussianProfile(float(np.sqrt(steps[i]) / noise[i])))
        sampled = np.flatnonzero((rate < 1) & (noise >= 0.02))
        for at in np.array_split(sampled, -(-len(sampled) // 128)) if sampled.size else ():
            s, q = pair_noise(self.pair, noise[at]), rate[at]
            law = step_losses(self.pair, s, q, spacing=loss_scale(self.pair, s, q) / COARSE, fine=24)
            out[at] = [self._over(p) for p in compose(law, steps[at], (self.level,), longest=2**15)]
        return out

    def _over(self, found: Profile) -> float:
        with np.errstate(divide="ignore"):
            most = float((np.log(found.delta(self.knots)) - self.forward).max())
            if found.reversed is not found or self.backward is not self.forward:
                most = max(most, float((np.log(found.reversed.delta(self.knots)) - self.backward).max()))
        return most / (-2 * math.log(self.level))

    def noise(self, rate: Floats, steps: Floats) -> Floats:
        """The least noise of distinct settings, (n,); many are searched at some, guessed elsewhere, and verified."""

        def excess(noise: Floats, which: Integers) -> Floats:
            return self.excess(noise, rate[which], steps[which])

        # the central limit: rate sqrt(steps (e^(1/s^2) - 1)) = mu
        out = np.log1p((self.mu / rate) ** 2 / np.maximum(steps, 1)) ** -0.5
        out = np.where(steps > 0, np.maximum(out, 0.2), 0.0)
        smooth, rest = np.flatnonzero((rate < 1) & (steps > 0)), np.flatnonzero((rate == 1) & (steps > 0))
        if len(smooth) < 2 * ANCHORS[-1]:
            rest = np.concatenate([smooth, rest])
        else:
            places = np.log(np.stack([rate[smooth], steps[smooth]], axis=1))
            places = (places - places.mean(axis=0)) / np.maximum(places.std(axis=0), 1e-9)
            order = spread_out(places, ANCHORS[-1])
            first, more = smooth[order[: ANCHORS[0]]], smooth[order[ANCHORS[0] :]]
            out[first] = find_roots(excess, out[first], first, NEAR)
            out[more] = self._guess(places, order[: ANCHORS[0]], out[smooth])[order[ANCHORS[0] :]]
            out[more] = find_roots(excess, out[more], more, NEAR)
            others = np.setdiff1d(np.arange(len(smooth)), order)
            at = smooth[others]
            out[at] = self._guess(places, order, out[smooth])[others] * math.exp(ROOM)
            wrong = excess(out[at], at)
            off = (wrong > 0) | (wrong < -3 * ROOM)
            at = at[off]
            out[at] *= np.exp(np.minimum(wrong[off], 1.0) + NEAR / 2)
            rest = np.concatenate([at, rest])
        out[rest] = find_roots(excess, out[rest], rest, NEAR)
        return out

    @staticmethod
    def _guess(places: Floats, known: Integers, noise: Floats) -> Floats:
        """Noise at all places from that at the known ones."""
        from scipy.interpolate import RBFInterpolator

        return np.asarray(np.exp(RBFInterpolator(places[known], np.log(noise[known]), kernel="cubic")(places)))


def spread_out(places: Floats, count: int) -> NDArray[np.int64]:
    """Indices of points far from each other: each next one is the farthest from those before."""
    chosen = [int(np.argmin(((places - places.mean(axis=0)) ** 2).sum(axis=1)))]
    distance = np.full(len(places), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(distance)))
    return np.array(chosen)


def find_roots(f: Callable[[Floats, Integers], Floats], start: Floats, which: Integers, close: float) -> Floats:
    """Points (n,) where the falling f(points, which) is at most 0, each at most ``close`` above its root, in log."""
    x = np.log(start)
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)  # f(low) > 0 >= f(high)
    y_low, y_high, side = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
    active = np.arange(len(x))
    for turn in range(100):
        if not active.size:
            return np.asarray(np.exp(high))
        y = np.minimum(f(np.exp(x[active]), which[active]), 30.0)
        above, a = y > 0, active
        # regula falsi that halves the value of an end that stays (Illinois)
        y_high[a] = np.where(above, np.where(side[a] > 0, y_high[a] / 2, y_high[a]), y)
        y_low[a] = np.where(above, y, np.where(side[a] < 0, y_low[a] / 2, y_low[a]))
        side[a] = np.where(above, 1, -1)
        low[a], high[a] = np.where(above, x[a], low[a]), np.where(above, high[a], x[a])
        if np.any(low > math.log(MOST)):
            raise BadInput(
                "no noise up to 1e9 times the sensitivity is enough: raise epsilon or delta, or take fewer steps"
            )
        active = np.flatnonzero((high - low > close) & (high > math.log(LEAST)))
        a, width = active, (high - low)[active]
        last = np.where(side[a] > 0, y_low[a], y_high[a])
        least = min(close * 2.0**turn, 1.0)  # f may be flat far from its root: strides grow
        outwards = x[a] + np.sign(last) * np.clip(1.2 * np.abs(last), least, 1.0)
        with np.errstate(invalid="ignore"):
            root = low[a] + width * y_low[a] / (y_low[a] - y_high[a])
            # just above the root that is expected; once that end is near it, just as far below as will do
            inside = np.where(high[a] - root < 0.9 * close, high[a] - 0.95 * close, root + 0.4 * close)
            inside = np.clip(inside, low[a] + 0.02 * width, high[a] - 0.02 * width)
        x[a] = np.where(np.isfinite(width), inside, outwards)
    raise ArithmeticError("no noise found, a defect of tacit: report the setting that led here")
