"""What a whole private training costs: columns learnt with noise, then the best of a secret number of runs.

    mu_c    of the columns, 0 where the schema was declared           law    of the number K of runs
    mu      of one run: its training, or its score on validation rows, whichever a record meets
    floor   what may go wrong in one run altogether, so that profiles with heavier tails than a Gaussian's fit below

A record is a training row, a validation row or a test row. A training row meets the columns and every training; a
validation row meets every score; a test row meets the released score alone. So the first is what counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tacit.errors import BadInput, GuaranteeError, positive
from tacit.privacy.bulk_noise import extra_delta
from tacit.privacy.composed_profile import ComposedProfile
from tacit.privacy.guarantee import Budget
from tacit.privacy.profiles import GaussianProfile, Profile, epsilon_at, tabulate
from tacit.privacy.published_selection import renyi_selection
from tacit.privacy.run_laws import Capped, NegativeBinomial, RunLaw
from tacit.privacy.selection import select
from tacit.trainers.trainer import Base

FLOOR, LOST, BITS = 1e-3, 1e-2, 5e-3  # shares of delta: for the floors of all runs, for lone words, for the sampler
MOST_DRAWS = 10**11  # numbers that the sampler in bulk may draw in one training
SHAPE, CAP = 2.0, 3.0  # of the law of the number of runs: its eta, and its cap in means
COLUMNS = 0.2  # mu of the columns, as a share of the budget's own mu


@dataclass(frozen=True)
class SearchCost:
    """A budget (epsilon, delta) divided: see the head of this file."""

    budget: Budget
    law: RunLaw
    columns: float  # mu_c

    def __post_init__(self) -> None:
        if self.budget.notion != "approximate":
            raise BadInput(
                f"training needs a budget with a delta, such as Budget.approximate(1.0, 1e-6), got ({self.budget})"
            )
        least = extra_delta(min(self.budget.amount, 100.0), MOST_DRAWS) / BITS
        if self.budget.delta < least:
            raise BadInput(
                f"at epsilon = {self.budget.amount:g} training needs a delta of at least {least:.1e}, to cover what "
                f"its sampler may err by, got delta = {self.budget.delta:g}. Nothing was spent"
            )

    @property
    def missed(self) -> float:
        """The chance that a lone word comes out of a column, on either of two neighbours."""
        return LOST * self.budget.delta / (1 + math.exp(self.budget.amount)) / 2

    @property
    def floor(self) -> float:
        return FLOOR * self.budget.delta / self.law.mean

    def profile(self, mu: float) -> Profile:
        """The profile of the whole search if one run is mu-GDP, or below that raised to the floor."""
        table = tabulate(GaussianProfile(mu), floor=self.floor)
        whole = select(table, self.law)
        if not self.columns:
            return whole
        return ComposedProfile(self.columns, tabulate(whole, floor=5 * FLOOR * self.budget.delta))

    def epsilon(self, mu: float) -> float:
        """Epsilon of the search at the budget's delta, less what lone words and the sampler may take of it."""
        return epsilon_at(self.profile(mu), self.budget.delta * (1 - LOST - BITS))

    @property
    def base(self) -> Base:
        """The most that one run may cost, to one part in a thousand."""
        return _largest_base(self)

    def to_json(self) -> dict[str, Any]:
        """What a run may cost, how many are expected, and what the same search would cost by other ways of counting."""
        mu, delta, law = self.base.mu, self.budget.delta, self.law
        composed = math.hypot(self.columns, mu * math.sqrt(law.mean))
        epsilons = {"composition": Budget.gdp(composed).epsilon(delta)}
        inner = getattr(law, "law", law)
        if isinstance(inner, NegativeBinomial):
            epsilons["Renyi"] = epsilon_at(renyi_selection(GaussianProfile(mu).curve(), inner), delta)
        return {"base_mu": mu, "columns_mu": self.columns, "expected_runs": law.mean, "epsilons": epsilons}


def make_law(runs: float) -> Capped:
    """About ``runs`` runs, and never more than three times as many."""
    return Capped(NegativeBinomial.with_mean(positive("runs", runs), SHAPE), max(2, round(CAP * runs)))


@lru_cache(maxsize=64)
def _largest_base(cost: SearchCost) -> Base:
    low, high = 0.0, cost.budget.mu()
    if cost.epsilon(high / 1000) > cost.budget.amount:
        raise GuaranteeError(
            f"({cost.budget}) leaves nothing for the runs: about {cost.law.mean:.3g} are expected. Use a larger "
            "epsilon or fewer runs. Nothing was spent"
        )
    low = high / 1000
    while high - low > 1e-3 * low:
        mu = math.sqrt(low * high)
        low, high = (mu, high) if cost.epsilon(mu) <= cost.budget.amount else (low, mu)
    return Base(low, tabulate(GaussianProfile(low), floor=cost.floor))
