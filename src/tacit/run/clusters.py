"""Which engine asks the parts, and how frames of Dask and Ray become parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tacit.errors import BadInput, extra, type_and_shape
from tacit.run.engine import Engine, LocalEngine

RAY = "ray"
ACCEPTED = "a Dask client, the address of its scheduler (tcp://host:8786), 'ray' or an executor"


@dataclass(frozen=True)
class Placed:
    """Parts on a cluster with their public numbers of records."""

    parts: list[Any]
    counts: list[int]
    cluster: Any


def find_engine(parts: Sequence[Any], cluster: Any, homes: Sequence[str | None] | None = None) -> Engine:
    """The engine of a cluster or an executor; without either, that of the futures which the parts are."""
    if hasattr(cluster, "totals"):
        return cluster  # type: ignore[no-any-return]
    if cluster == RAY or getattr(cluster, "__name__", "") == RAY or (cluster is None and _kind(parts[0]) == RAY):
        from tacit.run.ray_engine import RayEngine

        return RayEngine(parts, homes)
    client = _find_client(cluster, parts)
    if client is not None:
        from tacit.run.dask_engine import DaskEngine

        return DaskEngine(client, parts, homes)
    if cluster is None or isinstance(cluster, Executor):
        return LocalEngine(parts, cluster)
    raise BadInput(f"cluster must be {ACCEPTED}, got {type_and_shape(cluster)}")


def _kind(thing: Any) -> str:
    return type(thing).__module__.split(".")[0]


def _find_client(cluster: Any, parts: Sequence[Any]) -> Any:
    """The Dask client of a cluster, of an executor that is one in disguise, or of futures; None if there is none."""
    if isinstance(cluster, str):
        return _connect(cluster)
    if cluster is None:
        held = [part for part in parts if _kind(part) == "distributed"]
        return held[0].client if held else None
    if _kind(cluster) == "distributed":
        return getattr(cluster, "_client", cluster)  # client.get_executor() holds its client
    return None


def _connect(address: str) -> Any:
    if "://" not in address:
        raise BadInput(f"cluster must be {ACCEPTED}, got cluster={address!r}")
    distributed = extra("distributed", "dask", "running on Dask")
    try:
        return distributed.Client(address, timeout=10, set_as_default=False)
    except Exception as error:
        kind = type(error).__name__
    raise BadInput(f"no Dask scheduler answers at {address} ({kind}). Nothing was spent")


@contextmanager
def open_cluster(address: str | None) -> Iterator[Any]:
    """A cluster by its address, for the time of a command: tcp://host:8786, ray, or ray://host:10001."""
    if address is None:
        yield None
    elif address == RAY or address.startswith("ray://"):
        ray = extra("ray", "ray", "running on Ray")
        ray.init("auto" if address == RAY else address, log_to_driver=False, ignore_reinit_error=True)
        try:
            yield RAY
        finally:
            ray.shutdown()
    else:
        client = _connect(address)
        try:
            yield client
        finally:
            client.close()


def count_dask(frame: Any, cluster: Any) -> Placed:
    """The partitions of a Dask DataFrame as futures, read once and kept, each counted where it is."""
    from tacit.run.dask_engine import DaskEngine, count_part

    distributed = extra("distributed", "dask", "running on Dask")
    try:
        client = _find_client(cluster, []) or distributed.default_client()
    except ValueError:
        raise BadInput("give cluster=client: no Dask client is open here. Nothing was spent") from None
    held = distributed.futures_of(frame)
    if len(held) != frame.npartitions:  # what is persisted already is left alone: again would rename and move it
        with client.as_current():
            held = distributed.futures_of(frame.persist())
    parts = sorted(held, key=lambda future: str(future.key))
    counts = dict(DaskEngine(client, parts).ask(count_part))
    return Placed(parts, [counts[number] for number in range(len(parts))], client)


def count_ray(dataset: Any) -> Placed:
    """The blocks of a Ray Dataset as object references, each counted where it is."""
    from tacit.run.ray_engine import RayEngine

    held = dataset.materialize()
    parts = [ref for bundle in held.iter_internal_ref_bundles() for ref in bundle.block_refs]
    return Placed(parts, RayEngine(parts).count_parts(), RAY)
