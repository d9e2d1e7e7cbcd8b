"""The command for tests that run it: the installed one, and what a folder needs for a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shell_parts import Said

TACIT = str(Path(sys.executable).parent / "tacit")
MODEL = """
import numpy as np
def losses(params):
    return np.full(3000, 0.2 + (params["x"] - 0.3) ** 2)
def short(params):
    return losses(params)[1:]
def rude(params):
    raise ValueError("record 4711")
"""
SPACE = 'x = {low = 0.0, high = 1.0}\nkind = ["a", "b"]\n'
PUBLIC = ["--space", "space.toml", "--records", "3000", "--bounds", "0", "1", "--trials", "4", "--method", "random"]
QUIET = {**os.environ, "OMP_NUM_THREADS": "1"}
OBJECTIVE = ["tune", "model:losses", *PUBLIC]
Run = Callable[..., Any]


def installed(*words: str, at: Path, code: int = 0, **environment: str) -> Said:
    """Run the installed command itself, its streams in pipes."""
    given: dict[str, Any] = {"cwd": at, "env": {**QUIET, **environment}, "stdin": subprocess.DEVNULL}
    done = subprocess.run([TACIT, *words], text=True, timeout=120, capture_output=True, **given)
    return checked(Said(done.returncode, done.stdout, done.stderr), code)


def checked(said: Said, code: int) -> Said:
    assert said.code == code, said
    assert "Traceback" not in said.err
    assert "\x1b" not in said.out + said.err
    return said
