"""tacit.plan: what each method, or a private training, would cost and give, before anything is spent."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from tacit.errors import BadInput, choice, interval, positive
from tacit.files import Json
from tacit.methods.auto import ASSUMED
from tacit.methods.forecast import Forecast, PlanInput, Preview
from tacit.notebook import DrawnInNotebooks
from tacit.planning.measured import LANDSCAPES, document
from tacit.planning.recommend import Recommendation, recommend
from tacit.planning.rows import expected_loss, forecasts, preview
from tacit.planning.sample import describe_sample
from tacit.planning.table import MOST_AMOUNT, MOST_RECORDS, format_plan
from tacit.privacy.guarantee import Budget, remarks_on
from tacit.training.registry import find_trainer, load_part

if TYPE_CHECKING:
    from tacit.training.forecast import TrainingForecast

GOALS = ("tune", "train")
LEAST_AMOUNT = 1e-6


@dataclass(frozen=True)
class Need:
    """Records at this budget, or budget at these records, for a wanted quality; None where no amount is enough."""

    records: int | None
    budget: Budget | None

    def to_json(self) -> Json:
        return {"records": self.records, "budget": self.budget.to_json() if self.budget else None}


@dataclass(frozen=True)
class Plan(DrawnInNotebooks):
    """A preview for each method, a recommendation with its reason, and what a wanted quality would need.

    ``str`` gives a table, ``to_json`` a document, ``picture`` an SVG. Losses of quality are in the units of the losses.
    """

    case: PlanInput
    assumed_spread: bool
    previews: tuple[Preview, ...]
    recommendation: Recommendation
    want: float | None = None
    needed: Mapping[str, Mapping[str, Need]] = field(default_factory=dict)  # by method and landscape

    def __getitem__(self, method: str) -> Preview:
        row = next((o for o in self.previews if o.method == method), None)
        if row is None:
            raise BadInput(f"a plan has no method {method!r}; it has {', '.join(o.method for o in self.previews)}")
        return row

    @property
    def notes(self) -> tuple[str, ...]:
        """What is suspicious in the budget itself, whatever the method; and whether fewer records would do."""
        return (*remarks_on(self.case.budget, self.case.records), *describe_sample(self.case))

    def __str__(self) -> str:
        return format_plan(self)

    def picture(self) -> str:
        """Expected loss of quality against the number of records, as an SVG that stands alone."""
        from tacit.planning.chart import chart_of

        return chart_of(self)

    def to_json(self) -> Json:
        table = {k: document()[k] for k in ("command", "commit")}
        about = {"format": "tacit.plan/1", **self.case.to_json(), "spread_assumed": self.assumed_spread}
        needed = {m: {l: n.to_json() for l, n in by.items()} for m, by in self.needed.items()}
        result = {
            **about,
            "methods": [o.to_json() for o in self.previews],
            "recommendation": self.recommendation.to_json(),
        }
        result |= {"notes": list(self.notes), "want": self.want, "needed": needed or None, "measured_by": table}
        json.dumps(result, allow_nan=False)  # one document that any reader takes
        return result


@overload
def plan(
    *,
    records: int,
    trials: int,
    dimensions: int,
    budget: Budget,
    spread: float | None = ...,
    bounds: tuple[float, float] = ...,
    candidates: int = ...,
    want: float | None = ...,
    goal: Literal["tune"] = ...,
) -> Plan: ...


@overload
def plan(
    *, records: int, budget: Budget, goal: Literal["train"], model: str = ..., runs: float = ..., declared: bool = ...
) -> TrainingForecast: ...


def plan(*, records: int, budget: Budget, goal: str = "tune", **case: Any) -> Plan | TrainingForecast:
    """What each method would give for so many records, trials and parameters under this budget.

    With ``goal="train"``: what ``tacit.train`` would cost and give for so many records; ``model`` is a trainer's
    name, ``runs`` about how many models a search would train, ``declared`` whether a schema declares all columns.

    ``spread`` is how much a typical setting loses against the best one, in the units of the losses; a tenth of the
    bounds' width is assumed if it is left out. Take it from public data or from experience, never from the private
    records. ``candidates`` matter to Kusner's algorithms. With ``want``, a loss of quality in the same units, the plan
    also says how many records, or which budget, each method would need.

    Guarantee. None is needed: only public numbers are used, no ledger is touched and nothing is drawn.
    Edges. Expected losses are means over our benchmark problems, read between measured cells; your problem is another
    one. Outside the cells the nearest answers, and the plan says so. More records or a larger budget never look worse.

    >>> made = plan(records=5000, trials=30, dimensions=2, budget=Budget.approximate(1.0, 1e-6))
    >>> made["observed"].guarantee.kind, round(made["observed"].noise, 5)
    ('unconditional', 0.00463)
    >>> round(plan(goal="train", records=30_000, budget=Budget.approximate(1.0, 1e-5), declared=True).kept, 3)
    0.999
    """
    if choice("goal", goal, GOALS) == "train":
        asked = load_part(find_trainer(case.pop("model", "auto")).forecast)
        answer: TrainingForecast = asked(records=records, budget=budget, **case)
        return answer
    return _plan_methods(records=records, budget=budget, **case)


def _plan_methods(
    *,
    records: int,
    trials: int,
    dimensions: int,
    budget: Budget,
    spread: float | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    candidates: int = 256,
    want: float | None = None,
) -> Plan:
    bounds = interval("bounds", bounds)
    gap = ASSUMED * (bounds[1] - bounds[0]) if spread is None else spread
    case = PlanInput(records, trials, dimensions, budget, gap, bounds, candidates)
    known = forecasts()
    previews = tuple(preview(forecast, case) for forecast in known.values())
    needed = {}
    if want is not None:
        positive("want", want)
        able = [known[o.method] for o in previews if not o.unavailable]
        needed = {f.name: {l: _find_need(f, case, l, want) for l in LANDSCAPES} for f in able if f.own_curve}
    return Plan(case, spread is None, previews, recommend(case, previews), want, needed)


def _find_need(forecast: Forecast, case: PlanInput, landscape: str, want: float) -> Need:
    """Forwards, turned round: losses never rise with records or budget, so the least that is enough is well defined."""

    def enough(at: PlanInput) -> bool:
        return expected_loss(forecast, at, landscape).mean <= want

    records = least_count(lambda n: enough(case.with_records(n)), MOST_RECORDS)
    amount = least_amount(lambda a: enough(case.with_amount(a)), LEAST_AMOUNT, MOST_AMOUNT)
    return Need(records, case.with_amount(amount).budget if amount else None)


def least_count(enough: Callable[[int], bool], most: int) -> int | None:
    """The least whole number from 1 to ``most`` that is enough.

    >>> least_count(lambda n: n * n > 50, 100), least_count(lambda n: n > 100, 100)
    (8, None)
    """
    if not enough(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_amount(enough: Callable[[float], bool], least: float, most: float) -> float | None:
    """The least amount that is enough, to one part in a million, from above."""
    if not enough(most):
        return None
    if enough(least):
        return least
    low, high = math.log(least), math.log(most)
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return min(most, math.exp(high))
