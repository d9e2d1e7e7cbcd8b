"""The command `tacit-bench`: finds the benchmarks of a clone and runs them; they are not in the installed package."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path


def clone() -> Path | None:
    """The clone around the current folder, or the one this package was installed from in place."""
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (folder / "benchmarks" / "harness" / "runner.py").exists() and (folder / "src" / "tacit").is_dir():
            return folder
    return None


def main() -> None:
    """Run ``python -m benchmarks`` with the clone's root on the path, here and in every process it starts."""
    root = clone()
    if root is None:
        sys.exit("tacit-bench: the benchmarks are in a clone of tacit's source, folder benchmarks/; run it from there")
    sys.path.insert(0, str(root))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    runpy.run_module("benchmarks", run_name="__main__", alter_sys=True)
