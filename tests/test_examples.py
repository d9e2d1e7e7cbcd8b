"""Every example runs to its end, in a folder of its own, says what its story says, and leaves what it says."""

from __future__ import annotations

import os
import runpy
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from forked import exit_code
from threadpoolctl import threadpool_limits

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


def run_example(path: Path, folder: Path, said: Path) -> None:
    """As ``python PATH`` in the folder, what it says in a file; no thread pools that fight over the processors."""
    os.chdir(folder)
    sys.argv = [str(path)]
    with said.open("w") as out, threadpool_limits(1), redirect_stdout(out), redirect_stderr(out):
        runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir()
    code = exit_code(run_example, path, folder, tmp_path / "said")
    text = (tmp_path / "said").read_text()
    assert code == 0, text
    assert SAYS.get(path.stem, "") in text
    assert {found.name for found in folder.iterdir()} <= {LEAVES.get(path.stem)}


def test_the_examples_that_are_told_of_exist() -> None:
    assert SAYS.keys() <= {path.stem for path in EXAMPLES}


def test_what_an_example_leaves_is_ignored_by_git() -> None:
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().split()}
    assert set(LEAVES.values()) <= ignored
