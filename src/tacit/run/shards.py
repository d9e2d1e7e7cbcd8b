"""Records in groups that stay where they are, and sums that do not depend on how they are grouped.

A part answers with whole numbers alone: sums over its records of clipped losses, or of clipped gradients. Whole numbers
add exactly, in any order, so one process, an executor and many machines find the same sum to the last bit, and one
record moves it by a bounded amount in floating point too. How a part is asked is an engine's: see ``tacit.run.engine``.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import BadInput, ObjectiveError, TacitError, count, type_and_shape
from tacit.objective import Objective, call_without_message
from tacit.privacy.gradient_mean import Clipped
from tacit.privacy.mean import SPILL, BoundedMean
from tacit.run.clusters import count_dask, count_ray, find_engine
from tacit.run.engine import Engine, Reducer, explain_failure, frames_of, settle
from tacit.run.frames import FileRows, divide_files, find_files
from tacit.space import Array, Params

FEW, WORK = 64, 10_000  # arrays that lie within each other, and effort for two of them, that are looked at


class Shards:
    """Records that are held in groups, each where it is: in files, in processes, on workers of Dask or Ray, at sites.

    A part is a function ``params -> one loss per record``, and the whole is then an objective for ``tacit.tune``; or it
    is records, and then ``tacit.tune(score, space, train=train, records=Shards(...))`` trains here once a trial and
    scores where the records are. A part may be a future of either on a Dask cluster, or an object reference of Ray.
    ``counts`` are the public numbers of records; ``homes`` names each part's site, where sites have names; ``cluster``
    is a Dask client or the address of its scheduler, "ray", or an executor. With ``masked=True`` every part is a
    ``tacit.Site`` of another organisation, and nobody sees the sum of one of them (``tacit.run.masks``).

    Edges. A record must be in one part only: in two it moves the sum twice as far as the noise is made for, and only a
    part that is given twice, or arrays that share memory, can be seen here. Parts keep no losses between steps: with
    ``reuse``, earlier places are evaluated again. Parts that answer with another number of records than before are
    refused.

    >>> parts = Shards([lambda params: np.full(3, params["x"]), lambda params: np.zeros(2)])
    >>> parts({"x": 1.0}).tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """

    def __init__(
        self,
        parts: Sequence[Any],
        *,
        counts: Sequence[int] | None = None,
        homes: Sequence[str | None] | None = None,
        cluster: Any = None,
        score: Callable[[Any, Any], Any] | None = None,
        train: Callable[[Any], Any] | None = None,
        masked: bool = False,
    ) -> None:
        self.parts, self.homes, self.cluster, self.score, self.train = tuple(parts), homes, cluster, score, train
        self.masked = masked
        if not self.parts:
            raise BadInput("Shards needs at least one part")
        if len({_identity(part) for part in self.parts}) < len(self.parts) or _overlap(self.parts):
            raise BadInput(
                "a part is given twice: its records would move the sum twice as far as the noise is made for. "
                "Nothing was spent"
            )
        for name, given in (("counts", counts), ("homes", homes)):
            if given is not None and len(given) != len(self.parts):
                raise BadInput(f"{name} must have one entry for each of {len(self.parts)} parts, got {len(given)}")
        self.counts: list[int | None] = [None] * len(self.parts)
        if counts is not None:
            self.counts = [count("counts", n, least=0) for n in counts]
        self._engine: tuple[Any, Engine] | None = None
        self._lock = threading.Lock()

    @classmethod
    def from_parquet(
        cls, where: str | Path | Sequence[str | Path], *, columns: Sequence[str] | None = None, cluster: Any = None
    ) -> Shards:
        """The rows of Parquet files: a folder, a pattern such as 'stays/*.parquet', or a list.

        Only names of files travel to workers, which must find them under the same names. Large files are divided
        between their row groups, and every part is read a block at a time.
        """
        parts, counts = divide_files(find_files(where), columns)
        return cls(parts, counts=counts, cluster=cluster)

    @classmethod
    def from_dask(cls, frame: Any, *, cluster: Any = None) -> Shards:
        """The partitions of a Dask DataFrame, held in the memory of the workers that read them."""
        placed = count_dask(frame, cluster)
        return cls(placed.parts, counts=placed.counts, cluster=placed.cluster)

    @classmethod
    def from_ray(cls, dataset: Any) -> Shards:
        """The blocks of a Ray Dataset, held by the nodes that read them."""
        placed = count_ray(dataset)
        return cls(placed.parts, counts=placed.counts, cluster="ray")

    @property
    def records(self) -> int | None:
        """How many records there are; None before parts that do not say have been asked."""
        return None if any(n is None for n in self.counts) else sum(n or 0 for n in self.counts)

    def with_score(
        self, score: Callable[[Any, Any], Any] | None, train: Callable[[Any], Any] | None, cluster: Any = None
    ) -> Shards:
        """The same parts, scored by ``score(model, frame)`` after ``train(params)``; with their engine, if they have
        one."""
        shards = copy.copy(self)
        shards.score, shards.train, shards.counts = score, train, list(self.counts)
        if cluster is not None:
            shards.cluster, shards._engine = cluster, None
        else:
            shards._engine = self._engine
        return shards

    def __call__(self, params: Params) -> Array:
        """All losses in one array, for methods that do not know shards. Needs parts that are held here."""
        model, blocks = self.fit_models([params])[0], list[Array]()
        for part in self.parts:
            if self.score is None and not callable(part):
                raise ObjectiveError(f"a shard must be a function of the parameters, got {type_and_shape(part)}")
            for frame in [part] if self.score is None else frames_of(part):
                blocks += Reducer(None, self.score)._losses(frame, model)  # type: ignore[arg-type]
        return np.concatenate(blocks)

    def fit_models(self, listed: Sequence[Any]) -> list[Any]:
        """What the parts are asked about at these parameters: themselves, or what ``train`` makes of each, here."""
        if self.train is None:
            return list(listed)
        return [call_without_message(self.train, params, "train function") for params in listed]

    def add_up(
        self, models: Sequence[Any], summing: BoundedMean | Clipped, records: int, executor: Executor | None
    ) -> list[int]:
        """Sums over all records, exactly, or none at all. Private."""
        reducer = Reducer(summing, self.score)
        if self.masked:
            if records > SPILL:
                raise BadInput(f"masked sums are of at most {SPILL} records, got records={records}: 64 bits hold them")
            from tacit.run.masks import MaskedReducer, unmask

            models, reducer = (), MaskedReducer.of(models, reducer)
        try:
            answers = self.engine(executor).totals(models, reducer)
        except TacitError:
            raise
        except Exception as error:
            failure = error
        else:
            settled = settle(answers, self.counts)
            total = sum(answer.records for answer in settled)
            if total != records:
                raise ObjectiveError(f"the shards hold {total} records together; records={records} was promised")
            self.counts = [answer.records for answer in settled]  # fixed from here on
            totals = [sum(column) for column in zip(*(answer.sums for answer in settled), strict=True)]
            return unmask(totals) if self.masked else totals
        raise explain_failure(failure)  # outside, so that it has no context: a message may quote what was sent

    def engine(self, executor: Executor | None = None) -> Engine:
        """What asks the parts: their cluster's, the executor's, or one that asks here."""
        with self._lock:
            asked = self.cluster if self.cluster is not None else executor
            if self._engine is None or self._engine[0] is not asked:
                self._engine = asked, find_engine(self.parts, asked, self.homes)
            return self._engine[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __repr__(self) -> str:
        return f"<Shards: {len(self.parts)} parts>"


def _identity(part: Any) -> Any:
    """What makes two parts one: the same file, the same object on a cluster, the same thing here."""
    if isinstance(part, FileRows):
        return part
    kind = type(part).__module__.split(".")[0]
    if kind == "distributed":
        return part.key
    return part if kind == "ray" else id(part)


def _overlap(parts: Sequence[Any]) -> bool:
    """Whether two arrays share records: views of one array whose rows are cut so that some are in both."""
    arrays = [part for part in parts if isinstance(part, np.ndarray) and part.size]
    ends, last = sorted((*np.lib.array_utils.byte_bounds(a), i) for i, a in enumerate(arrays)), list[tuple[int, int]]()
    for start, end, number in ends:
        last = [(other, i) for other, i in last if other > start]
        for _, i in last[-FEW:]:
            try:
                if np.shares_memory(arrays[i], arrays[number], max_work=WORK):  # type: ignore[arg-type]
                    return True
            except np.exceptions.TooHardError:
                pass
        last.append((end, number))
    return False


def shards_of(
    function: Callable[..., Any], records: Any, train: Callable[[Any], Any] | None, cluster: Any
) -> tuple[Callable[..., Any], Any]:
    """An objective and its number of records: in shards where records, a train function or a cluster ask for it."""
    if isinstance(function, Shards):
        if train is None and cluster is None:
            return function, function.records if records is None else records
        shards = function.with_score(function.score, train or function.train, cluster)
        return shards, shards.records if records is None else records
    if records is None or isinstance(records, (int, float, np.number)):
        if train is not None:
            raise BadInput(
                "with train, records says where they are: a pattern of Parquet files, a Dask DataFrame, a Ray Dataset "
                f"or tacit.Shards, got {type_and_shape(records)}. Nothing was spent"
            )
        if cluster is not None:
            raise BadInput("a cluster needs records in parts: give records= and train=, or tacit.Shards")
        return function, records
    shards = _find_records(records, cluster).with_score(function, train, cluster)
    if train is None:
        raise BadInput(
            "records that are scored where they are need train=function: train(params) makes the model, once a trial, "
            "and score(model, frame) gives one loss for each record of a frame. Nothing was spent"
        )
    if shards.records is None:
        raise BadInput(
            "the number of records is public and must be known before anything is paid: give Shards(parts, counts=...)"
        )
    return shards, shards.records


def _find_records(records: Any, cluster: Any) -> Shards:
    if isinstance(records, Shards):
        return records
    if isinstance(records, (str, Path)):
        return Shards.from_parquet(records)
    kind = type(records).__module__.split(".")[0]
    if kind in ("dask", "dask_expr"):
        return Shards.from_dask(records, cluster=cluster)
    if kind == "ray":
        return Shards.from_ray(records)
    if isinstance(records, (list, tuple)) and records and all(isinstance(p, (str, Path)) for p in records):
        return Shards.from_parquet(records)
    raise BadInput(
        "records must be a number, a pattern of Parquet files, a Dask DataFrame, a Ray Dataset or tacit.Shards, got "
        f"{type_and_shape(records)}"
    )


def gradient_total(
    objective: Objective, listed: list[Params], clipped: Clipped, *, executor: Executor | None, memory: dict[str, Array]
) -> list[int]:
    """The sum of clipped gradients over all records, from losses at ``listed``. Private.

    With shards each part is one task; otherwise each place is. ``memory`` holds the losses of one process's own
    records by place, from earlier steps; what is no longer listed is dropped.
    """
    if isinstance(shards := objective.function, Shards):
        return shards.add_up(shards.fit_models(listed), clipped, objective.records, executor)
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

    With shards each part is one task; otherwise each place is.
    """
    if isinstance(shards := objective.function, Shards):
        return shards.add_up(shards.fit_models(listed), mean, objective.records, executor)
    return _gather(executor, _whole_total, [(objective, mean, params) for params in listed])


def loss_total(objective: Objective, mean: BoundedMean, params: Params, *, executor: Executor | None = None) -> int:
    """The sum of clipped losses over all records in whole steps. Private."""
    return loss_totals(objective, mean, [params], executor=executor)[0]


def losses_future(executor: Executor | None, objective: Objective, mean: BoundedMean, params: Params) -> Future[int]:
    """A future of ``loss_total`` of an objective in shards: the model is made here and now, the parts are asked by a
    thread."""
    shards, whole = objective.function, Future[int]()
    assert isinstance(shards, Shards)
    models = shards.fit_models([params])
    whole.set_running_or_notify_cancel()

    def ask() -> None:
        try:
            whole.set_result(shards.add_up(models, mean, objective.records, executor)[0])
        except BaseException as error:
            whole.set_exception(error)

    threading.Thread(target=ask, name="tacit-question", daemon=True).start()
    return whole


def _whole_losses(objective: Objective, params: Params) -> Any:
    return objective.losses(params)


def _whole_total(objective: Objective, mean: BoundedMean, params: Params) -> int:
    return mean.total(objective.losses(params))


def _gather(executor: Executor | None, work: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    """The answers in order: here one after another, or from the executor all at once."""
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
        failure = error
    finally:
        for future in futures:
            future.cancel()
    raise explain_failure(failure)
