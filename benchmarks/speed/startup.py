"""How long the command and the import take, each in a new process, against Optuna's."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks import Figure, ratio

TITLE = "Starting: the command and the import against Optuna's"
LONG = False
ALSO = ("tacit.cli.main",)  # run in processes of their own

SCRIPTS = Path(sys.executable).parent
NEEDED = "import tacit.methods.tune, tacit.run.study, tacit.methods.sampler"  # what tacit.tune loads when it is called
PAIRS = {
    "tacit --help": ([str(SCRIPTS / "tacit"), "--help"], [str(SCRIPTS / "optuna"), "--help"]),
    "import tacit": ([sys.executable, "-c", "import tacit"], [sys.executable, "-c", "import optuna"]),
    "all that tacit.tune loads, Optuna included": (
        [sys.executable, "-c", NEEDED],
        [sys.executable, "-c", "import optuna"],
    ),
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def shown(command: list[str]) -> str:
    return command[-1] if "-c" in command else " ".join([Path(command[0]).name, *command[1:]])


def run(repeats: int) -> list[Figure]:
    figures = []
    for name, pair in PAIRS.items():
        taken: list[list[float]] = [[], []]
        for turn in range(max(1, repeats) + 1):
            for command, times in zip(pair, taken, strict=True):
                took = seconds(command)
                if turn:  # the first turn warms the disk's cache
                    times.append(took)
        ours, peer = ((statistics.median(t), min(t), max(t)) for t in taken)
        note = (
            f"Optuna: {1e3 * peer[0]:.0f} ms for {shown(pair[1])}; a new process each, interpreter's own start included"
        )
        figures += [
            Figure(name, 1e3 * ours[0], "ms", 1e3 * ours[1], 1e3 * ours[2]),
            replace(ratio(f"{name}, against Optuna", ours, peer, "above 1: tacit is faster"), note=note),
        ]
    return figures
