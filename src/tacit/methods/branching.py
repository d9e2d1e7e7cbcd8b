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

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tacit.errors import BadInput, type_and_shape
from tacit.space import Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial

    from tacit.methods.surrogate import BestGuess

METHODS = ("observed", "random")
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


class BranchSampler:
    """An Optuna sampler for a space that branches, and the answer of a model of each branch."""

    def __init__(self, inside: BaseSampler, variance: float) -> None:
        self.inside, self.variance = inside, variance

    def answer(self, study: Study) -> tuple[Params, BestGuess]:
        """The parameters to answer with: the best expectation over all branches."""
        guesses = [self._expect(study, branch) for branch in branches_of(study)]
        better = max if study.direction.name == "MAXIMIZE" else min
        return better(guesses, key=lambda guess: guess[1].value)

    def _expect(self, study: Study, branch: list[FrozenTrial]) -> tuple[Params, BestGuess]:
        import optuna

        from tacit.methods.sampler import KnownNoiseSampler
        from tacit.methods.surrogate import BestGuess

        common = optuna.search_space.intersection_search_space(branch)
        if len(branch) < LEAST or common.keys() != branch[0].params.keys():
            higher = study.direction.name == "MAXIMIZE"
            best = sorted(branch, key=lambda t: float(t.value or 0.0), reverse=higher)[0]
            return dict(best.params), BestGuess(best.number, float(best.value or 0.0), self.variance**0.5)
        alone = optuna.create_study(direction=study.direction)
        alone.add_trials(branch)
        return KnownNoiseSampler(Space(common), self.variance).answer(alone)


def branches_of(study: Study) -> list[list[FrozenTrial]]:
    """Finished trials by the names of their parameters."""
    from optuna.trial import TrialState

    found = dict[Any, list[Any]]()
    for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        found.setdefault(tuple(sorted(trial.params)), []).append(trial)
    return list(found.values())


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
