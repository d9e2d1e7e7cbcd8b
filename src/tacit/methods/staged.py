"""A hidden pool names a region by one draw; private observations refine in a box around it. One charge for both.

    mu   of the whole run        a   share of mu^2 for the region        h   half-width of the box, in the unit cube

The draw is sqrt(a) mu-GDP, the T observations are sqrt(1 - a) mu-GDP, and the box depends on what was released alone,
so both together are mu-GDP. Observations alone sometimes miss the valley, a pool alone never reaches its floor.
Proof: docs/proofs/private-observations.md, section "Staged".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tacit.errors import BadInput, count, probability
from tacit.files import Json
from tacit.methods.branching import TrialSpace
from tacit.methods.forecast import Forecast, PlanInput, Preview
from tacit.methods.neighbours import Neighbours, unit_space
from tacit.methods.observed import Observations, ObservationTerms, confirmations
from tacit.methods.pool import Choice, evaluate_pool, moving_halves
from tacit.methods.privacy_unit import premises_of, unit_of
from tacit.methods.search import model_sampler, preview_search, search_privately
from tacit.methods.task import Task
from tacit.methods.tuned import Tuned
from tacit.privacy.accounting import split
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import SIMULATED
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import Release, digest
from tacit.run.private_state import PRIVATE, PrivateState
from tacit.run.study_store import is_claimed
from tacit.space import Params, Space

if TYPE_CHECKING:
    import optuna

POOL, SHARE, HALF_WIDTH = 200, 0.2, 0.2
SOURCE = "one exponential mechanism and T Gaussian mechanisms composed (Dong et al. 2022, Corollary 2)"
REGION = "tacit:region"  # attribute of the trial that drew it: the winner's place in the pool


@dataclass(frozen=True)
class StagedTerms(ObservationTerms):
    """What a staged run promises: private observations, and one draw before them."""

    share: float = SHARE
    pool: int = POOL
    half_width: float = HALF_WIDTH
    listed: str = ""  # the digest of the pool

    def __post_init__(self) -> None:
        super().__post_init__()
        probability("region_share", self.share)
        count("pool", self.pool)
        if not 0 < self.half_width <= 1:
            raise BadInput(f"half_width must be above 0 and at most 1, got half_width={self.half_width!r}")

    @property
    def draws(self) -> int:
        return self.trials + 1

    @property
    def hidden(self) -> int:
        return self.pool

    @property
    def purpose(self) -> str:
        return f"tune {{run}}: a region among {self.pool} candidates and {self.trials} observations"

    def mechanism(self, noise: Source = EXACT) -> BoundedMean:
        each = split(Budget.gdp(self.budget.mu() * math.sqrt(1 - self.share) * (1 - 1e-12)), self.trials)
        higher = self.direction == "maximize"
        unit = unit_of(self.basis)
        return BoundedMean(self.records, self.bounds, budget=each, higher_is_better=higher, unit=unit, noise=noise)

    def region_budget(self) -> Budget:
        return Budget.gdp(self.budget.mu() * math.sqrt(self.share) * (1 - 1e-12))

    def guarantee(self, noise: Source = EXACT) -> Guarantee:
        unit, premises = unit_of(self.basis), premises_of(self.basis)
        if noise.simulated:
            return Guarantee.none(SIMULATED, unit)
        whole = Guarantee(Budget.gdp(self.budget.mu()), unit, (), SOURCE, premises=premises)
        return whole.at(self.budget.delta) if self.budget.notion == "approximate" else whole

    def to_json(self) -> Json:
        staged = {"region_share": self.share, "pool": self.pool, "half_width": self.half_width, "listed": self.listed}
        return {**super().to_json(), **staged}


def settings(
    *, pool: int = POOL, region_share: float = SHARE, half_width: float = HALF_WIDTH
) -> tuple[int, float, float]:
    """The options of method="staged"."""
    return pool, region_share, half_width


def run(task: Task) -> Release[Tuned]:
    """Draw the region, then search in it on private observations and confirm the choice."""
    pool, share, half_width = settings(**task.options)
    listed = task.space.sobol(count("pool", pool), task.seed)
    o = task.objective
    terms = StagedTerms(
        o.records,
        o.bounds,
        task.price,
        task.trials,
        o.direction,
        o.basis,
        share=share,
        pool=len(listed),
        half_width=half_width,
        listed=digest(listed),
    )

    def narrow(task: Task, observations: Observations) -> Task:
        winner = _draw_region(task, observations, terms, listed)
        if winner is None:
            return task
        space = task.space.branch_at(winner) if isinstance(task.space, TrialSpace) else task.space
        return replace(task, space=box_around(space, winner, half_width))

    sampler = partial(model_sampler, first=1)
    return search_privately(task, "staged", sampler, confirmations(task.trials), terms=terms, narrow=narrow)


def _draw_region(task: Task, observations: Observations, terms: StagedTerms, listed: list[Params]) -> Params | None:
    """The winner of the pool, drawn once; None if it was lost in a crash, and the whole space is searched."""
    from optuna.trial import TrialState

    study = observations.study
    state = PrivateState(task.out / PRIVATE if task.out is not None else None)
    drawn = _find_region(study)
    if drawn is None:
        totals = evaluate_pool(task, listed, observations.mechanism, state)
        choice = Choice(task.objective, terms.region_budget(), task.noise)
        trial = study.ask()
        try:
            trial.set_user_attr(REGION, None)
            trial.set_user_attr(REGION, observations.draw(trial, lambda: totals, choice.draw, first=True))
        finally:
            study.tell(trial, state=TrialState.FAIL)  # no observation: the model has nothing to learn from it
        drawn = _find_region(study)
    state.wipe()
    return listed[drawn] if drawn is not None and drawn >= 0 else None


def _find_region(study: optuna.Study) -> int | None:
    """The winner's place in the pool, -1 if it was claimed and lost, None if it was never claimed."""
    places = [
        t.user_attrs[REGION] for t in study.get_trials(deepcopy=False) if REGION in t.user_attrs and is_claimed(t)
    ]
    return None if not places else -1 if places[0] is None else int(places[0])


def box_around(space: Space, params: Params, half_width: float) -> Space:
    """The part of a space within ``half_width`` of the parameters in the unit cube; choices keep all options.

    >>> from tacit.space import Float
    >>> box_around(Space({"x": Float(0.0, 10.0)}), {"x": 1.0}, 0.25).distributions["x"]
    FloatDistribution(high=3.5, log=False, low=0.0, step=None)
    """
    at = space.cube([params])[0]
    low, high = space.params(np.clip(np.stack([at - half_width, at + half_width]), 0.0, 1.0))
    made: Json = {}
    for name, d in space.distributions.items():
        if hasattr(d, "choices"):
            made[name] = d
        else:
            made[name] = type(d)(low[name], high[name], log=d.log, step=d.step)  # type: ignore[attr-defined, call-arg]
    return Space(made)


# What it would give


def _preview(case: PlanInput) -> Preview:
    search = preview_search("staged", StagedTerms(case.records, case.bounds, case.budget, case.trials), adaptive=True)
    whole = POOL + case.trials
    note = f"a hidden pool of {POOL} candidates names a region, {case.trials} observations refine in it: "
    return replace(search, evaluations=whole, notes=(f"{note}{whole} evaluations in all",))


FORECASTS = (Forecast("staged", _preview, "staged"),)


def neighbours(trials: int = 3, records: int = 20) -> Neighbours:
    """One record whose losses move one half of the space up and the other down, as far as they can."""

    def outputs(value: Tuned) -> list[float]:
        return [*(t["value"] for t in value.trials), float(value.loss or 0.0), value.params["x"]]

    about = (
        f"a pool of 2 and {trials} trials over {records} records, all that it releases; every loss of one record goes "
        "from one bound to the other, up in one half of the space and down in the other"
    )
    sides, options = moving_halves(records), {"pool": 2, "half_width": 0.2}
    return Neighbours(about, Budget.gdp(2.0), sides, unit_space(), records, trials, outputs, options)
