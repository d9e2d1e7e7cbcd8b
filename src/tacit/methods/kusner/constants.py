"""The constants of Kusner et al.'s algorithms, as published and as they add up; all of them public.

    n       candidates, |Lambda|                    T       trials
    delta   of one of the two releases              k1      correlation of the functions of two neighbouring data sets
    sigma   sd of an observation's noise            gamma   bound on the information gain of T observations
    f, f'   functions of the two data sets          m       validation records
    A, tau  of the function class (de Freitas et al. 2012, Theorem 2)

Values are in prior standard deviations throughout. "safe" splits the delta of one release as below; both releases
together may fail with probability 2 delta:

    event that must not happen                      bound      spent on lambda~    on v~       on the pair
    f leaves mean +- sqrt(beta_t) sd, any t <= T+1  delta/3    yes                 yes         once
    f' leaves its own band                          delta/3    yes                 yes         once
    |f - f'| > c at some candidate                  delta/3    yes                 yes         once
    one of 2T noises exceeds q/2                    delta/3    no                  yes         once
                                                    sum:       delta               4 delta/3   4 delta/3 <= 2 delta

So "safe" covers lambda~ alone at delta and the pair at 2 delta, which is what is stated and charged; v~ alone would
need 4 delta/3. As published ("icml"): a band costs delta/2, and q is the tail of one noise where the index is chosen
among T, so the sum for the pair is delta + delta/3 + 2 T delta/3; for "workshop" q covers still less.
Algorithm 2 has no q; its c allows delta/2 and the constants A and tau are given for all but delta/2, so the pair spends
2 delta/3 + delta/2 + delta/2 (safe) or delta + delta/2 + delta/2 (published), both <= 2 delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.errors import BadInput, choice, count, positive, probability, real
from tacit.files import Json
from tacit.gp.exact import GaussianProcess
from tacit.gp.form import Array, Kernel
from tacit.gp.threads import one_thread

VERSIONS = ("safe", "icml", "workshop")
MISS = 0.05  # utility statements are printed with a = log(1/MISS)
SHOWN, DRAWS = 400, 64  # candidates and prior draws behind the forecast


@dataclass(frozen=True)
class Constants:
    """beta, c, q and C1 of one release with its own delta.

    Follows. Kusner et al. (2015), Algorithms 1 and 2; "workshop" their earlier text; "safe" the table above.

    >>> Constants("icml", candidates=100, trials=10, delta=0.1, k1=1.0, sigma=1.0).q  # sqrt(8 log 30)
    5.216...
    """

    version: str
    candidates: int
    trials: int
    delta: float
    k1: float
    sigma: float = 0.0

    def __post_init__(self) -> None:
        choice("constants", self.version, VERSIONS)
        count("candidates", self.candidates)
        count("trials", self.trials)
        probability("delta", self.delta)
        if not 0 <= real("k1", self.k1) <= 1:
            raise BadInput(f"k1 is a correlation between neighbouring data sets and lies in [0, 1], got k1={self.k1!r}")

    def beta(self, t: int) -> float:
        """The width of the band at step t: n exp(-beta_t/2), summed over t, is delta/3 (safe) or delta/2."""
        parts = 2 if self.version == "safe" else 3
        return 2 * math.log(self.candidates * t * t * math.pi**2 / (parts * self.delta))

    def change(self, parts: int) -> float:
        """c: the functions of neighbours differ by more, at some candidate, with probability delta/parts at most."""
        return 2 * math.sqrt((1 - self.k1) * math.log(parts * self.candidates / self.delta))

    @property
    def c(self) -> float:
        return self.change(3)

    @property
    def q(self) -> float:
        """How much noise moves the two maxima; see the table for what it leaves out as published."""
        if self.version == "safe":
            return 2 * self.sigma * math.sqrt(2 * math.log(6 * self.trials / self.delta))
        return self.sigma * math.sqrt((8 if self.version == "icml" else 4) * math.log(3 / self.delta))

    @property
    def c1(self) -> float:
        return 8 / math.log1p(positive("observation_noise", self.sigma**2) ** -1)

    @property
    def choice_sensitivity(self) -> float:
        """Of the posterior mean at any candidate (Theorem 1)."""
        return 2 * math.sqrt(self.beta(self.trials + 1)) + self.c

    def regret(self, gamma: float) -> float:
        """Omega / T, the bound on the regret of the best of T (Srinivas et al. 2010, Theorem 1)."""
        return math.sqrt(self.c1 * self.beta(self.trials) * gamma / self.trials)

    def failures(self, algorithm: int) -> dict[str, float]:
        """Provable bounds on the failure events of the pair, and their sum; 2 delta is what may be spent."""
        band = self.delta / (3 if self.version == "safe" else 2)
        events = {"f leaves its band": band, "f' leaves its band": band}
        if algorithm == 1:
            events["|f - f'| > c"] = self.delta / 3
            events["noise beyond q/2"] = min(1.0, 2 * self.trials * math.exp(-((self.q / self.sigma) ** 2) / 8))
        else:
            events["|f - f'| > c"] = self.delta / 2
            events["A and tau do not hold (given)"] = self.delta / 2
        return {**events, "sum": math.fsum(events.values()), "allowed": 2 * self.delta}


def data_kernel(records: int, width: float, scale: float) -> float:
    """k1 such that the prior sd of f - f' is the most that one record of ``records`` can change a bounded mean.

    Edges. Rounded down, so that it is below 1 however many records there are.

    >>> round(data_kernel(1000, 1.0, 0.05), 9)
    0.9998
    """
    return max(0.0, math.nextafter(1 - min(1.0, (width / (records * scale)) ** 2 / 2), 0.0))


def information_gain(kernel: Kernel, points: Array, trials: int, variance: float) -> float:
    """An upper bound on gamma_T: e/(e-1) times the greedy value of 1/2 log det(I + K/variance), repeats allowed.

    Follows. Nemhauser, Wolsey and Fisher (1978): greedy reaches 1 - 1/e of the most, for each point can be taken again.
    """
    gp = GaussianProcess(kernel, noise=positive("observation_noise", variance), candidates=points, capacity=trials)
    gained = 0.0
    for _ in range(trials):
        i = int(np.argmax(gp.variance))
        gained += 0.5 * math.log1p(float(gp.variance[i]) / variance)
        gp.append_candidate(i, 0.0)
    return gained * math.e / (math.e - 1)


def vanishing_regret(version: str, trials: int, dimensions: int, A: float, tau: float) -> float:
    """Omega of Algorithm 2: A exp(-t tau / (log t)^(d/4)) at t = T, or at t = 2 in the workshop version."""
    t = min(count("trials", trials, least=2), 2 if version == "workshop" else trials)
    return A * math.exp(-t * tau / math.log(t) ** (dimensions / 4))


@dataclass(frozen=True)
class LipschitzTerms:
    """The total global sensitivity of Algorithm 3 (Kusner et al. 2015, Theorem 7), term by term.

    Differs. The published record term is min(g*, L/lambda_min)/m. A model has norm up to 1/lambda_min, so a score lies
    within L/lambda_min of the score at the zero model, and two records' scores within L/lambda_min of each other only
    if they lie on the same side of it, as with the ramp (``sides`` 1). On either side, as with the normalised sigmoid,
    the term is min(g*, 2L/lambda_min)/m; where records may differ at the zero model, g*/m (``sides`` infinite).
    No mean of scores moves by more than g*. ``tolerance`` bounds the distance of a trained model from its minimiser.

    >>> LipschitzTerms("safe", 100, 1.0, 2.0, 4.0, 5.0).record, LipschitzTerms("icml", 100, 1.0, 2.0, 4.0, 5.0).record
    (0.005, 0.0025)
    """

    version: str
    records: int
    lipschitz: float
    largest: float  # g*
    least: float  # lambda_min
    most: float  # lambda_max
    tolerance: float = 0.0
    sides: float = 2

    def __post_init__(self) -> None:
        if choice("constants", self.version, VERSIONS) == "workshop":
            raise BadInput("the workshop version has no Algorithm 3; use constants='safe' or 'icml'")
        positive("lipschitz", self.lipschitz)
        positive("the smallest candidate", self.least)
        if real("tolerance", self.tolerance) < 0:
            raise BadInput(f"tolerance must not be negative, got tolerance={self.tolerance!r}")

    @property
    def record(self) -> float:
        sides = 1 if self.version == "icml" else self.sides
        return min(self.largest, sides * self.lipschitz / self.least) / self.records

    @property
    def proven(self) -> bool:
        """Whether the record term is large enough for every data set."""
        return self.version == "safe" or self.sides <= 1 or self.largest <= self.lipschitz / self.least

    @property
    def path(self) -> float:
        return (self.most - self.least) * self.lipschitz / (self.most * self.least)

    @property
    def total(self) -> float:
        whole = self.record + self.path + 2 * self.lipschitz * self.tolerance
        whole = min(whole, self.largest) if self.version == "safe" else whole
        return whole + self.largest * 2.0**-31  # both means are rounded to 2^32 steps


def prior_draws(kernel: Kernel, points: Array) -> Array:
    """Draws of f from the public prior, (candidates, draws), over at most 400 of the candidates; always the same."""
    rng = np.random.default_rng(0)
    C = points if len(points) <= SHOWN else points[rng.choice(len(points), SHOWN, replace=False)]
    with one_thread():
        values, vectors = np.linalg.eigh(kernel(C, C))
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ rng.normal(size=(len(C), DRAWS)))


def choice_regret(f: Array, scale: float) -> tuple[float, float]:
    """Expected regret of the exponential mechanism with this Gumbel scale, and of a uniform choice, on draws of f.

    The best case: the mechanism sees f itself.
    """
    below = f.max(axis=0) - f
    weights = np.exp(-below / scale)
    chosen = (weights * below).sum(axis=0) / weights.sum(axis=0)
    return float(chosen.mean()), float(below.mean())


def prior_regret(kernel: Kernel, points: Array, scale: float) -> tuple[float, float]:
    """``choice_regret`` on draws from the prior, in prior sd."""
    return choice_regret(prior_draws(kernel, points), scale)


def utility(statement: str, about: str, bound: float, delta: float) -> Json:
    """A utility theorem as data and as a sentence; ``bound`` in the units of the objective."""
    sure = 1 - (delta + MISS)
    sentence = f"{about} by at most {bound:.4g}, with probability at least {sure:.4g}"
    return {"statement": statement, "bound": bound, "probability": sure, "sentence": sentence}
