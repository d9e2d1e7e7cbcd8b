"""What records elsewhere cost: a Dask cluster of two processes against one process, and against a bare map-reduce.

The scheduler and the workers are processes of their own, each worker a site. Our evaluation and a bare map and gather
of the same loss alternate in one run; ratios are of medians. Times of a busy machine are no good by themselves.
"""

from __future__ import annotations

import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.scale import _cluster
from benchmarks.scale._cluster import bare, connect, dask_cluster, make_rows, score, train
from tacit.privacy.gradient_mean import Clipped
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BLOCK, BoundedMean
from tacit.privacy.noise import Simulation
from tacit.run.shards import Shards

TITLE = "Scale: records on a cluster against one process and a bare map-reduce"
LONG = True
REPEATS = 15

ROWS, FILES, MANY = 5_000_000, 20, 1000
SPACE = {"a": tacit.Float(-2.0, 2.0), "b": tacit.Float(-2.0, 2.0)}
USUAL: dict[str, Any] = {"bounds": (0.0, 4.0), "budget": Budget.gdp(1.0), "progress": False, "train": train}


def held_parts(client: Any, parts: int, rows: int) -> list[Any]:
    """Records on the workers, two thirds of the parts at the first site, so that there is something to steal."""
    from distributed import wait

    sites = [_cluster.SITES[i % 3 == 0] for i in range(parts)]
    held = [
        client.submit(make_rows, rows // parts, i, pure=False, resources={site: 1e-6}) for i, site in enumerate(sites)
    ]
    with client.as_current():
        wait(held)
    return held


def compare_overhead(client: Any, repeats: int, parts: int, rows: int) -> tuple[list[Figure], list[Any]]:
    """Ours and a bare map-reduce, one after the other: seconds, and seconds of the client's processor."""
    held, model = held_parts(client, parts, rows), train({"a": 1.0, "b": -0.5})
    shards = Shards(held, cluster=client).with_score(score, None)
    mean, before = BoundedMean(rows, (0.0, 4.0), budget=Budget.gdp(1.0)), client.who_has(held)
    took: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
    sums = []
    for _ in range(repeats + 1):
        start = time.perf_counter(), time.process_time()
        sums.append(shards.add_up([model], mean, rows, None)[0])
        middle = time.perf_counter(), time.process_time()
        reference = sum(client.gather(client.map(bare, held, model=model, pure=False)))
        end = time.perf_counter(), time.process_time()
        took["ours"].append((middle[0] - start[0], middle[1] - start[1]))
        took["bare"].append((end[0] - middle[0], end[1] - middle[1]))
    assert len(set(sums)) == 1
    assert abs(mean.mean_of(sums[0]) - reference / rows) < 1e-5
    ours, other = (statistics.median(t for t, _ in took[k][1:]) for k in ("ours", "bare"))
    mine, theirs = (statistics.median(c for _, c in took[k][1:]) for k in ("ours", "bare"))
    ratios = sorted(a[0] / b[0] for a, b in zip(took["ours"][1:], took["bare"][1:], strict=True))
    label = f"{parts:,} parts of {rows:,} records"
    after = client.who_has(held)
    moved = sum(set(after[k]) != set(before[k]) for k in before)
    goals: dict[str, Any] = {"goal": 1.15, "against": "1.15"} if parts < MANY else {}
    limit = 1.5 if parts == MANY else None
    return [
        Figure(f"{label}: an evaluation over a bare map-reduce", ours / other, "x", ratios[len(ratios) // 4],
               ratios[-len(ratios) // 4], better="less", ours=ours, peer=other, **goals,
               note="medians of alternating rounds; the middle half of the ratios of neighbours"),
        Figure(f"{label}: an evaluation by the clock", ours, "s", against=f"bare map and gather {other:.3g} s",
               goal=limit, better="less"),
        Figure(f"{label}: client's processor time of an evaluation", mine, "s",
               against=f"bare map and gather {theirs:.3g} s", goal=limit, better="less"),
        Figure(f"{label}: parts found elsewhere after {repeats + 1} runs beside a bare map", float(moved), "parts",
               note="a bare map is not pinned: what moved, it moved"),
    ], held  # fmt: skip


def count_moves(client: Any, held: list[Any], rows: int, runs: int = 20) -> Figure:
    """Parts that are found on another worker after so many runs of ours alone."""
    shards = Shards(held, cluster=client).with_score(score, None)
    mean, before = BoundedMean(rows, (0.0, 4.0), budget=Budget.gdp(1.0)), client.who_has(held)
    moved = 0
    for i in range(runs):
        shards.add_up([train({"a": 0.1 * i, "b": 0.0})], mean, rows, None)
        after = client.who_has(held)
        moved += sum(set(after[k]) != set(before[k]) for k in before)
    return Figure(f"parts of {len(held)} moved in {runs} runs", float(moved), "parts", goal=0.0, better="less")


def compare_releases(client: Any, folder: Path) -> list[Figure]:
    """Files scored on the cluster and by one process, with the same simulated noise: equal to the last bit or not."""
    import pandas

    columns = [f"x{j}" for j in range(8)] + ["y"]
    folder.mkdir()
    for i in range(FILES):
        frame = pandas.DataFrame(make_rows(ROWS // FILES, i), columns=columns)
        frame.to_parquet(folder / f"{i:02d}.parquet", row_group_size=125_000)
    here, there = (Shards.from_parquet(folder, cluster=where).with_score(score, None) for where in (None, client))
    models = [train({"a": 0.5 * i, "b": -0.3 * i}) for i in range(4)]
    same = 0
    for summing in (BoundedMean(ROWS, (0.0, 4.0), budget=Budget.gdp(1.0)), Clipped(np.eye(2, 4) + 0.25, 0.5)):
        same += here.add_up(models, summing, ROWS, None) == there.add_up(models, summing, ROWS, None)
    figures = [
        Figure(f"{ROWS:,} rows in {FILES} Parquet files, sums of losses, of gradients: cluster equals one process "
               "to the last bit", float(same), "of 2 sums", goal=2.0, better="more")
    ]  # fmt: skip
    for method, options in (("observed", {"trials": 3}), ("pool", {"trials": 3}), ("gibo", {"trials": 1, "scan": 0})):
        found = []
        for where in (None, client):
            arguments = {**USUAL, "method": method, **options, "noise": Simulation(5), "cluster": where}
            made = tacit.tune(score, SPACE, records=str(folder / "*.parquet"), accept_noise=True, **arguments)
            found.append(made.value.to_json())
        figures.append(
            Figure(f"{ROWS:,} rows in {FILES} Parquet files, {method}: cluster equals one process to the last bit",
                   float(found[0] == found[1]), "of 1 release", goal=1.0, better="more")
        )  # fmt: skip
    return figures


def add_many(records: int = 10**9) -> list[Figure]:
    """A billion simulated losses, a block at a time, in parts that are generators."""
    block = np.linspace(0.0, 1.0, BLOCK)

    def losses(params: Any) -> Any:
        left = records // 4
        while left:
            yield block[: min(left, BLOCK)]
            left -= min(left, BLOCK)

    shards = Shards([lambda p, i=i: losses(p) for i in range(4)], counts=[records // 4] * 4)
    mean = BoundedMean(records, (0.0, 1.0), budget=Budget.gdp(1.0))
    small = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    total = shards.add_up([{}], mean, records, None)[0]
    took = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - small) / 1024
    assert abs(mean.mean_of(total) - 0.5) < 1e-4
    return [
        Figure(f"{records:,} simulated records summed: processor time", took, "s"),
        Figure(f"{records:,} simulated records summed: memory that it takes", grown, "MB"),
    ]


def run(repeats: int) -> list[Figure]:
    few = max(3, repeats // 3)
    with tempfile.TemporaryDirectory() as folder, dask_cluster(folder) as processes:
        client = connect(processes)
        rows = Path(folder) / "rows"
        pieces: list[tuple[str, Callable[[], list[Figure]]]] = [
            ("a billion", add_many),
            ("overhead", lambda: compare_overhead(client, repeats, FILES, ROWS)[0]),
            ("moves", lambda: [count_moves(client, held_parts(client, FILES, ROWS), ROWS)]),
            ("releases", lambda: compare_releases(client, rows)),
            ("many", lambda: compare_overhead(client, few, MANY, MANY * 200)[0]),
        ]
        figures = list[Figure]()
        for name, work in pieces:
            kept = keep_piece("scale_engines", {"what": name, "repeats": repeats}, lambda w=work: measure_loaded(w))
            figures += [Figure(**one) for one in kept]
        client.close()
    return figures


def measure_loaded(work: Callable[[], list[Figure]]) -> list[dict[str, Any]]:
    """Figures of a piece; those that a busy machine changes tell how busy it was."""
    figures, load = work(), os.getloadavg()[0]
    busy = f"load of the machine {load:.1f} processes" if load > 3 else ""
    return [
        asdict(replace(f, note="; ".join(filter(None, [f.note, busy]))) if f.unit in ("x", "s") else f) for f in figures
    ]
