"""What a private training would give, before anything is spent: one run, and what a search would cost and seldom gain.

Only public numbers go in: how many records there are, the budget, and about how many models one can afford to train.
All costs are those that ``tacit.train`` computes itself (``SearchCost``).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from tacit.errors import GuaranteeError, count
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.run_laws import chance_of_top
from tacit.privacy.units import TABLE
from tacit.training.baseline import divide_mu
from tacit.training.search_cost import COLUMNS, SearchCost, make_law
from tacit.training.train import LOUD, ONE_RUN, SHARES

TOP = 0.05  # of the space: what counts as a good setting


@dataclass(frozen=True)
class TrainingPlan:
    """What ``tacit train`` would do with a table of so many records: one run; and a search, if asked for."""

    budget: str
    records: int
    run_epsilon: float  # of one training, at the budget's delta, columns learnt beside it
    kept: float  # share of the budget's mu that it has
    score_noise: float  # standard deviation on a test error
    runs: float  # of a search
    most_runs: int
    chance: float  # that a setting among the best TOP is tried
    search_epsilon: float  # of one run of the search
    search_kept: float
    composed_epsilon: float  # of one run, if all were paid for one by one
    choice_noise: float  # standard deviation on a validation error
    advice: str
    promise: Budget = field(repr=False)

    def __str__(self) -> str:
        search = (
            f"--runs {self.runs:.0f} would leave each model epsilon {self.search_epsilon:.3g}, {self.search_kept:.2f} "
            f"of mu (paid one by one {self.composed_epsilon:.3g}), and noise of {self.choice_noise:.2g} on the errors "
            f"to choose by; one of the best 5% is tried with probability {self.chance:.2f}. With good defaults it "
            "seldom gains what it costs"
        )
        rows = [
            ("one model", f"epsilon {self.run_epsilon:.3g}: {self.kept:.2f} of mu; the rest learns the columns"),
            ("score", f"noise of standard deviation {self.score_noise:.2g} on an error"),
            ("a search", search),
            ("advice", self.advice),
        ]
        head = f"Private training with {self.budget} on {self.records} records"
        return "\n".join([head, *(f"  {name:15} {text}" for name, text in rows)])

    @property
    def guarantee(self) -> Guarantee:
        """What the advice would be charged as, with columns that are learnt."""
        return Guarantee(self.promise, TABLE, divergences=_cost(self.promise, 1).divergences)

    def to_json(self) -> dict[str, Any]:
        made = asdict(self)
        return {k: v for k, v in made.items() if k != "promise"}


def plan_training(*, records: int, budget: Budget, runs: float = 40) -> TrainingPlan:
    """What ``tacit.train`` would give for this many records and this budget. Spends nothing, reads no data.

    Args:
        records: Records, or persons, of the table.
        budget: (epsilon, delta) of everything.
        runs: About how many models a search would train.

    Raises:
        GuaranteeError: The budget has no delta.

    >>> plan = plan_training(records=30_000, budget=Budget.approximate(1.0, 1e-5))
    >>> round(plan.kept, 2), round(plan.search_kept, 2), round(plan.chance, 2)
    (0.95, 0.47, 0.75)
    """
    if budget.notion != "approximate":
        raise GuaranteeError(f"a training is accounted for as (epsilon, delta), got a {budget.notion} budget")
    one, search, whole = _cost(budget, 1).base.mu, _cost(budget, runs), budget.mu()
    many, law = search.base.mu, search.law
    test, validation = (max(1, round(count("records", records) * s)) for s in (ONE_RUN[2], SHARES[1]))
    score = 1 / (test * divide_mu(whole)[0])
    advice = f"tacit train --table FILE --target COLUMN --epsilon {budget.amount:g} --delta {budget.delta:g} "
    advice += "--out release"
    if score > LOUD:
        wanted = math.ceil(records * score / LOUD)
        advice = f"not enough records: the noise would drown the score; it takes about {wanted} at this budget"
    return TrainingPlan(
        str(budget),
        records,
        Budget.gdp(one).epsilon(budget.delta),
        one / whole,
        score,
        law.mean,
        law.largest or 1,
        chance_of_top(law, TOP),
        Budget.gdp(many).epsilon(budget.delta),
        many / whole,
        Budget.gdp(whole / math.sqrt(law.mean)).epsilon(budget.delta),
        1 / (validation * many),
        advice,
        budget,
    )


def _cost(budget: Budget, runs: float) -> SearchCost:
    return SearchCost(budget, make_law(runs), COLUMNS * budget.mu())
