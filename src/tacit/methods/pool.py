"""The hidden pool: candidates fixed in advance, evaluated exactly and hidden, and one draw that names the winner.

    n   records          w   width of the bounds          T   candidates, any number
    s   scale of the Gumbel noise, 2 w / (n epsilon)

One record moves every mean by at most w / n. The winner is one draw of the exponential mechanism, whatever T is: its
expected mean is within s log T of the best candidate's. A share of the budget buys the winner's score. The exact means
are never released: they are in memory or, with a folder, in a private one until the release. With a constraint the
choice is by the loss plus ``PENALTY`` times what is missing, both in units of their widths: one record moves that by at
most (1 + PENALTY) / n, and the winner's score is drawn with the constrained mean, as a vector. Proof:
docs/proofs/exponential-mechanism.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tacit.errors import TacitError, probability
from tacit.files import Json
from tacit.methods.constraint import ConstrainedMean, Constraint
from tacit.methods.forecast import Forecast, PlanInput, Preview, would_refuse
from tacit.methods.intervals import sampling_deviation
from tacit.methods.neighbours import Neighbours, unit_space, with_second_column
from tacit.methods.privacy_unit import premises_of, refuse_excessive_noise, unit_of
from tacit.methods.registry import METHODS
from tacit.methods.task import Task
from tacit.methods.tuned import Tuned
from tacit.objective import Objective
from tacit.privacy.claims import Claims, Promise
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mean import STEPS, BoundedMean
from tacit.privacy.mechanisms import SIMULATED, Exponential, Laplace
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import Release, digest
from tacit.run.evaluate import is_elsewhere, result, submit_losses
from tacit.run.folder import lock_folder
from tacit.run.journal import Journal
from tacit.run.private_state import PRIVATE, PrivateState
from tacit.run.progress import progress_bar
from tacit.space import Array, Params

MANY = 1000  # candidates of the larger pool in a plan
SHARE = 0.2  # of the budget, for the score
PENALTY = 3  # loss that is accepted to keep a constraint by as much, in units of their widths; a whole number
SOURCE = "one draw of the exponential mechanism, and one noisy mean of its choice (McSherry and Talwar 2007, Theorem 6)"
WHOLE = 53  # bits of a float's whole numbers


class Choice:
    """One exact draw among candidates by the sums of their losses, in whole steps.

    Guarantee. That of the exponential mechanism: see Exponential. Sums of more than 2^21 records are rounded to what a
    float holds, and the sensitivity counts that.
    """

    def __init__(
        self, objective: Objective, budget: Budget, noise: Source, constraint: Constraint | None = None
    ) -> None:
        self.sign, self.records, self.constraint = (
            1 if objective.higher_is_better else -1,
            objective.records,
            constraint,
        )
        most = 1 if constraint is None else 1 + PENALTY
        self.unit = float_unit(most * objective.records)
        sensitivity = most * STEPS + self.unit
        self.mechanism = Exponential(sensitivity, budget=budget, unit=unit_of(objective.basis), noise=noise)
        low, high = objective.bounds
        self.scale = self.mechanism.scale * (high - low) / (objective.records * STEPS)  # in the units of the losses

    def draw(self, totals: Sequence[Any]) -> int:
        """The index of a candidate."""
        limit = self.constraint
        if limit is not None:
            totals = [t - self.sign * PENALTY * limit.violation(g, self.records) for t, g in totals]
        return int(self.mechanism.draw(self.sign * floats(totals, self.unit)))


@dataclass(frozen=True)
class PoolTerms:
    """What a pool promises, and the mechanisms that keep it. ``share`` of the budget is for the score.

    The notion of the budget decides: pure and approximate budgets are pure epsilon with Laplace noise on the score,
    which is far less noise than Gaussian noise at the same epsilon and delta; zCDP and GDP have Gaussian noise.
    """

    objective: Objective
    budget: Budget
    share: float = SHARE
    noise: Source = EXACT
    constraint: Constraint | None = None

    def __post_init__(self) -> None:
        probability("score_share", self.share)

    @property
    def laplace(self) -> bool:
        return self.budget.notion in ("pure", "approximate")

    def guarantee(self) -> Guarantee:
        basis = self.objective.basis
        unit, premises = unit_of(basis), premises_of(basis)
        if self.noise.simulated:
            return Guarantee.none(SIMULATED, unit)
        budget = Budget.pure(self.budget.amount) if self.laplace else self.budget
        return Guarantee(budget, unit, (), SOURCE, premises=premises)

    def parts(self) -> tuple[Budget, Budget]:
        """Budgets of the choice and of the score; they compose to the whole: epsilons, rhos or squares of mu add."""
        kinds: dict[str, Callable[[float], Budget]] = {"zcdp": Budget.zcdp, "gdp": Budget.gdp}
        made, amount = kinds.get(self.budget.notion, Budget.pure), self.budget.amount
        power = 2 if self.budget.notion == "gdp" else 1
        score = amount * self.share ** (1 / power)
        rest = (amount**power - score**power) ** (1 / power)
        return made(rest * (1 - 1e-12)), made(score * (1 - 1e-12))  # more than the rounding of either

    def choice(self) -> Choice:
        return Choice(self.objective, self.parts()[0], self.noise, self.constraint)

    @property
    def columns(self) -> tuple[tuple[float, float], ...]:
        """The bounds of each column that is summed: losses, and a constrained metric."""
        return (self.objective.bounds, *([] if self.constraint is None else [self.constraint.bounds]))

    def mean(self) -> BoundedMean | ConstrainedMean:
        """What sums losses and, unless noise is Laplace, draws the score."""
        o, (_, score) = self.objective, self.parts()
        asked: dict[str, Any] = {"budget": Budget.gdp(1.0) if self.laplace else score, "noise": self.noise}
        asked |= {"higher_is_better": o.higher_is_better, "unit": unit_of(o.basis)}
        if self.constraint is not None:
            return ConstrainedMean(o.records, o.bounds, self.constraint, **asked)
        return BoundedMean(o.records, o.bounds, **asked)

    def blur(self) -> Laplace:
        """Laplace noise on sums in whole steps: of one column, or of two that one record moves both."""
        o, size = self.objective, len(self.columns)
        sensitivity = size * (STEPS + float_unit(o.records))
        return Laplace(sensitivity, budget=self.parts()[1], size=size, unit=unit_of(o.basis), noise=self.noise)

    def draw_score(self, total: Any) -> list[float]:
        """The noisy mean loss of the winner and, with a constraint, that of the metric."""
        mean, totals = self.mean(), [total] if self.constraint is None else total
        if not self.laplace:
            return mean.draw(total) if isinstance(mean, ConstrainedMean) else [mean.draw(total)]
        noisy = self.blur().draw(floats(totals, float_unit(self.objective.records)))
        steps = self.objective.records * STEPS
        return [low + (high - low) * float(x) / steps for x, (low, high) in zip(noisy, self.columns, strict=True)]

    @property
    def deviations(self) -> list[float]:
        """Standard deviation of the score and, with a constraint, of the metric's mean."""
        scale = math.sqrt(2) * self.blur().scale / (self.objective.records * STEPS) if self.laplace else None
        width = self.objective.bounds[1] - self.objective.bounds[0]
        share = self.mean().scale / width if scale is None else scale
        return [share * (high - low) for low, high in self.columns]

    @property
    def deviation(self) -> float:
        """Standard deviation of the score."""
        return self.deviations[0]

    def to_json(self) -> Json:
        o = self.objective
        about: Json = {"records": o.records, "bounds": list(o.bounds), "direction": o.direction}
        about |= {"basis": o.basis} if o.basis != "record" else {}
        about |= {"constraint": self.constraint.to_json()} if self.constraint is not None else {}
        simulated = {"simulated": True} if self.noise.simulated else {}
        return {**about, "budget": self.budget.to_json(), "score_share": self.share, **simulated}


def settings(*, score_share: float = SHARE) -> float:
    """The options of method="pool"."""
    return score_share


def run(task: Task) -> Release[Tuned]:
    """Evaluate all candidates, hide what came out, pay, and draw the winner and its score."""
    terms = PoolTerms(task.objective, task.price, settings(**task.options), task.noise, task.constraint)
    refuse_loud_choice(terms, task.accept_noise)
    listed = list_pool(task, task.trials)
    with ExitStack() as stack:
        folder = stack.enter_context(lock_folder(task.out)) if task.out is not None else None
        agreed = {"method": "pool", **terms.to_json(), "candidates": len(listed), "listed": digest(listed)}
        promise = Promise(terms.guarantee(), None, f"pool {{run}}: one of {len(listed)} candidates", agreed, task.data)
        journal = Journal(folder.path / METHODS["pool"].journal if folder is not None else None)
        claims = Claims(journal, promise, ledger=task.ledger)
        state = PrivateState(folder.path / PRIVATE if folder is not None else None)
        choice, mean = terms.choice(), terms.mean()

        def draw(totals: list[Any]) -> list[float]:
            winner = choice.draw(totals)
            return [winner, *terms.draw_score(totals[winner])]

        drawn = claims.draw("winner", lambda: evaluate_pool(task, listed, mean, state), draw)
        if drawn is None:
            state.wipe()
            raise TacitError(
                "the one draw that was paid for was lost when a process ended in the midst of it, and a second is not "
                "paid for. Start again with another folder"
            )
        value = _result(terms, listed, choice.scale, *drawn)
        claims.settle(digest(value))
        release = Release(value, claims.guarantee, claims.payment, claims.describe_origin())
        if folder is not None:
            folder.write_certificate(release)
        state.wipe()
    return release


def _result(terms: PoolTerms, listed: list[Params], scale: float, winner: float, score: float, *metric: float) -> Tuned:
    low, high = terms.objective.bounds
    law = "Laplace" if terms.laplace else "Gaussian"
    details: Json = {
        "candidates": len(listed),
        "choice_noise": scale,
        "search": f"{len(listed)} candidates, fixed in advance, were evaluated and stay hidden; one draw, with Gumbel "
        f"noise of scale {scale:.2g} on each mean, chose among them",
        "score": f"the mean loss of the released parameters, with {law} noise of its own",
    }
    if terms.constraint is not None:
        details["constraint"] = terms.constraint.describe(metric, terms.deviations[1])
    value = Tuned(
        listed[int(winner)],
        min(max(score, low), high),
        "pool",
        terms.objective.direction,
        deviation=terms.deviation,
        law=law.lower(),
        details=details,
        settings=len(listed),
        reading=terms.objective.reading,
    )
    reach, o = value.loss_half_width or 0.0, terms.objective
    return replace(value, sampling=sampling_deviation(float(value.loss or 0.0), reach, o.bounds, o.records))


def list_pool(task: Task, size: int) -> list[Params]:
    """At most ``size`` candidates: those given, a random part of them if there are more, or scattered ones."""
    listed = task.list_candidates(size) or []
    if len(listed) > size:
        kept = np.random.default_rng(task.seed).choice(len(listed), size, replace=False)
        listed = [listed[i] for i in sorted(kept)]
    return listed


def evaluate_pool(
    task: Task, listed: list[Params], mean: BoundedMean | ConstrainedMean, state: PrivateState
) -> list[Any]:
    """The exact sum of each candidate's losses, here or on an executor; what the state holds is not done again.

    With a constraint, the sums of both columns.
    """
    state.agree({"candidates": digest(listed), "records": mean.records, "bounds": list(mean.bounds)}, task.data)
    totals = [state.load(f"candidate-{i}") for i in range(len(listed))]
    todo = [i for i, total in enumerate(totals) if total is None]
    executor, running = task.executor, dict[Future[int], int]()
    here = executor is None and not is_elsewhere(task.objective)
    width = 1 if here else task.at_once or 2 * (getattr(executor, "_max_workers", None) or 1)
    done = len(listed) - len(todo)
    with progress_bar("evaluating", len(listed), done=done, wanted=task.progress) as advance:
        try:
            while todo or running:
                while todo and len(running) < width:
                    i = todo.pop(0)
                    running[submit_losses(executor, task.objective, mean, dict(listed[i]))] = i
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    i = running.pop(future)
                    totals[i] = state.store(f"candidate-{i}", result(future))
                    advance()
        finally:
            for future in running:
                future.cancel()
    return totals


def floats(totals: Sequence[int], unit: int) -> Array:
    """Sums as floats, exactly: rounded to whole units first, where a float does not hold them."""
    return np.array([float(unit * ((2 * total + unit) // (2 * unit))) for total in totals])


def float_unit(records: int) -> int:
    """The step of sums that a float holds exactly: 1 up to 2^21 records."""
    return 1 << max(0, (records * STEPS).bit_length() - WHOLE)


def refuse_loud_choice(terms: PoolTerms, accepted: bool) -> None:
    """Refuse so much noise on the choice, or on the score, unless it was accepted."""
    noise, useful = max(terms.choice().scale, terms.deviation), terms.objective.useful_width
    what, remedy = "the choice and its score", "or a larger budget"
    refuse_excessive_noise(noise, what, terms.objective, useful=useful, remedy=remedy, accepted=accepted, size="scale")


# What it would give


def choice_noise(case: PlanInput) -> float:
    """The Gumbel noise of the choice, as a share of the spread."""
    return PoolTerms(case.objective(), case.budget).choice().scale / case.spread


def _preview(case: PlanInput, *, many: bool = False) -> Preview:
    terms, size = PoolTerms(case.objective(), case.budget), MANY if many else case.trials
    scale = terms.choice().scale
    note = (
        f"all of {size:,} candidates are evaluated and hidden; one draw chooses, and more candidates do not raise its "
        "noise"
    )
    return Preview(
        "pool_many" if many else "pool",
        terms.guarantee(),
        size,
        {"method": "pool", **({"trials": MANY} if many else {})},
        terms.deviation,
        "the released score",
        scale * math.log(size) if size > 1 else 0.0,
        "expected loss against the best candidate (exponential mechanism)",
        refused=would_refuse(lambda: refuse_loud_choice(terms, False)),
        notes=(note,),
    )


FORECASTS = (
    Forecast("pool", _preview, "pool", choice_noise),
    Forecast("pool_many", partial(_preview, many=True), "pool_many", choice_noise),
)


def moving_halves(records: int) -> tuple[Callable[[Any], Array], Callable[[Any], Array]]:
    """Losses of one record that move one half of the space up and the other down, as far as they can."""

    def losses(side: int) -> Callable[[Any], Array]:
        def at(params: Params) -> Array:
            first = float(side) if params["x"] < 0.5 else 1.0 - side
            return np.concatenate(([first], np.full(records - 1, 0.5)))

        return at

    return losses(0), losses(1)


def neighbours(records: int = 20) -> Neighbours:
    """One record whose losses move half of the candidates up and the others down, as far as they can."""

    def outputs(value: Tuned) -> list[float]:
        return [value.params["x"], float(value.loss or 0.0)]

    about = (
        f"2 candidates over {records} records, the winner and its score; every loss of one record goes from one bound "
        "to the other, up for one candidate and down for the other"
    )
    listed = {"candidates": [{"x": 0.25}, {"x": 0.75}], "score_share": 0.5}
    sides = moving_halves(records)
    plain = Neighbours(about, Budget.pure(2.0), sides, unit_space(), records, 2, outputs, listed, runs=2000)

    def more_outputs(value: Tuned) -> list[float]:
        return [*outputs(value), value.details["constraint"]["value"]]

    limit = {"constraint": ("metric", "<=", 0.0)}  # never kept: all of a move is missing
    constrained = replace(
        plain,
        about=f"{about}; so does its value of a constrained metric",
        objectives=with_second_column(sides),
        outputs=more_outputs,
        arguments={**listed, **limit},
    )
    return replace(plain, others=(constrained,))
