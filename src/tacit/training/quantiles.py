"""Where the numbers of a private column lie, found by noisy counts "rows below t", each t chosen by those before.

    m    centre of a guess              z    share of the rows that are 0
    s    its spread, about a deviation  F    share of the rows below t

A public cloud of guesses says which columns there may be: numbers around a centre, skewed amounts with or without
zeros, years. Every noisy count makes guesses that fit it count for more, and the next t is where the guesses that are
left see a quantile. Where counts are exact enough, more of them halve the steps of the distribution that are largest.
All of it is post-processing of the counts; how many there are is fixed in advance by public numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

Floats = NDArray[np.float64]
Count = Callable[[float], float]  # the noisy share of rows below t
FEW, MANY, GUESSED = 12, 24, 15  # counts of a column; of many, those that are placed by guesses
FINE_ENOUGH = 0.015  # deviation of the noise on a share below which many counts are made
LOW, HIGH = 0.16, 0.84  # quantiles about a deviation from the centre
STRETCH = 2.2  # deviations that the range reaches to either side
LEVELS = (0.08, 0.25, 0.42, 0.58, 0.75, 0.92)  # quantiles at which a column with many counts is cut
GUESSES, AGAIN = 6000, 3  # counts after which guesses that do not fit are replaced
WRONG = 0.03  # deviation of the share that a guess of the right column may see wrongly
LOGISTIC = 1.7  # a logistic curve with this slope is nearly that of a Gaussian
BESIDE = 1e-9  # above 0, so that zeros lie below it
NEAR = 0.003  # of the range: cuts that are closer are one
ATOM = 0.15  # share of zeros from which they have a bin of their own


@dataclass(frozen=True)
class Guesses:
    """Guesses of a column, one each (g,): centre, spread, share of zeros, and whether the others are skewed.

    A skewed one is Gaussian in the logarithm, with deviation s / m.
    """

    m: Floats
    s: Floats
    z: Floats
    skewed: NDArray[np.bool_]

    @classmethod
    def of_times(cls, public: np.random.Generator) -> Guesses:
        """Times in days since 1970: most within the last decades, over weeks or years."""
        m, s = 365.25 * (10 + 30 * public.standard_normal(GUESSES)), 10 ** (1 + 3 * public.random(GUESSES))
        return cls(m, s, np.zeros(GUESSES), np.zeros(GUESSES, bool))

    @classmethod
    def of_numbers(cls, public: np.random.Generator) -> Guesses:
        """Columns as people make them: magnitudes around 10, some centred at 0, amounts, flags, years."""
        kind = public.choice(5, GUESSES, p=[0.35, 0.2, 0.3, 0.05, 0.1])
        a, b, c, d = public.standard_normal((4, GUESSES))
        u, v, w = public.random((3, GUESSES))
        centre = np.where(u < 0.85, 1.0, -1.0) * 10 ** (1.2 + 1.4 * a)
        spread, around, amount = np.abs(centre) * 10 ** (-0.5 + 0.5 * b), 10 ** (0.2 + 1.2 * c), 10 ** (1.5 + 1.6 * d)
        m = np.choose(kind, [centre, 0.4 * around * a, amount, 1900 + 130 * v, np.ones(GUESSES)])
        s = np.choose(kind, [spread, around, amount * (0.3 + 1.2 * v), 10 ** (0.3 + 1.2 * u), 0.05 * m])
        none = np.zeros(GUESSES)
        z = np.choose(kind, [none, none, np.where(u < 0.5, 0.0, w), none, 0.02 + 0.96 * w])
        return cls(m, s, z, (kind == 2) | (kind == 4))

    def below(self, t: float) -> Floats:
        """F at t."""
        with np.errstate(all="ignore"):
            line = (t - self.m) / self.s
            curve = np.log(max(t, 1e-300) / np.abs(self.m)) * np.abs(self.m) / self.s if t > 0 else -np.inf
            rest = expit(LOGISTIC * np.where(self.skewed, curve, line))
        return np.asarray(self.z * (t > 0) + (1 - self.z) * rest)

    def quantile(self, p: float) -> Floats:
        """The quantile of the rows that are not 0; where many are 0, 0 below the middle."""
        away = logit(p) / LOGISTIC
        with np.errstate(over="ignore"):
            found = np.where(
                self.skewed, self.m * np.exp(np.clip(away * self.s / np.abs(self.m), -50, 50)), self.m + away * self.s
            )
        return np.where((self.z > LOW) & (p < 0.5), 0.0, found)

    def renew(self, weights: Floats, public: np.random.Generator) -> Guesses:
        """As many guesses near those that fit: each between its neighbours, whatever their magnitude."""
        good = np.flatnonzero(weights > weights.max() * 1e-4)
        good = good[np.argsort(self.m[good])]
        which = public.choice(len(good), GUESSES, p=weights[good] / weights[good].sum())
        other = np.clip(which + public.choice([-1, 1], GUESSES), 0, len(good) - 1)
        at = good[which]
        m = self.m[at] + (self.m[good[other]] - self.m[at]) * public.random(GUESSES)
        m += 0.2 * self.s[at] * public.standard_normal(GUESSES)
        m = np.where(self.skewed[at] & (m <= 0), self.m[at], m)
        s = self.s[at] * np.exp(0.3 * public.standard_normal(GUESSES))
        s = np.where(self.skewed[at], s * np.abs(m) / np.abs(self.m[at]), s)
        z = np.where(self.z[at] > 0, np.clip(self.z[at] + 0.1 * public.standard_normal(GUESSES), 0.0, 0.99), 0.0)
        return Guesses(m, s, z, self.skewed[at])


@dataclass(frozen=True)
class Spread:
    """What the counts show of a column: its range, and cuts where there were many. Released."""

    range: tuple[float, float]
    cuts: tuple[float, ...] = ()


class QuantileSearch:
    """The counts so far, and the guesses; ``noise`` is the deviation of a share."""

    def __init__(self, count: Count, noise: float, *, times: bool = False) -> None:
        self.count, self.noise, self.public = count, noise, np.random.default_rng(0)
        self.guesses = Guesses.of_times(self.public) if times else Guesses.of_numbers(self.public)
        self.at: list[float] = []
        self.shares: list[float] = []

    def find(self, counts: int, stretch: float = STRETCH) -> Spread:
        """Make so many counts, and say what they show; the range reaches ``stretch`` deviations to either side."""
        for i in range(counts if counts <= FEW else GUESSED):
            self._ask(self._quantile(0.5 if i < 2 else (LOW, HIGH)[i % 2]))
            if i % AGAIN == AGAIN - 1:
                self.guesses = self.guesses.renew(self._weights(), self.public)
        low, high = self._quantile(LOW), self._quantile(HIGH)
        centre, half = (low + high) / 2, max((high - low) / 2, 1e-6 * abs(low + high), 1e-9)
        ends = (centre - stretch * half, centre + stretch * half)
        if counts <= FEW:
            return Spread(ends)
        for _ in range(GUESSED, counts):
            self._ask(self._widest_step(half))
        return Spread(ends, self._place_cuts(ends, zeros=float(self._weights() @ self.guesses.z)))

    def _ask(self, t: float) -> None:
        t = float(np.clip(t, -1e300, 1e300)) or BESIDE
        self.at.append(t)
        self.shares.append(self.count(t))

    def _weights(self) -> Floats:
        """How well each guess fits all counts, adding up to 1."""
        off = np.zeros(GUESSES)
        for t, share in zip(self.at, self.shares, strict=True):
            off += (share - self.guesses.below(t)) ** 2
        off = np.exp(-(off - off.min()) / (2 * (self.noise**2 + WRONG**2)))
        return np.asarray(off / off.sum())

    def _quantile(self, p: float) -> float:
        """The middle of what the guesses see as this quantile."""
        found, weights = self.guesses.quantile(p), self._weights()
        order = np.argsort(found)
        return float(found[order][np.searchsorted(np.cumsum(weights[order]), 0.5).clip(0, GUESSES - 1)])

    def _steps(self) -> tuple[Floats, Floats]:
        """Where was counted, in order, and shares that rise (the nearest that do)."""
        order = np.argsort(self.at, kind="stable")
        return np.array(self.at)[order], np.clip(rise(np.array(self.shares)[order]), 0.0, 1.0)

    def _widest_step(self, half: float) -> float:
        """The middle of the step that holds the most rows; of the outermost ones, a deviation beyond the last count."""
        at, shares = self._steps()
        ends = np.concatenate([[at[0] - half], at, [at[-1] + half]])
        held = np.diff(np.concatenate([[0.0], shares, [1.0]])) * (np.diff(ends) > 1e-3 * half)
        j = int(np.argmax(held))
        if j in (0, len(held) - 1):
            return float(ends[0] if j == 0 else ends[-1])
        a, b = float(ends[j]), float(ends[j + 1])
        return float(np.sqrt(a * b)) if a > 0 and b > 4 * a else (a + b) / 2

    def _place_cuts(self, ends: tuple[float, float], zeros: float) -> tuple[float, ...]:
        """Cuts at LEVELS, and on both sides of 0 where many are; none close to another."""
        at, shares = self._steps()
        last = np.concatenate([np.diff(shares) > 0, [True]])  # of equal shares the last place
        close = NEAR * (ends[1] - ends[0])
        cuts = [-BESIDE, BESIDE] if zeros > ATOM else []
        for cut in np.interp(LEVELS, shares[last], at[last]).tolist():
            if all(abs(cut - other) > close for other in cuts):
                cuts.append(cut)
        return tuple(sorted(c for c in cuts if ends[0] < c < ends[1]))


def rise(values: Floats) -> Floats:
    """The nearest values that do not fall, by pooling neighbours.

    >>> rise(np.array([0.1, 0.4, 0.2, 0.9])).round(2).tolist()
    [0.1, 0.3, 0.3, 0.9]
    """
    means: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        means.append(value)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            last, size = means.pop(), sizes.pop()
            means[-1] = (means[-1] * sizes[-1] + last * size) / (sizes[-1] + size)
            sizes[-1] += size
    return np.repeat(means, sizes)
