"""How an evaluation happens: here and now, or by an executor; in both cases only a sum comes back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, TypeVar

from tacit.errors import ObjectiveError, TacitError
from tacit.objective import Objective
from tacit.privacy.mean import BoundedMean
from tacit.run.shards import Shards, loss_total, losses_future

T = TypeVar("T")


def evaluate(objective: Objective, mechanism: BoundedMean, params: dict[str, Any]) -> int:
    """The exact clipped sum at params. Runs where the data is; only a whole number travels. Private."""
    return loss_total(objective, mechanism, params)


def submit_losses(
    executor: Executor | None, objective: Objective, mechanism: BoundedMean, params: dict[str, Any]
) -> Future[int]:
    """A future of the clipped sum; with shards, one task for each part."""
    if executor is not None and isinstance(objective.function, Shards):
        return _guard(losses_future, executor, objective, mechanism, params)
    return submit(executor, evaluate, objective, mechanism, params)


def submit(executor: Executor | None, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """A future of the work: from the executor, or done here and now."""
    if executor is not None:
        return _guard(executor.submit, work, *arguments)
    future: Future[Any] = Future()
    try:
        future.set_result(work(*arguments))
    except BaseException as error:  # raised where the trial is known, so that none is left running
        future.set_exception(error)
    return future


def result(future: Future[Any]) -> Any:
    """What came out. What an executor adds to the objective's own failures is said in our words."""
    return _guard(future.result)


def _guard(act: Callable[..., T], *arguments: Any) -> T:
    try:
        return act(*arguments)
    except TacitError:
        raise
    except Exception as error:
        kind = error
    raise _failure(kind)  # outside, so that it has no context: an executor's message may quote what was sent


def _failure(error: Exception) -> ObjectiveError:
    if isinstance(error, BrokenExecutor):
        why = "a worker died: it was killed, ran out of memory, or the objective ended it"
    else:
        why = (
            f"the executor could not run the objective ({type(error).__name__}): for processes it must be a function "
            "that workers can import, with data that can be pickled"
        )
    return ObjectiveError(f"{why}. What was observed is kept in the study; run again with the same out or storage")
