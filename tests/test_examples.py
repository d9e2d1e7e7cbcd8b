"""Every example runs to its end, in a folder of its own, says what its story says, and leaves what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAYS = {
    "audit_a_mechanism": "broken: BROKEN",
    "choose_epsilon": "NOT PRIVATE",
    "demo": "Paid by entry 1 of ledger 'digits'.",
    "many_parameters": "epsilon = 4, delta = 1e-06",
    "optuna_users": "epsilon = 1, delta = 1e-06",
    "outsource": "they are not sensitive",
    "sklearn_users": "NOT PROTECTED: the 285 training rows",
    "train_a_model": "one record of the table replaced",
}
LEAVES = {
    "choose_epsilon": "front-out",
    "demo": "demo-out",
    "plan_before_spending": "plan.svg",
    "train_a_model": "train-out",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    # an installed tacit, and no thread pools that fight over the processors
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert SAYS.get(path.stem, "") in done.stdout
    assert {found.name for found in tmp_path.iterdir()} <= {LEAVES.get(path.stem)}


def test_the_examples_that_are_told_of_exist() -> None:
    assert SAYS.keys() <= {path.stem for path in EXAMPLES}


def test_what_an_example_leaves_is_ignored_by_git() -> None:
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().split()}
    assert set(LEAVES.values()) <= ignored
