"""Privacy loss distributions of many subsampled Gaussian steps: delta at every epsilon, from above or from below.

    p      P-masses of the discrete loss L of one step (tacit.privacy.step_losses), on multiples of h
    T      steps                                     S    sum of the T losses
    t      tilt, at least 0                          K    log E_P[e^(tL)]
    m      tilted masses p e^(tL - K), total 1       F    t^t / (1+t)^(1+t), the sup over L of e^(-tL) (1 - e^-L)+

    delta(eps) = P(S infinite) + e^(TK) sum over losses L of m*T(L) e^(-tL) (1 - e^(eps-L))+          (*)

m*T, the T-fold convolution, is a power of a Fourier transform of length N. All errors of it are errors in the sum of
its absolute values, and (*) turns an error of E into at most E e^(TK - t eps) F, wherever it sits. They are

    window     what lies outside N consecutive multiples of h comes back at the wrong place: a Chernoff bound on either
               side, from the moments of m itself
    transform  each output of a fast transform of length N is a sum along paths of log2 N roundings: wrong by at most
               8 u (1 + log2 N); a T-th power makes that T |z|^(T-1) times as much, and 3 u more for each product
    rounding   of p, t and the exponential, per entry of m; T times their mean

A tilt moves the law to where delta is asked for: the errors are then relative to delta, not to 1. Losses that hardly
ever happen count as infinite, at a cost of LOST of delta: otherwise a tilt follows them, as Renyi bounds do. A whole
profile takes the least of several tilts. Proofs: docs/proofs/subsampled-gaussian.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.dominating_pairs import UNIT
from tacit.privacy.step_losses import StepLosses

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEVELS = (1e-4, 1e-9, 1e-14)  # deltas for which a whole profile is tilted
LOST = 1e-5  # share of delta given to losses so rare that they count as infinite
WINDOW = 1e-6  # share of delta given to what falls outside of the window
WRONG = 1e-4  # share of delta that errors of the transform may reach before a tilt is chosen
STEEPEST = 650.0  # exponents beyond are left to other tilts


@dataclass(frozen=True, eq=False)
class Table:
    """Delta at epsilon = h * (first, first + 1, ...) in one direction, with the chord in e^epsilon between them.

    From above, a Chernoff bound continues it: exp(constant - tilt * epsilon) + floor.
    """

    h: float
    first: int
    values: Floats
    tilt: float
    constant: float
    floor: float
    lower: bool

    def at(self, epsilon: Floats) -> Floats:
        """Delta at epsilon >= 0, (n,)."""
        place, last = epsilon / self.h - self.first, len(self.values) - 1
        left = np.clip(np.floor(place), 0, last - 1).astype(np.int64)
        part = np.expm1(np.clip(place - left, 0, 1) * self.h) / np.expm1(self.h)
        inside = self.values[left] + part * (self.values[left + 1] - self.values[left])
        if self.lower:
            return np.where(place > last, 0.0, inside)
        with np.errstate(under="ignore", over="ignore"):
            beyond = np.minimum(self.values[-1], np.exp(self.constant - self.tilt * epsilon) + self.floor)
        return np.where(place < 0, 1.0, np.where(place > last, beyond, inside))

    def epsilon(self, delta: float) -> float:
        """Least epsilon >= 0 with delta at most ``delta``; infinite if there is none."""
        below = np.flatnonzero(self.values <= delta)
        if not below.size:
            room = delta - self.floor
            if self.lower or room <= 0 or self.tilt == 0:
                return self.h * (self.first + len(self.values) - 1) if self.lower else np.inf
            return max(0.0, float(self.constant - np.log(room)) / self.tilt)
        k = int(below[0])
        if k == 0:
            return 0.0 if self.lower else self.h * self.first
        high, low = self.values[k - 1], self.values[k]
        part = (high - delta) / (high - low)
        found = float(self.h * (self.first + k - 1) + np.log1p(part * np.expm1(self.h)))
        return found * (1 - 8 * UNIT if self.lower else 1 + 8 * UNIT)


@dataclass(frozen=True, eq=False)
class LossProfile:
    """Delta at every real epsilon of a composition; ``reversed`` is that of the other direction.

    From above: never below the hockey-stick divergence of (P, Q). From below: never above that of the pair composed.
    """

    forward: tuple[Table, ...] = field(repr=False)
    backward: tuple[Table, ...] = field(repr=False)

    @property
    def reversed(self) -> LossProfile:
        return self if self.forward is self.backward else LossProfile(self.backward, self.forward)

    def delta(self, epsilon: ArrayLike) -> Floats:
        asked = np.asarray(epsilon, dtype=np.float64)
        flat, out = asked.ravel(), np.empty(asked.size)
        below = flat < 0
        out[~below] = _best(self.forward, flat[~below])
        eps = flat[below]
        out[below] = -np.expm1(eps) + np.exp(eps) * _best(self.backward, -eps)
        sign = -1 if self.forward[0].lower else 1
        return np.clip(out * (1 + sign * 16 * UNIT), 0.0, 1.0).reshape(asked.shape)

    def epsilon(self, delta: float) -> float:
        """Least epsilon >= 0 at which both directions stay within delta."""
        best = max if self.forward[0].lower else min
        return max(best(table.epsilon(delta) for table in tables) for tables in (self.forward, self.backward))


def _best(tables: tuple[Table, ...], epsilon: Floats) -> Floats:
    found = [table.at(epsilon) for table in tables]
    best: Floats = np.max(found, axis=0) if tables[0].lower else np.min(found, axis=0)
    return best


def compose(steps: StepLosses, times: ArrayLike, levels: tuple[float, ...] = LEVELS) -> list[LossProfile]:
    """Profiles of the B settings of ``steps``, each taken ``times`` (B,) over, both directions.

    >>> from tacit.privacy.step_losses import step_losses
    >>> one = step_losses("without_replacement/replace_one", np.array([1.0]), np.array([0.0032]))
    >>> profile, = compose(one, [6_250])
    >>> round(profile.epsilon(1e-6), 2)
    1.93
    """
    profiles = []
    for row, T in enumerate(np.asarray(times, dtype=np.int64).tolist()):
        forward = tuple(tabulate(steps, row, T, level) for level in levels)
        backward = forward if steps.symmetric else tuple(tabulate(steps.reversed, row, T, level) for level in levels)
        profiles.append(LossProfile(forward, backward))
    return profiles


class _Law(NamedTuple):
    """The discrete losses of one step that are not left out, and P(infinite) of T of them, those left out included."""

    losses: Floats
    knots: Integers
    log_p: Floats
    endless: float

    def moments(self, t: float) -> tuple[float, float, float]:
        """K, K' and K'' at a tilt."""
        power = self.log_p + t * self.losses
        top = power.max()
        w = np.exp(power - top)
        total = w.sum()
        mean = float(w @ self.losses / total)
        return float(np.log(total) + top), mean, float(w @ (self.losses - mean) ** 2 / total)


def _shorten(steps: StepLosses, row: int, T: int, share: float) -> _Law:
    """Leave out losses rarer than share: high ones count as infinite, low ones as the lowest left in."""
    live = np.isfinite(steps.log_p[row])
    knots, log_p = steps.knots[live], steps.log_p[row][live]
    p = np.exp(log_p)
    high, low = np.cumsum(p[::-1])[::-1], np.cumsum(p)
    kept = slice(int(np.searchsorted(low, share)), max(1, int(np.searchsorted(-high, -share))))
    lost = float(high[kept.stop]) if kept.stop < len(p) else 0.0
    knots, log_p = knots[kept], log_p[kept].copy()
    if kept.start and not steps.lower:
        log_p[0] = np.log(low[kept.start]) + 1e-14
    return _Law(steps.spacing[row] * knots, knots, log_p, T * (lost + float(steps.endless[row])) * (1 + 1e-12))


def _saddle(law: _Law, T: int, base: float, log_level: float, start: float) -> float:
    """Shift t of the tilt ``base`` where the Chernoff bound of level e^log_level is best; any t is a valid one."""
    K0, t, low, high = law.moments(base)[0], abs(start), 0.0, np.inf
    for _ in range(40):
        K, slope, spread = law.moments(base + np.copysign(t, start))
        wrong = T * (np.copysign(t, start) * slope - K + K0) + log_level  # grows with t
        low, high = (t, high) if wrong < 0 else (low, t)
        if abs(wrong) < 0.1 * abs(log_level) or high < low * 1.001 or t > 1e12:
            break
        step = -wrong / (T * t * t * spread) if spread > 0 else np.inf
        t *= float(np.exp(np.clip(step, -2, 2)))
        if not low < t < high:
            t = float(np.sqrt(low * high)) if low > 0 and high < np.inf else 4 * low if low > 0 else high / 4
    return float(np.copysign(t, start))


def _tilt(law: _Law, T: int, level: float) -> tuple[float, float]:
    """The least tilt at which errors are a small share of delta = level, and the mass that may leave the window."""
    spread = max(law.moments(0.0)[2], 1e-300)
    best = _saddle(law, T, 0.0, np.log(level), np.sqrt(-2 * np.log(level) / (T * spread)))
    eps = (T * law.moments(best)[0] + _log_factor(best) - np.log(level)) / best
    expected = 100 * T * 140 * UNIT  # error of the transform, about
    for t in (0.0, best / 8, best / 4, best / 2, best):
        log_share = T * law.moments(t)[0] - t * eps + _log_factor(t) - np.log(level)  # of delta, per unit of error
        if expected * np.exp(log_share) <= WRONG:
            break
    return t, float(np.clip(WINDOW * np.exp(-log_share), 1e-15, 1e-7))


def tabulate(steps: StepLosses, row: int, T: int, level: float) -> Table:
    """Delta of T steps of one setting, most exact where it is near ``level``."""
    lower, h = steps.lower, float(steps.spacing[row])
    if lower and not np.isfinite(steps.log_p[row]).any():
        return Table(h, 0, np.zeros(2), 0.0, 0.0, 0.0, lower)
    law = _shorten(steps, row, T, LOST * level / T)
    tilt, outside = _tilt(law, T, level)
    K, slope, spread = law.moments(tilt)
    # P_tilted(S >= end) <= exp(T (K(tilt + v) - K(tilt)) - v end) for every v > 0, and likewise below
    edges = []
    for sign in (1.0, -1.0):
        v = _saddle(law, T, tilt, np.log(outside), sign * np.sqrt(-2 * np.log(outside) / (T * max(spread, 1e-300))))
        edges.append((T * (law.moments(tilt + v)[0] - K) - np.log(outside)) / v)
    start, end = int(np.floor(edges[1] / h)) - 1, int(np.ceil(edges[0] / h)) + 1
    masses, E = _convolve(law, T, tilt, K, 1 << max(4, int(end - start).bit_length()))
    E += 2.02 * outside
    # only from zero up, and where e^(-tilt (loss - centre)) stays within the floats
    centre = T * slope
    begin = min(max(start, 0, int(np.ceil((centre - STEEPEST / (1 + tilt)) / h))), max(end, 1) - 1)
    end = max(end, begin + 1)
    places = np.arange(begin, end + 1)
    m = np.where((places >= start), masses[places % len(masses)], 0.0)
    with np.errstate(under="ignore", over="ignore"):
        away = h * places - centre
        # losses too far up for the floats count as infinite
        far = float(np.exp(T * K - tilt * centre) * (m * np.exp(-tilt * away))[away > STEEPEST].sum())
        m[away > STEEPEST] = 0.0
        away = np.minimum(away, STEEPEST)
        tail = np.cumsum((m * np.exp(-(1 + tilt) * away))[::-1])[::-1]  # Q-mass of this loss and more
        area = np.cumsum((np.exp(away) * np.append(tail[1:], 0.0))[::-1])[::-1] * np.expm1(h)
        constant = T * K + _log_factor(tilt)
        error = np.exp(constant - tilt * h * places) * E
        slack = 8 * UNIT * (len(places) + 4 + abs(T * K) + abs(tilt * centre))
        value = np.exp(T * K - tilt * centre) * area
        values = value * (1 - slack) - error if lower else value * (1 + slack) + error + far * (1 + slack) + law.endless
    values = np.nan_to_num(np.clip(values, 0.0, 1.0), nan=0.0 if lower else 1.0)
    values = np.maximum.accumulate(values[::-1])[::-1] if lower else np.minimum.accumulate(values)
    return Table(h, begin, values, tilt, constant + 1e-9, law.endless, lower)


def _convolve(law: _Law, T: int, tilt: float, K: float, N: int) -> tuple[Floats, float]:
    """m*T on multiples of h modulo N, and a bound on its error but for what left the window."""
    m = np.exp(law.log_p + tilt * law.losses - K)
    rounding = 1.01 * UNIT * float(m @ (8 + 2 * np.abs(law.log_p) + 2 * np.abs(tilt * law.losses)))
    vector = np.zeros(N)
    np.add.at(vector, law.knots % N, m)
    z = np.fft.rfft(vector)
    path = 8 * UNIT * (1 + np.log2(N))
    sizes = 2 * float(_power(np.abs(z) + path, T - 1).sum())
    masses = np.maximum(np.fft.irfft(_power(z, T), N), 0.0)
    return masses, T * rounding + 1.01 * (T + 1) * (path + 3 * UNIT) * sizes


def _log_factor(t: float) -> float:
    return float(t * np.log(t) - (1 + t) * np.log1p(t)) if t > 0 else 0.0


def _power(z: NDArray[Any], n: int) -> NDArray[Any]:
    """z^n by squaring."""
    out = np.ones_like(z)
    while n:
        if n & 1:
            out = out * z
        n >>= 1
        if n:
            z = z * z
    return out
