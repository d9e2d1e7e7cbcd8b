"""How a question is put to records where they are, and when the answers may be added.

An engine holds parts of the records, each at its home, and has one act: ``totals(models, reducer)`` asks every part and
answers with ``(number of the part, sums in whole numbers, number of records)`` for each. Whole numbers add exactly in
any order, so every engine finds what one process finds, to the last bit. ``settle`` lets a sum through only if each
part has answered, with the number of records that it is known to have. A part that is asked twice, by a retry or by
speculation, changes nothing; a part that is missing, unknown, or of two minds ends the question.

Nothing that a task is given or raises may reach a log: tasks never raise, since engines write down what a failed task
was given, and that is records.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tacit.data.columns import read_losses
from tacit.errors import ObjectiveError, type_and_shape
from tacit.objective import call_without_message
from tacit.privacy.gradient_mean import Clipped
from tacit.privacy.mean import BoundedMean

LOST = {
    "ActorDiedError", "ActorUnavailableError", "ActorUnschedulableError", "BrokenExecutor", "CancelledError",
    "ClosedClientError", "CommClosedError", "FutureCancelledError", "FuturesCancelledError", "KilledWorker",
    "NodeDiedError", "ObjectLostError", "OutOfMemoryError", "OwnerDiedError", "TimeoutError",
    "WorkerCrashedError", "WorkerStartTimeoutError",
}  # fmt: skip
KEPT = "What was observed is kept in the study; run again with the same out or storage"


@dataclass(frozen=True)
class PartAnswer:
    """What a part says to one question: its sums, or why it has none, in words that quote no record."""

    part: int
    sums: tuple[int, ...] = ()
    records: int = 0
    failure: str = ""


@dataclass(frozen=True)
class Reducer:
    """What a part is asked for: sums over its records of clipped losses, or of clipped gradients, at some models.

    ``score(model, frame)`` gives one loss for each record of a frame; without it a part is itself a function of the
    model. Both may answer with an array, or with arrays one after the other.
    """

    summing: BoundedMean | Clipped
    score: Callable[[Any, Any], Any] | None = None

    def __call__(self, part: Any, models: Sequence[Any]) -> tuple[list[int], int]:
        sums, records = list[int](), 0
        for frame in frames_of(part) if self.score is not None else [part]:
            for losses in zip(*(self._losses(frame, model) for model in models), strict=True):
                block = self._add_block(losses)
                sums = [a + b for a, b in zip(sums, block, strict=True)] if sums else block
                records += len(losses[0])
        width = len(self.summing.weights) if isinstance(self.summing, Clipped) else len(models)
        return sums or [0] * width, records

    def _add_block(self, losses: tuple[Any, ...]) -> list[int]:
        if isinstance(self.summing, Clipped):
            return self.summing.total(losses)
        if len({len(one) for one in losses}) > 1:
            raise ObjectiveError("a part must answer with as many losses for one model as for another")
        return [self.summing.total(one) for one in losses]

    def _losses(self, frame: Any, model: Any) -> Iterator[Any]:
        if self.score is None and not callable(frame):
            raise ObjectiveError(f"a shard must be a function of the parameters, got {type_and_shape(frame)}")
        act = frame if self.score is None else lambda m: self.score(m, frame)  # type: ignore[misc]
        answer = call_without_message(act, model)
        blocks = iter([answer]) if hasattr(answer, "__len__") or not hasattr(answer, "__next__") else answer
        while (block := call_without_message(lambda _: next(blocks, None), None)) is not None:
            losses = read_losses(call_without_message(np.asarray, block))  # what is computed then may quote a record
            if losses.ndim != 1 or losses.dtype.kind not in "fiub":
                raise ObjectiveError(
                    f"a shard must return one number per record in one dimension, got {type_and_shape(losses)}"
                )
            yield losses


def frames_of(part: Any) -> Iterator[Any]:
    """The records of a part, a block at a time where it can be read so; Arrow's tables as pandas frames."""
    blocks = iter(part.read_blocks() if hasattr(part, "read_blocks") else [part])
    while (block := call_without_message(lambda _: next(blocks, None), None, "reading of records")) is not None:
        yield block.to_pandas() if hasattr(block, "to_pandas") else block


class Engine(Protocol):
    """Parts of the records, each at its home, and a way to ask all of them."""

    def totals(self, models: Sequence[Any], reducer: Reducer) -> list[PartAnswer]:
        """Every part's answer. Private. Raises an ObjectiveError if a worker was lost for good."""


def answer_question(part: int, held: Any, models: Sequence[Any], reducer: Reducer) -> PartAnswer:
    """The answer of one part. Never raises: engines log what a failed task was given, and that is records."""
    try:
        with np.errstate(all="ignore"):
            sums, records = reducer(held, models)
        return PartAnswer(part, tuple(sums), records)
    except ObjectiveError as error:
        return PartAnswer(part, failure=str(error))
    except Exception as error:
        return PartAnswer(part, failure=f"a part could not be summed ({type(error).__name__})")


def answer_quietly(part: int, held: Any, models: Sequence[Any], reducer: Reducer) -> PartAnswer:
    """The same on a worker, whose log others read: no warning gets there.

    Not for threads of a user's own process, where filters of warnings are shared.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return answer_question(part, held, models, reducer)


def _answer_elsewhere(part: int, held: Any, models: Sequence[Any], reducer: Reducer) -> PartAnswer:
    answer = answer_question if multiprocessing.parent_process() is None else answer_quietly
    return answer(part, held, models, reducer)


def settle(answers: Iterable[PartAnswer], counts: Sequence[int | None]) -> list[PartAnswer]:
    """The answers in the order of their parts, each part's once, if none is missing, unknown or of two minds.

    ``counts`` are the public numbers of records of the parts; None where it is not known yet.
    """
    first = dict[int, PartAnswer]()
    for answer in answers:
        if answer.failure:
            raise ObjectiveError(answer.failure)
        if not 0 <= answer.part < len(counts):
            raise ObjectiveError(f"an answer came for part {answer.part}; there are parts 0 to {len(counts) - 1}")
        if first.setdefault(answer.part, answer) != answer:
            raise ObjectiveError(
                f"part {answer.part} answered twice, and differently: a loss must depend on the model and its record "
                "alone. Nothing was released"
            )
    missing = len(counts) - len(first)
    if missing:
        raise ObjectiveError(f"{missing} of {len(counts)} parts did not answer. Nothing was released")
    for number, known in enumerate(counts):
        if known is not None and first[number].records != known:
            raise ObjectiveError(
                f"part {number} must answer with one loss for each of its {known} records, and answered with another "
                "number. Nothing was released"
            )
    return [first[number] for number in range(len(counts))]


@dataclass(frozen=True, repr=False)
class LocalEngine:
    """Parts that are held here: asked one after the other, or by an executor."""

    parts: Sequence[Any]
    executor: Executor | None = None

    def totals(self, models: Sequence[Any], reducer: Reducer) -> list[PartAnswer]:
        if self.executor is None:
            return [answer_question(i, part, models, reducer) for i, part in enumerate(self.parts)]
        futures = list[Future[PartAnswer]]()
        try:
            for i, part in enumerate(self.parts):
                futures.append(self.executor.submit(_answer_elsewhere, i, part, models, reducer))
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


def explain_failure(error: BaseException) -> ObjectiveError:
    """What an executor or engine adds to the objective's own failures, by type: its message may quote what was sent."""
    kind = type(error).__name__
    if LOST & {base.__name__ for base in type(error).__mro__}:
        why = f"a worker died ({kind}): it was killed, ran out of memory, or the objective ended it"
    else:
        why = (
            f"the executor could not run the objective ({kind}): for processes it must be a function that workers can "
            "import, with data that can be pickled"
        )
    return ObjectiveError(f"{why}. {KEPT}")
