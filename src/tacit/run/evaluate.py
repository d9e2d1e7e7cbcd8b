"""How an evaluation happens: here and now, or by an executor; in both cases only a sum comes back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Protocol, TypeVar

from tacit.errors import TacitError
from tacit.objective import Objective
from tacit.privacy.mean import BoundedMean
from tacit.run.engine import explain_failure
from tacit.run.shards import Shards, loss_total, losses_future
from tacit.space import Params

T = TypeVar("T")


class Summing(Protocol):
    """What adds up losses exactly: to a whole number, or to one for each column."""

    def total(self, losses: Any) -> Any: ...


def evaluate(objective: Objective, mechanism: Summing, params: Params) -> Any:
    """The exact clipped sum at params. Runs where the data is; only whole numbers travel. Private."""
    if isinstance(mechanism, BoundedMean):
        return loss_total(objective, mechanism, params)
    return mechanism.total(objective.losses(params))


def submit_losses(executor: Executor | None, objective: Objective, mechanism: Summing, params: Params) -> Future[Any]:
    """A future of the clipped sum; with shards somewhere else, one task for each part."""
    if isinstance(objective.function, Shards) and (executor is not None or is_elsewhere(objective)):
        return _guard(losses_future, executor, objective, mechanism, params)
    return submit(executor, evaluate, objective, mechanism, params)


def is_elsewhere(objective: Objective) -> bool:
    """Whether its records are asked by a cluster of their own."""
    return isinstance(objective.function, Shards) and objective.function.cluster is not None


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
    raise explain_failure(kind)  # outside, so that it has no context: an executor's message may quote what was sent
