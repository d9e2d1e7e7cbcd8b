"""What a user hands over: a function from parameters to one loss per record, by itself or as module:name."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.columns import read_losses
from tacit.errors import BadInput, ObjectiveError, choice, count, interval, type_and_shape

if TYPE_CHECKING:
    from tacit.data.metrics.reading import Reading
    from tacit.space import Params

DIRECTIONS = ("minimize", "maximize")
BASES = ("record", "person", "pair", "pair of persons")  # whose one loss may be
HOME = str(Path(__file__).parent) + os.sep


@dataclass(frozen=True)
class LossFacts:
    """What is public of losses, where their function knows it: see Objective."""

    records: int
    bounds: tuple[float, float]
    basis: str = "record"
    reading: Reading | None = None
    overlaps: bool = False


@dataclass(frozen=True)
class Objective:
    """A function from parameters to one loss (or score) per record, with its public facts.

    ``bounds`` must be chosen without looking at the data: losses outside are clipped to them. The number of records
    is public. ``basis`` says whose one loss is; ``records`` counts these. ``overlaps`` says that a record has a part in
    several losses, whose sum it moves no further than one; ``reading`` how their mean is read as a metric.
    """

    function: Callable[[Params], Any]
    records: int
    bounds: tuple[float, float]
    direction: str = "minimize"
    basis: str = "record"
    reading: Reading | None = None
    overlaps: bool = False
    columns: int = 1  # numbers for each record: with a constraint, a second one

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadInput(f"the objective must be a function of the parameters, got {type_and_shape(self.function)}")
        object.__setattr__(self, "records", count("records", self.records))
        object.__setattr__(self, "bounds", interval("bounds", self.bounds))
        choice("direction", self.direction, DIRECTIONS)
        choice("basis", self.basis, BASES)

    @property
    def higher_is_better(self) -> bool:
        return self.direction == "maximize"

    @property
    def useful_width(self) -> float:
        """The width of the bounds, or of what the metric can make of them if that is less."""
        low, high = self.bounds
        narrow = 1 / abs(self.reading.factor) if self.reading is not None and self.reading.unit else high - low
        return min(high - low, narrow)

    def losses(self, params: Params) -> np.ndarray[Any, Any]:
        """One number per record, shape (records,), or (records, columns) where there are several. Private.

        Edges. What the user's function raised is named by type and place, never by message, which may quote a record. A
        None among numbers is a missing loss.
        """
        answer = call_without_message(self.function, params)
        try:
            array = read_losses(np.asarray(answer))
        except Exception:  # lists of different lengths, or an answer that is computed only now and may quote a record
            array = np.empty((0, 0))
        wanted = (self.records,) if self.columns == 1 else (self.records, self.columns)
        each = "one number" if self.columns == 1 else f"{self.columns} numbers"
        if array.ndim == 0:
            remedy = "it has no return" if answer is None else "return the losses themselves, not their mean"
            raise ObjectiveError(
                f"the objective must return {each} per record, shape {wanted}, got {type_and_shape(answer)}: {remedy}"
            )
        if array.shape != wanted or array.dtype.kind not in "fiub":
            other = "" if array.dtype.kind in "fiub" else f" of {array.dtype.type.__name__}, which are not numbers"
            raise ObjectiveError(
                f"the objective must return {each} per record, shape {wanted}, got {type_and_shape(array)}{other}"
            )
        return array


def call_without_message(function: Callable[[Any], Any], argument: Any, what: str = "objective") -> Any:
    """The function's answer; an exception becomes an ObjectiveError without its message."""
    try:
        return function(argument)
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        if isinstance(error, ObjectiveError) and frames and frames[-1].filename.startswith(HOME):
            raise  # our own words, not those of a user who raises our error
        place = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else "an unknown place"
        kind = type(error).__name__
    raise ObjectiveError(
        f"the {what} raised {kind} in {place}. Its message may quote private data and is not shown; "
        f"call the {what} with the same parameters yourself to see it"
    )


def import_object(spec: str, what: str = "objective", example: str = "mymodel:losses") -> Any:
    """The object that ``module:name`` names, looked for in the working folder and among packages.

    Edges. What the user's module raised is named by type, never by message: it may load its data and quote it.

    >>> import_object("math:pi", "number")
    3.141592653589793
    """
    module, colon, name = spec.partition(":")
    if not (module and colon and name):
        raise BadInput(f"write the {what} as module:function, such as {example}, got {spec!r}")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        why = f"{error}. It is looked for in this folder and among packages"
    except (Exception, SystemExit) as error:
        why = f"importing {module} raised {type(error).__name__}; import it yourself to see why"
    else:
        if hasattr(found, name):
            return getattr(found, name)
        why = f"module {module!r} has no attribute {name!r}"
    raise BadInput(f"no {what} {spec!r}: {why}")
