"""Records in groups that stay where they are, and sums that do not depend on how they are grouped.

A shard answers with one vector of whole numbers: the sum over its records of clipped gradients (or one whole number,
the sum of clipped losses). Whole numbers add exactly, in any order, so one process, an executor and many machines find
the same sum to the last bit, and one record moves it by a bounded amount in floating point too.

    n    records             m    places that were evaluated      B    clipping norm
    d    parameters          G    weights (d, m) of the places    q    2^32, the steps in which B is counted
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import BadInput, ObjectiveError, TacitError, positive, type_and_shape
from tacit.objective import Objective, call_without_message
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import MOST_RECORDS, BoundedMean
from tacit.privacy.mechanisms import LATTICE, Mechanism
from tacit.privacy.noise import EXACT, Source
from tacit.space import Array, Params

STEPS = 1 << 32
BLOCK = 1024  # records at a time: the arrays of one block stay in a processor's cache
HUGE, TINY = 1e100, 1e-140


class Shards:
    """An objective whose records are held in groups, each behind its own function ``params -> one loss per record``.

    Give it to ``tacit.tune`` in place of a function: ``records`` is then the number over all shards. With an
    ``executor`` each shard is one task, and only its sum travels back. A part may be whatever the executor turns into
    such a function on arrival, such as a Dask future of one: then the data never leave their worker.

    Edges. A record must be in one shard only: in two it moves the sum twice as far as the noise is made for, and nobody
    can see it here. Shards keep no losses between steps: with ``reuse``, earlier places are evaluated again.

    >>> parts = Shards([lambda params: np.full(3, params["x"]), lambda params: np.zeros(2)])
    >>> parts({"x": 1.0}).tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = tuple(parts)
        if not self.parts:
            raise BadInput("Shards needs at least one part")

    def __call__(self, params: Params) -> Array:
        """All losses in one array, for methods that do not know shards. Needs parts that can be called here."""
        return np.concatenate([_losses(part, params) for part in self.parts])

    def __repr__(self) -> str:
        return f"<Shards: {len(self.parts)} parts>"


@dataclass(frozen=True)
class Clipped:
    """Sums of per-record gradients, each clipped to norm B and rounded to whole steps of B/q.

    Guarantee. Replacing one record moves the sum by at most ``2 reach`` in the L2 norm, whatever the losses are: a
    clipped gradient has norm at most B (1 + (d + 8) 2^-52) after the rounding of floating-point operations, and
    rounding d coordinates to whole steps adds at most sqrt(d)/2 steps.
    Edges. A record with a loss that is not finite contributes a zero gradient, silently: which ones is private. Losses
    up to the largest float are clipped without overflow.
    """

    weights: Array
    clip: float

    def __post_init__(self) -> None:
        bounded_clip(self.clip)
        if not (np.abs(self.weights) <= 1e40).all():
            raise BadInput("the weights of this design are too large: its places are too near to each other")

    @property
    def reach(self) -> float:
        return reach(len(self.weights))

    def total(self, losses: Sequence[Array]) -> list[int]:
        """The sum over records, d whole numbers, of losses given as m arrays (n,), one for each place. Private."""
        n = len(losses[0]) if losses else 0
        rows = [np.asarray(row) for row in losses]
        if any(row.shape != (n,) for row in rows) or len(rows) != self.weights.shape[1]:
            raise ObjectiveError(f"losses must be {self.weights.shape[1]} arrays of {n}, one number per record")
        total = np.zeros(len(self.weights), np.int64)
        for i in range(0, n, BLOCK):
            total += self._block([row[i : i + BLOCK] for row in rows])
        return [int(x) for x in total]

    def _block(self, rows: list[Any]) -> Any:
        # One record's numbers meet another's only in the sum of whole numbers. So matrix products of a library, whose
        # rounding may depend on a record's place in the block, are not used: each column is summed in the same order.
        part = np.array(rows, float)  # (m, records of this block), a copy
        most = np.abs(part).max(axis=0)
        spoiled = ~np.isfinite(most)
        part[:, spoiled] = most[spoiled] = 0.0
        shrunk = np.maximum(most / HUGE, 1.0)  # gradients of huge losses keep their direction
        if (shrunk > 1.0).any():
            part /= shrunk
        gradient = np.zeros((len(self.weights), part.shape[1]))
        work = np.empty_like(gradient)
        for column, row in zip(self.weights.T, part, strict=True):
            used = np.flatnonzero(column)
            if len(used) == len(column):
                gradient += np.multiply(column[:, None], row, out=work)
            else:  # a cross moves one coordinate with each place
                for j in used:
                    gradient[j] += np.multiply(row, column[j], out=work[j])
        norm = np.zeros(part.shape[1])
        for squares in np.multiply(gradient, gradient, out=work):
            norm += squares
        np.sqrt(norm, out=norm)
        keep = np.divide(self.clip, norm, out=np.zeros_like(norm), where=norm > TINY)
        gradient *= np.minimum(keep, shrunk)
        gradient *= STEPS / self.clip
        np.rint(gradient, out=gradient)
        return gradient.astype(np.int64).sum(axis=1)


def reach(d: int) -> float:
    """The largest norm of one record's clipped and rounded gradient, in whole steps."""
    return STEPS * (1 + (d + 8) * 2.0**-52) + math.sqrt(d) / 2


class GradientMean(Mechanism[Array]):
    """The mean of clipped gradients over ``records`` records, with Gaussian noise on each of ``size`` coordinates.

    ``scale`` is the standard deviation of the noise on one coordinate, in the units of the gradient:
    2 B / (n mu), larger by one part in 1e9 for the rounding to whole steps.

    Guarantee. mu-GDP for one record replaced, unconditional, whatever B is, floating point included.
    Follows. Sopa et al. (2025), Lemma 3.1; Dong, Roth and Su (2022), Theorem 1; Canonne, Kamath and Steinke (2020) for
    noise on whole numbers. Proof: docs/proofs/gradient-mean.md.

    >>> mean = GradientMean(1000, clip=1.0, size=5, budget=Budget.gdp(0.5))
    >>> round(mean.scale, 8)
    0.004
    """

    def __init__(self, records: int, *, clip: float, size: int, budget: Budget, unit: str = "", noise: Source = EXACT):
        self.records, self.size, self.noise, self.clip = records, size, noise, bounded_clip(clip)
        if not 1 <= records <= MOST_RECORDS:
            raise BadInput(f"records must be between 1 and {MOST_RECORDS}, got records={records}")
        mu = positive("mu", budget.mu())
        self.whole_scale = 2 * reach(size) / mu * (1 + 4 * LATTICE)
        self.scale = self.whole_scale * self.clip / STEPS / records
        if not 2.0**20 <= self.whole_scale <= 2.0**61 / 8:
            raise BadInput(
                f"mu = {mu:.3g} for each step is out of range: give a budget and trials nearer to each other"
            )
        source = "Gaussian mechanism (Dong et al. 2022, Theorem 1)"
        self.guarantee = self._state(Budget.gdp(mu), unit, source, size * noise.distance)

    def draw(self, total: Any) -> Array:
        """The noisy mean (d,) of clipped gradients that sum to ``total`` whole steps."""
        noisy = self.noise.gaussian_whole_array(np.array(total, np.int64), self.whole_scale)
        return np.array([self.clip * (x / (self.records * STEPS)) for x in noisy.tolist()])

    def prepare(self, total: Any) -> Any:
        if len(total) != self.size:
            raise BadInput(f"this mechanism takes {self.size} whole numbers, got {len(total)}")
        return [int(x) for x in total]


def bounded_clip(clip: float) -> float:
    """The clipping norm, positive and far from the ends of the floats."""
    if not 1e-100 <= positive("clip", clip) <= 1e100:
        raise BadInput(f"clip must be between 1e-100 and 1e100, got clip={clip!r}; change the unit of the losses")
    return float(clip)


def gradient_total(
    objective: Objective, listed: list[Params], clipped: Clipped, *, executor: Executor | None, memory: dict[str, Array]
) -> list[int]:
    """The sum of clipped gradients over all records, from losses at ``listed``. Private.

    With shards each part is one task; otherwise each place is. ``memory`` holds the losses of one process's own
    records by place, from earlier steps; what is no longer listed is dropped.
    """
    if isinstance(objective.function, Shards):
        found = _gather(executor, _part_gradients, [(part, listed, clipped) for part in objective.function.parts])
        _complete(objective, sum(n for _, n in found))
        return [sum(column) for column in zip(*(total for total, _ in found), strict=True)]
    keys = [repr(sorted(params.items())) for params in listed]
    wanted = {key: params for key, params in zip(keys, listed, strict=True) if key not in memory}
    fresh = _gather(executor, _whole_losses, [(objective, params) for params in wanted.values()])
    held = {**memory, **dict(zip(wanted, fresh, strict=True))}
    memory.clear()
    memory.update({key: held[key] for key in keys})
    return clipped.total([memory[key] for key in keys])


def loss_totals(
    objective: Objective, mean: BoundedMean, listed: list[Params], *, executor: Executor | None = None
) -> list[int]:
    """For each place the sum of clipped losses over all records in whole steps. Private.

    With shards each part of each place is one task; otherwise each place is.
    """
    if not isinstance(objective.function, Shards):
        return _gather(executor, _whole_total, [(objective, mean, params) for params in listed])
    parts = objective.function.parts
    found = _gather(executor, _part_losses, [(part, mean, params) for params in listed for part in parts])
    totals = []
    for i in range(0, len(found), len(parts)):
        _complete(objective, sum(n for _, n in found[i : i + len(parts)]))
        totals.append(sum(total for total, _ in found[i : i + len(parts)]))
    return totals


def loss_total(objective: Objective, mean: BoundedMean, params: Params, *, executor: Executor | None = None) -> int:
    """The sum of clipped losses over all records in whole steps. Private."""
    return loss_totals(objective, mean, [params], executor=executor)[0]


def _part_gradients(part: Any, listed: list[Params], clipped: Clipped) -> tuple[list[int], int]:
    losses = [_losses(part, params) for params in listed]
    return clipped.total(losses), len(losses[0])


def _part_losses(part: Any, mean: BoundedMean, params: Params) -> tuple[int, int]:
    losses = _losses(part, params)
    return mean.total(losses), len(losses)


def _whole_losses(objective: Objective, params: Params) -> Any:
    return objective.losses(params)


def _whole_total(objective: Objective, mean: BoundedMean, params: Params) -> int:
    return mean.total(objective.losses(params))


def _losses(part: Any, params: Params) -> Any:
    if not callable(part):
        raise ObjectiveError(f"a shard must be a function of the parameters, got {type_and_shape(part)}")
    answer = call_without_message(
        lambda p: np.asarray(part(p)), params
    )  # what is computed on conversion may quote a record
    if answer.ndim != 1 or answer.dtype.kind not in "fiub":
        raise ObjectiveError(
            f"a shard must return one number per record in one dimension, got {type_and_shape(answer)}"
        )
    return answer


def _complete(objective: Objective, found: int) -> None:
    if found != objective.records:
        raise ObjectiveError(f"the shards hold {found} records together; records={objective.records} was promised")


def losses_future(executor: Executor, objective: Objective, mean: BoundedMean, params: Params) -> Future[int]:
    """A future of ``loss_total`` of an objective in shards, one task for each part."""
    parts = objective.function.parts if isinstance(objective.function, Shards) else ()
    futures: list[Future[tuple[int, int]]] = [executor.submit(_part_losses, part, mean, params) for part in parts]
    whole, lock = Future[int](), threading.Lock()
    whole.set_running_or_notify_cancel()

    def arrive(_: Any) -> None:
        with lock:
            if whole.done() or not all(future.done() for future in futures):
                return
            try:
                found = [future.result() for future in futures]
                _complete(objective, sum(n for _, n in found))
                whole.set_result(sum(total for total, _ in found))
            except BaseException as error:
                whole.set_exception(error)

    for future in futures:
        future.add_done_callback(arrive)
    return whole


def _gather(executor: Executor | None, work: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    """The answers in order: here one after another, or from the executor all at once.

    What an executor adds to the objective's own failures is named by type alone: its message may quote what was sent.
    """
    if executor is None:
        return [work(*call) for call in calls]
    futures: list[Future[Any]] = []
    try:
        for call in calls:
            futures.append(executor.submit(work, *call))
        return [future.result() for future in futures]
    except TacitError:
        raise
    except Exception as error:
        kind = type(error).__name__
    finally:
        for future in futures:
            future.cancel()
    raise ObjectiveError(
        f"the executor could not run the objective ({kind}): a worker died, or the objective cannot be sent to one. "
        "What was released is kept; run again with the same out"
    )
