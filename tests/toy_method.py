"""A method in one file: scattered settings, each observed once, the best released. The registry test adds its line."""

from __future__ import annotations

from tacit.methods.forecast import Forecast, PlanInput, Preview
from tacit.methods.neighbours import ENDS, Neighbours, opposite_ends, unit_space
from tacit.methods.registry import GAUSSIAN, Method
from tacit.methods.task import Task
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import SIMULATED
from tacit.privacy.release import Release, digest

UNIT = "one validation record replaced"
LINE = Method(
    name="toy",
    about="scattered settings, the best released",
    notions=GAUSSIAN,
    why="its noise is Gaussian",
    refuses=("storage", "executor", "at_once", "out"),
    refuses_because="keeps nothing",
    releases="parameters",
    function="toy_method:run",
    options="toy_method:settings",
    forecasts="toy_method:FORECASTS",
    neighbours="toy_method:neighbours",
)


def settings(task: Task, *, shift: int = 0) -> list[dict[str, float]]:
    return task.space.sobol(task.trials, task.seed + shift)


def mechanism(task: Task) -> BoundedMean:
    o, each = task.objective, Budget.gdp(task.price.mu() / task.trials**0.5)
    return BoundedMean(o.records, o.bounds, budget=each, higher_is_better=o.higher_is_better, noise=task.noise)


def promise(task: Task) -> Guarantee:
    if task.noise.simulated:
        return Guarantee.none(SIMULATED, UNIT)
    return Guarantee(Budget.gdp(task.price.mu()), UNIT, (), "a toy")


def run(task: Task) -> Release[Tuned]:
    mean, guarantee, o = mechanism(task), promise(task), task.objective
    payment = task.ledger.charge(guarantee, "toy") if task.ledger else None
    trials = [{"params": p, "value": mean.draw(mean.total(o.losses(p)))} for p in settings(task, **task.options)]
    best = (max if o.higher_is_better else min)(trials, key=lambda t: t["value"])
    value = Tuned(
        best["params"], best["value"], "toy", o.direction, deviation=mean.scale, noise=mean.scale, trials=trials
    )
    if task.ledger and payment:
        task.ledger.settle(payment, digest(value))
    return Release(value, guarantee, payment)


def preview(case: PlanInput) -> Preview:
    return Preview("toy", case.terms().guarantee(), case.trials, {"method": "toy"}, case.terms().mechanism().scale)


FORECASTS = (Forecast("toy", preview),)


def neighbours() -> Neighbours:
    def outputs(value: Tuned) -> list[float]:
        return [t["value"] for t in value.trials]

    return Neighbours(ENDS, Budget.gdp(2.0), opposite_ends(20), unit_space(), 20, 3, outputs, {"shift": 1})
