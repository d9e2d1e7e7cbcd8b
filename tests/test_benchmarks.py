"""Benchmarks keep their form, and the results page shows what was measured and nothing else."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
NAMES = sorted(p.stem for p in (ROOT / "benchmarks").glob("[a-z]*.py"))


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_has_a_title_and_runs(name: str, load: Any) -> None:
    module: ModuleType = load(f"benchmarks.{name}")
    assert isinstance(module.TITLE, str)
    assert module.TITLE
    assert isinstance(module.LONG, bool)
    assert callable(module.run)


def test_the_command_knows_every_benchmark_and_no_helper(load: Any) -> None:
    assert load("benchmarks.__main__").names() == NAMES


def result(**changes: Any) -> dict[str, Any]:
    figure = {"name": "speed", "value": 2.5, "unit": "x", "low": None, "high": None, "against": "goal 3", "note": ""}
    made = {"name": "one", "title": "One", "command": "python -m benchmarks one", "repeats": 1, "seconds": 1.0}
    return {**made, "commit": "abc1234", "machine": {"cores": 2}, "figures": [{**figure, **changes}]}


def test_a_figure_that_was_not_measured_is_absent_from_the_page(tmp_path: Path, load: Any) -> None:
    (tmp_path / "one.json").write_text(json.dumps(result()))
    page = load("benchmarks.__main__").page(tmp_path)
    assert "| speed | 2.5 x |  | goal 3 |  |" in page  # a spread that is not known is left empty
    assert [line for line in page.splitlines() if line.startswith("## ")] == ["## One"]
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith(("| what", "| ---"))]
    assert len(rows) == 1


def test_the_page_shows_spread_command_and_commit(tmp_path: Path, load: Any) -> None:
    (tmp_path / "one.json").write_text(json.dumps(result(low=2.0, high=3.0)))
    page = load("benchmarks.__main__").page(tmp_path)
    assert "| speed | 2.5 x | 2 to 3 | goal 3 |" in page
    assert "`python -m benchmarks one` · commit abc1234" in page


def test_no_results_make_a_page_without_figures(tmp_path: Path, load: Any) -> None:
    assert "|" not in load("benchmarks.__main__").page(tmp_path)


def test_a_peer_that_is_not_installed_has_no_figure(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    overhead = load("benchmarks.tune_overhead")
    absent = SimpleNamespace(util=SimpleNamespace(find_spec=lambda name: None))
    monkeypatch.setattr(overhead, "importlib", absent)
    monkeypatch.setattr(overhead, "LENGTHS", (12,))
    names = [figure.name for figure in overhead.run(1)]
    assert names == ["12 trials: tacit.tune", "12 trials: tacit.tune against TPESampler"]


def test_a_run_from_the_shell_leaves_json_with_where_it_was_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "startup", "--repeats", "1", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    document = json.loads((tmp_path / "startup.json").read_text())
    assert document["command"] == "python -m benchmarks startup --repeats 1"
    assert document["commit"]
    assert document["machine"]["numpy"] == np.__version__
    assert document["machine"]["cores"] >= 1
    assert document["figures"]
    for figure in document["figures"]:
        assert math.isfinite(figure["value"])
        assert figure["low"] <= figure["value"] <= figure["high"]


def test_an_unknown_benchmark_is_refused_by_name() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nothing"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "no benchmark nothing" in done.stderr


def test_kept_results_are_of_benchmarks_that_exist() -> None:
    kept = {p.stem for p in (ROOT / "benchmarks" / "results").glob("*.json")}
    assert kept <= set(NAMES)
