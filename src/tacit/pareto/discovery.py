"""tacit.pareto.discover: from an algorithm to its privacy-utility front (DPareto)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.identity import DataIdentity, agree_on_data, describe_making, identify
from tacit.errors import BadInput, BudgetRefused, ObjectiveError, choice, count, differences, positive
from tacit.files import Json
from tacit.objective import call_without_message
from tacit.pareto.algorithm import Oracles, RunFailed, seeds_of
from tacit.pareto.estimates import LEAST, ErrorModel
from tacit.pareto.front import WHY, Front, Point
from tacit.pareto.private_front import ObservedTest, PrivateTest, totals_of
from tacit.pareto.remarks import PRIVACY_MODELS, refuse_infinite, usual_model
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.origin import NONE
from tacit.privacy.release import Release, digest
from tacit.run.evaluate import result, submit
from tacit.run.loop import run_trials
from tacit.run.progress import progress_bar
from tacit.run.study_store import is_claimed
from tacit.space import Params

if TYPE_CHECKING:
    from optuna import Study
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial

ABOUT, RUNS, PLACED, WANTED = "tacit:front", "tacit:runs", "tacit:placed", "tacit:wanted"
DATA, MADE, BASELINES = "tacit:data", "tacit:made", "tacit:baselines"
PLACES = ("utility", "deviation", "low", "high")


def discover(
    algorithm: Any,
    *,
    delta: float,
    trials: int,
    startup: int | None = None,
    reference: tuple[float, ...] = (10.0, 1.0),
    repeats: int = 1,
    privacy_model: str | None = None,
    private: PrivateTest | None = None,
    sampler: BaseSampler | None = None,
    storage: Any = None,
    study_name: str = "pareto",
    take_over: bool = False,
    executor: Executor | None = None,
    at_once: int | None = None,
    seed: int = 0,
    progress: bool | Callable[[int, int], None] = False,
    data: str | DataIdentity | None = None,
) -> Release[Front]:
    """Find the Pareto front of (epsilon, 1 - utility) over the algorithm's hyperparameters.

    ``trials`` counts all points, ``startup`` of them scattered first: a third, at least 4 and at most 16, if it is left
    out. Each is run ``repeats`` times. ``reference`` is
    the anti-ideal point: epsilons and errors beyond it are of no interest. ``sampler`` replaces DPareto by any
    multi-objective Optuna sampler. ``storage`` keeps the study: call again to go on, or from several processes at once.
    ``take_over=True`` closes trials that a killed process left running. ``executor`` runs ``at_once`` points together.
    ``data`` is what to call the data; a study of other data, algorithm, space or search is refused.
    ``release.value`` is the front.

    Guarantee. None: the front is measured on the data. With ``private=PrivateTest(budget)``: mu-GDP for one test record
    replaced, unconditional, for the front and everything stored; training records are not protected by it.
    Follows. Avent et al. (2020), Algorithm 2, without its model of epsilon if ``privacy_model="exact"``, the
    default below four parameters.
    Differs. See tacit.pareto.DParetoSampler. Batches, repeats and a third objective are ours: with three numbers in
    ``reference`` the algorithm's ``costs`` (known beforehand) or ``utility_and_cost`` (measured) is made small too.
    Edges. A run that fails is tried once more; then its point is recorded as failed and the study goes on, unless all
    of the first ``startup`` fail. A utility outside [0, 1] stops it. Infinite epsilons are kept out of the front.
    Of several processes on one private front the last to finish has the ledger record it; one that ends before returns
    the points there are, a front that no ledger has recorded. So does a trial that a killed process left running, until
    ``take_over=True``.

    >>> from tacit.training.sparse_vector import SparseVector
    >>> release = discover(SparseVector(), delta=0.0, trials=24, reference=(100.0, 1.0))
    >>> release.value.at(epsilon=50.0).epsilon <= 50.0, release.guarantee.kind
    (True, 'none')
    """
    oracles = Oracles(algorithm, delta)
    trials, repeats = count("trials", trials), count("repeats", repeats)
    startup = startup_share(trials) if startup is None else count("startup", startup)
    choice("privacy_model", privacy_model or "exact", PRIVACY_MODELS)
    corner = _corner(reference)
    usual = getattr(executor, "_max_workers", 1) if executor else 1
    width = count("at_once", usual if at_once is None else at_once)
    refuse_infinite(oracles)
    if len(corner) == 3:
        _refuse_third(oracles, private is not None)
    study = _study(storage, study_name, take_over, len(corner))
    begun = study.user_attrs.get(ABOUT)
    privacy_model = privacy_model or usual_model(oracles.space, len(corner), noisy=private is not None, begun=begun)
    how = f"dpareto, {privacy_model} privacy" if sampler is None else type(sampler).__name__
    _agree(study, oracles, how, repeats, private is not None, identify(data) or oracles.data)
    study.set_user_attr(WANTED, trials)  # for whoever watches
    test = ObservedTest(study, oracles, private, trials, repeats) if private is not None else None
    if sampler is None:
        from tacit.pareto.sampler import DParetoSampler

        scales, noise = (("log", "linear"), test.deviation**2) if test else (("log", "logit"), 0.0)
        about: Json = {"privacy_model": privacy_model, "scales": scales, "noise": noise, "seed": seed}
        about["costs"] = oracles.costs if len(corner) == 3 and not _is_measured(oracles) else None
        sampler = DParetoSampler(
            oracles.space, oracles.quick_epsilons, startup=min(startup, trials), reference=corner, **about
        )
    study.sampler = sampler
    with progress_bar("testing points", trials, wanted=progress is True) as advance:
        tell = progress if callable(progress) else lambda done, total: advance(done=done)
        _FrontSearch(study, oracles, test, trials, startup, repeats, seed, executor, width, tell).run()
    whole = _whole(study, trials)  # before the front is read: what is whole stays so
    front = _front(study, oracles, test, corner, whole)
    if whole and test is not None:
        from tacit.run.study import round_times

        test.settle(digest(front))
        round_times(study)
    return front.seal()


def startup_share(trials: int) -> int:
    """How many of so many points are scattered before the search: what 24 points can spare is less than 16.

    >>> [startup_share(trials) for trials in (3, 12, 24, 30, 272)]
    [4, 4, 8, 10, 16]
    """
    return max(4, min(16, trials // 3))


@dataclass(frozen=True)
class _FrontSearch:
    """Algorithm 2: propose, evaluate both oracles, add to the data, until the trials are used."""

    study: Study
    oracles: Oracles
    test: ObservedTest | None
    trials: int
    startup: int
    repeats: int
    seed: int
    executor: Executor | None
    at_once: int
    tell: Callable[[int, int], None]

    @property
    def three(self) -> bool:
        return len(self.study.directions) == 3

    @property
    def measured(self) -> bool:
        """Whether a third objective comes with each run."""
        return self.three and _is_measured(self.oracles)

    def run(self) -> None:
        distributions = self.oracles.space.distributions
        run_trials(self.study, distributions, more=self.more, begin=self.begin, finish=self.finish)

    def more(self, running: int) -> bool:
        return running < self.at_once and len(_counting_trials(self.study)) < self.trials

    def begin(self, trial: Trial) -> Future[Any] | None:  # steps 1 to 3 are the sampler's
        if (
            sum(t.number < trial.number for t in _counting_trials(self.study)) >= self.trials
        ):  # another process was quicker
            return None
        work: Callable[..., Any] = self.oracles.runs_and_costs if self.measured else self.oracles.runs
        if self.test is not None:
            work = _Totals(self.oracles, self.test.mechanism)
        return submit(self.executor, work, dict(trial.params), seeds_of(self.seed, trial.number, self.repeats))

    def finish(self, trial: Trial, future: Future[Any]) -> None:
        from optuna.trial import TrialState

        study, test, paid = self.study, self.test, False
        try:  # Step 4: evaluate the oracles v = (P(lambda), 1 - U(lambda)).
            answer = result(future)
            if test is not None:
                test.begin()  # a ledger that refuses ends the search
                paid = True
                answer = test.observe(trial, answer)
        except RunFailed as error:
            _record_failure(study, trial, str(error), self.startup)
        except BudgetRefused:
            if not paid:
                raise
            study.tell(trial, state=TrialState.FAIL)  # another process took the last draw
        else:
            answer, *costs = answer if self.measured else (answer,)
            if self.three and not costs:
                costs = [float(self.oracles.costs([dict(trial.params)])[0])]
            trial.set_user_attr(RUNS, answer)
            epsilon = float(self.oracles.epsilons([dict(trial.params)])[0])
            study.tell(trial, [epsilon, 1.0 - float(np.mean(answer)), *costs])  # Step 5: augment the data.
        self.tell(sum(t.state != TrialState.RUNNING for t in _counting_trials(study)), self.trials)


class _Totals:
    """A picklable evaluation of one trial on the private test set."""

    def __init__(self, oracles: Oracles, mechanism: Any) -> None:
        self.oracles, self.mechanism = oracles, mechanism

    def __call__(self, params: Params, seeds: Sequence[int]) -> list[int]:
        return totals_of(self.oracles, self.mechanism, params, seeds)


def _record_failure(study: Study, trial: Trial, why: str, startup: int) -> None:
    from optuna.trial import TrialState

    from tacit.pareto.sampler import FAILED

    trial.set_user_attr(FAILED, why)
    study.tell(trial, state=TrialState.FAIL)
    counted = [t for t in _counting_trials(study) if t.state != TrialState.RUNNING]
    if len(counted) >= startup and not any(t.state == TrialState.COMPLETE for t in counted):
        raise ObjectiveError(f"the first {len(counted)} points all failed; the last: {why}")


def _counting_trials(study: Study) -> list[FrozenTrial]:
    """Trials that finished, failed for good, used up their observation, or are running: not those cut short."""
    from optuna.trial import TrialState

    from tacit.pareto.sampler import FAILED

    trials, counted = study.get_trials(deepcopy=False), (TrialState.COMPLETE, TrialState.RUNNING)
    return [t for t in trials if t.state in counted or FAILED in t.user_attrs or is_claimed(t)]


def _whole(study: Study, trials: int) -> bool:
    """Whether nothing will be added: another process may have points under way."""
    counted = _counting_trials(study)
    return len(counted) >= trials and not any(t.state.name == "RUNNING" for t in counted)


def _front(study: Study, oracles: Oracles, test: ObservedTest | None, corner: tuple[float, ...], whole: bool) -> Front:
    from optuna.trial import TrialState

    from tacit.pareto.sampler import FAILED

    trials = study.get_trials(deepcopy=False)
    done = [t for t in trials if t.state == TrialState.COMPLETE]
    points = [Point.of(dict(t.params), t.values[0], t.user_attrs[RUNS], *t.values[2:]) for t in done]
    about: Json = {"label": oracles.label, "delta": oracles.delta, "name": oracles.name, "reference": corner}
    about["cost_name"] = oracles.cost_name if len(corner) == 3 else ""
    lost = [t for t in trials if FAILED in t.user_attrs]
    about |= {"failed": tuple(dict(t.params) for t in lost)}
    about |= {"reasons": tuple(dict.fromkeys(str(t.user_attrs[FAILED]) for t in lost))}
    if MADE in study.user_attrs:  # as the study was begun, so that a finished front stays the same
        about["origin"] = {"data": study.user_attrs.get(DATA), **study.user_attrs[MADE]}
    places = _place(study, oracles, test, points, whole)
    points = [replace(p, **place) for p, place in zip(points, places, strict=True)]
    if test is None:
        return Front(tuple(points), guarantee=Guarantee.none(WHY), baselines=_baselines(study, oracles), **about)
    noise = test.deviation if not points or points[0].low is not None else 0.0  # the first release did not say
    left = test.describe_origin(NONE).get("left")
    return Front(tuple(points), guarantee=test.guarantee, payment=test.payment, noise=noise, left=left, **about)


def _baselines(study: Study, oracles: Oracles) -> dict[str, float]:
    """Utilities to hold a front against, where the algorithm knows some; measured once."""
    if not callable(measure := getattr(oracles.algorithm, "baselines", None)):
        return {}
    if BASELINES not in study.user_attrs:
        measured = call_without_message(lambda _: {str(k): float(v) for k, v in measure().items()}, None)
        study.set_user_attr(BASELINES, {k: v for k, v in measured.items() if 0.0 <= v <= 1.0})
    stored: dict[str, float] = study.user_attrs[BASELINES]
    return stored


def _place(study: Study, oracles: Oracles, test: ObservedTest | None, points: list[Point], whole: bool) -> list[Json]:
    """What a point is told to be: its interval; of a private front also its utility, where the model sees it.

    Not where a lucky draw put it. Decided once: a finished private front that is asked for again is the same to the
    last digit, on any machine, since a ledger has its digest.
    """
    stored: list[list[float]] = study.user_attrs.get(PLACED, [])
    if test is not None and len(stored) == len(points):
        return [dict(zip(PLACES, place, strict=False)) for place in stored]
    finite = [p for p in points if np.isfinite(p.epsilon)]
    if len(finite) < LEAST:
        return [_place_alone(p, test) for p in points]
    model = ErrorModel.of(oracles.space, finite, test.deviation if test is not None else 0.0)
    error, lower, upper = model.errors(oracles.space.features([p.params for p in points]))
    utility, low, high = (np.clip(1.0 - e, 0.0, 1.0) for e in (error, upper, lower))
    if test is None:  # what was observed is shown, so its interval holds it too
        own = np.array([p.utility for p in points])
        ends = zip(np.minimum(low, own).tolist(), np.maximum(high, own).tolist(), strict=True)
        return [{"low": a, "high": b} for a, b in ends]
    placed = np.column_stack([utility, (high - low) / (2 * model.reach), low, high]).tolist()
    if whole:
        study.set_user_attr(PLACED, placed)
    return [dict(zip(PLACES, place, strict=True)) for place in placed]


def _place_alone(point: Point, test: ObservedTest | None) -> dict[str, Any]:
    """Too few points for a model: noise that is known is said, and nothing else."""
    if test is None:
        return {}
    return {"utility": min(max(point.utility, 0.0), 1.0), "deviation": test.deviation}


def _study(storage: Any, name: str, take_over: bool, objectives: int) -> Study:
    from tacit.run.study import open_study

    study = open_study(storage, name, ["minimize"] * objectives, take_over=take_over)
    if len(study.directions) != objectives or any(d.name != "MINIMIZE" for d in study.directions):
        raise BadInput(
            f"study {name!r} must minimise {objectives} objectives, got {study.directions}; choose another study_name"
        )
    return study


def _is_measured(oracles: Oracles) -> bool:
    return callable(getattr(oracles.algorithm, "utility_and_cost", None))


def _refuse_third(oracles: Oracles, private: bool) -> None:
    """A third objective needs an algorithm that has one; what is measured on test records is not released for free."""
    measured = _is_measured(oracles)
    if not measured and not callable(getattr(oracles.algorithm, "costs", None)):
        raise BadInput(
            "a reference of three numbers asks for a third objective: the algorithm must have costs(params), known "
            "beforehand, or utility_and_cost(params, seed), measured. Nothing was run"
        )
    if measured and private:
        raise BadInput(
            "a cost that is measured on test records is not covered by a private front; give costs(params), known "
            "beforehand. Nothing was spent"
        )


def _agree(study: Study, oracles: Oracles, search: str, repeats: int, private: bool, data: DataIdentity | None) -> None:
    """One study, one kind of epsilon and one kind of utility, of one algorithm on one set of data, by one search."""
    about: Json = {
        "name": oracles.name,
        "label": oracles.label,
        "delta": oracles.delta,
        "repeats": repeats,
        "private": private,
        "search": search,
    }
    about["space"] = {name: str(d) for name, d in oracles.space.distributions.items()}
    before = study.user_attrs.get(ABOUT)
    if before is None:
        study.set_user_attr(DATA, agree_on_data(None, data))
        study.set_user_attr(MADE, describe_making())
        study.set_user_attr(ABOUT, json.dumps(about, sort_keys=True))  # last: who reads it finds the rest
    else:
        agree_on_data(study.user_attrs.get(DATA), data)
        stored = {"search": search, **json.loads(before)}  # studies of the first release did not say
        if other := differences(json.dumps(stored), json.dumps(about)):
            raise BadInput(f"this study was begun otherwise: {other}. Choose another study_name, storage or folder")
    _same_formula(study, oracles)


def _same_formula(study: Study, oracles: Oracles) -> None:
    """Compute every stored epsilon again: a study holds those of one formula."""
    from optuna.trial import TrialState

    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    whole = [t for t in done if set(oracles.space.names) <= t.params.keys()]
    now = oracles.epsilons([dict(t.params) for t in whole])
    for t, epsilon in zip(whole, now, strict=True):
        if not np.isclose(t.values[0], epsilon, rtol=1e-4, atol=1e-9):
            raise BadInput(
                f"trial {t.number} of this study has epsilon {t.values[0]:.6g}; computed now it is {epsilon:.6g}: the "
                "formula has changed since, and epsilons of two formulas make no front. Choose another study_name or "
                "storage"
            )


def _corner(reference: Sequence[float]) -> tuple[float, ...]:
    try:
        epsilon, error, *third = reference
    except (TypeError, ValueError):
        third = [0.0, 0.0]
    if len(third) > 1:
        raise BadInput(f"reference must be (epsilon, error) or (epsilon, error, cost), got {reference!r}")
    epsilon, error = positive("reference[0]", epsilon), positive("reference[1]", error)
    if error > 1:
        turned = f"; did you mean ({error:g}, {epsilon:g})?" if epsilon <= 1 else ""
        raise BadInput(
            f"reference is the worst epsilon and the worst error of interest, and an error is at most 1, got "
            f"({epsilon:g}, {error:g}){turned}"
        )
    return (epsilon, error, *(positive("reference[2]", cost) for cost in third))
