"""How far a release tells two neighbours apart, said in the currencies of a ledger's filters.

    P, Q     what a mechanism puts out on two neighbouring data sets
    H(x)     its hockey-stick divergence at x = e^epsilon: delta at epsilon (see profiles)
    D_a      its Rényi divergence of order a > 1:  log E_Q[(P/Q)^a] / (a - 1)
    d        ``delta``, the probability of an event that is given up: with it all is revealed, else (P', Q') is seen

(epsilon, delta) at one point of a profile is expensive in every filter but basic, which adds epsilons. A mechanism that
knows its whole profile says more: that of (P', Q') is max((1 - x)_+, (H - d) / (1 - d)), and

    E_Q'[(P'/Q')^a] = 1 + a (a - 1) (integral of e^((a - 1) e) H'(e^e) + e^(-a e) H'_reversed(e^e) over e > 0),

which grows with H', so that bounds on H from above give bounds on D_a from above. docs/proofs/ledger-filters.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput, real
from tacit.files import Json
from tacit.privacy.profiles import GaussianProfile, Profile

ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0, 256.0, 512.0)
FAR, CELLS = 100.0, 600  # the largest epsilon that is looked at, and the points up to where delta is d
SAFE = 1e-9  # relative: a hundred times what the sums below can lose by rounding
LARGEST_MU = 100.0


@dataclass(frozen=True, slots=True)
class Divergences:
    """But for an event of probability ``delta``: mu-GDP, and Rényi divergences of at most ``values`` at ORDERS.

    ``mu`` is inf where none is known.

    >>> d = Divergences.of(GaussianProfile(0.5), 1e-9)
    >>> round(d.mu, 2), round(d.at(8.0), 2)
    (0.51, 1.0)
    """

    __released__ = True

    delta: float
    mu: float
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not (len(self.values) == len(ORDERS) and 0 <= self.delta < 1 and self.mu > 0 and min(self.values) >= 0):
            raise BadInput("divergences need a delta in [0, 1), a mu above 0, and one value at each order")

    def at(self, order: float) -> float:
        """The bound at an order, which must be one of ORDERS."""
        return self.values[ORDERS.index(order)]

    def epsilon(self, delta: float) -> float:
        """An epsilon that holds at a delta above ``delta`` (Canonne, Kamath and Steinke 2020, Proposition 12)."""
        left = delta - self.delta
        if not left > 0:
            return math.inf
        bounds = (v + conversion(a, left) for a, v in zip(ORDERS, self.values, strict=True))
        return max(0.0, min(bounds) * (1 + SAFE))

    @classmethod
    def of(cls, profile: Profile, delta: float, distance: float = 0.0) -> Divergences:
        """Those of a mechanism with this profile, or at a distance in total variation from it; ``delta`` is given up.

        ``distance`` adds itself to delta on one side, and e^epsilon times itself on the other: up to the epsilon where
        the profile comes down to ``delta``, from where on all is given up.
        """
        sides = (profile,) if profile.reversed is profile else (profile, profile.reversed)
        ends = [_end(side, delta) for side in sides]
        whole = delta + distance * (1 + math.exp(max(ends)))
        cells = [_cells(side, end, delta, whole) for side, end in zip(sides, ends, strict=True)]
        pairs = [(cells[0], cells[-1]), (cells[-1], cells[0])]
        bounds = [max(_renyi(a, *pair) for pair in pairs) for a in ORDERS]
        values = np.minimum.accumulate(bounds[::-1])[::-1]  # a divergence does not fall as its order rises
        return cls(whole, max(_dominating_mu(*each) for each in cells), tuple(values.tolist()))

    def to_json(self) -> Json:
        mu = self.mu if math.isfinite(self.mu) else None
        return {"delta": self.delta, "mu": mu, "orders": list(ORDERS), "values": list(self.values)}

    @classmethod
    def from_json(cls, document: Any) -> Divergences:
        try:
            mu = math.inf if document["mu"] is None else real("mu", document["mu"])
            values = dict(zip(document["orders"], document["values"], strict=True))
            return cls(real("delta", document["delta"]), mu, tuple(real("value", values[a]) for a in ORDERS))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BadInput("divergences in JSON need delta, mu, and orders with one value each") from None


def conversion(order: float, delta: float) -> float:
    """What epsilon at delta adds to the Rényi divergence of an order (Canonne2020 Proposition 12).

    >>> round(0.5 * 8 + conversion(8.0, 1e-6), 3)
    5.543
    """
    return (-math.log(delta) - math.log(order)) / (order - 1) + math.log1p(-1 / order)


def pure_renyi(eps: float, order: float) -> float:
    """The largest Rényi divergence of an order that eps-DP allows: that of randomised response.

    >>> round(pure_renyi(1.0, 2.0), 4), round(pure_renyi(1.0, 512.0), 4)
    (0.7353, 0.9994)
    """
    if eps > 600 or eps < 1e-150:
        return eps
    # of E - 1 = (e^(a eps) - 1) (1 - e^((1 - a) eps)) / (1 + e^eps), where nothing cancels
    log = order * eps + math.log(math.expm1(-order * eps) * math.expm1((1 - order) * eps) / (1 + math.exp(eps)))
    return min(eps, (math.log1p(math.exp(log)) if log < 50 else log + 1e-20) / (order - 1) * (1 + SAFE))


Cells = tuple[NDArray[np.float64], NDArray[np.float64]]


def _end(profile: Profile, delta: float) -> float:
    """An epsilon, close to the least, where the profile is at most delta."""
    low, high = 0.0, FAR
    if profile.delta(np.array([high]))[0] > delta:
        raise BadInput(f"delta={delta:g} must be one that the profile comes down to by epsilon = {FAR:g}")
    for _ in range(3):  # close enough: beyond it H' is 0
        grid = np.linspace(low, high, 33)
        fits = profile.delta(grid) <= delta
        first = int(np.flatnonzero(fits)[0])
        low, high = float(grid[max(first - 1, 0)]), float(grid[first])
    return max(high, 1e-9)


def _cells(profile: Profile, end: float, delta: float, whole: float) -> Cells:
    """Epsilons from 0 to the end, and H' there, ``whole`` given up; a distance is in whole and not in the profile."""
    eps = np.linspace(0.0, end, CELLS)
    return eps, np.maximum(profile.delta(eps) - delta, 0.0) / (1 - whole)


def _renyi(a: float, forward: Cells, backward: Cells) -> float:
    """D_a from cells: H' falls, and is convex in x, where x^(a - 2) rises for a >= 2; else its left end is taken."""
    (eps, h), (eps_back, h_back) = forward, backward
    height = (h[:-1] + h[1:]) / 2 if a >= 2 else h[:-1]
    # in logarithms, since e^((a - 1) eps) may be large: of the integral of e^((a - 1) e) over each cell
    wide = (a - 1) * np.diff(eps)
    with np.errstate(divide="ignore"):
        logs = (a - 1) * eps[:-1] + np.log(np.expm1(wide) / (a - 1)) + np.log(height)
    falls = -np.diff(np.exp(-a * eps_back)) / a
    rest = a * (a - 1) * float(falls @ h_back[:-1])
    top = float(np.logaddexp.reduce(logs)) + math.log(a * (a - 1))
    return float(np.logaddexp(math.log1p(rest), top)) / (a - 1) * (1 + SAFE)


def _dominating_mu(eps: NDArray[np.float64], h: NDArray[np.float64]) -> float:
    """A mu whose profile is above H' everywhere: H' at the left end of each cell against the Gaussian at its right."""
    low, high = 0.0, LARGEST_MU

    def fits(mu: float) -> bool:
        return bool((h[:-1] * (1 + SAFE) <= GaussianProfile(mu).delta(eps[1:])).all())

    if not fits(high):
        return math.inf
    while high - low > 1e-4 * high:
        mu = (low + high) / 2
        low, high = (low, mu) if fits(mu) else (mu, high)
    return high
