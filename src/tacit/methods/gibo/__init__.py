"""DP-GIBO: gradient descent on the clipped, noised gradients of a surrogate. For many hyperparameters.

    theta   the current point, in the unit cube      T     steps, fixed in advance (``trials``)
    g_i     record i's surrogate gradient at theta   B     norm to which each g_i is clipped (``clip``)
    d, n    parameters, records                      mu    of everything together

Replacing one record moves the mean of clipped gradients by at most 2B/n. T of them, each with Gaussian noise of
standard deviation 2 B sqrt(T) / (n mu) per coordinate, are together mu-GDP, whatever B is. Where the next evaluations
take place, how far to step and when to stop depend on released values only. One draw of the exponential mechanism names
the first point, and a noisy mean is the final point's score; both are paid for from the same budget: squares of mu add
up. Proof: docs/proofs/gibo.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from tacit.errors import BadInput, ExcessiveNoise
from tacit.files import Json
from tacit.methods.gibo.design import (
    RATES,
    DescentSettings,
    Designs,
    clipping_of,
    first_points,
    has_steps,
    path_share,
    shares,
    suggest_clip,
)
from tacit.methods.gibo.steps import rule
from tacit.methods.intervals import sampling_deviation
from tacit.methods.observed import simultaneous_deviation
from tacit.methods.pool import Choice
from tacit.methods.privacy_unit import premises_of, unit_of
from tacit.methods.registry import METHODS
from tacit.methods.task import Task
from tacit.methods.tuned import Tuned
from tacit.privacy.accounting import split
from tacit.privacy.claims import Claims, Promise
from tacit.privacy.gradient_mean import GradientMean
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import SIMULATED
from tacit.privacy.release import Release, digest
from tacit.run.journal import Journal
from tacit.run.shards import gradient_total, loss_totals
from tacit.space import Array

__all__ = ["GradientSearch", "release", "run", "suggest_clip"]

SOURCE = "DP-GIBO: T clipped and noised gradients composed (Sopa et al. 2025, Lemma 3.1)"
CLAIM = (
    "converges to a local optimum up to a privacy-dependent error, for smooth losses; the guarantee needs no such thing"
)
LOUD = 1.0  # noise whose norm exceeds this share of the largest possible mean gradient is refused unless accepted
FILE = METHODS["gibo"].journal


@dataclass(frozen=True, repr=False)
class GradientSearch:
    """A task with its settings, and how its budget is shared out: the mechanism of each thing that is drawn."""

    task: Task
    settings: DescentSettings
    file: Path | None = None  # the journal
    mechanism: GradientMean = field(init=False)  # of one step
    choice: Choice | None = field(init=False)  # of one place where a descent begins
    scoring: BoundedMean | None = field(init=False)  # of one final point, if scores are paid for

    def __post_init__(self) -> None:
        task, budget = self.task, self.task.price
        if not budget.mu() > 0:
            raise BadInput("the budget must be positive: mu = 0 allows no release")
        if (choice := self._choice()) is not None:
            low, high = task.objective.bounds
            object.__setattr__(self, "settings", self.settings.settle(choice.scale / (high - low)))
        object.__setattr__(self, "settings", self.settings.with_rate(self._loudness()))
        s, records, size = self.settings, task.objective.records, task.space.dimensions
        each = split(Budget.gdp(budget.mu() * path_share(s)), task.trials)
        gradient = GradientMean(records, clip=s.clip, size=size, budget=each, unit=self.unit, noise=task.noise)
        object.__setattr__(self, "mechanism", gradient)
        object.__setattr__(self, "choice", self._choice())
        object.__setattr__(self, "scoring", self._mean(s.score_budget, s.starts))
        self._refuse_loud_noise()

    @property
    def unit(self) -> str:
        return unit_of(self.task.objective.basis)

    @cached_property
    def places(self) -> Array:
        """Where descents may begin (places, d)."""
        return first_points(self.settings, self.task.space, self.task.seed)

    @property
    def starting_places(self) -> int:
        """How many there are; known beforehand where no two can coincide."""
        scan, real = self.settings.scan, all(not has_steps(d) for d in self.task.space.distributions.values())
        return scan if scan and real else len(self.places)

    @property
    def most_evaluations(self) -> int:
        """Of a whole run, at most: the places of the start, those of the steps, and those of the scores."""
        places, scores = self.starting_places * (self.choice is not None), self.settings.starts * bool(self.scoring)
        return self.task.trials * self.settings.most_places(self.task.space.dimensions) + places + scores

    def _choice(self) -> Choice | None:
        """One draw of a place; as many as there are starts have their share of the squared budget together."""
        if not self.settings.scan_budget:
            return None
        share = self.settings.scan_budget / self.settings.starts
        return Choice(self.task.objective, Budget.gdp(self.task.price.mu() * math.sqrt(share)), self.task.noise)

    def _loudness(self) -> float:
        """The norm of a gradient's noise, as a share of the clipping norm."""
        mu = self.task.price.mu() * path_share(self.settings)
        return 2 * math.sqrt(self.task.trials * self.task.space.dimensions) / (self.task.objective.records * mu)

    def _mean(self, share: float | None, places: int) -> BoundedMean | None:
        """Of one of so many noisy mean losses, which have this share of the squared budget together."""
        if not share:
            return None
        o, each = self.task.objective, split(Budget.gdp(self.task.price.mu() * math.sqrt(share)), places)
        better, noise = o.higher_is_better, self.task.noise
        return BoundedMean(o.records, o.bounds, budget=each, higher_is_better=better, unit=self.unit, noise=noise)

    def _refuse_loud_noise(self) -> None:
        task, clip = self.task, self.settings.clip
        norm = self.mechanism.scale * math.sqrt(task.space.dimensions)
        if norm > LOUD * clip and not task.accept_noise:
            raise ExcessiveNoise(
                f"each of {task.trials} gradients over {task.objective.records} records would carry noise of norm "
                f"{norm / clip:.3g} times the clipping norm, which no mean gradient exceeds. Use more records, a "
                "larger budget or fewer trials; or accept it with accept_noise=True (--yes). Nothing was spent"
            )

    def guarantee(self) -> Guarantee:
        """Of everything that is released or written."""
        budget = self.task.price
        if self.task.noise.simulated:
            return Guarantee.none(SIMULATED, self.unit)
        premises = premises_of(self.task.objective.basis)
        whole = Guarantee(Budget.gdp(budget.mu()), self.unit, (), SOURCE, premises=premises)
        return whole.at(budget.delta) if budget.notion == "approximate" else whole

    def terms(self) -> Json:
        t, o = self.task, self.task.objective
        about = {"records": o.records, "bounds": list(o.bounds), "trials": t.trials}
        about |= {"direction": o.direction, "budget": t.price.to_json(), "seed": t.seed}
        about |= {"basis": o.basis} if o.basis != "record" else {}
        about |= {"space": {n: repr(d) for n, d in t.space.distributions.items()}}
        return {**about, "simulated": t.noise.simulated, "settings": self.settings.to_json()}


@dataclass(frozen=True)
class GradientPath:
    """One released path: points (steps + 1, d) of the cube, noisy gradients (None if lost), traces, evaluations."""

    points: list[Array]
    gradients: list[list[float] | None]
    traces: list[float]
    evaluations: int

    def final(self, average: float) -> Array:
        """The mean of the last points, or the last one: post-processing."""
        tail = max(1, round(average * (len(self.points) - 1)))
        return np.asarray(np.mean(self.points[-tail:], axis=0))


def descend(
    p: GradientSearch, claims: Claims, start: int, theta: Array, steps: int, tell: Callable[[], None]
) -> GradientPath:
    """Algorithm 1 (and, with design="adaptive", Algorithm 2) from theta; line numbers are Algorithm 1's."""
    s, memory = p.settings, dict[str, Array]()
    designs, move = Designs(s, p.task.space, steps), rule(s.step, s.rate or RATES[0])
    points, gradients, traces, evaluations = [theta], list[list[float] | None](), list[float](), 0
    for t in range(steps):  # line 3
        design = designs.at(theta, t)  # lines 4 and 5: no data value
        clipped = clipping_of(design, s, p.task.objective.higher_is_better)
        places = p.task.space.params(design.points)

        def total() -> list[int]:  # lines 6 and 7, where the records are
            return gradient_total(p.task.objective, places, clipped, executor=p.task.executor, memory=memory)  # noqa: B023

        def add_noise(exact: list[int]) -> list[float]:  # line 8: its noise, after the claim is on disk
            return [float(x) for x in p.mechanism.draw(exact)]

        gradient = claims.draw(f"start {start} step {t}", total, add_noise)
        if gradient is not None:
            theta = np.clip(theta - move(np.array(gradient)), 0.0, 1.0)  # line 8, then the box
        points.append(theta)
        gradients.append(gradient)
        traces.append(design.trace)
        evaluations += design.new
        tell()
    return GradientPath(points, gradients, traces, evaluations)  # line 10


def run(task: Task) -> Release[Tuned]:
    """The folder holds the certificate, and the journal of released gradients from which an interrupted run goes on."""
    from tacit.run.folder import lock_folder
    from tacit.run.progress import progress_bar

    settings = DescentSettings.of(task.options, task.objective.bounds, task.space)
    asked = GradientSearch(task, settings)
    with ExitStack() as stack:
        folder = stack.enter_context(lock_folder(task.out)) if task.out is not None else None
        tell = stack.enter_context(progress_bar("steps", task.trials, wanted=task.progress))
        tuned = release(GradientSearch(task, settings, folder.path / FILE) if folder is not None else asked, tell)
        if folder is not None:
            folder.write_certificate(tuned)
    return tuned


def release(p: GradientSearch, tell: Callable[[], None] = lambda: None) -> Release[Tuned]:
    """Pay for everything, descend, and release the path and its final point.

    Guarantee. mu-GDP for one validation record replaced, unconditional: whatever the objective, the losses and B are.
    It covers the choice of the first point, the whole path, every noisy gradient, the final point and its score.
    Follows. Sopa et al. (2025), Algorithms 1 and 2, Lemma 3.1, section 3.4, Remark 4.1.
    Differs. The first point is drawn among several by the exponential mechanism, unless start is given or scan=0.
    Places in closed form by default, in a radius that shrinks; losses are centred per record; near a wall the design
    shrinks and is centred inside; clipped gradients are rounded to whole steps of B/2^32, and the noise is wider by
    one part in 1e9 for it. The final point is a mean of released points, unless average=0, and has a score, unless
    score_budget=0.
    Edges. A record whose losses are not all finite contributes a zero gradient, silently. A step lost in a crash
    after its noise may have been drawn is skipped, never drawn again.
    """
    s = p.settings
    task, places, lengths = p.task, p.places, shares(s, p.task.trials)
    promise = Promise(p.guarantee(), None, f"gibo: {task.trials} steps, run {{run}}", p.terms(), task.data)
    claims = Claims(Journal(p.file), promise, ledger=task.ledger)
    chosen = _choose_places(p, claims, places)
    begins = places[chosen]
    descents = enumerate(zip(begins, lengths, strict=True))
    runs = [descend(p, claims, i, theta, steps, tell) for i, (theta, steps) in descents]
    finals = [run.final(s.average) for run in runs]
    scores = _observe_means(p, claims, "scores", p.scoring, np.array(finals))
    value = _summarise(p, runs, finals, scores, chosen)
    claims.settle(digest(value))
    return Release(value, claims.guarantee, claims.payment, claims.describe_origin())


def _observe_means(
    p: GradientSearch, claims: Claims, name: str, mean: BoundedMean | None, places: Array
) -> list[float | None]:
    """Noisy mean losses at these places (k, d), or None for each if they are not paid for, or were lost in a crash."""
    if mean is None:
        return [None] * len(places)
    listed = p.task.space.params(places)
    drawn: list[float | None] | None = claims.draw(
        name,
        lambda: loss_totals(p.task.objective, mean, listed, executor=p.task.executor),
        lambda totals: [mean.draw(total) for total in totals],
    )
    return drawn or [None] * len(places)


def _choose_places(p: GradientSearch, claims: Claims, places: Array) -> list[int]:
    """Numbers of the places where descents begin: drawn one after the other, or the first if there is no such draw."""
    first = list(range(p.settings.starts))
    if p.choice is None:
        return first
    choice, o, listed = p.choice, p.task.objective, p.task.space.params(places)
    # sums in whole steps; this mechanism draws nothing
    adding = BoundedMean(o.records, o.bounds, budget=Budget.gdp(1.0), higher_is_better=o.higher_is_better)

    def draw(totals: list[int]) -> list[int]:
        left, drawn = list(range(len(places))), list[int]()
        for _ in first:
            drawn.append(left.pop(choice.draw([totals[i] for i in left])))
        return drawn

    evaluate = partial(loss_totals, o, adding, listed, executor=p.task.executor)
    drawn: list[int] | None = claims.draw("place", evaluate, draw)
    return first if drawn is None else [int(i) for i in drawn]


def _rank(p: GradientSearch, scores: Sequence[float | None]) -> list[int]:
    """Numbers of the places, the best noisy mean loss first; in order where none is known."""
    sign = -1.0 if p.task.objective.higher_is_better else 1.0
    return sorted(range(len(scores)), key=lambda i: 0.0 if (score := scores[i]) is None else sign * score)


def _summarise(
    p: GradientSearch,
    runs: list[GradientPath],
    finals: list[Array],
    scores: list[float | None],
    chosen: list[int],
) -> Tuned:
    params, best = p.task.space.params(np.array(finals)), _rank(p, scores)[0]
    details: Json = {
        "claim": CLAIM,
        "settings": p.settings.to_json(),
        "noise_scale": p.mechanism.scale,
        "noise_formula": "2 clip sqrt(trials) / (records mu_path), per coordinate of the mean gradient",
        "mu_path": p.task.price.mu() * path_share(p.settings),
        "path": [p.task.space.params(run.points) for run in runs],
        "gradients": [run.gradients for run in runs],
        "bias_trace": [run.traces for run in runs],
        "evaluations": sum(run.evaluations for run in runs),
        "lost_steps": sum(g is None for run in runs for g in run.gradients),
        "chosen_start": best,
    }
    if p.choice is not None:
        details["evaluations"] += len(p.places)
        details["scan"] = {"places": p.task.space.params(p.places), "chosen": chosen, "choice_noise": p.choice.scale}
    if p.scoring is not None:
        details["evaluations"] += len(scores)
        details["score"] = "a noisy mean at the final point" + ", the best of several" * (len(scores) > 1)
    trials = [{"params": q, "value": v} for q, v in zip(params, scores, strict=True) if v is not None]
    score, (low, high) = scores[best], p.task.objective.bounds
    shown = None if score is None else min(max(score, low), high)
    noise = p.scoring.scale if p.scoring is not None and trials else None
    about: Json = {"trials": trials, "noise": noise}
    o = p.task.objective
    if shown is not None and noise is not None:
        deviation = simultaneous_deviation(scores[best] or 0.0, params[best], trials, noise)
        sampling = sampling_deviation(shown, 1.96 * deviation, o.bounds, o.records)
        about |= {"deviation": deviation, "sampling": sampling, "settings": details["evaluations"]}
    return Tuned(params[best], shown, "gibo", o.direction, details=details, reading=o.reading, **about)
