"""Two data sets that differ in one record, on which a method's claim is tightest: what its audit runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Source
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Array, Float, Params, Space

EXAMPLE = ("metric", ">=", 0.4)  # a constraint for the second column
ENDS = "every loss of one record goes from the lower to the upper bound, the others stay in the middle"


@dataclass(frozen=True)
class Neighbours:
    """An objective on each of two neighbouring data sets, how it is tuned, and what of the release is looked at.

    ``arguments`` are those of ``tacit.tune``; losses are in [0, 1]. ``outputs`` turns a release into numbers, as many
    in each run.
    """

    about: str
    budget: Budget
    objectives: tuple[Callable[[Params], Any], Callable[[Params], Any]]
    space: Space
    records: int
    trials: int
    outputs: Callable[[Tuned], list[float]]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    runs: int = 600  # on each data set, if nobody says
    exact: bool = True  # release-grade noise, if nobody says
    share: float = 1.0  # of the budget that is spent on them, to three digits
    inside: tuple[str, ...] = ()  # kinds of draws that never leave the run
    others: tuple[Neighbours, ...] = ()  # more pairs that are worst for a part of the method
    conditional: str = ""  # what a measured value says of a claim that rests on a model

    def tune(self, method: str, side: int, noise: Source, budget: Budget | None = None) -> Tuned:
        """``tacit.tune`` on one of the two data sets."""
        from tacit.methods.tune import tune

        return tune(
            self.objectives[side],
            self.space,
            records=self.records,
            bounds=(0.0, 1.0),
            budget=budget or self.budget,
            trials=self.trials,
            method=method,
            noise=noise,
            accept_noise=True,
            progress=False,
            **self.arguments,
        ).value

    def worst_pairs(self, method: str) -> Iterator[WorstPair]:
        """These and the others, as what the law of recorded draws plays."""
        for pair in (self, *self.others):
            play = partial(pair.tune, method)
            yield WorstPair(pair.about, pair.budget, play, pair.share, pair.inside)


def unit_space(dimensions: int = 1) -> Space:
    """The unit cube, of parameters x0, x1 and so on; of x alone in one dimension."""
    names = ["x"] if dimensions == 1 else [f"x{i}" for i in range(dimensions)]
    return Space({name: Float(0.0, 1.0) for name in names})


def with_second_column(objectives: tuple[Callable[[Any], Array], Callable[[Any], Array]]) -> Any:
    """The same losses twice: as losses, and as the values of a constrained metric."""

    def twice(side: int) -> Callable[[Any], Array]:
        return lambda params: np.column_stack([objectives[side](params)] * 2)

    return twice(0), twice(1)


def opposite_ends(records: int) -> tuple[Callable[[Any], Array], Callable[[Any], Array]]:
    """Losses that move a mean as far as one record can, whatever the parameters."""

    def losses(side: int) -> Callable[[Any], Array]:
        data = np.r_[float(side), np.full(records - 1, 0.5)]
        return lambda params: data

    return losses(0), losses(1)
