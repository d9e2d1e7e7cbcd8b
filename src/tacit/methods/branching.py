"""Spaces whose parameters depend on others: a function of a trial, as Optuna's users write them.

    def space(trial):
        kind = trial.suggest_categorical("kind", ["svm", "forest"])
        if kind == "svm":
            trial.suggest_float("C", 1e-3, 1e3, log=True)
        else:
            trial.suggest_int("depth", 2, 12)

Trials with the same parameters form a branch. Optuna proposes; the answer is the best expectation of a model of each
branch that knows the noise. All of this is post-processing of private observations.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import BadInput, count, type_and_shape
from tacit.space import Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial

    from tacit.methods.optimiser import BestGuess

METHODS = ("observed", "random", "pool", "staged")
LEAST = 4  # trials of a branch to which a model is fitted; fewer answer by their own observations


class TrialSpace(Space):
    """A space that a function of a trial suggests. It has no list of parameters: they differ from trial to trial.

    The function must not look at the records: which parameters it suggests is released.
    """

    def __init__(self, suggest: Callable[[Any], Any]) -> None:
        self.suggest = suggest
        self._rehearse()

    @property
    def distributions(self) -> dict[str, Any]:  # type: ignore[override]
        raise BadInput(
            f"a function of a trial as space works with method {' or '.join(METHODS)}; others need named parameters, "
            "{'rate': tacit.Float(1e-3, 1.0, log=True), ...}. Nothing was spent"
        )

    def describe(self) -> str:
        """For the study, which goes on only with the same function by name."""
        return f"{self.suggest.__module__}:{self.suggest.__qualname__}"

    def sobol(self, n: int, seed: int = 0) -> list[Params]:
        """n settings that the function suggests at random, without repeats; fixed by the seed."""
        import optuna

        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed))
        listed = dict[str, Params]()
        for _ in range(count("candidates", n)):
            trial = study.ask()
            self.fill(trial)
            listed.setdefault(repr(sorted(trial.params.items())), dict(trial.params))
        return list(listed.values())

    def cube(self, params: Sequence[Mapping[str, Any]]) -> Any:
        """Candidates come from the function itself, so they have a place."""
        return None

    def branch_at(self, params: Params) -> Space:
        """The numbers of the branch of these parameters; choices, on which others may depend, stay as they are."""
        import optuna

        trial = optuna.trial.FixedTrial(params)
        self.suggest(trial)
        choices = {name: [params[name]] for name, d in trial.distributions.items() if hasattr(d, "choices")}
        return Space({**trial.distributions, **choices})

    def fill(self, trial: Trial) -> None:
        """Have the function suggest the parameters of a trial."""
        answer = self.suggest(trial)
        if not trial.params:
            raise BadInput("the space must suggest at least one parameter: trial.suggest_float(...)")
        if answer is not None and (not isinstance(answer, Mapping) or dict(answer) != trial.params):
            raise BadInput(
                "a space returns nothing, or the parameters that it suggested by their names; the objective is given "
                f"trial.params. It returned {type_and_shape(answer)}. Derive other values in the objective"
            )

    def _rehearse(self) -> None:
        """Once on a study of its own, before anything is spent."""
        import optuna

        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            self.fill(optuna.create_study().ask())
        finally:
            optuna.logging.set_verbosity(level)


@dataclass(frozen=True)
class Expectation:
    """Of one setting: the mean of its own observations and how many there are, and what a model expects of it."""

    params: Params
    mean: float
    looks: int
    expected: float
    deviation: float


class BranchSampler:
    """An Optuna sampler for a space that branches, and the answer of a model of each branch."""

    def __init__(self, inside: BaseSampler, variance: float) -> None:
        self.inside, self.variance = inside, variance

    def answer(self, study: Study) -> tuple[Params, BestGuess]:
        """The best expectation over all branches, among settings that no other observation refutes."""
        return answer_by_branch(study, self.variance)


def answer_by_branch(study: Study, variance: float) -> tuple[Params, BestGuess]:
    """The parameters to answer with, whatever parameters the trials have: see BranchSampler.answer."""
    from tacit.methods.optimiser import BestGuess, find_refuted

    sign = 1.0 if study.direction.name == "MAXIMIZE" else -1.0
    listed = [e for branch in branches_of(study) for e in _expect(branch, variance, sign)]
    noise = variance / np.array([e.looks for e in listed])
    out = find_refuted(np.array([e.mean for e in listed]), noise)
    best = int(np.argmax(np.where(out, -math.inf, [e.expected for e in listed])))
    return dict(listed[best].params), BestGuess(best, sign * listed[best].expected, listed[best].deviation)


def _expect(branch: list[FrozenTrial], variance: float, sign: float) -> list[Expectation]:
    """What is known of each setting of a branch, larger is better; of few trials their own observations alone."""
    import optuna

    from tacit.methods.optimiser import Looks, Optimiser

    common = optuna.search_space.intersection_search_space(branch)
    y = sign * np.array([float(t.value or 0.0) for t in branch])
    if len(branch) >= LEAST and common.keys() == branch[0].params.keys():
        space = Space(common)
        looks, mean, spread = Optimiser(space, variance).expect(space.features([t.params for t in branch]), y)
    else:
        places: dict[Any, int] = {}
        at = [places.setdefault(repr(sorted(t.params.items())), len(places)) for t in branch]
        looks = Looks.of(np.array(at, float)[:, None], y)
        mean, spread = looks.means, variance / looks.counts
    return [
        Expectation(branch[i].params, float(own), int(k), float(m), math.sqrt(float(v)))
        for i, own, k, m, v in zip(looks.first, looks.means, looks.counts, mean, spread, strict=True)
    ]


def branches_of(study: Study) -> list[list[FrozenTrial]]:
    """Finished trials by the names of their parameters."""
    from optuna.trial import TrialState

    branches = dict[Any, list[Any]]()
    for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        branches.setdefault(tuple(sorted(trial.params)), []).append(trial)
    return list(branches.values())


def branch_sampler(startup: int | None, seed: int, variance: float) -> BranchSampler:
    """Optuna's tree-structured estimator, which takes branches as groups; without ``startup`` chance."""
    import optuna

    if startup is None:
        return BranchSampler(optuna.samplers.RandomSampler(seed), variance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        inside = optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=startup, multivariate=True, group=True, constant_liar=True
        )
    return BranchSampler(inside, variance)


def distributions_of(study: Study, params: Params) -> dict[str, Any]:
    """Those of the trial that had these parameters."""
    return next(dict(t.distributions) for t in study.get_trials(deepcopy=False) if t.params == params)
