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
               c = 8 u (1 + log2 N); a T-th power makes that T |z|^(T-1) times as much, and 3 u more for each product.
               The same in root mean squares: c |m|_2 T sqrt(N) for the sum. The smaller of the two counts
    rounding   of p, t and the exponential, per entry of m; T times their mean

A tilt moves the law to where delta is asked for: the errors are then relative to delta, not to 1. Losses that hardly
ever happen count as infinite, at a cost of LOST of delta: otherwise a tilt follows them, as Rényi bounds do. A whole
profile takes the least of several tilts. Proofs: docs/proofs/subsampled-gaussian.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, rfft

from tacit.privacy.dominating_pairs import UNIT
from tacit.privacy.loss_profile import LossProfile, LossTable
from tacit.privacy.step_losses import StepLosses

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEVELS = (1e-4, 1e-9, 1e-14)  # deltas for which a whole profile is tilted
LOST = 1e-5  # share of delta given to losses so rare that they count as infinite
WINDOW = 1e-6  # share of delta given to what falls outside of the window
WRONG = 1e-4  # share of delta that errors of the transform may reach before a tilt is chosen
LONGEST = 2**19  # of a transform; beyond, the spacing of an upper bound is doubled, and there is no lower one
TOGETHER = 2**16  # entries of transforms computed together: what a cache holds
NEGLIGIBLE = 1e-40  # powers below are taken as 0, an error of that much each
STEEPEST = 650.0  # exponents beyond are left to other tilts


def compose(
    steps: StepLosses, times: ArrayLike, levels: tuple[float, ...] = LEVELS, *, longest: int = LONGEST
) -> list[LossProfile]:
    """Profiles of the B settings of ``steps``, each taken ``times`` (B,) over, both directions.

    >>> from tacit.privacy.step_losses import step_losses
    >>> one = step_losses("without_replacement/replace_one", np.array([1.0]), np.array([0.0032]))
    >>> profile, = compose(one, [6_250])
    >>> round(profile.epsilon(1e-6), 2)
    1.93
    """
    T = np.asarray(times, dtype=np.int64)
    directions = [steps] if steps.symmetric else [steps, steps.reversed]
    result = [[tabulate(one, T, np.full(len(T), level), longest) for level in levels] for one in directions]
    tables = [list(zip(*direction, strict=True)) for direction in result]
    return [LossProfile(forward, backward) for forward, backward in zip(tables[0], tables[-1], strict=True)]


class _Laws(NamedTuple):
    """Losses of one step of B settings, places (B, M) on multiples of h (B,); and P(infinite) of all steps together."""

    h: Floats
    places: Integers
    losses: Floats
    log_p: Floats
    endless: Floats

    def rows(self, which: Any) -> _Laws:
        return _Laws(*(part[which] for part in self))

    def moments(self, t: Floats) -> tuple[Floats, Floats, Floats]:
        """K, K' and K'' at tilts t (B,)."""
        w = t[:, None] * self.losses
        w += self.log_p
        top = w.max(axis=1)
        w -= top[:, None]
        np.exp(w, out=w)
        total = w.sum(axis=1)
        mean = np.einsum("bm,bm->b", w, self.losses) / total
        away = self.losses - mean[:, None]
        return np.log(total) + top, mean, np.einsum("bm,bm,bm->b", w, away, away) / total


def _shorten(steps: StepLosses, T: Integers, share: Floats) -> _Laws:
    """Leave out losses rarer than share (B,): high ones count as infinite, low ones as the lowest left in."""
    p, log_p = np.exp(steps.log_p), steps.log_p.copy()
    high, low = np.cumsum(p[:, ::-1], axis=1)[:, ::-1], np.cumsum(p, axis=1)
    rare = high <= share[:, None]
    lost = np.where(rare, high, 0.0).max(axis=1)
    log_p[rare] = -np.inf
    lowest = np.argmax(low > share[:, None], axis=1)
    rows = np.arange(len(T))
    if not steps.lower:
        log_p[rows, lowest] = np.where(lowest > 0, np.log(low[rows, lowest]) + 1e-14, log_p[:, 0])
    log_p[np.arange(log_p.shape[1]) < lowest[:, None]] = -np.inf
    used = np.flatnonzero(np.isfinite(log_p).any(axis=0))
    inner = slice(int(used[0]), int(used[-1]) + 1) if used.size else slice(0, 1)
    places = np.broadcast_to(steps.knots[inner], (len(T), len(steps.knots[inner])))
    losses = np.multiply.outer(steps.spacing, steps.knots[inner])
    return _Laws(steps.spacing, places, losses, log_p[:, inner], T * (lost + steps.endless) * (1 + 1e-12))


def _coarsen(law: _Laws, factor: Integers) -> _Laws:
    """The same losses from above on multiples of ``factor * h``: the chord of the chord."""
    left, h = law.places // factor[:, None], law.h * factor
    away = law.h[:, None] * (law.places - left * factor[:, None])  # from the new knot on the left, in [0, h)
    right = np.expm1(away) / np.expm1(h)[:, None]  # share of the Q-mass that goes right
    with np.errstate(divide="ignore"):
        log_left, log_right = np.log1p(-np.minimum(right, 1.0)) - away, np.log(right) + h[:, None] - away
    places = np.concatenate([left, left + 1], axis=1)
    log_p = np.concatenate([law.log_p + log_left, law.log_p + log_right], axis=1) + 1e-14
    return _Laws(h, places, h[:, None] * places, log_p, law.endless)


def _saddle(law: _Laws, T: Integers, base: Floats, log_level: Floats, start: Floats) -> Floats:
    """Shifts t (B,) of the tilts ``base`` where the Chernoff bound of level e^log_level is best; any t is valid."""
    K0, sign = law.moments(base)[0], np.sign(start)
    t, low, high = np.abs(start), np.zeros_like(start), np.full_like(start, np.inf)
    for _ in range(40):
        K, slope, spread = law.moments(base + sign * t)
        wrong = T * (sign * t * slope - K + K0) + log_level  # grows with t
        low, high = np.where(wrong < 0, t, low), np.where(wrong < 0, high, t)
        done = (np.abs(wrong) < -0.1 * log_level) | (high < low * 1.001) | (t > 1e12)
        if done.all():
            break
        step = -wrong / np.maximum(T * t * t * spread, 1e-300)
        guess = t * np.exp(np.minimum(np.maximum(step, -2.0), 2.0))
        middle = np.where(high < np.inf, np.where(low > 0, np.sqrt(low) * np.sqrt(high), high / 4), 4 * low)
        t = np.where(done, t, np.where((guess > low) & (guess < high), guess, middle))
    return sign * t


def _tilts(law: _Laws, T: Integers, level: Floats) -> tuple[Floats, Floats]:
    """The least tilts at which errors are a small share of delta = level, and the mass that may leave the window."""
    log_level, spread = np.log(level), np.maximum(law.moments(np.zeros(len(T)))[2], 1e-300)
    best = _saddle(law, T, np.zeros(len(T)), log_level, np.sqrt(-2 * log_level / (T * spread)))
    eps = (T * law.moments(best)[0] + _log_factor(best) - log_level) / best
    allowed = np.log(WRONG / (300 * T * 140 * UNIT))  # over about the error of the transform
    tilt, share = best, np.zeros(len(T))
    for part in (1.0, 0.5, 0.25, 0.125, 0.0):
        t = part * best
        log_share = T * law.moments(t)[0] - t * eps + _log_factor(t) - log_level  # of delta, per unit of error
        fits = (log_share <= allowed) | (part == 1.0)
        tilt, share = np.where(fits, t, tilt), np.where(fits, log_share, share)
    return tilt, np.exp(np.minimum(np.maximum(np.log(WINDOW) - share, np.log(1e-15)), np.log(1e-7)))


def tabulate(steps: StepLosses, T: Integers, level: Floats, longest: int = LONGEST) -> list[LossTable]:
    """Delta of T (B,) steps of each setting, most exact where it is near ``level`` (B,)."""
    tables: dict[int, LossTable] = {}
    empty = ~np.isfinite(steps.log_p).any(axis=1)
    tables.update((int(row), _nothing(steps, int(row))) for row in np.flatnonzero(empty))
    rows = np.flatnonzero(~empty)
    if rows.size:
        law = _shorten(steps.rows(rows), T[rows], (100 if steps.lower else 1) * LOST * level[rows] / T[rows])
        tilt, outside = _tilts(law, T[rows], level[rows])
        shifts = _shifts(law, T[rows], tilt, outside)
        bottom, top = _window(law, T[rows], tilt, outside, shifts)
        factor = np.exp2(
            np.ceil(np.log2(np.maximum((top - bottom) / ((4 if steps.lower else 1) * longest * law.h), 1.0)))
        ).astype(np.int64)
        for fine in (True, False):
            at = np.flatnonzero((factor == 1) == fine)
            if at.size and steps.lower and not fine:  # there is no coarser bound from below
                tables.update((int(row), _nothing(steps, int(row))) for row in rows[at])
            elif at.size:
                part = law.rows(at) if fine else _coarsen(law.rows(at), factor[at])
                asked = (T[rows[at]], tilt[at], outside[at], (shifts[0][at], shifts[1][at]))
                tables.update(zip(rows[at].tolist(), _tables(part, *asked, lower=steps.lower), strict=True))
    return [tables[row] for row in range(len(T))]


def _nothing(steps: StepLosses, row: int) -> LossTable:
    """From below, where nothing is known."""
    return LossTable(float(steps.spacing[row]), 0, np.zeros(2), 0.0, 0.0, 0.0, True)


def _shifts(law: _Laws, T: Integers, tilt: Floats, outside: Floats) -> tuple[Floats, Floats]:
    about = np.sqrt(-2 * np.log(outside) / (T * np.maximum(law.moments(tilt)[2], 1e-300)))
    return _saddle(law, T, tilt, np.log(outside), -about), _saddle(law, T, tilt, np.log(outside), about)


def _window(
    law: _Laws, T: Integers, tilt: Floats, outside: Floats, shifts: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Ends beyond each of which the tilted sum lies with probability at most ``outside``.

    P(S >= end) <= exp(T (K(tilt + v) - K(tilt)) - v end) for every v > 0, and likewise below with v < 0.
    """
    K = law.moments(tilt)[0]
    low, high = ((T * (law.moments(tilt + v)[0] - K) - np.log(outside)) / v for v in shifts)
    return low, high


def _tables(
    law: _Laws, T: Integers, tilt: Floats, outside: Floats, shifts: tuple[Floats, Floats], *, lower: bool
) -> list[LossTable]:
    """Convolve and tabulate, settings with transforms of one length together."""
    bottom, top = _window(law, T, tilt, outside, shifts)
    start, end = np.floor(bottom / law.h).astype(np.int64) - 1, np.ceil(top / law.h).astype(np.int64) + 1
    N = np.exp2(np.maximum(np.ceil(np.log2(end - start + 1)), 4)).astype(np.int64)
    N = np.where(end - start < 3 * N // 4, 3 * N // 4, N)
    tables: dict[int, LossTable] = {}
    for length in np.unique(N).tolist():
        same = np.flatnonzero(length == N)
        for at in np.array_split(same, min(len(same), -(-len(same) * length // TOGETHER))):
            table = _table(law.rows(at), T[at], tilt[at], (start[at], end[at]), outside[at], length, lower)
            tables.update(zip(at.tolist(), table, strict=True))
    return [tables[i] for i in range(len(T))]


def _table(
    law: _Laws, T: Integers, tilt: Floats, edges: tuple[Integers, Integers], outside: Floats, N: int, lower: bool
) -> list[LossTable]:
    h, (start, end) = law.h, edges
    K, slope, _ = law.moments(tilt)
    masses, E = _convolve(law, T, tilt, K, N)
    E += 2.02 * outside
    # only from zero up, and where e^(-tilt (loss - centre)) stays within the floats
    centre = T * slope
    begin = np.maximum(np.maximum(start, 0), np.ceil((centre - STEEPEST / (1 + tilt)) / h).astype(np.int64))
    begin = np.minimum(begin, np.maximum(end, 1) - 1)
    last = np.maximum(end, begin + 1)
    places = begin[:, None] + np.arange(int((last - begin).max()) + 1)
    m = np.take_along_axis(masses, places % N, axis=1)
    m[(places < start[:, None]) | (places > end[:, None])] = 0.0
    power = T * K
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        away = h[:, None] * places - centre[:, None]
        # losses too far up for the floats count as infinite
        above = away > STEEPEST
        far = np.zeros(len(T))
        if above.any():
            far = np.exp(power - tilt * centre) * (m * np.exp(-tilt[:, None] * away) * above).sum(axis=1)
            m[above] = 0.0
            np.minimum(away, STEEPEST, out=away)
        m *= np.exp(-(1 + tilt[:, None]) * away)
        tail = np.cumsum(m[:, :0:-1], axis=1)[:, ::-1]  # Q-mass above each place
        tail *= np.exp(away[:, :-1])
        area = np.cumsum(tail[:, ::-1], axis=1)[:, ::-1]
        area *= (np.exp(power - tilt * centre) * np.expm1(h))[:, None]
        values = np.concatenate([area, np.zeros((len(T), 1))], axis=1)
        constant = power + _log_factor(tilt)
        error = np.exp(constant[:, None] - (tilt * h)[:, None] * places) * E[:, None]
        slack = (8 * UNIT * (places.shape[1] + 4 + np.abs(power) + np.abs(tilt * centre)))[:, None]
    if lower:
        values = np.fmax(values * (1 - slack) - error, 0.0)
        values = np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
    else:
        values = values * (1 + slack) + error + (far * (1 + 1e-9) + law.endless)[:, None]
        values = np.minimum.accumulate(np.fmin(values, 1.0), axis=1)  # what overflowed says nothing
    cut = [row[: n + 1] for row, n in zip(values, last - begin, strict=True)]
    facts = zip(h.tolist(), begin.tolist(), cut, tilt.tolist(), constant.tolist(), law.endless.tolist(), strict=True)
    return [LossTable(hh, first, row, t, c + 1e-9, floor, lower) for hh, first, row, t, c, floor in facts]


def _convolve(law: _Laws, T: Integers, tilt: Floats, K: Floats, N: int) -> tuple[Floats, Floats]:
    """m*T on multiples of h modulo N, and a bound on its error but for what left the window."""
    m = np.exp(law.log_p + tilt[:, None] * law.losses - K[:, None])
    size = 8 + 2 * np.abs(np.where(np.isfinite(law.log_p), law.log_p, 0.0)) + 2 * np.abs(tilt[:, None] * law.losses)
    rounding = 1.01 * UNIT * np.einsum("bm,bm->b", m, size)
    vector = np.zeros((len(T), N))
    np.add.at(vector, (np.arange(len(T))[:, None], law.places % N), m)
    z = rfft(vector, axis=1)
    path = 8 * UNIT * (1 + np.log2(N))
    size = np.abs(z) + path
    rows, columns = np.nonzero((T[:, None] - 1) * np.log(size) > np.log(NEGLIGIBLE))
    sizes = 2 * np.bincount(rows, _power(size[rows, columns], T[rows] - 1), len(T)) + N * NEGLIGIBLE
    sizes = np.minimum(sizes, np.sqrt(N * (vector**2).sum(axis=1)) * 1.01)
    powers = np.zeros_like(z)
    powers[rows, columns] = _power(z[rows, columns], T[rows])
    masses = np.maximum(irfft(powers, N, axis=1), 0.0)
    return masses, T * rounding + 1.01 * (T + 1) * (path + 3 * UNIT) * sizes + N * NEGLIGIBLE


def _log_factor(t: Floats) -> Floats:
    return np.where(t > 0, t * np.log(np.maximum(t, 1e-300)) - (1 + t) * np.log1p(t), 0.0)


def _power(z: NDArray[Any], n: Integers) -> NDArray[Any]:
    """z (m,) to the powers n (m,), by squaring."""
    out, n = np.ones_like(z), n.copy()
    while n.any():
        odd = (n & 1).astype(bool)
        np.multiply(out, z, out=out, where=odd)
        n >>= 1
        z = z * z
    return out
