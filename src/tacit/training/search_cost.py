"""What a whole private training costs: columns learnt with noise, then one run, or the best of a secret number.

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

from tacit.errors import BadInput, GuaranteeError, positive
from tacit.files import Json
from tacit.privacy.composed_profile import ComposedProfile
from tacit.privacy.divergences import Divergences
from tacit.privacy.guarantee import Budget
from tacit.privacy.profiles import GaussianProfile, Profile, epsilon_at, tabulate
from tacit.privacy.published_selection import renyi_selection
from tacit.privacy.run_laws import Capped, Fixed, NegativeBinomial, RunLaw
from tacit.privacy.selection import select
from tacit.training.trainer import Base

FLOOR, LOST = 1e-3, 1e-2  # shares of delta: for the floors of all runs, for lone words
SHAPE, CAP = 2.0, 3.0  # of the law of the number of runs: its eta, and its cap in means
GIVEN_UP = 7e-3  # share of delta that divergences give up: a little above what the floors make of a profile
ONE = Fixed(1)
COLUMNS = 0.3  # mu of the columns, as a share of the budget's own mu
COUNTS = 0.1  # share of the squared mu of a test row that the counts of the baseline have, beside the score


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

    @classmethod
    def of(cls, budget: Budget, runs: float, *, learns: bool = True) -> SearchCost:
        """Of one run, or about so many; with columns that are learnt, or all declared."""
        return cls(budget, make_law(runs), COLUMNS * budget.mu() if learns else 0.0)

    @property
    def test_mu(self) -> tuple[float, float]:
        """mu of the score, and of the baseline's counts: together, as Gaussians compose, that of the budget.

        >>> score, counts = SearchCost.of(Budget.approximate(1.0, 1e-5), 1).test_mu
        >>> math.hypot(score, counts) <= Budget.approximate(1.0, 1e-5).mu() * (1 + 1e-15)
        True
        """
        mu = self.budget.mu()
        return mu * math.sqrt(1 - COUNTS), mu * math.sqrt(COUNTS)

    def score_noise(self, losses: int) -> float:
        """Standard deviation of the noise on the released score of so many losses, in widths of a loss."""
        return 1 / (losses * self.test_mu[0])

    def choice_noise(self, losses: int) -> float:
        """The same of the score by which a run is chosen."""
        return 1 / (losses * self.base.mu)

    @property
    def missed(self) -> float:
        """The chance that a lone word comes out of a column, on either of two neighbours."""
        return LOST * self.budget.delta / (1 + math.exp(self.budget.amount)) / 2

    @property
    def wrong(self) -> float:
        """The total variation by which lone words may change what comes out."""
        return LOST * self.budget.delta / (1 + math.exp(self.budget.amount))

    @property
    def searches(self) -> bool:
        """Whether there is more than one run to choose from."""
        return self.law != ONE

    @property
    def floor(self) -> float:
        return FLOOR * self.budget.delta / self.law.mean

    def profile(self, mu: float) -> Profile:
        """The profile of the whole if one run is mu-GDP, or below that raised to the floor. One run chooses nothing."""
        table = tabulate(GaussianProfile(mu), floor=self.floor)
        whole = select(table, self.law) if self.searches else table
        if not self.columns:
            return whole
        after = tabulate(whole, floor=5 * FLOOR * self.budget.delta) if self.searches else table
        return ComposedProfile(self.columns, after)

    def epsilon(self, mu: float) -> float:
        """Epsilon of the search at the budget's delta, less what lone words may take of it."""
        return epsilon_at(self.profile(mu), self.budget.delta * (1 - LOST))

    @property
    def divergences(self) -> Divergences:
        """What the whole search tells, for a ledger that counts more than one point of its profile."""
        return _divergences(self)

    @property
    def base(self) -> Base:
        """The most that one run may cost, to one part in a thousand."""
        return _largest_base(self)

    def to_json(self) -> Json:
        """What a run may cost, how many are expected, and what the same search would cost by other ways of counting."""
        mu, delta, law = self.base.mu, self.budget.delta, self.law
        if not self.searches:
            return {"base_mu": mu, "columns_mu": self.columns, "expected_runs": law.mean, "epsilons": {}}
        composed = math.hypot(self.columns, mu * math.sqrt(law.mean))
        epsilons = {"composition": Budget.gdp(composed).epsilon(delta)}
        inner = getattr(law, "law", law)
        if isinstance(inner, NegativeBinomial):
            epsilons["Renyi"] = epsilon_at(renyi_selection(GaussianProfile(mu).curve(), inner), delta)
        return {"base_mu": mu, "columns_mu": self.columns, "expected_runs": law.mean, "epsilons": epsilons}


def make_law(runs: float) -> Capped | Fixed:
    """One run; or about ``runs`` runs, and never more than three times as many."""
    if runs == 1:
        return ONE
    return Capped(NegativeBinomial.with_mean(positive("runs", runs), SHAPE), max(2, round(CAP * runs)))


@lru_cache(maxsize=64)
def _divergences(cost: SearchCost) -> Divergences:
    return Divergences.of(cost.profile(cost.base.mu), GIVEN_UP * cost.budget.delta, cost.wrong)


@lru_cache(maxsize=64)
def _largest_base(cost: SearchCost) -> Base:
    high = cost.budget.mu()
    low = high / 1000
    if cost.epsilon(low) > cost.budget.amount:
        raise GuaranteeError(
            f"({cost.budget}) leaves nothing for the runs: about {cost.law.mean:.3g} are expected. Use a larger "
            "epsilon or fewer runs. Nothing was spent"
        )
    while high - low > 1e-3 * low:
        mu = math.sqrt(low * high)
        low, high = (mu, high) if cost.epsilon(mu) <= cost.budget.amount else (low, mu)
    return Base(low, tabulate(GaussianProfile(low), floor=cost.floor))
