"""Search on private observations: by a Gaussian process, at random, on a grid; and the same on exact scores.

Noise of standard deviation s is on each of T scores. The setting with the lowest of T' noisy scores (T' leaves out the
trials that confirm the choice) is not much worse than the best one tried: by s sqrt(2 log T') in expectation where
settings do not depend on earlier noise (the largest of T' Gaussians), by 2 s sqrt(2 log 2T') where they do.
Proof of the guarantee: docs/proofs/private-observations.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tacit.errors import BadInput, LedgerError, TacitError, count
from tacit.methods.branching import BranchSampler, TrialSpace, branch_sampler, distributions_of
from tacit.methods.forecast import Forecast, PlanInput, Preview, would_refuse
from tacit.methods.intervals import sampling_deviation
from tacit.methods.neighbours import (
    ENDS,
    EXAMPLE,
    Neighbours,
    opposite_ends,
    unit_space,
    with_second_column,
)
from tacit.methods.observed import (
    AT_ONCE,
    CHOSEN,
    Observations,
    ObservationTerms,
    ObservedTrials,
    confirm,
    confirmations,
    describe_constraint,
    is_contradicted,
    list_rivals,
    simultaneous_deviation,
)
from tacit.methods.privacy_unit import refuse_excessive_noise
from tacit.methods.task import Task
from tacit.methods.tuned import Tuned
from tacit.methods.warm_start import WarmStart, read_public
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.release import Release, digest_document
from tacit.privacy.units import VALIDATION as UNIT
from tacit.run.evaluate import is_elsewhere, result, submit_losses
from tacit.run.folder import lock_folder
from tacit.run.loop import run_trials
from tacit.run.progress import trials_bar
from tacit.run.study_store import read_attribute
from tacit.space import Params

if TYPE_CHECKING:
    import optuna

    from tacit.data.metrics.reading import Reading
    from tacit.methods.sampler import ModelSampler

RACE = 20  # one trial in so many looks again at what would be the answer, before one is chosen
WARM = 4  # trials before the model proposes, where public trials are known
EXACT_SCORES = "the search saw exact scores of the validation records"


def observed(task: Task) -> Release[Tuned]:
    """A Gaussian process that knows the noise proposes what to observe next."""
    return search_privately(task, "observed", model_sampler, confirmations(task.trials))


def random(task: Task) -> Release[Tuned]:
    """Uniform settings, or members of a list of candidates."""
    from tacit.methods.sampler import ScatterSampler

    def sampler(task: Task, variance: float) -> ModelSampler:
        return ScatterSampler(task.space, variance, candidates=task.list_candidates(), seed=task.seed)

    return search_privately(task, "random", sampler, confirmations(task.trials))


def grid(task: Task) -> Release[Tuned]:
    """The largest grid within the trials that do not confirm; what it leaves confirms too."""
    from tacit.methods.sampler import ListSampler

    points = task.space.grid_within(task.trials - confirmations(task.trials))

    def sampler(task: Task, variance: float) -> ModelSampler:
        return ListSampler(task.space, variance, points, seed=task.seed)

    return search_privately(task, "grid", sampler, task.trials - len(points))


def nonprivate(task: Task) -> Release[Tuned]:
    """The same search on exact means, to measure what privacy costs. Nothing is stored, since nothing is protected."""
    from tacit.privacy.mean import BoundedMean
    from tacit.run.study import open_study

    objective = task.objective
    study = open_study(None, "nonprivate", [objective.direction])
    study.sampler = sampler = model_sampler(task, 0.0)
    mean = BoundedMean(objective.records, objective.bounds, scale=1e-3 * (objective.bounds[1] - objective.bounds[0]))

    def more(running: int) -> bool:
        return running < _width(task) and len(study.get_trials(deepcopy=False)) < task.trials

    def begin(trial: optuna.Trial) -> Future[int]:
        return submit_losses(task.executor, objective, mean, dict(trial.params))

    def finish(trial: optuna.Trial, future: Future[int]) -> None:
        study.tell(trial, mean.mean_of(result(future)))

    run_trials(study, task.space.distributions, more=more, begin=begin, finish=finish)
    params, answer = sampler.answer(study)
    return Release(Tuned(params, answer.value, "nonprivate", objective.direction), Guarantee.none(EXACT_SCORES))


def refuse_loud_noise(terms: ObservationTerms, accepted: bool, width: float | None = None) -> None:
    """Refuse so much noise on each observation, unless it was accepted."""
    noise, what = terms.mechanism().scale, f"each of {terms.trials} evaluations"
    remedy = "a larger budget, fewer trials or method 'pool'"
    refuse_excessive_noise(noise, what, terms, useful=width, remedy=remedy, accepted=accepted)


def model_sampler(task: Task, variance: float, first: int = 0) -> ModelSampler:
    """A Gaussian process over the space of the task, or over its candidates."""
    from tacit.methods.sampler import ModelSampler

    trials, listed = task.trials, task.list_candidates()
    startup, race = min(trials, max(4, min(10, trials // 4))), trials - confirmations(trials) - trials // RACE
    sign = 1.0 if task.objective.higher_is_better else -1.0
    known = read_public(task.public, task.space) if task.public is not None else []
    public = WarmStart(task.space, known, sign) if known else None
    if public is not None:
        startup = min(startup, WARM)
    asked: dict[str, Any] = {
        "public": public,
        "startup": startup,
        "candidates": listed,
        "seed": task.seed,
        "first": first,
        "race": race,
    }
    if task.constraint is not None:  # both columns have the same noise in units of their widths
        (low, high), (least, most) = task.objective.bounds, task.constraint.bounds
        asked |= {"constraint": task.constraint, "margin_noise": variance * ((most - least) / (high - low)) ** 2}
    return ModelSampler(task.space, variance, **asked)


def search_privately(
    task: Task,
    method: str,
    make_sampler: Callable[[Task, float], ModelSampler],
    keep: int,
    *,
    terms: ObservationTerms | None = None,
    narrow: Callable[[Task, Observations], Task] = lambda task, observations: task,
) -> Release[Tuned]:
    """Search with all but ``keep`` of the trials, choose, and confirm the choice with those.

    ``narrow`` may make a draw of its own first, which ``terms`` pay for too, and give the task a smaller space.
    """
    from tacit.run.study import SEARCH, describe_search, observed_trials, open_study, round_times

    o = objective = task.objective
    if terms is None:
        terms = ObservationTerms(o.records, o.bounds, task.price, task.trials, o.direction, o.basis, task.constraint)
    _refuse(task, terms)
    with ExitStack() as stack:
        folder = stack.enter_context(lock_folder(task.out)) if task.out is not None else None
        where = folder.storage if folder is not None else task.storage
        study = open_study(where, task.study_name, [objective.direction], take_over=folder is not None)
        search = describe_search(study, task.space, method)
        observations = Observations(study, terms, ledger=task.ledger, noise=task.noise, data=task.data)
        study.set_user_attr(SEARCH, search)
        task = narrow(task, observations)
        sampler = _begin(study, task, make_sampler, terms)
        tell = stack.enter_context(trials_bar(study, task.trials, task.progress))
        if read_attribute(study, CHOSEN) is None:
            work = ObservedTrials(observations, objective, task.executor, _width(task), keep, tell)
            run_trials(study, _distributions(task), more=work.more, begin=work.begin, finish=work.finish)
            observations.await_others()
        params, answer = _choose(study, sampler)
        distributions = distributions_of(study, params) if isinstance(task.space, TrialSpace) else _distributions(task)
        confirm(observations, objective, distributions, params, executor=task.executor, done=tell)
        observations.await_others()
        if (first := _find_confirmed(study, task, terms)) is not None:
            params = first
        else:  # what all observations say, to a model without a past of its own
            params, answer = _begin(study, task, make_sampler, terms).answer(study)
        round_times(study)
        release = _release(study, params, answer, observations, method, objective.reading)
        if folder is not None:
            folder.write_certificate(release)
            folder.write_trials(observed_trials(study))
    return release


def _refuse(task: Task, terms: ObservationTerms) -> None:
    """Refuse what cannot be searched, before anything is opened or paid."""
    if task.constraint is not None and isinstance(task.space, TrialSpace):
        raise BadInput(
            "with a constraint, method 'observed' needs a space of named parameters, not a function: name them, or use "
            "method 'pool'. Nothing was spent"
        )
    refuse_loud_noise(terms, task.accept_noise, task.objective.useful_width)
    if task.storage is not None and task.out is not None:
        raise BadInput("give storage or out, not both: with out, the study is kept in the folder")


def _begin(
    study: optuna.Study, task: Task, make_sampler: Callable[[Task, float], ModelSampler], terms: ObservationTerms
) -> ModelSampler | BranchSampler:
    """A sampler for the study, which proposes and answers; of a space that branches its answer is by branch."""
    variance = terms.mechanism().scale ** 2
    if not isinstance(task.space, TrialSpace):
        study.sampler = sampler = make_sampler(task, variance)
        return sampler
    branching = branch_sampler(
        min(10, task.trials // 4 + 1) if make_sampler is model_sampler else None, task.seed, variance
    )
    study.sampler = branching.inside
    return branching


def _distributions(task: Task) -> Any:
    return task.space.fill if isinstance(task.space, TrialSpace) else task.space.distributions


def _find_confirmed(study: optuna.Study, task: Task, terms: ObservationTerms) -> Params | None:
    """The choice that was confirmed, unless another setting was seen to be better.

    Of processes that end at once, each may have chosen: the first that was confirmed is the choice of all.
    """
    from tacit.run.study import confirmed_choice, observed_trials

    if (first := confirmed_choice(study)) is None:
        return None
    rivals = list_rivals(first, observed_trials(study), task.constraint)
    variance, higher = terms.mechanism().scale ** 2, task.objective.higher_is_better
    return None if is_contradicted(first, rivals, variance, higher) else first


def _width(task: Task) -> int:
    if task.executor is None and not is_elsewhere(task.objective):
        return 1
    return count("at_once", task.at_once or getattr(task.executor, "_max_workers", None) or 1)


def _choose(study: optuna.Study, sampler: ModelSampler | BranchSampler) -> tuple[Params, Any]:
    """The parameters to answer with, chosen once and before they are confirmed, and what the model expects of them."""
    from tacit.run.study import observed_trials

    if not observed_trials(study):
        raise TacitError(
            "all paid observations were lost in interrupted runs, so there is nothing to answer with. "
            "Start a new study with its own budget"
        )
    params, answer = sampler.answer(study)
    return read_attribute(study, CHOSEN, params), answer


def _release(
    study: optuna.Study,
    params: Params,
    answer: Any,
    observations: Observations,
    method: str,
    reading: Reading | None,
) -> Release[Tuned]:
    """The answer with every observation: post-processing of what was already released."""
    from tacit.run.study import confirmed_values, observed_trials

    if (given := observations.answer()) is not None:  # called again: the same answer, to the last digit
        return _give(Tuned.from_json(given), observations)
    observed = observed_trials(study)
    score, source = answer.value, f"the model of all observations; {AT_ONCE}"
    deviation = simultaneous_deviation(score, params, observed, observations.mechanism.scale)
    fresh = confirmed_values(study, params)
    if fresh:
        score = sum(value for value, _ in fresh) / len(fresh)
        deviation = observations.mechanism.scale / math.sqrt(len(fresh))
        many = f"the mean of {len(fresh)} observations" if len(fresh) > 1 else "one observation"
        source = f"{many} made after the choice"
    low, high = bounds = observations.terms.bounds
    score = min(max(score, low), high)
    value = Tuned(
        params,
        score,
        method,
        observations.terms.direction,
        deviation=deviation,
        noise=observations.mechanism.scale,
        trials=observed,
        details={"score": source, **describe_constraint(params, observed, fresh, observations)},
        sampling=sampling_deviation(score, 1.96 * deviation, bounds, observations.terms.records),
        settings=observations.terms.hidden + len(observed) - len(fresh),
        reading=reading,
    )
    return _give(value, observations)


def _give(value: Tuned, observations: Observations) -> Release[Tuned]:
    """Have the answer recorded; of several processes that finish a study at once, the first answers for all."""
    try:
        document = value.to_json()
        observations.give(document, digest_document(document))
    except LedgerError:  # a process beside this one was quicker, and its answer is the one of all
        if not observations.recorded_digest() or (given := observations.answer()) is None:
            raise
        value = Tuned.from_json(given)
    return Release(value, observations.guarantee, observations.payment, observations.describe_origin())


# What these searches would give


def preview_search(method: str, terms: ObservationTerms, *, adaptive: bool) -> Preview:
    """What a search of these terms would give."""
    scale, keep = terms.mechanism().scale, confirmations(terms.trials)
    tried = terms.trials - keep
    bound, whose = scale * math.sqrt(2 * math.log(tried)), "lowest noisy score"
    if adaptive:
        bound, whose = 2 * scale * math.sqrt(2 * math.log(2 * tried)), "lowest of adaptively chosen noisy scores"
    return Preview(
        method,
        terms.guarantee(),
        terms.trials,
        {"method": method},
        scale,
        "one observation",
        bound,
        f"{whose} against the best setting tried (Gaussian maximum)",
        refused=would_refuse(lambda: refuse_loud_noise(terms, False)),
        notes=(f"one trial in {terms.trials // keep} confirms the choice",) if keep else (),
    )


def _preview(method: str, case: PlanInput, *, adaptive: bool) -> Preview:
    return preview_search(method, case.terms(), adaptive=adaptive)


def _grid_preview(case: PlanInput) -> Preview:
    made, each = _preview("grid", case, adaptive=False), 1
    while (each + 1) ** case.dimensions <= case.trials - confirmations(case.trials):
        each += 1
    tried = each**case.dimensions
    note = f"a grid of {each} per parameter, {tried} in all; its loss is not measured"
    bound = float(made.noise or 0.0) * math.sqrt(2 * math.log(tried))
    return replace(made, bound=bound, notes=(*made.notes, note))


def _nonprivate_preview(case: PlanInput) -> Preview:
    note = "private observations without their noise: what privacy costs is the difference"
    guarantee = Guarantee.none(EXACT_SCORES, UNIT)
    return Preview("nonprivate", guarantee, case.trials, {"method": "nonprivate"}, 0.0, notes=(note,))


OBSERVED = (Forecast("observed", partial(_preview, "observed", adaptive=True), "observed"),)
RANDOM = (Forecast("random", partial(_preview, "random", adaptive=False), "random"),)
GRID = (Forecast("grid", _grid_preview),)
NONPRIVATE = (Forecast("nonprivate", _nonprivate_preview, "observed", level=None),)


def neighbours(trials: int = 4, records: int = 20) -> Neighbours:
    """One record at either end of the bounds: its losses move every observation as far as they can."""

    def outputs(value: Tuned) -> list[float]:
        return [*(t["value"] for t in value.trials), float(value.loss or 0.0), value.params["x"]]

    about = f"{trials} trials over {records} records, all that it releases; {ENDS}"
    return Neighbours(about, Budget.gdp(2.0), opposite_ends(records), unit_space(), records, trials, outputs)


def constrained_neighbours(trials: int = 4, records: int = 20) -> Neighbours:
    """The same with a constraint: the record's second column moves as far as its losses do."""
    plain = neighbours(trials, records)

    def outputs(value: Tuned) -> list[float]:
        return [*plain.outputs(value), *(t["constraint"] for t in value.trials), value.details["constraint"]["value"]]

    both = with_second_column(plain.objectives)
    about = f"{plain.about}; so does its value of a constrained metric"
    return replace(plain, about=about, objectives=both, outputs=outputs, arguments={"constraint": EXAMPLE})


def observed_neighbours() -> Neighbours:
    """Without a constraint and with one."""
    return replace(neighbours(), others=(constrained_neighbours(),))
