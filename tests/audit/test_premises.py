"""Whether each loss depends on its own record alone: what is found, and that nothing of a record is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.audit.premises import check_objective
from tacit.errors import BadInput

SPACE = {"x": tacit.Float(0.0, 1.0)}
DATA = np.random.default_rng(0).normal(size=40)


def own(params: dict[str, Any], rows: Any) -> Any:
    return np.abs(np.asarray(rows, float) - params["x"])


JOINT: dict[str, Any] = {
    "the mean": lambda p, rows: rows - rows.mean() + p["x"],
    "the largest": lambda p, rows: np.full(len(rows), float(rows.max() > 3)) + p["x"] * rows,
    "ranks": lambda p, rows: np.argsort(np.argsort(rows)) * p["x"],
    "its neighbour": lambda p, rows: np.roll(rows, 1) + rows * p["x"],
    "the first": lambda p, rows: rows * p["x"] + rows[0] * (abs(rows[0]) > 50),
}


@pytest.mark.parametrize("what", JOINT)
def test_a_loss_that_looks_at_other_records_is_found_and_told_by_index(what: str) -> None:
    found = check_objective(JOINT[what], DATA, SPACE, replacements=40)
    assert not found.holds
    assert found.counterexamples
    told = str(found) + json.dumps(found.to_json())
    assert not any(f"{abs(v):.4g}"[:5] in told for v in DATA)


@pytest.mark.parametrize("form", ["array", "frame", "list", "tuple", "dict"])
def test_an_objective_of_single_records_passes_in_every_container(form: str) -> None:
    y = np.arange(40) % 2
    held: dict[str, Any] = {
        "array": DATA,
        "frame": pd.DataFrame({"a": DATA}, index=np.arange(40)[::-1]),
        "list": DATA.tolist(),
        "tuple": (DATA, y),
        "dict": {"a": DATA, "y": y},
    }
    take = {"frame": lambda r: r["a"].to_numpy(), "tuple": lambda r: r[0] + r[1], "dict": lambda r: r["a"] + r["y"]}
    found = check_objective(lambda p, r: own(p, take.get(form, lambda r: r)(r)), held[form], SPACE)
    assert found.holds, str(found)
    assert found.moved > 20
    assert "contradicts nothing, and proves nothing" in str(found)


def test_rounding_of_the_last_digits_is_no_counterexample() -> None:
    def summed(params: Any, rows: Any) -> Any:  # a part that cancels, but for rounding
        return own(params, rows) + (rows.sum() - rows.sum() + 1e-17 * rows.mean())

    assert check_objective(summed, DATA, SPACE).holds


def test_what_cannot_be_judged_does_not_pass() -> None:
    generator = np.random.default_rng(0)
    random = check_objective(lambda p, r: own(p, r) + generator.normal(size=40), DATA, SPACE)
    blind = check_objective(lambda p, r: np.full(40, p["x"]), DATA, SPACE)
    assert not random.holds
    assert "Fix its seeds" in str(random)
    assert not blind.holds
    assert "Does it read the data?" in str(blind)


def test_failing_because_of_a_record_is_found_and_not_quoted() -> None:
    def picky(params: Any, rows: Any) -> Any:
        if (np.abs(rows) > 50).any():
            raise ValueError(f"cannot take {rows.max()}")
        return own(params, rows)

    found = check_objective(picky, DATA, SPACE, replacements=10)
    assert found.failures
    assert "the objective fails because of what record" in str(found)
    with pytest.raises(BadInput, match="one loss for each of 40 records"):
        check_objective(lambda p, r: np.zeros(3), DATA, SPACE)
    with pytest.raises(BadInput, match="equally long"):
        check_objective(own, (DATA, DATA[:3]), SPACE)


MODULE = """
import numpy as np
records = np.linspace(0.0, 1.0, 30)
def alone(params, rows):
    return abs(rows - params["x"])
def globally(params):
    return abs(records - params["x"]) + 0 * records.sum()
def jointly(params):  # the example of the review: 0.1 for all, or 0.9 for all
    return np.full(30, 0.9 if records.max() > 1 else 0.1)
"""


@pytest.mark.parametrize(("name", "code"), [("alone", 0), ("globally", 0), ("jointly", 1)])
def test_the_command_tests_a_function_of_the_records_or_of_a_global_name(name: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "space.toml").write_text("x = {low = 0.0, high = 1.0}\n")
    words = ["audit", "objective", f"mine:{name}", "--data", "mine:records", "--space", "space.toml", "--json"]
    run = "import sys; sys.argv = ['tacit', *sys.argv[1:]]; from tacit.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", run, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["holds"] is (code == 0)


def test_the_command_says_what_it_needs(tmp_path: Path) -> None:
    run = "import sys; sys.argv = ['tacit', *sys.argv[1:]]; from tacit.cli import main; main()"
    for words in (["audit", "objective", "mine:f"], ["audit", "laplace", "mine:f"]):
        done = subprocess.run([sys.executable, "-c", run, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2
        assert "tacit audit objective" in done.stderr
