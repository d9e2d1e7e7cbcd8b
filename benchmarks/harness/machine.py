"""Where and with what a figure was measured: enough to judge it, and nothing that names the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parents[1]
LIBRARIES = ("numpy", "scipy", "scikit-learn", "optuna", "opendp", "dp-accounting", "SQLAlchemy", "psycopg", "cmaes")
PEERS = ("botorch", "gpytorch", "torch", "opacus")


def processor() -> str:
    """The model of the processor, where the system tells it."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return platform.machine()
    return " ".join(found[1].split()) if found else platform.machine()


def machine() -> dict[str, object]:
    """Cores, processor, Python, and versions of what was imported or could have been."""
    versions = {}
    for library in (*LIBRARIES, *PEERS):
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    known = {"cores": os.cpu_count(), "processor": processor(), "python": platform.python_version()}
    return {**known, **versions}


QUIET = 0.1  # of a core that others may use while a figure is taken that is not said to be taken under load


class LoadWatch:
    """How many cores other work used while a benchmark ran: what the machine did, less what we and our children did.

    Children that are still running when it ends count as others. None where the system does not tell.
    """

    def __init__(self) -> None:
        self._start, self._busy, self._ours = time.perf_counter(), _busy_seconds(), _own_seconds()

    def others(self) -> float | None:
        """Cores, averaged over the time since the start."""
        busy = _busy_seconds()
        if busy is None or self._busy is None:
            return None
        spent = busy - self._busy - (_own_seconds() - self._ours)
        return round(max(0.0, spent) / max(1e-9, time.perf_counter() - self._start), 2)


def _busy_seconds() -> float | None:
    """Seconds of all cores that were spent on anything since the system began."""
    try:
        first = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    except (OSError, IndexError):
        return None
    user, nice, system, _, _, irq, soft, stolen = (int(n) for n in first[:8])  # without idle and waiting for a disk
    return (user + nice + system + irq + soft + stolen) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    return sum(os.times()[:4])


def git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def commit() -> str:
    return git("rev-parse", "--short", "HEAD") or "unknown"


def dirty() -> bool:
    """Whether code was changed since that commit. Results and pages do not count."""
    return bool(git("status", "--porcelain", "--untracked-files=no", "--", "../src", ":(glob)**/*.py"))
