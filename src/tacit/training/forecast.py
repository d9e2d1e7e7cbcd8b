"""What a private training would cost and give, before anything is spent: one run, and what a search would leave.

Only public numbers go in: how many records there are, the budget, and about how many models one can afford to train.
All costs are those of the ``SearchCost`` by which ``tacit.train`` pays.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

from tacit.data.split import part_sizes
from tacit.errors import count
from tacit.files import Json
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.run_laws import chance_of_top
from tacit.privacy.units import TABLE
from tacit.training.search_cost import SearchCost
from tacit.training.train import LOUD, ONE_RUN, RUNS, SHARES

TOP = 0.05  # of the space: what counts as a good setting


@dataclass(frozen=True)
class TrainingForecast:
    """What ``tacit train`` would do with a table of so many records: one run; and a search, if asked for."""

    budget: str
    records: int
    run_epsilon: float  # of one training, at the budget's delta
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
    cost: SearchCost = field(repr=False)  # of one run

    def __str__(self) -> str:
        search = (
            f"--runs {self.runs:.0f} would leave each model epsilon {self.search_epsilon:.3g}, {self.search_kept:.2f} "
            f"of mu (paid one by one {self.composed_epsilon:.3g}), and noise of {self.choice_noise:.2g} on the errors "
            f"to choose by; one of the best 5% is tried with probability {self.chance:.2f}. With good defaults it "
            "seldom gains what it costs"
        )
        rest = "the rest learns the columns" if self.cost.columns else "the columns are declared"
        rows = [
            ("one model", f"epsilon {self.run_epsilon:.3g}: {self.kept:.2f} of mu; {rest}"),
            ("score", f"noise of standard deviation {self.score_noise:.2g} on an error"),
            ("a search", search),
            ("advice", self.advice),
        ]
        head = f"Private training with {self.budget} on {self.records} records"
        return "\n".join([head, *(f"  {name:15} {text}" for name, text in rows)])

    @property
    def guarantee(self) -> Guarantee:
        """What the advice would be charged as."""
        return Guarantee(self.cost.budget, TABLE, divergences=self.cost.divergences)

    def to_json(self) -> Json:
        return {name: value for name, value in asdict(self).items() if name != "cost"}


def forecast(*, records: int, budget: Budget, runs: float = RUNS, declared: bool = False) -> TrainingForecast:
    """What ``tacit.train`` would cost and give for this many records and this budget. Spends nothing, reads no data.

    Args:
        records: Records, or persons, of the table.
        budget: (epsilon, delta) of everything.
        runs: About how many models a search would train.
        declared: Whether a schema declares all columns and the target, so that none is learnt with noise.

    Raises:
        BadInput: The budget has no delta.

    >>> plan = forecast(records=30_000, budget=Budget.approximate(1.0, 1e-5))
    >>> round(plan.kept, 2), round(plan.search_kept, 2), round(plan.chance, 2)
    (0.95, 0.47, 0.75)
    """
    one, search = (SearchCost.of(budget, many, learns=not declared) for many in (1, runs))
    whole, law = budget.mu(), search.law
    validation, test = part_sizes(count("records", records), SHARES)[1], part_sizes(records, ONE_RUN)[2]
    score = one.score_noise(max(1, test))
    advice = f"tacit train --table FILE --target COLUMN --epsilon {budget.amount:g} --delta {budget.delta:g} "
    advice += "--out release"
    if score > LOUD:
        wanted = math.ceil(records * score / LOUD)
        advice = f"not enough records: the noise would drown the score; it takes about {wanted} at this budget"
    return TrainingForecast(
        str(budget),
        records,
        Budget.gdp(one.base.mu).epsilon(budget.delta),
        one.base.mu / whole,
        score,
        law.mean,
        law.largest or 1,
        chance_of_top(law, TOP),
        Budget.gdp(search.base.mu).epsilon(budget.delta),
        search.base.mu / whole,
        Budget.gdp(whole / math.sqrt(law.mean)).epsilon(budget.delta),
        search.choice_noise(max(1, validation)),
        advice,
        one,
    )
