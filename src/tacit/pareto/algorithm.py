"""What a privacy-utility front is drawn for: an algorithm, its privacy oracle and its utility oracle.

    lambda  hyperparameters, a point of ``space``
    P       privacy oracle: epsilon of the algorithm at lambda, for a fixed delta
    U       utility oracle: a number in [0, 1], larger is better, the mean of R runs

Avent et al. (2020), Section 2.1. P is a formula, and is asked about thousands of points at once; U trains and measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from tacit.data.identity import DataIdentity, data_of
from tacit.errors import BadInput, ObjectiveError, TacitError, type_and_shape
from tacit.objective import call_without_message
from tacit.space import Array, Params, Space

UTILITIES = ("utility", "utilities", "each_utility", "utility_and_cost")


@runtime_checkable
class Algorithm(Protocol):
    """A differentially private algorithm with hyperparameters. Any object with these attributes is one.

    ``label`` says how records are sampled and what neighbours are, such as "fixed-size lots without replacement, one
    record replaced": epsilons of different labels are different quantities. ``utility`` runs the algorithm once; equal
    seeds should give equal answers.

    Optional attributes:
        epsilon(params, delta) -> float             in place of ``epsilons``; slow if it is slow
        quick_epsilons(params, delta) -> array (n,) about what ``epsilons`` says, for choosing among thousands of points
        utilities(params, seeds) -> array (R,)      in place of R calls of ``utility``
        higher = False                              ``utility`` answers with an error, smaller is better
        name                                        what to call it in print; the class's name otherwise
        random: dict of parameter -> distribution   how random search draws (tacit.pareto.baselines)
        records, each_utility(params, seed)         number of test records and their utilities (records,), each in
                                                    [0, 1]: needed for a private front, and there instead of ``utility``
        records as tacit.Shards, train(params, seed), score(model, frame)
                                                    the same for test records that are scored where they are
        data                                        a name or a tacit.data.identity.DataIdentity: a study of another
                                                    one is refused; algorithms that hold ``examples`` need none
        measuring_only = True                       facts were read off the test records: a private front is refused
        costs(params) -> array (n,)                 a third objective that is known beforehand, such as time or memory
        utility_and_cost(params, seed) -> pair      one that is measured with a run, such as a gap between groups; then
                                                    in place of ``utility``. Smaller is better, 0 or more
        cost_name                                   what to call it, such as "seconds"
        baselines() -> dict of name -> utility      lines on the page of a front that is not private: a constant
                                                    guess, a model without privacy
        from_table(table, target, seed=...)         class method: the algorithm on a pandas DataFrame, for the shell
    """

    @property
    def space(self) -> Space | Mapping[str, Any]: ...
    @property
    def label(self) -> str: ...
    def epsilons(self, params: Sequence[Params], delta: float) -> Array: ...
    def utility(self, params: Params, seed: int) -> float: ...


@dataclass(frozen=True)
class Oracles:
    """An algorithm whose answers are checked: what the rest of this room talks to."""

    algorithm: Any
    delta: float

    def __post_init__(self) -> None:
        a = self.algorithm
        if isinstance(a, type):
            raise BadInput(f"the algorithm must be an object, got the class {a.__name__}: call it first")
        if not (callable(getattr(a, "epsilons", None)) or callable(getattr(a, "epsilon", None))):
            raise BadInput(
                f"the algorithm must have epsilons(params, delta) or epsilon(params, delta), got {type_and_shape(a)}"
            )
        if not any(callable(getattr(a, name, None)) for name in (*UTILITIES, "score")):
            raise BadInput(f"the algorithm must have utility(params, seed), got {type_and_shape(a)}")
        if not isinstance(getattr(a, "label", None), str) or not a.label.strip():
            raise BadInput(
                "the algorithm must have a label that states its sampling scheme and neighbour relation, such as "
                "label = 'fixed-size lots without replacement, one record replaced'"
            )
        if getattr(a, "space", None) is None:
            raise BadInput(
                f"the algorithm must have a space, such as {{'rate': tacit.Float(1e-3, 1)}}: {type_and_shape(a)}"
            )
        object.__setattr__(self, "_space", Space(a.space))
        if isinstance(self.delta, bool) or not isinstance(self.delta, (int, float)) or not 0 <= self.delta < 1:
            raise BadInput(f"delta must be in [0, 1), got delta={self.delta!r}")

    @property
    def space(self) -> Space:
        return cast(Space, self._space)  # type: ignore[attr-defined]

    @property
    def label(self) -> str:
        return str(self.algorithm.label)

    @property
    def name(self) -> str:
        return str(getattr(self.algorithm, "name", None) or type(self.algorithm).__name__)

    @property
    def data(self) -> DataIdentity | None:
        """Which data utilities are measured on, where the algorithm says so or holds examples."""
        examples: Any = getattr(self.algorithm, "examples", None)
        found = data_of(self.algorithm)
        return examples.identify() if found is None and hasattr(examples, "identify") else found

    def epsilons(self, params: Sequence[Params]) -> Array:
        """P at some points, (n,). Infinity means not private at all and is allowed; nothing below 0 is."""
        a = self.algorithm
        if callable(getattr(a, "epsilons", None)):
            return self._ask_oracle(params, lambda p: a.epsilons(p, self.delta))
        return self._ask_oracle(params, lambda many: [a.epsilon(p, self.delta) for p in many])

    def quick_epsilons(self, params: Sequence[Params]) -> Array:
        """About P at thousands of points, (n,): to choose among them. What is recorded is ``epsilons``."""
        a = self.algorithm
        if callable(getattr(a, "quick_epsilons", None)):
            return self._ask_oracle(params, lambda p: a.quick_epsilons(p, self.delta))
        return self.epsilons(params)

    def _ask_oracle(self, params: Sequence[Params], oracle: Callable[[list[Params]], Any]) -> Array:
        if not params:
            return np.empty(0)
        answer = call_without_message(oracle, list(params))
        try:
            array = np.asarray(answer, float)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.shape != (len(params),):
            raise ObjectiveError(
                f"the privacy oracle must answer with {len(params)} numbers, got {type_and_shape(answer)}"
            )
        if not (array >= 0).all():
            raise ObjectiveError("the privacy oracle answered with an epsilon that is negative or not a number")
        return array

    @property
    def cost_name(self) -> str:
        return str(getattr(self.algorithm, "cost_name", "cost"))

    def costs(self, params: Sequence[Params]) -> Array:
        """A third objective that is known beforehand, (n,)."""
        found = self._ask_oracle(params, lambda p: self.algorithm.costs(p))
        if not np.isfinite(found).all():
            raise ObjectiveError("costs must be finite numbers, 0 or more")
        return found

    def runs_and_costs(self, params: Params, seeds: Sequence[int]) -> tuple[list[float], float]:
        """Utilities of one run for each seed, and the mean of what was measured with them."""
        costs = []

        def run(given: Params, seed: int) -> Any:
            utility, cost = self.algorithm.utility_and_cost(given, seed)
            costs.append(float(cost))
            return utility

        utilities = [_try_twice(partial(self._one, run, params, seed))[0] for seed in seeds]
        if not all(math.isfinite(c) and c >= 0 for c in costs):
            raise ObjectiveError("a cost that is measured must be a finite number, 0 or more")
        return utilities, float(np.mean(costs))

    def runs(self, params: Params, seeds: Sequence[int]) -> list[float]:
        """Utilities of one run for each seed. A run that raises, or answers NaN, is tried once more, then Failed.

        Edges. A utility outside [0, 1] breaks the rule everywhere, so it stops the study (ObjectiveError).
        """
        several: Callable[..., Any] | None = getattr(self.algorithm, "utilities", None)
        if several is not None:
            return _try_twice(lambda: _utilities(several(dict(params), list(seeds)), len(seeds), self._higher))
        run = self.algorithm.utility
        return [_try_twice(partial(self._one, run, params, seed))[0] for seed in seeds]

    def _one(self, run: Callable[..., Any], params: Params, seed: int) -> list[float]:
        return _utilities(run(dict(params), seed), None, self._higher)

    @property
    def _higher(self) -> bool:
        return bool(getattr(self.algorithm, "higher", True))


class RunFailed(TacitError):
    """A run that failed twice: the point is recorded as failed and the study goes on. Pickles."""


def seeds_of(seed: int, trial: int, repeats: int) -> list[int]:
    """One seed for each run of a trial, the same on every machine."""
    words = np.random.SeedSequence((seed, trial)).generate_state(repeats, np.uint32)
    return [int(w) for w in words]


def _try_twice(run: Callable[[], list[float]]) -> list[float]:
    try:
        return call_without_message(lambda _: run(), None)  # type: ignore[no-any-return]
    except ObjectiveError as first:
        if isinstance(first, _Outside):
            raise
    try:
        return call_without_message(lambda _: run(), None)  # type: ignore[no-any-return]
    except ObjectiveError as second:
        if isinstance(second, _Outside):
            raise
        raise RunFailed(str(second)) from None


class _Outside(ObjectiveError):
    """A utility that breaks the rule: trying again would not help."""


def _utilities(answer: Any, n: int | None, higher: bool) -> list[float]:
    try:
        values = [float(answer)] if n is None else [float(v) for v in answer]
    except (TypeError, ValueError):
        raise _Outside(
            f"the utility oracle must answer with a number in [0, 1], got {type_and_shape(answer)}"
        ) from None
    if n is not None and len(values) != n:
        raise _Outside(f"utilities must answer with one number for each of {n} seeds, got {len(values)}")
    if any(math.isnan(v) for v in values):
        raise ObjectiveError("the utility oracle answered NaN")
    if not all(0.0 <= v <= 1.0 for v in values):
        raise _Outside(
            "the utility oracle must answer in [0, 1]; it answered outside. Scale or clip it with public bounds"
        )
    return values if higher else [1.0 - v for v in values]
