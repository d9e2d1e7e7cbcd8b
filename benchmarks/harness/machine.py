"""Where and with what a figure was measured: enough to judge it, and nothing that names the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
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
