"""method="auto": which method, and how many evaluations, from public numbers alone.

    E    evaluations that the user allows (``trials``)         d    parameters
    look    noise of one look with the whole budget, w / (n mu), as a share of the spread: see PlanInput

Each method is measured at a few numbers of evaluations (choice.json, made by ``python -m benchmarks plan_choice`` on
surfaces that do not check it). A mean over surfaces is ruled by the few that no method solves, so of the methods whose
mean regret is level with the least, the one of least typical regret is chosen: the geometric mean. Of those that are
level in this as well, the one of most evaluations, which were allowed. What would be refused for its noise is chosen
only if all would be. Nothing but public numbers enters, so the choice costs nothing, and the same numbers give the
same choice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from tacit.errors import BadInput
from tacit.files import Json
from tacit.methods.branching import METHODS as BRANCHING
from tacit.methods.branching import TrialSpace
from tacit.methods.forecast import Forecast, PlanInput
from tacit.methods.pool import choice_noise
from tacit.methods.registry import METHODS, load
from tacit.methods.task import Task
from tacit.run.journal import Journal

AMONG = ("observed", "pool", "staged", "gibo")
ASSUMED = 0.1  # spread as a share of the bounds' width, where nobody said
ALIKE = 0.03  # of mean regrets: about a standard error of their difference over the surfaces
NEARLY = 1.2  # of typical regrets: how many times the least is level with it
SIZES = {"observed": (50, 200), "pool": (50, 200, 1000), "staged": (50, 250), "gibo": (500, 2000)}  # evaluations
STEPS, LEAST_STEPS, STARTING = 50, 5, 66  # of gibo, and the evaluations of its start and its score
DESCENT = 300  # evaluations below which a descent is not known by those that were measured


@dataclass(frozen=True)
class AutoChoice:
    """A method with its arguments, what it is expected to lose as a share of the spread (mean, typical), and why."""

    method: str
    trials: int
    options: Mapping[str, Any]
    evaluations: int
    regret: float
    typical: float
    refused: bool = False  # for its noise, unless that is accepted
    reason: str = ""


def choose(case: PlanInput, able: Callable[[str], bool] = lambda method: True) -> AutoChoice | None:
    """The best of the methods that are ``able``, for a budget that it can keep; None if there is none.

    >>> from tacit.privacy.guarantee import Budget
    >>> case = PlanInput(2000, 50, 5, Budget.pure(1.0), 0.1)
    >>> made = choose(case)
    >>> made.method, made.trials
    ('pool', 50)
    """
    known = [method for method in AMONG if case.budget.notion in METHODS[method].notions and able(method)]
    offers = [offer for method in known for offer in _list_offers(method, case)]
    if not offers:
        return None
    offers = [offer for offer in offers if not offer.refused] or offers
    best, least = find_best(offers), min(offers, key=lambda o: o.regret)
    rest = {o.method: o.regret for o in sorted(offers, key=lambda o: -o.regret) if o.method != best.method}
    others = ", ".join(f"{method} {regret:.2g}" for method, regret in reversed(rest.items()))
    level = "the least" if best is least else "level with the least"
    reason = (
        f"{best.method} with {best.evaluations:,} evaluations: for {case.records:,} records, {case.dimensions} "
        f"parameter{'s' * (case.dimensions > 1)} and {case.budget} its measured regret is {level} that {case.trials:,} "
        f"evaluations allow, {best.regret:.2g} of what a typical setting loses" + (f" ({others})" if others else "")
    )
    return replace(best, reason=reason)


def find_best(offers: Sequence[AutoChoice]) -> AutoChoice:
    """Of those level with the least mean regret, and of these with the least typical one, that of most evaluations."""
    mean = min(o.regret for o in offers) + ALIKE
    level = [o for o in offers if o.regret <= mean]
    typical = NEARLY * min(o.typical for o in level)
    return max((o for o in level if o.typical <= typical), key=lambda o: (o.evaluations, -o.typical))


def resolve(task: Task) -> tuple[str, Task]:
    """The method of a task and the task as that method takes it. A study that was begun goes on as it was begun."""
    if task.budget is None:
        raise BadInput("method 'auto' needs a budget, such as tacit.Budget.approximate(1.0, 1e-6)")
    if (begun := _resume(task)) is not None:
        return begun
    if isinstance(task.space, TrialSpace) or task.storage is not None:
        return "observed", task
    o = task.objective
    width = o.bounds[1] - o.bounds[0]
    spread = ASSUMED * min(width, o.useful_width)
    case = PlanInput(o.records, task.trials, task.space.dimensions, task.budget, spread, o.bounds)
    chosen = choose(case, lambda method: _takes(method, task))
    if chosen is None:
        raise BadInput(
            "no method that method='auto' chooses from can do with this budget and these arguments: name one with "
            "method=. Nothing was spent"
        )
    options = {**chosen.options, **task.options}
    return chosen.method, replace(task, trials=chosen.trials, options=options)


def _takes(method: str, task: Task) -> bool:
    """Whether a method can be given this task."""
    entry = METHODS[method]
    if any(getattr(task, name) is not None for name in entry.refuses) or (entry.separate and task.objective.overlaps):
        return False
    if SHAPES.get(method) is _take_steps and any(hasattr(d, "choices") for d in task.space.distributions.values()):
        return False
    return set(task.options) <= set(entry.option_names())


def _resume(task: Task) -> tuple[str, Task] | None:
    """As the run in a folder was begun, by an earlier version as well."""
    if task.out is None:
        return None
    for entry in METHODS.values():
        if entry.journal and (terms := Journal(task.out / entry.journal).read("terms")) is not None:
            return entry.name, replace(task, trials=terms.get("trials", terms.get("candidates")))
    if not (task.out / "study.db").exists():
        return None
    from tacit.run.study import SEARCH, open_study

    study = open_study(f"sqlite:///{task.out / 'study.db'}", task.study_name, [task.objective.direction])
    search, terms = study.user_attrs.get(SEARCH), study.user_attrs.get("tacit:terms")
    if search is None or terms is None:
        return None
    method = next(m for m in (*AMONG, *BRANCHING, *METHODS) if search.startswith(f"method {m!r} over"))
    agreed = json.loads(terms)
    named = {k: agreed[k] for k in METHODS[method].option_names() if k in agreed}
    return method, replace(task, trials=agreed.get("trials", task.trials), options={**named, **task.options})


def _list_offers(method: str, case: PlanInput) -> list[AutoChoice]:
    """What a method would take of the evaluations that are allowed, at each of its sizes; none if they are too few."""
    offers, noise = [], NOISES.get(method, PlanInput.look)(case)
    for size in sorted({min(case.trials, size) for size in SIZES.get(method, (case.trials,))}):
        if (taken := SHAPES.get(method, _take_all)(case, size)) is not None:
            trials, evaluations, options = taken
            mean, typical = (
                expected_regret(method, size, case.dimensions, noise, kind) for kind in ("regret", "typical")
            )
            refused = is_refused(method, replace(case, trials=trials))
            offers.append(AutoChoice(method, trials, options, evaluations, mean, typical, refused))
    return offers


def is_refused(method: str, case: PlanInput) -> bool:
    """Whether a method refuses so much noise, unless it is accepted."""
    forecast: Forecast = load(METHODS[method].forecasts)[0]
    return forecast.preview(case).refused


Taken = tuple[int, int, dict[str, Any]] | None  # trials, evaluations, options


def _take_all(case: PlanInput, evaluations: int) -> Taken:
    return evaluations, evaluations, {}


def _take_steps(case: PlanInput, evaluations: int) -> Taken:
    """A descent: its places to start from, and two evaluations for each dimension and step."""
    steps = min(STEPS, (evaluations - STARTING) // (2 * case.dimensions))
    return None if steps < LEAST_STEPS or evaluations < DESCENT else (steps, STARTING + 2 * case.dimensions * steps, {})


def _take_stages(case: PlanInput, evaluations: int) -> Taken:
    """A pool, then observations."""
    trials = max(evaluations // 5, min(50, evaluations // 2))
    pool = evaluations - trials
    return None if not pool or trials < 2 else (trials, evaluations, {"pool": pool})


SHAPES: dict[str, Callable[[PlanInput, int], Taken]] = {"gibo": _take_steps, "staged": _take_stages}
NOISES: dict[str, Callable[[PlanInput], float]] = {"pool": choice_noise}


@lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """The measured regrets as they are shipped."""
    read: Json = json.loads((resources.files("tacit.methods") / "choice.json").read_text("utf-8"))
    return read


@lru_cache(maxsize=1024)
def expected_regret(method: str, evaluations: int, dimensions: int, noise: float, kind: str = "regret") -> float:
    """The measured mean regret or the "typical" one, as a share of the spread: linear in log dimensions and log noise.

    Of the sizes that were measured the largest within ``evaluations`` counts. Outside the table the nearest cell does;
    with noise as large as the spread a choice is taken to be no better than a random one.

    >>> expected_regret("observed", 50, 5, 1e-4) < expected_regret("observed", 50, 5, 0.1)
    True
    """
    cells = [c for c in table()["cells"] if c["method"] == method]
    sizes = {c["evaluations"] for c in cells}
    size = max((s for s in sizes if s <= evaluations), default=min(sizes))
    rows = sorted((c for c in cells if c["evaluations"] == size), key=lambda c: int(c["dimensions"]))
    level = math.log(max(noise, 1e-12))
    at = [float(np.interp(level, np.log([*c["noise"], 1.0]), [*c[kind], max(1.0, c[kind][-1])])) for c in rows]
    return float(np.interp(math.log(dimensions), np.log([c["dimensions"] for c in rows]), at))
