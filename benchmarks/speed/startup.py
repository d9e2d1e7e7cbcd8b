"""How long the command and the import take, each in a new process, against Optuna's.

In processor time of those processes, which says nearly the same on a busy machine. Bytecode is kept, as it is of what
was installed, also where the environment forbids it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import Figure, in_turns, median_interval, ratio_in_turns
from benchmarks.harness import executed

TITLE = "Starting: the command and the import against Optuna's"
LONG = False

SCRIPTS = Path(sys.executable).parent
NEEDED = "import tacit.methods.tune, tacit.run.study, tacit.methods.sampler"  # what tacit.tune loads when it is called
PAIRS = {
    "tacit --help": ([str(SCRIPTS / "tacit"), "--help"], [str(SCRIPTS / "optuna"), "--help"]),
    "tacit plan": (
        [str(SCRIPTS / "tacit"), "plan", "--records", "5000", "--dimensions", "3", "--epsilon", "1"],
        [sys.executable, "-c", "import optuna"],
    ),
    "import tacit": ([sys.executable, "-c", "import tacit"], [sys.executable, "-c", "import optuna"]),
    "all that tacit.tune loads, Optuna included": (
        [sys.executable, "-c", NEEDED],
        [sys.executable, "-c", "import optuna"],
    ),
}
GOALS = {"tacit --help": 300.0, "tacit plan": 1000.0, "import tacit": 50.0}  # milliseconds


def start(command: list[str], *leave_out: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", *leave_out)}
    subprocess.run(command, check=True, capture_output=True, env=kept)


def children_time() -> float:
    """Processor time of all processes that were started from here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def shown(command: list[str]) -> str:
    return command[-1] if "-c" in command else " ".join([Path(command[0]).name, *command[1:]])


def run(repeats: int) -> list[Figure]:
    figures = []
    for name, pair in PAIRS.items():
        start(pair[0])  # what runs is recorded once, and never while time is taken
        works = {
            who: lambda turn, c=command: start(c, executed.FOLDER)
            for who, command in zip(("ours", "peer"), pair, strict=True)
        }
        in_turns(works, 1)  # warms the disk's cache
        taken = in_turns(works, repeats, children_time)
        peer = statistics.median(taken["peer"])
        note = f"Optuna: {1e3 * peer:.0f} ms for {shown(pair[1])}; a new process each, its interpreter included"
        middle, low, high = median_interval(taken["ours"])
        goal: dict[str, Any] = {}
        if name in GOALS:
            goal = {"against": f"goal {GOALS[name]:g}", "goal": GOALS[name], "better": "less"}
        against = ratio_in_turns(f"{name}, against Optuna", taken["ours"], taken["peer"], "above 1: tacit is faster")
        figures += [
            Figure(name, 1e3 * middle, "ms of processor time", 1e3 * low, 1e3 * high, **goal),
            replace(against, note=note),
        ]
    return figures
