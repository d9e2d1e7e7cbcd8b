"""How large a private training a budget that is partly spent still covers."""

from __future__ import annotations

from collections.abc import Callable

from tacit.privacy.divergences import Divergences
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.profiles import epsilon_at
from tacit.training.search_cost import GIVEN_UP, SearchCost

SHARE = 0.5  # of the budget's mu: what one of about 40 runs may cost is a little more
STEPS, ROUGHLY = 5, 0.98


def largest_training(takes: Callable[[Guarantee], bool], budget: Budget, runs: float = 1) -> float:
    """The epsilon, at the budget's delta, of about the largest training of so many runs that is taken; 0 if none is.

    Not more than that: a few are tried, by what they cost.

    >>> from tacit.privacy.any_filter import AnyFilter
    >>> from tacit.privacy.filters import NOTHING
    >>> budget = Budget.approximate(3.0, 1e-6)
    >>> terms = AnyFilter.over(budget)
    >>> 1.5 < largest_training(lambda g: terms.admits(NOTHING, terms.cost(g), g), budget) <= 3.0
    True
    """
    low, high, found = 0.0, budget.amount, 0.0
    for step in range(STEPS):
        tried = high if step == 0 else (low + high) / 2
        guarantee = _train(Budget.approximate(tried, budget.delta), runs)
        if guarantee.budget is not None and guarantee.budget.amount <= budget.amount and takes(guarantee):
            low, found = tried, guarantee.budget.amount
            if step == 0:
                break
        else:
            high = tried
    return ROUGHLY * found


def _train(budget: Budget, runs: float) -> Guarantee:
    """A training whose runs cost about what this budget gives them, without the search for how much that is."""
    cost = SearchCost.of(budget, runs)
    mu = SHARE * budget.mu() if cost.searches else cost.base.mu
    profile, delta = cost.profile(mu), budget.delta
    epsilon = epsilon_at(profile, delta * (1 - 0.02))
    finer = Divergences.of(profile, GIVEN_UP * delta, cost.wrong)
    return Guarantee(Budget("approximate", epsilon, delta), divergences=finer)
