"""How often a search runs: laws of the secret number K of runs, each with its generating function and an exact draw.

    p_k     probability that K = k                  f(u)    sum of p_k u^k, the generating function
    m       mean of K, f'(1)                        f'(u)   sum of k p_k u^(k-1)
    q       share of the search space that is good enough: "a top-q model"

A search that draws each setting afresh meets the top q with probability 1 - f(1 - q).

Draws. `secrets` gives 256 random bits U; K is the first k at which p_0 + ... + p_k exceeds U / 2^256, the sums being
taken with 120 decimal digits. The law that is drawn therefore differs from the one stated by less than 2^-255 in total
variation. No seed is involved, and no floating point but in the parameters, which are taken as the numbers they are.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tacit.errors import BadInput, count, probability, real

Floats = NDArray[np.float64]

BITS = 256
DIGITS = 120
LARGEST_CAP = 10_000


class RunLaw(Protocol):
    """A law of the number of runs. ``derivative`` is given u and t = 1 - u, so that neither loses its digits."""

    @property
    def mean(self) -> float: ...

    @property
    def largest(self) -> int | None:
        """The largest number of runs possible, or None."""
        ...

    def derivative(self, u: Floats, t: Floats) -> Floats: ...

    def generate(self, u: float) -> float: ...

    def terms(self) -> Iterator[Decimal]:
        """p_0, p_1, ... in the decimal context of the caller."""
        ...


def draw_runs(law: RunLaw) -> int:
    """Draw K from the operating system's cryptographic source.

    >>> draw_runs(Fixed(3))
    3
    """
    while True:
        runs = runs_at(law, secrets.randbits(BITS))
        if runs is not None:
            return runs


def runs_at(law: RunLaw, uniform: int) -> int | None:
    """The number of runs that ``uniform``, of 256 bits, stands for; None to draw again.

    >>> [runs_at(geometric(2.0), int(u * 2**256)) for u in (0.0, 0.49, 0.51, 0.76)]
    [1, 1, 2, 3]
    """
    with localcontext(Context(prec=DIGITS)):
        left, rest = Decimal(uniform) / Decimal(2**BITS), Decimal(1)
        for k, term in enumerate(law.terms()):
            left, rest = left - term, rest - term
            if left < 0:
                return k
            if rest < Decimal(10) ** -100:
                break  # the sums have come to one, but for their last digits
    return None


def chance_of_top(law: RunLaw, top: float) -> float:
    """The probability that at least one run is among the best ``top`` of the search space.

    >>> round(chance_of_top(geometric(76.0), 0.05), 2)
    0.8
    """
    return 1 - law.generate(1 - probability("top", top))


@dataclass(frozen=True)
class NegativeBinomial:
    """The negative binomial law without its zero: shape eta > -1, success probability gamma.

    eta = 1 is geometric, eta = 0 logarithmic; as eta grows K concentrates. Follows: Papernot and Steinke 2022,
    Definition 1.
    """

    eta: float
    gamma: float

    def __post_init__(self) -> None:
        if not -1 < real("eta", self.eta) <= 100:
            raise BadInput(f"eta must be above -1 and at most 100, got eta={self.eta!r}")
        probability("gamma", self.gamma)

    @classmethod
    def with_mean(cls, mean: float, eta: float = 1.0) -> NegativeBinomial:
        """The law of this shape whose mean is ``mean``, above 1, to one part in 1e12."""
        if not 1 < real("mean", mean) <= 1e9:
            raise BadInput(f"mean must be above 1 and at most 1e9, got mean={mean!r}; Fixed(1) is a single run")
        if eta == 1:
            return cls(1.0, 1 / mean)
        lowest = -700.0 / max(1.0, eta)

        def excess(log_gamma: float) -> float:
            return math.log(cls(eta, math.exp(log_gamma)).mean / mean)

        return cls(eta, math.exp(brentq(excess, lowest, -1e-12, xtol=1e-14, rtol=1e-13)))

    @property
    def mean(self) -> float:
        log_gamma = math.log(self.gamma)
        # eta / (1 - gamma^eta), which tends to -1 / log gamma
        factor = -1 / log_gamma if self.eta == 0 else -self.eta / math.expm1(self.eta * log_gamma)
        return factor * (1 - self.gamma) / self.gamma

    @property
    def largest(self) -> None:
        return None

    def derivative(self, u: Floats, t: Floats) -> Floats:
        return np.asarray(self.mean * (self.gamma / (self.gamma + (1 - self.gamma) * t)) ** (self.eta + 1))

    def generate(self, u: float) -> float:
        log_gamma, log_rest = math.log(self.gamma), math.log1p(-(1 - self.gamma) * u)
        if self.eta == 0:
            return log_rest / log_gamma
        return math.expm1(-self.eta * log_rest) / math.expm1(-self.eta * log_gamma)

    def terms(self) -> Iterator[Decimal]:
        eta, gamma = Decimal(self.eta), Decimal(self.gamma)
        yield Decimal(0)
        term = (1 - gamma) * (eta / ((-eta * gamma.ln()).exp() - 1) if eta else -1 / gamma.ln())
        k = 1
        while True:
            yield term
            term *= (1 - gamma) * (k + eta) / (k + 1)
            k += 1


def geometric(mean: float) -> NegativeBinomial:
    """The law of the first success, with this mean: eta = 1."""
    return NegativeBinomial.with_mean(mean)


@dataclass(frozen=True)
class PoissonRuns:
    """The Poisson law. With probability e^-mean there is no run at all, and nothing is released."""

    mean: float

    def __post_init__(self) -> None:
        if not 0 < real("mean", self.mean) <= 1e5:
            raise BadInput(f"mean must be above 0 and at most 100,000, got mean={self.mean!r}")

    @property
    def largest(self) -> None:
        return None

    def derivative(self, u: Floats, t: Floats) -> Floats:
        return np.asarray(self.mean * np.exp(-self.mean * t))

    def generate(self, u: float) -> float:
        return math.exp(-self.mean * (1 - u))

    def terms(self) -> Iterator[Decimal]:
        mean = Decimal(self.mean)
        term, k = (-mean).exp(), 0
        while True:
            yield term
            k += 1
            term *= mean / k


@dataclass(frozen=True)
class Fixed:
    """Always ``runs`` runs: the worst law for privacy, here for comparison."""

    runs: int

    def __post_init__(self) -> None:
        count("runs", self.runs)
        if self.runs > LARGEST_CAP:
            raise BadInput(f"runs must be at most {LARGEST_CAP:,}, got runs={self.runs}")

    @property
    def mean(self) -> float:
        return float(self.runs)

    @property
    def largest(self) -> int:
        return self.runs

    def derivative(self, u: Floats, t: Floats) -> Floats:
        return np.asarray(self.runs * u ** (self.runs - 1))

    def generate(self, u: float) -> float:
        return float(u**self.runs)

    def terms(self) -> Iterator[Decimal]:
        for k in range(self.runs + 1):
            yield Decimal(int(k == self.runs))
        while True:
            yield Decimal(0)


@dataclass(frozen=True)
class Capped:
    """Another law, given that K is at most ``cap``: drawn again until it is.

    >>> law = Capped(geometric(10.0), 30)
    >>> law.largest, round(law.mean, 2)
    (30, 8.67)
    """

    law: RunLaw
    cap: int

    def __post_init__(self) -> None:
        if not count("cap", self.cap) <= LARGEST_CAP:
            raise BadInput(f"cap must be at most {LARGEST_CAP:,}, got cap={self.cap}")
        if isinstance(self.law, Capped):
            raise BadInput("a capped law is capped once: give the smaller cap")
        if not self.shares[1:].any():
            raise BadInput(f"cap must leave room for a run, got cap={self.cap} for {self.law}")

    @cached_property
    def shares(self) -> Floats:
        """p_0 ... p_cap, to a few parts in 1e16: decimal terms, rounded once."""
        with localcontext(Context(prec=40)):
            terms = self.law.terms()
            head = [next(terms) for _ in range(self.cap + 1)]
            total = sum(head)
            if not total:
                raise BadInput(f"cap must leave room for a run, got cap={self.cap} for {self.law}")
            return np.array([float(p / total) for p in head])

    @cached_property
    def mean(self) -> float:
        return math.fsum(k * p for k, p in enumerate(self.shares))

    @property
    def largest(self) -> int:
        return self.cap

    def derivative(self, u: Floats, t: Floats) -> Floats:
        return _polynomial(self.shares[1:] * np.arange(1, self.cap + 1), u)

    def generate(self, u: float) -> float:
        return float(_polynomial(self.shares, np.array(u)))

    def terms(self) -> Iterator[Decimal]:
        terms = self.law.terms()
        head = [next(terms) for _ in range(self.cap + 1)]
        total = sum(head)
        yield from (p / total for p in head)
        while True:
            yield Decimal(0)


def _polynomial(coefficients: Floats, u: Floats) -> Floats:
    """Horner's rule; nothing here is negative, so nothing cancels."""
    value = np.full(np.shape(u), coefficients[-1])
    for c in coefficients[-2::-1]:
        value = value * u + c
    return value
