"""Composition: what several releases cost together when it is fixed in advance, and how to share a budget among them.

What a ledger holds, where each release may depend on earlier ones, is in tacit.privacy.filters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tacit.errors import BadInput, GuaranteeError, count, probability
from tacit.privacy import conversions as c
from tacit.privacy.filters import Cost, Filter
from tacit.privacy.guarantee import Budget, Guarantee


def compose(guarantees: Iterable[Guarantee], *, delta: float | None = None) -> Guarantee:
    """The guarantee of several releases taken together, whose parameters were fixed in advance.

    All pure stays pure; Gaussian and pure become GDP; with zCDP among them, zCDP. With approximate ones among them,
    ``delta`` is the total delta to state; what the deltas do not use converts the rest.
    Proof: docs/proofs/ledger-filters.md.

    >>> g = Guarantee(Budget.gdp(0.3))
    >>> round(compose([g] * 4).budget.amount, 12)
    0.6
    """
    parts = list(guarantees)
    if not parts:
        raise BadInput("compose needs at least one guarantee, got none")
    if any(g.budget is None for g in parts):
        return Guarantee.none("one of the composed releases has no guarantee", parts[0].unit)
    units = {g.unit for g in parts}
    if len(units) > 1:
        raise GuaranteeError(f"guarantees for different units of privacy do not compose: {', '.join(sorted(units))}")
    budgets = [g.budget for g in parts if g.budget]
    notions = {b.notion for b in budgets}
    source = "standard composition of: " + "; ".join(dict.fromkeys(g.source for g in parts))
    assumptions = tuple(dict.fromkeys(a for g in parts for a in g.assumptions))
    if "approximate" in notions:
        total = _with_deltas(parts, budgets, delta)
    else:
        f = Filter.over(next(b for n in ("zcdp", "gdp", "pure") for b in budgets if b.notion == n))
        total = f.to_budget(Cost(math.fsum(f.cost(g).amount for g in parts)))
    premises = tuple(dict.fromkeys(p for g in parts for p in g.premises))
    return Guarantee(total, parts[0].unit, assumptions, source, parts[0].delta, premises)


def _with_deltas(parts: list[Guarantee], budgets: list[Budget], delta: float | None) -> Budget:
    """(epsilon, delta) of a mixture: the better of adding epsilons and of passing through GDP or zCDP."""
    used = math.fsum(b.delta for b in budgets)
    plain = all(b.notion in ("pure", "approximate") for b in budgets)
    delta = used if delta is None and plain else delta
    if delta is None:
        raise BadInput(
            "composing approximate with GDP or zCDP guarantees needs the total delta to state: compose(..., delta=...)"
        )
    rest = probability("delta", delta) - used
    if rest < 0 or (rest == 0 and not plain):
        raise GuaranteeError(f"the deltas alone add up to {used:g}, which leaves nothing of delta={delta:g}")
    candidates = [math.fsum(b.amount for b in budgets)] if plain else []
    if rest > 0:
        for composition in ("zcdp",) if any(b.notion == "zcdp" for b in budgets) else ("gdp", "zcdp"):
            f = Filter(Budget("approximate", 1.0, delta), composition, used or delta / 2)
            amount = math.fsum(f.cost(g).amount for g in parts)
            candidates.append(
                c.gdp_epsilon(math.sqrt(amount), rest) if composition == "gdp" else c.zcdp_epsilon(amount, rest)
            )
    return Budget("approximate", min(candidates), delta)


def split(budget: Budget, among: int) -> Budget:
    """The equal share of each of ``among`` releases that together use up the budget.

    An (epsilon, delta) budget is shared as the GDP budget it is equivalent to, which suits Gaussian noise.

    >>> split(Budget.gdp(1.0), 4).amount
    0.5
    """
    among = count("among", among)
    match budget.notion:
        case "pure":
            return Budget.pure(budget.amount / among)
        case "zcdp":
            return Budget.zcdp(budget.amount / among)
        case _:
            return Budget.gdp(budget.mu() / math.sqrt(among))
