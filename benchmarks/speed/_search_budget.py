"""From a total budget to what each run may cost, and to the noise of each setting; which law of the number of runs.

total     (epsilon, delta) of the whole search, release included
mu        of one run, as Gaussian differential privacy
keep      mu of one run over the mu that a single run, without a search, would have
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq

from tacit.errors import BadInput, GuaranteeError, count, probability, real
from tacit.privacy.guarantee import Budget
from tacit.privacy.profiles import GaussianProfile, Profile
from tacit.privacy.run_laws import Capped, NegativeBinomial, RunLaw, chance_of_top
from tacit.privacy.selection import SelectedProfile

SHAPES = (0.5, 1.0, 2.0, 4.0)  # eta: what a law of K is chosen from
CAP = 3.0  # largest number of runs over the mean of the law before it is capped
LEAST_SCALE, LARGEST_SCALE = 1e-6, 1e2


def base_for(total: Budget, law: RunLaw, *, family: Callable[[float], Profile] = GaussianProfile) -> float:
    """The largest scale of ``family``, to one part in 1e6, whose selection fits ``total``: by default, mu of a run.

    Guarantee: the best of K runs, each with profile ``family(scale)``, is (epsilon, delta)-DP.
    Edges: ``family`` must rise with its scale; a total that no scale above 1e-6 fits raises GuaranteeError.

    >>> from tacit.privacy.run_laws import geometric
    >>> total = Budget.approximate(1.0, 1e-5)
    >>> mu = base_for(total, geometric(40.0))
    >>> round(mu, 3), round(Budget.gdp(mu).epsilon(1e-5), 3)
    (0.149, 0.526)
    """
    epsilon, delta = _pair(total)

    def excess(log_scale: float) -> float:
        return math.log(_worst(family(math.exp(log_scale)), law, epsilon) / delta)

    low = high = math.log(0.1)
    while excess(low) > 0:
        low, high = low - 1.0, low
        if low < math.log(LEAST_SCALE):
            raise GuaranteeError(
                f"a search of {law.mean:.3g} expected runs does not fit {total}, however noisy its runs: take fewer "
                "runs, or raise epsilon or delta"
            )
    while high == low or (excess(high) <= 0 and high < math.log(LARGEST_SCALE)):
        low, high = high, high + 1.0
    root = high if excess(high) <= 0 else brentq(excess, low, high, xtol=3e-7)
    while excess(root) > 0:
        root -= 3e-7
    return math.exp(root)


@dataclass(frozen=True)
class LawChoice:
    """A law of the number of runs, what a run may cost under it, and the chance that it meets a good setting."""

    law: RunLaw
    mean: float
    largest: int | None
    mu: float
    keep: float
    chance: float


def choose_law(
    total: Budget, *, runs: float, cap: int | None = None, top: float = 0.05, keep: float = 0.5
) -> LawChoice:
    """The law, mean and cap with the best chance of a top-``top`` model for this budget and this much computing.

    More runs meet a good setting more surely and leave less to each run. What is fixed here is how much less: a run
    keeps at least ``keep`` of the mu that a single run would have under ``total``, so its noise is at most 1 / keep
    times as large. Among laws with a mean of at most ``runs`` and, if given, at most ``cap`` runs ever, the best chance
    wins.
    Differs: laws are negative binomial with eta 0.5, 1, 2 and 4, each capped at three times its mean, or at ``cap`` if
        that is less; eta of 0 and less draws tiny K too often, and Poisson laws cost far more.

    >>> best = choose_law(Budget.approximate(1.0, 1e-5), runs=40)
    >>> best.law.law.eta, round(best.mean), round(best.chance, 2)
    (2.0, 40, 0.76)
    """
    epsilon, delta = _pair(total)
    if not real("runs", runs) > 1:
        raise BadInput(f"runs must be above 1, got runs={runs!r}: a single run needs no search")
    cap = None if cap is None else count("cap", cap, least=2)
    single = GaussianProfile(total.mu())
    base = GaussianProfile(single.mu * probability("keep", keep))
    best: tuple[float, RunLaw] | None = None
    for eta in SHAPES:
        law = _largest_mean(eta, runs, cap, lambda law: _worst(base, law, epsilon) <= delta)
        if law is not None and (best is None or chance_of_top(law, top) > best[0]):
            best = chance_of_top(law, top), law
    if best is None:
        raise GuaranteeError(f"no search leaves its runs {keep:g} of the mu of a single run under {total}: lower keep")
    mu = base_for(total, best[1])
    return LawChoice(best[1], best[1].mean, best[1].largest, mu, mu / single.mu, best[0])


def _pair(total: Budget) -> tuple[float, float]:
    if total.notion != "approximate":
        raise GuaranteeError(
            f"a search is accounted for as (epsilon, delta), got a {total.notion} budget: give Budget.approximate"
        )
    return total.amount, total.delta


def _worst(base: Profile, law: RunLaw, epsilon: float) -> float:
    """Delta at epsilon of the selection, the larger of both directions."""
    selected = SelectedProfile(base, law)
    forward = float(selected.delta(epsilon))
    return forward if selected.reversed is selected else max(forward, float(selected.reversed.delta(epsilon)))


def _largest_mean(eta: float, runs: float, cap: int | None, fits: Callable[[RunLaw], bool]) -> RunLaw | None:
    """The capped law of this shape with the largest mean that is at most ``runs`` and fits; None if none does."""

    def capped_law(mean: float) -> RunLaw:
        most = math.ceil(CAP * mean)
        return Capped(NegativeBinomial.with_mean(mean, eta), most if cap is None else min(most, cap))

    def good(mean: float) -> bool:
        law = capped_law(mean)
        return law.mean <= runs and fits(law)

    low, high = 1.05, 3 * runs if cap is None else 100 * runs
    if not good(low):
        return None
    while high > low * 1.01:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if good(middle) else (low, middle)
    return capped_law(low)
