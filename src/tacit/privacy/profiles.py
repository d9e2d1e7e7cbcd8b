"""Privacy profiles: the least delta of a mechanism at every epsilon, as small frozen objects.

    P, Q     what a mechanism puts out on two neighbouring data sets
    x        e^epsilon, above zero
    H_x      sup over events S of P(S) - x Q(S), the hockey-stick divergence of (P, Q): delta at epsilon = log x

A profile answers `delta(epsilon)` for any real epsilon, negative too, with a number that is never below H_x(P || Q) for
any pair of neighbours, and `reversed` with the profile of (Q, P): itself where the relation is symmetric, as it is
when one record is replaced. Three facts carry everything here: H_x decreases in x, it is convex in x with H_0 = 1, and

    H_x(P || Q) = 1 - x + x H_{1/x}(Q || P),

so that a profile is known once it is known in both directions for epsilon >= 0.

Rounding. Each formula is multiplied by 1 + SLACK and raised to TINY, where it would underflow. The formulas lose less
than a tenth of SLACK, measured against 60-digit arithmetic in the tests.

    Asoodeh2020  Asoodeh, Liao, Calmon, Kosut, Sankar: A better bound gives a hundred rounds
    Canonne2020  Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy
    Kairouz2015  Kairouz, Oh, Viswanath: The composition theorem for differential privacy
    Zhu2022      Zhu, Dong, Wang: Optimal accounting of differential privacy via characteristic function
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, ndtr

from tacit.errors import BadInput, positive, probability, real
from tacit.privacy.conversions import NODES, WEIGHTS

Floats = NDArray[np.float64]

SLACK = 1e-10  # relative, on every delta
TINY = 1e-300  # nothing above zero is stated as less
FARTHEST = 1e4  # epsilons are searched up to here
ROOT_HALF = np.sqrt(0.5)
ORDERS = tuple((1 + np.geomspace(0.05, 2000.0, 120)).tolist())


class Profile(Protocol):
    """What every accountant offers; `delta` takes and gives arrays of one shape."""

    def delta(self, epsilon: ArrayLike) -> Floats: ...

    @property
    def reversed(self) -> Profile: ...


def whole_line(epsilon: ArrayLike, forward: Callable[[Floats], Floats], backward: Callable[[Floats], Floats]) -> Floats:
    """Delta at any real epsilon from the two directions at epsilon >= 0.

    >>> whole_line([-1.0, 0.0], lambda e: 0.1 * np.exp(-e), lambda e: 0.1 * np.exp(-e)).round(4).tolist()
    [0.6457, 0.1]
    """
    asked = np.asarray(epsilon, dtype=np.float64)
    if np.isnan(asked).any():
        raise BadInput("epsilon must be a number, got NaN")
    asked = np.clip(asked, -FARTHEST, FARTHEST)  # from there on delta is constant, above in truth and below to rounding
    out, below = np.empty(asked.shape), asked < 0
    out[~below] = forward(asked[~below])
    at = asked[below]
    if at.size:
        out[below] = (-np.expm1(at) + np.exp(at) * backward(-at)) * (1 + 1e-15)
    return np.minimum(out, 1.0)


def _raise_slightly(delta: Floats) -> Floats:
    return np.maximum(delta * (1 + SLACK), TINY)


@dataclass(frozen=True)
class GaussianProfile:
    """mu-GDP, exactly: N(0, 1) against N(mu, 1).

    >>> GaussianProfile(1.0).delta([0.0, 1.0]).round(4).tolist()
    [0.3829, 0.1269]
    """

    mu: float

    def __post_init__(self) -> None:
        if not 0 < real("mu", self.mu) <= 1e3:
            raise BadInput(f"mu must be above 0 and at most 1000, got mu={self.mu!r}")

    @property
    def reversed(self) -> GaussianProfile:
        return self

    def curve(self) -> RenyiProfile:
        """Its Rényi divergences, order times mu^2 / 2, at some orders."""
        return RenyiProfile(ORDERS, tuple(a * self.mu**2 / 2 * (1 + 1e-15) for a in ORDERS))

    def delta(self, epsilon: ArrayLike) -> Floats:
        return whole_line(epsilon, self._forward, self._forward)

    def _forward(self, eps: Floats) -> Floats:
        """Phi(-a) - e^eps Phi(-b), with a, b = eps/mu -+ mu/2, by functions that neither overflow nor cancel."""
        mu = self.mu
        a, b = eps / mu - mu / 2, eps / mu + mu / 2
        shared = 0.5 * np.exp(-a * a / 2)
        if mu < 0.1:  # the difference would cancel: it is the integral of its derivative
            t = (eps[:, None] / mu + mu / 2 * NODES) * ROOT_HALF
            slope = 2 / np.sqrt(np.pi) - 2 * t * erfcx(t)
            return _raise_slightly(shared * (mu / np.sqrt(8)) * (slope @ WEIGHTS))
        second = erfcx(b * ROOT_HALF)
        tail = np.where(a > 0, 0.0, ndtr(-a))
        return _raise_slightly(
            np.where(a > 0, shared * (erfcx(np.abs(a) * ROOT_HALF) - second), tail - shared * second)
        )


@dataclass(frozen=True)
class ApproximateProfile:
    """(epsilon, own)-DP and nothing more known: its worst pair (Kairouz2015 Theorem 3.1). own = 0 is pure.

    >>> ApproximateProfile(1.0).delta([0.0, 1.0]).round(4).tolist()
    [0.4621, 0.0]
    """

    epsilon: float
    own: float = 0.0

    def __post_init__(self) -> None:
        if real("epsilon", self.epsilon) < 0:
            raise BadInput(f"epsilon must not be negative, got epsilon={self.epsilon!r}")
        probability("own", self.own, zero=True)

    @property
    def reversed(self) -> ApproximateProfile:
        return self

    def delta(self, epsilon: ArrayLike) -> Floats:
        return whole_line(epsilon, self._forward, self._forward)

    def _forward(self, eps: Floats) -> Floats:
        short = np.minimum(eps - self.epsilon, 0.0)
        response = -np.expm1(short) / (1 + np.exp(-self.epsilon))  # zero, exactly, from epsilon on
        return np.asarray((self.own + (1 - self.own) * response) * (1 + SLACK))


@dataclass(frozen=True)
class RenyiProfile:
    """Rényi divergences ``values`` at ``orders`` above 1, of (P, Q) and of (Q, P), unless ``backward`` has the latter.

    Follows: Canonne2020 Proposition 12 at each order, which holds for every real epsilon; and, at epsilon = 0, the
        bounds of Pinsker and of Bretagnolle and Huber on the total variation.
    Edges: a value of inf says nothing at that order.

    >>> RenyiProfile((2.0, 4.0, 8.0), (0.1, 0.2, 0.4)).delta([1.0]).round(5).tolist()
    [0.00074]
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]
    backward: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name, values in (("values", self.values), ("backward", self.backward or self.values)):
            if not len(self.orders) == len(values) > 0:
                raise BadInput(f"{name} must have one number for each of the {len(self.orders)} orders")
            if not (min(self.orders) > 1 and max(self.orders) < np.inf and min(values) >= 0):
                raise BadInput(f"orders must be above 1 and finite, {name} at least 0")

    @property
    def reversed(self) -> RenyiProfile:
        return self if self.backward is None else RenyiProfile(self.orders, self.backward, self.values)

    def delta(self, epsilon: ArrayLike) -> Floats:
        backward = self.values if self.backward is None else self.backward
        return whole_line(epsilon, lambda e: self._at(e, self.values), lambda e: self._at(e, backward))

    def _at(self, eps: Floats, values: tuple[float, ...]) -> Floats:
        order, value = np.array(self.orders), np.array(values, dtype=np.float64)
        with np.errstate(over="ignore"):
            power = (order - 1) * (value - eps[..., None]) + (order - 1) * np.log1p(-1 / order) - np.log(order)
            least = np.exp(power.min(axis=-1, initial=0.0))
        # every divergence is at least the one at order 1; total variation is the same in both directions
        kl = min(*self.values, *(self.backward or self.values))
        variation = np.sqrt(min(-np.expm1(-kl), kl / 2))
        return _raise_slightly(np.minimum(least, variation))


@dataclass(frozen=True)
class _Parts:
    """Several profiles, joined at every epsilon."""

    parts: tuple[Profile, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise BadInput("parts must have at least one profile, got none")

    @property
    def reversed(self) -> Profile:
        back = tuple(p.reversed for p in self.parts)
        return self if all(a is b for a, b in zip(back, self.parts, strict=True)) else type(self)(back)

    def delta(self, epsilon: ArrayLike) -> Floats:
        raise NotImplementedError


class LeastProfile(_Parts):
    """The pointwise minimum of several bounds on one and the same mechanism."""

    def delta(self, epsilon: ArrayLike) -> Floats:
        return np.asarray(np.min([p.delta(epsilon) for p in self.parts], axis=0))


@dataclass(frozen=True)
class TableProfile:
    """Deltas at epsilons 0 = e_0 < ... < e_n, straight in e^epsilon between them and constant after the last.

    What makes it the base of a calibration: since every H_x is convex and decreasing in x, a mechanism whose delta is
    at most this one's *at the knots* is below it at every real epsilon. `tabulate` makes one from another profile.

    >>> tabulate(GaussianProfile(0.5), floor=1e-9).delta([0.0, 1.0]).round(4).tolist()
    [0.1974, 0.0068]
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    backward: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        knots, back = np.array(self.epsilons), self.deltas if self.backward is None else self.backward
        if not (len(knots) == len(self.deltas) == len(back) > 1 and knots[0] == 0 and (np.diff(knots) > 0).all()):
            raise BadInput("a table of delta needs rising epsilons that start at 0, and one delta for each")
        if not (knots[-1] <= 500 and all(0 <= d <= 1 for d in (*self.deltas, *back))):
            raise BadInput("a table of delta needs epsilons of at most 500 and deltas in [0, 1]")

    @property
    def reversed(self) -> TableProfile:
        return self if self.backward is None else TableProfile(self.epsilons, self.backward, self.deltas)

    def delta(self, epsilon: ArrayLike) -> Floats:
        back = self.deltas if self.backward is None else self.backward
        return whole_line(epsilon, lambda e: self._at(e, self.deltas), lambda e: self._at(e, back))

    def _at(self, eps: Floats, deltas: tuple[float, ...]) -> Floats:
        knots, values = np.array(self.epsilons), np.array(deltas)
        i = np.clip(np.searchsorted(knots, eps, side="right") - 1, 0, len(knots) - 2)
        # the share of the way from x_i to x_{i+1}, from differences of epsilons, so that nothing overflows
        way = np.expm1(np.minimum(eps, knots[-1]) - knots[i]) / np.expm1(knots[i + 1] - knots[i])
        return np.asarray((values[i] * np.maximum(1 - way, 0.0) + values[i + 1] * way) * (1 + SLACK))

    def covers(self, profile: Profile) -> bool:
        """Whether a mechanism with this profile is below the table at every real epsilon, in both directions."""
        knots, back = np.array(self.epsilons), self.deltas if self.backward is None else self.backward
        forward_fits = profile.delta(knots) <= np.array(self.deltas)
        return bool(forward_fits.all() and (profile.reversed.delta(knots) <= np.array(back)).all())


def tabulate(profile: Profile, *, floor: float, knots: int = 120) -> TableProfile:
    """A profile as a table that bounds the same mechanisms and is never below ``floor``.

    The floor is what may go wrong altogether in one run: it makes room for bounds whose tails are heavier than the
    profile's, such as those from Rényi divergences. Selection among m expected runs adds about m times the floor.
    """
    probability("floor", floor)
    far = max(epsilon_at(profile, floor), 1e-9)
    if far > 500:
        raise BadInput(f"floor must be a delta that the profile reaches by epsilon = 500, got floor={floor:g}")
    at = far * np.linspace(0.0, 1.0, knots)
    forward = np.maximum(profile.delta(at), floor)
    back = profile.reversed
    backward = None if back is profile else tuple(np.maximum(back.delta(at), floor).tolist())
    return TableProfile(tuple(at.tolist()), tuple(forward.tolist()), backward)


def epsilon_at(profile: Profile, delta: float) -> float:
    """The least epsilon >= 0, to one part in 1e9, at which delta holds in both directions; inf if none up to 10,000.

    Guarantee: both directions are at most delta at the epsilon returned.

    >>> round(epsilon_at(GaussianProfile(1.0), 1e-6), 3)
    4.887
    """
    allowed, back = positive("delta", delta), profile.reversed

    def enough(at: Floats) -> NDArray[np.bool_]:
        fits = profile.delta(at) <= allowed
        return np.asarray(fits if back is profile else fits & (back.delta(at) <= allowed))

    if enough(np.zeros(1))[0]:
        return 0.0
    grid = np.geomspace(1e-9, FARTHEST, 45)
    fits = enough(grid)
    if not fits[-1]:
        return np.inf
    while True:
        last = int(np.flatnonzero(~fits)[-1]) if not fits.all() else -1  # after it, all fit
        low, high = (grid[last] if last >= 0 else 0.0), grid[last + 1]
        if high - low <= max(1e-9 * high, 1e-12):
            return float(high)
        grid = np.linspace(low, high, 17)[1:]
        fits = enough(grid)
