"""Tables of millions of rows from the shell: `tacit tune --table FOLDER`, alone, on a cluster, on a shared storage.

Every run is the command in a process of its own, whose time and memory are what the kernel says of it. Noise is drawn
anew by each, so releases are compared without it (`--method nonprivate`): the same parameters and the same exact score.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.postgres_server import Server, binaries

from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.scale._cluster import connect, dask_cluster
from tacit.methods.observed import confirmations

TITLE = "Scale: tables of millions of rows in folders of Parquet, from the shell"
LONG = True
REPEATS = 1

FILES, SMALL, LARGE = 20, 5_000_000, 20_000_000
FEW = 4  # trials of the largest table and of comparisons
MAKE = """
import sys, numpy, pandas
folder, rows, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for i in range(files):
    rng = numpy.random.default_rng(i)
    n = rows // files
    frame = pandas.DataFrame({f"x{j}": rng.normal(size=n).round(3).astype("float32") for j in range(7)})
    frame["age"] = rng.integers(18, 95, n).astype("int16")
    frame["ward"] = pandas.Categorical.from_codes(rng.integers(0, 5, n), list("abcde"))
    chance = frame.x0 - 0.5 * frame.x1 + 0.02 * (frame.age - 60) + rng.logistic(size=n) > 0
    frame["readmitted"] = pandas.Categorical.from_codes(chance.astype(int), ["no", "yes"])
    frame.to_parquet(f"{folder}/{i:02d}.parquet", row_group_size=125_000)
"""


@dataclass(frozen=True)
class Took:
    """What one command took, and what it said."""

    seconds: float
    processor: float
    megabytes: float
    said: dict[str, Any]


def make_table(folder: Path, rows: int) -> Path:
    where = folder / f"rows{rows}"
    where.mkdir()
    subprocess.run([sys.executable, "-c", MAKE, str(where), str(rows), str(FILES)], check=True)
    return where


def tune(table: Path, *words: str) -> Took:
    """The command, as a person would give it."""
    asked = [sys.executable, "-c", "from tacit.cli import main; main()", "tune", "--table", str(table)]
    start = time.perf_counter()
    process = subprocess.Popen(
        [*asked, "--target", "readmitted", "--json", *words], stdout=subprocess.PIPE, cwd=table.parent
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"the command ended with {process.returncode}")
    return Took(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, json.loads(said))


def measure(what: str, rows: int, *words: str) -> Took:
    """One command on a table of so many rows that is made for it, or what it took when it was last asked for."""

    def work() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            return asdict(tune(make_table(Path(folder), rows), *words))

    return Took(**keep_piece("scale_tables", {"what": what, "rows": rows, "words": words}, work))


def compare(rows: int) -> dict[str, Any]:
    """The same search by one process, by a cluster named from the shell, and in a study on PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder:
        table, exact = make_table(Path(folder), rows), ("--method", "nonprivate", "--trials", str(FEW))
        found = {"alone": tune(table, *exact)}
        with dask_cluster(folder, 18787) as processes:
            connect(processes).close()
            found["cluster"] = tune(table, *exact, "--cluster", processes.address)
            made = {name: {k: took.said[k] for k in ("params", "score")} for name, took in found.items()}
            answer: dict[str, Any] = {"same": made["alone"] == made["cluster"], "seconds": found["cluster"].seconds}
            answer["megabytes"] = found["cluster"].megabytes
            if binaries() is not None:
                server = Server(fsync=True)
                try:
                    storage = ("--trials", str(FEW), "--storage", server.database("studies"))
                    twice = [tune(table, *storage, "--cluster", processes.address).said for _ in range(2)]
                    answer["again"] = all(twice[0][k] == twice[1][k] for k in ("params", "score"))
                finally:
                    server.remove()
    return answer


def per_row(many: Took, few: Took) -> float:
    """Microseconds of processor time that one more evaluation takes, for each private row: half of them."""
    evaluations = [trials - confirmations(trials) + 1 for trials in (30, FEW)]
    return 1e6 * (many.processor - few.processor) / (evaluations[0] - evaluations[1]) / (SMALL / 2)


def run(repeats: int) -> list[Figure]:
    small = measure("whole", SMALL)
    large, few = measure("memory", LARGE, "--trials", str(FEW)), measure("memory", SMALL, "--trials", str(FEW))
    seen = keep_piece("scale_tables", {"what": "compare", "rows": SMALL}, lambda: compare(SMALL))
    label = f"{SMALL:,} rows in {FILES} files"
    return [
        Figure(f"{label}, linear, 30 trials: by the clock", small.seconds, "s", goal=90.0, better="less"),
        Figure(f"{label}, linear, 30 trials: processor time", small.processor, "s"),
        Figure(f"{label}, linear, 30 trials: memory", small.megabytes, "MB", goal=1500.0, better="less"),
        Figure(f"{label}, linear, an evaluation: processor time of a private row", per_row(small, few),
               "microseconds", note=f"the difference of 30 and {FEW} trials: every second row that is read is private, "
               "and a model is trained on a sample of 100,000"),
        Figure(f"{LARGE:,} rows, {FEW} trials: memory over that of {SMALL:,}", large.megabytes / few.megabytes, "x",
               goal=1.1, better="less", note=f"{large.megabytes:.0f} and {few.megabytes:.0f} MB"),
        Figure(f"{LARGE:,} rows, {FEW} trials: by the clock", large.seconds, "s",
               note=f"{SMALL:,} rows: {few.seconds:.3g} s; processor time {large.processor:.3g} and "
               f"{few.processor:.3g} s"),
        Figure(f"{label}: with --cluster the same parameters and exact score as alone", float(seen["same"]),
               "of 1 release", goal=1.0, better="more",
               note=f"{seen['seconds']:.3g} s, {seen['megabytes']:.0f} MB here"),
        *([Figure(f"{label}, --cluster and --storage postgresql://: called again, the same release",
                  float(seen["again"]), "of 1 release", goal=1.0, better="more")] if "again" in seen else []),
        Figure("load of the machine meanwhile", os.getloadavg()[1], "processes", note="of the last five minutes"),
    ]  # fmt: skip
