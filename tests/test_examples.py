"""Every example runs to its end, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAYS = {"optuna_users": "epsilon = 1, delta = 1e-06", "sklearn_users": "NOT PROTECTED: the 285 training rows"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    # an installed tacit, and no thread pools that fight over the processors
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert SAYS.get(path.stem, "") in done.stdout


def test_the_examples_that_are_told_of_exist() -> None:
    assert SAYS.keys() <= {path.stem for path in EXAMPLES}
