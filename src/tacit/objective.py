"""What a user hands over: a function from parameters to one loss per record."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import BadInput, ObjectiveError, choice, count, described, interval

DIRECTIONS = ("minimize", "maximize")


@dataclass(frozen=True)
class Objective:
    """A function from parameters to one loss (or score) per record, with its public facts.

    ``bounds`` must be chosen without looking at the data: losses outside are clipped to them. The number of records
    is public.
    """

    function: Callable[[dict[str, Any]], Any]
    records: int
    bounds: tuple[float, float]
    direction: str = "minimize"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadInput(f"the objective must be a function of the parameters, got {described(self.function)}")
        object.__setattr__(self, "records", count("records", self.records))
        object.__setattr__(self, "bounds", interval("bounds", self.bounds))
        choice("direction", self.direction, DIRECTIONS)

    @property
    def higher_is_better(self) -> bool:
        return self.direction == "maximize"

    def losses(self, params: dict[str, Any]) -> np.ndarray[Any, Any]:
        """One number per record, shape (records,). Private.

        Edges. What the user's function raised is named by type and place, never by message, which may quote a record.
        """
        answer = called(self.function, params)
        try:
            array = np.asarray(answer)
        except Exception:  # lists of different lengths, or an answer that is computed only now and may quote a record
            array = np.empty((0, 0))
        if array.ndim == 0:
            remedy = "it has no return" if answer is None else "return the losses themselves, not their mean"
            raise ObjectiveError(
                f"the objective must return one number per record, shape ({self.records},), got {described(answer)}: "
                f"{remedy}"
            )
        if array.shape != (self.records,) or array.dtype.kind not in "fiub":
            other = "" if array.dtype.kind in "fiub" else f" of {array.dtype.type.__name__}, which are not numbers"
            raise ObjectiveError(
                f"the objective must return one number per record, shape ({self.records},), got {described(array)}"
                f"{other}"
            )
        return array


def called(function: Callable[[Any], Any], argument: Any, what: str = "objective") -> Any:
    """The function's answer; an exception becomes an ObjectiveError without its message."""
    try:
        return function(argument)
    except ObjectiveError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else "an unknown place"
        kind = type(error).__name__
    raise ObjectiveError(
        f"the {what} raised {kind} in {place}. Its message may quote private data and is not shown; "
        f"call the {what} with the same parameters yourself to see it"
    )
