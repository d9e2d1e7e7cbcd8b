"""What a private training would give, before anything is spent: which law of its runs, what each may cost, what noise.

Only public numbers go in: how many records there are, the budget, and about how many models one can afford to train.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from tacit.errors import count
from tacit.privacy.guarantee import Budget
from tacit.privacy.selection_budget import choose_law
from tacit.trainers.train import LOUD, SHARES

TOP = 0.05  # of the space: what counts as a good setting


@dataclass(frozen=True)
class TrainingPlan:
    """What ``tacit train`` would do with a table of so many records."""

    budget: str
    records: int
    runs: float
    most_runs: int
    chance: float  # that a setting among the best TOP is tried
    run_epsilon: float  # of one run, at the budget's delta
    composed_epsilon: float  # of one run, if all were paid for one by one
    score_noise: float  # standard deviation on a validation error
    advice: str

    def __str__(self) -> str:
        rows = [
            ("models trained", f"about {self.runs:.0f}, never more than {self.most_runs}; the number is secret"),
            ("a good setting", f"one of the best 5% is tried with probability {self.chance:.2f}"),
            ("each model", f"epsilon {self.run_epsilon:.3g}; paid one by one it would be {self.composed_epsilon:.3g}"),
            ("validation", f"noise of standard deviation {self.score_noise:.2g} on an error"),
            ("advice", self.advice),
        ]
        head = f"Private training with {self.budget} on {self.records} records, its search included"
        return "\n".join([head, *(f"  {name:15} {text}" for name, text in rows)])

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def plan_training(*, records: int, budget: Budget, runs: float = 40) -> TrainingPlan:
    """What ``tacit.train`` would give for this many records and this budget. Spends nothing, reads no data.

    The law is the one with the best chance of a setting among the best 5%, of those with at most ``runs`` expected.

    >>> plan = plan_training(records=30_000, budget=Budget.approximate(1.0, 1e-5))
    >>> round(plan.chance, 2), round(plan.run_epsilon, 2), round(plan.composed_epsilon, 2)
    (0.76, 0.48, 0.13)
    """
    validation = round(count("records", records) * SHARES[1])
    chosen = choose_law(budget, runs=runs, top=TOP)
    noise = 1 / (max(validation, 1) * chosen.mu)
    share = Budget.gdp(budget.mu() / math.sqrt(chosen.mean))
    advice = f"tacit train --table FILE --target COLUMN --epsilon {budget.amount:g} --delta {budget.delta:g} "
    advice += f"--runs {chosen.mean:.0f} --out release"
    if noise > LOUD:
        wanted = math.ceil(records * noise / LOUD)
        advice = f"not enough records: the noise would drown the choice; it takes about {wanted} at this budget"
    return TrainingPlan(
        str(budget),
        records,
        chosen.mean,
        chosen.largest or math.ceil(3 * chosen.mean),
        chosen.chance,
        Budget.gdp(chosen.mu).epsilon(budget.delta),
        share.epsilon(budget.delta),
        noise,
        advice,
    )
