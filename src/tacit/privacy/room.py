"""What a ledger has left, in words a person can use: what each kind of release could still cost.

An amount of a currency means nothing to who wants to tune a model. So what is left is stated as the largest release of
each kind that would be taken now, and how many more there could be like the last ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING

from tacit.errors import TacitError
from tacit.files import Json
from tacit.privacy.any_filter import AnyFilter, largest
from tacit.privacy.filters import Cost, Filter
from tacit.privacy.guarantee import LETTER, QUOTED, Budget, Guarantee

if TYPE_CHECKING:
    from tacit.privacy.ledger.chain import Entry

Terms = Filter | AnyFilter

TUNING, POOL = "a tuning", "a pool"  # Gaussian noise; a choice of pure epsilon
WHY = (
    "Spent and left need not add up to the budget: independent noises add up like the sides of a right angle, so a "
    "release of epsilon 1 out of 3 leaves about 2.7, not 2."
)
MANY = 10**6
LAST = 3  # kinds of charges that are counted


@dataclass(frozen=True, slots=True)
class More:
    """How many more charges like one that was made."""

    purpose: str
    epsilon: float
    count: int


@dataclass(frozen=True, slots=True)
class Room:
    """What a ledger has left. ``largest`` has the epsilon of the largest release of each kind, at ``delta``."""

    largest: dict[str, float]
    more: tuple[More, ...]
    delta: float

    def with_kind(self, kind: str, epsilon: float) -> Room:
        return replace(self, largest={**self.largest, kind: epsilon})

    def __str__(self) -> str:
        lines = [f"{m.count} more like {m.purpose!r} (epsilon {m.epsilon:.3g})" for m in self.more if m.count]
        lines += [f"{kind} at epsilon {round_down(epsilon)}" for kind, epsilon in self.largest.items() if epsilon > 0]
        return f"enough for {', or '.join(lines)}" if lines else "not enough for any release"

    def to_json(self) -> Json:
        more = [{"purpose": m.purpose, "epsilon": m.epsilon, "count": m.count} for m in self.more]
        return {"largest": self.largest, "more": more, "delta": self.delta, "words": str(self)}


def measure_room(terms: Terms, entries: Sequence[Entry]) -> Room:
    """What is left after these entries."""
    spent = entries[-1].spent if entries else Cost(0.0)
    kinds: dict[str, More] = {}
    for entry in reversed([e for e in entries if e.kind == "charge"]):
        name = read_kind(entry.purpose)
        if len(kinds) < LAST and name not in kinds and entry.guarantee is not None:
            epsilon = (entry.guarantee.quoted() or (0.0, 0.0))[0]
            kinds[name] = More(name, epsilon, count_more(terms, spent, entry.cost))
    return Room(_largest_of_each(terms, spent), tuple(kinds.values()), terms.budget.delta or QUOTED)


def _largest_of_each(terms: Terms, spent: Cost) -> dict[str, float]:
    """Of a tuning, by its epsilon at delta, and of a pool."""
    delta = terms.budget.delta or QUOTED
    result = {} if terms.budget.notion == "pure" else {TUNING: largest_mu(terms, spent)}
    result = {kind: Budget.gdp(mu).epsilon(delta) if mu else 0.0 for kind, mu in result.items()}
    return {**result, POOL: largest_of(terms, spent, Budget.pure, 2 * terms.budget.epsilon(delta) + 1)}


def largest_mu(terms: Terms, spent: Cost) -> float:
    """The mu of the largest Gaussian release that is admitted now; 0 if none is."""
    return largest_of(terms, spent, Budget.gdp, 2 * terms.budget.mu())


def largest_of(terms: Terms, spent: Cost, make: Callable[[float], Budget], high: float) -> float:
    """The amount of the largest release of a notion that is admitted now; 0 if none is."""
    return largest(lambda amount: fits(terms, spent, Guarantee(make(amount))), high)


def fits(terms: Terms, spent: Cost, guarantee: Guarantee) -> bool:
    """Whether a release would be admitted now; False also where it cannot be counted."""
    try:
        return terms.admits(spent, terms.cost(guarantee), guarantee)
    except TacitError:
        return False


def foresee(name: str, terms: Terms, spent: Cost, guarantee: Guarantee) -> str:
    """What a charge would do to a ledger, in words."""
    if not fits(terms, spent, guarantee):
        now = Room(_largest_of_each(terms, spent), (), terms.budget.delta or QUOTED)
        return f"ledger {name!r} would refuse it: it has {now}"
    after = Room(_largest_of_each(terms, spent.plus(terms.cost(guarantee))), (), terms.budget.delta or QUOTED)
    return f"ledger {name!r} would take it, and would then have {after}"


def count_more(terms: Terms, spent: Cost, cost: Cost) -> int:
    """How many more charges of one cost are admitted, up to a million."""
    low, high = 0, MANY + 1
    while high - low > 1:
        n = (low + high) // 2
        low, high = (n, high) if terms.holds(spent.plus(cost.times(n))) else (low, n)
    return low


def shares_used(terms: Terms, costs: Sequence[Cost]) -> list[float]:
    """The share of the capacity that each charge used, in the currency of which most is left."""
    shares = [
        [amount / whole if whole else 1.0 for amount, whole in zip(part, limit, strict=True) if whole or amount]
        for cost in costs
        for part, limit in zip(cost.parts, terms.capacity.parts, strict=True)
    ]
    filters = len(terms.capacity.parts)
    by_filter = [[max(each, default=0.0) for each in shares[k::filters]] for k in range(filters)]
    return min(by_filter, key=sum)


def read_kind(purpose: str) -> str:
    """The word by which a purpose begins: what kind of call paid.

    >>> read_kind("tune 79fc1843b9f74e4a: 12 observations"), read_kind("")
    ('tune', 'a charge')
    """
    match = re.match(r"\w[\w-]*", purpose)
    return match[0] if match else "a charge"


def round_down(epsilon: float) -> str:
    """An epsilon in three digits, none larger than it is, so that what is read here is admitted.

    >>> round_down(2.7789), round_down(0.05999), round_down(1.0)
    ('2.77', '0.0599', '1')
    """
    exact = Decimal(epsilon * (1 + 5e-10))  # a ledger takes as much
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 2), ROUND_DOWN)):g}"


def refuse(name: str, terms: Terms, spent: Cost, cost: Cost, guarantee: Guarantee) -> str:
    """The budget does not cover it: how much it needs, how much there is, and what would be taken now."""
    now = str(Room(_largest_of_each(terms, spent), (), terms.budget.delta or QUOTED))
    if isinstance(terms, AnyFilter):
        return f"{_refuse_any(name, terms, spent, guarantee)}, {now}. Nothing was released."
    limit, whole = terms.capacity, terms.budget
    word, at = LETTER[whole.notion], ""
    if terms.admits(Cost(spent.amount), Cost(cost.amount)):  # only the delta is short
        word, needs, left, of = "delta", cost.delta, limit.delta - spent.delta, limit.delta
    else:
        needs, left = terms.to_budget(Cost(cost.amount)).amount, terms.remaining(spent).amount
        of, at = whole.amount, f" at delta {terms.own:g}" if terms.composition != "basic" else ""
        at = at if whole.notion == "approximate" else ""
    dear = guarantee.notion == "pure" and terms.composition != "basic"
    digits = next((d for d in range(3, 17) if f"{needs:.{d}g}" != f"{left:.{d}g}"), 17)
    return (
        f"This release needs {word} {needs:.{digits}g}{at}; ledger {name!r} has {max(0.0, left):.{digits}g} of "
        f"{of:.{digits}g} left, {now}. Nothing was released."
        + (f" (A pure epsilon is dear where charges compose by {terms.composition}.)" * dear)
    )


def _refuse_any(name: str, terms: AnyFilter, spent: Cost, guarantee: Guarantee) -> str:
    asked, whole = guarantee.budget, terms.budget
    assert asked is not None
    if asked.notion == "approximate" and guarantee.divergences is None:
        result = max(delta - used for (_, delta), (_, used) in zip(terms.capacity.parts, _fill_up(spent), strict=True))
        if asked.delta > result:
            return (
                f"This release has a delta of its own, {asked.delta:g}, and ledger {name!r} keeps "
                f"{max(0.0, result):.3g} of its {whole.delta:g} for such releases: ask for a "
                "delta that is smaller. Of other kinds it has left"
            )
    epsilon, delta = guarantee.quoted() or (0.0, 0.0)
    at = f" at delta {delta:g}" if delta else ""
    if guarantee.divergences is not None:
        return f"This release needs epsilon {epsilon:.3g}{at}, more than ledger {name!r} has left of {whole.amount:.3g}"
    left = largest_of(terms, spent, Budget.pure, 2 * whole.amount) if asked.notion == "pure" else None
    left = terms.remaining(spent).amount if left is None else left
    what = "a pure epsilon" if asked.notion == "pure" else "Gaussian noise"
    return (
        f"This release needs epsilon {epsilon:.3g}{at}; ledger {name!r} has {round_down(left)} of {whole.amount:.3g} "
        f"left for {what}"
    )


def _fill_up(spent: Cost) -> tuple[tuple[float, float], ...]:
    return (spent.parts + ((0.0, 0.0),) * 3)[:3]
