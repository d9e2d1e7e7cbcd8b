"""Fixtures of the command's tests, made once for each test process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_parts import DRIVER, MODEL, OBJECTIVE, QUIET, SPACE, checked, installed
from shell_parts import Said

import tacit


@pytest.fixture(scope="session")
def driver() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported everything and makes a child of itself for each command: most tests start there."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", DRIVER], env=QUIET, **pipes) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.fixture(scope="session")
def run(driver: subprocess.Popen[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Said]:
    """Run the command in a child of the driver: its streams in files, nobody at the keyboard."""
    streams = tmp_path_factory.mktemp("streams")

    def run(*words: str, at: Path, code: int = 0) -> Said:
        out, err = streams / "out", streams / "err"
        out.write_text("")
        err.write_text("")
        assert driver.stdin
        assert driver.stdout
        job = {"words": words, "at": str(at), "out": str(out), "err": str(err)}
        driver.stdin.write(json.dumps(job) + "\n")
        driver.stdin.flush()
        return checked(Said(int(driver.stdout.readline()), out.read_text(), err.read_text()), code)

    return run


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, a space, a table, a ledger for two runs, and one finished run that it paid for."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "model.py").write_text(MODEL)
    (folder / "space.toml").write_text(SPACE)
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=400), generator.choice(["x", "y"], 400)
    table = {"a": a, "b": b, "sick": (a > 0).astype(int), "weight": a * 2 + 0.1}
    pd.DataFrame(table).to_csv(folder / "table.csv", index=False)
    two = tacit.Budget.gdp(1.0001 * 2**0.5 * tacit.Budget.approximate(1.0, 1e-6).mu())
    tacit.Ledger.open(folder / "ledger.db", "icu", two, description="ICU stays")
    (folder / "first.json").write_text(
        installed(*OBJECTIVE, "--ledger", "ledger.db", "--ledger-name", "icu", "--out", "out", "--json", at=folder).out
    )
    return folder
