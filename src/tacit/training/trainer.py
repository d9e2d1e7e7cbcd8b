"""What a trainer for release is: a space, a calibration below one base profile, and a training with exact noise.

A trainer is one file. ``tests/laws/test_trainer_laws.py`` holds every one of them to the same laws, and
``tests/laws/test_recorded_draws.py`` to what it claims, on the worst pairs that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise import Source
from tacit.privacy.profiles import Profile, TableProfile
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Params
from tacit.training.registry import CLASSES as CLASSES
from tacit.training.registry import NUMBERS as NUMBERS


@dataclass(frozen=True)
class Span:
    """The features [start, stop) that come from one column of the table.

    Of a category they are one for each word and one for others; of a number its place, its bins where it has cuts, and
    "missing" (see ``Preparation``).
    """

    __released__ = True

    start: int
    stop: int
    number: bool


@dataclass(frozen=True)
class Facts:
    """What is public about the training rows: how many, how many features, and what is predicted.

    ``outputs`` is the number of classes, or 1 where a number is predicted. ``columns`` says which features belong
    together; without it every feature is a number of its own.
    """

    records: int
    features: int
    task: str
    outputs: int
    columns: tuple[Span, ...] = ()

    @property
    def spans(self) -> tuple[Span, ...]:
        """The columns, or every feature as a number of its own."""
        return self.columns or tuple(Span(j, j + 1, True) for j in range(self.features))

    def rows_per_column(self, mu: float) -> float:
        """x = n mu / d: how much a training of mu can tell of each column. What suits a table follows from it."""
        return self.records * mu / max(1, len(self.spans))


@dataclass(frozen=True, repr=False)
class EncodedRows:
    """Features (n, d), each within [-1, 1] or 0/1, and targets (n,): class numbers, or numbers within [-1, 1]. Private.

    A target that is missing or outside is -1 for classes and NaN for numbers; such a row trains nothing. ``owners`` are
    the numbers of the persons whose rows they are, where persons have several.
    """

    X: NDArray[np.float64]
    target: NDArray[np.float64]
    owners: NDArray[np.intp] | None = None

    @property
    def units(self) -> int:
        """Records, or persons."""
        return len(self.X) if self.owners is None else int(self.owners.max()) + 1

    @property
    def weights(self) -> NDArray[np.float64]:
        """What each row counts for, (n,): 1, or one over the number of rows of its person."""
        if self.owners is None:
            return np.ones(len(self.X))
        return np.asarray(1.0 / np.bincount(self.owners)[self.owners])

    def __repr__(self) -> str:
        return f"<{len(self.X)} encoded rows, private>"


@dataclass(frozen=True)
class Base:
    """What one run may cost: mu-GDP, or any profile below ``table``, that of mu-GDP raised to a small floor."""

    mu: float
    table: TableProfile


class Model(Protocol):
    """What training gives: scores for encoded features, and a JSON form if it is made of numbers alone."""

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k), or predicted targets (n, 1) within [-1, 1]."""
        ...


class Trainer(Protocol):
    """A differentially private training, calibrated to stay below a base profile whatever its hyperparameters are.

    ``assumptions`` are what its guarantee rests on besides the theorem, such as noise from floating-point normals;
    ``premises`` are duties of code that its user wrote. Both are on the certificate. The middle of its space is its
    default setting, near which settings are drawn oftener. It may have ``defaults(facts, base)``, the setting of one
    run from public facts; the middle of its space if not.
    """

    @property
    def name(self) -> str: ...

    @property
    def task(self) -> str: ...

    @property
    def assumptions(self) -> tuple[str, ...]: ...

    @property
    def premises(self) -> tuple[str, ...]: ...

    def space(self, facts: Facts) -> Mapping[str, Any]:
        """Its hyperparameters, noise excepted, from public facts alone."""
        ...

    def calibrate(self, params: Params, facts: Facts, base: Base) -> Any:
        """Settings whose profile is at most that of ``base`` at every epsilon, or BadInput. Uses no data."""
        ...

    def profile(self, settings: Any) -> Profile:
        """What one training with these settings costs, one training record replaced."""
        ...

    def train(self, rows: EncodedRows, settings: Any, facts: Facts, noise: Source) -> Model:
        """A model, by the settings. Everything that it shows of the rows is in its profile."""
        ...


class RegisteredTrainer(Trainer, Protocol):
    """A trainer of the registry: it names the rows on which its calibration is tight."""

    def worst_pairs(self, base: Base) -> tuple[WorstPair, ...]:
        """Neighbours on which a training calibrated to ``base`` spends a stated share of it."""
        ...
